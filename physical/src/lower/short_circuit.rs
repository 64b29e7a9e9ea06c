//! Short circuits: a loop that does nothing but fold into accumulators ends when their results are decided.

use super::build::truth;
use super::cx::Cx;
use super::looplets::Nest;
use super::state::Cursor;
use super::tree::Assign;
use crate::assembly::{CompareOp, Expr};
use crate::notation::Write;
use redpoll_logic::op::ShortCircuit;
use redpoll_logic::{DType, Prim, Scalar};

/// The `bool` under which the nest's loop may end, if there is one: all its writes are folds, into scalars held in
/// locals, that have met the value at which the fold is decided.
///
/// Only folds of `bool` are asked: of other dtypes the question would cost as much as the round that it spares.
pub(crate) fn condition(cx: &Cx<'_>, nest: &Nest) -> Option<Expr> {
    let mut all = Some(truth(true));
    let mut any = false;
    let own = nest.body.declared();
    nest.body.for_each_assign(&mut |a| {
        if own.contains(&a.tensor) {
            return;
        }
        any = true;
        all = all.take().and_then(|cond| Some(super::build::and(&cond, &decided(cx, nest, a)?)));
    });
    if any { all } else { None }
}

fn decided(cx: &Cx<'_>, nest: &Nest, a: &Assign) -> Option<Expr> {
    let Write::Fold(op) = &a.write else { return None };
    let dtype = &cx.program.tensors[a.tensor.index()].ty.dtype;
    let Cursor::Locals(held) = &nest.state.acc(a.lhs).cursor else { return None };
    if *dtype != DType::Prim(Prim::Bool) {
        return None;
    }
    let accumulator = Expr::Local(held.parts[0]);
    let (value, compare) = match op.short_circuits(dtype, cx.mode)? {
        ShortCircuit::At(value) => (value, CompareOp::Eq),
        ShortCircuit::Unless(value) => (value, CompareOp::Ne),
    };
    Some(match (&value, compare) {
        (Scalar::Bool(true), CompareOp::Eq) | (Scalar::Bool(false), CompareOp::Ne) => accumulator,
        _ => super::build::not(&accumulator),
    })
}
