//! Work: how often each kind of event happens, and the cost of these events.
//!
//! The cost model is linear: the cost of a query is the sum over all events of count times price. A
//! loop may have several implementations, such as a merge and a gallop. Prices select the
//! implementation that is counted, but the counts of each implementation do not depend on prices.
//! So prices can be fitted to timings of queries with known event counts.

use super::cost::{EVENTS, price};
use std::fmt;

/// A kind of event that takes time.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Event {
    /// Running a query: the call and its first allocations.
    Query,
    /// Entering a loop driven by stored coordinates, over other fibers than in the round before.
    Enter,
    /// Entering a loop driven by stored coordinates, over the same fibers as in the round before.
    EnterAgain,
    /// Entering a loop over every coordinate, unless the loop is inside a block.
    EnterDense,
    /// An unpredicted end of a loop driven by stored coordinates. A processor remembers the ends of
    /// only a limited number of fibers.
    End,
    /// A round of a loop driven by stored coordinates.
    Round,
    /// A round of an innermost loop over every coordinate that reads adjacent positions, or a write
    /// to the position after the previous one.
    DenseRound,
    /// A round of an innermost loop over every coordinate that reads positions with a stride.
    StridedRound,
    /// A step along a list of coordinates.
    WalkList,
    /// A step along stored coordinates other than a plain list, such as a hash table, a map, runs,
    /// blocks, bands or padded lists.
    WalkOther,
    /// A step along merged lists; a processor cannot predict which list advances.
    Merge,
    /// A step along the shortest of several lists while the longest one is galloped, times the
    /// base-2 logarithm of 1 plus the ratio of their lengths. A search for the next given
    /// coordinate in a list counts as a number of such steps that grows with the logarithm of the
    /// distance.
    Gallop,
    /// A lookup of a given coordinate in a dense level.
    FollowDense,
    /// A lookup of a given coordinate in a map, a band, an interval or a pinpoint.
    FollowTable,
    /// A lookup of a given coordinate in a hash table.
    FollowHash,
    /// A lookup of a given coordinate in a fiber that is cached in a byte map.
    FollowWorkspace,
    /// A lookup of a given coordinate in a list, in blocks or in runs, by binary search.
    Search,
    /// An access that misses the closest cache.
    CloseMiss,
    /// An access that misses the caches next to the core.
    NearMiss,
    /// An access that misses all caches, or a write that waits for the previous write because their
    /// addresses alias.
    FarMiss,
    /// A read at an address that aliases the previous one: the two addresses differ by a multiple
    /// of 4096 bytes and share a cache set.
    AliasedRead,
    /// A write into a dense level that misses the caches next to the core. No instruction waits for
    /// the write, so several are in flight at once.
    NearWrite,
    /// A write into a dense level that misses all caches.
    FarWrite,
    /// A value that is folded into the previous one.
    Fold,
    /// A value that is computed without a fold into the previous one, or an extra operator on the
    /// way to a value.
    Compute,
    /// An entry that is appended to a list, or to another level that is written in order.
    Append,
    /// A write into a dense level, in any order.
    WriteDense,
    /// A write into a byte map or a bit map.
    WriteMap,
    /// A write into a hash table.
    WriteHash,
    /// A coordinate that is sorted, times the base-2 logarithm of the number of coordinates.
    Sort,
    /// An entry of a hash table that is sorted, times the base-2 logarithm of the number of
    /// entries.
    SortHash,
    /// An entry that is read out of a workspace.
    Flush,
    /// Eight bytes that are allocated and initialized.
    Clear,
    /// Eight bytes in an array so large that the allocator requests its pages from the system each
    /// time.
    Fault,
    /// Eight bytes that are read in order and miss all caches.
    Stream,
    /// Eight bytes that are read in order and miss the caches next to the core.
    StreamNear,
    /// A stored entry that is converted into another storage order, counted once for each level but
    /// the outermost one, and once for a vector.
    Reorder,
}

/// Counts of all events, with their total cost in steps along a list of coordinates.
///
/// # Examples
/// ```
/// use redpoll_optimizer::{Event, Work};
///
/// let work = Work::default();
/// assert_eq!((work.count(Event::Search), work.cost()), (0.0, 0.0));
/// assert!(Event::Search.price() > Event::WalkList.price());
/// assert_eq!(Event::all().count(), work.counts().count());
/// ```
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Work {
    counts: [f64; EVENTS.len()],
    cost: f64,
}

impl Work {
    /// No work.
    pub(crate) const NONE: Work = Work { counts: [0.0; EVENTS.len()], cost: 0.0 };
    /// Work that cannot be done; its cost is infinite.
    pub(crate) const IMPOSSIBLE: Work = Work { counts: [0.0; EVENTS.len()], cost: f64::INFINITY };

    /// Returns the count of an event.
    pub fn count(&self, event: Event) -> f64 {
        self.counts[event as usize]
    }

    /// Returns the cost of all events, in steps along a list.
    pub fn cost(&self) -> f64 {
        self.cost
    }

    /// Iterates over all events with their counts.
    pub fn counts(&self) -> impl Iterator<Item = (Event, f64)> + '_ {
        EVENTS.iter().map(|(event, ..)| (*event, self.count(*event)))
    }

    pub(crate) fn add(&mut self, event: Event, count: f64) {
        self.counts[event as usize] += count;
        self.cost += count * price(event);
    }

    /// Returns this work repeated `factor` times.
    #[must_use]
    pub(crate) fn times(mut self, factor: f64) -> Work {
        self.counts.iter_mut().for_each(|count| *count *= factor);
        self.cost *= factor;
        self
    }

    /// Returns this work or the other, whichever costs less.
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
        self.counts.iter_mut().zip(other.counts).for_each(|(count, other)| *count += other);
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
    /// Iterates over all events.
    pub fn all() -> impl Iterator<Item = Event> {
        EVENTS.iter().map(|(event, ..)| *event)
    }

    /// Returns the event's name in tables.
    pub fn name(self) -> &'static str {
        EVENTS[self as usize].1
    }

    /// Returns the cost of one event, in steps along a list.
    pub fn price(self) -> f64 {
        price(self)
    }
}

impl fmt::Display for Work {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let nonzero = self.counts().filter(|(_, count)| *count > 0.0);
        let parts: Vec<String> = nonzero.map(|(event, count)| format!("{} {count:.0}", event.name())).collect();
        f.write_str(&parts.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Counts are indexed by discriminant, so the table must list the events in order.
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
