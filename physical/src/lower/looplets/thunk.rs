//! Thunk: emits the preamble, lowers with the body in place, emits the epilogue.
//!
//! ```text
//! loop(i, e, B[thunk]) = preamble; loop(i, e, B[thunk := body]); epilogue
//! ```

use super::{Looplet, Nest, lower_loop};
use crate::lower::cx::Cx;
use crate::lower::seeded::{self, Seeded};

pub(crate) fn lower(cx: &mut Cx<'_>, mut nest: Nest) {
    let mut epilogues = Vec::new();
    for head in &mut nest.heads {
        if let Looplet::Thunk { preamble, body, epilogue } = head.looplet.clone() {
            cx.extend(preamble);
            if !seeded::is(Seeded::ThunkEpilogue) {
                epilogues.push(epilogue);
            }
            head.looplet = (*body).clone();
        }
    }
    lower_loop(cx, nest);
    for epilogue in epilogues.into_iter().rev() {
        cx.extend(epilogue);
    }
}
