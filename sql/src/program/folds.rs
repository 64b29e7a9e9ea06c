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
        /// The numbers of rows, which add up; `None` where every group has one.
        rows: Option<Vec<usize>>,
    },
    /// As a sum, over the number of rows.
    Average {
        /// The terms, with whether they are subtracted.
        terms: Vec<(bool, usize)>,
        /// The numbers of rows, which add up.
        rows: Vec<usize>,
    },
    /// The sum of limbs, or its mean over the rows; NULL where the number of rows is 0.
    Decimal {
        /// The limbs.
        limbs: Vec<LimbSum>,
        /// The digits behind the point of what is summed.
        scale: i8,
        /// The numbers of rows, which add up.
        rows: Vec<usize>,
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
        for (k, aggregate) in region.aggregates.iter().enumerate() {
            let output = match aggregate {
                Aggregate::Count(valid) => Output::Count(folds.number(Fold::Count { valid: valid_of(valid) })),
                Aggregate::Sum(sum) | Aggregate::Average(sum) => {
                    encoded.check(region, sum)?;
                    let mean = matches!(aggregate, Aggregate::Average(_));
                    folds.sum((region, encoded), sum, mean)?
                }
                Aggregate::Extreme { end, column, valid } => {
                    encoded.check_ordered(region, *column)?;
                    let mut valid = valid.clone();
                    valid.push(*column);
                    let fold = Fold::Extreme { end: *end, column: *column, valid: valid_of(&valid) };
                    Output::Extreme { fold: folds.number(fold), column: *column, end: *end }
                }
                Aggregate::Fold { semiring, factors, valid } => {
                    encoded.check_finite(region, factors)?;
                    let valid: Vec<LeafColumn> = valid_of(valid);
                    let rows = folds.number(Fold::Count { valid: valid.clone() });
                    let fold = Fold::Semiring { aggregate: k, valid };
                    let (terms, number) = (vec![(false, folds.number(fold))], semiring.number());
                    Output::Sum { terms, number, rows: Some(vec![rows]) }
                }
                Aggregate::CountDistinct { field, column, valid } => {
                    let valid = valid_of(&[&valid[..], &[*column]].concat());
                    Output::Count(folds.number(Fold::CountDistinct { field: *field, valid }))
                }
                Aggregate::OverDistinct { field, column, valid, ty, mean } => {
                    let valid: Vec<LeafColumn> = valid_of(&[&valid[..], &[*column]].concat());
                    let rows = folds.number(Fold::CountDistinct { field: *field, valid: valid.clone() });
                    let sum = folds.number(Fold::SumDistinct { field: *field, valid, number: *ty });
                    match (*ty, mean) {
                        (Number::Decimal(scale), _) => {
                            encoded.check_distinct(region, *field, *column)?;
                            let limbs = vec![LimbSum { negative: false, shift: 0, digits: 0, fold: sum }];
                            Output::Decimal { limbs, scale, rows: vec![rows], mean: *mean }
                        }
                        (_, true) => Output::Average { terms: vec![(false, sum)], rows: vec![rows] },
                        (number, false) => Output::Sum { terms: vec![(false, sum)], number, rows: Some(vec![rows]) },
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

    /// The folds of a sum, or of a mean.
    fn sum(&mut self, (region, encoded): (&Region, &Encoded), sum: &Sum, mean: bool) -> Result<Output> {
        let with_nulls = |columns: &[LeafColumn]| {
            let found = columns.iter().copied().filter(|&c| encoded.has_nulls(c));
            found.collect::<Vec<LeafColumn>>()
        };
        let (mut terms, mut limbs, mut rows) = (Vec::new(), Vec::new(), Vec::new());
        let mut all = sum.covers;
        for case in &sum.cases {
            let mut valid = with_nulls(&case.valid);
            all &= valid.is_empty();
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
                let fold = Fold::Sum { factors, valid: valid.clone(), number: sum.ty, limbs: Vec::new() };
                terms.push((term.negative, self.number(fold)));
            }
        }
        if all {
            rows = vec![Vec::new()];
        }
        let always = all && !mean && !region.groups.is_empty() && !matches!(sum.ty, Number::Decimal(_));
        if always {
            return Ok(Output::Sum { terms, number: sum.ty, rows: None });
        }
        let mut rows: Vec<usize> = rows.into_iter().map(|valid| self.number(Fold::Count { valid })).collect();
        // Cases that no column tells apart are the same rows.
        rows.sort_unstable();
        rows.dedup();
        Ok(match sum.ty {
            Number::Decimal(scale) => Output::Decimal { limbs, scale, rows, mean },
            _ if mean => Output::Average { terms, rows },
            number => Output::Sum { terms, number, rows: Some(rows) },
        })
    }
}
