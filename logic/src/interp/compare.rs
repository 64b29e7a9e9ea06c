//! Comparison of the values of an engine with those of the interpreter.

use super::ReferenceResult;
use super::eval::all_coordinates;
use super::value::{BoundedValue, Datum};
use crate::mode::FloatMode;
use crate::scalar::Scalar;

/// The comparison of floats in the relaxed mode.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Exactness {
    /// Equality, for computations that need no rounding; both zeros are equal.
    Exact,
    /// Equality within the interpreter's bound.
    Bounded,
}

/// Counts of a successful comparison.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct ComparisonCounts {
    /// Number of values that agree.
    pub equal: usize,
    /// Number of don't-care values. A struct counts if a member is don't-care, although its other
    /// members are compared.
    pub skipped: usize,
}

/// The reason why no legal engine can have returned the compared values.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Mismatch {
    /// The number of values differs.
    #[error("expected {expected} values, found {found}")]
    Count {
        /// Number of values of the interpreter.
        expected: usize,
        /// Number of values of the engine.
        found: usize,
    },
    /// A value differs.
    #[error("at coordinates {coordinates:?}: expected {expected} within {error:e}, found {found}")]
    Value {
        /// Coordinates of the value.
        coordinates: Vec<u64>,
        /// Value of the interpreter, rounded.
        expected: Scalar,
        /// Maximal error of a legal engine; 0 for [`Exactness::Exact`].
        error: f64,
        /// Value of the engine.
        found: Scalar,
    },
}

impl ReferenceResult {
    /// Compares the values of an engine, row-major, with this result. Values of the strict mode,
    /// integers and `bool` must be equal bit by bit, except that all NaNs are equal. Floats of the
    /// relaxed mode are compared as `exactness` says; don't-care values are skipped.
    ///
    /// # Errors
    /// Returns an error if the number of values differs, otherwise the first value that differs.
    pub fn compare(&self, found: &[Scalar], exactness: Exactness) -> Result<ComparisonCounts, Mismatch> {
        if found.len() != self.values.len() {
            return Err(Mismatch::Count { expected: self.values.len(), found: found.len() });
        }
        let mut counts = ComparisonCounts::default();
        for (k, (expected, found)) in self.values.iter().zip(found).enumerate() {
            let mut leaves = Vec::new();
            expected.leaves(&mut leaves);
            let parts = found.flatten();
            let agree = expected.dtype() == found.dtype()
                && leaves.iter().zip(&parts).all(|(e, f)| e.is_dont_care() || self.agree(e, f, exactness));
            if !agree {
                return Err(Mismatch::Value {
                    coordinates: all_coordinates(&self.shape).nth(k).expect("every value has coordinates"),
                    expected: expected.scalar(),
                    error: if exactness == Exactness::Exact { 0.0 } else { expected.error() },
                    found: found.clone(),
                });
            }
            *(if expected.is_dont_care() { &mut counts.skipped } else { &mut counts.equal }) += 1;
        }
        Ok(counts)
    }

    fn agree(&self, expected: &BoundedValue, found: &Scalar, exactness: Exactness) -> bool {
        let Datum::Float(approx) = &expected.0 else { return expected.scalar() == *found };
        debug_assert_eq!(self.mode, FloatMode::Relaxed, "floats of the strict mode are exact");
        let (rounded, found) = (approx.scalar().to_f64(), found.to_f64());
        let (Some(rounded), Some(found)) = (rounded, found) else { return false };
        let near = || exactness == Exactness::Bounded && approx.value().distance(found) <= approx.bound();
        rounded == found || (rounded.is_finite() && found.is_finite() && near())
    }
}
