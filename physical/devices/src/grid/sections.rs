//! Functions whose rounds can be cut into sections, each for a range of positions of a list.
//!
//! The sections of a round together compute the round if each position of the list adds to the
//! outputs independently. So all stores into outputs must be in one block, which iterates over the
//! list in one loop:
//! ```text
//! acc = y[..], or its fill value
//! q = ptr[p]
//! end = ptr[p + 1]
//! while q < end { .. q = q + 1 }
//! y[..] = acc
//! ```
//! A round of this loop depends on earlier rounds only through the values into which the rounds
//! fold: accumulators such as `acc`, and elements of outputs. The block stores the accumulators
//! after the loop, and otherwise reads no results of the loop.

use super::independence::{EarlyReads, LoopDepth, count_reads, is_serial};
use super::nodes::{Grid, SectionBound, Stmt as GridStmt, TeamStmt};
use redpoll_compiler::assembly::{Buffer, CompareOp, Expr, Function, Local, LocalDecl, Stmt};
use redpoll_compiler::lower::{Binding, LoweredFunction, int, local, max, min, plus};
use redpoll_compiler::notation::{Program, Role, Sections};
use redpoll_logic::Prim;
use std::collections::HashSet;

/// A function whose rounds are limited to the positions between two locals, which are assigned at
/// the start.
pub(super) struct SectionedFunction {
    pub(super) function: Function,
    pub(super) bounds: [Local; 2],
}

/// Returns the function with its rounds limited to sections; `None` if it does not have the
/// required shape.
pub(super) fn cut_into_sections(
    program: &Program,
    lowered: &LoweredFunction,
    sections: &Sections,
    function: &Function,
) -> Option<SectionedFunction> {
    let buffer_of = |binding: Binding| lowered.bindings.iter().position(|b| *b == binding).map(|k| Buffer(k as u32));
    let ends = buffer_of(Binding::Level { tensor: sections.tensor, level: 1, array: 0 })?;
    let outputs: HashSet<Buffer> = (0..)
        .map(Buffer)
        .zip(&lowered.bindings)
        .filter(|(_, binding)| match binding {
            Binding::Leaf { tensor, .. } => program.tensors[tensor.index()].role == Role::Output,
            _ => false,
        })
        .map(|(buffer, _)| buffer)
        .collect();
    let mut function = function.clone();
    let bounds = ["first", "last"].map(|name| {
        function.locals.push(LocalDecl { name: name.into(), prim: Prim::I64 });
        Local(function.locals.len() as u32 - 1)
    });
    let total_reads = count_reads(&function, &function.body);
    let cutter = SectionCutter { function: &function, ends, outputs, total_reads };
    let (mut body, mut blocks) = (function.body.clone(), 0);
    cutter.cut(&mut body, bounds, &mut blocks)?;
    if blocks != 1 {
        return None;
    }
    body.splice(
        0..0,
        bounds.into_iter().zip([i64::MIN, i64::MAX]).map(|(bound, limit)| Stmt::Assign(bound, int(limit))),
    );
    function.body = body;
    Some(SectionedFunction { function, bounds })
}

/// Replaces the initial assignments of the bounds in a grid by the bounds of each chunk's section.
pub(super) fn set_section_bounds(mut grid: Grid, bounds: [Local; 2]) -> Grid {
    for (stmt, (bound, side)) in
        grid.body.iter_mut().zip(bounds.into_iter().zip([SectionBound::First, SectionBound::Last]))
    {
        *stmt = GridStmt::Extension(TeamStmt::Section(bound, side));
    }
    grid
}

struct SectionCutter<'f> {
    function: &'f Function,
    /// The `ptr` array of the list that is cut.
    ends: Buffer,
    /// The buffers with the values of outputs.
    outputs: HashSet<Buffer>,
    /// Number of reads of each local.
    total_reads: Vec<u32>,
}

/// The loop along the list in a block.
struct ListWalk {
    at: usize,
    /// Indices of the statements that assign the cursor and the end.
    bound_assignments: [usize; 2],
    cursor: Local,
    end: Local,
}

impl SectionCutter<'_> {
    /// Limits the blocks that iterate over the list to the bounds, and adds their number to
    /// `blocks`. Returns `None` if other code stores into outputs, swaps or sorts, or if such a
    /// block does not have the required shape.
    fn cut(&self, body: &mut [Stmt], bounds: [Local; 2], blocks: &mut u32) -> Option<()> {
        let loads_ptr = |s: &Stmt| matches!(s, Stmt::Assign(_, Expr::Load { buffer, .. }) if *buffer == self.ends);
        if body.iter().any(loads_ptr) {
            *blocks += 1;
            let walk = self.walk(body).filter(|walk| self.is_fold_of_positions(body, walk))?;
            for (at, bound) in walk.bound_assignments.into_iter().zip(bounds) {
                let Stmt::Assign(_, value) = &mut body[at] else { return None };
                *value =
                    if at == walk.bound_assignments[0] { max(value, &local(bound)) } else { min(value, &local(bound)) };
            }
            return Some(());
        }
        for stmt in body {
            match stmt {
                Stmt::Store { buffer, .. } if self.outputs.contains(buffer) => return None,
                Stmt::Swap(..) | Stmt::Sort { .. } | Stmt::SortBy { .. } => return None,
                Stmt::If { then, other, .. } => {
                    self.cut(then, bounds, blocks)?;
                    self.cut(other, bounds, blocks)?;
                }
                Stmt::While { body, .. } | Stmt::For { body, .. } => self.cut(body, bounds, blocks)?,
                _ => {}
            }
        }
        Some(())
    }

    fn walk(&self, block: &[Stmt]) -> Option<ListWalk> {
        let mut loops = (0..block.len()).filter(|k| !matches!(block[*k], Stmt::Assign(..) | Stmt::Store { .. }));
        let at = loops
            .find(|k| !matches!(&block[*k], Stmt::If { then, other, .. } if is_break(then) && other.is_empty()))?;
        let (cursor, end) = match &block[at] {
            Stmt::While { cond: Expr::Compare(CompareOp::Lt, q, end), body } => {
                let (Expr::Local(q), Expr::Local(end)) = (&**q, &**end) else { return None };
                (body.last() == Some(&Stmt::Assign(*q, plus(&local(*q), 1)))).then_some((*q, *end))?
            }
            Stmt::Lanes(fold) => {
                let (Expr::Local(q), Expr::Local(end)) = (&fold.lo, &fold.hi) else { return None };
                (*q, *end)
            }
            _ => return None,
        };
        let sets_cursor = |k: &usize| self.ptr_load(&block[*k]).is_some_and(|(l, _)| l == cursor);
        let first = (0..at).find(sets_cursor)?;
        let (_, row) = self.ptr_load(&block[first])?;
        let last = (0..at).find(|k| self.ptr_load(&block[*k]) == Some((end, &plus(row, 1))))?;
        let assigned = |l: Local| {
            let mut times = 0;
            self.function.body.iter().for_each(|s| s.for_each_assigned(&mut |other| times += u32::from(other == l)));
            times
        };
        let steps = u32::from(matches!(block[at], Stmt::While { .. }));
        let is_assigned_once = assigned(cursor) == 1 + steps && assigned(end) == 1;
        is_assigned_once.then_some(ListWalk { at, bound_assignments: [first, last], cursor, end })
    }

    /// Returns the local to which a statement assigns an element of the `ptr` array, and the index
    /// of the element.
    fn ptr_load<'s>(&self, stmt: &'s Stmt) -> Option<(Local, &'s Expr)> {
        match stmt {
            Stmt::Assign(local, Expr::Load { buffer, at }) if *buffer == self.ends => Some((*local, at)),
            _ => None,
        }
    }

    /// Returns whether each position of the list adds to the outputs independently.
    fn is_fold_of_positions(&self, block: &[Stmt], walk: &ListWalk) -> bool {
        let (before, rest) = block.split_at(walk.at);
        let [list_loop, after @ ..] = rest else { return false };
        let mut varying = HashSet::new();
        list_loop.for_each_assigned(&mut |l| {
            varying.insert(l);
        });
        varying.remove(&walk.cursor);
        let is_set = |l: &Local| before.iter().any(|s| matches!(s, Stmt::Assign(other, _) if other == l));
        let (accumulators, temporaries): (HashSet<Local>, HashSet<Local>) = varying.into_iter().partition(is_set);
        let inside_reads = count_reads(self.function, std::slice::from_ref(list_loop));
        let rounds = match list_loop {
            Stmt::While { body, .. } => &body[..body.len() - 1],
            fold => std::slice::from_ref(fold),
        };
        let early_reads = EarlyReads { varying: &temporaries };
        let is_independent = || early_reads.block(rounds, &mut HashSet::from([walk.cursor, walk.end])).is_some();
        let is_read_inside_only = |l: &Local| self.total_reads[l.index()] == inside_reads[l.index()];
        // The loop alone reads the bounds, in its condition and its rounds.
        [walk.cursor, walk.end].iter().all(is_read_inside_only)
            && temporaries.iter().all(is_read_inside_only)
            && accumulators.iter().all(|acc| self.is_accumulator(*acc, before, rounds, after))
            && after
                .iter()
                .all(|s| self.stores_accumulator(s, &accumulators) || is_advance(s, &accumulators, &temporaries))
            && before.iter().all(|s| !matches!(s, Stmt::Store { .. }))
            && self.stores_into_outputs_only(rounds)
            && is_serial(rounds, LoopDepth::Loop)
            && is_independent()
    }

    /// Returns whether a local is an accumulator: the local starts from an element or the fill
    /// value of an output, the rounds only fold into the local, by one operator, and the only other
    /// read of the local stores it after the rounds.
    fn is_accumulator(&self, acc: Local, before: &[Stmt], rounds: &[Stmt], after: &[Stmt]) -> bool {
        let assignments: Vec<&Stmt> = before.iter().filter(|s| matches!(s, Stmt::Assign(l, _) if *l == acc)).collect();
        let [Stmt::Assign(_, start)] = assignments[..] else { return false };
        let (mut folds, mut ops, mut others) = (0, HashSet::new(), false);
        for stmt in rounds {
            stmt.any(&mut |s| {
                match s {
                    Stmt::Assign(l, Expr::Binary(op, old, value)) if *l == acc => {
                        others |= **old != local(acc) || value.mentions(acc);
                        folds += 1;
                        ops.insert(*op);
                    }
                    Stmt::Lanes(fold) if fold.acc == acc => {
                        others |= fold.value.mentions(acc);
                        folds += 1;
                        ops.insert(fold.op);
                    }
                    Stmt::Assign(l, _) => others |= *l == acc,
                    _ => {}
                }
                false
            });
        }
        let stored = after.iter().filter_map(|s| match s {
            Stmt::Store { buffer, value, .. } if *value == local(acc) => Some(*buffer),
            _ => None,
        });
        let [stored] = stored.collect::<Vec<_>>()[..] else { return false };
        let is_valid_start = match start {
            Expr::Load { buffer, .. } => self.outputs.contains(buffer),
            Expr::Const(fill) => *fill == self.function.buffers[stored.index()].fill,
            _ => false,
        };
        is_valid_start && !others && ops.len() == 1 && self.total_reads[acc.index()] as usize == folds + 1
    }

    /// Returns whether a statement stores an accumulator into an output.
    fn stores_accumulator(&self, stmt: &Stmt, accumulators: &HashSet<Local>) -> bool {
        match stmt {
            Stmt::Store { buffer, at, value: Expr::Local(acc), .. } => {
                self.outputs.contains(buffer)
                    && accumulators.contains(acc)
                    && !accumulators.iter().any(|l| at.mentions(*l))
            }
            _ => false,
        }
    }

    fn stores_into_outputs_only(&self, rounds: &[Stmt]) -> bool {
        let other = |s: &Stmt| matches!(s, Stmt::Store { buffer, .. } if !self.outputs.contains(buffer));
        !rounds.iter().any(|s| s.any(&mut |s| other(s)))
    }
}

/// Returns whether a block only leaves its loop.
fn is_break(block: &[Stmt]) -> bool {
    *block == [Stmt::Break]
}

/// Returns whether a statement is an assignment that reads no results of the list, such as one that
/// advances an enclosing loop.
fn is_advance(stmt: &Stmt, accumulators: &HashSet<Local>, temporaries: &HashSet<Local>) -> bool {
    match stmt {
        Stmt::Assign(_, value) => !accumulators.iter().chain(temporaries).any(|l| value.mentions(*l)),
        _ => false,
    }
}
