//! Independence of the rounds of a loop: whether lanes may take them in any order.
//!
//! Rounds are independent if
//! - the body only assigns, stores, folds, branches and loops, apart from the growth of appends; it
//!   does not sort, swap, return, or leave the loop;
//! - each local that the body assigns is assigned in every round before it is read, and is read
//!   only inside the loop. Exceptions are the counters of appends, and accumulators that a round
//!   reads only to fold into them;
//! - all accesses to a stored array have positions `stride * var + base + offset`. These positions
//!   share one stride and base, and their offsets are below the stride, so each position belongs to
//!   one round. Along a list, the coordinate of the round may replace `var`. Atomic operations may
//!   access any position, and appends store at their counters ([`super::appends`]).

use super::affine::{FormAnalysis, PositionForm};
use super::appends::Appends;
use super::nodes::RoundFold;
use redpoll_compiler::assembly::{Buffer, Expr, Function, Local, Stmt};
use std::collections::HashSet;

/// Counts the reads of each local in `body`.
pub(super) fn count_reads(f: &Function, body: &[Stmt]) -> Vec<u32> {
    let mut reads = vec![0; f.locals.len()];
    for stmt in body {
        stmt.any(&mut |s| {
            s.for_each_expr(&mut |e| {
                e.any(&mut |e| {
                    if let Expr::Local(local) = e {
                        reads[local.index()] += 1;
                    }
                    false
                });
            });
            // A fold also reads the initial value of its accumulator.
            if let Stmt::Lanes(fold) = s {
                reads[fold.acc.index()] += 1;
            }
            false
        });
    }
    reads
}

/// Facts about the rounds of a loop.
#[derive(Clone, Copy)]
pub(super) struct RoundFacts<'a> {
    /// The folds of the rounds.
    pub(super) folds: &'a [RoundFold],
    /// The coordinates of a list: an array whose element at the loop variable differs in each
    /// round.
    pub(super) coordinates: Option<Buffer>,
    /// The appends of the rounds, if they append.
    pub(super) appends: Option<&'a Appends>,
    /// The test whether only atomic operations access an array.
    pub(super) atomic: &'a dyn Fn(Buffer) -> bool,
}

/// Returns whether the rounds of a loop with this variable and body are independent. `total_reads`
/// has the number of reads of each local in the whole function.
pub(super) fn is_independent(
    f: &Function,
    (var, body): (Local, &[Stmt]),
    total_reads: &[u32],
    facts: RoundFacts<'_>,
) -> bool {
    let RoundFacts { folds, coordinates, appends, atomic } = facts;
    let body = appends.map_or(body, |appends| &appends.rest);
    let mut assigned = HashSet::new();
    for stmt in body {
        stmt.for_each_assigned(&mut |local| {
            assigned.insert(local);
        });
    }
    let inside_reads = count_reads(f, body);
    let is_read_inside_only = |local: &Local| total_reads[local.index()] == inside_reads[local.index()];
    let varying = assigned.iter().copied().filter(|local| !folds.iter().any(|fold| fold.acc == *local)).collect();
    HashSet::iter(&varying).all(is_read_inside_only)
        && is_serial(body, LoopDepth::Loop)
        && EarlyReads { varying: &varying }.block(body, &mut HashSet::from([var])).is_some()
        && {
            assigned.extend(appends.iter().flat_map(|appends| &appends.counters).map(|counter| counter.local));
            let may_access_any = |b: Buffer| atomic(b) || appends.is_some_and(|appends| appends.buffers.contains(&b));
            has_separate_positions((var, coordinates), body, &assigned, &may_access_any)
        }
}

/// The loop that a `break` leaves: the loop under analysis, or a loop inside it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum LoopDepth {
    Loop,
    Inner,
}

/// Returns whether a lane can run `body` alone: all statements are assignments, stores, folds,
/// branches and loops, and no `break` leaves the analyzed loop.
pub(super) fn is_serial(body: &[Stmt], depth: LoopDepth) -> bool {
    body.iter().all(|stmt| match stmt {
        Stmt::Assign(..) | Stmt::Store { .. } | Stmt::Lanes(_) => true,
        Stmt::If { then, other, .. } => is_serial(then, depth) && is_serial(other, depth),
        Stmt::While { body, .. } | Stmt::For { body, .. } => is_serial(body, LoopDepth::Inner),
        Stmt::Break => depth == LoopDepth::Inner,
        Stmt::Grow { .. } | Stmt::Sort { .. } | Stmt::SortBy { .. } | Stmt::Swap(..) | Stmt::Return(_) => false,
        Stmt::Extension(never) => match *never {},
    })
}

/// A search for locals that a round reads before it assigns them.
pub(super) struct EarlyReads<'a> {
    /// The locals that a round must assign before it reads them.
    pub(super) varying: &'a HashSet<Local>,
}

/// The exit of a block: control continues with the next statement, or leaves the enclosing loop.
pub(super) enum BlockExit {
    FallsThrough,
    Leaves,
}

impl EarlyReads<'_> {
    /// Returns `None` if the expression reads a varying local before its assignment.
    fn check_reads(&self, e: &Expr, assigned: &HashSet<Local>) -> Option<()> {
        let early = e.any(&mut |e| match e {
            Expr::Local(local) => self.varying.contains(local) && !assigned.contains(local),
            _ => false,
        });
        (!early).then_some(())
    }

    /// Returns `None` if a local may be read too early, or if the body grows, sorts or swaps.
    /// Otherwise returns the exit of the body; if control falls through, `assigned` then has the
    /// locals that are assigned on every path to the end.
    pub(super) fn block(&self, body: &[Stmt], assigned: &mut HashSet<Local>) -> Option<BlockExit> {
        for stmt in body {
            match stmt {
                Stmt::Assign(local, value) => {
                    self.check_reads(value, assigned)?;
                    assigned.insert(*local);
                }
                Stmt::Store { at, value, .. } => {
                    self.check_reads(at, assigned)?;
                    self.check_reads(value, assigned)?;
                }
                Stmt::If { cond, then, other } => {
                    self.check_reads(cond, assigned)?;
                    let (mut in_then, mut in_other) = (assigned.clone(), assigned.clone());
                    match (self.block(then, &mut in_then)?, self.block(other, &mut in_other)?) {
                        (BlockExit::Leaves, BlockExit::Leaves) => return Some(BlockExit::Leaves),
                        (BlockExit::Leaves, BlockExit::FallsThrough) => *assigned = in_other,
                        (BlockExit::FallsThrough, BlockExit::Leaves) => *assigned = in_then,
                        (BlockExit::FallsThrough, BlockExit::FallsThrough) => *assigned = &in_then & &in_other,
                    }
                }
                Stmt::While { cond, body } => {
                    self.check_reads(cond, assigned)?;
                    self.block(body, &mut assigned.clone())?;
                }
                Stmt::For { var, lo, hi, body } => {
                    self.check_reads(lo, assigned)?;
                    self.check_reads(hi, assigned)?;
                    let mut inside = assigned.clone();
                    inside.insert(*var);
                    self.block(body, &mut inside)?;
                }
                Stmt::Lanes(fold) => {
                    self.check_reads(&fold.lo, assigned)?;
                    self.check_reads(&fold.hi, assigned)?;
                    self.check_reads(&Expr::Local(fold.acc), assigned)?;
                    let mut inside = assigned.clone();
                    inside.insert(fold.var);
                    self.check_reads(&fold.value, &inside)?;
                }
                Stmt::Break | Stmt::Return(_) => return Some(BlockExit::Leaves),
                Stmt::Grow { .. } | Stmt::Sort { .. } | Stmt::SortBy { .. } | Stmt::Swap(..) => return None,
                Stmt::Extension(never) => match *never {},
            }
        }
        Some(BlockExit::FallsThrough)
    }
}

/// Returns whether the rounds access disjoint positions in every stored array for which `atomic` is
/// false.
fn has_separate_positions(
    rounds: (Local, Option<Buffer>),
    body: &[Stmt],
    assigned: &HashSet<Local>,
    atomic: &dyn Fn(Buffer) -> bool,
) -> bool {
    let mut stored = HashSet::new();
    body.iter().for_each(|s| {
        s.any(&mut |s| {
            if let Stmt::Store { buffer, .. } = s
                && !atomic(*buffer)
            {
                stored.insert(*buffer);
            }
            false
        });
    });
    let mut forms = FormAnalysis::new(rounds, body, assigned, &stored);
    let mut seen: Vec<(Buffer, PositionForm)> = Vec::new();
    forms.all_accesses(body, &mut |buffer, form| {
        if !stored.contains(&buffer) {
            return true;
        }
        let Some(form) = form else { return false };
        if seen.iter().any(|(other, first)| *other == buffer && *first != form) {
            return false;
        }
        seen.push((buffer, form));
        true
    })
}
