//! A region made ready and run: rows of inputs in, rows of groups out. Calls do it, and what prepares in the background.

use crate::cache::Ready;
use crate::claim::Region;
use crate::decode::decode;
use crate::encode::Encoded;
use crate::engine::Engine;
use crate::error::{Error, Left};
use crate::memory::Allowance;
use crate::program::{self, Folds};
use datafusion::arrow::compute::concat_batches;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::arrow::record_batch::RecordBatch;
use datafusion::error::{DataFusionError, Result};
use datafusion::execution::SendableRecordBatchStream;
use futures::TryStreamExt;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A region with what runs it.
#[derive(Clone, Debug)]
pub(crate) struct Run {
    pub(crate) region: Arc<Region>,
    pub(crate) engine: Arc<dyn Engine>,
    /// The columns of its rows.
    pub(crate) schema: SchemaRef,
}

/// The rows of a region, which are taken from an allowance as long as they are held, and how they came about.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) batch: RecordBatch,
    /// How long it took to optimize and compile.
    pub(crate) compile: Duration,
    /// How long kernels ran.
    pub(crate) kernel: Duration,
    /// How long it took to make rows of their results.
    pub(crate) decode: Duration,
    /// Whether kernels of an earlier run served.
    pub(crate) cached: bool,
    /// What the kernels have read.
    pub(crate) ready: Arc<Ready>,
    _held: Allowance,
}

impl Answer {
    /// How long a run takes that has everything it needs.
    pub(crate) fn warm(&self) -> Duration {
        self.kernel + self.decode
    }

    /// The rows in batches of so many.
    pub(crate) fn slices(&self, rows: usize) -> Vec<RecordBatch> {
        let starts = (0..self.batch.num_rows()).step_by(rows.max(1));
        starts.map(|start| self.batch.slice(start, rows.min(self.batch.num_rows() - start))).collect()
    }
}

impl Run {
    /// Encodes the rows of inputs, which were taken from the allowance, and makes the program.
    ///
    /// # Errors
    /// When the rows are for DataFusion, or the allowance does not suffice.
    pub(crate) fn prepare(&self, inputs: &[RecordBatch], allowance: &Allowance) -> Result<Ready, Error> {
        let start = Instant::now();
        let encoded = Encoded::new(&self.region, inputs, allowance)?;
        let folds = Folds::new(&self.region, &encoded)?;
        let program = program::program(&self.region, &encoded, &folds)?;
        Ok(Ready::new(encoded, folds, program, start.elapsed()))
    }

    /// Runs the program; the allowance is for kernels and results.
    ///
    /// # Errors
    /// When the program is refused or stopped, or the allowance does not suffice.
    pub(crate) fn run(&self, ready: &Arc<Ready>, allowance: Allowance) -> Result<Answer, Error> {
        let Ready { encoded, folds, program, .. } = &**ready;
        let outcome = self.engine.run(program.plan.clone(), program.bindings.clone(), &allowance.stop())?;
        let start = Instant::now();
        let batch = decode(&self.region, encoded, (folds, program), &outcome.outputs, &self.schema)?;
        allowance.take("the results", batch.get_array_memory_size())?;
        Ok(Answer {
            batch,
            compile: outcome.compile,
            kernel: outcome.run,
            decode: start.elapsed(),
            cached: outcome.cached,
            ready: ready.clone(),
            _held: allowance,
        })
    }
}

/// All rows of a stream as one batch.
///
/// # Errors
/// When they cannot be read, or the allowance does not suffice.
pub(crate) async fn all_rows(mut stream: SendableRecordBatchStream, allowance: &Allowance) -> Result<RecordBatch> {
    let schema = stream.schema();
    let (mut batches, mut bytes) = (Vec::new(), 0);
    while let Some(batch) = stream.try_next().await? {
        let size = batch.get_array_memory_size();
        allowance.take("the rows", size)?;
        bytes += size;
        batches.push(batch);
    }
    if let [_] = batches[..] {
        return Ok(batches.swap_remove(0));
    }
    // For a moment there are the parts and the whole.
    allowance.take("the rows", bytes)?;
    let whole = concat_batches(&schema, &batches)?;
    allowance.give_back(2 * bytes);
    allowance.take("the rows", whole.get_array_memory_size())?;
    Ok(whole)
}

/// Why rows could not be read. What is computed of rows that join nothing may fail without harm.
pub(crate) fn read_error(error: DataFusionError) -> Error {
    match error.find_root() {
        DataFusionError::ArrowError(..) | DataFusionError::Execution(_) => {
            Left::Raised { what: error.to_string() }.into()
        }
        _ => Error::Read(Box::new(error)),
    }
}
