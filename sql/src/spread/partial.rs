//! Aggregates of a partition whose values are the states of DataFusion's aggregate functions.

use crate::aggregates::{Aggregate, Count, Sum, SumKind};

/// A state of an aggregate function of DataFusion.
#[derive(Clone, Debug)]
pub(super) struct State {
    /// The aggregate whose value is the state.
    pub(super) aggregate: Aggregate,
    /// Whether the state is NULL in place of 0. The count of `avg` is, or DataFusion would divide
    /// by it.
    pub(super) is_null_if_zero: bool,
}

impl From<Aggregate> for State {
    fn from(aggregate: Aggregate) -> State {
        State { aggregate, is_null_if_zero: false }
    }
}

/// Returns the states of DataFusion's function for an aggregate, in order. Returns `None` for
/// distinct values and moments, whose states are not aggregates of a region.
pub(super) fn states_of(aggregate: &Aggregate) -> Option<Vec<State>> {
    match aggregate {
        Aggregate::Count(_) | Aggregate::Extreme(_) | Aggregate::Semiring(_) => Some(vec![aggregate.clone().into()]),
        Aggregate::Sum(Sum { kind: SumKind::Sum, .. }) => Some(vec![aggregate.clone().into()]),
        Aggregate::Sum(Sum { kind: SumKind::Mean, sum }) => {
            let cases = sum.cases.iter().map(|case| {
                let mut columns = [&case.guards[..], &case.valid].concat();
                columns.sort_unstable();
                columns.dedup();
                columns
            });
            let count = Aggregate::Count(Count { cases: cases.collect() });
            let sum = Aggregate::Sum(Sum { kind: SumKind::Sum, sum: sum.clone() });
            Some(vec![State { aggregate: count, is_null_if_zero: true }, sum.into()])
        }
        Aggregate::Distinct(_) | Aggregate::Moments(_) => None,
    }
}
