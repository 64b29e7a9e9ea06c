//! Collapse: merges a loop over fibers and the walk of each fiber into one walk, if the fibers are
//! stored one after another.
//!
//! ```text
//! for i in [lo, hi) { q = ptr[i]; end = ptr[i + 1]; while q < end { body; q = q + 1 } }
//!     =  if lo < hi { q = ptr[lo]; end = ptr[hi]; while q < end { body; q = q + 1 } }
//!                                                             i, end not in body
//! for i in [lo, hi) { for j in [0, n) { body(i * n + j) } }
//!     =  if lo < hi { q = lo * n; end = hi * n; while q < end { body(q); q = q + 1 } }
//! ```
//! A fiber ends where the next one begins, so the rounds of the body stay the same, in the same
//! order. A nest over several levels becomes one walk. Folds that stand before the walk in each
//! round get a loop of their own, if their order relative to the walk does not matter.
//!
//! The outer loop may also be a walk along runs of equal coordinates, as in COO, if the body does
//! not read the coordinate of its run. The merged walk does not search for the ends of the runs.
//!
//! A walk that is in no other loop covers all positions of a chunk. Such a walk is long, so it runs
//! in lanes if it only folds one value ([`super::lanes`]). The walk runs in blocks, and kernels
//! check for cancellation between them.

mod polynomial;
mod walk;

use super::cleanup::cleanup;
use super::lanes::{LANES, count_reads};
use super::seeded_fault::SeededFault;
use crate::assembly::build::{local, lt, min, plus};
use crate::assembly::{BinaryOp, CompareOp, Expr, Function, Local, LocalDecl, Stmt};
use redpoll_logic::{FloatMode, Prim};
use walk::{Recognizer, Walk, assigns_any, at, is_ascending, reads_unchanged};

/// Number of positions between two checks for cancellation.
const POSITIONS_PER_POLL: i64 = 1 << 16;

/// Returns the function with collapsed loops. Also returns the cursors of the walks that are to be
/// folded in lanes if their bodies allow it, each with its number of lanes.
pub(super) fn collapse(mut f: Function, mode: FloatMode) -> (Function, Vec<(Local, u16)>) {
    let mut reads = vec![0; f.locals.len()];
    count_reads(&f.body, &mut reads);
    let (locals, body) = (std::mem::take(&mut f.locals), std::mem::take(&mut f.body));
    let recognizer = Recognizer { mode, reads: &reads, locals: &locals };
    let mut pass = Pass {
        recognizer,
        depth: 0,
        conditions: Vec::new(),
        new_locals: Vec::new(),
        lanes: Vec::new(),
        positions: Vec::new(),
        is_changed: false,
    };
    let body = pass.block(body);
    let Pass { new_locals, lanes, positions, is_changed, .. } = pass;
    f = Function { locals: [locals, new_locals].concat(), body, ..f };
    positions.into_iter().for_each(|l| f.locals[l.index()].name = "q".into());
    (if is_changed { cleanup(f) } else { f }, lanes)
}

struct Pass<'a> {
    recognizer: Recognizer<'a>,
    /// Number of loops around the current statement.
    depth: usize,
    /// Conditions that hold at the current statement.
    conditions: Vec<Expr>,
    /// New locals, after those of the function.
    new_locals: Vec<LocalDecl>,
    /// The cursors of the walks that are to be folded in lanes, with the number of lanes.
    lanes: Vec<(Local, u16)>,
    /// Loop variables that were coordinates and are positions now.
    positions: Vec<Local>,
    is_changed: bool,
}

/// Adds a `break` after a fold whose repetition changes nothing. `folds` is the body of the loop
/// over `var` that runs the folds before a walk. Apart from definitions of locals, the body must
/// have one statement: an `if` with the fold alone. The operator must be idempotent, and the folded
/// value must be the same in every round. Other bodies stay as they are.
fn end_when_repeated(mut folds: Vec<Stmt>, var: Local) -> Vec<Stmt> {
    let is_varying = |l: Local| l == var || assigns_any(&folds, &mut |assigned| assigned == l);
    let is_repeated = |stmt: &Stmt| match stmt {
        Stmt::If { then, other, .. } => match &then[..] {
            [Stmt::Assign(_, Expr::Binary(op, _, value))] => {
                let is_idempotent = matches!(op, BinaryOp::Min | BinaryOp::Max | BinaryOp::And | BinaryOp::Or);
                let is_same = !value.any(&mut |e| matches!(e, Expr::Local(l) if is_varying(*l)));
                is_idempotent && is_same && other.is_empty()
            }
            _ => false,
        },
        _ => false,
    };
    let is_definition = |stmt: &Stmt| matches!(stmt, Stmt::Assign(l, value) if !value.mentions(*l));
    if let Some(at) = folds.iter().position(is_repeated)
        && folds.iter().enumerate().all(|(k, stmt)| k == at || is_definition(stmt))
        && let Stmt::If { then, .. } = &mut folds[at]
    {
        then.push(Stmt::Break);
    }
    folds
}

impl Pass<'_> {
    fn block(&mut self, stmts: Vec<Stmt>) -> Vec<Stmt> {
        let mut out = Vec::with_capacity(stmts.len());
        for stmt in stmts {
            match stmt {
                Stmt::For { var, lo, hi, body } => match self.recognizer.of_fibers(var, &body) {
                    Some(walk) => self.push_fibers(walk, (var, lo, hi), &mut out),
                    None => {
                        let body = self.loop_body(body);
                        out.push(Stmt::For { var, lo, hi, body });
                    }
                },
                Stmt::While { cond, body } => match self.recognizer.of_positions(&cond, &body) {
                    Some((walk, q, end)) => {
                        let mut then = Vec::new();
                        self.push_walk(walk, (q, &local(q), &end), &mut then);
                        then.push(Stmt::Assign(q, end));
                        out.push(Stmt::If { cond, then, other: Vec::new() });
                    }
                    None => {
                        let body = self.loop_body(body);
                        out.push(Stmt::While { cond, body });
                    }
                },
                Stmt::If { cond, then, other } => {
                    // Only the condition that a loop has rounds is of use.
                    let holds = matches!(cond, Expr::Compare(CompareOp::Lt, ..))
                        && !assigns_any(&then, &mut |l| cond.mentions(l))
                        && reads_unchanged(&cond, &then);
                    self.conditions.extend(holds.then(|| cond.clone()));
                    let then = self.block(then);
                    self.conditions.truncate(self.conditions.len() - usize::from(holds));
                    let other = self.block(other);
                    out.push(Stmt::If { cond, then, other });
                }
                other => out.push(other),
            }
        }
        out
    }

    fn loop_body(&mut self, body: Vec<Stmt>) -> Vec<Stmt> {
        self.depth += 1;
        let body = self.block(body);
        self.depth -= 1;
        body
    }

    /// Appends the loops that replace `for var in lo..hi { walk }`.
    fn push_fibers(&mut self, mut walk: Walk, (var, lo, hi): (Local, Expr, Expr), out: &mut Vec<Stmt>) {
        let folds = std::mem::take(&mut walk.folds);
        if !folds.is_empty() {
            let body = end_when_repeated(folds, var);
            out.push(Stmt::For { var, lo: lo.clone(), hi: hi.clone(), body });
        }
        let cond = lt(&lo, &hi);
        let mut code = Vec::new();
        self.push_walk(walk, (var, &lo, &hi), &mut code);
        match is_ascending(&lo, &hi) || self.conditions.contains(&cond) {
            true => out.extend(code),
            false => out.push(Stmt::If { cond, then: code, other: Vec::new() }),
        }
    }

    /// Appends one walk for all rounds of a loop over `var` from `lo` to `hi`, where `lo <= hi`.
    fn push_walk(&mut self, walk: Walk, (var, lo, hi): (Local, &Expr, &Expr), out: &mut Vec<Stmt>) {
        let end = walk.end_local.unwrap_or_else(|| self.new_local("q_end"));
        let last = if SeededFault::CollapsedEnd.is_active() { plus(hi, -1) } else { hi.clone() };
        out.push(Stmt::Assign(end, at(&walk.begin, var, &last)));
        out.push(Stmt::Assign(walk.cursor, at(&walk.begin, var, lo)));
        out.push(self.walk_loop(walk.cursor, end, walk.body));
        self.positions.extend(walk.is_row.then_some(walk.cursor));
        // A walk over all fibers is long, however short its fibers are.
        let least = (self.depth == 0).then_some(LANES);
        let lanes = walk.lanes.max(least);
        self.lanes.extend(lanes.map(|lanes| (walk.cursor, lanes)));
        self.is_changed = true;
    }

    /// Returns the loop of a walk. A walk that is in no other loop runs in blocks: the loop over
    /// the blocks contains a loop, so each of its rounds checks for cancellation.
    fn walk_loop(&mut self, cursor: Local, end: Local, body: Vec<Stmt>) -> Stmt {
        let q = local(cursor);
        if self.depth > 0 {
            return Stmt::While { cond: lt(&q, &local(end)), body };
        }
        let stop = self.new_local("stop");
        let block = vec![
            Stmt::Assign(stop, min(&plus(&q, POSITIONS_PER_POLL), &local(end))),
            Stmt::While { cond: lt(&q, &local(stop)), body },
        ];
        Stmt::While { cond: lt(&q, &local(end)), body: block }
    }

    fn new_local(&mut self, name: &str) -> Local {
        self.new_locals.push(LocalDecl { name: name.into(), prim: Prim::I64 });
        Local((self.recognizer.locals.len() + self.new_locals.len() - 1) as u32)
    }
}
