//! Mirror: a looplet read from its end, in negated coordinates. The cursor at `c` moves to `-c`.
//!
//! Looplets that do not step are mirrored here. Steppers find their chunks only forward; levels
//! that can find them from the end implement `LevelLowering::read_backward`.

use super::{Looplet, SequencePhase};
use crate::assembly::Expr;
use crate::assembly::build::{int, sub};
use std::rc::Rc;

/// Returns the mirror image, in negated coordinates, of a looplet whose extent ends at `stop`;
/// `None` if the looplet steps.
pub(crate) fn mirror(looplet: &Looplet, stop: &Expr) -> Option<Looplet> {
    Some(match looplet {
        Looplet::Run(_) | Looplet::Null => looplet.clone(),
        Looplet::Spike { body, tail } => Looplet::Sequence(vec![
            SequencePhase { stop: Some(sub(&int(2), stop)), body: mirror(tail, stop)? },
            SequencePhase { stop: None, body: Looplet::Run(body.clone()) },
        ]),
        Looplet::Switch { cond, then, other } => Looplet::Switch {
            cond: cond.clone(),
            then: Rc::new(mirror(then, stop)?),
            other: Rc::new(mirror(other, stop)?),
        },
        Looplet::Thunk { preamble, body, epilogue } => Looplet::Thunk {
            preamble: preamble.clone(),
            body: Rc::new(mirror(body, stop)?),
            epilogue: epilogue.clone(),
        },
        Looplet::Sequence(phases) => {
            // A phase starts where the previous one ends; its mirror image ends there.
            let begins = [None].into_iter().chain(phases.iter().map(|p| p.stop.as_ref()));
            let mirrored = phases.iter().zip(begins).map(|(phase, begin)| {
                Some(SequencePhase {
                    stop: begin.map(|begin| sub(&int(1), begin)),
                    body: mirror(&phase.body, phase.stop.as_ref().unwrap_or(stop))?,
                })
            });
            let mirrored: Option<Vec<SequencePhase>> = mirrored.collect();
            Looplet::Sequence(mirrored?.into_iter().rev().collect())
        }
        Looplet::Lookup(at) => {
            let (at, stop) = (at.clone(), stop.clone());
            Looplet::Lookup(Rc::new(move |cx, c| {
                let coordinate = cx.name("i", &sub(&int(0), c));
                let found = at(cx, &coordinate);
                mirror(&found, &stop).expect("the looplet at one coordinate does not step")
            }))
        }
        Looplet::AcceptRun(accept) => {
            let (accept, stop) = (accept.clone(), stop.clone());
            Looplet::AcceptRun(Rc::new(move |cx, lo, hi| {
                let accepted = accept(cx, &sub(&int(1), hi), &sub(&int(1), lo));
                mirror(&accepted, &stop).expect("the looplet of a written run does not step")
            }))
        }
        Looplet::Stepper(_) | Looplet::Jumper(_) => return None,
    })
}
