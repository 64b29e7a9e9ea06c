//! The mapping of a function to a grid: decides which loops are spread, which stores are atomic,
//! and where barriers and polls for cancellation are needed.

use super::appends::appends_of_rounds;
use super::barriers::with_barriers;
use super::independence::{RoundFacts, count_reads, is_independent};
use super::nodes::{ActiveLanes, Grid, MemorySpace, Stmt, TeamStmt};
use super::rounds::{Walks, coordinates_of};
use redpoll_compiler::assembly::{BinaryOp, Buffer, Expr, Function, Local, Stmt as SerialStmt};
use redpoll_logic::Prim;
use std::collections::HashSet;

/// Number of lanes of a warp.
pub const WARP: u32 = 32;

/// Largest number of lanes of a team; a team of more than one warp is a block.
pub const MAX_TEAM_LANES: u32 = 256;

/// Maps a verified function to a grid whose teams have as many lanes as the function can use. This
/// number is the maximum of the numbers of lanes of the function's folds and walks, but at least
/// the size of a warp if other loops are spread, and at least one.
pub fn map(function: &Function, spaces: Vec<MemorySpace>, walks: &Walks) -> Grid {
    let grid = map_to(function, spaces, WARP, walks);
    let mut lanes = 1;
    for stmt in &grid.body {
        stmt.any(&mut |s| {
            match s {
                Stmt::Extension(TeamStmt::Spread { var, .. }) => {
                    lanes = lanes.max(walks.lanes_of(*var).map_or(WARP, u32::from));
                }
                Stmt::Lanes(fold) => lanes = lanes.max(u32::from(fold.lanes).min(MAX_TEAM_LANES)),
                _ => {}
            }
            false
        });
    }
    if lanes == WARP { grid } else { map_to(function, grid.spaces, lanes, walks) }
}

/// Maps a verified function to a grid of teams of `lanes` lanes, a power of two up to 256.
pub fn map_to(function: &Function, spaces: Vec<MemorySpace>, lanes: u32, walks: &Walks) -> Grid {
    let total_reads = count_reads(function, &function.body);
    let atomic = atomic_buffers(function, &spaces);
    let mapping = Mapping { function, total_reads, lanes, atomic, walks };
    let body = mapping.block(&function.body, Nesting::Chunk);
    let body = if lanes == 1 { body } else { with_barriers(function, body) };
    Grid { function: function.clone(), lanes, spaces, list_coordinates: walks.list_coordinates.clone(), body }
}

/// Returns the buffers that several teams fold into by atomic operations, given the memory spaces.
pub(super) fn atomic_buffers(function: &Function, spaces: &[MemorySpace]) -> HashSet<Buffer> {
    let is_atomic = |(buffer, space): &(Buffer, &MemorySpace)| {
        **space == MemorySpace::Shared && atomic_op(function, *buffer).is_some()
    };
    (0..).map(Buffer).zip(spaces).filter(is_atomic).map(|(buffer, _)| buffer).collect()
}

/// Returns the operator by which every access to a buffer folds a value into an element, if there
/// is one. The order of such folds does not matter, and devices have the operator as an atomic
/// operation.
pub(super) fn atomic_op(function: &Function, buffer: Buffer) -> Option<BinaryOp> {
    let prim = function.buffers[buffer.index()].prim;
    if !matches!(prim, Prim::I32 | Prim::I64 | Prim::U32 | Prim::U64) {
        return None;
    }
    let (mut ops, mut other) = (HashSet::new(), false);
    let mut loads = |e: &Expr| {
        other |= e.any(&mut |e| matches!(e, Expr::Load { buffer: b, .. } if *b == buffer));
    };
    for stmt in &function.body {
        stmt.any(&mut |s| {
            match s {
                SerialStmt::Store { buffer: b, at, value, .. } if *b == buffer => {
                    match fold_of_store(buffer, at, value) {
                        Some((op, value)) => {
                            ops.insert(op);
                            loads(at);
                            loads(value);
                        }
                        None => ops.extend([BinaryOp::Add, BinaryOp::Min]),
                    }
                }
                s => s.for_each_expr(&mut |e| loads(e)),
            }
            matches!(s, SerialStmt::Swap(a, b) if *a == buffer || *b == buffer)
        });
    }
    let mut ops = ops.into_iter();
    ops.next().filter(|_| !other && ops.next().is_none())
}

/// Returns the operator and the other operand of a store that folds into its element.
pub(super) fn fold_of_store<'e>(buffer: Buffer, at: &Expr, value: &'e Expr) -> Option<(BinaryOp, &'e Expr)> {
    use BinaryOp::{Add, And, Max, Min, Or, Xor};
    let Expr::Binary(op @ (Add | Min | Max | And | Or | Xor), old, value) = value else { return None };
    let is_old = matches!(&**old, Expr::Load { buffer: b, at: a } if *b == buffer && **a == *at);
    is_old.then_some((*op, value))
}

struct Mapping<'f> {
    function: &'f Function,
    /// Number of reads of each local.
    total_reads: Vec<u32>,
    lanes: u32,
    /// Buffers whose folds are atomic operations.
    atomic: HashSet<Buffer>,
    /// Loops along lists whose rounds lanes may share.
    walks: &'f Walks,
}

/// The context of a statement.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Nesting {
    /// Directly in the chunk.
    Chunk,
    /// A loop whose rounds all lanes of a team run together.
    Loop,
    /// A spread loop.
    Spread,
}

impl Nesting {
    /// Returns the lanes that store in this context.
    fn active_lanes(self) -> ActiveLanes {
        if self == Nesting::Spread { ActiveLanes::Each } else { ActiveLanes::Lead }
    }

    /// Returns the context of the body of a loop that is not spread.
    fn of_body(self) -> Nesting {
        if self == Nesting::Chunk { Nesting::Loop } else { self }
    }
}

impl Mapping<'_> {
    fn block(&self, body: &[SerialStmt], nesting: Nesting) -> Vec<Stmt> {
        body.iter().map(|s| self.stmt(s, nesting)).collect()
    }

    fn stmt(&self, stmt: &SerialStmt, nesting: Nesting) -> Stmt {
        let active = nesting.active_lanes();
        match stmt {
            SerialStmt::Store { buffer, at, value, .. } => {
                let buffer = *buffer;
                match fold_of_store(buffer, at, value).filter(|_| self.atomic.contains(&buffer)) {
                    Some((op, value)) => {
                        let (at, value) = (at.clone(), value.clone());
                        Stmt::Extension(TeamStmt::Atomic { active, buffer, at, op, value })
                    }
                    None => Stmt::Store { active, buffer, at: at.clone(), value: value.clone() },
                }
            }
            SerialStmt::While { cond, body } => {
                let rounds = self.block(body, nesting.of_body());
                let polls = nesting != Nesting::Spread && may_have_many_rounds(body);
                Stmt::While { cond: cond.clone(), body: if polls { with_poll(active, rounds) } else { rounds } }
            }
            SerialStmt::For { var, lo, hi, body } => self.for_loop(*var, (lo, hi), body, nesting),
            stmt => match stmt.convert(|()| active, |body| self.block(body, nesting)) {
                Ok(stmt) => stmt,
                Err(never) => match *never {},
            },
        }
    }

    /// Maps a `for`. The loop is spread if its rounds are independent and no statement in it uses
    /// the lanes. So the innermost such loop is spread, and adjacent lanes take adjacent rounds. A
    /// loop that an interchange has made outermost is spread whatever is in it, if its rounds are
    /// independent.
    fn for_loop(&self, var: Local, (lo, hi): (&Expr, &Expr), body: &[SerialStmt], nesting: Nesting) -> Stmt {
        let inside = self.block(body, nesting.of_body());
        let (lo, hi) = (lo.clone(), hi.clone());
        // A loop is not spread around a loop that uses the lanes already. A walk for one lane does
        // not use the lanes, and leaves them to a loop around it.
        let uses_lanes = |s: &Stmt| match s {
            Stmt::Extension(TeamStmt::Spread { var, .. }) => self.walks.lanes_of(*var) != Some(1),
            s => matches!(s, Stmt::Lanes(_)),
        };
        let run_by_all = |inside: Vec<Stmt>| {
            let is_constant = [&lo, &hi].into_iter().all(|bound| matches!(bound, Expr::Const(_)));
            if nesting == Nesting::Spread || is_constant { inside } else { with_poll(ActiveLanes::Lead, inside) }
        };
        let lanes_are_used =
            !self.walks.interchanged.contains(&var) && inside.iter().any(|s| s.any(&mut |s| uses_lanes(s)));
        if self.lanes == 1 || nesting == Nesting::Spread || lanes_are_used {
            let body = run_by_all(inside);
            return Stmt::For { var, lo, hi, body };
        }
        let folds = self.walks.folds(self.function, (var, body), &self.total_reads);
        let coordinates = coordinates_of(&self.walks.list_coordinates, var);
        let appends = appends_of_rounds(self.function, body);
        let facts =
            RoundFacts { folds: &folds, coordinates, appends: appends.as_ref(), atomic: &|b| self.atomic.contains(&b) };
        if !can_spread(self.function, (var, &lo, &hi, body), &self.total_reads, facts) {
            let body = run_by_all(inside);
            return Stmt::For { var, lo, hi, body };
        }
        let counters = appends.map_or_else(Vec::new, |appends| appends.counters);
        // A spread loop within another loop leaves polling to that loop.
        let rounds = self.block(body, Nesting::Spread);
        let polling = if counters.is_empty() { ActiveLanes::Each } else { ActiveLanes::Lead };
        let body = if nesting == Nesting::Chunk { with_poll(polling, rounds) } else { rounds };
        Stmt::Extension(TeamStmt::Spread { var, lo, hi, folds, counters, body })
    }
}

/// Adds a poll for cancellation at the start of the rounds.
fn with_poll(active: ActiveLanes, mut rounds: Vec<Stmt>) -> Vec<Stmt> {
    rounds.insert(0, Stmt::Extension(TeamStmt::Poll(active)));
    rounds
}

/// Returns whether a loop may have many rounds: it contains loops, or increases a local by an
/// expression that is not a local, such as the constant 1. A binary search, which does neither, has
/// few rounds.
fn may_have_many_rounds(body: &[SerialStmt]) -> bool {
    let is_step = |s: &SerialStmt| match s {
        SerialStmt::Assign(local, Expr::Binary(BinaryOp::Add, old, by)) => {
            **old == Expr::Local(*local) && !matches!(**by, Expr::Local(_))
        }
        _ => false,
    };
    SerialStmt::has_loop(body) || body.iter().any(|s| s.any(&mut |s| is_step(s)))
}

/// Returns whether lanes may share the rounds of a loop: the rounds are independent, and the bounds
/// read nothing that the rounds store.
pub(super) fn can_spread(
    f: &Function,
    (var, lo, hi, body): (Local, &Expr, &Expr, &[SerialStmt]),
    total_reads: &[u32],
    facts: RoundFacts<'_>,
) -> bool {
    let stores = |buffer: Buffer| {
        body.iter().any(|s| s.any(&mut |s| matches!(s, SerialStmt::Store { buffer: b, .. } if *b == buffer)))
    };
    let reads_stored = |e: &Expr| e.any(&mut |e| matches!(e, Expr::Load { buffer, .. } if stores(*buffer)));
    !reads_stored(lo) && !reads_stored(hi) && is_independent(f, (var, body), total_reads, facts)
}
