//! Sums and means of decimals. Each factor is split into limbs, and kernels add up products of
//! limbs in 64 bits.

use super::columns::{ScaledFold, SumKind};
use super::sum::SumTerm;
use crate::claim::LeafColumn;
use crate::encode::{EncodedRows, Limb};
use crate::error::{Error, FallbackReason, Result};
use crate::number::Number;
use crate::program::{FoldId, FoldList, JoinFold};
use crate::results::{FoldValues, ResultColumn, SignedFold};
use datafusion::arrow::array::{ArrayRef, Decimal128Array};
use datafusion::arrow::datatypes::DataType;
use std::sync::Arc;

/// Adds the folds of a product of decimals, one for each combination of limbs of the factors, and
/// returns these folds as terms of the sum. `scale` is the scale of the sum.
pub(super) fn limb_sums(
    EncodedRows { join, encoded }: EncodedRows<'_>,
    folds: &mut FoldList,
    (term, scale): (&SumTerm, i8),
    valid: &[LeafColumn],
) -> Result<Vec<ScaledFold>> {
    let scale_of = |c: &LeafColumn| match join.column(*c).ty {
        DataType::Decimal128(_, scale) => i32::from(scale),
        _ => 0,
    };
    let digits = i32::from(scale) - term.factors.iter().map(scale_of).sum::<i32>();
    let digits = u32::try_from(digits).expect("the scale of a sum is the largest of its terms");
    let bits_per_limb = encoded.limb_bits(join)? / term.factors.len() as u32;
    let mut choices: Vec<Vec<Limb>> = vec![Vec::new()];
    for factor in &term.factors {
        let limbs = encoded.limbs(join, *factor, bits_per_limb)?;
        choices = choices.iter().flat_map(|c| limbs.iter().map(|l| [&c[..], &[*l]].concat())).collect();
    }
    let limb_sum = |limbs: Vec<Limb>| {
        let shift = limbs.iter().map(|limb| limb.shift).sum();
        let (factors, valid) = (term.factors.clone(), valid.to_vec());
        let fold = folds.find_or_add(JoinFold::Sum { factors, valid, number: Number::I64, limbs });
        ScaledFold { term: SignedFold { negative: term.negative, fold }, shift, digits }
    };
    Ok(choices.into_iter().map(limb_sum).collect())
}

/// A sum of decimals, or their mean; NULL if the number of summed values is 0.
#[derive(Debug)]
pub(super) struct DecimalColumn {
    /// The folds of the terms. A term has a fold for each combination of limbs of its factors, and
    /// a sum of distinct values has one fold.
    pub(super) terms: Vec<ScaledFold>,
    /// The scale of the sum, in decimal digits after the point.
    pub(super) scale: i8,
    /// Folds whose sum is the number of summed values.
    pub(super) rows: Vec<FoldId>,
    /// The sum itself, or the mean.
    pub(super) kind: SumKind,
}

impl ResultColumn for DecimalColumn {
    fn column(&self, values: &FoldValues<'_>, ty: &DataType) -> Result<ArrayRef> {
        let rows = values.row_counts(&self.rows);
        let mut sums = vec![0i128; rows.len()];
        for &ScaledFold { term: SignedFold { negative, fold }, shift, digits } in &self.terms {
            let power = 10i128.wrapping_pow(digits);
            for (sum, &limb) in sums.iter_mut().zip(values.i64_values(fold).iter()) {
                // Sums wrap at 128 bits, as in DataFusion.
                let value = i128::from(limb).unbounded_shl(shift).wrapping_mul(power);
                *sum = if negative { sum.wrapping_sub(value) } else { sum.wrapping_add(value) };
            }
        }
        let unsupported =
            || Error::Fallback(FallbackReason::Unsupported { value: "a mean of decimals".into(), ty: ty.clone() });
        let &DataType::Decimal128(precision, to) = ty else { return Err(unsupported()) };
        let value = |(&sum, &rows): (&i128, &i64)| match (rows, self.kind) {
            (0, _) => Ok(None),
            (_, SumKind::Sum) => Ok(Some(sum)),
            (rows, SumKind::Mean) => {
                let digits = u32::try_from(i32::from(to) - i32::from(self.scale)).map_err(|_| unsupported())?;
                let scaled =
                    10i128.checked_pow(digits).and_then(|power| sum.checked_mul(power)).ok_or_else(unsupported)?;
                Ok(Some(scaled / i128::from(rows)))
            }
        };
        let values: Decimal128Array = sums.iter().zip(rows.iter()).map(value).collect::<Result<_>>()?;
        Ok(Arc::new(values.with_precision_and_scale(precision, to)?))
    }
}
