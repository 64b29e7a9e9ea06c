//! Windows: what comparisons of coordinates leave of the lists that a loop walks.
//!
//! Loops begin and end where a comparison with coordinates of loops outside lets them: lists are entered by a search for where
//! it begins to hold, and left where it does not hold any more, so that what it rules out is not walked.

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
    /// Leaves of lists that the last loop of an order walks what comparisons leave of them, and counts how these are entered
    /// so many times.
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

    /// The comparisons of coordinates without which nothing is computed.
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

/// The comparisons of coordinates whose being false alone decides that a term is its fill.
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

/// The comparisons without which a condition does not hold.
fn conditions<'t>(term: &'t Term, found: &mut Vec<&'t Term>) {
    match term.node() {
        Node::Call(..) if comparison(term).is_some() => found.push(term),
        Node::Call(Op::Builtin(Builtin::And), args) => args.iter().for_each(|arg| conditions(arg, found)),
        _ => {}
    }
}

/// How a term compares coordinates: by what is compared with 0.
fn comparison(term: &Term) -> Option<(Builtin, Affine)> {
    let Node::Call(Op::Builtin(op), args) = term.node() else { return None };
    let orders = matches!(op, Builtin::Lt | Builtin::Le | Builtin::Gt | Builtin::Ge | Builtin::Eq);
    difference(args).filter(|_| orders).map(|difference| (*op, difference))
}

/// Whether a comparison does not hold yet for the first coordinates of a field.
fn begins_late(term: &Term, field: &Field) -> bool {
    let Some((op, difference)) = comparison(term) else { return false };
    let rises = difference.terms.iter().any(|(f, factor)| f == field && *factor > 0);
    match op {
        Builtin::Lt | Builtin::Le => !rises,
        Builtin::Gt | Builtin::Ge => rises,
        _ => true,
    }
}
