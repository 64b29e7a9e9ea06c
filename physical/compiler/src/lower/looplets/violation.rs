//! Violation: a coordinate out of bounds, which stops the kernel.
//!
//! ```text
//! loop(i, [lo, hi), B[A[..]]) = if lo < hi { fail }        B evaluates A[..] before all else
//! ```
//! Conditions and loops on the path to the access become conditions of the failure. If other code
//! before the access may stop the kernel or skip the access, the loop is lowered as usual. Without
//! this rule, every further check would copy the rest of the code to the branch in which the first
//! check fails.

use super::LoopletNest;
use crate::assembly::build::lt;
use crate::lower::cx::Cx;
use crate::lower::state::{AccessCursor, LoweredSubscript, LoweringState, SubscriptCheck, Violation};
use crate::lower::stmt;
use crate::lower::tree::{AccessId, Tree, TreeTerm};
use crate::notation::Index;

/// A condition on the path to an access.
enum Guard<'t> {
    If(&'t TreeTerm),
    /// The loop has a round.
    Loop(&'t TreeTerm, &'t TreeTerm),
}

/// The path to an access that stops the kernel: the conditions that the first round evaluates
/// before the access.
struct ViolationPath<'t, 's> {
    state: &'s LoweringState,
    /// The access, and the accesses equal to it.
    members: &'s [AccessId],
    guards: Vec<Guard<'t>>,
    /// The indices of the nest and of the loops on the path.
    indices: Vec<Index>,
}

/// Emits code that only stops the kernel, for a nest in which the accesses of a head are out of
/// bounds. The body must evaluate one of these accesses before any other code that may stop the
/// kernel; otherwise, emits nothing and returns false.
pub(super) fn lower(cx: &mut Cx<'_>, nest: &LoopletNest, head: usize, violation: &Violation) -> bool {
    let members = &nest.heads[head].members;
    let indices = nest.extent.index.into_iter().collect();
    let mut path = ViolationPath { state: &nest.state, members, guards: Vec::new(), indices };
    if !path.reaches(cx, &nest.body) {
        return false;
    }
    let (lo, hi) = (nest.extent.lo.clone(), nest.extent.hi.clone());
    cx.if_below(&lo, &hi, |cx| {
        if let Some(index) = nest.extent.index {
            cx.bind_index(index, lo.clone());
        }
        fail(cx, &nest.state, &path.guards, violation);
    });
    true
}

fn fail(cx: &mut Cx<'_>, state: &LoweringState, guards: &[Guard<'_>], violation: &Violation) {
    match guards {
        [] => cx.fail(violation),
        [Guard::If(cond), rest @ ..] => stmt::lower_if(cx, state, cond, |cx| fail(cx, state, rest, violation)),
        [Guard::Loop(lo, hi), rest @ ..] => {
            let [lo, hi] = [lo, hi].map(|t| stmt::value(cx, state, t).single().clone());
            let then = cx.block(|cx| fail(cx, state, rest, violation));
            cx.push_if(lt(&lo, &hi), then, Vec::new());
        }
    }
}

impl<'t> ViolationPath<'t, '_> {
    /// Returns whether a statement evaluates the access before any other code that may stop the
    /// kernel, if the conditions on the path hold. Adds these conditions to the path.
    fn reaches(&mut self, cx: &Cx<'_>, tree: &'t Tree) -> bool {
        match tree {
            Tree::Block(items) => {
                let is_lifecycle = |t: &&Tree| matches!(t, Tree::Declare(_) | Tree::Freeze(_) | Tree::Thaw(_));
                let Some(first) = items.iter().find(|t| !is_lifecycle(t)) else { return false };
                self.reaches_surely(cx, first) || items.len() == 1 && self.reaches(cx, first)
            }
            Tree::Loop { index, lo, hi, body } => self.first([lo, hi]).unwrap_or_else(|| {
                let known = self.is_known(cx, lo) && self.is_known(cx, hi);
                self.guards.push(Guard::Loop(lo, hi));
                self.indices.push(*index);
                known && self.reaches(cx, body)
            }),
            Tree::If { cond, body } => self.first([cond]).unwrap_or_else(|| {
                let known = self.is_known(cx, cond);
                self.guards.push(Guard::If(cond));
                known && self.reaches(cx, body)
            }),
            Tree::Let { value: term, .. } | Tree::While { cond: term, .. } => self.first([term]).unwrap_or(false),
            Tree::Where { producer, .. } => self.reaches_surely(cx, producer),
            Tree::Assign(a) => self.first([&a.rhs]).unwrap_or_else(|| self.members.contains(&a.lhs)),
            Tree::Declare(_) | Tree::Freeze(_) | Tree::Thaw(_) | Tree::Swap(..) => false,
        }
    }

    /// Returns whether a statement reaches the access without further conditions. If a condition
    /// did not hold, other statements would run first.
    fn reaches_surely(&mut self, cx: &Cx<'_>, tree: &'t Tree) -> bool {
        let outer = self.guards.len();
        let reaches = self.reaches(cx, tree);
        let surely = reaches && self.guards.len() == outer;
        self.guards.truncate(outer);
        surely
    }

    /// Returns whether the access is the first part of these terms that may stop the kernel; `None`
    /// if no part may stop the kernel.
    fn first<const N: usize>(&self, terms: [&TreeTerm; N]) -> Option<bool> {
        terms.into_iter().find_map(|term| self.first_in(term))
    }

    fn first_in(&self, term: &TreeTerm) -> Option<bool> {
        match term {
            TreeTerm::Access(id) if self.members.contains(id) => Some(true),
            TreeTerm::Access(id) => self.may_fail(*id).then_some(false),
            TreeTerm::Call(op, args) => {
                args.iter().find_map(|arg| self.first_in(arg)).or_else(|| op.can_fault().then_some(false))
            }
            TreeTerm::Lit(_) | TreeTerm::Index(_) | TreeTerm::Var(_) | TreeTerm::Value(_) => None,
        }
    }

    /// Returns whether an access may stop the kernel.
    fn may_fail(&self, id: AccessId) -> bool {
        let access = self.state.access(id);
        let is_checked = |s: &LoweredSubscript| matches!(s.check, SubscriptCheck::Checked(_));
        matches!(access.cursor, AccessCursor::Violation(_))
            || access.unresolved().iter().any(|s| is_checked(s) || self.first_in(&s.at).is_some())
    }

    /// Returns whether a term can be computed and has the same value in all rounds of the loops on
    /// the path.
    fn is_known(&self, cx: &Cx<'_>, term: &TreeTerm) -> bool {
        let varies = |part: &TreeTerm| matches!(part, TreeTerm::Index(index) if self.indices.contains(index));
        stmt::is_computable(cx, self.state, term) && !term.any(&mut |part| varies(part))
    }
}
