//! What may go into measuring: statistics that take a pass over a tensor are asked for as long as the passes cost no more
//! than the queries that they are asked for, as these are estimated without them.
//!
//! A plan is measured before its first run and never again. However much it gains, it gains less than the query costs
//! without it; so a first run takes at most about twice as long for having been measured.

use crate::cost::{COMPARE_PLACE, COUNT_COORDINATE, COUNT_PLACE, FOLLOW_PATHS, SORT_PLACE};
use redpoll_logic::statistics::{Fact, ModeSet, Question};
use redpoll_logic::{Alias, TensorType};
use rustc_hash::{FxHashMap, FxHashSet};
use std::cell::{Cell, RefCell};

/// The steps that are left for passes over tensors, and what they were spent on.
#[derive(Clone, Default)]
pub(crate) struct Measuring {
    left: Cell<f64>,
    paid: RefCell<FxHashMap<Alias, FxHashSet<Pass>>>,
}

/// What takes a pass over a tensor. What was counted in it serves all questions on the same.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Pass {
    /// The distinct coordinates in a set of modes.
    Census(ModeSet),
    /// How those are spread over one of them.
    Marginal(ModeSet, usize),
    /// The truth of a fact.
    Fact(Fact),
    /// The links from one mode to another, and what is connected by paths along them.
    Links(usize, usize),
}

impl Measuring {
    /// So many steps more may be spent.
    pub(crate) fn allow(&self, steps: f64) {
        self.left.set(self.left.get() + steps);
    }

    /// Whether what is left suffices for passes over a tensor that stores so much; then they are paid for, once each. That
    /// an earlier plan has made them does not count: plans do not depend on those before.
    pub(crate) fn affords(&self, tensor: &Alias, ty: &TensorType, stored: f64, passes: &[Pass]) -> bool {
        let mut paid = self.paid.borrow_mut();
        let passes = passes.iter().map(|pass| pass.shared(ty));
        let known = paid.get(tensor);
        let unpaid = |pass: &Pass| !known.is_some_and(|paid| paid.contains(pass));
        if !passes.clone().any(|pass| unpaid(&pass)) {
            return true;
        }
        let unpaid: FxHashSet<Pass> = passes.filter(unpaid).collect();
        let left = self.left.get() - unpaid.iter().map(|pass| pass.cost(ty, stored)).sum::<f64>();
        if left < 0.0 {
            return false;
        }
        self.left.set(left);
        paid.entry(tensor.clone()).or_default().extend(unpaid);
        true
    }
}

impl Pass {
    /// The passes that a question takes; `None` where its answer is read off the ends of arrays.
    pub(crate) fn of_question(question: Question) -> Option<[Pass; 2]> {
        match question {
            Question::Positions(_) => None,
            Question::Distinct(modes) => Some([Pass::Census(modes); 2]),
            Question::Degree { of, given } => Some([Pass::Census(of.union(given)), Pass::Census(given)]),
        }
    }

    /// The pass that does for this one: all single modes, and all modes together, are counted in one.
    fn shared(self, ty: &TensorType) -> Pass {
        match self {
            Pass::Census(modes) if modes.len() <= 1 || modes.len() >= ty.format.levels.len() => {
                Pass::Census(ModeSet::default())
            }
            pass => pass,
        }
    }

    /// The steps that it takes over a tensor that stores so much.
    fn cost(self, ty: &TensorType, stored: f64) -> f64 {
        let sizes = ty.format.storage_shape(&ty.shape);
        let coordinates = |modes: &mut dyn Iterator<Item = usize>| -> f64 {
            let counted = modes.filter_map(|k| sizes.get(k)).map(|&n| n as f64).filter(|n| *n <= 8.0 * stored);
            COUNT_COORDINATE * counted.sum::<f64>()
        };
        match self {
            Pass::Census(modes) if modes.is_empty() => {
                COUNT_PLACE * stored * sizes.len() as f64 + coordinates(&mut (0..sizes.len()))
            }
            Pass::Census(modes) => SORT_PLACE * stored + coordinates(&mut modes.iter()),
            Pass::Marginal(_, mode) => coordinates(&mut std::iter::once(mode)),
            Pass::Fact(Fact::OffDiagonal(..)) => COUNT_PLACE * stored * sizes.len() as f64,
            Pass::Fact(Fact::Symmetric(..)) => COMPARE_PLACE * stored,
            Pass::Links(from, to) if from < to => COUNT_PLACE * stored * sizes.len() as f64 + FOLLOW_PATHS,
            Pass::Links(..) => SORT_PLACE * stored + FOLLOW_PATHS,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use redpoll_logic::{DType, Format, Scalar};

    /// Protects first runs: what is measured is paid for once, and never more than is allowed.
    #[test]
    fn passes_are_paid_for_once_and_end_with_what_is_allowed() {
        let ty = TensorType { shape: vec![100; 3], dtype: DType::F64, fill: Scalar::F64(0.0), format: Format::csf(3) };
        let (a, b, stored) = (Alias::from("A"), Alias::from("B"), 1000.0);
        let (pair, all) = (ModeSet::prefix(2), ModeSet::prefix(3));
        let measuring = Measuring::default();
        assert!(!measuring.affords(&a, &ty, stored, &[Pass::Census(all)]));
        measuring.allow(Pass::Census(all).shared(&ty).cost(&ty, stored));
        assert!(measuring.affords(&a, &ty, stored, &[Pass::Census(all)]));
        assert!(measuring.affords(&a, &ty, stored, &[Pass::Census(ModeSet::prefix(1))]), "one pass counts all modes");
        assert!(!measuring.affords(&a, &ty, stored, &[Pass::Census(pair)]));
        assert!(!measuring.affords(&b, &ty, stored, &[Pass::Census(all)]));
        assert!(measuring.affords(&a, &ty, stored, &[Pass::Census(all)]), "what was paid for stays so");
    }
}
