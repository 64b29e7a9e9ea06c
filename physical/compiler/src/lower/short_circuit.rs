//! Short circuits: a loop need not continue for a fold whose result is decided.
//!
//! A loop that contains only such folds ends when all are decided. If other writes share the loop,
//! one such fold is chosen: the first in the body that is the only write of its access. The loop is
//! left when this fold is decided, and the rest of the extent is lowered again without the fold:
//! ```text
//! for i in [lo, hi) { s f= a; B }
//!     =  reached = hi
//!        for i in [lo, hi) { s f= a; B; if s is decided { reached = i + 1; break } }
//!        for i in [reached, hi) { B }
//! ```
//! Three sorts of folds are checked: folds of `bool`, folds that are decided by the first value
//! other than a given constant (`choose`), and folds by user-defined operators that declare a final
//! value. Other folds are not checked: their final value is rare, and the check would cost as much
//! as the rounds that it saves.

use super::cx::Cx;
use super::looplets::LoopletNest;
use super::state::{AccessCursor, LoweringState};
use super::tree::{AccessId, Assign, Tree};
use crate::assembly::build::{and, local, not, truth};
use crate::assembly::{CompareOp, Expr, Local, Stmt};
use crate::notation::Write;
use redpoll_logic::op::{Op, ShortCircuit};
use redpoll_logic::{DType, Prim, Scalar};

/// The condition that ends a loop early.
#[derive(Clone, Debug)]
pub(crate) struct EarlyExit {
    /// The condition, checked after each round.
    cond: Expr,
    /// The locals that record whether the loop ended early, and how far it ran; `None` if nothing
    /// remains to be done after an early exit.
    progress: Option<(Local, Local)>,
}

/// A fold that may be decided while other writes of its loop continue.
pub(crate) struct DecidedFold {
    fold: AccessId,
    /// The flag that is set when the loop ends early.
    pub(crate) done: Local,
    /// One past the last coordinate that the loop has covered.
    pub(crate) reached: Local,
}

/// Returns the condition that ends the loop over `body` early, and the fold that the rest of the
/// loop leaves out. Each of the two is `None` if it does not exist.
pub(crate) fn plan(cx: &mut Cx<'_>, state: &LoweringState, body: &Tree) -> (Option<EarlyExit>, Option<DecidedFold>) {
    let own = body.declared_tensors();
    let mut writes: Vec<(AccessId, Option<Expr>)> = Vec::new();
    body.for_each_assign(&mut |a| {
        if !own.contains(&a.tensor) {
            writes.push((a.lhs, decision(cx, state, a)));
        }
    });
    if writes.iter().all(|(_, cond)| cond.is_some()) {
        let conds = writes.iter().filter_map(|(_, cond)| cond.as_ref());
        let cond = conds.fold(truth(true), |all, cond| and(&all, cond));
        return ((!writes.is_empty()).then_some(EarlyExit { cond, progress: None }), None);
    }
    let alone = |id: AccessId| writes.iter().filter(|(other, _)| *other == id).count() == 1;
    let first = writes.iter().find_map(|(id, cond)| Some((*id, cond.clone()?)).filter(|(id, _)| alone(*id)));
    let Some((fold, cond)) = first else { return (None, None) };
    let (done, reached) = (cx.new_local("done", Prim::Bool), cx.new_local("reached", Prim::I64));
    (Some(EarlyExit { cond, progress: Some((done, reached)) }), Some(DecidedFold { fold, done, reached }))
}

impl DecidedFold {
    /// Returns the body without the fold.
    pub(crate) fn body_without_fold(&self, body: &Tree) -> Tree {
        body.map(&mut Clone::clone, &mut |a| if a.lhs == self.fold { Tree::empty() } else { Tree::Assign(a) })
    }
}

/// Returns the condition under which the result of a fold is decided, if there is one and the
/// accumulator is a local.
fn decision(cx: &Cx<'_>, state: &LoweringState, a: &Assign) -> Option<Expr> {
    let Write::Fold(op) = &a.write else { return None };
    let dtype = &cx.program.tensors[a.tensor.index()].ty.dtype;
    let AccessCursor::Locals(accumulator) = &state.access(a.lhs).cursor else { return None };
    let [part] = accumulator.parts[..] else { return None };
    let accumulator = local(part);
    Some(match (op.short_circuit(dtype, cx.mode)?, dtype) {
        (ShortCircuit::Equal(Scalar::Bool(true)) | ShortCircuit::NotEqual(Scalar::Bool(false)), _) => accumulator,
        (ShortCircuit::Equal(_) | ShortCircuit::NotEqual(_), DType::Prim(Prim::Bool)) => not(&accumulator),
        (ShortCircuit::Equal(value), DType::Prim(_)) if matches!(op, Op::User(_)) => {
            Expr::Compare(CompareOp::Eq, Box::new(accumulator), Box::new(Expr::Const(value)))
        }
        // NaN does not equal itself, so the accumulator equals itself only if it is not NaN.
        (ShortCircuit::NotEqual(value), DType::Prim(_)) if value.is_nan() => {
            Expr::Compare(CompareOp::Eq, Box::new(accumulator.clone()), Box::new(accumulator))
        }
        (ShortCircuit::NotEqual(value), DType::Prim(_)) => {
            Expr::Compare(CompareOp::Ne, Box::new(accumulator), Box::new(Expr::Const(value)))
        }
        _ => return None,
    })
}

impl Cx<'_> {
    /// Emits the end of a round that covered the coordinates below `p`: leaves the loop if the
    /// condition for an early exit holds.
    pub(crate) fn end_round(&mut self, nest: &LoopletNest, p: &Expr) {
        let Some(early_exit) = &nest.early_exit else { return };
        let mut exit = Vec::new();
        if let Some((done, reached)) = early_exit.progress {
            exit.extend([Stmt::Assign(done, truth(true)), Stmt::Assign(reached, p.clone())]);
        }
        exit.push(Stmt::Break);
        self.push_if(early_exit.cond.clone(), exit, Vec::new());
    }

    /// Emits code that follows the loops of the nest. The code is skipped if a loop was left early,
    /// because a stepper is then still at an entry that it has not stepped past.
    pub(crate) fn unless_exited(&mut self, nest: &LoopletNest, emit: impl FnOnce(&mut Self)) {
        let Some(early_exit) = &nest.early_exit else { return emit(self) };
        let exited = early_exit.progress.map_or_else(|| early_exit.cond.clone(), |(done, _)| local(done));
        let rest = self.block(emit);
        self.push_if(not(&exited), rest, Vec::new());
    }
}
