//! The metrics of regions that `EXPLAIN ANALYZE` shows.

use crate::run::Answer;
use datafusion::physical_plan::metrics::{ExecutionPlanMetricsSet, MetricBuilder};
use std::time::Duration;

/// The metrics of one execution.
#[derive(Clone, Debug)]
pub(crate) struct Metrics(pub(crate) ExecutionPlanMetricsSet);

impl Metrics {
    /// Adds a time.
    pub(crate) fn time(&self, name: &'static str, time: Duration) {
        MetricBuilder::new(&self.0).subset_time(name, 0).add_duration(time);
    }

    /// Adds a number.
    pub(crate) fn count(&self, name: &'static str, count: usize) {
        MetricBuilder::new(&self.0).counter(name, 0).add(count);
    }

    /// Adds the times and sizes of a run.
    pub(crate) fn answer(&self, answer: &Answer) {
        self.time("compile_time", answer.compile);
        self.time("kernel_time", answer.kernel);
        self.time("decode_time", answer.decode);
        self.count("cache_hits", usize::from(answer.cached));
        self.count("encoded_bytes", answer.ready.bytes());
        // Tensors that cannot be counted count as 0, since the answer is valid.
        let stored =
            answer.ready.program.bindings.iter().filter_map(|(_, tensor)| tensor.count_stored().ok()).sum::<u64>();
        self.count("stored_entries", usize::try_from(stored).unwrap_or(usize::MAX));
        self.count("output_rows", answer.batch.num_rows());
    }
}
