//! Code for searches in sorted arrays.

use super::build::{int, load, local, lt, min, not, plus, truth};
use super::cx::Cx;
use crate::assembly::{BinaryOp, Buffer, Expr, Local, Stmt};
use redpoll_logic::Prim;

/// Moves `q`, which is at most `end`, to the first element of `idx[q..end]` that is not below `i`,
/// or to `end`. Doubling steps followed by bisection make short distances cheap (Bentley and Yao,
/// 1976).
pub(crate) fn gallop(cx: &mut Cx<'_>, idx: Buffer, (q, end): (Local, &Expr), i: &Expr) {
    let step = cx.new_local("step", Prim::I64);
    let i = cx.name("i", i);
    let below = |at: Expr| lt(&load(idx, at), &i);
    let leap = cx.block(|cx| {
        cx.assign(step, int(1));
        let ahead = super::build::add(&local(q), &local(step));
        let body = cx.block(|cx| {
            cx.push_if(not(&below(ahead.clone())), vec![Stmt::Break], Vec::new());
            cx.assign(q, ahead.clone());
            cx.assign(step, super::build::add(&local(step), &local(step)));
        });
        cx.push(Stmt::While { cond: lt(&ahead, end), body });
        let hi = cx.new_local("hi", Prim::I64);
        cx.assign(hi, min(&ahead, end));
        bisect(cx, (q, hi), &below);
        cx.assign(q, local(hi));
    });
    let first = cx.block(|cx| cx.push_if(below(local(q)), leap, Vec::new()));
    cx.push_if(lt(&local(q), end), first, Vec::new());
}

/// Moves `r`, which is at least `start`, down to one past the last element of `idx[start..r]` that
/// is not above `i`, or to `start`. This is [`gallop`] from the end.
pub(crate) fn gallop_back(cx: &mut Cx<'_>, idx: Buffer, (start, r): (&Expr, Local), i: &Expr) {
    let i = cx.name("i", i);
    gallop_back_by(cx, (start, r), &|at| lt(&i, &load(idx, at)));
}

/// Moves `r` like [`gallop_back`], where `above` tests the element at a position. The elements that
/// pass the test come last in `start..r`.
pub(crate) fn gallop_back_by(cx: &mut Cx<'_>, (start, r): (&Expr, Local), above: &dyn Fn(Expr) -> Expr) {
    let step = cx.new_local("step", Prim::I64);
    let leap = cx.block(|cx| {
        // During the search, `above` is true for the element at `r`.
        cx.assign(r, plus(&local(r), -1));
        cx.assign(step, int(1));
        let before = super::build::sub(&local(r), &local(step));
        let body = cx.block(|cx| {
            cx.push_if(not(&above(before.clone())), vec![Stmt::Break], Vec::new());
            cx.assign(r, before.clone());
            cx.assign(step, super::build::add(&local(step), &local(step)));
        });
        cx.push(Stmt::While { cond: super::build::le(start, &before), body });
        let lo = cx.new_local("lo", Prim::I64);
        cx.assign(lo, super::build::max(&before, &plus(start, -1)));
        bisect(cx, (lo, r), &|at| not(&above(at)));
    });
    let first = cx.block(|cx| cx.push_if(above(plus(&local(r), -1)), leap, Vec::new()));
    cx.push_if(lt(start, &local(r)), first, Vec::new());
}

/// Moves `end` down to the first element of `idx[q..end]` that is not below `i`, if there is one.
pub(crate) fn drop_from(cx: &mut Cx<'_>, idx: Buffer, (q, end): (Local, Local), i: &Expr) {
    let i = cx.name("i", i);
    let below = |at: Expr| lt(&load(idx, at), &i);
    let search = cx.block(|cx| {
        let lo = cx.new_local("lo", Prim::I64);
        cx.assign(end, plus(&local(end), -1));
        cx.assign(lo, plus(&local(q), -1));
        bisect(cx, (lo, end), &below);
    });
    let last = cx.block(|cx| cx.push_if(not(&below(plus(&local(end), -1))), search, Vec::new()));
    cx.push_if(lt(&local(q), &local(end)), last, Vec::new());
}

/// Moves `hi` down to the first element for which `below` is false. `below` is true for element
/// `lo` and false for element `hi`; either element may lie just outside of the searched elements,
/// where it is not tested.
fn bisect(cx: &mut Cx<'_>, (lo, hi): (Local, Local), below: &dyn Fn(Expr) -> Expr) {
    let mid = cx.new_local("mid", Prim::I64);
    let body = cx.block(|cx| {
        let sum = super::build::add(&local(lo), &local(hi));
        cx.assign(mid, Expr::Binary(BinaryOp::Shr, Box::new(sum), Box::new(int(1))));
        let (up, down) = (vec![Stmt::Assign(lo, local(mid))], vec![Stmt::Assign(hi, local(mid))]);
        cx.push_if(below(local(mid)), up, down);
    });
    cx.push(Stmt::While { cond: lt(&plus(&local(lo), 1), &local(hi)), body });
}

/// Returns a `bool` local that is true if `q` is below `end` and `idx[q]` is `i`.
pub(crate) fn hit(cx: &mut Cx<'_>, idx: Buffer, (q, end): (Local, &Expr), i: &Expr) -> Expr {
    let hit = cx.new_local("hit", Prim::Bool);
    cx.assign(hit, truth(false));
    let equal = super::build::eq(&load(idx, local(q)), i);
    cx.push_if(lt(&local(q), end), vec![Stmt::Assign(hit, equal)], Vec::new());
    local(hit)
}
