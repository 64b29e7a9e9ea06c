//! Shift: a looplet met at `i + delta` instead of `i`; it keeps its structure, so slices and convolutions cost nothing.
//!
//! Also the guard of permissive reads, a sequence of what lies outside, inside and outside again.

use super::{Lookup, Looplet, Phase, Stepper};
use crate::assembly::Expr;
use crate::lower::build::{add, int, le, lt, sub};
use crate::lower::cx::Cx;
use crate::lower::seeded::{self, Seeded};
use crate::lower::state::Cursor;
use redpoll_logic::Scalar;
use std::rc::Rc;

/// The looplet, described in coordinates of its level, in terms of an index that is `delta` less.
pub(crate) fn shift(looplet: &Looplet, delta: &Expr) -> Looplet {
    match looplet {
        Looplet::Run(_) | Looplet::Null => looplet.clone(),
        Looplet::Spike { body, tail } => Looplet::Spike { body: body.clone(), tail: Rc::new(shift(tail, delta)) },
        Looplet::Switch { cond, then, other } => Looplet::Switch {
            cond: cond.clone(),
            then: Rc::new(shift(then, delta)),
            other: Rc::new(shift(other, delta)),
        },
        Looplet::Thunk { preamble, body, epilogue } => {
            Looplet::Thunk { preamble: preamble.clone(), body: Rc::new(shift(body, delta)), epilogue: epilogue.clone() }
        }
        Looplet::Sequence(phases) => Looplet::Sequence(
            phases
                .iter()
                .map(|p| Phase { stop: p.stop.as_ref().map(|s| sub(s, delta)), body: shift(&p.body, delta) })
                .collect(),
        ),
        Looplet::Stepper(s) => Looplet::Stepper(Rc::new(shift_stepper(s, delta))),
        Looplet::Jumper(s) => Looplet::Jumper(Rc::new(shift_stepper(s, delta))),
        Looplet::AcceptRun(accept) => {
            let (accept, delta) = (accept.clone(), delta.clone());
            Looplet::AcceptRun(Rc::new(move |cx, lo, hi| {
                shift(&accept(cx, &add(lo, &delta), &add(hi, &delta)), &delta)
            }))
        }
        Looplet::Lookup(at) => {
            let (at, delta) = (at.clone(), delta.clone());
            Looplet::Lookup(Rc::new(move |cx, i| {
                let at_coordinate = cx.name("i", &add(i, &delta));
                shift(&at(cx, &at_coordinate), &delta)
            }))
        }
    }
}

fn shift_stepper(s: &Stepper, delta: &Expr) -> Stepper {
    let (seek, moved) = (s.seek.clone(), delta.clone());
    Stepper {
        more: s.more.clone(),
        current: s.current.clone(),
        stop: if seeded::is(Seeded::ShiftSign) { add(&s.stop, delta) } else { sub(&s.stop, delta) },
        bound: sub(&s.bound, delta),
        chunk: shift(&s.chunk, delta),
        next: s.next.clone(),
        seek: Rc::new(move |cx, i| seek(cx, &add(i, &moved))),
        first: sub(&s.first, delta),
        rest: s.rest.clone(),
    }
}

/// The lookup of a level at `scale * i + delta`.
pub(crate) fn scaled(at: Lookup, scale: i64, delta: Expr) -> Looplet {
    Looplet::Lookup(Rc::new(move |cx, i| {
        let coordinate = cx.name("i", &add(&crate::lower::build::mul(&int(scale), i), &delta));
        at(cx, &coordinate)
    }))
}

/// The looplet where `0 <= i + delta < dimension`, and `outside` elsewhere.
pub(crate) fn within(looplet: Looplet, outside: &Looplet, delta: &Expr, dimension: &Expr) -> Looplet {
    if seeded::is(Seeded::Outside) {
        return looplet;
    }
    Looplet::Sequence(vec![
        Phase { stop: Some(sub(&int(0), delta)), body: outside.clone() },
        Phase { stop: Some(sub(dimension, delta)), body: looplet },
        Phase { stop: None, body: outside.clone() },
    ])
}

/// The lookup where its coordinate `scale * i + delta` is within `[0, dimension)`, and `outside` elsewhere.
pub(crate) fn permissive_lookup(at: Lookup, outside: &Scalar, scale: i64, delta: Expr, dimension: Expr) -> Looplet {
    let outside = Rc::new(Looplet::Run(Cursor::Fill(outside.clone())));
    Looplet::Lookup(Rc::new(move |cx: &mut Cx<'_>, i: &Expr| {
        let c = cx.name("i", &add(&crate::lower::build::mul(&int(scale), i), &delta));
        let inside = crate::lower::build::and(&le(&int(0), &c), &lt(&c, &dimension));
        let inside_only = at.clone();
        let coordinate = c.clone();
        let found = Looplet::Lookup(Rc::new(move |cx, _| inside_only(cx, &coordinate)));
        Looplet::Switch { cond: inside, then: Rc::new(found), other: outside.clone() }
    }))
}
