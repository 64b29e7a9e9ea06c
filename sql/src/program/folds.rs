//! The folds that the columns of a region's result are made of, each once.

use super::fold::Fold;
use crate::claim::{Aggregate, End, LeafColumn, Number, Region, Sum};
use crate::encode::Encoded;
use crate::error::Result;

/// How a column of the result is made of folds, by their numbers.
#[derive(Clone, PartialEq, Debug)]
pub enum Output {
    /// A number of rows.
    Count(usize),
    /// A sum of terms, each added or subtracted; NULL where the number of rows is 0.
    Sum {
        /// The terms, with whether they are subtracted.
        terms: Vec<(bool, usize)>,
        /// The numbers.
        number: Number,
        /// The number of rows; `None` where every group has one.
        rows: Option<usize>,
    },
    /// As a sum, over the number of rows.
    Average {
        /// The terms, with whether they are subtracted.
        terms: Vec<(bool, usize)>,
        /// The number of rows.
        rows: usize,
    },
    /// The sum of limbs, or its mean over the rows; NULL where the number of rows is 0.
    Decimal {
        /// The limbs: whether they are subtracted, where their bits start, the fold.
        limbs: Vec<(bool, u32, usize)>,
        /// The digits behind the point of what is summed.
        scale: i8,
        /// The number of rows.
        rows: usize,
        /// Whether the mean is asked for.
        mean: bool,
    },
    /// The value of a code; NULL where it is 0.
    Extreme {
        /// The codes.
        fold: usize,
        /// The column whose values they stand for.
        column: LeafColumn,
        /// The end towards which they grow.
        end: End,
    },
}

/// The folds of a region.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Folds {
    /// The folds.
    pub folds: Vec<Fold>,
    /// The columns of the result that are no groups.
    pub outputs: Vec<Output>,
    /// The fold that is not 0 where a group has rows; `None` for a region without groups, which has one row.
    pub presence: Option<usize>,
}

impl Folds {
    /// The folds of a region over those rows.
    ///
    /// # Errors
    /// When a sum does not fit the numbers of kernels.
    pub fn new(region: &Region, encoded: &Encoded) -> Result<Folds> {
        let mut folds = Folds::default();
        let valid_of = |valid: &[LeafColumn]| valid.iter().copied().filter(|&c| encoded.has_nulls(c)).collect();
        for aggregate in &region.aggregates {
            let output = match aggregate {
                Aggregate::Count(valid) => Output::Count(folds.number(Fold::Count { valid: valid_of(valid) })),
                Aggregate::Sum(Sum { ty: Number::Decimal(scale), terms, valid })
                | Aggregate::Average(Sum { ty: Number::Decimal(scale), terms, valid }) => {
                    let valid: Vec<LeafColumn> = valid_of(valid);
                    let rows = folds.number(Fold::Count { valid: valid.clone() });
                    let mut limbs = Vec::new();
                    for term in terms {
                        for limb in encoded.limbs(region, term.factors[0])? {
                            let factors = term.factors.clone();
                            let valid = valid.clone();
                            let fold = Fold::Sum { factors, valid, number: Number::I64, limb: Some(limb) };
                            limbs.push((term.negative, limb.shift, folds.number(fold)));
                        }
                    }
                    let mean = matches!(aggregate, Aggregate::Average(_));
                    Output::Decimal { limbs, scale: *scale, rows, mean }
                }
                Aggregate::Sum(sum) => {
                    let valid: Vec<LeafColumn> = valid_of(&sum.valid);
                    let always = valid.is_empty() && !region.groups.is_empty();
                    let rows = if always { None } else { Some(folds.number(Fold::Count { valid: valid.clone() })) };
                    Output::Sum { terms: folds.terms(sum, &valid), number: sum.ty, rows }
                }
                Aggregate::Average(sum) => {
                    let valid: Vec<LeafColumn> = valid_of(&sum.valid);
                    let rows = folds.number(Fold::Count { valid: valid.clone() });
                    Output::Average { terms: folds.terms(sum, &valid), rows }
                }
                Aggregate::Extreme { end, column, valid } => {
                    let mut valid = valid.clone();
                    valid.push(*column);
                    let fold = Fold::Extreme { end: *end, column: *column, valid: valid_of(&valid) };
                    Output::Extreme { fold: folds.number(fold), column: *column, end: *end }
                }
                Aggregate::CountDistinct { field, column, valid } => {
                    let valid = valid_of(&[&valid[..], &[*column]].concat());
                    Output::Count(folds.number(Fold::CountDistinct { field: *field, valid }))
                }
                Aggregate::OverDistinct { field, column, valid, ty, mean } => {
                    let valid: Vec<LeafColumn> = valid_of(&[&valid[..], &[*column]].concat());
                    let rows = folds.number(Fold::CountDistinct { field: *field, valid: valid.clone() });
                    let sum = folds.number(Fold::SumDistinct { field: *field, valid, number: *ty });
                    match mean {
                        true => Output::Average { terms: vec![(false, sum)], rows },
                        false => Output::Sum { terms: vec![(false, sum)], number: *ty, rows: Some(rows) },
                    }
                }
            };
            folds.outputs.push(output);
        }
        if !region.groups.is_empty() {
            let counts = folds.folds.iter().any(|f| matches!(f, Fold::Count { .. } | Fold::Sum { .. }));
            let presence = if counts { Fold::Count { valid: Vec::new() } } else { Fold::Exists };
            folds.presence = Some(folds.number(presence));
        }
        Ok(folds)
    }

    /// The number of a fold.
    fn number(&mut self, fold: Fold) -> usize {
        self.folds.iter().position(|f| *f == fold).unwrap_or_else(|| {
            self.folds.push(fold);
            self.folds.len() - 1
        })
    }

    fn terms(&mut self, sum: &Sum, valid: &[LeafColumn]) -> Vec<(bool, usize)> {
        let fold = |factors: &Vec<LeafColumn>| Fold::Sum {
            factors: factors.clone(),
            valid: valid.to_vec(),
            number: sum.ty,
            limb: None,
        };
        sum.terms.iter().map(|term| (term.negative, self.number(fold(&term.factors)))).collect()
    }
}
