//! The values of folds in each group, and the columns of results that are computed from these
//! values.

use crate::encode::EncodedJoin;
use crate::error::Result;
use crate::program::FoldId;
use datafusion::arrow::array::ArrayRef;
use datafusion::arrow::buffer::ScalarBuffer;
use datafusion::arrow::datatypes::{ArrowNativeType, DataType};
use redpoll_logic::Prim;
use redpoll_storage::Values;
use std::fmt;

/// The computation of a column of the result from folds, which are given by their ids.
pub(crate) trait ResultColumn: fmt::Debug + Send + Sync {
    /// Returns the column, with a value for each group. `ty` is the type that DataFusion expects;
    /// the caller casts the column to `ty`.
    ///
    /// # Errors
    /// If Arrow refuses a computation, or the region must be left to DataFusion because of its
    /// values.
    fn column(&self, values: &FoldValues<'_>, ty: &DataType) -> Result<ArrayRef>;
}

/// The values of all folds for each group.
pub(crate) struct FoldValues<'a> {
    /// The values of each fold, one for each group.
    pub(crate) folds: &'a [NumberBuffer],
    /// Number of groups.
    pub(crate) groups: usize,
    /// The encoded rows.
    pub(crate) encoded: &'a EncodedJoin,
}

impl FoldValues<'_> {
    /// Returns the values of a fold as `i64`.
    pub(crate) fn i64_values(&self, fold: FoldId) -> ScalarBuffer<i64> {
        self.folds[fold.index()].to_i64()
    }

    /// Returns the values of a fold as `u64`.
    pub(crate) fn u64_values(&self, fold: FoldId) -> ScalarBuffer<u64> {
        self.folds[fold.index()].to_u64()
    }

    /// Returns the sum of folds, each of which counts rows.
    pub(crate) fn row_counts(&self, folds: &[FoldId]) -> ScalarBuffer<i64> {
        let terms: Vec<SignedFold> = folds.iter().map(|&fold| SignedFold { negative: false, fold }).collect();
        self.i64_sums(&terms)
    }

    /// Returns the wrapping sum of terms.
    pub(crate) fn i64_sums(&self, terms: &[SignedFold]) -> ScalarBuffer<i64> {
        self.sums(terms, NumberBuffer::to_i64, |sum, v, minus| {
            if minus { i64::wrapping_sub(sum, v) } else { i64::wrapping_add(sum, v) }
        })
    }

    /// Returns the wrapping sum of terms as `u64`.
    pub(crate) fn u64_sums(&self, terms: &[SignedFold]) -> ScalarBuffer<u64> {
        self.sums(terms, NumberBuffer::to_u64, |sum, v, minus| {
            if minus { u64::wrapping_sub(sum, v) } else { u64::wrapping_add(sum, v) }
        })
    }

    /// Returns the sum of terms.
    pub(crate) fn f64_sums(&self, terms: &[SignedFold]) -> ScalarBuffer<f64> {
        self.sums(terms, NumberBuffer::to_f64, |sum, v, minus| if minus { sum - v } else { sum + v })
    }

    fn sums<T: ArrowNativeType + Default>(
        &self,
        terms: &[SignedFold],
        read: impl Fn(&NumberBuffer) -> ScalarBuffer<T>,
        add: impl Fn(T, T, bool) -> T,
    ) -> ScalarBuffer<T> {
        if let [SignedFold { negative: false, fold }] = terms {
            return read(&self.folds[fold.index()]);
        }
        let mut sum = vec![T::default(); self.groups];
        for &SignedFold { negative, fold } in terms {
            let values = read(&self.folds[fold.index()]);
            sum.iter_mut().zip(values.iter()).for_each(|(sum, &v)| *sum = add(*sum, v, negative));
        }
        sum.into()
    }
}

/// A term of a sum of folds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SignedFold {
    /// True if the fold is subtracted.
    pub(crate) negative: bool,
    /// The fold.
    pub(crate) fold: FoldId,
}

/// Values of one type. Clones share the memory.
#[derive(Clone, Debug)]
pub(crate) enum NumberBuffer {
    I64(ScalarBuffer<i64>),
    U64(ScalarBuffer<u64>),
    F64(ScalarBuffer<f64>),
}

impl NumberBuffer {
    /// Returns the first column of values as numbers; booleans become 0 and 1.
    pub(crate) fn of(values: &Values) -> NumberBuffer {
        let array = &values.columns()[0];
        let buffer = array.buffer().clone();
        match array.prim() {
            Prim::I64 => NumberBuffer::I64(buffer.into()),
            Prim::U64 => NumberBuffer::U64(buffer.into()),
            Prim::F64 => NumberBuffer::F64(buffer.into()),
            _ => NumberBuffer::U64(array.bools().unwrap_or_default().iter().map(|&b| u64::from(b)).collect()),
        }
    }

    /// Returns the values with the given indices, in the given order.
    pub(crate) fn select(&self, order: &[usize]) -> NumberBuffer {
        match self {
            NumberBuffer::I64(values) => NumberBuffer::I64(order.iter().map(|&k| values[k]).collect()),
            NumberBuffer::U64(values) => NumberBuffer::U64(order.iter().map(|&k| values[k]).collect()),
            NumberBuffer::F64(values) => NumberBuffer::F64(order.iter().map(|&k| values[k]).collect()),
        }
    }

    /// Returns the number of values.
    pub(crate) fn len(&self) -> usize {
        match self {
            NumberBuffer::I64(values) => values.len(),
            NumberBuffer::U64(values) => values.len(),
            NumberBuffer::F64(values) => values.len(),
        }
    }

    /// Returns whether value `k` is not 0.
    pub(crate) fn is_nonzero(&self, k: usize) -> bool {
        match self {
            NumberBuffer::I64(values) => values[k] != 0,
            NumberBuffer::U64(values) => values[k] != 0,
            NumberBuffer::F64(values) => values[k] != 0.0,
        }
    }

    /// Returns the values as `i64`. A `u64` wraps; a float is truncated and saturates.
    pub(crate) fn to_i64(&self) -> ScalarBuffer<i64> {
        match self {
            NumberBuffer::I64(values) => values.clone(),
            NumberBuffer::U64(values) => values.iter().map(|&v| v as i64).collect(),
            NumberBuffer::F64(values) => values.iter().map(|&v| v as i64).collect(),
        }
    }

    /// Returns the values as `u64`. An `i64` wraps; a float is converted to `i64` first.
    pub(crate) fn to_u64(&self) -> ScalarBuffer<u64> {
        match self {
            NumberBuffer::U64(values) => values.clone(),
            other => other.to_i64().iter().map(|&v| v as u64).collect(),
        }
    }

    /// Returns the values as floats, rounded to the nearest.
    pub(crate) fn to_f64(&self) -> ScalarBuffer<f64> {
        match self {
            NumberBuffer::I64(values) => values.iter().map(|&v| v as f64).collect(),
            NumberBuffer::U64(values) => values.iter().map(|&v| v as f64).collect(),
            NumberBuffer::F64(values) => values.clone(),
        }
    }
}
