//! The parts of a session's state that decide which engine answers a call of a region.

use super::answer_source::{AnswerSource, ExpectedAnswer};
use super::background::{BackgroundJobs, Preparation};
use super::cache::{Cache, CacheSlot};
use super::choice::{CacheState, CallFacts, Choice, choose};
use super::cost::CostEstimate;
use super::fallback::Fallback;
use super::prepared::PreparedRegion;
use crate::options::RedpollOptions;
use std::sync::{Arc, Weak};

/// The parts of a session's state that a region uses.
#[derive(Clone, Debug, Default)]
pub(crate) struct RegionContext {
    pub(crate) cache: Arc<Cache>,
    /// The queue of regions to prepare.
    pub(crate) background: Weak<BackgroundJobs>,
    /// The key and version under which the encoded region is cached; `None` if it cannot be cached.
    pub(crate) cache_slot: Option<CacheSlot>,
    /// DataFusion's plan of the region.
    pub(crate) fallback: Option<Fallback>,
    pub(crate) cost: CostEstimate,
}

impl RegionContext {
    /// Returns the context of a call: without a cache slot if a table has changed since the region
    /// was planned.
    pub(crate) fn current(&self) -> RegionContext {
        RegionContext { cache_slot: self.cache_slot.clone().filter(CacheSlot::is_current), ..self.clone() }
    }

    /// Returns DataFusion's plan of the region, if DataFusion can run it.
    pub(super) fn sound_fallback(&self) -> Option<&Fallback> {
        self.fallback.as_ref().filter(|fallback| fallback.is_sound)
    }

    /// Returns the cached region.
    pub(crate) fn prepared(&self) -> Option<Arc<PreparedRegion>> {
        let cache_slot = self.cache_slot.as_ref()?;
        self.cache.find(&cache_slot.key, &cache_slot.version)
    }

    /// Returns the engine that answers a call of a region. `is_prepared` is true if the region is
    /// cached.
    pub(super) fn choice(&self, options: &RedpollOptions, is_prepared: bool) -> Choice {
        if self.sound_fallback().is_none() {
            return Choice::Redpoll;
        }
        let cache = match (&self.cache_slot, is_prepared) {
            (None, _) => CacheState::Uncacheable,
            (Some(_), false) => CacheState::Unprepared,
            (Some(_), true) => CacheState::Prepared,
        };
        choose(CallFacts {
            enabled: options.enabled,
            policy: options.claim,
            first: options.first,
            cache,
            is_always_faster: self.cost.is_always_faster(),
            prepare_time: self.cost.prepare_time(),
        })
    }

    /// Returns the engine that would answer a call now.
    pub(crate) fn expected_answer(&self, options: &RedpollOptions) -> ExpectedAnswer {
        let current = self.current();
        let is_prepared = current.prepared().is_some();
        match (current.choice(options, is_prepared), current.preparation()) {
            (Choice::Redpoll, _) if is_prepared => ExpectedAnswer::Certain(AnswerSource::Cached),
            (Choice::Redpoll, _) => ExpectedAnswer::InCall,
            (Choice::DataFusion, _) => ExpectedAnswer::Certain(AnswerSource::Fallback),
            (Choice::Race { .. }, Preparation::Unqueued) => ExpectedAnswer::Race,
            (Choice::Race { .. }, Preparation::Queued) => ExpectedAnswer::InPreparation,
            (Choice::Race { .. }, Preparation::Impossible) => ExpectedAnswer::Certain(AnswerSource::DataFusionOnly),
        }
    }

    /// Returns the state of the region's preparation in the background.
    pub(crate) fn preparation(&self) -> Preparation {
        match (&self.cache_slot, self.background.upgrade()) {
            (Some(slot), Some(background)) => background.preparation(&slot.key, &slot.version),
            _ => Preparation::Impossible,
        }
    }
}
