//! Spike: lowers the run before the last coordinate, then the last coordinate alone.
//!
//! ```text
//! loop(i, [lo, hi), B[spike]) =
//!     loop(i, [lo, hi - 1), B[spike := body]); loop(i, [hi - 1, hi), B[spike := tail])
//! ```
//! Every spike of a nest ends at the end of the extent; [`super::truncate`] preserves this when an
//! extent is cut.

use super::{Looplet, LoopletNest, lower_loop};
use crate::assembly::build::plus;
use crate::lower::cx::Cx;
use crate::lower::seeded_fault::SeededFault;

pub(crate) fn lower(cx: &mut Cx<'_>, nest: LoopletNest) {
    let (lo, hi) = (nest.extent.lo.clone(), nest.extent.hi.clone());
    let last = plus(&hi, -1);
    let before = nest.restrict(cx, lo.clone(), last.clone());
    let run = |cx: &mut Cx<'_>| cx.if_below(&lo, &last, |cx| lower_loop(cx, before));
    let emitted = !SeededFault::SpikeRun.is_active() && cx.emits_code(|cx| cx.with_copies(2, run));
    if SeededFault::SpikeTail.is_active() {
        return;
    }
    let mut point = nest;
    point.extent.lo = last;
    for head in &mut point.heads {
        if let Looplet::Spike { tail, .. } = &head.looplet {
            head.looplet = (**tail).clone();
        }
    }
    let outer = point.clone();
    if emitted {
        cx.with_copies(2, |cx| cx.unless_exited(&outer, |cx| lower_loop(cx, point)));
    } else {
        lower_loop(cx, point);
    }
}
