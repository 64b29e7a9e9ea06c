//! Thunk: emits the preamble, lowers the loop with the body of the thunk, and emits the epilogue.
//!
//! ```text
//! loop(i, e, B[thunk]) = preamble; loop(i, e, B[thunk := body]); epilogue
//! ```

use super::{Looplet, LoopletNest, lower_loop};
use crate::lower::cx::Cx;
use crate::lower::seeded_fault::SeededFault;

pub(crate) fn lower(cx: &mut Cx<'_>, mut nest: LoopletNest) {
    let mut epilogues = Vec::new();
    for head in &mut nest.heads {
        if let Looplet::Thunk { preamble, body, epilogue } = head.looplet.clone() {
            cx.extend(preamble);
            if !SeededFault::ThunkEpilogue.is_active() {
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
