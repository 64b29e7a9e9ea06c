//! The budget of measuring. Statistics that take a pass over a tensor are requested only while the
//! passes cost no more than the queries that need the statistics. The costs of these queries are
//! estimated without the statistics.
//!
//! Tensors are measured only while a plan is made or adapted, before or during its first run.
//! Measuring cannot gain more than the cost of the unmeasured query. So the budget is that cost,
//! and measuring at most about doubles the time of the first run. If the rewrite threshold is 0,
//! the budget has no limit.

use crate::work::cost::{COMPARE_ENTRY, COUNT_COORDINATE, COUNT_ENTRY, FOLLOW_PATHS, SORT_ENTRY};
use redpoll_logic::statistics::{Fact, ModeSet, Question};
use redpoll_logic::{Alias, TensorType};
use rustc_hash::{FxHashMap, FxHashSet};
use std::cell::{Cell, RefCell};

/// The remaining budget for passes over tensors, and the passes paid for.
#[derive(Clone, Default)]
pub(crate) struct MeasuringBudget {
    remaining: Cell<f64>,
    paid: RefCell<FxHashMap<Alias, FxHashSet<StatisticsPass>>>,
}

/// A pass over a tensor. It is paid for once, however many questions its result answers.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum StatisticsPass {
    /// The count of the distinct coordinates in a set of modes. The empty set stands for the pass
    /// that counts each single mode, and all modes together.
    Census(ModeSet),
    /// The counts of the distinct coordinates in a set of modes, per coordinate of one of the
    /// modes.
    Marginal(ModeSet, usize),
    /// The check of a fact.
    Fact(Fact),
    /// The links from one mode to another, and the pairs that paths along these links connect.
    Links(usize, usize),
}

impl MeasuringBudget {
    /// Adds steps to the budget.
    pub(crate) fn add(&self, steps: f64) {
        self.remaining.set(self.remaining.get() + steps);
    }

    /// Pays for the passes over a tensor with this many stored values, except for those that are
    /// paid for already. Returns false, and pays for none, if the budget does not suffice for all
    /// of them. Passes made for an earlier plan are not free, because plans must not depend on
    /// earlier ones.
    pub(crate) fn try_pay(&self, tensor: &Alias, ty: &TensorType, stored: f64, passes: &[StatisticsPass]) -> bool {
        let mut paid = self.paid.borrow_mut();
        let passes = passes.iter().map(|pass| pass.shared(ty));
        let paid_passes = paid.get(tensor);
        let unpaid = |pass: &StatisticsPass| !paid_passes.is_some_and(|paid| paid.contains(pass));
        if !passes.clone().any(|pass| unpaid(&pass)) {
            return true;
        }
        let unpaid: FxHashSet<StatisticsPass> = passes.filter(unpaid).collect();
        let remaining = self.remaining.get() - unpaid.iter().map(|pass| pass.cost(ty, stored)).sum::<f64>();
        if remaining < 0.0 {
            return false;
        }
        self.remaining.set(remaining);
        paid.entry(tensor.clone()).or_default().extend(unpaid);
        true
    }
}

impl StatisticsPass {
    /// Returns the passes that a question takes; `None` if array lengths answer the question.
    pub(crate) fn of_question(question: Question) -> Option<[StatisticsPass; 2]> {
        match question {
            Question::Positions(_) => None,
            Question::Distinct(modes) => Some([StatisticsPass::Census(modes); 2]),
            Question::Degree { of, given } => {
                Some([StatisticsPass::Census(of.union(given)), StatisticsPass::Census(given)])
            }
        }
    }

    /// Returns the pass that includes this one. A single pass counts each single mode, and all
    /// modes together; every other pass stands alone.
    fn shared(self, ty: &TensorType) -> StatisticsPass {
        match self {
            StatisticsPass::Census(modes) if modes.len() <= 1 || modes.len() >= ty.format.levels.len() => {
                StatisticsPass::Census(ModeSet::default())
            }
            pass => pass,
        }
    }

    /// Returns the steps of the pass over a tensor with this many stored values.
    fn cost(self, ty: &TensorType, stored: f64) -> f64 {
        let sizes = ty.format.storage_shape(&ty.shape);
        let coordinates = |modes: &mut dyn Iterator<Item = usize>| -> f64 {
            let counted = modes.filter_map(|k| sizes.get(k)).map(|&n| n as f64).filter(|n| *n <= 8.0 * stored);
            COUNT_COORDINATE * counted.sum::<f64>()
        };
        match self {
            StatisticsPass::Census(modes) if modes.is_empty() => {
                COUNT_ENTRY * stored * sizes.len() as f64 + coordinates(&mut (0..sizes.len()))
            }
            StatisticsPass::Census(modes) => SORT_ENTRY * stored + coordinates(&mut modes.iter()),
            StatisticsPass::Marginal(_, mode) => coordinates(&mut std::iter::once(mode)),
            StatisticsPass::Fact(Fact::OffDiagonal(..)) => COUNT_ENTRY * stored * sizes.len() as f64,
            StatisticsPass::Fact(Fact::Symmetric(..)) => COMPARE_ENTRY * stored,
            StatisticsPass::Links(from, to) if from < to => COUNT_ENTRY * stored * sizes.len() as f64 + FOLLOW_PATHS,
            StatisticsPass::Links(..) => SORT_ENTRY * stored + FOLLOW_PATHS,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use redpoll_logic::{DType, Format, Scalar};

    /// A pass is paid for once, and never exceeds the budget.
    #[test]
    fn passes_are_paid_for_once_within_the_budget() {
        let ty = TensorType { shape: vec![100; 3], dtype: DType::F64, fill: Scalar::F64(0.0), format: Format::csf(3) };
        let (a, b, stored) = (Alias::from("A"), Alias::from("B"), 1000.0);
        let (pair, all) = (ModeSet::prefix(2), ModeSet::prefix(3));
        let budget = MeasuringBudget::default();
        assert!(!budget.try_pay(&a, &ty, stored, &[StatisticsPass::Census(all)]));
        budget.add(StatisticsPass::Census(all).shared(&ty).cost(&ty, stored));
        assert!(budget.try_pay(&a, &ty, stored, &[StatisticsPass::Census(all)]));
        assert!(
            budget.try_pay(&a, &ty, stored, &[StatisticsPass::Census(ModeSet::prefix(1))]),
            "one pass counts all modes"
        );
        assert!(!budget.try_pay(&a, &ty, stored, &[StatisticsPass::Census(pair)]));
        assert!(!budget.try_pay(&b, &ty, stored, &[StatisticsPass::Census(all)]));
        assert!(budget.try_pay(&a, &ty, stored, &[StatisticsPass::Census(all)]), "a paid pass stays paid");
    }
}
