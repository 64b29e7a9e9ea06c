//! The folds that the columns of a region's result are made of, each once.

use super::fold::Fold;
use crate::claim::{Aggregate, End, LeafColumn, Number, Region, Sum, Term};
use crate::encode::{Encoded, Limb};
use crate::error::Result;
use datafusion::arrow::datatypes::DataType;

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
        /// The limbs.
        limbs: Vec<LimbSum>,
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

/// The sum of a product of limbs.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct LimbSum {
    /// Whether it is subtracted.
    pub negative: bool,
    /// Where its bits start.
    pub shift: u32,
    /// By how many digits its term has fewer behind the point than the sum.
    pub digits: u32,
    /// The fold.
    pub fold: usize,
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
                Aggregate::Sum(sum @ Sum { ty: Number::Decimal(scale), .. })
                | Aggregate::Average(sum @ Sum { ty: Number::Decimal(scale), .. }) => {
                    let valid: Vec<LeafColumn> = valid_of(&sum.valid);
                    let rows = folds.number(Fold::Count { valid: valid.clone() });
                    let mut limbs = Vec::new();
                    for term in &sum.terms {
                        limbs.extend(folds.limbs((region, encoded), *scale, term, &valid)?);
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

    /// The folds of a product of decimals: one for each choice of a limb of each factor.
    fn limbs(
        &mut self,
        (region, encoded): (&Region, &Encoded),
        scale: i8,
        term: &Term,
        valid: &[LeafColumn],
    ) -> Result<Vec<LimbSum>> {
        let scale_of = |c: &LeafColumn| match region.column(*c).ty {
            DataType::Decimal128(_, scale) => i32::from(scale),
            _ => 0,
        };
        let digits = i32::from(scale) - term.factors.iter().map(scale_of).sum::<i32>();
        let digits = u32::try_from(digits).expect("a sum has the most digits of its terms");
        let room = encoded.room(region)? / term.factors.len() as u32;
        let mut choices: Vec<Vec<Limb>> = vec![Vec::new()];
        for factor in &term.factors {
            let limbs = encoded.limbs(*factor, room)?;
            choices = choices.iter().flat_map(|c| limbs.iter().map(|l| [&c[..], &[*l]].concat())).collect();
        }
        let limb = |limbs: Vec<Limb>| {
            let shift = limbs.iter().map(|limb| limb.shift).sum();
            let (factors, valid) = (term.factors.clone(), valid.to_vec());
            let fold = self.number(Fold::Sum { factors, valid, number: Number::I64, limbs });
            LimbSum { negative: term.negative, shift, digits, fold }
        };
        Ok(choices.into_iter().map(limb).collect())
    }

    fn terms(&mut self, sum: &Sum, valid: &[LeafColumn]) -> Vec<(bool, usize)> {
        let fold = |factors: &Vec<LeafColumn>| Fold::Sum {
            factors: factors.clone(),
            valid: valid.to_vec(),
            number: sum.ty,
            limbs: Vec::new(),
        };
        sum.terms.iter().map(|term| (term.negative, self.number(fold(&term.factors)))).collect()
    }
}
