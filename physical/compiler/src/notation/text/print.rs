//! Printing of programs.
//!
//! An index or variable that would hide another one of the same name in scope gets a number. All
//! other names are printed unchanged.

use super::RESERVED;
use super::schedule::{print_blocks, print_transformation};
use super::types::{name, tensor_type, write_constant};
use crate::notation::{Access, Expr, Index, Program, Role, Rounds, Stmt, TensorDecl, TensorId, Var, Write};
use redpoll_logic::op::Op;
use redpoll_logic::physical::Protocol;
use redpoll_logic::sexpr::Sexpr;
use std::collections::HashMap;

/// Returns the text of a program. [`parse_with`](super::parse_with) reads the text back to the same
/// program, up to the numbering of indices and variables and the numbers added to their names.
pub fn print(program: &Program) -> String {
    let mut p = ProgramPrinter::new(program);
    let mut parts: Vec<Sexpr> = program.tensors.iter().map(tensor).collect();
    parts.extend(program.block_inputs.iter().map(|b| {
        let tensor = |t: TensorId| name(&program.tensors[t.index()].name);
        let modes = [b.stored.modes.start, b.stored.modes.end].map(|k| Sexpr::atom(k.to_string()));
        let parts = [tensor(b.of), Sexpr::form("modes", modes), print_blocks(b.stored.blocks)];
        Sexpr::form("block-inputs", parts.into_iter().chain(b.inputs().map(tensor)))
    }));
    parts.extend(program.tensors.iter().filter_map(|t| {
        let of = &program.tensors[t.pattern?.index()];
        Some(Sexpr::form("pattern", [&t.name, &of.name].map(|t| name(t))))
    }));
    if !program.schedule.is_empty() {
        parts.push(Sexpr::form("schedule", program.schedule.iter().map(print_transformation)));
    }
    parts.push(p.stmt(&program.body));
    let mut text = Sexpr::form("program", parts).pretty();
    text.push('\n');
    text
}

/// Returns the text of an expression of a program, on one line.
pub fn print_expr(program: &Program, expr: &Expr) -> String {
    ProgramPrinter::new(program).expr(expr).to_string()
}

/// Returns a statement as one line of a location: its head, or the whole statement if it has no
/// substatements. Returns `None` for a block.
pub(crate) fn label(program: &Program, stmt: &Stmt) -> Option<String> {
    let mut p = ProgramPrinter::new(program);
    Some(match stmt {
        Stmt::Block(_) => return None,
        Stmt::For { index, .. } => format!("for {}", program.indices[index.index()]),
        Stmt::If { cond, .. } => format!("if {}", p.expr(cond)),
        Stmt::While { cond, .. } => format!("while {}", p.expr(cond)),
        Stmt::Let { var, .. } => format!("let {}", program.vars[var.index()].0),
        Stmt::Where { .. } => "where".to_owned(),
        leaf => p.stmt(leaf).to_string(),
    })
}

struct ProgramPrinter<'a> {
    program: &'a Program,
    indices: HashMap<Index, String>,
    vars: HashMap<Var, String>,
    /// The names in scope.
    names: Vec<String>,
}

impl<'a> ProgramPrinter<'a> {
    fn new(program: &'a Program) -> ProgramPrinter<'a> {
        ProgramPrinter { program, indices: HashMap::new(), vars: HashMap::new(), names: Vec::new() }
    }

    fn unique(&self, name: &str) -> String {
        let free = |n: &String| !self.names.contains(n);
        let numbered = (2..).map(|k| format!("{name}_{k}"));
        [name.to_owned()].into_iter().chain(numbered).find(free).expect("some number is unused")
    }

    fn stmt(&mut self, stmt: &Stmt) -> Sexpr {
        let program = self.program;
        let tensor = |t: TensorId| name(&program.tensors[t.index()].name);
        match stmt {
            Stmt::Block(stmts) => Sexpr::form("block", stmts.iter().map(|s| self.stmt(s))),
            Stmt::For { index, extent, rounds, body } => {
                let (head, count) = match rounds {
                    Rounds::Ordered => ("for", None),
                    Rounds::Parallel => ("parallel-for", None),
                    Rounds::Lanes(lanes) => ("lanes-for", Some(Sexpr::atom(lanes.to_string()))),
                    Rounds::Unrolled(copies) => ("unrolled-for", Some(Sexpr::atom(copies.to_string()))),
                };
                let extent = extent.as_ref().map(|(lo, hi)| Sexpr::form("range", vec![self.expr(lo), self.expr(hi)]));
                let unique = self.unique(&self.program.indices[index.index()]);
                self.indices.insert(*index, unique.clone());
                self.names.push(unique.clone());
                let body = self.stmt(body);
                self.names.pop();
                Sexpr::form(head, [count, Some(name(&unique)), extent, Some(body)].into_iter().flatten())
            }
            Stmt::If { cond, body } => Sexpr::form("if", vec![self.expr(cond), self.stmt(body)]),
            Stmt::While { cond, body } => Sexpr::form("while", vec![self.expr(cond), self.stmt(body)]),
            Stmt::Let { var, value, body } => {
                let value = self.expr(value);
                let unique = self.unique(&self.program.vars[var.index()].0);
                self.vars.insert(*var, unique.clone());
                self.names.push(unique.clone());
                let body = self.stmt(body);
                self.names.pop();
                Sexpr::form("let", vec![name(&unique), value, body])
            }
            Stmt::Where { consumer, producer } => Sexpr::form("where", vec![self.stmt(consumer), self.stmt(producer)]),
            Stmt::Declare(t) => Sexpr::form("declare", vec![tensor(*t)]),
            Stmt::Freeze(t) => Sexpr::form("freeze", vec![tensor(*t)]),
            Stmt::Thaw(t) => Sexpr::form("thaw", vec![tensor(*t)]),
            Stmt::Swap(t, u) => Sexpr::form("swap", vec![tensor(*t), tensor(*u)]),
            Stmt::Assign { lhs, write, rhs } => {
                let head = match write {
                    Write::Init => "init".to_owned(),
                    Write::Overwrite => "=".to_owned(),
                    Write::Fold(op) => format!("{op}="),
                };
                Sexpr::form(&head, vec![self.access(lhs), self.expr(rhs)])
            }
        }
    }

    fn expr(&mut self, expr: &Expr) -> Sexpr {
        match expr {
            Expr::Literal(value) => write_constant(value),
            Expr::Index(i) => name(self.indices.get(i).unwrap_or(&self.program.indices[i.index()])),
            Expr::Var(v) => name(self.vars.get(v).unwrap_or(&self.program.vars[v.index()].0)),
            Expr::Access(a) => self.access(a),
            Expr::Call(op, args) => {
                let args: Vec<Sexpr> = args.iter().map(|a| self.expr(a)).collect();
                match op {
                    Op::Builtin(_) => Sexpr::form(op.name(), args),
                    Op::User(_) => Sexpr::form("call", [name(op.name())].into_iter().chain(args)),
                }
            }
        }
    }

    fn access(&mut self, a: &Access) -> Sexpr {
        let tensor = &self.program.tensors[a.tensor.index()].name;
        let mut parts = Vec::new();
        for s in &a.subscripts {
            let mut at = self.expr(&s.at);
            if let Some(value) = &s.outside {
                at = Sexpr::form("outside", vec![write_constant(value), at]);
            }
            parts.push(match s.protocol {
                Protocol::Walk => at,
                Protocol::Gallop => Sexpr::form("gallop", vec![at]),
                Protocol::Follow => Sexpr::form("follow", vec![at]),
            });
        }
        let head = name(tensor);
        if head.as_atom().is_none() || Op::from_name(tensor).is_some() || RESERVED.contains(&tensor.as_str()) {
            return Sexpr::form("access", [head].into_iter().chain(parts));
        }
        Sexpr::form(tensor, parts)
    }
}

fn tensor(t: &TensorDecl) -> Sexpr {
    let role = match t.role {
        Role::Input => "input",
        Role::Output => "output",
        Role::Local => "local",
    };
    Sexpr::form(role, vec![name(&t.name), tensor_type(&t.ty)])
}
