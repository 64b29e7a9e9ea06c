//! Looplets: the pieces that describe the fibers of a level, and the rules that lower loops over
//! them.
//!
//! A looplet describes the values of an access while an index runs over a half-open extent. Source:
//! Ahrens, Donenfeld, Kjolstad, Amarasinghe, "Looplets: A Language for Structured Coiteration" (CGO
//! 2023), and Finch. The rule of each looplet is in a file of its own, except that jumpers share
//! the file of steppers, and writes without effect the file of runs. [`lower_loop`] applies the
//! rule of the highest style among the accesses: Thunk > Switch > Sequence (with its phases) >
//! Spike > Run > Jumper > Stepper > AcceptRun > Lookup. Every order gives a correct program; this
//! order narrows extents and lets fill values annihilate terms before loops are emitted.

pub(crate) mod accept_run;
mod gaps;
pub(crate) mod lead;
pub(crate) mod lookup;
mod looplet;
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
pub(crate) mod violation;

pub(crate) use looplet::{Head, LookupFn, LoopExtent, Looplet, SeekFn, SequencePhase, Stepper};

use super::cx::Cx;
use super::short_circuit::EarlyExit;
use super::simplify::{only_fills, simplify};
use super::state::{AccessCursor, LoweringState};
use super::stmt;
use super::tree::{Tree, TreeTerm};
use crate::assembly::Expr;
use crate::assembly::build::plus;
use looplet::LoopletStyle;
use redpoll_logic::op::{Builtin, Op};
use std::rc::Rc;

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

impl LoopletNest {
    /// Returns the nest over the extent `lo..hi`, with the ends of its looplets cut to `hi`.
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

    /// Returns whether the body has no effect other than to set elements to fill values, if the
    /// given heads are runs of these cursors.
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
    // If the runs alone reduce the effect of the body to writes of fill values, they are resolved
    // first, and the other looplets are not lowered.
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
    if let Some((cond, rest)) = split_condition(cx, &nest) {
        let LoopExtent { lo, hi, .. } = nest.extent.clone();
        nest.body = Rc::new(rest);
        let state = nest.state.clone();
        return cx.if_below(&lo, &hi, |cx| stmt::lower_if(cx, &state, &cond, |cx| lower_loop(cx, nest)));
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

/// Splits the condition of a body: returns the part that is the same in all rounds, such as a
/// comparison of the value of a run, and the body under the remaining parts of the condition;
/// `None` if there is no such part, or the extent is a single coordinate.
fn split_condition(cx: &Cx<'_>, nest: &LoopletNest) -> Option<(TreeTerm, Tree)> {
    let Tree::If { cond, body } = &*nest.body else { return None };
    // At a single coordinate, a split gains nothing.
    if cx.prover.eq(&nest.extent.hi, &plus(&nest.extent.lo, 1)) {
        return None;
    }
    let written = body.written_tensors();
    // The index differs between rounds, even if the code of an earlier phase has bound it to a
    // value.
    let changes = |part: &TreeTerm| match part {
        TreeTerm::Index(index) => nest.extent.index == Some(*index),
        TreeTerm::Access(id) => nest.state.is_access_of(*id, &written),
        _ => false,
    };
    let is_fixed = |t: &TreeTerm| stmt::is_computable(cx, &nest.state, t) && !t.any(&mut |part| changes(part));
    let all = match cond {
        TreeTerm::Call(and @ Op::Builtin(Builtin::And), args) => args.iter().map(|arg| (Some(and), arg)).collect(),
        whole => vec![(None, whole)],
    };
    let (fixed, rest): (Vec<_>, Vec<_>) = all.into_iter().partition(|(_, part)| is_fixed(part));
    let join = |parts: Vec<(Option<&Op>, &TreeTerm)>| match &parts[..] {
        [] => None,
        [(_, only)] => Some((*only).clone()),
        [(and, _), ..] => {
            let and = and.expect("only a conjunction has several parts").clone();
            Some(TreeTerm::Call(and, parts.iter().map(|(_, part)| (*part).clone()).collect()))
        }
    };
    let rest = match join(rest) {
        Some(cond) => Tree::If { cond, body: body.clone() },
        None => (**body).clone(),
    };
    Some((join(fixed)?, rest))
}
