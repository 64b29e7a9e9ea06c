//! Kernels as readable C: one function over plain arrays, for all rounds of its loops, with the
//! names that a person would give.
//!
//! The text shows the loops and the arithmetic of [`emit`](super::emit), without the frame through
//! which redpoll calls kernels: no chunks, no polls for cancellation, no growth. The text is never
//! compiled.

mod chunks;
mod loops;
mod names;
mod plain;

use crate::c::expr::ExprWriter;
use crate::c::facts::LocalFacts;
use crate::c::function::{TableUses, declare_locals};
use crate::c::helpers::{Dialect, Helpers};
use crate::c::names::Identifiers;
use crate::c::stmt::{StmtDialect, StmtWriter};
use crate::c::types::c_type;
use chunks::{remove_chunks, remove_unread};
use loops::{chunked_loop, is_unchanged, make_for_loops};
use names::{give_names, list_of};
use plain::write_plainly;
use redpoll_compiler::assembly::{
    BinaryOp, Buffer, BufferRole, CompareOp, Expr, Function, LaneFold, Local, Serial, Status, Stmt,
};

/// Returns a kernel as readable C.
pub fn reading_text(function: &Function) -> String {
    let mut function = function.clone();
    let parallel = chunked_loop(&function);
    remove_chunks(&mut function);
    write_plainly(&mut function);
    remove_unread(&mut function.body);
    make_for_loops(&mut function);
    let lists = function.buffers.iter().map(|decl| list_of(&decl.name)).collect();
    give_names(&mut function);
    let (names, uses) = (Identifiers::avoiding(&function, &LIBRARY), TableUses::of(&function));
    let sizes = names.params.iter().enumerate().filter(|(k, _)| uses.params[*k]);
    let sizes = sizes.map(|(_, name)| format!("int64_t {name}"));
    let arrays = function.buffers.iter().enumerate().filter(|(k, _)| uses.buffers[*k]).map(|(k, decl)| {
        let constant = if decl.role == BufferRole::Input { "const " } else { "" };
        format!("{constant}{} *{}", c_type(decl.prim), names.buffers[k])
    });
    let params: Vec<String> = sizes.chain(arrays).collect();
    let has_status = function.body.iter().any(|s| s.any(&mut |s| matches!(s, Stmt::Return(_))));
    let result = if has_status { "int" } else { "void" };
    let mut params = params.join(", ");
    if params.len() > MAX_LINE {
        params = format!("\n    {}", params.replace(", ", ",\n    "));
    }
    let mut out = format!("{result} {}({params}) {{\n", c_name(&function.name));
    declare_locals(&function, &names, &uses, &mut out);
    let mut helpers = Helpers::new(Dialect::Reading);
    let facts = LocalFacts::new(&function);
    let exprs =
        ExprWriter { function: &function, names: &names, helpers: &mut helpers, facts, lane: None, vector: None };
    let mut writer = StmtWriter { exprs, depth: 1, out, dialect: ReadingDialect { lists, parallel } };
    writer.block(&function.body);
    if has_status {
        writer.line("return 0;");
    }
    let text = writer.out + "}\n";
    helpers.texts().map(|helper| format!("{helper}\n")).collect::<String>() + &text
}

/// The functions for minima, maxima, sorts and swaps, whose names are not available for arrays,
/// parameters and locals.
const LIBRARY: [&str; 5] = ["min", "max", "sort", "sort_by", "swap"];

/// Maximum length of a list of parameters on one line, in bytes.
const MAX_LINE: usize = 80;

fn c_name(name: &str) -> String {
    let name: String = name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
    if name.starts_with(|c: char| c.is_ascii_alphabetic()) { name } else { format!("kernel_{name}") }
}

/// The dialect of C for readers.
struct ReadingDialect {
    /// For each buffer, the tensor and the level whose coordinates it holds; `None` for other
    /// buffers.
    lists: Vec<Option<(String, usize)>>,
    /// The variable of the loop whose rounds threads share.
    parallel: Option<Local>,
}

impl ReadingDialect {
    /// Returns the names of the lists whose coordinates expressions read; `None` if there are none.
    fn lists_of<'s>(&self, exprs: impl Iterator<Item = &'s Expr>) -> Option<String> {
        let mut found: Vec<String> = Vec::new();
        for e in exprs {
            e.any(&mut |e| {
                if let Expr::Load { buffer, .. } = e
                    && let Some((tensor, level)) = &self.lists[buffer.index()]
                {
                    let text = format!("level {level} of {tensor}");
                    found.extend((!found.contains(&text)).then_some(text));
                }
                false
            });
        }
        (!found.is_empty()).then(|| found.join(" and "))
    }
}

impl StmtDialect for ReadingDialect {
    type Extension = Serial;

    const ELSE_IF: bool = true;

    fn store_condition(&self, (): ()) -> &'static str {
        ""
    }

    /// Writes a comment with the lists that a loop walks along; the text has no polls.
    fn poll_round(w: &mut StmtWriter<'_, Self>, body: &[Stmt]) {
        let mut coordinates = Vec::new();
        add_loads(body, &mut coordinates);
        if let Some(lists) = w.dialect.lists_of(coordinates.into_iter()) {
            w.line(&format!("// along {lists}"));
        }
    }

    /// Writes a comment before a loop whose rounds threads share, before a search, and before a
    /// loop that runs until the last of several lists ends.
    fn before_loop(w: &mut StmtWriter<'_, Self>, stmt: &Stmt) {
        let comment = match stmt {
            Stmt::For { var, .. } if w.dialect.parallel == Some(*var) => "parallel: threads share the rounds",
            Stmt::While { body, .. } if body.iter().any(is_bisection) => "binary search",
            Stmt::While { body, .. } if body.iter().any(is_doubling) => "galloping search, in steps that double",
            Stmt::While { cond: Expr::Binary(BinaryOp::Or, a, b), .. } if is_walk(a) && is_walk(b) => {
                "until every list has ended"
            }
            _ => return,
        };
        w.line(&format!("// {comment}"));
    }

    fn is_invariant(function: &Function, bound: &Expr, body: &[Stmt]) -> bool {
        is_unchanged(function, bound, body)
    }

    fn return_text(status: Status) -> String {
        match status {
            Status::Done => "return 0;".into(),
            status => format!("return {}; // {}", status as i32, status.name().replace('_', " ")),
        }
    }

    fn lanes(w: &mut StmtWriter<'_, Self>, fold: &LaneFold) {
        let (var, acc) = (w.local(fold.var), w.local(fold.acc));
        let (lo, hi) = (w.exprs.value(&fold.lo), w.exprs.bound(&fold.hi));
        w.exprs.facts.forget(fold.var);
        w.exprs.facts.forget(fold.acc);
        w.line(&match w.dialect.lists_of([&fold.value].into_iter()) {
            Some(lists) => format!("// along {lists}, in {} lanes", fold.lanes),
            None => format!("// in {} lanes", fold.lanes),
        });
        let folded = w.exprs.fold(fold.op, fold.acc, &acc, &fold.value);
        w.nest(&format!("for (int64_t {var} = {lo}; {var} < {hi}; {var}++)"), |w| {
            w.line(&format!("{acc} = {folded};"));
        });
        w.line("}");
    }

    fn grow(_: &mut StmtWriter<'_, Self>, _: Buffer, _: &str) {}

    fn sort(w: &mut StmtWriter<'_, Self>, buffer: Buffer, lo: &str, hi: &str) {
        let name = w.buffer(buffer);
        w.line(&format!("sort({name}, {lo}, {hi});"));
    }

    fn sort_by(w: &mut StmtWriter<'_, Self>, buffers: [Buffer; 3], lo: &str, hi: &str) {
        let names = buffers.map(|buffer| w.buffer(buffer)).join(", ");
        w.line(&format!("sort_by({names}, {lo}, {hi});"));
    }

    fn swap(w: &mut StmtWriter<'_, Self>, a: Buffer, b: Buffer) {
        let [a, b] = [a, b].map(|buffer| w.buffer(buffer));
        w.line(&format!("swap(&{a}, &{b});"));
    }

    fn extension(_: &mut StmtWriter<'_, Self>, stmt: &Serial) {
        match *stmt {}
    }
}

/// Adds the loads that a round of a loop assigns to locals, apart from loads in inner loops.
fn add_loads<'s>(body: &'s [Stmt], loads: &mut Vec<&'s Expr>) {
    for stmt in body {
        match stmt {
            Stmt::Assign(_, e @ Expr::Load { .. }) => loads.push(e),
            Stmt::If { then, other, .. } => [then, other].into_iter().for_each(|body| add_loads(body, loads)),
            _ => {}
        }
    }
}

/// Returns whether a statement computes the middle of a range.
fn is_bisection(stmt: &Stmt) -> bool {
    matches!(stmt, Stmt::Assign(_, Expr::Binary(BinaryOp::Shr, sum, _)) if matches!(**sum, Expr::Binary(BinaryOp::Add, ..)))
}

/// Returns whether a statement doubles a local.
fn is_doubling(stmt: &Stmt) -> bool {
    matches!(stmt, Stmt::Assign(local, Expr::Binary(BinaryOp::Add, a, b)) if **a == Expr::Local(*local) && a == b)
}

/// Returns whether a condition compares a cursor with the end of its list.
fn is_walk(cond: &Expr) -> bool {
    matches!(cond, Expr::Compare(CompareOp::Lt, a, _) if matches!(**a, Expr::Local(_)))
}

/// Calls `f` on each expression in statements, and on its parts.
fn for_each_part<'s>(body: &'s [Stmt], f: &mut dyn FnMut(&'s Expr)) {
    fn parts<'s>(e: &'s Expr, f: &mut dyn FnMut(&'s Expr)) {
        f(e);
        e.for_each_child(&mut |child| parts(child, f));
    }
    for stmt in body {
        stmt.for_each_expr(&mut |e| parts(e, f));
        stmt.bodies().into_iter().for_each(|body| for_each_part(body, f));
    }
}

/// Calls `f` on each statement, and on the statements within it.
fn for_each_stmt<'s>(body: &'s [Stmt], f: &mut dyn FnMut(&'s Stmt)) {
    for stmt in body {
        f(stmt);
        stmt.bodies().into_iter().for_each(|body| for_each_stmt(body, f));
    }
}
