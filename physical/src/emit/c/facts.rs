//! What is known of locals, so that comparisons can be written as the machine does them best.
//!
//! Merges compare coordinates with their minimum, `a == min(a, b)`: that is `a <= b`, which need not wait for the minimum.
//! Where neither can be negative, a comparison without signs leaves its answer in the carry, which an addition takes from
//! there: cursors of merges advance by such answers.

use crate::assembly::{BinaryOp, BufferClass, Expr, Function, Local, Stmt};
use redpoll_logic::Prim;

/// What is known at a point of a function.
#[derive(Clone)]
pub(in crate::emit) struct Facts {
    /// For each local whether it is never negative, wherever it is read.
    natural: Vec<bool>,
    /// Locals that hold the minimum of two others.
    minima: Vec<[Local; 3]>,
    /// For each local whether it holds nothing but positions and coordinates, which no sum of theirs overflows.
    positions: Vec<bool>,
}

impl Facts {
    /// What holds throughout a function.
    pub(in crate::emit) fn new(function: &Function) -> Facts {
        let mut natural: Vec<bool> = function.locals.iter().map(|l| l.prim == Prim::I64).collect();
        natural[function.chunk.0.index()] = false;
        natural[function.chunk.1.index()] = false;
        let natural = all_that(function, natural, &|known, value| is_natural(function, known, value));
        let positions = function.locals.iter().map(|l| l.prim == Prim::I64).collect();
        let positions = all_that(function, positions, &|known, value| is_position(function, known, value));
        Facts { natural, minima: Vec::new(), positions }
    }

    /// Whether an `i64` is made of positions and coordinates alone.
    pub(in crate::emit) fn is_position(&self, function: &Function, e: &Expr) -> bool {
        is_position(function, &self.positions, e)
    }

    /// The two sides of `x <= y` that two equal things amount to, and whether neither can be negative.
    pub(in crate::emit) fn as_at_most(&self, a: &Expr, b: &Expr) -> Option<(Local, Local, bool)> {
        let (Expr::Local(a), Expr::Local(b)) = (a, b) else { return None };
        let sides = |x: Local, least: Local| {
            self.minima.iter().find_map(|[minimum, y, z]| match () {
                () if *minimum != least => None,
                () if *y == x => Some((x, *z)),
                () if *z == x => Some((x, *y)),
                () => None,
            })
        };
        let (x, y) = sides(*a, *b).or_else(|| sides(*b, *a))?;
        Some((x, y, self.natural[x.index()] && self.natural[y.index()]))
    }

    /// Takes note of an assignment.
    pub(in crate::emit) fn assign(&mut self, function: &Function, local: Local, value: &Expr) {
        self.forget(local);
        if let Expr::Binary(BinaryOp::Min, a, b) = value
            && let (Expr::Local(a), Expr::Local(b)) = (&**a, &**b)
            && function.locals[local.index()].prim == Prim::I64
            && *a != local
            && *b != local
        {
            self.minima.push([local, *a, *b]);
        }
    }

    /// Forgets what was known of a local.
    pub(in crate::emit) fn forget(&mut self, local: Local) {
        self.minima.retain(|fact| !fact.contains(&local));
    }

    /// Forgets what was known of all locals that statements assign.
    pub(in crate::emit) fn forget_assigned(&mut self, stmts: &[Stmt]) {
        stmts.iter().for_each(|stmt| stmt.for_each_assigned(&mut |local| self.forget(local)));
    }
}

/// The locals to which all assigned values belong, by a rule that takes such locals for granted. All are taken for such but
/// those that get something else, and what gets those.
fn all_that(function: &Function, mut such: Vec<bool>, rule: &dyn Fn(&[bool], &Expr) -> bool) -> Vec<bool> {
    loop {
        let before = such.clone();
        for stmt in &function.body {
            stmt.any(&mut |stmt| {
                let assigned = match stmt {
                    Stmt::Assign(local, value) => Some((*local, value)),
                    Stmt::For { var, lo, .. } => Some((*var, lo)),
                    Stmt::Lanes(fold) => {
                        such[fold.acc.index()] = false;
                        Some((fold.var, &fold.lo))
                    }
                    _ => None,
                };
                if let Some((local, value)) = assigned {
                    such[local.index()] &= rule(&before, value);
                }
                false
            });
        }
        if such == before {
            return such;
        }
    }
}

/// Whether an `i64` is made of positions and coordinates, if the locals are that are taken for such.
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

/// Whether an `i64` cannot be negative, if the locals cannot that are taken for natural.
fn is_natural(function: &Function, natural: &[bool], e: &Expr) -> bool {
    match e {
        Expr::Const(value) => value.to_i128().is_some_and(|v| v >= 0),
        Expr::Local(local) => natural[local.index()],
        Expr::Load { buffer, .. } => {
            let decl = &function.buffers[buffer.index()];
            decl.class == BufferClass::Index && matches!(decl.prim, Prim::U8 | Prim::U16 | Prim::U32)
        }
        Expr::Binary(BinaryOp::Min | BinaryOp::Max, a, b) | Expr::Select(_, a, b) => {
            is_natural(function, natural, a) && is_natural(function, natural, b)
        }
        Expr::Cast(_, a) => matches!(function.prim_of(a), Prim::Bool | Prim::U8 | Prim::U16 | Prim::U32),
        _ => false,
    }
}
