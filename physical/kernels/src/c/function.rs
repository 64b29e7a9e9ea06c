//! C text of functions: parameters, variables and entry.

use super::expr::ExprWriter;
use super::facts::LocalFacts;
use super::helpers::Helpers;
use super::names::{Identifiers, capacity};
use super::stmt::{SerialDialect, StmtWriter};
use super::types::c_type;
use redpoll_compiler::assembly::{BufferClass, BufferRole, Expr, Function, Stmt};
use redpoll_logic::Prim;
use std::fmt::Write;

/// The buffers, parameters and locals of a function that its body uses.
pub struct TableUses {
    /// Buffers whose elements are loaded or stored.
    pub buffers: Vec<bool>,
    /// Buffers that are grown or swapped.
    pub grown: Vec<bool>,
    pub params: Vec<bool>,
    /// Locals that a statement other than a loop assigns; a loop declares its own variable.
    pub locals: Vec<bool>,
}

impl TableUses {
    pub fn of(function: &Function) -> TableUses {
        let mut uses = TableUses {
            buffers: vec![false; function.buffers.len()],
            grown: vec![false; function.buffers.len()],
            params: vec![false; function.params.len()],
            locals: vec![false; function.locals.len()],
        };
        for stmt in &function.body {
            stmt.any(&mut |stmt| {
                match stmt {
                    Stmt::Assign(local, _) => uses.locals[local.index()] = true,
                    Stmt::Lanes(fold) => uses.locals[fold.acc.index()] = true,
                    Stmt::Store { buffer, .. } => uses.buffers[buffer.index()] = true,
                    Stmt::Grow { buffer, .. } => uses.grown[buffer.index()] = true,
                    Stmt::Swap(a, b) => [a, b].iter().for_each(|buffer| uses.grown[buffer.index()] = true),
                    _ => {}
                }
                stmt.for_each_expr(&mut |e| {
                    e.any(&mut |e| {
                        match e {
                            Expr::Load { buffer, .. } => uses.buffers[buffer.index()] = true,
                            Expr::Param(param) => uses.params[param.index()] = true,
                            _ => {}
                        }
                        false
                    });
                });
                false
            });
        }
        uses
    }
}

/// Writes a verified function as two functions of C: the body, and the entry with the given name,
/// which calls the body.
///
/// The inputs are parameters of the body, so that the compiler can rely on `restrict`. Owned
/// buffers are plain variables of the body, since callbacks sort, grow and swap them.
pub fn write(function: &Function, entry: &str, helpers: &mut Helpers, out: &mut String) {
    let (names, uses) = (Identifiers::new(function), TableUses::of(function));
    comment(function, &names, out);
    let inputs: Vec<usize> = (0..function.buffers.len())
        .filter(|k| function.buffers[*k].role == BufferRole::Input && uses.buffers[*k])
        .collect();
    let pointer = |k: usize| c_type(function.buffers[k].prim);
    let params: Vec<String> =
        inputs.iter().map(|k| format!("const {} *restrict {}", pointer(*k), names.buffers[*k])).collect();
    let params = [vec!["rp_frame *frame".to_owned()], params].concat();
    let _ = writeln!(out, "static RP_NOINLINE int32_t {entry}_body({}) {{", params.join(",\n    "));
    for (k, decl) in function.buffers.iter().enumerate().filter(|(_, decl)| decl.role == BufferRole::Owned) {
        let name = &names.buffers[k];
        if uses.buffers[k] || uses.grown[k] {
            let _ = writeln!(out, "    {} *{name} = frame->buffers[{k}].data;", c_type(decl.prim));
        }
        if uses.grown[k] {
            let _ = writeln!(out, "    int64_t {} = frame->buffers[{k}].len;", capacity(name));
        }
    }
    for (k, name) in names.params.iter().enumerate().filter(|(k, _)| uses.params[*k]) {
        let _ = writeln!(out, "    const int64_t {name} = frame->params[{k}];");
    }
    for (local, field) in [(function.chunk.0, "chunk_lo"), (function.chunk.1, "chunk_hi")] {
        let _ = writeln!(out, "    int64_t {} = frame->{field};", names.locals[local.index()]);
    }
    declare_locals(function, &names, &uses, out);
    let exprs =
        ExprWriter { function, names: &names, helpers, facts: LocalFacts::new(function), lane: None, vector: None };
    let mut stmts = StmtWriter { exprs, depth: 1, out: std::mem::take(out), dialect: SerialDialect };
    stmts.block(&function.body);
    *out = stmts.out;
    if !matches!(function.body.last(), Some(Stmt::Return(_))) {
        out.push_str("    return RP_DONE;\n");
    }
    let args: Vec<String> = inputs.iter().map(|k| format!(",\n        frame->buffers[{k}].data")).collect();
    let _ = write!(
        out,
        "}}\n\nint32_t {entry}(rp_frame *frame) {{\n    return {entry}_body(frame{});\n}}\n",
        args.concat()
    );
}

/// Writes the function's name and its table of buffers as a comment.
pub fn comment(function: &Function, names: &Identifiers, out: &mut String) {
    let _ = writeln!(out, "// {}", one_line(&function.name));
    for (k, decl) in function.buffers.iter().enumerate() {
        let role = if decl.role == BufferRole::Input { "input" } else { "owned" };
        let class = if decl.class == BufferClass::Index { "indices" } else { "values" };
        let (name, written, prim) = (&names.buffers[k], one_line(&decl.name), decl.prim);
        let _ = writeln!(out, "//   buffer {k}, {name}: {role} {class} of {prim}, `{written}`");
    }
}

/// Replaces backslashes, which may continue a line comment, and characters other than visible ASCII
/// by question marks.
fn one_line(name: &str) -> String {
    name.chars().map(|c| if c.is_ascii_graphic() && c != '\\' { c } else { '?' }).collect()
}

/// Declares the locals that statements other than loops assign, grouped by type; the bounds of the
/// chunk are declared elsewhere.
pub fn declare_locals(function: &Function, names: &Identifiers, uses: &TableUses, out: &mut String) {
    let chunk = [function.chunk.0.index(), function.chunk.1.index()];
    for prim in Prim::ALL {
        let locals: Vec<&str> = function
            .locals
            .iter()
            .enumerate()
            .filter(|(k, decl)| decl.prim == prim && uses.locals[*k] && !chunk.contains(k))
            .map(|(k, _)| names.locals[k].as_str())
            .collect();
        for locals in locals.chunks(8) {
            let _ = writeln!(out, "    {} {};", c_type(prim), locals.join(", "));
        }
    }
}
