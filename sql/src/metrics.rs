//! The metrics of regions that `EXPLAIN ANALYZE` shows.

use crate::run::RegionResult;
use datafusion::physical_plan::metrics::{ExecutionPlanMetricsSet, MetricBuilder};
use std::time::Duration;

/// The metrics of one execution.
#[derive(Clone, Debug)]
pub(crate) struct Metrics(pub(crate) ExecutionPlanMetricsSet);

impl Metrics {
    /// Adds a time.
    pub(crate) fn add_time(&self, name: &'static str, time: Duration) {
        MetricBuilder::new(&self.0).subset_time(name, 0).add_duration(time);
    }

    /// Adds a number.
    pub(crate) fn add_count(&self, name: &'static str, count: usize) {
        MetricBuilder::new(&self.0).counter(name, 0).add(count);
    }

    /// Adds the times and sizes of a run.
    pub(crate) fn add_result(&self, result: &RegionResult) {
        self.add_time("compile_time", result.compile);
        self.add_time("kernel_time", result.kernel);
        self.add_time("decode_time", result.decode);
        self.add_count("cache_hits", usize::from(result.cached));
        self.add_count("encoded_bytes", result.prepared.bytes());
        // Tensors that cannot be counted count as 0, since the result is valid.
        let entries =
            result.prepared.program.bindings.iter().filter_map(|(_, tensor)| tensor.count_stored().ok()).sum::<u64>();
        self.add_count("stored_entries", usize::try_from(entries).unwrap_or(usize::MAX));
        self.add_count("output_rows", result.batch.num_rows());
    }
}
