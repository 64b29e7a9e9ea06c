//! What is known of locals, so that comparisons can be written as the machine does them best.
//!
//! Merges compare coordinates with their minimum, `a == min(a, b)`: that is `a <= b`, which need not wait for the minimum.
//! Where neither can be negative, a comparison without signs leaves its answer in the carry, which an addition takes from
//! there: cursors of merges advance by such answers.

use crate::assembly::{BinaryOp, BufferClass, Expr, Function, Local, Stmt};
use redpoll_logic::Prim;

/// What is known at a point of a function.
#[derive(Clone)]
pub(super) struct Facts {
    /// For each local whether it is never negative, wherever it is read.
    natural: Vec<bool>,
    /// Locals that hold the minimum of two others.
    minima: Vec<[Local; 3]>,
}

impl Facts {
    /// What holds throughout a function.
    pub(super) fn new(function: &Function) -> Facts {
        let mut natural: Vec<bool> = function.locals.iter().map(|l| l.prim == Prim::I64).collect();
        natural[function.chunk.0.index()] = false;
        natural[function.chunk.1.index()] = false;
        // All are taken for natural but those that get something else, and what gets those.
        loop {
            let before = natural.clone();
            for stmt in &function.body {
                stmt.any(&mut |stmt| {
                    let assigned = match stmt {
                        Stmt::Assign(local, value) => Some((*local, value)),
                        Stmt::For { var, lo, .. } => Some((*var, lo)),
                        Stmt::Lanes(fold) => {
                            natural[fold.acc.index()] = false;
                            Some((fold.var, &fold.lo))
                        }
                        _ => None,
                    };
                    if let Some((local, value)) = assigned {
                        natural[local.index()] &= is_natural(function, &before, value);
                    }
                    false
                });
            }
            if natural == before {
                return Facts { natural, minima: Vec::new() };
            }
        }
    }

    /// The two sides of `x <= y` that two equal things amount to, and whether neither can be negative.
    pub(super) fn as_at_most(&self, a: &Expr, b: &Expr) -> Option<(Local, Local, bool)> {
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
    pub(super) fn assign(&mut self, function: &Function, local: Local, value: &Expr) {
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
    pub(super) fn forget(&mut self, local: Local) {
        self.minima.retain(|fact| !fact.contains(&local));
    }

    /// Forgets what was known of all locals that statements assign.
    pub(super) fn forget_assigned(&mut self, stmts: &[Stmt]) {
        stmts.iter().for_each(|stmt| stmt.for_each_assigned(&mut |local| self.forget(local)));
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
