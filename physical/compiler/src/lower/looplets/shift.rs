//! Shift: reads a looplet at the coordinate `scale * i + offset` in place of `i`. The structure of
//! the looplet is preserved, so slices and convolutions cost nothing, and strides cost only the
//! entries that they skip.
//!
//! Indices select every `scale`-th coordinate, so a chunk that ends at the coordinate `stop` ends
//! at the index `ceil((stop - offset) / scale)`. Chunks between the coordinates of two adjacent
//! indices vanish, and a stepper skips entries that no index selects.
//!
//! This file also has the guards of accesses that may be out of bounds: a sequence of three phases,
//! before, in and after the bounds, or a switch at each lookup.

use super::{LookupFn, Looplet, SeekFn, SequencePhase, Stepper};
use crate::assembly::build::{
    add, ceil_div, exact_div, int, is_multiple, le, local, lt, max, mul, or, plus, sub, truth,
};
use crate::assembly::{Expr, Stmt};
use crate::lower::cx::Cx;
use crate::lower::seeded_fault::SeededFault;
use crate::lower::state::{AccessCursor, Coordinate, Violation};
use redpoll_logic::Prim;
use std::rc::Rc;

/// The map from an index to a coordinate of a level: `scale * i + offset`.
#[derive(Clone, Debug)]
pub(crate) struct Shift {
    /// The stride, at least 1.
    pub(crate) scale: i64,
    pub(crate) offset: Expr,
}

impl Shift {
    /// Returns the coordinate of an index.
    fn coordinate(&self, i: &Expr) -> Expr {
        add(&mul(&int(self.scale), i), &self.offset)
    }

    /// Returns one past the last index whose coordinate is below `stop`.
    fn end(&self, stop: &Expr) -> Expr {
        ceil_div(&sub(stop, &self.offset), self.scale)
    }

    /// Returns the condition that some index has the coordinate.
    fn is_selected(&self, coordinate: &Expr) -> Expr {
        is_multiple(&sub(coordinate, &self.offset), self.scale)
    }

    /// Converts a looplet in coordinates of its level, which ends at the coordinate `stop`, to a
    /// looplet in terms of the index.
    pub(crate) fn apply(&self, cx: &mut Cx<'_>, looplet: &Looplet, stop: &Expr) -> Looplet {
        match looplet {
            Looplet::Run(_) | Looplet::Null => looplet.clone(),
            Looplet::Spike { body, tail } => {
                let tail = Rc::new(self.apply(cx, tail, stop));
                let tail = match self.scale {
                    1 => tail,
                    _ => Rc::new(Looplet::Switch {
                        cond: self.is_selected(&plus(stop, -1)),
                        then: tail,
                        other: Rc::new(Looplet::Run(body.clone())),
                    }),
                };
                Looplet::Spike { body: body.clone(), tail }
            }
            Looplet::Switch { cond, then, other } => Looplet::Switch {
                cond: cond.clone(),
                then: Rc::new(self.apply(cx, then, stop)),
                other: Rc::new(self.apply(cx, other, stop)),
            },
            Looplet::Thunk { preamble, body, epilogue } => Looplet::Thunk {
                preamble: preamble.clone(),
                body: Rc::new(self.apply(cx, body, stop)),
                epilogue: epilogue.clone(),
            },
            Looplet::Sequence(phases) => {
                let apply = |p: &SequencePhase| SequencePhase {
                    stop: p.stop.as_ref().map(|s| self.end(s)),
                    body: self.apply(cx, &p.body, p.stop.as_ref().unwrap_or(stop)),
                };
                Looplet::Sequence(phases.iter().map(apply).collect())
            }
            Looplet::Stepper(s) => Looplet::Stepper(Rc::new(self.stepper(cx, s))),
            Looplet::Jumper(s) => Looplet::Jumper(Rc::new(self.stepper(cx, s))),
            Looplet::AcceptRun(accept) if self.scale == 1 => {
                let (accept, shift, stop) = (accept.clone(), self.clone(), stop.clone());
                Looplet::AcceptRun(Rc::new(move |cx, lo, hi| {
                    let accepted = accept(cx, &shift.coordinate(lo), &shift.coordinate(hi));
                    shift.apply(cx, &accepted, &stop)
                }))
            }
            Looplet::AcceptRun(accept) => {
                // The coordinates of adjacent indices are not adjacent.
                let accept = accept.clone();
                self.apply(cx, &Looplet::Lookup(Rc::new(move |cx, c| accept(cx, c, &plus(c, 1)))), stop)
            }
            Looplet::Lookup(at) => {
                let (at, shift, stop) = (at.clone(), self.clone(), stop.clone());
                Looplet::Lookup(Rc::new(move |cx, i| {
                    let coordinate = cx.name("i", &shift.coordinate(i));
                    let found = at(cx, &coordinate);
                    shift.apply(cx, &found, &stop)
                }))
            }
        }
    }

    fn stepper(&self, cx: &mut Cx<'_>, s: &Stepper) -> Stepper {
        if self.scale != 1 {
            return self.skip_unselected(cx, s);
        }
        let (seek, shift) = (s.seek.clone(), self.clone());
        Stepper {
            more: s.more.clone(),
            current: s.current.clone(),
            stop: if SeededFault::ShiftSign.is_active() { add(&s.stop, &self.offset) } else { self.end(&s.stop) },
            bound: self.end(&s.bound),
            chunk: self.apply(cx, &s.chunk, &s.stop),
            next: s.next.clone(),
            seek: Rc::new(move |cx, i| seek(cx, &shift.coordinate(i))),
            first: self.end(&s.first),
            rest: s.rest.clone(),
            entries: s.entries.clone(),
            limit: s.limit.clone().map(|limit| {
                let shift = self.clone();
                Rc::new(move |cx: &mut Cx<'_>, i: &Expr| limit(cx, &shift.coordinate(i))) as SeekFn
            }),
        }
    }

    /// Returns the stepper without the entries that no index selects. A spike is skipped if no
    /// index has its coordinate. A chunk of any other form is skipped if it ends before the next
    /// index.
    fn skip_unselected(&self, cx: &mut Cx<'_>, s: &Stepper) -> Stepper {
        let stop = cx.new_local("stop", Prim::I64);
        let mut current = s.current.clone();
        let (load_stop, chunk, reached) = match &s.chunk {
            Looplet::Spike { body, tail } => {
                let last = sub(&plus(&s.stop, -1), &self.offset);
                let tail = Rc::new(self.apply(cx, tail, &s.stop));
                (exact_div(&last, self.scale), Looplet::Spike { body: body.clone(), tail }, None)
            }
            chunk => {
                let chunk = self.apply(cx, chunk, &s.stop);
                (self.end(&s.stop), chunk, Some(cx.new_local("reached", Prim::I64)))
            }
        };
        let mut advance = s.current.clone();
        let (selected, end) = match reached {
            None if SeededFault::StrideSkip.is_active() => (truth(true), plus(&local(stop), 1)),
            None => (self.is_selected(&plus(&s.stop, -1)), plus(&local(stop), 1)),
            Some(reached) => (lt(&local(reached), &load_stop), local(stop)),
        };
        current.push(Stmt::Assign(stop, load_stop));
        advance.push(Stmt::If { cond: selected, then: vec![Stmt::Break], other: Vec::new() });
        advance.extend((s.next)(&truth(true)));
        let advance = Stmt::While { cond: s.more.clone(), body: advance };
        let (next, seek, first, shift) = (s.next.clone(), s.seek.clone(), s.first.clone(), self.clone());
        let (skip, next_stop) = (advance.clone(), end.clone());
        Stepper {
            more: s.more.clone(),
            current,
            stop: end,
            bound: self.end(&s.bound),
            chunk,
            next: Rc::new(move |condition| {
                let mut code: Vec<Stmt> = reached.iter().map(|r| Stmt::Assign(*r, next_stop.clone())).collect();
                code.extend(next(&truth(true)));
                code.push(skip.clone());
                match crate::assembly::build::as_truth(condition) {
                    Some(true) => code,
                    _ => vec![Stmt::If { cond: condition.clone(), then: code, other: Vec::new() }],
                }
            }),
            seek: Rc::new(move |cx, i| {
                let coordinate = shift.coordinate(i);
                if !cx.prover.le(&coordinate, &first) {
                    seek(cx, &coordinate);
                }
                reached.iter().for_each(|r| cx.assign(*r, i.clone()));
                cx.push(advance.clone());
            }),
            // A seek finds the first entry that an index selects, so a seek is always needed.
            first: int(i64::MIN),
            rest: s.rest.clone(),
            entries: None,
            limit: None,
        }
    }

    /// Returns `looplet` for the coordinates in `[lo, hi)`, and `outside` for all others. `outside`
    /// takes the first index of its phase; the loop starts at `first`.
    pub(crate) fn restrict(
        &self,
        looplet: Looplet,
        outside: &dyn Fn(&Expr) -> Looplet,
        (lo, hi): (&Expr, &Expr),
        first: &Expr,
    ) -> Looplet {
        if SeededFault::BoundsGuard.is_active() {
            return looplet;
        }
        let (begin, end) = (self.end(lo), self.end(hi));
        let after = outside(&max(first, &end));
        Looplet::Sequence(vec![
            SequencePhase { stop: Some(begin), body: outside(first) },
            SequencePhase { stop: Some(end), body: looplet },
            SequencePhase { stop: None, body: after },
        ])
    }
}

/// The effect of an access out of bounds.
#[derive(Clone, Debug)]
pub(crate) enum OutOfBoundsEffect {
    /// The access reads the literal of this cursor.
    Read(AccessCursor),
    /// The write has no effect.
    None,
    /// The kernel stops. If the fiber is absent, the access reads the fill value instead.
    Violation {
        /// The number of the check.
        site: u32,
        /// The condition that the fiber is absent, and its fill value.
        absent: Option<(Expr, AccessCursor)>,
    },
}

impl OutOfBoundsEffect {
    /// Returns the switch between a looplet in bounds and this effect. An absent fiber needs no
    /// check, because nothing is loaded from it.
    pub(crate) fn unless(&self, inside: &Expr, then: Looplet, coordinate: &Expr) -> Looplet {
        let coordinate = || Coordinate::Value(coordinate.clone());
        let (cond, other) = match self {
            OutOfBoundsEffect::Violation { site, absent: Some((absent, _)) } => {
                (or(absent, inside), OutOfBoundsEffect::Violation { site: *site, absent: None }.looplet(&coordinate))
            }
            _ => (inside.clone(), self.looplet(&coordinate)),
        };
        Looplet::Switch { cond, then: Rc::new(then), other: Rc::new(other) }
    }

    /// Returns the looplet at coordinates out of bounds. `coordinate` is called only if a check
    /// reports the coordinate.
    pub(crate) fn looplet(&self, coordinate: &dyn Fn() -> Coordinate) -> Looplet {
        match self {
            OutOfBoundsEffect::Read(value) => Looplet::Run(value.clone()),
            OutOfBoundsEffect::None => Looplet::Null,
            OutOfBoundsEffect::Violation { site, absent } => {
                let violation =
                    Looplet::Run(AccessCursor::Violation(Violation { site: *site, coordinate: coordinate() }));
                match absent {
                    None => violation,
                    Some((absent, fill)) => Looplet::Switch {
                        cond: absent.clone(),
                        then: Rc::new(Looplet::Run(fill.clone())),
                        other: Rc::new(violation),
                    },
                }
            }
        }
    }
}

/// Returns the lookup where its coordinate `scale * i + offset` is in `[0, dimension)`, and the
/// looplet of `outside` elsewhere.
pub(crate) fn permissive_lookup(
    at: LookupFn,
    outside: OutOfBoundsEffect,
    scale: i64,
    offset: Expr,
    dimension: Expr,
) -> Looplet {
    Looplet::Lookup(Rc::new(move |cx: &mut Cx<'_>, i: &Expr| {
        let c = cx.name("i", &add(&mul(&int(scale), i), &offset));
        let inside = crate::assembly::build::and(&le(&int(0), &c), &lt(&c, &dimension));
        let inside_only = at.clone();
        let coordinate = c.clone();
        let found = Looplet::Lookup(Rc::new(move |cx, _| inside_only(cx, &coordinate)));
        outside.unless(&inside, found, &c)
    }))
}
