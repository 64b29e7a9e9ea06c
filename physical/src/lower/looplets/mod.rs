//! Looplets: the pieces that describe the fibers of a level, and the rules that lower loops over
//! them.
//!
//! A looplet describes the values of an access while an index runs over a half-open extent. Source:
//! Ahrens, Donenfeld, Kjolstad, Amarasinghe, "Looplets: A Language for Structured Coiteration" (CGO
//! 2023), and Finch. The rule of each looplet is in a file of its own; [`lower_loop`] applies the
//! rule of the highest style among the accesses: Thunk > Switch > Sequence (with its phases) >
//! Spike > Run > Jumper > Stepper > AcceptRun > Lookup. Every order gives a correct program; this
//! one narrows extents and lets fill values annihilate terms before it loops.

pub(crate) mod accept_run;
pub(crate) mod lead;
pub(crate) mod lookup;
pub(crate) mod mirror;
pub(crate) mod run;
pub(crate) mod segments;
pub(crate) mod sequence;
pub(crate) mod shift;
pub(crate) mod spike;
pub(crate) mod stepper;
pub(crate) mod switch;
pub(crate) mod thunk;
pub(crate) mod truncate;

use super::cx::Cx;
use super::short_circuit::Until;
use super::simplify::{only_fills, simplify};
use super::state::{Cursor, State};
use super::tree::{AccId, Tree};
use crate::assembly::{Expr, Stmt};
use crate::notation::Index;
use std::rc::Rc;

/// The structure of an access over an extent.
#[derive(Clone)]
pub(crate) enum Looplet {
    /// The same cursor at every coordinate.
    Run(Cursor),
    /// A run, except at the last coordinate of the extent.
    Spike { body: Cursor, tail: Rc<Looplet> },
    /// One of two looplets, by a `bool` that is computed before the loop.
    Switch { cond: Expr, then: Rc<Looplet>, other: Rc<Looplet> },
    /// A looplet with code to run before and after it.
    Thunk { preamble: Vec<Stmt>, body: Rc<Looplet>, epilogue: Vec<Stmt> },
    /// Phases one after the other; each except the last has an end of its own.
    Sequence(Vec<Phase>),
    /// Chunks one after the other, found during iteration.
    Stepper(Rc<Stepper>),
    /// A stepper of spikes that may lead by leaps: all other accesses are moved to the furthest
    /// one.
    Jumper(Rc<Stepper>),
    /// A write that takes whole runs at once.
    AcceptRun(AcceptRun),
    /// Any structure, looked up by coordinate.
    Lookup(Lookup),
    /// A write that has no effect.
    Null,
}

/// A function that returns the looplet at one coordinate.
pub(crate) type Lookup = Rc<dyn Fn(&mut Cx<'_>, &Expr) -> Looplet>;

/// A function that returns the looplet of a write of one value to all of `[lo, hi)`.
pub(crate) type AcceptRun = Rc<dyn Fn(&mut Cx<'_>, &Expr, &Expr) -> Looplet>;

/// A function that returns code which moves a stepper on if a `bool` is true.
pub(crate) type Next = Rc<dyn Fn(&Expr) -> Vec<Stmt>>;

/// A function that emits code which moves a stepper to a coordinate.
pub(crate) type Seek = Rc<dyn Fn(&mut Cx<'_>, &Expr)>;

/// A phase of a sequence.
#[derive(Clone)]
pub(crate) struct Phase {
    /// One past its last coordinate; `None` for the end of the extent.
    pub(crate) stop: Option<Expr>,
    /// The looplet of the phase.
    pub(crate) body: Looplet,
}

/// Chunks found during iteration: a cursor over stored entries in ascending order.
pub(crate) struct Stepper {
    /// The condition that there is a current entry.
    pub(crate) more: Expr,
    /// Code that loads the current entry; it runs only if there is one.
    pub(crate) current: Vec<Stmt>,
    /// One past the last coordinate of the current entry's chunk; set by `current`.
    pub(crate) stop: Expr,
    /// An upper bound on every `stop`.
    pub(crate) bound: Expr,
    /// The looplet from the end of the last chunk to `stop`.
    pub(crate) chunk: Looplet,
    /// Code that moves to the next entry if the given `bool` is true.
    pub(crate) next: Next,
    /// Code that moves to the first entry whose chunk ends after the given coordinate.
    pub(crate) seek: Seek,
    /// A lower bound on the coordinates of all entries: an extent that starts there needs no seek.
    pub(crate) first: Expr,
    /// The cursor after the last entry.
    pub(crate) rest: Cursor,
}

/// A looplet and the accesses that share it: equal accesses have one head.
#[derive(Clone)]
pub(crate) struct Head {
    pub(crate) looplet: Looplet,
    pub(crate) members: Vec<AccId>,
}

/// The extent of a loop and the index that it binds; `None` for a lookup outside loops.
#[derive(Clone, Debug)]
pub(crate) struct Extent {
    pub(crate) index: Option<Index>,
    pub(crate) lo: Expr,
    pub(crate) hi: Expr,
}

/// A loop during its lowering: `heads` describe accesses of `body` over `extent`.
#[derive(Clone)]
pub(crate) struct Nest {
    pub(crate) extent: Extent,
    pub(crate) heads: Vec<Head>,
    pub(crate) body: Rc<Tree>,
    pub(crate) state: State,
    /// The condition that ends the loop early.
    pub(crate) until: Option<Until>,
}

/// The styles of looplets by priority, lowest first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Style {
    Lookup,
    AcceptRun,
    Stepper,
    Jumper,
    Run,
    Spike,
    Sequence,
    Switch,
    Thunk,
}

impl Looplet {
    fn style(&self) -> Style {
        match self {
            Looplet::Thunk { .. } => Style::Thunk,
            Looplet::Switch { .. } => Style::Switch,
            Looplet::Sequence(_) => Style::Sequence,
            Looplet::Spike { .. } => Style::Spike,
            Looplet::Run(_) | Looplet::Null => Style::Run,
            Looplet::Jumper(_) => Style::Jumper,
            Looplet::Stepper(_) => Style::Stepper,
            Looplet::AcceptRun(_) => Style::AcceptRun,
            Looplet::Lookup(_) => Style::Lookup,
        }
    }
}

impl Extent {
    /// Returns whether the extent has exactly one coordinate.
    pub(crate) fn is_point(&self, cx: &Cx<'_>) -> bool {
        cx.prover.eq(&self.hi, &super::plus(&self.lo, 1))
    }
}

impl Nest {
    /// Returns the nest over another extent, with its looplets cut to it.
    pub(crate) fn over(&self, cx: &Cx<'_>, lo: Expr, hi: Expr) -> Nest {
        let heads = truncate::heads(cx, &self.heads, &self.extent.hi, &hi);
        Nest { extent: Extent { lo, hi, ..self.extent }, heads, ..self.clone() }
    }

    /// Returns the nest with the looplet of one head replaced.
    pub(crate) fn with(&self, head: usize, looplet: Looplet) -> Nest {
        let mut nest = self.clone();
        nest.heads[head].looplet = looplet;
        nest
    }

    /// Returns whether the only effect of the body is to set elements to fill values, if the given
    /// heads are runs of these cursors.
    pub(crate) fn vanishes_with(&self, cx: &Cx<'_>, met: &[(usize, Cursor)]) -> bool {
        only_fills(cx, &self.having_met(met), &self.body)
    }

    /// Returns whether the body has no effect, if the given heads are runs of these cursors.
    pub(crate) fn ends_with(&self, cx: &Cx<'_>, met: &[(usize, Cursor)]) -> bool {
        simplify(cx, &self.having_met(met), &self.body).is_empty()
    }

    /// Simplifies the body, drops looplets of accesses that no longer occur, and returns whether
    /// the body has an effect.
    fn has_work(&mut self, cx: &Cx<'_>) -> bool {
        self.body = Rc::new(simplify(cx, &self.state, &self.body));
        let alive = self.body.accesses();
        self.heads.retain(|h| h.members.iter().any(|id| alive.contains(id)));
        !self.body.is_empty()
    }

    /// Returns the state in which the given heads are runs of these cursors.
    fn having_met(&self, met: &[(usize, Cursor)]) -> State {
        let mut state = self.state.clone();
        for (head, cursor) in met {
            self.heads[*head].members.iter().for_each(|id| state.meet(*id, cursor));
        }
        state
    }
}

/// Lowers a loop: simplifies the body, drops looplets of accesses that no longer occur, and applies
/// the rule of the highest style.
pub(crate) fn lower_loop(cx: &mut Cx<'_>, mut nest: Nest) {
    if !nest.has_work(cx) || cx.prover.le(&nest.extent.hi, &nest.extent.lo) {
        return;
    }
    // If the known runs already leave the body without effect, the other looplets are not lowered.
    let known = nest.heads.iter().enumerate().filter_map(|(at, h)| match &h.looplet {
        Looplet::Run(cursor @ (Cursor::Fill(_) | Cursor::Outside(_))) => Some((at, cursor.clone())),
        _ => None,
    });
    let known: Vec<(usize, Cursor)> = known.collect();
    if !known.is_empty() && known.len() < nest.heads.len() && nest.vanishes_with(cx, &known) {
        nest.state = nest.having_met(&known);
        if !nest.has_work(cx) {
            return;
        }
    }
    match nest.heads.iter().map(|h| h.looplet.style()).max() {
        Some(Style::Thunk) => thunk::lower(cx, nest),
        Some(Style::Switch) => switch::lower(cx, nest),
        Some(Style::Sequence) => sequence::lower(cx, &nest),
        Some(Style::Spike) => spike::lower(cx, nest),
        Some(Style::Run) => run::lower(cx, nest),
        Some(Style::Jumper | Style::Stepper) => stepper::lower(cx, &nest),
        Some(Style::AcceptRun) => accept_run::lower(cx, nest),
        Some(Style::Lookup) | None => lookup::lower(cx, nest),
    }
}
