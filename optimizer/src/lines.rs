//! How often accesses to an array of places miss the lines that a cache holds.
//!
//! What a loop touches of an array, its lines, is loaded once for each of its beginnings if a cache holds it all; and also
//! if the loop goes from neighbour to neighbour in memory, those inside of it come back to the same places, and a cache
//! holds what they touch. Source of such counts: Ferrante, Sarkar, Thrash, "On Estimating and Enhancing Cache
//! Effectiveness" (1991).

use crate::cost;
use crate::loop_order::{Accessed, Search};
use crate::pricing::missed;
use crate::work::{Event, Work};
use redpoll_logic::LevelKind;

/// The caches, each with the event of missing it.
pub(crate) const CACHES: [(Event, f64); 3] =
    [(Event::CloseMiss, cost::CLOSE_CACHE), (Event::NearMiss, cost::NEAR_CACHE), (Event::FarMiss, cost::FAR_CACHE)];

/// Loops that visit this part of their places go from neighbour to neighbour.
pub(crate) const VISITS_ALL: f64 = 0.9;

/// The places of a dense level.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Places {
    /// How many loops are outside of the one that binds it; `None` where it is not bound yet.
    pub(crate) at: Option<usize>,
    /// How many the loop goes to at most.
    pub(crate) size: f64,
}

/// The part of the accesses of a loop whose addresses look like that of the one before.
pub(crate) fn aliased(places: &[Places], at: usize) -> f64 {
    let Some(level) = places.iter().position(|p| p.at == Some(at)) else { return 0.0 };
    let inner = &places[level + 1..];
    if inner.is_empty() { 0.0 } else { cost::aliased(inner.iter().fold(8, |bytes, p| bytes * p.size as u64)) }
}

impl Search<'_> {
    /// Adds the lines that so many accesses to an array of so many bytes miss, one in each round of the last loop of
    /// `order`.
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

    /// The lines that so many accesses miss in a cache of so many bytes.
    pub(crate) fn missed_lines(&self, (order, count): (&[usize], f64), places: &[Places], cache: f64) -> f64 {
        let per_line = cost::LINE / 8.0;
        let innermost = places.last().and_then(|level| level.at);
        let begins = |at: usize| self.rounds_outside(order, at).max(1.0);
        // The lines that the loops inside touch each time.
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

    /// Whether a loop, those outside of all of the order counted first, leads those inside of it elsewhere in each of its
    /// rounds.
    fn leads_elsewhere(&self, order: &[usize], at: usize) -> bool {
        let prefix = self.problem.prefix;
        let Some(own) = at.checked_sub(prefix.len()) else {
            // What has led the loops outside of a fold is known by how few places they visit.
            return at + 1 < prefix.len() && self.problem.outside.fraction < VISITS_ALL;
        };
        let (own, inside) = (order[own], &order[own + 1..]);
        self.accesses.iter().any(|Accessed { read, loops, .. }| {
            let is_dense = read.ty.format.levels.iter().all(|level| level.kind == LevelKind::Dense);
            !is_dense && loops.contains(&own) && inside.iter().any(|l| loops.contains(l))
        })
    }
}
