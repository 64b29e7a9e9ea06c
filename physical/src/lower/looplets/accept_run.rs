//! AcceptRun: a write that takes whole runs at once.
//!
//! ```text
//! loop(i, [lo, hi), B[accept_run]) = B[accept_run := accept_run(lo, hi)]          i does not occur elsewhere in B
//!                                  = for i in lo..hi { B[accept_run(i, i + 1)] }  otherwise
//! ```

use super::{Looplet, Nest, lower_loop};
use crate::lower::build::plus;
use crate::lower::cx::Cx;
use crate::lower::integrate;
use std::rc::Rc;

pub(crate) fn lower(cx: &mut Cx<'_>, mut nest: Nest) {
    let all_runs = nest.heads.iter().all(|h| matches!(h.looplet, Looplet::AcceptRun(_)));
    let point = cx.prover.eq(&nest.extent.hi, &plus(&nest.extent.lo, 1));
    if all_runs && !point && !integrate::needs_index(&nest.state, &nest.body, nest.extent.index) {
        let (lo, hi) = (nest.extent.lo.clone(), nest.extent.hi.clone());
        return cx.if_below(&lo, &hi, |cx| {
            for head in &mut nest.heads {
                if let Looplet::AcceptRun(accept) = &head.looplet {
                    head.looplet = accept.clone()(cx, &lo, &hi);
                }
            }
            let once = Nest { extent: super::Extent { index: None, hi: plus(&lo, 1), lo: lo.clone() }, ..nest };
            lower_loop(cx, once);
        });
    }
    for head in &mut nest.heads {
        if let Looplet::AcceptRun(accept) = &head.looplet {
            let accept = accept.clone();
            head.looplet = Looplet::Lookup(Rc::new(move |cx, i| accept(cx, i, &plus(i, 1))));
        }
    }
    lower_loop(cx, nest);
}
