//! Facts about locals, which allow comparisons in their cheapest form, and arithmetic on positions
//! without guards against overflow.
//!
//! Merges compare coordinates with their minimum: `a == min(a, b)` is `a <= b`, which need not wait
//! for the minimum. If neither side can be negative, an unsigned comparison leaves its result in
//! the carry flag, which an addition reads directly: the cursors of merges advance by such results.

use redpoll_compiler::assembly::{BinaryOp, BufferClass, Expr, Extension, Function, Local, Stmt};
use redpoll_logic::Prim;

/// The `i64` locals that are equal to the minimum of two others, at a point of a function.
#[derive(Clone, Default)]
pub struct Minima(Vec<[Local; 3]>);

impl Minima {
    /// Records an assignment.
    pub fn assign(&mut self, function: &Function, local: Local, value: &Expr) {
        self.forget(local);
        if let Expr::Binary(BinaryOp::Min, a, b) = value
            && let (Expr::Local(a), Expr::Local(b)) = (&**a, &**b)
            && function.locals[local.index()].prim == Prim::I64
            && *a != local
            && *b != local
        {
            self.0.push([local, *a, *b]);
        }
    }

    /// Discards what is known about a local.
    pub fn forget(&mut self, local: Local) {
        self.0.retain(|minimum| !minimum.contains(&local));
    }

    /// Iterates over the minima, each as the local and the two others.
    pub fn iter(&self) -> impl Iterator<Item = [Local; 3]> {
        self.0.iter().copied()
    }
}

/// The facts at a point of a function.
#[derive(Clone)]
pub struct LocalFacts {
    /// For each local, whether no read of the local gives a negative number.
    non_negative: Vec<bool>,
    minima: Minima,
    /// For each local, whether its values satisfy [`LocalFacts::is_position`], so that sums do not
    /// overflow.
    positions: Vec<bool>,
}

impl LocalFacts {
    /// Collects the facts that are true throughout a function.
    pub fn new(function: &Function) -> LocalFacts {
        let mut non_negative: Vec<bool> = function.locals.iter().map(|l| l.prim == Prim::I64).collect();
        non_negative[function.chunk.0.index()] = false;
        non_negative[function.chunk.1.index()] = false;
        let non_negative =
            largest_subset(function, non_negative, &|locals, value| is_non_negative(function, locals, value));
        let positions = function.locals.iter().map(|l| l.prim == Prim::I64).collect();
        let positions = largest_subset(function, positions, &|locals, value| is_position(function, locals, value));
        LocalFacts { non_negative, minima: Minima::default(), positions }
    }

    /// Returns whether an `i64` is computed from positions, coordinates, parameters, bounds of the
    /// chunk, small constants and truth values alone, by sums, differences, products, minima,
    /// maxima, shifts to the right and selects. The conditions of selects, and the numbers of bits
    /// in shifts, may be any expressions.
    pub(crate) fn is_position(&self, function: &Function, e: &Expr) -> bool {
        is_position(function, &self.positions, e)
    }

    /// Returns the two sides of a comparison `x <= y` that the facts prove equivalent to `a == b`,
    /// and whether neither side can be negative; `None` if there is no such comparison.
    pub(crate) fn as_at_most(&self, a: &Expr, b: &Expr) -> Option<(Local, Local, bool)> {
        let (Expr::Local(a), Expr::Local(b)) = (a, b) else { return None };
        let sides = |x: Local, least: Local| {
            self.minima.iter().find_map(|[minimum, y, z]| match () {
                () if minimum != least => None,
                () if y == x => Some((x, z)),
                () if z == x => Some((x, y)),
                () => None,
            })
        };
        let (x, y) = sides(*a, *b).or_else(|| sides(*b, *a))?;
        Some((x, y, self.non_negative[x.index()] && self.non_negative[y.index()]))
    }

    /// Records an assignment.
    pub fn assign(&mut self, function: &Function, local: Local, value: &Expr) {
        self.minima.assign(function, local, value);
    }

    /// Discards the facts about a local.
    pub fn forget(&mut self, local: Local) {
        self.minima.forget(local);
    }

    /// Discards the facts about all locals that statements assign.
    pub fn forget_assigned<X: Extension>(&mut self, stmts: &[Stmt<X>]) {
        stmts.iter().for_each(|stmt| stmt.for_each_assigned(&mut |local| self.forget(local)));
    }
}

/// Returns the largest subset of `locals` such that every value assigned to a local of the subset
/// satisfies `rule`. For the variable of a loop, only the first value is tested. The rule may
/// assume that all locals of the subset satisfy it. Accumulators of lane folds are never in the
/// subset.
fn largest_subset(function: &Function, mut locals: Vec<bool>, rule: &dyn Fn(&[bool], &Expr) -> bool) -> Vec<bool> {
    loop {
        let before = locals.clone();
        for stmt in &function.body {
            stmt.any(&mut |stmt| {
                let assigned = match stmt {
                    Stmt::Assign(local, value) => Some((*local, value)),
                    Stmt::For { var, lo, .. } => Some((*var, lo)),
                    Stmt::Lanes(fold) => {
                        locals[fold.acc.index()] = false;
                        Some((fold.var, &fold.lo))
                    }
                    _ => None,
                };
                if let Some((local, value)) = assigned {
                    locals[local.index()] &= rule(&before, value);
                }
                false
            });
        }
        if locals == before {
            return locals;
        }
    }
}

/// Implements [`LocalFacts::is_position`]; `positions` has the answer for each local.
fn is_position(function: &Function, positions: &[bool], e: &Expr) -> bool {
    match e {
        Expr::Const(value) => value.to_i128().is_some_and(|v| v.unsigned_abs() <= 1 << 32),
        Expr::Param(_) => true,
        Expr::Local(local) => positions[local.index()],
        Expr::Load { buffer, .. } => function.buffers[buffer.index()].class == BufferClass::Index,
        Expr::Binary(op, a, b) => {
            let inner = is_position(function, positions, a) && is_position(function, positions, b);
            inner && matches!(op, BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul | BinaryOp::Min | BinaryOp::Max)
                || *op == BinaryOp::Shr && is_position(function, positions, a)
        }
        Expr::Select(_, a, b) => is_position(function, positions, a) && is_position(function, positions, b),
        Expr::Cast(_, a) => function.prim_of(a) == Prim::Bool,
        Expr::Unary(..) | Expr::Compare(..) | Expr::Math(..) => false,
    }
}

/// Returns whether an `i64` is proved not to be negative. `non_negative` has the answer for each
/// local.
fn is_non_negative(function: &Function, non_negative: &[bool], e: &Expr) -> bool {
    match e {
        Expr::Const(value) => value.to_i128().is_some_and(|v| v >= 0),
        Expr::Local(local) => non_negative[local.index()],
        Expr::Load { buffer, .. } => {
            let decl = &function.buffers[buffer.index()];
            decl.class == BufferClass::Index && matches!(decl.prim, Prim::U8 | Prim::U16 | Prim::U32)
        }
        Expr::Binary(BinaryOp::Min | BinaryOp::Max, a, b) | Expr::Select(_, a, b) => {
            is_non_negative(function, non_negative, a) && is_non_negative(function, non_negative, b)
        }
        Expr::Cast(_, a) => matches!(function.prim_of(a), Prim::Bool | Prim::U8 | Prim::U16 | Prim::U32),
        _ => false,
    }
}
