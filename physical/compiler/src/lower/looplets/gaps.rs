//! The gaps of a list, handled at once. If all rounds in the gaps have the same effect, code before
//! the loop over the entries runs the body once for all these rounds. This code repeats each write
//! as often as there are rounds in the gaps.
//!
//! ```text
//! loop(i, [lo, hi), B[stepper]) =
//!     gaps = (hi - lo) - entries
//!     if 0 < gaps { repeat(B[stepper := rest], gaps) }
//!     while more { p = stop; loop(i, [p - 1, p), B[stepper := chunk]); step }
//! ```
//! The rule changes the order of the rounds. So the body may write tensors only by folds, and must
//! not read these tensors. All folds into one tensor must use one operator, which is associative
//! and commutative. Tensors that the body itself declares are exempt. The loop over the entries
//! needs no coordinates of entries, unless the body uses them.

use super::stepper::{Walker, round};
use super::{LoopletNest, lower_loop};
use crate::assembly::build::{int, plus, sub, truth};
use crate::lower::cx::Cx;
use crate::lower::integrate::{has_while_or_swap, integrate};
use crate::lower::seeded_fault::SeededFault;
use crate::notation::Write;

/// Lowers a loop along one list by this rule. Returns false, and emits nothing, if the rule does
/// not apply.
pub(super) fn lower(cx: &mut Cx<'_>, nest: &LoopletNest, walkers: &mut [Walker]) -> bool {
    let [walker] = walkers else { return false };
    let Some(entries) = walker.stepper.entries.clone() else { return false };
    // `entries` counts from the cursor, which is at the first entry of the extent. So the count is
    // exact if no entry is after the extent.
    let is_exact = cx.prover.le(&walker.stepper.bound, &nest.extent.hi);
    let is_limited = nest.early_exit.is_some() || cx.is_copy_limited(&nest.body);
    if !is_exact || is_limited || !can_reorder(cx, nest) {
        return false;
    }
    let mut in_gaps = nest.clone();
    in_gaps.state = nest.state_with(&[(walker.head, walker.stepper.rest.clone())]);
    in_gaps.heads.remove(walker.head);
    // If the body has no effect in gaps, this rule is not needed. If other looplets are left,
    // rounds in gaps may differ.
    if !in_gaps.simplify_body(cx) || !in_gaps.heads.is_empty() {
        return false;
    }
    let extent = sub(&nest.extent.hi, &nest.extent.lo);
    let gaps = if SeededFault::GapCount.is_active() { extent } else { sub(&extent, &entries) };
    let mut is_one_round = false;
    let in_gaps = cx.block(|cx| {
        let gaps = cx.name("gaps", &gaps);
        (in_gaps.extent.lo, in_gaps.extent.hi) = (int(0), gaps);
        is_one_round = integrate(cx, &in_gaps).is_some_and(|integrated| integrated.coordinate.is_none());
        cx.with_copies(2, |cx| lower_loop(cx, in_gaps));
    });
    if !is_one_round {
        return false;
    }
    cx.extend(in_gaps);
    let more = walker.stepper.more.clone();
    if let Some(index) = nest.extent.index {
        cx.request_lanes(index, &more);
    }
    let body = cx.loop_block(|cx| {
        walkers[0].load_entry(cx);
        let p = cx.name("p", &walkers[0].stop);
        let scope = cx.prover.open();
        cx.with_copies(2, |cx| round(cx, nest, walkers, (plus(&p, -1), p.clone())));
        cx.prover.close(scope);
        cx.end_round(nest, &p);
        cx.extend((walkers[0].stepper.next)(&truth(true)));
    });
    cx.push_steps(nest.extent.index, more, body);
    true
}

/// Returns whether the rounds of a body may run in any order.
fn can_reorder(cx: &Cx<'_>, nest: &LoopletNest) -> bool {
    let own = nest.body.declared_tensors();
    let mut can_reorder = !has_while_or_swap(&nest.body);
    let mut written = Vec::new();
    nest.body.for_each_assign(&mut |a| {
        if own.contains(&a.tensor) {
            return;
        }
        let dtype = &cx.program.tensors[a.tensor.index()].ty.dtype;
        can_reorder &= match &a.write {
            Write::Fold(op) => op.is_associative(dtype, cx.mode) && op.is_commutative(dtype, cx.mode),
            Write::Init | Write::Overwrite => false,
        };
        can_reorder &= cx.is_only_folded(a.tensor);
        written.push(a.tensor);
    });
    nest.body.for_each_term(&mut |t| {
        t.for_each_access(&mut |id| {
            can_reorder &= nest.state.access(id).tensor.is_none_or(|tensor| !written.contains(&tensor));
        });
    });
    can_reorder
}
