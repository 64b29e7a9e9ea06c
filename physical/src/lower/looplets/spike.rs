//! Spike: the run before the last coordinate, then the last coordinate alone.
//!
//! ```text
//! loop(i, [lo, hi), B[spike]) = loop(i, [lo, hi - 1), B[spike := body]); loop(i, [hi - 1, hi), B[spike := tail])
//! ```
//! Every spike of a nest ends at the extent's end: [`super::truncate`] sees to it wherever an extent is cut.

use super::{Looplet, Nest, lower_loop};
use crate::lower::build::plus;
use crate::lower::cx::Cx;
use crate::lower::seeded::{self, Seeded};

pub(crate) fn lower(cx: &mut Cx<'_>, nest: Nest) {
    let (lo, hi) = (nest.extent.lo.clone(), nest.extent.hi.clone());
    let last = plus(&hi, -1);
    let before = nest.over(cx, lo.clone(), last.clone());
    let mut parts = 1;
    if !seeded::is(Seeded::SpikeRun) {
        let emitted = cx.emits(|cx| cx.copying(2, |cx| cx.if_below(&lo, &last, |cx| lower_loop(cx, before))));
        parts += u32::from(emitted);
    }
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
    cx.copying(parts, |cx| cx.unless_left(&whole, |cx| lower_loop(cx, point)));
}
