//! Pass `wrapperize`: brings subscripts into linear form.
//!
//! Input: output of `drop_empty_loops`. Output: every subscript is `atom`, `(* c atom)`, a
//! constant, or the sum of such terms. An atom is a loop index or a variable and occurs at most
//! once; the deepest bound atom is first and the constant last. So the shift and stride by which a
//! loop iterates over a level can be read from the form.
//!
//! The linear form of a variable's value, if there is one, replaces the variable. A nonlinear part
//! of a subscript (`i / b`, `I[i]`) is bound by a `let`, and the subscript uses the variable. The
//! `let` stands where the last atom of the part is bound, so that the part is evaluated as early as
//! possible.
//!
//! A part stays at its statement, in a `let` right around the statement, in three cases: one of its
//! reads is not of an input, a read without an `outside` is not provably in bounds, or the part
//! uses another part that stays. Where the pass finds a part again in the scope of its `let`, the
//! variable replaces the part. A call is replaced in any expression. A read is replaced only if its
//! `let` has moved outwards, and only where the read is a part of a subscript. So a call that one
//! statement has both in a subscript and elsewhere is evaluated once, and each nested gather adds
//! one `let`.

use super::linear::{Atom, Linear};
use super::visit::infallible;
use super::{Access, AccessSubscript, Expr, Index, Program, Role, Stmt, Var};
use redpoll_logic::op::{Builtin, Op};
use redpoll_logic::{DType, FloatMode, Scalar};
use std::collections::HashMap;

/// Brings every subscript into linear form.
pub fn wrapperize(program: Program) -> Program {
    let mut w = Wrapperizer {
        program,
        depth: HashMap::new(),
        bounds: HashMap::new(),
        forms: HashMap::new(),
        shared: Vec::new(),
        outward_bindings: Vec::new(),
        local_bindings: Vec::new(),
    };
    let body = std::mem::replace(&mut w.program.body, Stmt::Block(Vec::new()));
    let body = w.stmt(body);
    let unbound = std::mem::take(&mut w.outward_bindings);
    Program { body: bind(unbound, body), ..w.program }
}

struct Wrapperizer {
    program: Program,
    /// The order in which atoms are bound. The first number is one more than the number of atoms
    /// bound before. A variable that this pass binds further out has the first number of the
    /// deepest atom of its value, or 0 if the value has no atoms; the second number orders such
    /// variables.
    depth: HashMap<Atom, (usize, usize)>,
    /// The constant bounds of loops in scope.
    bounds: HashMap<Index, (i64, i64)>,
    /// Variables of the program whose values are linear forms.
    forms: HashMap<Var, Linear>,
    /// Subexpressions that may be evaluated anywhere in the scope of their atoms, each with the
    /// variable that is bound to its value.
    shared: Vec<(Expr, Var)>,
    /// Bindings that move outwards to the binders of their atoms, each after the bindings that it
    /// uses.
    outward_bindings: Vec<(Var, Expr)>,
    /// Bindings that stay at the current statement.
    local_bindings: Vec<(Var, Expr)>,
}

fn bind(lets: Vec<(Var, Expr)>, body: Stmt) -> Stmt {
    lets.into_iter().rev().fold(body, |body, (var, value)| Stmt::Let { var, value, body: Box::new(body) })
}

impl Wrapperizer {
    fn stmt(&mut self, stmt: Stmt) -> Stmt {
        let outer = std::mem::take(&mut self.local_bindings);
        let stmt = infallible(stmt.map_exprs(&mut |e| Ok(self.expr(e))));
        let stmt = match stmt {
            // `map_exprs` visits the subscripts of the written access, but not the access.
            Stmt::Assign { lhs, write, rhs } => Stmt::Assign { lhs: self.access(lhs), write, rhs },
            other => other,
        };
        let stmt = infallible(stmt.map_exprs(&mut |e| Ok(self.variable_of(&e).unwrap_or(e))));
        let local_bindings = std::mem::replace(&mut self.local_bindings, outer);
        let atom = match &stmt {
            Stmt::For { index, extent, .. } => {
                if let Some((lo, hi)) = extent.as_ref().and_then(|(lo, hi)| Some((lo.as_int()?, hi.as_int()?))) {
                    self.bounds.insert(*index, (lo, hi));
                }
                Some(Atom::Index(*index))
            }
            Stmt::Let { var, value, .. } => {
                if let Some(form) = self.linear(value) {
                    self.forms.insert(*var, form);
                }
                Some(Atom::Var(*var))
            }
            _ => None,
        };
        if let Some(atom) = atom {
            self.depth.insert(atom, (self.depth.len() + 1, 0));
        }
        let stmt = infallible(stmt.map_children(&mut |s| {
            let body = self.stmt(s);
            Ok(match atom {
                Some(atom) => bind(self.take_bindings(atom), body),
                None => body,
            })
        }));
        bind(local_bindings, stmt)
    }

    /// Removes and returns the bindings that cannot leave the scope of `atom`.
    fn take_bindings(&mut self, atom: Atom) -> Vec<(Var, Expr)> {
        let mut bound = vec![atom];
        let (mut here, mut remaining) = (Vec::new(), Vec::new());
        for (var, value) in self.outward_bindings.drain(..) {
            if mentions(&value, &bound) {
                bound.push(Atom::Var(var));
                here.push((var, value));
            } else {
                remaining.push((var, value));
            }
        }
        self.outward_bindings = remaining;
        here
    }

    fn expr(&mut self, e: Expr) -> Expr {
        match e {
            Expr::Access(a) => Expr::Access(self.access(a)),
            other => other,
        }
    }

    fn access(&mut self, a: Access) -> Access {
        let subscripts = a
            .subscripts
            .into_iter()
            .map(|s| {
                let form = self.linearize(&s.at);
                AccessSubscript { at: form.to_expr(&|atom| self.depth[&atom]), ..s }
            })
            .collect();
        Access { subscripts, ..a }
    }

    fn linear(&self, e: &Expr) -> Option<Linear> {
        Linear::of_with(e, &|v| self.forms.get(&v).cloned().unwrap_or(Linear::atom(Atom::Var(v))))
    }

    /// Returns the linear form of a subscript, with nonlinear parts bound to variables.
    fn linearize(&mut self, e: &Expr) -> Linear {
        self.linear(e).or_else(|| self.sum(e)).unwrap_or_else(|| self.bind_to_variable(e))
    }

    fn sum(&mut self, e: &Expr) -> Option<Linear> {
        let Expr::Call(Op::Builtin(op), args) = e else { return None };
        match (op, &args[..]) {
            (Builtin::Add, [first, rest @ ..]) => {
                let first = self.linearize(first);
                rest.iter().try_fold(first, |sum, a| sum.plus(&self.linearize(a)))
            }
            (Builtin::Sub, [a, b]) => {
                let (a, b) = (self.linearize(a), self.linearize(b));
                a.plus(&b.times(-1)?)
            }
            (Builtin::Neg, [a]) => self.linearize(a).times(-1),
            (Builtin::Mul, [a, b]) => {
                let constant_of = |e| self.linear(e).and_then(|form| form.as_constant());
                match (constant_of(a), constant_of(b)) {
                    (_, Some(c)) => self.linearize(a).times(c),
                    (Some(c), _) => self.linearize(b).times(c),
                    _ => None,
                }
            }
            _ => None,
        }
    }

    /// Returns the variable in scope that is bound to the given call; `None` for other expressions.
    fn variable_of(&self, e: &Expr) -> Option<Expr> {
        let Expr::Call(..) = e else { return None };
        let local = self.local_bindings.iter().map(|(var, value)| (value, var));
        let mut bindings = self.shared.iter().map(|(value, var)| (value, var)).chain(local);
        bindings.find_map(|(value, var)| (value == e).then_some(Expr::Var(*var)))
    }

    fn bind_to_variable(&mut self, e: &Expr) -> Linear {
        if let Some(Scalar::I64(v)) = constant(e) {
            return Linear::constant(v);
        }
        let e = &infallible(e.clone().map(&mut |part| Ok(self.variable_of(&part).unwrap_or(part))));
        if let Expr::Var(var) = e {
            return Linear::atom(Atom::Var(*var));
        }
        let free = e.accesses().is_empty();
        if let Some((_, var)) = self.shared.iter().find(|(value, _)| value == e) {
            return Linear::atom(Atom::Var(*var));
        }
        let var = Var(self.program.vars.len() as u32);
        self.program.vars.push((format!("v{}", var.0), DType::I64));
        // Variables bound at the current statement are in scope inside of it only.
        let is_local = e.atoms().iter().any(|atom| self.local_bindings.iter().any(|(var, _)| Atom::Var(*var) == *atom));
        if !is_local && (free || self.is_movable(e)) {
            // The binding moves out to the binder of the deepest atom, and is visible to everything
            // inside.
            let (depth, _) = e.atoms().into_iter().map(|a| self.depth[&a]).max().unwrap_or_default();
            self.depth.insert(Atom::Var(var), (depth, var.index() + 1));
            self.shared.push((e.clone(), var));
            self.outward_bindings.push((var, e.clone()));
        } else {
            self.depth.insert(Atom::Var(var), (self.depth.len() + 1, 0));
            self.local_bindings.push((var, e.clone()));
        }
        Linear::atom(Atom::Var(var))
    }

    /// Returns whether an expression with reads can be evaluated before the statement that contains
    /// it.
    fn is_movable(&self, e: &Expr) -> bool {
        e.accesses().into_iter().all(|a| {
            let tensor = &self.program.tensors[a.tensor.index()];
            let sizes = tensor.ty.format.storage_shape(&tensor.ty.shape);
            tensor.role == Role::Input
                && a.subscripts.iter().zip(sizes).all(|(s, n)| {
                    let inside = |lo: i64, hi: i64| lo >= 0 && hi <= n as i64;
                    let form = Linear::of(&s.at);
                    let constant = form.as_ref().and_then(Linear::as_constant);
                    let bounds = form.and_then(|form| self.bounds.get(&form.as_index()?).copied());
                    s.outside.is_some()
                        || constant.is_some_and(|c| c < i64::MAX && inside(c, c + 1))
                        || bounds.is_some_and(|(lo, hi)| inside(lo, hi))
                })
        })
    }
}

fn mentions(e: &Expr, bound: &[Atom]) -> bool {
    e.atoms().iter().any(|a| bound.contains(a))
}

/// Returns the value of an expression of literals, if it is the same in both float modes.
fn constant(e: &Expr) -> Option<Scalar> {
    match e {
        Expr::Literal(v) => Some(v.clone()),
        Expr::Call(op, args) => {
            let args = args.iter().map(constant).collect::<Option<Vec<_>>>()?;
            let value = op.eval_in(&args, FloatMode::Relaxed).ok()?;
            (op.eval_in(&args, FloatMode::StrictIeee).as_ref() == Ok(&value)).then_some(value)
        }
        Expr::Index(_) | Expr::Var(_) | Expr::Access(_) => None,
    }
}
