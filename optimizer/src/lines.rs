//! Counts the accesses to an array that miss the cache lines.
//!
//! The lines that a loop touches in an array are loaded once per entry of the loop, if a cache
//! holds all of them. The same is true if the loop moves between neighbors in memory, the loops
//! inside it return to the same elements, and a cache holds the lines that these touch. Source of
//! such counts: Ferrante, Sarkar, Thrash, "On Estimating and Enhancing Cache Effectiveness" (1991).

use crate::cost;
use crate::loop_order::{Accessed, Search};
use crate::pricing::missed;
use crate::work::{Event, Work};

/// The caches, each with the event of missing it.
pub(crate) const CACHES: [(Event, f64); 3] =
    [(Event::CloseMiss, cost::CLOSE_CACHE), (Event::NearMiss, cost::NEAR_CACHE), (Event::FarMiss, cost::FAR_CACHE)];

/// Least fraction of visited coordinates for which a loop counts as moving between neighbors.
pub(crate) const VISITS_ALL: f64 = 0.9;

/// The coordinates of a dense level.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Places {
    /// Number of loops outside of the one that binds the level; `None` while it is not bound.
    pub(crate) at: Option<usize>,
    /// Largest number of coordinates that the loop visits.
    pub(crate) size: f64,
}

/// Returns the fraction of a loop's accesses whose addresses alias that of the previous access.
pub(crate) fn aliased(places: &[Places], at: usize) -> f64 {
    let Some(level) = places.iter().position(|p| p.at == Some(at)) else { return 0.0 };
    let inner = &places[level + 1..];
    if inner.is_empty() { 0.0 } else { cost::aliased(inner.iter().fold(8, |bytes, p| bytes * p.size as u64)) }
}

impl Search<'_> {
    /// Adds the misses of `count` accesses to an array of `bytes` bytes, one per round of the last
    /// loop of `order`.
    pub(crate) fn miss_lines(
        &self,
        work: &mut Work,
        (order, count): (&[usize], f64),
        (places, bytes): (&[Places], f64),
    ) {
        for (event, cache) in CACHES {
            let most = count * missed(cache, bytes);
            work.add(event, if most > 0.0 { most.min(self.missed_lines((order, count), places, cache)) } else { 0.0 });
        }
    }

    /// Returns the number of accesses that miss a cache of `cache` bytes.
    pub(crate) fn missed_lines(&self, (order, count): (&[usize], f64), places: &[Places], cache: f64) -> f64 {
        let per_line = cost::LINE / 8.0;
        let innermost = places.last().and_then(|level| level.at);
        let begins = |at: usize| self.rounds_outside(order, at).max(1.0);
        // The lines that the loops inside touch in each round.
        let (mut inside, mut misses) = (1.0, count);
        for at in (0..self.problem.prefix.len() + order.len()).rev() {
            let rounds = (begins(at + 1) / begins(at)).max(1.0);
            let elsewhere = self.leads_elsewhere(order, at);
            let slides = innermost == Some(at) && !elsewhere;
            let all: f64 = places.iter().filter(|p| p.at.is_some_and(|p| p >= at)).map(|p| p.size).product();
            let all = if innermost.is_some_and(|p| p >= at) { (all / per_line).max(1.0) } else { all };
            let lines = match places.iter().find(|p| p.at == Some(at)) {
                Some(level) if slides => inside * rounds / (per_line * rounds / level.size).max(1.0),
                None if !elsewhere => inside,
                _ => inside * rounds,
            };
            let lines = lines.min(all).max(1.0);
            let held = 1.0 - missed(cache, cost::LINE * if slides { inside } else { lines });
            misses = held * misses.min(begins(at) * lines) + (1.0 - held) * misses;
            inside = lines;
        }
        misses
    }

    /// Returns whether the loops inside a loop reach other coordinates in each of its rounds; `at`
    /// also counts the loops around the order.
    fn leads_elsewhere(&self, order: &[usize], at: usize) -> bool {
        let prefix = self.problem.prefix;
        let Some(own) = at.checked_sub(prefix.len()) else {
            // The loops around a fold are led elsewhere if they visit few coordinates.
            return at + 1 < prefix.len() && self.problem.outside.fraction < VISITS_ALL;
        };
        let (own, inside) = (order[own], &order[own + 1..]);
        self.accesses.iter().any(|Accessed { read, loops, .. }| {
            let is_dense = read.ty.format.is_dense();
            !is_dense && loops.contains(&own) && inside.iter().any(|l| loops.contains(l))
        })
    }
}
