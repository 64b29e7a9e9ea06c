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
use super::short_circuit::EarlyExit;
use super::simplify::{only_fills, simplify};
use super::state::{AccessCursor, LoweringState};
use super::tree::{AccessId, Tree};
use crate::assembly::{Expr, Stmt};
use crate::notation::Index;
use std::rc::Rc;

/// The structure of an access over an extent.
#[derive(Clone)]
pub(crate) enum Looplet {
    /// The same cursor at every coordinate.
    Run(AccessCursor),
    /// A run, except at the last coordinate of the extent.
    Spike { body: AccessCursor, tail: Rc<Looplet> },
    /// One of two looplets, by a `bool` that is computed before the loop.
    Switch { cond: Expr, then: Rc<Looplet>, other: Rc<Looplet> },
    /// A looplet with code to run before and after it.
    Thunk { preamble: Vec<Stmt>, body: Rc<Looplet>, epilogue: Vec<Stmt> },
    /// Phases one after the other; each except the last has an end of its own.
    Sequence(Vec<SequencePhase>),
    /// Chunks one after the other, found during iteration.
    Stepper(Rc<Stepper>),
    /// A stepper of spikes that may lead by leaps: all other accesses are moved to the furthest
    /// one.
    Jumper(Rc<Stepper>),
    /// A write that takes whole runs at once.
    AcceptRun(AcceptRunFn),
    /// Any structure, looked up by coordinate.
    Lookup(LookupFn),
    /// A write that has no effect.
    Null,
}

/// A function that returns the looplet at one coordinate.
pub(crate) type LookupFn = Rc<dyn Fn(&mut Cx<'_>, &Expr) -> Looplet>;

/// A function that returns the looplet of a write of one value to all of `[lo, hi)`.
pub(crate) type AcceptRunFn = Rc<dyn Fn(&mut Cx<'_>, &Expr, &Expr) -> Looplet>;

/// A function that returns code which moves a stepper on if a `bool` is true.
pub(crate) type NextFn = Rc<dyn Fn(&Expr) -> Vec<Stmt>>;

/// A function that emits code which moves a stepper to a coordinate.
pub(crate) type SeekFn = Rc<dyn Fn(&mut Cx<'_>, &Expr)>;

/// A phase of a sequence.
#[derive(Clone)]
pub(crate) struct SequencePhase {
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
    pub(crate) next: NextFn,
    /// Code that moves to the first entry whose chunk ends after the given coordinate.
    pub(crate) seek: SeekFn,
    /// A lower bound on the coordinates of all entries: an extent that starts there needs no seek.
    pub(crate) first: Expr,
    /// The cursor after the last entry.
    pub(crate) rest: AccessCursor,
}

/// A looplet and the accesses that share it: equal accesses have one head.
#[derive(Clone)]
pub(crate) struct Head {
    pub(crate) looplet: Looplet,
    pub(crate) members: Vec<AccessId>,
}

/// The extent of a loop and the index that it binds; `None` for a lookup outside loops.
#[derive(Clone, Debug)]
pub(crate) struct LoopExtent {
    pub(crate) index: Option<Index>,
    pub(crate) lo: Expr,
    pub(crate) hi: Expr,
}

/// A loop during its lowering: `heads` describe accesses of `body` over `extent`.
#[derive(Clone)]
pub(crate) struct LoopletNest {
    pub(crate) extent: LoopExtent,
    pub(crate) heads: Vec<Head>,
    pub(crate) body: Rc<Tree>,
    pub(crate) state: LoweringState,
    /// The condition that ends the loop early.
    pub(crate) early_exit: Option<EarlyExit>,
}

/// The styles of looplets by priority, lowest first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum LoopletStyle {
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
    fn style(&self) -> LoopletStyle {
        match self {
            Looplet::Thunk { .. } => LoopletStyle::Thunk,
            Looplet::Switch { .. } => LoopletStyle::Switch,
            Looplet::Sequence(_) => LoopletStyle::Sequence,
            Looplet::Spike { .. } => LoopletStyle::Spike,
            Looplet::Run(_) | Looplet::Null => LoopletStyle::Run,
            Looplet::Jumper(_) => LoopletStyle::Jumper,
            Looplet::Stepper(_) => LoopletStyle::Stepper,
            Looplet::AcceptRun(_) => LoopletStyle::AcceptRun,
            Looplet::Lookup(_) => LoopletStyle::Lookup,
        }
    }
}

impl LoopExtent {
    /// Returns whether the extent has exactly one coordinate.
    pub(crate) fn is_point(&self, cx: &Cx<'_>) -> bool {
        cx.prover.eq(&self.hi, &super::plus(&self.lo, 1))
    }
}

impl LoopletNest {
    /// Returns the nest over another extent, with its looplets cut to it.
    pub(crate) fn restrict(&self, cx: &Cx<'_>, lo: Expr, hi: Expr) -> LoopletNest {
        let heads = truncate::heads(cx, &self.heads, &self.extent.hi, &hi);
        LoopletNest { extent: LoopExtent { lo, hi, ..self.extent }, heads, ..self.clone() }
    }

    /// Returns the nest with the looplet of one head replaced.
    pub(crate) fn with_looplet(&self, head: usize, looplet: Looplet) -> LoopletNest {
        let mut nest = self.clone();
        nest.heads[head].looplet = looplet;
        nest
    }

    /// Returns whether the only effect of the body is to set elements to fill values, if the given
    /// heads are runs of these cursors.
    pub(crate) fn only_fills_with(&self, cx: &Cx<'_>, cursors: &[(usize, AccessCursor)]) -> bool {
        only_fills(cx, &self.state_with(cursors), &self.body)
    }

    /// Returns whether the body has no effect, if the given heads are runs of these cursors.
    pub(crate) fn has_no_effect_with(&self, cx: &Cx<'_>, cursors: &[(usize, AccessCursor)]) -> bool {
        simplify(cx, &self.state_with(cursors), &self.body).is_empty()
    }

    /// Simplifies the body, drops looplets of accesses that no longer occur, and returns whether
    /// the body has an effect.
    fn simplify_body(&mut self, cx: &Cx<'_>) -> bool {
        self.body = Rc::new(simplify(cx, &self.state, &self.body));
        let used = self.body.accesses();
        self.heads.retain(|h| h.members.iter().any(|id| used.contains(id)));
        !self.body.is_empty()
    }

    /// Returns the state in which the given heads are runs of these cursors.
    fn state_with(&self, cursors: &[(usize, AccessCursor)]) -> LoweringState {
        let mut state = self.state.clone();
        for (head, cursor) in cursors {
            self.heads[*head].members.iter().for_each(|id| state.resolve(*id, cursor));
        }
        state
    }
}

/// Lowers a loop: simplifies the body, drops looplets of accesses that no longer occur, and applies
/// the rule of the highest style.
pub(crate) fn lower_loop(cx: &mut Cx<'_>, mut nest: LoopletNest) {
    if !nest.simplify_body(cx) || cx.prover.le(&nest.extent.hi, &nest.extent.lo) {
        return;
    }
    // If the runs already leave the body without effect, the other looplets are not lowered.
    let runs = nest.heads.iter().enumerate().filter_map(|(at, h)| match &h.looplet {
        Looplet::Run(cursor @ (AccessCursor::Fill(_) | AccessCursor::OutOfBounds(_))) => Some((at, cursor.clone())),
        _ => None,
    });
    let runs: Vec<(usize, AccessCursor)> = runs.collect();
    if !runs.is_empty() && runs.len() < nest.heads.len() && nest.only_fills_with(cx, &runs) {
        nest.state = nest.state_with(&runs);
        if !nest.simplify_body(cx) {
            return;
        }
    }
    match nest.heads.iter().map(|h| h.looplet.style()).max() {
        Some(LoopletStyle::Thunk) => thunk::lower(cx, nest),
        Some(LoopletStyle::Switch) => switch::lower(cx, nest),
        Some(LoopletStyle::Sequence) => sequence::lower(cx, &nest),
        Some(LoopletStyle::Spike) => spike::lower(cx, nest),
        Some(LoopletStyle::Run) => run::lower(cx, nest),
        Some(LoopletStyle::Jumper | LoopletStyle::Stepper) => stepper::lower(cx, &nest),
        Some(LoopletStyle::AcceptRun) => accept_run::lower(cx, nest),
        Some(LoopletStyle::Lookup) | None => lookup::lower(cx, nest),
    }
}
