//! The number of workers of a session's cluster.

use datafusion::prelude::SessionConfig;
use std::num::NonZero;

/// The size of the cluster that runs the queries of a session, as an extension of the session's
/// configuration. A session without this extension runs its queries in its own process.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct ClusterSize {
    /// The number of workers.
    pub(crate) workers: NonZero<usize>,
}

impl ClusterSize {
    /// The least number of partitions of a worker. With one partition, DataFusion sends no rows
    /// from one worker to another.
    pub(crate) const MIN_PARTITIONS: usize = 2;

    /// Returns the size of the cluster of a session; `None` if the session has no cluster.
    pub(crate) fn of(config: &SessionConfig) -> Option<ClusterSize> {
        config.get_extension::<ClusterSize>().as_deref().copied()
    }

    /// Returns the number of workers, or 1 for a session without a cluster.
    pub(crate) fn workers(config: &SessionConfig) -> usize {
        ClusterSize::of(config).map_or(1, |size| size.workers.get())
    }

    /// Returns the number of partitions of a region in all workers.
    pub(crate) fn partitions(config: &SessionConfig) -> usize {
        config.target_partitions().saturating_mul(ClusterSize::workers(config))
    }

    /// Sets the size of the cluster of a session.
    #[cfg(feature = "cluster")]
    pub(crate) fn set(self, config: &mut SessionConfig) {
        config.set_extension(std::sync::Arc::new(self));
    }
}
