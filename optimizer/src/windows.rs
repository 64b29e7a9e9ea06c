//! Windows: the parts of lists that comparisons of coordinates leave for a loop to walk.
//!
//! A comparison with coordinates of outer loops limits a loop: a list is entered by a search for
//! the first coordinate that satisfies the comparison, and left after the last one. The coordinates
//! outside of the window are not walked.

use crate::context::Context;
use crate::cost;
use crate::estimate::difference;
use crate::intersection::List;
use crate::loop_order::{Purpose, Search};
use crate::term::{Node, Term};
use crate::work::{Event, Work};
use redpoll_logic::op::{Builtin, Op};
use redpoll_logic::{Affine, Field, Scalar};

impl Search<'_> {
    /// Reduces the lists that the last loop of an order walks to their windows; returns the work of
    /// entering them `entered` times.
    pub(crate) fn within_window(&self, order: &[usize], entered: f64, walked: &mut [List]) -> Work {
        let mut work = Work::NONE;
        let Some(last) = order.last() else { return work };
        let field = &self.loops[*last];
        let bound = |f: &Field| self.problem.prefix.contains(f) || order.iter().any(|k| self.loops[*k] == *f);
        for comparison in self.comparisons().iter().filter(|term| term.fields().contains(field)) {
            let Some(share) = self.cx.held(comparison, self.problem.sizes, &bound) else { continue };
            let late = begins_late(comparison, field);
            for list in walked.iter_mut() {
                if late {
                    let passed = list.fiber * (1.0 - share);
                    work.add(Event::Gallop, cost::LED_LEAP * entered * (1.5 + passed.max(1.0).log2()));
                }
                list.fiber *= share;
            }
        }
        work
    }

    /// Returns the comparisons of coordinates that must be true for any value to be computed.
    fn comparisons(&self) -> &[&Term] {
        self.comparisons.get_or_init(|| {
            let mut found = Vec::new();
            match self.purpose {
                Purpose::Outputs([target]) if self.cx.skips(target) => comparisons(self.cx, &target.value, &mut found),
                Purpose::Fold(fold) if fold.op.is_identity(fold.arg.fill(), &fold.arg.dtype(), 1, self.cx.mode()) => {
                    comparisons(self.cx, &fold.arg, &mut found);
                }
                _ => {}
            }
            found
        })
    }
}

/// Collects the comparisons of coordinates that alone make a term its fill when they are false.
fn comparisons<'t>(cx: &Context, term: &'t Term, found: &mut Vec<&'t Term>) {
    match term.node() {
        Node::Call(..) if comparison(term).is_some() => {
            found.extend((*term.fill() == Scalar::Bool(false)).then_some(term));
        }
        Node::Call(Op::Builtin(Builtin::IfElse), args) => {
            if let [of, kept, other] = &args[..]
                && other.as_literal().is_some_and(|other| other == term.fill())
            {
                conditions(of, found);
                comparisons(cx, kept, found);
            }
        }
        Node::Call(_, args) if args.len() == 1 => comparisons(cx, &args[0], found),
        Node::Call(_, args) => cx.deciding(term).iter().for_each(|k| comparisons(cx, &args[*k], found)),
        _ => {}
    }
}

/// Collects the comparisons that must be true for a condition to be true.
fn conditions<'t>(term: &'t Term, found: &mut Vec<&'t Term>) {
    match term.node() {
        Node::Call(..) if comparison(term).is_some() => found.push(term),
        Node::Call(Op::Builtin(Builtin::And), args) => args.iter().for_each(|arg| conditions(arg, found)),
        _ => {}
    }
}

/// Returns a comparison of coordinates as an operator and the form that it compares with 0.
fn comparison(term: &Term) -> Option<(Builtin, Affine)> {
    let Node::Call(Op::Builtin(op), args) = term.node() else { return None };
    let orders = matches!(op, Builtin::Lt | Builtin::Le | Builtin::Gt | Builtin::Ge | Builtin::Eq);
    difference(args).filter(|_| orders).map(|difference| (*op, difference))
}

/// Returns whether a comparison is false for the first coordinates of a field.
fn begins_late(term: &Term, field: &Field) -> bool {
    let Some((op, difference)) = comparison(term) else { return false };
    let rises = difference.terms.iter().any(|(f, factor)| f == field && *factor > 0);
    match op {
        Builtin::Lt | Builtin::Le => !rises,
        Builtin::Gt | Builtin::Ge => rises,
        _ => true,
    }
}
