//! The metrics of regions that `EXPLAIN ANALYZE` shows.

use crate::run::RegionResult;
use datafusion::physical_plan::metrics::{ExecutionPlanMetricsSet, MetricBuilder};
use std::time::Duration;

/// The metrics of one execution of a region.
#[derive(Clone, Debug)]
pub(crate) struct Metrics(pub(crate) ExecutionPlanMetricsSet);

impl Metrics {
    /// Adds a duration to the metric `name`.
    pub(crate) fn add_time(&self, name: &'static str, time: Duration) {
        MetricBuilder::new(&self.0).subset_time(name, 0).add_duration(time);
    }

    /// Adds `count` to the metric `name`.
    pub(crate) fn add_count(&self, name: &'static str, count: usize) {
        MetricBuilder::new(&self.0).counter(name, 0).add(count);
    }

    /// Adds the times of a run, whether its kernels were cached, and the sizes of its inputs and of
    /// its result.
    pub(crate) fn add_result(&self, result: &RegionResult) {
        self.add_time("compile_time", result.compile);
        self.add_time("kernel_time", result.kernel);
        self.add_time("decode_time", result.decode);
        self.add_count("cache_hits", usize::from(result.cached));
        self.add_count("encoded_bytes", result.prepared.bytes());
        // A tensor whose entries cannot be counted adds 0: the result is valid without the count.
        let entries =
            result.prepared.program.bindings.iter().filter_map(|(_, tensor)| tensor.count_stored().ok()).sum::<u64>();
        self.add_count("stored_entries", usize::try_from(entries).unwrap_or(usize::MAX));
        let (encoded, shared) = result.prepared.encoded.column_counts();
        self.add_count("encoded_columns", encoded);
        self.add_count("shared_columns", shared);
        self.add_count("output_rows", result.batch.num_rows());
    }
}
