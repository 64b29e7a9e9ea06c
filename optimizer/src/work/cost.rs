//! The constants of the cost model, in units of one step along a list of coordinates.
//!
//! `cargo run --release -p redpoll-bench --bin calibrate` measures the prices of events with the
//! kernels of the optimizing tier. With `--layouts FILE`, it also fits the prices to the times of
//! workloads over generated inputs, which the benchmark `layouts` has written to the file. The
//! prices below started from such a fit and were then compared with measurements of `layouts` on
//! other machines, real inputs included. Write misses, loop ends and aliased reads became events
//! later; until then, the prices of misses, loop starts and steps included them. The prices of all
//! these events were set by hand, to improve the chosen plans and the ranking of plans by cost. All
//! measurements are from virtual machines on server processors (x86-64, two cores), where a step
//! takes 0.4 to 0.5 ns.

use super::events::Event;
use redpoll_logic::{LevelKind, Lookup, WalkStep, WriteMethod};

/// Every event with its name and price, in the order of [`Event`].
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
    (Event::FollowWorkspace, "follow workspace", 1.20),
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

/// Size of the closest cache, in bytes.
pub(crate) const CLOSE_CACHE: f64 = (32u64 << 10) as f64;
/// Size of the caches next to a core, in bytes.
pub(crate) const NEAR_CACHE: f64 = (512u64 << 10) as f64;
/// Size of all caches, in bytes.
pub(crate) const FAR_CACHE: f64 = (8u64 << 20) as f64;
/// Number of fiber ends that a processor predicts.
pub(crate) const PREDICTED_ENDS: f64 = 2048.0;
/// Size of a cache line, in bytes.
pub(crate) const LINE: f64 = 64.0;
/// Distance of aliasing addresses in bytes: a processor distinguishes two addresses that differ by
/// a multiple of this distance only after translating them.
pub(crate) const ALIAS_DISTANCE: u64 = 4096;
/// Largest distance from one ascending access to the next, in bytes, within which a processor
/// prefetches: a page.
pub(crate) const PREFETCH_DISTANCE: f64 = 4096.0;
/// Size of an array, in bytes, above which the allocator does not reuse its pages.
pub(crate) const FRESH_PAGE_BYTES: f64 = (32u64 << 20) as f64;
/// Stored fraction above which a level of an output is estimated to be cheaper if it is dense.
pub(crate) const DENSE_FRACTION: f64 = 0.5;
/// Largest number of coordinates per stored entry at which a tensor that only later queries read
/// may be dense, however cheap its writes are.
pub(crate) const DENSE_WASTE: f64 = 8.0;
/// Largest number of coordinates per stored entry at which a result of the plan may be dense.
/// Matrix products with 8 to 17 coordinates per entry took 0.55 to 0.85 times as long with dense
/// results as with sparse results.
pub(crate) const DENSE_WASTE_OF_RESULTS: f64 = 20.0;
/// Least average list length for which folds along lists are split into lanes. Four partial sums
/// take 0.6 to 0.9 of the time of one sum along rows of 60 entries or more. They take the same time
/// along rows of varying lengths with 37 entries on average, and 1.1 of the time along rows of 16
/// to 32 entries.
pub(crate) const LANE_WALK: f64 = 48.0;
/// Bytes of gathered cache lines above which folds along lists are not split into lanes. Along rows
/// of 64 random entries, four sums take 0.9 of the time of one sum if the gathered vector has 64 or
/// 128 KiB, and the same time at 256 KiB. They take 1.1 of the time at 512 KiB, 1.3 to 1.6 of the
/// time at 1 MiB, and the same time if the vector fits no cache. Over bands of 200 to 20,000
/// entries of a longer vector, they would take 0.9 to 1.1 of the time.
pub(crate) const LANE_GATHER: f64 = (256u64 << 10) as f64;
/// Number of lanes of a fold along a list that is split into lanes.
pub(crate) const LANES: u8 = 4;
/// Merge steps per entry of a list that advances to the coordinates of a longer list.
pub(crate) const ADVANCE_STEP: f64 = 2.0;
/// Gallop steps per leap in a list that advances to the coordinates of a shorter list; a leap over
/// `n` entries counts `log2(n) + 1.5` times.
pub(crate) const ADVANCE_LEAP: f64 = 0.3;
/// Ratio of fiber lengths above which the members of an intersection gallop.
pub(crate) const GALLOP_RATIO: f64 = 8.0;
/// Largest ratio of the cost of caching a fiber to its estimated savings. The ratio exceeds 1
/// because the two estimates err differently: the rounds of the outer loops limit the cost of
/// filling, whereas the rounds of loops inside joins are underestimated more often, and by more,
/// than they are overestimated.
pub(crate) const WORKSPACE_RISK: f64 = 4.0;
/// Largest dimension of a byte-map workspace. A larger sparse level of a workspace for writes is a
/// hash table, and the fibers of a larger list are not cached for reads. A sparse level inside
/// another level of a workspace is a hash table at any dimension.
pub(crate) const BYTE_MAP_LIMIT: u64 = 1 << 22;
/// Largest number of coordinates at which a scattered output is dense, however few entries it
/// stores.
pub(crate) const SCATTER_LIMIT: f64 = (1u64 << 24) as f64;
/// Largest ratio of the number of possible coordinates to the number of entries at which the
/// entries are sorted by marks: each coordinate sets a bit, and the bits are read in order.
pub(crate) const MARKED_WASTE: f64 = 64.0;
/// Largest number of possible coordinates at which entries are sorted by marks.
pub(crate) const MAX_MARKED: f64 = (1u64 << 21) as f64;
/// Cost of sorting by marks, in steps of a comparison sort per entry.
pub(crate) const MARKED_STEPS: f64 = 3.0;
/// Largest number of loops whose orders are searched exhaustively; longer orders are built
/// greedily.
pub(crate) const EXHAUSTIVE_LOOPS: usize = 7;

/// Cost of counting the coordinates of a stored entry in all modes, per mode.
pub(crate) const COUNT_ENTRY: f64 = 4.0;
/// Cost of sorting and counting the coordinates of a stored entry in some modes.
pub(crate) const SORT_ENTRY: f64 = 60.0;
/// Cost of finding the mirror image of a stored entry.
pub(crate) const COMPARE_ENTRY: f64 = 40.0;
/// Cost of following paths along links from a sample of starts.
pub(crate) const FOLLOW_PATHS: f64 = 3e5;
/// Cost of storing the count of a coordinate and comparing it with others.
pub(crate) const COUNT_COORDINATE: f64 = 6.0;

/// Returns the fraction of accesses with a stride of `bytes` whose addresses alias. A fraction
/// below one half counts as 0.
pub(crate) fn aliased_fraction(bytes: u64) -> f64 {
    let shared = 1 << bytes.trailing_zeros().min(ALIAS_DISTANCE.trailing_zeros());
    if 2 * shared >= ALIAS_DISTANCE { shared as f64 / ALIAS_DISTANCE as f64 } else { 0.0 }
}

/// Returns the price of an event.
pub(crate) fn price(event: Event) -> f64 {
    EVENTS[event as usize].2
}

/// Returns the event of stepping to the next stored coordinate of a level.
pub(crate) fn walk(kind: LevelKind) -> Event {
    match kind.traits().step {
        WalkStep::Element => Event::WalkList,
        WalkStep::Other => Event::WalkOther,
    }
}

/// Returns the event of looking up a coordinate in a level.
pub(crate) fn follow(kind: LevelKind) -> Event {
    let traits = kind.traits();
    match (traits.lookup, traits.writes) {
        (Lookup::Search | Lookup::Unsupported, _) => Event::Search,
        (Lookup::Direct, WriteMethod::Array) => Event::FollowDense,
        (Lookup::Direct, WriteMethod::HashTable) => Event::FollowHash,
        (Lookup::Direct, WriteMethod::Flags { .. } | WriteMethod::Append) => Event::FollowTable,
    }
}

/// Returns the event of writing to a level that takes writes in any order.
pub(crate) fn write(kind: LevelKind) -> Event {
    match kind.traits().writes {
        WriteMethod::HashTable => Event::WriteHash,
        WriteMethod::Flags { .. } => Event::WriteMap,
        WriteMethod::Array | WriteMethod::Append => Event::WriteDense,
    }
}
