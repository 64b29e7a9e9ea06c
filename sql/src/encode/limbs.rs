//! Integers of 128 bits as sums of limbs that kernels can add up in 64 bits.
//!
//! `v = sum over k of limb k * 2^(k * width)`: all limbs but the last are below `2^width` and not negative, the last has the
//! sign. Sums are linear, so the sum of a column is that of the sums of its limbs. The width leaves room for as many rows
//! as the join can have; the limbs of several factors share it.

use super::Encoded;
use crate::claim::{LeafColumn, Region};
use crate::error::{Error, Left, Result};
use datafusion::arrow::array::{Array, AsArray};
use datafusion::arrow::datatypes::Decimal128Type;

/// One of the limbs of a column.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Limb {
    /// Its bits start there.
    pub shift: u32,
    /// How many bits it has; `None` for the last, which has all the rest and the sign.
    pub width: Option<u32>,
}

impl Limb {
    /// The limb of a value.
    pub fn of(self, value: i128) -> i64 {
        let rest = value >> self.shift;
        match self.width {
            Some(width) => (rest & ((1 << width) - 1)) as i64,
            None => rest as i64,
        }
    }
}

/// Fewer bits than these a limb are not worth a fold each.
const NARROWEST: u32 = 8;

impl Encoded {
    /// How many bits the limbs of so many factors of a product may have together, so that all rows of the join can be added
    /// up.
    ///
    /// # Errors
    /// When a tensor cannot be read.
    pub fn room(&self, region: &Region) -> Result<u32> {
        let rows = self.most_rows(region)?;
        Ok(62u32.saturating_sub(u128::BITS - rows.leading_zeros()))
    }

    /// The limbs of a decimal column, of at most so many bits each.
    ///
    /// # Errors
    /// When that is too little.
    pub fn limbs(&self, column: LeafColumn, room: u32) -> Result<Vec<Limb>> {
        let array = self.rows(column.leaf).expect("the leaf has rows").column(column.column);
        let unfit =
            || Error::Left(Left::Unfit { what: "a sum over so many rows".into(), ty: array.data_type().clone() });
        let values = array.as_primitive_opt::<Decimal128Type>().ok_or_else(unfit)?;
        let bits = values.iter().flatten().map(|v| 128 - v.unsigned_abs().leading_zeros()).max().unwrap_or(0);
        if bits <= room {
            return Ok(vec![Limb { shift: 0, width: None }]);
        }
        if room < NARROWEST {
            return Err(unfit());
        }
        let shifts: Vec<u32> = (0..bits).step_by(room as usize).collect();
        let limb = |(k, &shift): (usize, &u32)| Limb { shift, width: (k + 1 < shifts.len()).then_some(room) };
        Ok(shifts.iter().enumerate().map(limb).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Protects the sign and every bit of what is cut.
    #[test]
    fn limbs_add_up_to_the_value() {
        let limbs =
            [Limb { shift: 0, width: Some(40) }, Limb { shift: 40, width: Some(40) }, Limb { shift: 80, width: None }];
        for value in [0, 1, -1, 1 << 39, -(1 << 40), (1 << 120) - 7, -(1 << 120) + 7, i128::from(i64::MIN)] {
            let sum: i128 = limbs.iter().map(|limb| i128::from(limb.of(value)) << limb.shift).sum();
            assert_eq!(sum, value);
        }
    }
}
