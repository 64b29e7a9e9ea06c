//! Assignments: the store or fold of a value into a leaf or into locals. A fold is repeated as many
//! times as the product of the assignment's `repetitions`. The loads and stores of leaves are here
//! as well.

use super::cx::Cx;
use super::expand::{Laws, expand_in, expand_repeat};
use super::guards::ArgumentFacts;
use super::integrate::repeat_operator;
use super::seeded_fault::SeededFault;
use super::special::TermFacts;
use super::state::{AccessCursor, Fiber, LoweringState};
use super::stmt::{LeafPosition, value};
use super::tree::Assign;
use super::value::LoweredValue;
use crate::assembly::build::{load, local, truth};
use crate::assembly::{Expr, Local, Stmt};
use crate::notation::{TensorId, Write};
use redpoll_logic::op::Op;
use redpoll_logic::{LeafKind, Scalar};

pub(crate) fn lower(cx: &mut Cx<'_>, state: &LoweringState, a: &Assign) {
    let cursor = state.access(a.lhs).cursor.clone();
    if let AccessCursor::Fiber(Fiber { present: Some(present), .. }) = &cursor {
        // An output with the pattern of an input is written only where the input stores elements.
        let present_state = state.clone().assume_present(a.lhs);
        let then = cx.block(|cx| lower(cx, &present_state, a));
        return cx.push_if(present.clone(), then, Vec::new());
    }
    let dtype = cx.program.tensors[a.tensor.index()].ty.dtype.clone();
    let mut facts =
        vec![ArgumentFacts { special: cx.special(a.tensor), constant: None }, TermFacts::of(cx, state, &a.rhs).facts];
    let mut rhs = match &a.write {
        Write::Fold(op) => {
            facts = cx.guard_facts(op, facts);
            cx.in_argument(op, 1, |cx| value(cx, state, &a.rhs))
        }
        _ => value(cx, state, &a.rhs),
    };
    let laws = cx.laws(&facts);
    let choose = Op::from(redpoll_logic::op::Builtin::Choose);
    let mut op = (a.write == Write::Overwrite && SeededFault::OverwriteChoice.is_active()).then_some((&choose, laws));
    if let Write::Fold(fold) = &a.write {
        op = Some((fold, laws));
        if !a.repetitions.is_empty() {
            let (tail, repeat) =
                repeat_operator(fold, &dtype, cx).expect("only folds that can be repeated are integrated");
            rhs = expand_repeat(cx, (&tail, repeat), &rhs, &a.repetitions, laws);
        }
    }
    let (leaf, dirty) = match cursor {
        AccessCursor::Locals(accumulator) => {
            let current = LoweredValue { dtype, parts: accumulator.parts.iter().map(|l| local(*l)).collect() };
            let result = combine(cx, op, current, rhs);
            assign_all(cx, &accumulator.parts, result);
            return set_flags(cx, &accumulator.dirty);
        }
        AccessCursor::Fiber(_) if !state.access(a.lhs).unresolved().is_empty() => {
            unreachable!("all subscripts are resolved before a value is written")
        }
        AccessCursor::Fiber(fiber) => (LeafPosition { tensor: a.tensor, position: fiber.lo }, fiber.dirty),
        AccessCursor::Violation(violation) => return cx.fail(&violation),
        AccessCursor::Fill(_) | AccessCursor::OutOfBounds(_) | AccessCursor::Null => {
            unreachable!("a write is resolved to a leaf position or to locals")
        }
    };
    if cx.program.tensors[a.tensor.index()].ty.format.leaf == LeafKind::Pattern {
        let then = cx.block(|cx| set_flags(cx, &dirty));
        return cx.push_if(rhs.single().clone(), then, Vec::new());
    }
    let current = load_leaf(cx, leaf.tensor, &leaf.position);
    let result = combine(cx, op, current, rhs);
    store(cx, &leaf, &result.parts);
    set_flags(cx, &dirty);
}

/// Returns the value to be stored. All parts of a struct are computed before the first is stored.
fn combine(cx: &mut Cx<'_>, op: Option<(&Op, Laws<'_>)>, current: LoweredValue, rhs: LoweredValue) -> LoweredValue {
    let result = match op {
        None => rhs,
        Some((op, laws)) => expand_in(cx, op, &[current, rhs], laws),
    };
    if result.parts.len() < 2 {
        return result;
    }
    let parts = result.parts.iter().zip(result.dtype.prims()).map(|(part, prim)| {
        let named = cx.new_local("part", prim);
        cx.assign(named, part.clone());
        local(named)
    });
    LoweredValue { parts: parts.collect(), dtype: result.dtype.clone() }
}

fn assign_all(cx: &mut Cx<'_>, to: &[Local], value: LoweredValue) {
    for (to, part) in to.iter().zip(value.parts) {
        cx.assign(*to, part);
    }
}

fn set_flags(cx: &mut Cx<'_>, dirty: &[Local]) {
    for flag in dirty {
        cx.assign(*flag, truth(true));
    }
}

/// Returns the value at a position of a tensor's leaf; `true` for a leaf without values.
pub(crate) fn load_leaf(cx: &Cx<'_>, tensor: TensorId, position: &Expr) -> LoweredValue {
    let ty = &cx.program.tensors[tensor.index()].ty;
    match ty.format.leaf {
        LeafKind::Pattern => LoweredValue::constant(&Scalar::Bool(true)),
        LeafKind::Element => {
            let parts = cx.tensor(tensor).leaf.iter().map(|buffer| load(*buffer, position.clone())).collect();
            LoweredValue { dtype: ty.dtype.clone(), parts }
        }
    }
}

/// Stores a value at a position of a tensor's leaf.
pub(crate) fn store(cx: &mut Cx<'_>, leaf: &LeafPosition, parts: &[Expr]) {
    for (k, part) in parts.iter().enumerate() {
        let buffer = cx.tensor(leaf.tensor).leaf[k];
        cx.push(Stmt::store(buffer, leaf.position.clone(), part.clone()));
    }
}
