//! The folds from which the result columns of a region are computed, without duplicates.

use super::fold::JoinFold;
use crate::claim::{Aggregate, Extremum, LeafColumn, Region, SumOfProducts, SumTerm};
use crate::encode::{EncodedRegion, Limb};
use crate::error::Result;
use crate::number::Number;
use datafusion::arrow::datatypes::DataType;

/// The computation of a result column from folds, which are given by index.
#[derive(Clone, PartialEq, Debug)]
pub enum ResultColumn {
    /// A number of rows.
    Count(usize),
    /// A sum of terms, each added or subtracted; NULL if the number of rows is 0.
    Sum {
        /// The terms; true for those that are subtracted.
        terms: Vec<(bool, usize)>,
        /// The number type.
        number: Number,
        /// Folds whose sum is the number of rows; `None` if every group has a row.
        rows: Option<Vec<usize>>,
    },
    /// A sum, divided by the number of rows.
    Average {
        /// The terms; true for those that are subtracted.
        terms: Vec<(bool, usize)>,
        /// Folds whose sum is the number of rows.
        rows: Vec<usize>,
    },
    /// The sum of limbs, or its mean over the rows; NULL if the number of rows is 0.
    Decimal {
        /// The limbs.
        limbs: Vec<LimbSum>,
        /// The scale of the sum, in decimal digits after the point.
        scale: i8,
        /// Folds whose sum is the number of rows.
        rows: Vec<usize>,
        /// True for the mean.
        mean: bool,
    },
    /// The value of a code; NULL if the code is 0.
    Extreme {
        /// The fold of codes.
        fold: usize,
        /// The column of the values.
        column: LeafColumn,
        /// The minimum or maximum.
        extremum: Extremum,
    },
}

/// A sum of a product of limbs.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct LimbSum {
    /// True if the product is subtracted.
    pub negative: bool,
    /// The exponent of 2 by which the sum is multiplied.
    pub shift: u32,
    /// The scale of the sum minus that of the term, in decimal digits.
    pub digits: u32,
    /// The fold.
    pub fold: usize,
}

/// The folds of a region.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct RegionFolds {
    /// The folds.
    pub folds: Vec<JoinFold>,
    /// The result columns that are not groups, in order.
    pub columns: Vec<ResultColumn>,
    /// The fold that is not 0 for groups with rows; `None` for a region without groups, whose
    /// result is one row.
    pub presence: Option<usize>,
}

impl RegionFolds {
    /// Returns the folds of a region over its encoded rows.
    ///
    /// # Errors
    /// If the values of an aggregate do not fit kernels.
    pub fn new(region: &Region, encoded: &EncodedRegion) -> Result<RegionFolds> {
        let mut folds = RegionFolds::default();
        let valid_of = |valid: &[LeafColumn]| valid.iter().copied().filter(|&c| encoded.has_nulls(c)).collect();
        for (k, aggregate) in region.aggregates.iter().enumerate() {
            let column = match aggregate {
                Aggregate::Count(valid) => {
                    ResultColumn::Count(folds.fold_index(JoinFold::Count { valid: valid_of(valid) }))
                }
                Aggregate::Sum(sum) | Aggregate::Average(sum) => {
                    encoded.check_sum(region, sum)?;
                    let mean = matches!(aggregate, Aggregate::Average(_));
                    folds.sum((region, encoded), sum, mean)?
                }
                Aggregate::Extreme { extremum, column, valid } => {
                    encoded.check_ordered(region, *column)?;
                    let mut valid = valid.clone();
                    valid.push(*column);
                    let fold = JoinFold::Extreme { extremum: *extremum, column: *column, valid: valid_of(&valid) };
                    ResultColumn::Extreme { fold: folds.fold_index(fold), column: *column, extremum: *extremum }
                }
                Aggregate::Fold { semiring, factors, valid } => {
                    encoded.check_finite(region, factors)?;
                    let valid: Vec<LeafColumn> = valid_of(valid);
                    let rows = folds.fold_index(JoinFold::Count { valid: valid.clone() });
                    let fold = JoinFold::Semiring { aggregate: k, valid };
                    let (terms, number) = (vec![(false, folds.fold_index(fold))], semiring.number());
                    ResultColumn::Sum { terms, number, rows: Some(vec![rows]) }
                }
                Aggregate::CountDistinct { field, column, valid } => {
                    let valid = valid_of(&[&valid[..], &[*column]].concat());
                    ResultColumn::Count(folds.fold_index(JoinFold::CountDistinct { field: *field, valid }))
                }
                Aggregate::SumDistinct { field, column, valid, ty, mean } => {
                    let valid: Vec<LeafColumn> = valid_of(&[&valid[..], &[*column]].concat());
                    let rows = folds.fold_index(JoinFold::CountDistinct { field: *field, valid: valid.clone() });
                    let sum = folds.fold_index(JoinFold::SumDistinct { field: *field, valid, number: *ty });
                    match (*ty, mean) {
                        (Number::Decimal(scale), _) => {
                            encoded.check_distinct(region, *field, *column)?;
                            let limbs = vec![LimbSum { negative: false, shift: 0, digits: 0, fold: sum }];
                            ResultColumn::Decimal { limbs, scale, rows: vec![rows], mean: *mean }
                        }
                        (_, true) => ResultColumn::Average { terms: vec![(false, sum)], rows: vec![rows] },
                        (number, false) => {
                            ResultColumn::Sum { terms: vec![(false, sum)], number, rows: Some(vec![rows]) }
                        }
                    }
                }
            };
            folds.columns.push(column);
        }
        if !region.groups.is_empty() {
            let counts = folds.folds.iter().any(|f| matches!(f, JoinFold::Count { .. } | JoinFold::Sum { .. }));
            let presence = if counts { JoinFold::Count { valid: Vec::new() } } else { JoinFold::Presence };
            folds.presence = Some(folds.fold_index(presence));
        }
        Ok(folds)
    }

    /// Returns the index of a fold, and adds it if there is none.
    fn fold_index(&mut self, fold: JoinFold) -> usize {
        self.folds.iter().position(|f| *f == fold).unwrap_or_else(|| {
            self.folds.push(fold);
            self.folds.len() - 1
        })
    }

    /// Adds the folds of a product of decimals: one for each combination of limbs of the factors.
    fn limbs(
        &mut self,
        (region, encoded): (&Region, &EncodedRegion),
        scale: i8,
        term: &SumTerm,
        valid: &[LeafColumn],
    ) -> Result<Vec<LimbSum>> {
        let scale_of = |c: &LeafColumn| match region.column(*c).ty {
            DataType::Decimal128(_, scale) => i32::from(scale),
            _ => 0,
        };
        let digits = i32::from(scale) - term.factors.iter().map(scale_of).sum::<i32>();
        let digits = u32::try_from(digits).expect("the scale of a sum is the largest of its terms");
        let bits_per_limb = encoded.limb_bits(region)? / term.factors.len() as u32;
        let mut choices: Vec<Vec<Limb>> = vec![Vec::new()];
        for factor in &term.factors {
            let limbs = encoded.limbs(*factor, bits_per_limb)?;
            choices = choices.iter().flat_map(|c| limbs.iter().map(|l| [&c[..], &[*l]].concat())).collect();
        }
        let limb = |limbs: Vec<Limb>| {
            let shift = limbs.iter().map(|limb| limb.shift).sum();
            let (factors, valid) = (term.factors.clone(), valid.to_vec());
            let fold = self.fold_index(JoinFold::Sum { factors, valid, number: Number::I64, limbs });
            LimbSum { negative: term.negative, shift, digits, fold }
        };
        Ok(choices.into_iter().map(limb).collect())
    }

    /// Adds the folds of a sum or mean.
    fn sum(
        &mut self,
        (region, encoded): (&Region, &EncodedRegion),
        sum: &SumOfProducts,
        mean: bool,
    ) -> Result<ResultColumn> {
        let with_nulls = |columns: &[LeafColumn]| {
            let nullable = columns.iter().copied().filter(|&c| encoded.has_nulls(c));
            nullable.collect::<Vec<LeafColumn>>()
        };
        let (mut terms, mut limbs, mut rows) = (Vec::new(), Vec::new(), Vec::new());
        let mut counts_all = sum.covers;
        for case in &sum.cases {
            let mut valid = with_nulls(&case.valid);
            counts_all &= valid.is_empty();
            valid.extend(with_nulls(&case.guards));
            valid.sort_unstable();
            valid.dedup();
            rows.push(valid.clone());
            for term in &case.terms {
                if let Number::Decimal(scale) = sum.ty {
                    limbs.extend(self.limbs((region, encoded), scale, term, &valid)?);
                    continue;
                }
                let factors = term.factors.clone();
                let fold = JoinFold::Sum { factors, valid: valid.clone(), number: sum.ty, limbs: Vec::new() };
                terms.push((term.negative, self.fold_index(fold)));
            }
        }
        if counts_all {
            rows = vec![Vec::new()];
        }
        let is_never_null = counts_all && !mean && !region.groups.is_empty() && !matches!(sum.ty, Number::Decimal(_));
        if is_never_null {
            return Ok(ResultColumn::Sum { terms, number: sum.ty, rows: None });
        }
        let mut rows: Vec<usize> = rows.into_iter().map(|valid| self.fold_index(JoinFold::Count { valid })).collect();
        // Cases with the same columns count the same rows.
        rows.sort_unstable();
        rows.dedup();
        Ok(match sum.ty {
            Number::Decimal(scale) => ResultColumn::Decimal { limbs, scale, rows, mean },
            _ if mean => ResultColumn::Average { terms, rows },
            number => ResultColumn::Sum { terms, number, rows: Some(rows) },
        })
    }
}
