//! Truncation: the effect on a looplet of cutting the end of its extent.
//!
//! Runs, steppers and lookups do not change. A spike that loses its last coordinate becomes a run.
//! If the code must test at run time whether the spike loses this coordinate, the tail becomes a
//! switch between the tail and the body. A switch around the whole spike would contain the code for
//! all other coordinates twice.

use super::{Head, Looplet, SequencePhase};
use crate::assembly::Expr;
use crate::assembly::build::{eq, truth};
use crate::lower::cx::Cx;
use crate::lower::seeded_fault::SeededFault;
use std::rc::Rc;

/// Returns the heads of a nest that ended at `old`, cut to end at `new <= old`.
pub(crate) fn heads(cx: &Cx<'_>, heads: &[Head], old: &Expr, new: &Expr) -> Vec<Head> {
    heads.iter().map(|h| Head { looplet: looplet(cx, &h.looplet, old, new), members: h.members.clone() }).collect()
}

/// Returns the looplet, which ended at `old`, cut to end at `new <= old`.
pub(crate) fn looplet(cx: &Cx<'_>, looplet_: &Looplet, old: &Expr, new: &Expr) -> Looplet {
    let ends = if cx.prover.eq(old, new) {
        return looplet_.clone();
    } else if cx.prover.lt(new, old) {
        truth(false)
    } else if SeededFault::TruncatedSpike.is_active() {
        truth(true)
    } else {
        eq(old, new)
    };
    cut(looplet_, &ends)
}

/// Returns the looplet for an extent that keeps its end if `ends` is true, and ends earlier
/// otherwise.
fn cut(looplet: &Looplet, ends: &Expr) -> Looplet {
    match looplet {
        Looplet::Spike { body, tail } => {
            let tail = match crate::assembly::build::as_truth(ends) {
                Some(true) => tail.clone(),
                Some(false) => return Looplet::Run(body.clone()),
                None => Rc::new(Looplet::Switch {
                    cond: ends.clone(),
                    then: tail.clone(),
                    other: Rc::new(Looplet::Run(body.clone())),
                }),
            };
            Looplet::Spike { body: body.clone(), tail }
        }
        Looplet::Switch { cond, then, other } => {
            Looplet::Switch { cond: cond.clone(), then: Rc::new(cut(then, ends)), other: Rc::new(cut(other, ends)) }
        }
        Looplet::Thunk { preamble, body, epilogue } => {
            Looplet::Thunk { preamble: preamble.clone(), body: Rc::new(cut(body, ends)), epilogue: epilogue.clone() }
        }
        Looplet::Sequence(phases) => {
            let last = phases.len() - 1;
            let cut_phase = |(k, p): (usize, &SequencePhase)| match k == last {
                true => SequencePhase { stop: None, body: cut(&p.body, ends) },
                false => p.clone(),
            };
            Looplet::Sequence(phases.iter().enumerate().map(cut_phase).collect())
        }
        _ => looplet.clone(),
    }
}
