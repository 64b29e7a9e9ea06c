//! Work: how often each kind of event happens, and what that costs.
//!
//! The cost model is linear: the cost of a query is the sum over the events of their number times their constant. What
//! counts them never looks at constants, so that these can be fitted to times of queries whose events are known.

use crate::cost::{EVENTS, price};
use std::fmt;

/// A kind of event that takes time.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Event {
    /// A query is run: its call, its first allocations.
    Query,
    /// A loop that stored coordinates drive begins, once for each round of those outside of it.
    Enter,
    /// One begins over the fibers that it was over in the round before.
    EnterAgain,
    /// A loop over every coordinate begins.
    EnterDense,
    /// A loop that stored coordinates drive ends where a processor has not foreseen it: it remembers the ends of so many
    /// fibers only.
    End,
    /// A round of a loop that stored coordinates drive.
    Round,
    /// A round of an innermost loop over every coordinate that reads neighbours.
    DenseRound,
    /// A round of one that reads places with others between them.
    StridedRound,
    /// A step along a list of coordinates.
    WalkList,
    /// A step along a hash table or a map, or along runs, blocks and bands.
    WalkOther,
    /// A step along lists that are merged: which of them goes on cannot be foreseen.
    Merge,
    /// A step along the shorter one of two lists, of which the longer one is galloped through, times the logarithm to base
    /// 2 of the ratio of their lengths.
    Gallop,
    /// A known coordinate of a dense level.
    FollowDense,
    /// A known coordinate of a map, a band or an interval.
    FollowTable,
    /// A known coordinate of a hash table.
    FollowHash,
    /// A known coordinate of a fiber that is held in a byte map.
    FollowHeld,
    /// A known coordinate of a list or of runs, which are searched.
    Search,
    /// An access to a place that the closest cache does not hold.
    CloseMiss,
    /// An access to a place that the caches next to the core do not hold.
    NearMiss,
    /// An access to a place that no cache holds.
    FarMiss,
    /// A read of a place whose address looks like that of the one before, so that they are in each other's way: they differ
    /// by a multiple of what a processor tells apart, and caches have both in one set.
    AliasedRead,
    /// A write into a dense level at a place that the caches next to the core do not hold: nothing waits for it, so that
    /// several are on their way at once.
    NearWrite,
    /// A write into a dense level at a place that no cache holds.
    FarWrite,
    /// A value that is folded into the one before.
    Fold,
    /// A value that is computed and not folded into the one before, or an operator more on the way to one that is.
    Compute,
    /// A place that is appended to a list.
    Append,
    /// A write into a dense level, in any order.
    WriteDense,
    /// A write into a byte map.
    WriteMap,
    /// A write into a hash table.
    WriteHash,
    /// A coordinate that is sorted, times the logarithm to base 2 of how many there are.
    Sort,
    /// An entry of a hash table that is sorted, times the logarithm to base 2 of how many there are.
    SortHash,
    /// A place that is read out of a workspace.
    Flush,
    /// Eight bytes that are allocated and set to their first value.
    Clear,
    /// Eight bytes in an array so large that the allocator gets its pages from the system each time.
    Fault,
    /// Eight bytes that are read in order and that no cache holds.
    Stream,
    /// Eight bytes that are read in order and that the caches next to the core do not hold.
    StreamNear,
    /// A stored place that is converted into another order, for each level but one.
    Reorder,
}

/// How often each event happens.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Work {
    counts: [f64; EVENTS.len()],
    cost: f64,
}

impl Work {
    /// No work.
    pub(crate) const NONE: Work = Work { counts: [0.0; EVENTS.len()], cost: 0.0 };
    /// What cannot be done: it costs infinity.
    pub(crate) const IMPOSSIBLE: Work = Work { counts: [0.0; EVENTS.len()], cost: f64::INFINITY };

    /// How often an event happens.
    pub fn count(&self, event: Event) -> f64 {
        self.counts[event as usize]
    }

    /// What all events cost, in steps along a list.
    pub fn cost(&self) -> f64 {
        self.cost
    }

    /// Every event with its number.
    pub fn counts(&self) -> impl Iterator<Item = (Event, f64)> + '_ {
        EVENTS.iter().map(|(event, ..)| (*event, self.count(*event)))
    }

    pub(crate) fn add(&mut self, event: Event, count: f64) {
        self.counts[event as usize] += count;
        self.cost += count * price(event);
    }

    /// The work done so many times.
    #[must_use]
    pub(crate) fn times(mut self, factor: f64) -> Work {
        self.counts.iter_mut().for_each(|count| *count *= factor);
        self.cost *= factor;
        self
    }

    /// The cheaper one of both.
    #[must_use]
    pub(crate) fn cheaper(self, other: Work) -> Work {
        if other.cost < self.cost { other } else { self }
    }
}

impl Default for Work {
    fn default() -> Work {
        Work::NONE
    }
}

impl std::ops::AddAssign for Work {
    fn add_assign(&mut self, other: Work) {
        self.counts.iter_mut().zip(other.counts).for_each(|(count, more)| *count += more);
        self.cost += other.cost;
    }
}

impl std::ops::Add for Work {
    type Output = Work;

    fn add(mut self, other: Work) -> Work {
        self += other;
        self
    }
}

impl std::iter::Sum for Work {
    fn sum<I: Iterator<Item = Work>>(all: I) -> Work {
        all.fold(Work::NONE, |sum, work| sum + work)
    }
}

impl Event {
    /// Every event.
    pub fn all() -> impl Iterator<Item = Event> {
        EVENTS.iter().map(|(event, ..)| *event)
    }

    /// Its name in tables.
    pub fn name(self) -> &'static str {
        EVENTS[self as usize].1
    }

    /// What it costs, in steps along a list.
    pub fn price(self) -> f64 {
        price(self)
    }
}

impl fmt::Display for Work {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let some = self.counts().filter(|(_, count)| *count > 0.0);
        let parts: Vec<String> = some.map(|(event, count)| format!("{} {count:.0}", event.name())).collect();
        f.write_str(&parts.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Protects that the table has every event at its place: counts are kept by it.
    #[test]
    fn the_table_has_the_events_in_their_order() {
        for (at, (event, name, _)) in EVENTS.iter().enumerate() {
            assert_eq!(*event as usize, at, "{name}");
        }
        assert_eq!(Event::Reorder as usize + 1, EVENTS.len());
    }

    #[test]
    fn cost_is_the_sum_of_prices() {
        let mut work = Work::NONE;
        work.add(Event::WalkList, 3.0);
        work.add(Event::Search, 2.0);
        let twice = (work + work).times(0.5) + Work::NONE;
        let expected = 3.0 * price(Event::WalkList) + 2.0 * price(Event::Search);
        assert_eq!((work.cost(), twice.cost(), twice.count(Event::Search)), (expected, expected, 2.0));
        assert_eq!(work.to_string(), "walk list 3, search 2");
        assert_eq!(work.cheaper(Work::IMPOSSIBLE), work);
    }
}
