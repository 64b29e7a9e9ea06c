//! What a region costs in kernels, and what it would cost in DataFusion, by constants that were measured: the one place of
//! both.
//!
//! A join in DataFusion costs by the rows that it reads and by those that it gives. Kernels cost once, when the rows are
//! encoded and the program is compiled, and then by what is stored. How many rows a join gives is not known before its keys
//! are, so that little is decided beforehand:
//!
//! - Before anything runs, tables are left whose rows cannot be kept from one run to the next, and those whose rows
//!   DataFusion is done with before a program is compiled, whatever the join.
//! - A first call is answered by DataFusion while the region is prepared ([`Price::prepare`] says when that begins), unless
//!   preparing takes no longer than DataFusion at least does ([`Price::is_small`]).
//! - Once rows are encoded, the first run is finished: what was paid for is not thrown away for a guess.
//! - What was prepared is run, and what that took is held against what DataFusion took: [`MOST_WARM`] times as long, and
//!   the region is left. Where DataFusion has not run, the repeats of keys bound the rows of the join
//!   ([`Encoded::most_rows`]), and with them what it takes ([`most`]).

use crate::claim::{self, Leaf, Region, Role, Source};
use crate::encode::{Encoded, is_integers};
use crate::error::Result;
use datafusion::arrow::datatypes::DataType;
use datafusion::logical_expr::LogicalPlan;
use std::collections::HashSet;
use std::time::Duration;

/// Seconds that DataFusion takes for a row that a join reads.
const READ_ROW: f64 = 25e-9;
/// Seconds that DataFusion takes for a row that a join gives, and that is aggregated.
const JOINED_ROW: f64 = 20e-9;
/// Seconds that DataFusion takes to begin with a join.
const BEGIN: f64 = 150e-6;
/// Seconds to plan and compile a program.
const COMPILE: f64 = 1.5e-3;
/// Seconds to plan and compile a fold, times the square of how many leaves it has: from 0.3 ms (two leaves, TPC-H 4 and 12)
/// to 2.8 ms (TPC-H 3 and 8), instant tier.
const COMPILE_FOLD: f64 = 0.8e-3;

/// Seconds to read a row of an input, and to make entries of it.
const ENCODE_ROW: f64 = 60e-9;
/// Seconds to encode an integer of a row.
const ENCODE_INTEGER: f64 = 15e-9;
/// Seconds to encode another value of a row.
const ENCODE_VALUE: f64 = 100e-9;
/// Seconds to read a value of a row that is no key, and to fold it: with what its keys cost, 100 to 280 ns a row over the
/// tables of TPC-H, where most of it goes to pages that are touched for the first time.
const ENCODE_FACTOR: f64 = 60e-9;
/// The rows of a table that does not tell how many it has.
const UNKNOWN_ROWS: usize = 100_000;

/// A first run may take so many times as long as DataFusion.
const MOST_COLD: f64 = 2.0;
/// A run with everything cached may take so many times as long as DataFusion.
const MOST_WARM: f64 = 1.2;

/// So many rows are joined by DataFusion before a program is compiled, if each meets [`FAN_OUT`] others.
pub(crate) fn fewest_rows(leaves: usize) -> usize {
    let joins = leaves.saturating_sub(1).max(1) as f64;
    let compile = COMPILE + COMPILE_FOLD * leaves as f64;
    ((compile / MOST_COLD - BEGIN * joins).max(0.0) / (READ_ROW + FAN_OUT * joins * JOINED_ROW)) as usize
}

/// How many rows each join gives for a row of the tables, where that is not known.
const FAN_OUT: f64 = 10.0;

/// Whether a run with everything cached was worth it.
pub(crate) fn is_worth(took: Duration, theirs: Duration) -> bool {
    took.as_secs_f64() <= MOST_WARM * theirs.as_secs_f64()
}

/// How long a run in the background may take until it is plain that DataFusion is faster: some times as long, because the
/// machine may be busy with what somebody waits for, and what a C compiler may take at first.
pub(crate) fn most_trial(theirs: Duration) -> Duration {
    4 * theirs + Duration::from_secs(2)
}

/// What is known of costs before anything runs, in seconds.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Price {
    /// To make the region ready.
    prepare: f64,
    /// What DataFusion takes at least.
    least: f64,
}

impl Price {
    /// The price of a region over those inputs.
    pub(crate) fn of(region: &Region, inputs: &[&LogicalPlan]) -> Price {
        let rows: Vec<Option<usize>> = inputs.iter().map(|input| claim::rows(input)).collect();
        let of_leaf = |leaf: &Leaf| match &leaf.source {
            Source::Input { input, .. } => rows[*input],
            Source::Tensor { table, .. } => claim::rows_of(table),
        };
        let read: f64 = region.leaves.iter().filter_map(of_leaf).map(|rows| rows as f64).sum();
        let encode = |(input, rows): (usize, &Option<usize>)| {
            // What does not tell takes a while.
            let rows = rows.unwrap_or(UNKNOWN_ROWS) as f64;
            let mut keys: Vec<(usize, &DataType)> = Vec::new();
            for &column in region.fields.iter().flat_map(|field| &field.columns).flatten() {
                match region.input_column(column) {
                    Some((of, key)) if of == input && !keys.iter().any(|(k, _)| *k == key) => {
                        keys.push((key, &region.column(column).ty));
                    }
                    _ => {}
                }
            }
            let read = |leaf: &Leaf| match &leaf.source {
                Source::Input { input: of, columns } if *of == input => columns.clone(),
                _ => Vec::new(),
            };
            let read: HashSet<usize> = region.leaves.iter().flat_map(read).collect();
            let key = |(_, ty): &(usize, &DataType)| if is_integers(ty) { ENCODE_INTEGER } else { ENCODE_VALUE };
            let factors = read.len().saturating_sub(keys.len()) as f64;
            rows * (ENCODE_ROW + keys.iter().map(key).sum::<f64>() + ENCODE_FACTOR * factors)
        };
        let encode: f64 = rows.iter().enumerate().map(encode).sum();
        let joins = region.leaves.len().saturating_sub(1);
        Price {
            prepare: encode + compile(region.leaves.len(), region.aggregates.len().max(1)),
            least: BEGIN * joins as f64 + READ_ROW * read,
        }
    }

    /// Whether DataFusion takes as long, whatever the rows are.
    pub(crate) fn is_small(self) -> bool {
        self.prepare <= self.least
    }

    /// How long it takes to make the region ready.
    pub(crate) fn prepare(self) -> Duration {
        Duration::from_secs_f64(self.prepare)
    }
}

/// Seconds to plan and compile so many folds over leaves.
fn compile(leaves: usize, folds: usize) -> f64 {
    COMPILE + COMPILE_FOLD * (folds * leaves.pow(2)) as f64
}

/// How long DataFusion takes at most for a region over encoded rows.
///
/// # Errors
/// When a tensor cannot be read.
pub(crate) fn most(region: &Region, encoded: &Encoded) -> Result<Duration> {
    let mut rows = 0.0;
    for leaf in 0..region.leaves.len() {
        rows += encoded.count(region, leaf)? as f64;
    }
    let joins = region.leaves.len().saturating_sub(1);
    let joined = encoded.most_rows(region)? as f64;
    let multiplying = region.leaves.iter().filter(|leaf| leaf.role == Role::Joins).count().saturating_sub(1).max(1);
    let seconds = BEGIN * joins as f64 + READ_ROW * rows + JOINED_ROW * joined * multiplying as f64;
    Ok(Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX))
}
