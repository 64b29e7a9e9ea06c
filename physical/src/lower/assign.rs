//! Assignments: the store or fold of a value into a leaf or local, repeated as often as `times`
//! says.

use super::build::{load, local, truth};
use super::cx::Cx;
use super::expand::{Laws, expand_in, expand_repeat};
use super::integrate::repeat_operator;
use super::seeded::{self, Seeded};
use super::special::known;
use super::state::{Cursor, Fiber, State};
use super::stmt::{Place, value};
use super::tree::Assign;
use super::value::Value;
use crate::assembly::{Expr, Local, Stmt};
use crate::notation::{TensorId, Write};
use crate::special::Known;
use redpoll_logic::op::Op;
use redpoll_logic::{LeafKind, Scalar};

pub(crate) fn lower(cx: &mut Cx<'_>, state: &State, a: &Assign) {
    let cursor = state.acc(a.lhs).cursor.clone();
    if let Cursor::Fiber(Fiber { present: Some(present), .. }) = &cursor {
        // In the pattern of an input, nothing is written where the input stores nothing.
        let there = state.clone().with_present(a.lhs);
        let then = cx.block(|cx| lower(cx, &there, a));
        return cx.push_if(present.clone(), then, Vec::new());
    }
    let dtype = cx.program.tensors[a.tensor.index()].ty.dtype.clone();
    let mut rhs = value(cx, state, &a.rhs);
    let known = [Known { special: cx.special(a.tensor), constant: None }, known(cx, state, &a.rhs)];
    let laws = cx.laws(&known);
    let kept = Op::from(redpoll_logic::op::Builtin::Choose);
    let mut op = (a.write == Write::Overwrite && seeded::is(Seeded::OverwriteKept)).then_some((&kept, laws));
    if let Write::Fold(fold) = &a.write {
        op = Some((fold, laws));
        if !a.times.is_empty() {
            let (tail, how) = repeat_operator(fold, &dtype, cx).expect("only what can be repeated is integrated");
            rhs = expand_repeat(cx, (&tail, how), &rhs, &a.times, laws);
        }
    }
    let (place, dirty) = match cursor {
        Cursor::Locals(held) => {
            let current = Value { dtype, parts: held.parts.iter().map(|l| local(*l)).collect() };
            let result = combined(cx, op, current, rhs);
            assign_all(cx, &held.parts, result);
            return mark(cx, &held.dirty);
        }
        Cursor::Fiber(_) if !state.acc(a.lhs).open().is_empty() => {
            unreachable!("all subscripts are met before a value is written")
        }
        Cursor::Fiber(fiber) => (Place { tensor: a.tensor, position: fiber.lo }, fiber.dirty),
        Cursor::Fails(violation) => return cx.fail(&violation),
        Cursor::Fill(_) | Cursor::Outside(_) | Cursor::Null => unreachable!("a write comes to a place"),
    };
    if cx.program.tensors[a.tensor.index()].ty.format.leaf == LeafKind::Pattern {
        let then = cx.block(|cx| mark(cx, &dirty));
        return cx.push_if(rhs.single().clone(), then, Vec::new());
    }
    let current = load_leaf(cx, place.tensor, &place.position);
    let result = combined(cx, op, current, rhs);
    store(cx, &place, &result.parts);
    mark(cx, &dirty);
}

/// Returns the value to be stored. All parts of a struct are computed before the first is stored.
fn combined(cx: &mut Cx<'_>, op: Option<(&Op, Laws<'_>)>, current: Value, rhs: Value) -> Value {
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
    Value { parts: parts.collect(), dtype: result.dtype.clone() }
}

fn assign_all(cx: &mut Cx<'_>, to: &[Local], value: Value) {
    for (to, part) in to.iter().zip(value.parts) {
        cx.assign(*to, part);
    }
}

fn mark(cx: &mut Cx<'_>, dirty: &[Local]) {
    for flag in dirty {
        cx.assign(*flag, truth(true));
    }
}

/// Returns the value at a position of a tensor's leaf; `true` for a pattern.
pub(crate) fn load_leaf(cx: &Cx<'_>, tensor: TensorId, position: &Expr) -> Value {
    let ty = &cx.program.tensors[tensor.index()].ty;
    match ty.format.leaf {
        LeafKind::Pattern => Value::constant(&Scalar::Bool(true)),
        LeafKind::Element => {
            let parts = cx.tensor(tensor).leaf.iter().map(|buffer| load(*buffer, position.clone())).collect();
            Value { dtype: ty.dtype.clone(), parts }
        }
    }
}

/// Stores a value at a position of a tensor's leaf.
pub(crate) fn store(cx: &mut Cx<'_>, place: &Place, parts: &[Expr]) {
    for (k, part) in parts.iter().enumerate() {
        let buffer = cx.tensor(place.tensor).leaf[k];
        cx.push(Stmt::Store { buffer, at: place.position.clone(), value: part.clone() });
    }
}
