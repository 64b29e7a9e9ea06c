//! Spike: lowers the run before the last coordinate, then the last coordinate alone.
//!
//! ```text
//! loop(i, [lo, hi), B[spike]) =
//!     loop(i, [lo, hi - 1), B[spike := body]); loop(i, [hi - 1, hi), B[spike := tail])
//! ```
//! Every spike of a nest ends at the end of the extent; [`super::truncate`] preserves this when an
//! extent is cut.

use super::{Looplet, Nest, lower_loop};
use crate::lower::build::plus;
use crate::lower::cx::Cx;
use crate::lower::seeded::{self, Seeded};

pub(crate) fn lower(cx: &mut Cx<'_>, nest: Nest) {
    let (lo, hi) = (nest.extent.lo.clone(), nest.extent.hi.clone());
    let last = plus(&hi, -1);
    let before = nest.over(cx, lo.clone(), last.clone());
    let run = |cx: &mut Cx<'_>| cx.if_below(&lo, &last, |cx| lower_loop(cx, before));
    let emitted = !seeded::is(Seeded::SpikeRun) && cx.emits(|cx| cx.copying(2, run));
    if seeded::is(Seeded::SpikeTail) {
        return;
    }
    let mut point = nest;
    point.extent.lo = last;
    for head in &mut point.heads {
        if let Looplet::Spike { tail, .. } = &head.looplet {
            head.looplet = (**tail).clone();
        }
    }
    let whole = point.clone();
    if emitted {
        cx.copying(2, |cx| cx.unless_left(&whole, |cx| lower_loop(cx, point)));
    } else {
        lower_loop(cx, point);
    }
}
