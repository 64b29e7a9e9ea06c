//! Preparing and running a region, from the rows of its inputs to the rows of its groups, during a
//! call or in the background.

use crate::claim::Region;
use crate::columns::InputRows;
use crate::decode::decode;
use crate::encode::EncodedJoin;
use crate::engine::Engine;
use crate::error::{Error, FallbackReason};
use crate::memory::Allowance;
use crate::policy::PreparedRegion;
use crate::program::{self, RegionFolds};
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::arrow::record_batch::RecordBatch;
use datafusion::error::{DataFusionError, Result};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A region with its engine.
#[derive(Clone, Debug)]
pub(crate) struct RegionRunner {
    pub(crate) region: Arc<Region>,
    pub(crate) engine: Arc<dyn Engine>,
    /// The schema of the rows of the region.
    pub(crate) schema: SchemaRef,
}

/// The rows of a region with the times of the run. The memory of the rows is reserved until the
/// result is dropped.
#[derive(Debug)]
pub(crate) struct RegionResult {
    pub(crate) batch: RecordBatch,
    /// Time to optimize and compile.
    pub(crate) compile: Duration,
    /// Time in the kernels.
    pub(crate) kernel: Duration,
    /// Time to decode the results of the kernels to rows.
    pub(crate) decode: Duration,
    /// True if kernels of an earlier run were used.
    pub(crate) cached: bool,
    /// The encoded region that the kernels read.
    pub(crate) prepared: Arc<PreparedRegion>,
    _reserved: Allowance,
}

impl RegionResult {
    /// Returns the time of a run with everything cached.
    pub(crate) fn warm_time(&self) -> Duration {
        self.kernel + self.decode
    }

    /// Returns the rows in batches of at most `rows` rows.
    pub(crate) fn slices(&self, rows: usize) -> Vec<RecordBatch> {
        let starts = (0..self.batch.num_rows()).step_by(rows.max(1));
        starts.map(|start| self.batch.slice(start, rows.min(self.batch.num_rows() - start))).collect()
    }
}

impl RegionRunner {
    /// Encodes the rows of inputs and builds the program. The memory of `inputs` is already
    /// reserved in the allowance.
    ///
    /// # Errors
    /// If the rows are left to DataFusion, Arrow refuses a computation, a tensor cannot be built or
    /// read, or the allowance is exhausted or cancelled.
    pub(crate) fn prepare(&self, inputs: &[InputRows], allowance: &Allowance) -> Result<PreparedRegion, Error> {
        let start = Instant::now();
        let encoded = EncodedJoin::new(&self.region.join, inputs, allowance)?;
        let folds = RegionFolds::new(&self.region, &encoded)?;
        let program = program::build_program(&self.region.join, &encoded, &folds)?;
        Ok(PreparedRegion::new(encoded, folds, program, start.elapsed()))
    }

    /// Runs the program; the memory of kernels and results is charged to the allowance.
    ///
    /// # Errors
    /// If the program is refused, fails or is stopped, its results cannot be decoded or are left to
    /// DataFusion, or the allowance is exhausted or cancelled.
    pub(crate) fn run(&self, prepared: &Arc<PreparedRegion>, allowance: Allowance) -> Result<RegionResult, Error> {
        let PreparedRegion { encoded, folds, program, .. } = &**prepared;
        let outcome = self.engine.run(program.plan.clone(), program.bindings.clone(), &allowance.run_limits())?;
        let start = Instant::now();
        let batch = decode(&self.region.join, encoded, (folds, program), &outcome.outputs, &self.schema)?;
        allowance.reserve("the results", batch.get_array_memory_size())?;
        Ok(RegionResult {
            batch,
            compile: outcome.compile,
            kernel: outcome.run,
            decode: start.elapsed(),
            cached: outcome.cached,
            prepared: prepared.clone(),
            _reserved: allowance,
        })
    }
}

/// Returns the error for rows that could not be read. A failed computation is
/// [`FallbackReason::EarlyError`], because the row whose computation failed need not have a match
/// in the join.
pub(crate) fn read_error(error: DataFusionError) -> Error {
    match error.find_root() {
        DataFusionError::ArrowError(..) | DataFusionError::Execution(_) => {
            FallbackReason::EarlyError { error: error.to_string() }.into()
        }
        _ => Error::Read(Box::new(error)),
    }
}
