//! Looplets as data: the pieces that describe an access, and the extents that they cover.

use crate::assembly::{Expr, Stmt};
use crate::lower::cx::Cx;
use crate::lower::plus;
use crate::lower::state::AccessCursor;
use crate::lower::tree::AccessId;
use crate::notation::Index;
use std::rc::Rc;

/// The structure of an access over an extent.
#[derive(Clone)]
pub(crate) enum Looplet {
    /// The same cursor at every coordinate.
    Run(AccessCursor),
    /// A run, except at the last coordinate of the extent.
    Spike { body: AccessCursor, tail: Rc<Looplet> },
    /// One of two looplets, chosen by a `bool` that is computed before the loop.
    Switch { cond: Expr, then: Rc<Looplet>, other: Rc<Looplet> },
    /// A looplet with code to run before and after it.
    Thunk { preamble: Vec<Stmt>, body: Rc<Looplet>, epilogue: Vec<Stmt> },
    /// Phases one after the other. Each phase except the last has its own end; the last ends with
    /// the extent.
    Sequence(Vec<SequencePhase>),
    /// Chunks one after the other, found during iteration.
    Stepper(Rc<Stepper>),
    /// A stepper of spikes or blocks that may lead by leaps: in each round, all accesses move to
    /// the entry of the furthest leader (see [`super::stepper`]).
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

/// A function that returns the looplet of a write of one value to all coordinates in `[lo, hi)`.
pub(crate) type AcceptRunFn = Rc<dyn Fn(&mut Cx<'_>, &Expr, &Expr) -> Looplet>;

/// A function that returns code which moves a stepper to its next entry if a `bool` is true.
pub(crate) type NextFn = Rc<dyn Fn(&Expr) -> Vec<Stmt>>;

/// A function that emits code which moves a stepper to a coordinate.
pub(crate) type SeekFn = Rc<dyn Fn(&mut Cx<'_>, &Expr)>;

/// A phase of a sequence.
#[derive(Clone)]
pub(crate) struct SequencePhase {
    /// One past the last coordinate of the phase; `None` for the end of the extent.
    pub(crate) stop: Option<Expr>,
    /// The looplet of the phase.
    pub(crate) body: Looplet,
}

/// Chunks found during iteration: a cursor over stored entries in ascending order. The chunk of an
/// entry starts where the previous chunk ends, and ends with the entry. (The chunks of a function
/// are something else: ranges of rounds of its outermost loop.)
#[derive(Clone)]
pub(crate) struct Stepper {
    /// The condition that there is a current entry.
    pub(crate) more: Expr,
    /// Code that loads the current entry. The code runs only if there is a current entry.
    pub(crate) current: Vec<Stmt>,
    /// One past the last coordinate of the current entry's chunk; valid after `current`.
    pub(crate) stop: Expr,
    /// An upper bound on every `stop`.
    pub(crate) bound: Expr,
    /// The looplet from the end of the previous chunk to `stop`.
    pub(crate) chunk: Looplet,
    /// Code that moves to the next entry if the given `bool` is true.
    pub(crate) next: NextFn,
    /// Code that moves forward to the first entry whose chunk ends after the given coordinate.
    pub(crate) seek: SeekFn,
    /// A lower bound on the coordinates of all entries: an extent that starts at this bound or
    /// before it needs no seek.
    pub(crate) first: Expr,
    /// The cursor after the last entry.
    pub(crate) rest: AccessCursor,
    /// The number of entries from the current one on, if each is a spike at a coordinate of its own
    /// and the number is known in advance.
    pub(crate) entries: Option<Expr>,
    /// Code that drops all entries from a coordinate on; `None` if there is no such code.
    pub(crate) limit: Option<SeekFn>,
}

/// A looplet and the accesses that share it: equal accesses have one head.
#[derive(Clone)]
pub(crate) struct Head {
    pub(crate) looplet: Looplet,
    pub(crate) members: Vec<AccessId>,
}

/// The extent of a loop and the index that the loop binds. A lookup outside loops has no index.
#[derive(Clone, Debug)]
pub(crate) struct LoopExtent {
    pub(crate) index: Option<Index>,
    pub(crate) lo: Expr,
    pub(crate) hi: Expr,
}

/// The styles of looplets by priority, lowest first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum LoopletStyle {
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
    /// Returns the style, which decides the rule.
    pub(super) fn style(&self) -> LoopletStyle {
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
    /// Returns whether the extent provably has exactly one coordinate.
    pub(crate) fn is_point(&self, cx: &Cx<'_>) -> bool {
        cx.prover.eq(&self.hi, &plus(&self.lo, 1))
    }
}
