//! Folds without guards of operators: loops that only fold run without guards first, and again with
//! guards if a fold ends with NaN.
//!
//! The guards of sums, products, minima and maxima change only results that are NaN in machine
//! arithmetic, and these operators return NaN for NaN. So if a fold does not end with NaN, guards
//! would not have changed it. Otherwise the loop runs again, with guards:
//! ```text
//! start = acc; for .. { acc = acc + a * b }; if acc != acc { acc = start; for .. { guarded } }
//! ```
//! Guards make each step of a fold wait for comparisons, and keep folds from lanes.

use super::cx::Cx;
use super::guards::{ArgumentFacts, OperatorGuard, guard};
use super::seeded_fault::SeededFault;
use super::state::{AccessCursor, LoweringState};
use super::tree::{Assign, Tree, TreeTerm};
use crate::assembly::build::local;
use crate::assembly::{BinaryOp, CompareOp, Expr, Local};
use crate::notation::{TensorId, Write};
use redpoll_logic::op::{Builtin, Op};
use redpoll_logic::{FloatMode, Prim, Special};

/// The use of guards in the code that is being lowered.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum GuardUse {
    /// Operators have guards. The next loop may leave them out.
    Guarded,
    /// Operators have guards, and nested loops must not leave them out: the loop has already run
    /// without guards, or NaN in the value need not reach the fold.
    GuardedAgain,
    /// Operators have no guards. `omitted` is true if some operator needed one.
    Unguarded { omitted: bool },
}

/// An accumulator of a loop, with its type.
type Part = (Local, Prim);

/// Calls `emit` to emit a loop with this body. Emits the loop twice if the loop only folds and some
/// guard can be left out in the first copy, otherwise once.
pub(crate) fn lower_twice<'p>(cx: &mut Cx<'p>, state: &LoweringState, body: &Tree, emit: impl Fn(&mut Cx<'p>)) {
    let can_omit = cx.mode == FloatMode::Relaxed && cx.guard_use == GuardUse::Guarded && cx.lengths.is_none();
    let parts = if can_omit && !cx.is_copy_limited(body) { accumulators(cx, state, body) } else { None };
    let Some(parts) = parts else { return emit(cx) };
    cx.guard_use = GuardUse::Unguarded { omitted: false };
    let first = cx.block(|cx| emit(cx));
    if std::mem::replace(&mut cx.guard_use, GuardUse::Guarded) != (GuardUse::Unguarded { omitted: true }) {
        return cx.extend(first);
    }
    let starts: Vec<Local> = parts.iter().map(|(_, prim)| cx.new_local("start", *prim)).collect();
    for ((part, _), start) in parts.iter().zip(&starts) {
        cx.assign(*start, local(*part));
    }
    cx.extend(first);
    let is_nan = |part: &Local| Expr::Compare(CompareOp::Ne, Box::new(local(*part)), Box::new(local(*part)));
    let floats = parts.iter().filter(|(_, prim)| prim.is_float()).map(|(part, _)| is_nan(part));
    let some_nan = floats.reduce(|a, b| Expr::Binary(BinaryOp::Or, Box::new(a), Box::new(b)));
    let again = cx.block(|cx| {
        for ((part, _), start) in parts.iter().zip(&starts) {
            cx.assign(*part, local(*start));
        }
        cx.guard_use = GuardUse::GuardedAgain;
        cx.with_copies(2, |cx| emit(cx));
        cx.guard_use = GuardUse::Guarded;
    });
    if !SeededFault::UnguardedFold.is_active() {
        cx.push_if(some_nan.expect("some accumulator is a float"), again, Vec::new());
    }
}

/// Returns the accumulators of a loop that only folds into locals, at least one of them a float;
/// `None` for other loops, and for folds that may end with a number although a step gives NaN.
fn accumulators(cx: &Cx<'_>, state: &LoweringState, body: &Tree) -> Option<Vec<Part>> {
    let mut folded: Vec<(TensorId, Vec<Part>)> = Vec::new();
    if !only_folds(body, &mut |assign| {
        let parts = fold_parts(cx, state, assign);
        folded.extend(parts.iter().cloned().map(|parts| (assign.tensor, parts)));
        parts.is_some()
    }) {
        return None;
    }
    let mut reads_folded = false;
    body.for_each_term(&mut |term| {
        reads_folded |= term.any(&mut |part| match part {
            TreeTerm::Access(id) => {
                let tensor = state.access(*id).tensor;
                folded.iter().any(|(folded, _)| Some(*folded) == tensor)
            }
            _ => false,
        });
    });
    let mut parts: Vec<Part> = folded.into_iter().flat_map(|(_, parts)| parts).collect();
    parts.sort_by_key(|(part, _)| part.index());
    parts.dedup();
    (!reads_folded && parts.iter().any(|(_, prim)| prim.is_float())).then_some(parts)
}

/// Returns whether a statement consists of loops, conditions, variables, and assignments that
/// satisfy the predicate.
fn only_folds(body: &Tree, is_fold: &mut dyn FnMut(&Assign) -> bool) -> bool {
    match body {
        Tree::Block(items) => items.iter().all(|item| only_folds(item, is_fold)),
        Tree::Loop { body, .. } | Tree::If { body, .. } | Tree::Let { body, .. } => only_folds(body, is_fold),
        Tree::Assign(assign) => is_fold(assign),
        Tree::While { .. } | Tree::Where { .. } | Tree::Swap(..) => false,
        Tree::Declare(_) | Tree::Freeze(_) | Tree::Thaw(_) => false,
    }
}

/// Returns the accumulator of a fold into locals; `None` for other assignments, and for folds of
/// floats that may end with a number although a step is NaN.
fn fold_parts(cx: &Cx<'_>, state: &LoweringState, assign: &Assign) -> Option<Vec<Part>> {
    let (Write::Fold(op), AccessCursor::Locals(accumulator)) = (&assign.write, &state.access(assign.lhs).cursor) else {
        return None;
    };
    let dtype = &cx.program.tensors[assign.tensor.index()].ty.dtype;
    let keeps_nan = !dtype.prims().iter().any(|prim| prim.is_float()) || is_arithmetic(op);
    keeps_nan.then(|| accumulator.parts.iter().copied().zip(dtype.prims()).collect())
}

/// Returns whether an operator is guarded arithmetic whose result is NaN if an argument is.
fn is_arithmetic(op: &Op) -> bool {
    use Builtin::*;
    let Op::Builtin(op) = op else { return false };
    matches!(op, Add | AddSat | AddChecked | Sub | SubSat | SubChecked | Mul | MulSat | MulChecked | Min | Max)
}

/// Returns whether an operator needs a guard for arguments with these facts.
fn needs_guard(op: &Op, facts: &[ArgumentFacts<'_>]) -> bool {
    match (op, facts) {
        (Op::Builtin(op), [x, y]) => guard(*op, x, y) != OperatorGuard::None,
        _ => facts.iter().any(|fact| fact.special != Special::NONE),
    }
}

/// Returns whether NaN in the argument at this position makes the result NaN, unless the operator
/// ignores that argument, as `ifelse` may. False is always safe: the argument then keeps guards.
fn keeps_nan(op: &Op, position: usize) -> bool {
    use Builtin::*;
    match op {
        Op::Builtin(IfElse) => position > 0,
        Op::Builtin(Neg | Abs | Square | Sqrt | Exp | Log | Sin | Cos | Tanh) => true,
        _ => is_arithmetic(op),
    }
}

impl<'p> Cx<'p> {
    /// Returns the facts on arguments that determine the guard of an operator. Removes the special
    /// values from the facts if the guard is left out.
    pub(crate) fn guard_facts<'a>(&mut self, op: &Op, facts: Vec<ArgumentFacts<'a>>) -> Vec<ArgumentFacts<'a>> {
        let is_unguarded = matches!(self.guard_use, GuardUse::Unguarded { .. });
        if !is_unguarded || !is_arithmetic(op) || !needs_guard(op, &facts) {
            return facts;
        }
        self.guard_use = GuardUse::Unguarded { omitted: true };
        facts.into_iter().map(|fact| ArgumentFacts { special: Special::NONE, ..fact }).collect()
    }

    /// Runs `emit` for the argument at a position of an operator. Keeps the guards in the argument
    /// if the result of the operator may be a number although the argument is NaN.
    pub(crate) fn in_argument<T>(&mut self, op: &Op, position: usize, emit: impl FnOnce(&mut Self) -> T) -> T {
        if keeps_nan(op, position) { emit(self) } else { self.with_guards(emit) }
    }

    /// Runs `emit` without leaving out guards.
    pub(crate) fn with_guards<T>(&mut self, emit: impl FnOnce(&mut Self) -> T) -> T {
        let outer = std::mem::replace(&mut self.guard_use, GuardUse::GuardedAgain);
        let result = emit(self);
        self.guard_use = outer;
        result
    }
}
