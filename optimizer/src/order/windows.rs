//! Windows: the ranges of lists to which comparisons of coordinates restrict the walks of a loop.
//!
//! A comparison with coordinates of outer loops limits a loop: a list is entered by a search for
//! the first coordinate that satisfies the comparison, and left after the last one. The coordinates
//! outside of the window are not walked.

use crate::access::intersection::ListLevel;
use crate::facts::Facts;
use crate::facts::estimate::difference;
use crate::order::search::{LoopBody, OrderSearch};
use crate::term::{Node, Term};
use crate::work::{Event, Work, cost};
use redpoll_logic::op::{Builtin, Op};
use redpoll_logic::{Affine, Field, Scalar};

impl OrderSearch<'_> {
    /// Restricts the lists that the last loop of an order walks to their windows. Returns the work
    /// of entering the windows `entries` times.
    pub(crate) fn restrict_to_window(&self, order: &[usize], entries: f64, walked: &mut [ListLevel]) -> Work {
        let mut work = Work::NONE;
        let Some(last) = order.last() else { return work };
        let field = &self.loops[*last];
        let bound = |f: &Field| self.problem.prefix.contains(f) || order.iter().any(|k| self.loops[*k] == *f);
        for comparison in self.comparisons().iter().filter(|term| term.fields().contains(field)) {
            let Some(fraction) = self.facts.true_fraction(comparison, self.problem.sizes, &bound) else { continue };
            let starts_late = is_false_at_start(comparison, field);
            for list in walked.iter_mut() {
                if starts_late {
                    let skipped = list.fiber_length * (1.0 - fraction);
                    work.add(Event::Gallop, cost::ADVANCE_LEAP * entries * (1.5 + skipped.max(1.0).log2()));
                }
                list.fiber_length *= fraction;
            }
        }
        work
    }

    /// Returns comparisons of coordinates: where one of these is false, no value is computed.
    /// Returns none for a nest with several outputs.
    fn comparisons(&self) -> &[&Term] {
        self.comparisons.get_or_init(|| {
            let mut found = Vec::new();
            match self.body {
                LoopBody::Outputs([target]) if self.facts.skips_fill(target) => {
                    collect_comparisons(self.facts, &target.value, &mut found);
                }
                LoopBody::Fold(fold) if fold.skips_fill(self.facts.mode()) => {
                    collect_comparisons(self.facts, &fold.arg, &mut found);
                }
                _ => {}
            }
            found
        })
    }
}

/// Collects the comparisons of coordinates that must all be true for a term to differ from its
/// fill.
fn collect_comparisons<'t>(facts: &Facts, term: &'t Term, found: &mut Vec<&'t Term>) {
    match term.node() {
        Node::Call(..) if as_comparison(term).is_some() => {
            found.extend((*term.fill() == Scalar::Bool(false)).then_some(term));
        }
        Node::Call(Op::Builtin(Builtin::IfElse), args) => {
            if let [condition, value, other] = &args[..]
                && other.as_literal().is_some_and(|other| other == term.fill())
            {
                collect_conditions(condition, found);
                collect_comparisons(facts, value, found);
            }
        }
        Node::Call(_, args) if args.len() == 1 => collect_comparisons(facts, &args[0], found),
        Node::Call(_, args) => {
            facts.deciding_args(term).iter().for_each(|k| collect_comparisons(facts, &args[*k], found));
        }
        _ => {}
    }
}

/// Collects the comparisons that must be true for a condition to be true.
fn collect_conditions<'t>(term: &'t Term, found: &mut Vec<&'t Term>) {
    match term.node() {
        Node::Call(..) if as_comparison(term).is_some() => found.push(term),
        Node::Call(Op::Builtin(Builtin::And), args) => args.iter().for_each(|arg| collect_conditions(arg, found)),
        _ => {}
    }
}

/// Returns a comparison of coordinates as an operator and the form that it compares with 0; `None`
/// for other terms.
fn as_comparison(term: &Term) -> Option<(Builtin, Affine)> {
    let Node::Call(Op::Builtin(op), args) = term.node() else { return None };
    let is_comparison = matches!(op, Builtin::Lt | Builtin::Le | Builtin::Gt | Builtin::Ge | Builtin::Eq);
    difference(args).filter(|_| is_comparison).map(|difference| (*op, difference))
}

/// Returns whether a comparison may be false for the first coordinates of a field.
fn is_false_at_start(term: &Term, field: &Field) -> bool {
    let Some((op, difference)) = as_comparison(term) else { return false };
    let rises = difference.terms.iter().any(|(f, factor)| f == field && *factor > 0);
    match op {
        Builtin::Lt | Builtin::Le => !rises,
        Builtin::Gt | Builtin::Ge => rises,
        _ => true,
    }
}
