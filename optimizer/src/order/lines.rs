//! Counts the cache misses of the accesses to an array, by cache lines.
//!
//! Each time a loop is entered, every line that the loop touches in an array is loaded once, if a
//! cache holds all these lines. A cache that holds the lines of the inner loops suffices if the
//! loop moves between neighbors in memory and the inner loops return to the same elements. Source
//! of such counts: Ferrante, Sarkar, Thrash, "On Estimating and Enhancing Cache Effectiveness"
//! (1991).

use crate::access::fit::DenseExtent;
use crate::order::search::{OrderSearch, PricedAccess};
use crate::work::caches::{CACHES, miss_fraction};
use crate::work::{Work, cost};

/// Least fraction of its coordinates that a loop must visit to count as moving between neighbors in
/// memory.
pub(crate) const MIN_VISITED_FRACTION: f64 = 0.9;

/// Returns the fraction of a loop's accesses whose address aliases the address of the previous
/// access.
pub(crate) fn aliased_fraction(extents: &[DenseExtent], loop_depth: usize) -> f64 {
    let Some(level) = extents.iter().position(|p| p.loop_depth == Some(loop_depth)) else { return 0.0 };
    let inner = &extents[level + 1..];
    if inner.is_empty() { 0.0 } else { cost::aliased_fraction(inner.iter().fold(8, |bytes, p| bytes * p.size as u64)) }
}

impl OrderSearch<'_> {
    /// Adds the misses of `count` accesses to an array of `bytes` bytes, with one access per round
    /// of the last loop of `order`.
    pub(crate) fn add_line_misses(
        &self,
        work: &mut Work,
        (order, count): (&[usize], f64),
        (extents, bytes): (&[DenseExtent], f64),
    ) {
        for (event, cache) in CACHES {
            let max_misses = count * miss_fraction(cache, bytes);
            work.add(
                event,
                if max_misses > 0.0 { max_misses.min(self.line_misses((order, count), extents, cache)) } else { 0.0 },
            );
        }
    }

    /// Returns the number of accesses that miss a cache of `cache` bytes.
    pub(crate) fn line_misses(&self, (order, count): (&[usize], f64), extents: &[DenseExtent], cache: f64) -> f64 {
        let per_line = cost::LINE / 8.0;
        let innermost = extents.last().and_then(|level| level.loop_depth);
        let starts = |at: usize| self.rounds_outside(order, at).max(1.0);
        // `inside` is the number of lines that the inner loops touch in each round.
        let (mut inside, mut misses) = (1.0, count);
        for at in (0..self.problem.prefix.len() + order.len()).rev() {
            let rounds = (starts(at + 1) / starts(at)).max(1.0);
            let changes = self.changes_inner_coordinates(order, at);
            let slides = innermost == Some(at) && !changes;
            let all: f64 = extents.iter().filter(|p| p.loop_depth.is_some_and(|p| p >= at)).map(|p| p.size).product();
            let all = if innermost.is_some_and(|p| p >= at) { (all / per_line).max(1.0) } else { all };
            let lines = match extents.iter().find(|p| p.loop_depth == Some(at)) {
                Some(level) if slides => inside * rounds / (per_line * rounds / level.size).max(1.0),
                None if !changes => inside,
                _ => inside * rounds,
            };
            let lines = lines.min(all).max(1.0);
            let cached = 1.0 - miss_fraction(cache, cost::LINE * if slides { inside } else { lines });
            misses = cached * misses.min(starts(at) * lines) + (1.0 - cached) * misses;
            inside = lines;
        }
        misses
    }

    /// Returns whether the inner loops visit other coordinates in each round of the loop at depth
    /// `at`. The depth also counts the loops around the order.
    fn changes_inner_coordinates(&self, order: &[usize], at: usize) -> bool {
        let prefix = self.problem.prefix;
        let Some(own) = at.checked_sub(prefix.len()) else {
            // If loops around a fold skip coordinates, their inner loops visit other coordinates in
            // each round.
            return at + 1 < prefix.len() && self.problem.outside.fraction < MIN_VISITED_FRACTION;
        };
        let (own, inside) = (order[own], &order[own + 1..]);
        self.accesses.iter().any(|PricedAccess { read, loops, .. }| {
            let is_dense = read.ty.format.is_dense();
            !is_dense && loops.contains(&own) && inside.iter().any(|l| loops.contains(l))
        })
    }
}
