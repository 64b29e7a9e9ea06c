//! Run: the access no longer depends on the index.
//!
//! ```text
//! loop(i, e, B[A[.., i]]) = loop(i, e, B[A[..]])          A is a run over e
//! ```
//! A run of the fill value becomes a literal, and the next simplification removes the terms that
//! the literal annihilates.

use super::{Looplet, LoopletNest, lower_loop};
use crate::lower::cx::Cx;
use crate::lower::state::AccessCursor;

pub(crate) fn lower(cx: &mut Cx<'_>, mut nest: LoopletNest) {
    let heads = std::mem::take(&mut nest.heads);
    for head in heads {
        let cursor = match head.looplet {
            Looplet::Run(cursor) => cursor,
            Looplet::Null => AccessCursor::Null,
            _ => {
                nest.heads.push(head);
                continue;
            }
        };
        for id in head.members {
            nest.state.resolve(id, &cursor);
        }
    }
    lower_loop(cx, nest);
}
