//! The mapping of a function to a grid: decides which loops are spread, which stores are atomic,
//! and where barriers are needed.

use super::barriers::with_barriers;
use super::independent::{Known, is_independent, reads};
use super::nodes::{Grid, Place, Stmt, Writer};
use super::rounds::{Walks, coordinates_of};
use crate::assembly::{BinaryOp, Buffer, Expr, Function, Local, Stmt as Serial};
use redpoll_logic::Prim;
use std::collections::HashSet;

/// Number of lanes of a warp.
pub const WARP: u32 = 32;

/// Largest number of lanes of a team; a team of more than one warp is a block.
pub const MOST_LANES: u32 = 256;

/// Maps a verified function to a grid whose teams have as many lanes as the function can use. That
/// is the most that folds and walks ask for, at least a warp if other loops are spread, otherwise
/// one.
pub fn map(function: &Function, places: Vec<Place>, walks: &Walks) -> Grid {
    let grid = map_to(function, places, WARP, walks);
    let mut useful = 1;
    for stmt in &grid.body {
        stmt.any(&mut |s| {
            match s {
                Stmt::Spread { var, .. } => useful = useful.max(walks.of(*var).map_or(WARP, u32::from)),
                Stmt::Lanes(fold) => useful = useful.max(u32::from(fold.lanes).min(MOST_LANES)),
                _ => {}
            }
            false
        });
    }
    if useful == WARP { grid } else { map_to(function, grid.places, useful, walks) }
}

/// Maps a verified function to a grid of teams of `lanes` lanes, a power of two up to 256.
pub fn map_to(function: &Function, places: Vec<Place>, lanes: u32, walks: &Walks) -> Grid {
    let all = reads(function, &function.body);
    let atomic = (0..).map(Buffer).zip(&places).filter(|(b, p)| **p == Place::Shared && folds(function, *b).is_some());
    let atomic: HashSet<Buffer> = atomic.map(|(b, _)| b).collect();
    let mapping = Mapping { function, all, lanes, atomic, walks };
    let body = mapping.block(&function.body, Within::Chunk);
    let body = if lanes == 1 { body } else { with_barriers(function, body) };
    Grid { function: function.clone(), lanes, places, distinct: walks.distinct.clone(), body }
}

/// Returns the operator of a buffer if every access folds a value into an element by that operator,
/// whose order does not matter and which machines have as an atomic operation.
pub(super) fn folds(function: &Function, buffer: Buffer) -> Option<BinaryOp> {
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
                Serial::Store { buffer: b, at, value } if *b == buffer => match folded(buffer, at, value) {
                    Some((op, value)) => {
                        ops.insert(op);
                        loads(at);
                        loads(value);
                    }
                    None => ops.extend([BinaryOp::Add, BinaryOp::Min]),
                },
                s => s.for_each_expr(&mut |e| loads(e)),
            }
            matches!(s, Serial::Swap(a, b) if *a == buffer || *b == buffer)
        });
    }
    let mut ops = ops.into_iter();
    ops.next().filter(|_| !other && ops.next().is_none())
}

/// Returns the operator and the other operand of a store that folds into its element.
fn folded<'e>(buffer: Buffer, at: &Expr, value: &'e Expr) -> Option<(BinaryOp, &'e Expr)> {
    use BinaryOp::{Add, And, Max, Min, Or, Xor};
    let Expr::Binary(op @ (Add | Min | Max | And | Or | Xor), old, value) = value else { return None };
    let is_old = matches!(&**old, Expr::Load { buffer: b, at: a } if *b == buffer && **a == *at);
    is_old.then_some((*op, value))
}

struct Mapping<'f> {
    function: &'f Function,
    /// Number of reads of each local.
    all: Vec<u32>,
    lanes: u32,
    /// Arrays that are touched by atomic operations.
    atomic: HashSet<Buffer>,
    /// Loops whose rounds may fold.
    walks: &'f Walks,
}

/// The context of a statement.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Within {
    /// Directly in the chunk.
    Chunk,
    /// A loop whose rounds all lanes of a team run together.
    Loop,
    /// A spread loop.
    Spread,
}

impl Within {
    /// Returns the lanes that store in this context.
    fn by(self) -> Writer {
        if self == Within::Spread { Writer::Each } else { Writer::Lead }
    }

    /// Returns the context of the body of a loop that all lanes run together.
    fn inside(self) -> Within {
        if self == Within::Chunk { Within::Loop } else { self }
    }
}

impl Mapping<'_> {
    fn block(&self, body: &[Serial], within: Within) -> Vec<Stmt> {
        body.iter().map(|s| self.stmt(s, within)).collect()
    }

    fn stmt(&self, stmt: &Serial, within: Within) -> Stmt {
        let by = within.by();
        match stmt {
            Serial::Assign(local, value) => Stmt::Assign(*local, value.clone()),
            Serial::Store { buffer, at, value } => {
                let buffer = *buffer;
                match folded(buffer, at, value).filter(|_| self.atomic.contains(&buffer)) {
                    Some((op, value)) => Stmt::Atomic { by, buffer, at: at.clone(), op, value: value.clone() },
                    None => Stmt::Store { by, buffer, at: at.clone(), value: value.clone() },
                }
            }
            Serial::If { cond, then, other } => {
                Stmt::If { cond: cond.clone(), then: self.block(then, within), other: self.block(other, within) }
            }
            Serial::While { cond, body } => {
                let rounds = self.block(body, within.inside());
                let asks = within != Within::Spread && takes_long(body);
                Stmt::While { cond: cond.clone(), body: if asks { asking(by, rounds) } else { rounds } }
            }
            Serial::For { var, lo, hi, body } => self.for_loop(*var, (lo, hi), body, within),
            Serial::Break => Stmt::Break,
            Serial::Lanes(fold) => Stmt::Lanes(fold.clone()),
            Serial::Grow { buffer, len } => Stmt::Grow { buffer: *buffer, len: len.clone() },
            Serial::Sort { buffer, lo, hi } => Stmt::Sort { buffer: *buffer, lo: lo.clone(), hi: hi.clone() },
            Serial::SortBy { perm, major, minor, lo, hi } => {
                Stmt::SortBy { perm: *perm, major: *major, minor: *minor, lo: lo.clone(), hi: hi.clone() }
            }
            Serial::Swap(a, b) => Stmt::Swap(*a, *b),
            Serial::Return(status) => Stmt::Return(*status),
        }
    }

    /// Maps a `for`: spreads the innermost loop with independent rounds, so that adjacent lanes
    /// take adjacent rounds.
    fn for_loop(&self, var: Local, (lo, hi): (&Expr, &Expr), body: &[Serial], within: Within) -> Stmt {
        let inside = self.block(body, within.inside());
        let (lo, hi) = (lo.clone(), hi.clone());
        let shared = |s: &Stmt| matches!(s, Stmt::Spread { .. } | Stmt::Lanes(_));
        let together = |inside: Vec<Stmt>| {
            let few = [&lo, &hi].into_iter().all(|bound| matches!(bound, Expr::Const(_)));
            if within == Within::Spread || few { inside } else { asking(Writer::Lead, inside) }
        };
        if self.lanes == 1 || within == Within::Spread || inside.iter().any(|s| s.any(&mut |s| shared(s))) {
            let body = together(inside);
            return Stmt::For { var, lo, hi, body };
        }
        let folds = self.walks.folds(self.function, (var, body), &self.all);
        let distinct = coordinates_of(&self.walks.distinct, var);
        let known = Known { folds: &folds, distinct, atomic: &|b| self.atomic.contains(&b) };
        if !can_spread(self.function, (var, &lo, &hi, body), &self.all, known) {
            let body = together(inside);
            return Stmt::For { var, lo, hi, body };
        }
        // A spread loop within another loop leaves polling to that loop.
        let rounds = self.block(body, Within::Spread);
        let body = if within == Within::Chunk { asking(Writer::Each, rounds) } else { rounds };
        Stmt::Spread { var, lo, hi, folds, body }
    }
}

/// Adds a poll for cancellation at the start of the rounds.
fn asking(by: Writer, mut rounds: Vec<Stmt>) -> Vec<Stmt> {
    rounds.insert(0, Stmt::Ask(by));
    rounds
}

/// Returns whether a loop may have many rounds: it contains loops, or advances by constant steps. A
/// binary search has few rounds.
fn takes_long(body: &[Serial]) -> bool {
    let steps = |s: &Serial| match s {
        Serial::Assign(local, Expr::Binary(BinaryOp::Add, old, by)) => {
            **old == Expr::Local(*local) && !matches!(**by, Expr::Local(_))
        }
        _ => false,
    };
    Serial::any_loop(body) || body.iter().any(|s| s.any(&mut |s| steps(s)))
}

/// Returns whether lanes may share the rounds of a loop: the rounds are independent, and the bounds
/// read nothing that they store.
pub(super) fn can_spread(
    f: &Function,
    (var, lo, hi, body): (Local, &Expr, &Expr, &[Serial]),
    all: &[u32],
    known: Known<'_>,
) -> bool {
    let stores = |buffer: Buffer| {
        body.iter().any(|s| s.any(&mut |s| matches!(s, Serial::Store { buffer: b, .. } if *b == buffer)))
    };
    let reads_stored = |e: &Expr| e.any(&mut |e| matches!(e, Expr::Load { buffer, .. } if stores(*buffer)));
    !reads_stored(lo) && !reads_stored(hi) && is_independent(f, (var, body), all, known)
}
