//! Windows: what comparisons of coordinates leave of the lists that a loop walks.
//!
//! Loops begin and end where a comparison with coordinates of loops outside lets them: lists are entered by a search for where
//! it begins to hold, and left where it does not hold any more, so that what it rules out is not walked.

use crate::context::Context;
use crate::cost;
use crate::estimate::{deciding, difference};
use crate::intersection::List;
use crate::loop_order::{Purpose, Search};
use crate::term::{Node, Term};
use crate::work::{Event, Work};
use redpoll_logic::op::{Builtin, Op};
use redpoll_logic::{Affine, Field};

impl Search<'_> {
    /// Leaves of lists that the last loop of an order walks what comparisons leave of them, and counts how these are entered
    /// so many times.
    pub(crate) fn within_window(&self, order: &[usize], entered: f64, walked: &mut [List]) -> Work {
        let mut work = Work::NONE;
        let Some((last, outside)) = order.split_last() else { return work };
        let field = &self.loops[*last];
        for comparison in self.comparisons().iter().filter(|term| term.fields().contains(field)) {
            let left = |loops: &[usize]| {
                let bound = |f: &Field| self.problem.prefix.contains(f) || loops.iter().any(|k| self.loops[*k] == *f);
                self.cx.support(comparison, self.problem.sizes, &bound)
            };
            let share = (left(order) / left(outside).max(f64::MIN_POSITIVE)).min(1.0);
            for list in walked.iter_mut() {
                if begins_late(comparison, field) {
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
        Node::Call(_, args) if args.len() == 1 => comparisons(cx, &args[0], found),
        Node::Call(..) if comparison(term).is_some() => found.push(term),
        Node::Call(op, args) => {
            for k in deciding(op, args, term.fill(), cx.mode()) {
                comparisons(cx, &args[k], found);
            }
        }
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
