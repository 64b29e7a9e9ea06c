//! Integers of 128 bits as sums of limbs that kernels add in 64 bits.
//!
//! A value is the sum of `limb k * 2^(k * width)` over all `k`. All limbs except the last are at
//! least 0 and below `2^width`; the last limb has the sign. Sums are linear, so the sum of a column
//! follows from the sums of its limbs. A sum over all rows of the join must fit 64 bits, so the
//! width depends on an upper bound of the number of rows. The limbs of a product's factors share
//! the available bits.

use super::EncodedJoin;
use crate::claim::{GroupedJoin, LeafColumn};
use crate::error::{FallbackReason, Result};
use datafusion::arrow::array::{Array, AsArray};
use datafusion::arrow::datatypes::Decimal128Type;

/// A limb of a column.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Limb {
    /// The lowest bit of the limb.
    pub shift: u32,
    /// Number of bits; `None` for the last limb, which has the remaining bits and the sign.
    pub width: Option<u32>,
}

impl Limb {
    /// Returns this limb of a value.
    pub fn extract(self, value: i128) -> i64 {
        let rest = value >> self.shift;
        match self.width {
            Some(width) => (rest & ((1 << width) - 1)) as i64,
            None => rest as i64,
        }
    }
}

/// The smallest width of limbs for which one fold per limb pays.
const MIN_WIDTH: u32 = 8;

impl EncodedJoin {
    /// Returns the number of bits that the limbs of a product's factors may have together without
    /// overflow of the sum over all rows of the join.
    ///
    /// # Errors
    /// If a tensor cannot be read.
    pub fn limb_bits(&self, join: &GroupedJoin) -> Result<u32> {
        let rows = self.max_rows(join)?;
        Ok(62u32.saturating_sub(u128::BITS - rows.leading_zeros()))
    }

    /// Returns the limbs of a decimal column, of at most `bits_per_limb` bits each.
    ///
    /// # Errors
    /// If the column does not have decimals, `bits_per_limb` is too small, or a tensor cannot be
    /// read.
    ///
    /// # Panics
    /// If the leaf is a tensor.
    pub fn limbs(&self, join: &GroupedJoin, column: LeafColumn, bits_per_limb: u32) -> Result<Vec<Limb>> {
        let array = self.rows(column.leaf).expect("the leaf has rows").column(column.column);
        let ty = || array.data_type().clone();
        let values = array
            .as_primitive_opt::<Decimal128Type>()
            .ok_or_else(|| FallbackReason::Unsupported { value: "a factor".into(), ty: ty() })?;
        let bits = values.iter().flatten().map(|v| 128 - v.unsigned_abs().leading_zeros()).max().unwrap_or(0);
        if bits <= bits_per_limb {
            return Ok(vec![Limb { shift: 0, width: None }]);
        }
        if bits_per_limb < MIN_WIDTH {
            return Err(FallbackReason::TooManyRows { ty: ty(), rows: self.max_rows(join)? }.into());
        }
        let shifts: Vec<u32> = (0..bits).step_by(bits_per_limb as usize).collect();
        let limb = |(k, &shift): (usize, &u32)| Limb { shift, width: (k + 1 < shifts.len()).then_some(bits_per_limb) };
        Ok(shifts.iter().enumerate().map(limb).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Limbs preserve the sign and every bit of a value.
    #[test]
    fn limbs_add_up_to_the_value() {
        let limbs =
            [Limb { shift: 0, width: Some(40) }, Limb { shift: 40, width: Some(40) }, Limb { shift: 80, width: None }];
        for value in [0, 1, -1, 1 << 39, -(1 << 40), (1 << 120) - 7, -(1 << 120) + 7, i128::from(i64::MIN)] {
            let sum: i128 = limbs.iter().map(|limb| i128::from(limb.extract(value)) << limb.shift).sum();
            assert_eq!(sum, value);
        }
    }
}
