//! The cost model: the cost of a region in kernels and in DataFusion, by measured constants.

use super::rows::{rows, rows_of};
use crate::claim::{GroupedJoin, Leaf, LeafRole, LeafSource, Region};
use crate::encode::{EncodedJoin, is_integers};
use crate::error::Result;
use datafusion::arrow::datatypes::DataType;
use datafusion::logical_expr::LogicalPlan;
use std::collections::HashSet;
use std::time::Duration;

/// Seconds that DataFusion takes for each row that a join reads.
const READ_ROW: f64 = 25e-9;
/// Seconds that DataFusion takes for each row that a join returns and an aggregate reads.
const JOINED_ROW: f64 = 20e-9;
/// Seconds that DataFusion takes to start a join.
const JOIN_START: f64 = 150e-6;
/// Seconds to plan and compile a program.
const COMPILE: f64 = 1.5e-3;
/// Seconds to plan and compile a fold, per square of its number of leaves, in the instant tier. The
/// measured values of this constant range from 0.3 ms (two leaves, TPC-H 4 and 12) to 2.8 ms (TPC-H
/// 3 and 8). [`min_rows`] counts the constant once per leaf.
const COMPILE_FOLD: f64 = 0.8e-3;

/// Seconds to read a row of an input and to build its share of the entries.
const ENCODE_ROW: f64 = 60e-9;
/// Seconds to encode one integer.
const ENCODE_INTEGER: f64 = 15e-9;
/// Seconds to encode one value of another type.
const ENCODE_VALUE: f64 = 100e-9;
/// Seconds to read and fold one value that is no key. Together with its keys, a row of the TPC-H
/// tables takes 100 to 280 ns; most of this time is spent on the first access to new pages.
const ENCODE_FACTOR: f64 = 60e-9;
/// Number of rows assumed for an input, if one of its tables has no statistics.
const DEFAULT_ROWS: usize = 100_000;

/// The largest accepted ratio of a first run's time to DataFusion's time.
const MAX_COLD_RATIO: f64 = 2.0;
/// The largest accepted ratio of redpoll's time, with everything cached, to DataFusion's time.
const MAX_WARM_RATIO: f64 = 1.2;

/// Returns the number of rows that DataFusion joins in the fraction `1 / MAX_COLD_RATIO` of the
/// time to compile a program, if each row joins [`FAN_OUT`] other rows.
pub(crate) fn min_rows(leaves: usize) -> usize {
    let joins = leaves.saturating_sub(1).max(1) as f64;
    let compile = COMPILE + COMPILE_FOLD * leaves as f64;
    ((compile / MAX_COLD_RATIO - JOIN_START * joins).max(0.0) / (READ_ROW + FAN_OUT * joins * JOINED_ROW)) as usize
}

/// Number of rows that a join is assumed to return for each row of the tables.
const FAN_OUT: f64 = 10.0;

/// Returns whether a run with everything cached pays, compared with DataFusion.
pub(crate) fn is_competitive(redpoll_time: Duration, datafusion_time: Duration) -> bool {
    redpoll_time.as_secs_f64() <= MAX_WARM_RATIO * datafusion_time.as_secs_f64()
}

/// Returns the time after which a run in the background is given up as slower than DataFusion. This
/// time allows for a busy machine and for the first start of a C compiler.
pub(crate) fn max_trial_time(datafusion_time: Duration) -> Duration {
    4 * datafusion_time + Duration::from_secs(2)
}

/// The costs of a region that are estimated before the region runs, in seconds.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct CostEstimate {
    /// Time to prepare the region.
    prepare_seconds: f64,
    /// Lower bound of the time of DataFusion.
    min_datafusion_seconds: f64,
}

impl CostEstimate {
    /// Returns the costs of a region over the given inputs.
    pub(crate) fn new(region: &Region, inputs: &[&LogicalPlan]) -> CostEstimate {
        let Region { join, aggregates } = region;
        let rows: Vec<Option<usize>> = inputs.iter().map(|input| rows(input)).collect();
        let of_leaf = |leaf: &Leaf| match &leaf.source {
            LeafSource::Input { input, .. } => rows[*input],
            LeafSource::Tensor { table, .. } => rows_of(table),
            LeafSource::Computed(_) => None,
        };
        let read: f64 = join.leaves.iter().filter_map(of_leaf).map(|rows| rows as f64).sum();
        let encode = |(input, rows): (usize, &Option<usize>)| {
            let rows = rows.unwrap_or(DEFAULT_ROWS) as f64;
            let mut keys: Vec<(usize, &DataType)> = Vec::new();
            for &column in join.fields.iter().flat_map(|field| &field.columns).flatten() {
                match join.input_column(column) {
                    Some((of, key)) if of == input && !keys.iter().any(|(k, _)| *k == key) => {
                        keys.push((key, &join.column(column).ty));
                    }
                    _ => {}
                }
            }
            let read = |leaf: &Leaf| match &leaf.source {
                LeafSource::Input { input: of, columns } if *of == input => columns.clone(),
                _ => Vec::new(),
            };
            let read: HashSet<usize> = join.leaves.iter().flat_map(read).collect();
            let key = |(_, ty): &(usize, &DataType)| if is_integers(ty) { ENCODE_INTEGER } else { ENCODE_VALUE };
            let factors = read.len().saturating_sub(keys.len()) as f64;
            rows * (ENCODE_ROW + keys.iter().map(key).sum::<f64>() + ENCODE_FACTOR * factors)
        };
        let encode: f64 = rows.iter().enumerate().map(encode).sum();
        let joins = join.leaves.len().saturating_sub(1);
        CostEstimate {
            prepare_seconds: encode + compile_seconds(join.leaves.len(), aggregates.len().max(1)),
            min_datafusion_seconds: JOIN_START * joins as f64 + READ_ROW * read,
        }
    }

    /// Returns whether preparation takes no longer than the lower bound of DataFusion's time.
    pub(crate) fn is_always_faster(self) -> bool {
        self.prepare_seconds <= self.min_datafusion_seconds
    }

    /// Returns the estimated time to prepare the region.
    pub(crate) fn prepare_time(self) -> Duration {
        Duration::from_secs_f64(self.prepare_seconds)
    }
}

/// Returns the seconds to plan and compile `folds` folds, each over `leaves` leaves.
fn compile_seconds(leaves: usize, folds: usize) -> f64 {
    COMPILE + COMPILE_FOLD * (folds * leaves.pow(2)) as f64
}

/// Estimates an upper bound of DataFusion's time for the aggregates over a join. The bound is
/// computed from the encoded rows.
///
/// # Errors
/// If a tensor cannot be read.
pub(crate) fn max_datafusion_time(join: &GroupedJoin, encoded: &EncodedJoin) -> Result<Duration> {
    let is_read = |leaf: &&Leaf| !matches!(leaf.source, LeafSource::Computed(_));
    let mut rows = 0.0;
    for (leaf, _) in join.leaves.iter().enumerate().filter(|(_, leaf)| is_read(leaf)) {
        rows += encoded.count(join, leaf)? as f64;
    }
    let joins = join.leaves.iter().filter(is_read).count().saturating_sub(1);
    let joined = encoded.max_rows(join)? as f64;
    let multiplying =
        join.leaves.iter().filter(is_read).filter(|leaf| leaf.role == LeafRole::Join).count().saturating_sub(1).max(1);
    let seconds = JOIN_START * joins as f64 + READ_ROW * rows + JOINED_ROW * joined * multiplying as f64;
    Ok(Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX))
}
