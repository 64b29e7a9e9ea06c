//! The policy of claims and of first calls: the engine that answers a query.
//!
//! A join in DataFusion costs time by the rows that it reads and gives. Kernels cost time once, to
//! encode the rows and compile the program, and then by the stored entries. The number of rows that
//! a join gives is unknown before its keys are encoded, so little is decided in advance. The steps
//! of a region, in order:
//!
//! 1. `rule`, `claim_cost`: the optimizer claims a region that can be claimed, was not left to
//!    DataFusion before, and is estimated to pay. It does not pay if its rows cannot be cached
//!    between runs, or if DataFusion would finish before a program is compiled, whatever the join.
//! 2. `choice`, `call`: redpoll answers a call if the region is cached or cannot be cached, or if
//!    preparation is estimated to take no longer than DataFusion takes at least
//!    ([`CostEstimate::is_always_faster`]). Otherwise DataFusion answers while redpoll prepares the
//!    region.
//! 3. `background`, `job`: preparation begins after its estimated time
//!    ([`CostEstimate::prepare_time`]), or when DataFusion has answered. The engine that finishes
//!    first answers.
//! 4. `call`: once rows are encoded in a call, its first run is finished; the cost of encoding is
//!    not wasted on an estimate.
//! 5. `prepared`, `cost`: the time of a prepared region is compared with that of DataFusion. If
//!    DataFusion has not run, the repeats of keys bound the rows of the join and so its time.
//! 6. `fallback`, `cache`: a region that is slower, or whose rows do not suit kernels, is left to
//!    DataFusion until its tables change, and runs DataFusion's own plan.

mod answer_source;
mod background;
mod cache;
mod call;
mod choice;
mod claim_cost;
mod cost;
mod fallback;
mod job;
mod prepared;
mod priority;
mod rows;
mod rule;

pub(crate) use answer_source::AnswerSource;
pub(crate) use background::BackgroundJobs;
pub(crate) use cache::{Cache, CacheSlot, RegionKey};
pub(crate) use call::{AnswerPlan, Call};
pub(crate) use cost::CostEstimate;
pub(crate) use fallback::Fallback;
pub(crate) use prepared::PreparedRegion;
pub use rule::ClaimRegions;
pub(crate) use rule::unclaimed_aggregates;
