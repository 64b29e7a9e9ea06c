//! The choice of the engine that answers a call of a region.

use crate::options::{FirstAnswer, Policy};
use std::time::Duration;

/// The facts that decide which engine answers a call of a region.
#[derive(Clone, Copy, Debug)]
pub(super) struct CallFacts {
    /// The option `redpoll.enabled`.
    pub(super) enabled: bool,
    /// The option `redpoll.claim`.
    pub(super) policy: Policy,
    /// The option `redpoll.first`.
    pub(super) first: FirstAnswer,
    /// The state of the region in the cache.
    pub(super) cache: CacheState,
    /// True if preparation is estimated to take no longer than the lower bound of DataFusion's
    /// time.
    pub(super) is_always_faster: bool,
    /// The estimated time to prepare the region.
    pub(super) prepare_time: Duration,
}

/// The state of a region in the cache.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum CacheState {
    /// The rows of the region depend on more than its tables, a table has no version, or a table
    /// has changed since the region was planned.
    Uncacheable,
    /// The region can be cached, but is not prepared.
    Unprepared,
    /// The region is prepared.
    Prepared,
}

/// The engine that answers a call.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Choice {
    /// Redpoll, which prepares the region in the call unless the region is cached.
    Redpoll,
    /// DataFusion; nothing is prepared.
    DataFusion,
    /// DataFusion, unless redpoll prepares and runs the region first.
    Race {
        /// The time that DataFusion runs before preparation begins; `None` if preparation begins
        /// when DataFusion has answered.
        head_start: Option<Duration>,
    },
}

/// Returns the engine that answers a call of a region for which DataFusion has a plan of its own.
pub(super) fn choose(facts: CallFacts) -> Choice {
    let CallFacts { enabled, policy, first, cache, is_always_faster, prepare_time } = facts;
    match (cache, first, policy) {
        _ if !enabled => Choice::DataFusion,
        // A region that cannot be cached is not prepared in the background.
        (CacheState::Uncacheable | CacheState::Prepared, ..) => Choice::Redpoll,
        (_, FirstAnswer::Claim, _) | (_, FirstAnswer::Auto, Policy::Always) => Choice::Redpoll,
        (_, FirstAnswer::Auto, Policy::Cost) if is_always_faster => Choice::Redpoll,
        (_, FirstAnswer::Auto, Policy::Cost) => Choice::Race { head_start: Some(prepare_time) },
        (_, FirstAnswer::Prepare, _) => Choice::Race { head_start: None },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The choice in every situation: a row for each state of the cache and each value of both
    /// options.
    #[test]
    fn choices_follow_the_options() {
        use CacheState::{Prepared, Uncacheable, Unprepared};
        use Choice::{DataFusion, Race, Redpoll};
        use FirstAnswer::{Auto, Claim, Prepare};
        let prepare_time = Duration::from_millis(7);
        let early = Race { head_start: Some(prepare_time) };
        let late = Race { head_start: None };
        // A row ends with two choices: the first for a region whose preparation may be slower than
        // DataFusion, the second for a region whose preparation is always faster.
        let table = [
            (Prepared, Policy::Cost, Auto, [Redpoll, Redpoll]),
            (Prepared, Policy::Cost, Claim, [Redpoll, Redpoll]),
            (Prepared, Policy::Cost, Prepare, [Redpoll, Redpoll]),
            (Prepared, Policy::Always, Auto, [Redpoll, Redpoll]),
            (Prepared, Policy::Always, Claim, [Redpoll, Redpoll]),
            (Prepared, Policy::Always, Prepare, [Redpoll, Redpoll]),
            (Uncacheable, Policy::Cost, Auto, [Redpoll, Redpoll]),
            (Uncacheable, Policy::Cost, Claim, [Redpoll, Redpoll]),
            (Uncacheable, Policy::Cost, Prepare, [Redpoll, Redpoll]),
            (Uncacheable, Policy::Always, Auto, [Redpoll, Redpoll]),
            (Uncacheable, Policy::Always, Claim, [Redpoll, Redpoll]),
            (Uncacheable, Policy::Always, Prepare, [Redpoll, Redpoll]),
            (Unprepared, Policy::Cost, Auto, [early, Redpoll]),
            (Unprepared, Policy::Cost, Claim, [Redpoll, Redpoll]),
            (Unprepared, Policy::Cost, Prepare, [late, late]),
            (Unprepared, Policy::Always, Auto, [Redpoll, Redpoll]),
            (Unprepared, Policy::Always, Claim, [Redpoll, Redpoll]),
            (Unprepared, Policy::Always, Prepare, [late, late]),
        ];
        for (cache, policy, first, expected) in table {
            for (is_always_faster, expected) in [false, true].into_iter().zip(expected) {
                let facts = CallFacts { enabled: true, policy, first, cache, is_always_faster, prepare_time };
                assert_eq!(choose(facts), expected, "{facts:?}");
                let disabled = CallFacts { enabled: false, ..facts };
                assert_eq!(choose(disabled), DataFusion, "{disabled:?}");
            }
        }
    }
}
