//! The policy of claims and of first calls: the engine that answers a query.
//!
//! The time of a join in DataFusion grows with the rows that the join reads and returns. Redpoll
//! takes time once, to encode the rows and compile the program; the time of a run then grows with
//! the stored entries. The number of rows that a join returns is unknown before its keys are
//! encoded, so little is decided in advance. The steps of a region, in order:
//!
//! 1. `rule`, `claim_cost`: the optimizer claims a region that can be claimed, was not left to
//!    DataFusion before, and is estimated to pay. A region does not pay if its rows cannot be
//!    cached between runs, unless preparation is always faster than DataFusion. A region without
//!    tensors does not pay in two more cases: its tables have so few rows that DataFusion would
//!    finish while a program is compiled, or one of its leaves is computed from combinations of
//!    columns that are not all boolean, so that the number of combinations is unknown. With
//!    `redpoll.claim = 'always'`, or if DataFusion cannot run the plan, the estimate does not
//!    matter.
//! 2. `choice`, `call`: by default, redpoll answers a call in four cases: the region is cached, the
//!    region cannot be cached, DataFusion cannot run the plan, or preparation is estimated to take
//!    no longer than the lower bound of DataFusion's time ([`CostEstimate::is_always_faster`]).
//!    Otherwise DataFusion begins to answer, and redpoll prepares the region in the background.
//! 3. `background`, `job`: preparation begins when DataFusion has run for the estimated time of
//!    preparation ([`CostEstimate::prepare_time`]), or has answered. The engine that finishes first
//!    answers.
//! 4. `call`: a call that has encoded the rows also finishes the first run, whatever the estimates
//!    say, so that the cost of encoding is not wasted.
//! 5. `prepared`, `cost`: the time of a prepared region is compared with the time of DataFusion. If
//!    DataFusion has not run, an upper bound of its time is computed from the numbers of rows with
//!    equal keys.
//! 6. `fallback`, `cache`: a region that is slower, or whose values could give another result in
//!    kernels, is left to DataFusion until its tables or the target of its kernels change. Until
//!    then, DataFusion runs its own plan of the region.

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
mod region_context;
mod rows;
mod rule;

pub(crate) use answer_source::AnswerSource;
pub(crate) use background::{BackgroundJobs, Preparation};
pub(crate) use cache::{Cache, CacheSlot, RegionKey};
pub(crate) use call::{AnswerPlan, Call};
pub(crate) use cost::CostEstimate;
pub(crate) use fallback::{Fallback, with_schema};
pub(crate) use prepared::PreparedRegion;
pub(crate) use region_context::RegionContext;
pub use rule::ClaimRegions;
pub(crate) use rule::unclaimed_aggregates;
