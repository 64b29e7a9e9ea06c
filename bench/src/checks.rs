//! Checksums of results. Every side computes the sums of its own results, so that results are
//! compared without transferring them.
//!
//! `bench/peers/sums.py` computes the same sums in Python.

use anyhow::{Result, ensure};
use redpoll_storage::Tensor;
use serde::{Deserialize, Serialize};

/// The checksums of one result.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Sums {
    /// The size of each mode.
    pub shape: Vec<u64>,
    /// Number of values that differ from the fill value.
    pub count: u64,
    /// The sum of these values.
    pub sum: f64,
    /// The sum of the absolute values; `mass` in JSON.
    #[serde(rename = "mass")]
    pub absolute_sum: f64,
    /// The sum of the values, each times the [`weight`] of its coordinates.
    pub weighted: f64,
}

/// Returns the weight of the coordinates with row-major number `number`, a hash of `number + 1`.
/// Weights are multiples of `2^-20` below 1, so that their products with small integers are exact.
/// The addition of 1 avoids weight 0 for the value of a scalar, whose number is 0.
pub fn weight(number: u64) -> f64 {
    ((number.wrapping_add(1)).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 44) as f64 / f64::from(1 << 20)
}

impl Sums {
    /// Computes the sums over all values of a tensor that differ from `fill`.
    ///
    /// # Errors
    /// If the values are structs, or if the fill value of the tensor differs from `fill` and some
    /// values are not stored.
    pub fn of(tensor: &Tensor, fill: f64) -> Result<Sums> {
        let shape = tensor.ty().shape.clone();
        ensure!(tensor.ty().dtype.prim().is_some(), "expected a result of numbers, found {}", tensor.ty().dtype);
        let mut sums = Sums { shape: shape.clone(), count: 0, sum: 0.0, absolute_sum: 0.0, weighted: 0.0 };
        let leaf = tensor.leaf().first();
        let reals = leaf.and_then(|leaf| leaf.as_slice::<f64>());
        let mut stored = 0;
        tensor.for_each_stored(|coordinates, position| {
            stored += 1;
            let value = match reals {
                Some(reals) => reals[position as usize],
                None => tensor.value_at(position).to_f64().unwrap_or(f64::NAN),
            };
            if value != fill {
                let number = coordinates.iter().zip(&shape).fold(0u64, |n, (i, d)| n.wrapping_mul(*d).wrapping_add(*i));
                sums.add(value, number);
            }
        });
        let tensor_fill = tensor.ty().fill.to_f64().unwrap_or(f64::NAN);
        let elements: u128 = shape.iter().map(|d| u128::from(*d)).product();
        ensure!(
            tensor_fill == fill || elements == stored,
            "the result has the fill value {tensor_fill}, expected {fill}"
        );
        Ok(sums)
    }

    /// Adds a value that differs from the fill value; `number` is the row-major number of its
    /// coordinates.
    pub fn add(&mut self, value: f64, number: u64) {
        self.count += 1;
        self.sum += value;
        self.absolute_sum += value.abs();
        self.weighted += value * weight(number);
    }

    /// Describes the first difference in the shape, the count or a sum, or returns `None`. Sums may
    /// differ by `tolerance` times the sum of absolute values.
    pub fn difference(&self, other: &Sums, tolerance: f64) -> Option<String> {
        if self.shape != other.shape {
            return Some(format!("shape {:?}, expected {:?}", self.shape, other.shape));
        }
        // Rounding may turn a value into the fill value, so counts of rounded results may differ
        // slightly.
        if self.count != other.count && (tolerance < ROUNDED || self.count.abs_diff(other.count) > self.count / 1000) {
            return Some(format!("{} values, expected {}", self.count, other.count));
        }
        let close = |a: f64, b: f64| (a - b).abs() <= tolerance * self.absolute_sum.max(other.absolute_sum) || a == b;
        let fields = [
            ("sum", self.sum, other.sum),
            ("sum of absolute values", self.absolute_sum, other.absolute_sum),
            ("weighted sum", self.weighted, other.weighted),
        ];
        let different = fields.into_iter().find(|(_, a, b)| !close(*a, *b))?;
        Some(format!("{} {}, expected {}", different.0, different.1, different.2))
    }
}

/// The tolerance of exact results, whose checksums still depend on the order of additions.
pub const EXACT: f64 = 1e-12;
/// The tolerance of rounded results in `f64`.
pub const ROUNDED: f64 = 1e-9;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arrays::{Csr, dense};

    #[test]
    fn sums_do_not_depend_on_the_format() {
        let matrix = Csr::from_coordinates(2, 3, &[(0, 1), (1, 0), (1, 2)], vec![2.0, -3.0, 5.0]).to_tensor().unwrap();
        let same = dense(&[2, 3], &[0.0, 2.0, 0.0, -3.0, 0.0, 5.0]).unwrap();
        let sums = Sums::of(&matrix, 0.0).unwrap();
        assert_eq!(sums, Sums::of(&same, 0.0).unwrap());
        assert_eq!((sums.count, sums.sum, sums.absolute_sum), (3, 4.0, 10.0));
        assert_eq!(sums.weighted, 2.0 * weight(1) - 3.0 * weight(3) + 5.0 * weight(5));
    }

    #[test]
    fn values_at_wrong_coordinates_differ() {
        let sums = |values: [f64; 4]| Sums::of(&dense(&[2, 2], &values).unwrap(), 0.0).unwrap();
        let right = sums([1.0, 2.0, 3.0, 0.0]);
        assert_eq!(right.difference(&right, EXACT), None);
        for wrong in [[2.0, 1.0, 3.0, 0.0], [1.0, 2.0, 0.0, 3.0], [1.0, 2.0, 3.0, 1.0], [1.0, 2.0, -3.0, 0.0]] {
            assert!(right.difference(&sums(wrong), EXACT).is_some(), "{wrong:?}");
        }
        let rounded = sums([1.0 + 1e-12, 2.0, 3.0, 0.0]);
        assert_eq!(right.difference(&rounded, ROUNDED), None);
    }
}
