//! Statements of C and of its dialects.

use super::expr::ExprWriter;
use super::names::{end, from, full_end, lane, rest};
use super::types::{Typing, c_type, literal};
use redpoll_compiler::assembly::{BinaryOp, Buffer, Expr, Extension, Function, LaneFold, Local, Serial, Status, Stmt};
use std::fmt::Write;

/// A dialect of C, with its own text for some statements.
pub trait StmtDialect: Sized {
    /// The statements that the machine adds to Assembly.
    type Extension: Extension;

    /// True if an `else` that contains only an `if` is written as `else if`.
    const ELSE_IF: bool = false;

    /// Returns the condition of a store by some lanes, with a space at its end; empty if every lane
    /// stores.
    fn store_condition(&self, active: <Self::Extension as Extension>::ActiveLanes) -> &'static str;

    /// Writes the text at the start of each round of a loop with this body, if the dialect has one:
    /// a poll for cancellation if the loop needs a poll, or a comment for readers.
    fn poll_round(w: &mut StmtWriter<'_, Self>, body: &[Stmt<Self::Extension>]);

    /// Writes the lines before a loop: none, unless the dialect comments on loops.
    fn before_loop(_: &mut StmtWriter<'_, Self>, _: &Stmt<Self::Extension>) {}

    /// Returns whether the bound of a loop may be written in its condition, so that each round
    /// evaluates the bound.
    fn is_invariant(_: &Function, bound: &Expr, body: &[Stmt<Self::Extension>]) -> bool {
        is_invariant(bound, body)
    }

    /// Returns the statement that ends the function with a status.
    fn return_text(status: Status) -> String {
        format!("return {};", status_name(status))
    }

    /// Writes a lane fold.
    fn lanes(w: &mut StmtWriter<'_, Self>, fold: &LaneFold);

    /// Writes the growth of a buffer to a length.
    fn grow(w: &mut StmtWriter<'_, Self>, buffer: Buffer, len: &str);

    /// Writes a sort of a range of a buffer.
    fn sort(w: &mut StmtWriter<'_, Self>, buffer: Buffer, lo: &str, hi: &str);

    /// Writes a sort of a range of the first buffer by the other two.
    fn sort_by(w: &mut StmtWriter<'_, Self>, buffers: [Buffer; 3], lo: &str, hi: &str);

    /// Writes a swap of two buffers.
    fn swap(w: &mut StmtWriter<'_, Self>, a: Buffer, b: Buffer);

    /// Writes a statement that the machine adds to Assembly.
    fn extension(w: &mut StmtWriter<'_, Self>, stmt: &Self::Extension);
}

/// A writer of the statements of a function.
pub struct StmtWriter<'a, D: StmtDialect> {
    pub exprs: ExprWriter<'a>,
    pub depth: usize,
    pub out: String,
    pub dialect: D,
}

impl<D: StmtDialect> StmtWriter<'_, D> {
    pub fn block(&mut self, stmts: &[Stmt<D::Extension>]) {
        for stmt in stmts {
            self.stmt(stmt);
            // The rest of the block is unreachable.
            if matches!(stmt, Stmt::Break | Stmt::Return(_)) {
                break;
            }
        }
    }

    pub fn line(&mut self, text: &str) {
        let _ = writeln!(self.out, "{:indent$}{text}", "", indent = 4 * self.depth);
    }

    /// Writes the head and the body of a statement, without the closing brace.
    pub fn nest(&mut self, head: &str, body: impl FnOnce(&mut Self)) {
        self.line(&format!("{head} {{"));
        self.depth += 1;
        body(self);
        self.depth -= 1;
    }

    fn stmt(&mut self, stmt: &Stmt<D::Extension>) {
        match stmt {
            Stmt::Assign(local, value) => self.assign(*local, value),
            Stmt::Store { active, buffer, at, value } => {
                let (at, value) = (self.exprs.value(at), self.exprs.value(value));
                let (condition, buffer) = (self.dialect.store_condition(*active), self.buffer(*buffer));
                self.line(&format!("{condition}{buffer}[{at}] = {value};"));
            }
            Stmt::If { cond, then, other } => self.branch("if", cond, [then, other]),
            Stmt::While { cond, body } => {
                D::before_loop(self, stmt);
                self.exprs.facts.forget_assigned(body);
                let facts = self.exprs.facts.clone();
                let cond = self.exprs.condition(cond);
                self.nest(&format!("while ({cond})"), |s| s.rounds(body));
                self.exprs.facts = facts;
                self.line("}");
            }
            Stmt::For { var, lo, hi, body } => {
                D::before_loop(self, stmt);
                self.for_loop(*var, (lo, hi), body, ("", "++"));
            }
            Stmt::Break => self.line("break;"),
            Stmt::Lanes(fold) => D::lanes(self, fold),
            Stmt::Grow { buffer, len } => {
                let len = self.exprs.value(len);
                D::grow(self, *buffer, &len);
            }
            Stmt::Sort { buffer, lo, hi } => {
                let (lo, hi) = (self.exprs.value(lo), self.exprs.value(hi));
                D::sort(self, *buffer, &lo, &hi);
            }
            Stmt::SortBy { perm, major, minor, lo, hi } => {
                let (lo, hi) = (self.exprs.value(lo), self.exprs.value(hi));
                D::sort_by(self, [*perm, *major, *minor], &lo, &hi);
            }
            Stmt::Swap(a, b) => D::swap(self, *a, *b),
            Stmt::Return(status) => self.line(&D::return_text(*status)),
            Stmt::Extension(added) => D::extension(self, added),
        }
    }

    /// Writes an `if`. The head `} else if` also closes the preceding branch, whose closing brace
    /// is not yet written.
    fn branch(&mut self, head: &str, cond: &Expr, [then, other]: [&[Stmt<D::Extension>]; 2]) {
        let cond = self.exprs.value(cond);
        let facts = self.exprs.facts.clone();
        self.nest(&format!("{head} ({cond})"), |s| s.block(then));
        self.exprs.facts = facts.clone();
        match other {
            [Stmt::If { cond, then, other }] if D::ELSE_IF => self.branch("} else if", cond, [then, other]),
            [] => self.line("}"),
            other => {
                self.nest("} else", |s| s.block(other));
                self.line("}");
            }
        }
        self.exprs.facts = facts;
        self.exprs.facts.forget_assigned(then);
        self.exprs.facts.forget_assigned(other);
    }

    pub fn buffer(&self, buffer: Buffer) -> String {
        self.exprs.names.buffers[buffer.index()].clone()
    }

    pub fn local(&self, local: Local) -> String {
        self.exprs.names.locals[local.index()].clone()
    }

    pub fn assign(&mut self, local: Local, value: &Expr) {
        let (name, text) = (self.local(local), self.exprs.assignment(local, value));
        self.line(&format!("{name} = {text};"));
        self.exprs.facts.assign(self.exprs.function, local, value);
    }

    /// Writes a `for` loop. The offset of the first round and the step select the rounds of a lane;
    /// `""` and `"++"` select all rounds.
    ///
    /// The bounds are evaluated once, so a bound that the body may change is stored in a variable.
    /// The loop declares its own variable; bounds that read an outer variable of the same name are
    /// stored before that declaration.
    pub fn for_loop(
        &mut self,
        var: Local,
        (lo, hi): (&Expr, &Expr),
        body: &[Stmt<D::Extension>],
        (offset, step): (&str, &str),
    ) {
        let name = self.local(var);
        let mut start = if offset.is_empty() { self.exprs.value(lo) } else { self.exprs.bound(lo) };
        let mut bound = self.exprs.bound(hi);
        let mut declarations = Vec::new();
        if lo.mentions(var) {
            declarations.push(format!("{} = {start}", from(&name)));
            start = from(&name);
        }
        if hi.mentions(var) || !D::is_invariant(self.exprs.function, hi, body) {
            declarations.push(format!("{} = {bound}", end(&name)));
            bound = end(&name);
        }
        declarations.push(format!("{name} = {start}{offset}"));
        let head = format!("for (int64_t {}; {name} < {bound}; {name}{step})", declarations.join(", "));
        self.exprs.facts.forget_assigned(body);
        self.exprs.facts.forget(var);
        let facts = self.exprs.facts.clone();
        self.nest(&head, |s| s.rounds(body));
        self.exprs.facts = facts;
        self.line("}");
    }

    /// Writes the body of a loop.
    fn rounds(&mut self, body: &[Stmt<D::Extension>]) {
        D::poll_round(self, body);
        self.block(body);
    }

    /// Writes a lane fold that one thread runs: full rounds of all lanes, then the remaining
    /// elements lane by lane, then the combination of the lanes in halves. Each lane is a variable.
    pub fn lanes_in_thread(&mut self, fold: &LaneFold) {
        let (var, acc) = (self.local(fold.var), self.local(fold.acc));
        let prim = self.exprs.function.locals[fold.acc.index()].prim;
        let names: Vec<String> = (0..usize::from(fold.lanes)).map(|k| lane(&acc, k)).collect();
        let identity = literal(&fold.identity, Typing::Weak).0;
        self.line("{");
        self.depth += 1;
        let starts: Vec<String> = names.iter().map(|name| format!("{name} = {identity}")).collect();
        for starts in starts.chunks(4) {
            self.line(&format!("{} {};", c_type(prim), starts.join(", ")));
        }
        self.lane_rounds(fold, |s| {
            names.iter().enumerate().for_each(|(k, name)| s.fold_lane(fold, k, name, ""));
        });
        for (k, name) in names.iter().enumerate().take(names.len() - 1) {
            self.fold_lane(fold, k, name, &format!("if ({} > {k}) ", rest(&var)));
        }
        self.combine_halves(fold, &names);
        self.combine((fold.op, fold.acc), &acc, &names[0]);
        self.depth -= 1;
        self.line("}");
    }

    /// Writes the bounds of a lane fold and the loop over its full rounds. After the loop, the
    /// variable of the fold is the index of the first remaining element, and the variable [`rest`]
    /// is the number of remaining elements.
    pub(super) fn lane_rounds(&mut self, fold: &LaneFold, round: impl FnOnce(&mut Self)) {
        let var = self.local(fold.var);
        let (from, end, full_end, rest) = (from(&var), end(&var), full_end(&var), rest(&var));
        let (lo, hi) = (self.exprs.value(&fold.lo), self.exprs.value(&fold.hi));
        self.exprs.facts.forget(fold.var);
        self.exprs.facts.forget(fold.acc);
        self.line(&format!("const int64_t {from} = {lo}, {end} = {hi};"));
        let mask = fold.lanes - 1;
        self.line(&format!("const int64_t {rest} = {from} < {end} ? ({end} - {from}) & {mask} : 0;"));
        self.line(&format!("const int64_t {full_end} = {from} < {end} ? {end} - {rest} : {from};"));
        self.line(&format!("int64_t {var} = {from};"));
        self.nest(&format!("for (; {var} != {full_end}; {var} += {})", fold.lanes), round);
        self.line("}");
    }

    /// Writes the combination of lanes, or of vectors of lanes, in halves. The first lane, or the
    /// first vector, gets the result.
    pub(super) fn combine_halves(&mut self, fold: &LaneFold, names: &[String]) {
        let mut half = names.len() / 2;
        while half > 0 {
            for k in 0..half {
                self.combine((fold.op, fold.acc), &names[k], &names[k + half]);
            }
            half /= 2;
        }
    }

    /// Writes the step that folds the element at offset `number` from the current one into the lane
    /// `name`. The text `head` precedes the step.
    fn fold_lane(&mut self, fold: &LaneFold, number: usize, name: &str, head: &str) {
        self.exprs.lane = Some((fold.var, number));
        let folded = self.exprs.fold(fold.op, fold.acc, name, &fold.value);
        self.exprs.lane = None;
        self.line(&format!("{head}{name} = {folded};"));
    }

    pub fn combine(&mut self, (op, acc): (BinaryOp, Local), a: &str, b: &str) {
        let folded = self.exprs.fold_names(op, acc, a, b);
        self.line(&format!("{a} = {folded};"));
    }
}

/// The dialect of kernels for the CPU, which adds no statements to Assembly.
pub(crate) struct SerialDialect;

impl StmtDialect for SerialDialect {
    type Extension = Serial;

    fn store_condition(&self, (): ()) -> &'static str {
        ""
    }

    /// Writes a poll for cancellation in the rounds of a loop that contains other loops.
    fn poll_round(w: &mut StmtWriter<'_, Self>, body: &[Stmt]) {
        if Stmt::has_loop(body) {
            w.line("RP_POLL();");
        }
    }

    fn lanes(w: &mut StmtWriter<'_, Self>, fold: &LaneFold) {
        if !w.lanes_on_vectors(fold) {
            w.lanes_in_thread(fold);
        }
    }

    fn grow(w: &mut StmtWriter<'_, Self>, buffer: Buffer, len: &str) {
        let name = w.buffer(buffer);
        w.line(&format!("RP_GROW({name}, {}, {len});", buffer.0));
    }

    fn sort(w: &mut StmtWriter<'_, Self>, buffer: Buffer, lo: &str, hi: &str) {
        w.line(&format!("frame->callbacks->sort(frame->host, {}, {lo}, {hi});", buffer.0));
    }

    fn sort_by(w: &mut StmtWriter<'_, Self>, buffers: [Buffer; 3], lo: &str, hi: &str) {
        let buffers = buffers.map(|b| b.0.to_string()).join(", ");
        w.line(&format!("frame->callbacks->sort_by(frame->host, {buffers}, {lo}, {hi});"));
    }

    fn swap(w: &mut StmtWriter<'_, Self>, a: Buffer, b: Buffer) {
        let names = [a, b].map(|buffer| w.buffer(buffer));
        w.line(&format!("RP_SWAP({}, {}, {}, {});", names[0], a.0, names[1], b.0));
    }

    fn extension(_: &mut StmtWriter<'_, Self>, stmt: &Serial) {
        match *stmt {}
    }
}

/// Returns the enumerator of a status.
pub fn status_name(status: Status) -> String {
    format!("RP_{}", status.name().to_uppercase())
}

/// Returns whether an expression is simple, and reads no local that the body of a loop assigns.
fn is_invariant<X: Extension>(e: &Expr, body: &[Stmt<X>]) -> bool {
    let mut assigned = Vec::new();
    body.iter().for_each(|s| s.for_each_assigned(&mut |local| assigned.push(local)));
    is_simple(e)
        && !e.any(&mut |e| match e {
            Expr::Local(local) => assigned.contains(local),
            _ => false,
        })
}

/// Returns whether an expression is a constant, a local or a parameter, or a binary operator on one
/// of these and a constant.
fn is_simple(e: &Expr) -> bool {
    let leaf = |e: &Expr| matches!(e, Expr::Const(_) | Expr::Local(_) | Expr::Param(_));
    match e {
        Expr::Binary(_, a, b) => leaf(a) && matches!(**b, Expr::Const(_)),
        e => leaf(e),
    }
}
