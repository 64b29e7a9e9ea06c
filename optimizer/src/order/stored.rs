//! The work of a nest whose folds are stored by queries of their own.
//!
//! A fold in place is evaluated in every round of the loops around it, even where the result is the
//! fill. If the fold is stored, the nest reads the result, and visits only the coordinates at which
//! the values differ from their fills.

use crate::facts::Facts;
use crate::facts::estimate::either;
use crate::order::search::{InnerFold, LoopBody, OrderSearch, PricedOrder, stored_work};
use crate::term::{ModeCoordinate, Node, Target};
use crate::work::{Event, Work, cost::price};
use redpoll_logic::Field;

/// Ratio of two costs of a nest below which all its folds are stored. The first is the cost with
/// all folds stored. The second is the cost with each fold either in place or stored, whichever is
/// cheaper for this fold. The first is an estimate without the formats of the results, so the
/// savings must be large.
const MAX_STORED_RATIO: f64 = 0.1;

/// Work of a nest without loops, in multiples of the price of a query, above which its folds are
/// stored. Threads share the loops of a stored fold, but no loop of a fold in place.
const MAX_SERIAL_QUERIES: f64 = 40.0;

impl OrderSearch<'_> {
    /// Returns the cheapest order below `limit`, with each fold in place or stored on its own. All
    /// folds are stored if this is much cheaper, or if the nest is expensive and has no loops of
    /// its own that threads could share.
    pub(crate) fn run_or_store_folds(&self, limit: f64) -> Option<PricedOrder> {
        let mut priced = self.run_or_store_cheaper_folds(limit)?;
        let is_long = priced.work.cost() > MAX_SERIAL_QUERIES * price(Event::Query);
        priced.stores_folds |= is_long && self.loops.is_empty() && self.folds_can_be_stored();
        Some(priced)
    }

    /// Returns whether the folds in the values of the outputs can be stored by other queries.
    fn folds_can_be_stored(&self) -> bool {
        let stays = |inner: &InnerFold<'_>| inner.fold.is_scan() || inner.fold.is_stored();
        matches!(self.body, LoopBody::Outputs(_)) && !self.folds.is_empty() && !self.folds.iter().any(stays)
    }

    /// Returns the cheapest order below `limit`, with each fold in place or stored on its own, or
    /// with all folds stored if this is much cheaper.
    fn run_or_store_cheaper_folds(&self, limit: f64) -> Option<PricedOrder> {
        let stored = self.work_with_stored_folds().filter(|(_, work)| work.cost() < limit);
        let Some((order, work)) = stored else { return self.run(limit) };
        match self.run(limit.max(work.cost() / MAX_STORED_RATIO)) {
            Some(placed) if work.cost() >= MAX_STORED_RATIO * placed.work.cost() => {
                Some(placed).filter(|placed| placed.work.cost() < limit)
            }
            _ => Some(PricedOrder { stores_folds: true, ..PricedOrder::new(order, work) }),
        }
    }

    /// Estimates the work of the nest if all of its folds are stored; returns the work with an
    /// order of the loops. `None` if the nest has no folds, if it has a fold that the estimate does
    /// not cover, or if no order satisfies all constraints.
    fn work_with_stored_folds(&self) -> Option<(Vec<Field>, Work)> {
        let LoopBody::Outputs(targets) = self.body else { return None };
        let is_subscript = |at: &ModeCoordinate| matches!(at, ModeCoordinate::Value(t) if t.has_fold());
        let is_fold = |target: &Target| matches!(target.value.node(), Node::Fold(_));
        let keeps = |target: &Target| is_fold(target) || target.coordinates.iter().any(is_subscript);
        if !self.folds_can_be_stored() || targets.iter().any(keeps) {
            return None;
        }
        let fraction = |facts: &Facts, mask: u64| {
            let bound = |f: &Field| self.loops.iter().position(|g| g == f).is_some_and(|k| mask >> k & 1 == 1);
            either(targets.iter().map(|target| facts.written_fraction(target, self.problem.sizes, &bound)))
        };
        let rounds = |mask: u64| {
            let loops = (0..self.loops.len()).filter(|k| mask >> k & 1 == 1).map(|k| &self.loops[k]);
            loops.map(|f| self.problem.sizes.of(f) as f64).product::<f64>() * fraction(self.facts, mask)
        };
        let mut work = Work::NONE;
        for inner in &self.folds {
            let stored = stored_work(self.facts, inner.fold, self.problem.sizes, self.problem.pins);
            work += stored.times(1.0 / inner.equal_folds as f64);
        }
        let (mut order, mut mask) = (Vec::new(), 0);
        while order.len() < self.loops.len() {
            let next = self.bindable_loops(mask).map(|k| (rounds(mask | 1 << k), k));
            let (rounds, next) = next.min_by(|(a, _), (b, _)| a.total_cmp(b))?;
            (mask, order) = (mask | 1 << next, [&order[..], &[self.loops[next].clone()]].concat());
            let lists = (self.folds.len() + self.accesses.len()) as f64;
            work.add(Event::Round, rounds);
            work.add(Event::Merge, lists * rounds);
        }
        let written = rounds(mask) * targets.len() as f64;
        work.add(Event::Compute, written);
        work.add(Event::Append, written);
        work.add(Event::Query, 1.0);
        Some((order, work))
    }
}
