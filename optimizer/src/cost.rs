//! The constants of the cost model, in units of one step along a list of coordinates.
//!
//! `cargo run --release -p redpoll-bench --bin calibrate` measures those of events anew, by the kernels of the optimizing
//! tier; with `--layouts`, by the workloads of `layouts` over generated inputs, too. These are from such a fit, held since
//! against what `layouts` measures on other machines, real inputs included: what was told apart later (writes that miss, ends
//! of loops, reads that look alike) and what had been priced for it (misses, entries, steps) was chosen there for the plans
//! that come out and for the ranks. They are of virtual machines on server processors (x86-64, two cores), where a step takes
//! 0.4 to 0.5 ns.

use crate::work::Event;
use redpoll_logic::LevelKind;

/// Every event with its name and what it costs, in the order of [`Event`].
pub(crate) const EVENTS: [(Event, &str, f64); 37] = [
    (Event::Query, "query", 2238.0),
    (Event::Enter, "enter", 2.50),
    (Event::EnterAgain, "enter again", 1.70),
    (Event::EnterDense, "enter dense", 4.00),
    (Event::End, "end", 1.10),
    (Event::Round, "round", 0.27),
    (Event::DenseRound, "dense round", 0.06),
    (Event::StridedRound, "strided round", 0.20),
    (Event::WalkList, "walk list", 0.90),
    (Event::WalkOther, "walk other", 1.29),
    (Event::Merge, "merge", 2.40),
    (Event::Gallop, "gallop", 8.50),
    (Event::FollowDense, "follow dense", 0.12),
    (Event::FollowTable, "follow table", 1.42),
    (Event::FollowHash, "follow hash", 17.9),
    (Event::FollowHeld, "follow held", 1.20),
    (Event::Search, "search", 25.9),
    (Event::CloseMiss, "close miss", 0.60),
    (Event::NearMiss, "near miss", 0.80),
    (Event::FarMiss, "far miss", 11.3),
    (Event::AliasedRead, "aliased read", 0.60),
    (Event::NearWrite, "near write", 0.80),
    (Event::FarWrite, "far write", 5.00),
    (Event::Fold, "fold", 0.15),
    (Event::Compute, "compute", 0.09),
    (Event::Append, "append", 0.60),
    (Event::WriteDense, "write dense", 0.22),
    (Event::WriteMap, "write map", 0.79),
    (Event::WriteHash, "write hash", 8.74),
    (Event::Sort, "sort", 2.82),
    (Event::SortHash, "sort hash", 9.42),
    (Event::Flush, "flush", 3.36),
    (Event::Clear, "clear", 0.23),
    (Event::Fault, "fault", 0.40),
    (Event::Stream, "stream", 0.46),
    (Event::StreamNear, "stream near", 0.18),
    (Event::Reorder, "reorder", 46.0),
];

/// Bytes that the closest cache holds.
pub(crate) const CLOSE_CACHE: f64 = (32u64 << 10) as f64;
/// Bytes that the caches next to a core hold.
pub(crate) const NEAR_CACHE: f64 = (512u64 << 10) as f64;
/// Bytes that all caches hold.
pub(crate) const FAR_CACHE: f64 = (8u64 << 20) as f64;
/// Ends of fibers that a processor remembers.
pub(crate) const FORESEEN: f64 = 2048.0;
/// Bytes of a line of a cache.
pub(crate) const LINE: f64 = 64.0;
/// Bytes between addresses that a processor tells apart only once it has translated them.
pub(crate) const ALIASED: u64 = 4096;
/// Bytes from one access to the next, ascending, within which a processor fetches ahead: those of a page.
pub(crate) const FETCHED_AHEAD: f64 = 4096.0;
/// Bytes of an array from which on its pages are not kept for the next one.
pub(crate) const FRESH_PAGES: f64 = (32u64 << 20) as f64;
/// An output level whose stored fraction is estimated above this is dense.
pub(crate) const DENSE_FRACTION: f64 = 0.5;
/// What later queries read is never dense with more places for each stored one than this, however cheap its writes are.
pub(crate) const DENSE_WASTE: f64 = 8.0;
/// Nor are results. Products of matrices that have 8 to 17 took 0.55 to 0.85 of the time for being dense.
pub(crate) const DENSE_WASTE_OF_RESULTS: f64 = 20.0;
/// What is folded along lists of so many places on average is folded in lanes. Four sums take 0.6 to 0.9 of the time of one
/// along rows of 60 places and more, as long along rows of 37 of many lengths, and 1.1 along rows of 16 to 32.
pub(crate) const LANE_WALK: f64 = 48.0;
/// Not, however, where the coordinates lead to more bytes of lines. Along rows of 64 random places four sums take 0.9 of the
/// time of one over 64 and 128 KiB, as long over 256 KiB, 1.1 over 512 KiB, 1.3 to 1.6 over 1 MiB, and as long again where no
/// cache holds the vector; over bands of 200 to 20,000 places of a longer vector they would take 0.9 to 1.1.
pub(crate) const LANE_GATHER: f64 = (256u64 << 10) as f64;
/// In so many.
pub(crate) const LANES: u8 = 4;
/// Steps of a merge that an entry of a list takes which a longer one leads.
pub(crate) const LED_STEP: f64 = 2.0;
/// Steps of a gallop that a leap takes in a list which a shorter one leads, times 1.5 more than the logarithm to base 2 of
/// how many entries it is wide.
pub(crate) const LED_LEAP: f64 = 0.3;
/// Members of an intersection gallop when their fibers' lengths differ by more than this factor.
pub(crate) const GALLOP_RATIO: f64 = 8.0;
/// Fibers are held where that costs at most this many times what it saves by the estimate. Filling them in is bounded by
/// the loops outside, while the rounds of a loop inside of joins are estimated too low more often, and by more, than too
/// high.
pub(crate) const HOLD_RISK: f64 = 4.0;
/// The largest dimension that a byte map of a workspace has; a hash table takes over.
pub(crate) const BYTE_MAP_LIMIT: u64 = 1 << 22;
/// The largest number of places of a scattered output that is dense whatever its density.
pub(crate) const SCATTER_LIMIT: f64 = (1u64 << 24) as f64;
/// Coordinates of a map of at most so many times as many places are sorted by marks.
pub(crate) const MARKED_WASTE: f64 = 64.0;
/// And of no map of more places than this.
pub(crate) const MOST_MARKED: f64 = (1u64 << 21) as f64;
/// That takes as long as so many steps of a sort by comparisons for each.
pub(crate) const MARKED_STEPS: f64 = 3.0;
/// Orders of more loops than this are not searched through, but built greedily.
pub(crate) const EXHAUSTIVE_LOOPS: usize = 7;

/// To count the coordinates of a stored place in all modes, for each mode.
pub(crate) const COUNT_PLACE: f64 = 4.0;
/// To sort the coordinates of a stored place in some modes, and to count them.
pub(crate) const SORT_PLACE: f64 = 60.0;
/// To find the mirrored place of a stored one.
pub(crate) const COMPARE_PLACE: f64 = 40.0;
/// To follow paths along links from a sample of places.
pub(crate) const FOLLOW_PATHS: f64 = 3e5;
/// To keep a count of a coordinate, and to compare it with others.
pub(crate) const COUNT_COORDINATE: f64 = 6.0;

/// The part of accesses at so many bytes from each other that a processor does not tell apart.
pub(crate) fn aliased(bytes: u64) -> f64 {
    let shared = 1 << bytes.trailing_zeros().min(ALIASED.trailing_zeros());
    if 2 * shared >= ALIASED { shared as f64 / ALIASED as f64 } else { 0.0 }
}

/// What an event costs.
pub(crate) fn price(event: Event) -> f64 {
    EVENTS[event as usize].2
}

/// Going to the next coordinate of a level that has some.
pub(crate) fn walk(kind: LevelKind) -> Event {
    match kind {
        LevelKind::SparseList | LevelKind::Singleton => Event::WalkList,
        _ => Event::WalkOther,
    }
}

/// Looking up a coordinate of a level.
pub(crate) fn follow(kind: LevelKind) -> Event {
    match kind {
        LevelKind::Dense => Event::FollowDense,
        LevelKind::ByteMap | LevelKind::BitMap | LevelKind::Band | LevelKind::Interval | LevelKind::Pinpoint => {
            Event::FollowTable
        }
        LevelKind::Hash => Event::FollowHash,
        LevelKind::SparseList | LevelKind::Singleton | LevelKind::BlockList | LevelKind::FixedWidth => Event::Search,
        LevelKind::RunLength | LevelKind::SparseRunLength => Event::Search,
    }
}

/// Writing to a coordinate of a level that takes writes in any order.
pub(crate) fn write(kind: LevelKind) -> Event {
    match kind {
        LevelKind::Hash => Event::WriteHash,
        LevelKind::ByteMap | LevelKind::BitMap => Event::WriteMap,
        _ => Event::WriteDense,
    }
}
