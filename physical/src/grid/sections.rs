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
//! A round of this loop depends on earlier rounds only through such accumulators, which it folds
//! into, and only the loop determines the stored values.

use super::independent::{Carried, Depth, is_plain, reads};
use super::nodes::{Grid, Side, Stmt as OfGrid};
use crate::assembly::{Buffer, CompareOp, Expr, Function, Local, LocalDecl, Stmt};
use crate::lower::{Binding, Lowered, int, local, max, min, plus};
use crate::notation::{Program, Role, Sections};
use redpoll_logic::Prim;
use std::collections::HashSet;

/// A function whose rounds are limited to the positions between two locals, which are assigned at
/// the start.
pub(super) struct Sectioned {
    pub(super) function: Function,
    pub(super) bounds: [Local; 2],
}

/// Cuts the function into sections if it has the required shape.
pub(super) fn sectioned(
    program: &Program,
    lowered: &Lowered,
    how: &Sections,
    function: &Function,
) -> Option<Sectioned> {
    let buffer_of = |binding: Binding| lowered.bindings.iter().position(|b| *b == binding).map(|k| Buffer(k as u32));
    let ends = buffer_of(Binding::Level { tensor: how.tensor, level: 1, array: 0 })?;
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
    let all = reads(&function, &function.body);
    let shape = Shape { function: &function, ends, outputs, all };
    let (mut body, mut blocks) = (function.body.clone(), 0);
    shape.cut(&mut body, bounds, &mut blocks)?;
    if blocks != 1 {
        return None;
    }
    body.splice(0..0, bounds.into_iter().zip([i64::MIN, i64::MAX]).map(|(bound, all)| Stmt::Assign(bound, int(all))));
    function.body = body;
    Some(Sectioned { function, bounds })
}

/// Replaces the initial assignments of the bounds in a grid by the bounds of each chunk's section.
pub(super) fn with_bounds(mut grid: Grid, bounds: [Local; 2]) -> Grid {
    for (stmt, (bound, side)) in grid.body.iter_mut().zip(bounds.into_iter().zip([Side::First, Side::Last])) {
        *stmt = OfGrid::Section(bound, side);
    }
    grid
}

struct Shape<'f> {
    function: &'f Function,
    /// The `ptr` array of the list that is cut.
    ends: Buffer,
    /// The values of outputs.
    outputs: HashSet<Buffer>,
    /// Number of reads of each local.
    all: Vec<u32>,
}

/// The loop along the list in a block.
struct Walk {
    at: usize,
    /// Indices of the statements that assign the cursor and the end.
    set: [usize; 2],
    cursor: Local,
    end: Local,
}

impl Shape<'_> {
    /// Limits the one block that iterates over the list to the bounds. Returns `None` if other code
    /// stores into outputs, or if the block does not have the shape.
    fn cut(&self, body: &mut [Stmt], bounds: [Local; 2], blocks: &mut u32) -> Option<()> {
        let sets = |s: &Stmt| matches!(s, Stmt::Assign(_, Expr::Load { buffer, .. }) if *buffer == self.ends);
        if body.iter().any(sets) {
            *blocks += 1;
            let walk = self.walk(body).filter(|walk| self.is_fold_of_positions(body, walk))?;
            for (at, bound) in walk.set.into_iter().zip(bounds) {
                let Stmt::Assign(_, value) = &mut body[at] else { return None };
                *value = if at == walk.set[0] { max(value, &local(bound)) } else { min(value, &local(bound)) };
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

    fn walk(&self, block: &[Stmt]) -> Option<Walk> {
        let mut loops = (0..block.len()).filter(|k| !matches!(block[*k], Stmt::Assign(..) | Stmt::Store { .. }));
        let at =
            loops.find(|k| !matches!(&block[*k], Stmt::If { then, other, .. } if leaves(then) && other.is_empty()))?;
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
        let begin = |k: &usize| self.begin(&block[*k]).is_some_and(|(l, _)| l == cursor);
        let first = (0..at).find(begin)?;
        let (_, row) = self.begin(&block[first])?;
        let last = (0..at).find(|k| self.begin(&block[*k]) == Some((end, &plus(row, 1))))?;
        let assigned = |l: Local| {
            let mut times = 0;
            self.function.body.iter().for_each(|s| s.for_each_assigned(&mut |other| times += u32::from(other == l)));
            times
        };
        let steps = u32::from(matches!(block[at], Stmt::While { .. }));
        let once = assigned(cursor) == 1 + steps && assigned(end) == 1;
        once.then_some(Walk { at, set: [first, last], cursor, end })
    }

    /// Returns the local that a statement loads from the `ptr` array, and the index of the load.
    fn begin<'s>(&self, stmt: &'s Stmt) -> Option<(Local, &'s Expr)> {
        match stmt {
            Stmt::Assign(local, Expr::Load { buffer, at }) if *buffer == self.ends => Some((*local, at)),
            _ => None,
        }
    }

    /// Returns whether each position of the list adds to the outputs independently.
    fn is_fold_of_positions(&self, block: &[Stmt], walk: &Walk) -> bool {
        let (before, rest) = block.split_at(walk.at);
        let [along, behind @ ..] = rest else { return false };
        let mut varying = HashSet::new();
        along.for_each_assigned(&mut |l| {
            varying.insert(l);
        });
        varying.remove(&walk.cursor);
        let is_set = |l: &Local| before.iter().any(|s| matches!(s, Stmt::Assign(other, _) if other == l));
        let (accumulators, own): (HashSet<Local>, HashSet<Local>) = varying.into_iter().partition(is_set);
        let inside = reads(self.function, std::slice::from_ref(along));
        let rounds = match along {
            Stmt::While { body, .. } => &body[..body.len() - 1],
            one => std::slice::from_ref(one),
        };
        let carried = Carried { varying: &own };
        let apart = || carried.block(rounds, &mut HashSet::from([walk.cursor, walk.end])).is_some();
        let stays = |l: &Local| self.all[l.index()] == inside[l.index()];
        // The loop alone reads the bounds, in its condition and its rounds.
        [walk.cursor, walk.end].iter().all(stays)
            && own.iter().all(stays)
            && accumulators.iter().all(|acc| self.is_accumulator(*acc, before, rounds, behind))
            && behind.iter().all(|s| self.keeps(s, &accumulators) || steps_on(s, &accumulators, &own))
            && before.iter().all(|s| !matches!(s, Stmt::Store { .. }))
            && self.stores_into_outputs_alone(rounds)
            && is_plain(rounds, Depth::Loop)
            && apart()
    }

    /// Returns whether a local starts from an element of an output or its fill value, is only
    /// folded into in the rounds, and is stored once.
    fn is_accumulator(&self, acc: Local, before: &[Stmt], rounds: &[Stmt], behind: &[Stmt]) -> bool {
        let set: Vec<&Stmt> = before.iter().filter(|s| matches!(s, Stmt::Assign(l, _) if *l == acc)).collect();
        let [Stmt::Assign(_, begin)] = set[..] else { return false };
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
        let stored = behind.iter().filter_map(|s| match s {
            Stmt::Store { buffer, value, .. } if *value == local(acc) => Some(*buffer),
            _ => None,
        });
        let [stored] = stored.collect::<Vec<_>>()[..] else { return false };
        let begins = match begin {
            Expr::Load { buffer, .. } => self.outputs.contains(buffer),
            Expr::Const(fill) => *fill == self.function.buffers[stored.index()].fill,
            _ => false,
        };
        begins && !others && ops.len() == 1 && self.all[acc.index()] as usize == folds + 1
    }

    /// Returns whether a statement stores an accumulator into an output.
    fn keeps(&self, stmt: &Stmt, accumulators: &HashSet<Local>) -> bool {
        match stmt {
            Stmt::Store { buffer, at, value: Expr::Local(acc) } => {
                self.outputs.contains(buffer)
                    && accumulators.contains(acc)
                    && !accumulators.iter().any(|l| at.mentions(*l))
            }
            _ => false,
        }
    }

    fn stores_into_outputs_alone(&self, rounds: &[Stmt]) -> bool {
        let other = |s: &Stmt| matches!(s, Stmt::Store { buffer, .. } if !self.outputs.contains(buffer));
        !rounds.iter().any(|s| s.any(&mut |s| other(s)))
    }
}

/// Returns whether a block only leaves its loop.
fn leaves(block: &[Stmt]) -> bool {
    *block == [Stmt::Break]
}

/// Returns whether a statement advances an enclosing loop without reading results of the list.
fn steps_on(stmt: &Stmt, accumulators: &HashSet<Local>, own: &HashSet<Local>) -> bool {
    match stmt {
        Stmt::Assign(_, value) => !accumulators.iter().chain(own).any(|l| value.mentions(*l)),
        _ => false,
    }
}
