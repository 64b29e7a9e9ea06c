//! Lookup: the remaining accesses look up each coordinate.
//!
//! ```text
//! loop(i, [lo, hi), B[lookup]) = for i in lo..hi { B[lookup := lookup(i)] }
//! ```
//! If no looplet is left, the body is integrated over the extent without a loop, where the rule of
//! [`crate::lower::integrate`] applies.

use super::{LoopExtent, Looplet, LoopletNest, lower_loop};
use crate::assembly::Stmt;
use crate::assembly::build::{local, plus, truth};
use crate::lower::cx::Cx;
use crate::lower::seeded_fault::SeededFault;
use crate::lower::{cleanup, integrate, lanes, stmt};
use redpoll_logic::Prim;

pub(crate) fn lower(cx: &mut Cx<'_>, nest: LoopletNest) {
    if cx.prover.eq(&nest.extent.hi, &plus(&nest.extent.lo, 1)) {
        return lower_point(cx, nest);
    }
    if nest.heads.is_empty() {
        let Some(integrated) = integrate::integrate(cx, &nest) else { return emit_loop(cx, &nest) };
        let LoopExtent { index, lo, hi } = nest.extent;
        return cx.if_below(&lo, &hi, |cx| {
            let coordinate = integrated.coordinate.map(|at| cx.name("i", &at));
            index.into_iter().for_each(|index| cx.set_index(index, coordinate.clone()));
            stmt::lower(cx, &nest.state, &integrated.body);
        });
    }
    emit_loop(cx, &nest);
}

/// Lowers an extent of one coordinate without a loop.
fn lower_point(cx: &mut Cx<'_>, mut nest: LoopletNest) {
    let lo = cx.name("i", &nest.extent.lo);
    if let Some(index) = nest.extent.index {
        cx.bind_index(index, lo.clone());
    }
    if nest.heads.is_empty() {
        return stmt::lower_resolved(cx, nest.state, &nest.body);
    }
    nest.extent = LoopExtent { hi: plus(&lo, 1), lo: lo.clone(), ..nest.extent };
    for head in &mut nest.heads {
        if let Looplet::Lookup(at) = &head.looplet {
            head.looplet = at.clone()(cx, &lo);
        }
    }
    lower_loop(cx, nest);
}

/// Emits, before a loop that has at least one round, the assignments of flags that every round sets
/// and none reads. Returns the rest of the body.
fn hoist_marks(cx: &mut Cx<'_>, body: Vec<Stmt>) -> Vec<Stmt> {
    let mut reads = vec![false; cx.locals.len()];
    cleanup::note_reads(&body, &mut reads);
    let mut assigned = vec![0; cx.locals.len()];
    body.iter().for_each(|stmt| stmt.for_each_assigned(&mut |local| assigned[local.index()] += 1));
    let is_mark = |stmt: &Stmt| match stmt {
        Stmt::Assign(flag, value) => *value == truth(true) && !reads[flag.index()] && assigned[flag.index()] == 1,
        _ => false,
    };
    let marks: Vec<bool> = body.iter().map(is_mark).collect();
    let mut rest = Vec::new();
    for (stmt, mark) in body.into_iter().zip(marks) {
        if mark { cx.push(stmt) } else { rest.push(stmt) }
    }
    rest
}

/// Emits a loop over the coordinates.
fn emit_loop(cx: &mut Cx<'_>, nest: &LoopletNest) {
    let LoopExtent { index, lo, hi } = nest.extent.clone();
    let var = cx.new_local(index.map_or("i", |i| cx.index_name(i)).to_string().as_str(), Prim::I64);
    let i = local(var);
    let body = cx.loop_block(|cx| {
        let scope = cx.prover.open();
        cx.prover.assume_le(&lo, &i);
        cx.prover.assume_le(&plus(&i, 1), &hi);
        let mut point = nest.clone();
        point.extent = LoopExtent { index, lo: i.clone(), hi: plus(&i, 1) };
        point.early_exit = None;
        lower_point(cx, point);
        cx.end_round(nest, &plus(&i, 1));
        cx.prover.close(scope);
    });
    if body.is_empty() {
        return;
    }
    let body = if cx.prover.lt(&lo, &hi) { hoist_marks(cx, body) } else { body };
    let lo = if SeededFault::FirstCoordinate.is_active() { plus(&lo, 1) } else { lo };
    let requested = index.and_then(|index| cx.lanes(index));
    cx.push(lanes::fold_in_lanes(cx, Stmt::For { var, lo, hi, body }, requested));
}
