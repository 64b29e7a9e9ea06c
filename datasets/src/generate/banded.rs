//! Banded matrices.

use super::distribution::DefaultValues;
use super::sampling::visit_sampled;
use super::{Distribution, Draw, DrawContext, Generator, RandomStream, check_fraction, check_shape};
use crate::content::Content;
use crate::error::Fault;
use redpoll_logic::Prim;

/// A matrix with entries only where `-below <= column - row <= above`. Values: real numbers from -1
/// to 1.
#[derive(Clone, PartialEq, Debug)]
pub struct Banded {
    /// The number of rows.
    pub rows: u64,
    /// The number of columns.
    pub columns: u64,
    /// The number of diagonals below the main one.
    pub below: u64,
    /// The number of diagonals above the main one.
    pub above: u64,
    /// The probability of an entry at each position of the band outside of the main diagonal, which
    /// is always full.
    pub density: f64,
}

impl Generator for Banded {
    fn name(&self) -> &'static str {
        "banded"
    }
}

impl Draw for Banded {
    fn draw(&self, ctx: &mut DrawContext<'_>) -> Result<Content, Fault> {
        check_shape(&[self.rows, self.columns])?;
        check_fraction("a density", self.density)?;
        let width = self.below.saturating_add(self.above).saturating_add(1).min(self.columns);
        let band_rows = self.rows.min(self.columns.saturating_add(self.below));
        let full = u128::from(band_rows) * u128::from(width);
        let expected = full as f64 * self.density;
        let max_entries = (expected + 12.0 * libm::sqrt(expected) + 16.0 + band_rows as f64).min(full as f64);
        ctx.check_entries(2, Some(max_entries as u64))?;
        let mut random = ctx.random(RandomStream::Coordinates);
        let (mut rows, mut columns) = (Vec::new(), Vec::new());
        for row in 0..band_rows {
            ctx.report("rows", row, band_rows);
            let first = row.saturating_sub(self.below);
            let end = row.saturating_add(self.above).saturating_add(1).min(self.columns);
            let mut diagonal = (row < self.columns).then_some(row);
            let mut push = |column| {
                rows.push(row);
                columns.push(column);
            };
            visit_sampled(u128::from(end.saturating_sub(first)), self.density, &mut random, |k| {
                let column = first + k as u64;
                if let Some(d) = diagonal.take_if(|d| *d <= column)
                    && d != column
                {
                    push(d);
                }
                push(column);
            });
            if let Some(d) = diagonal {
                push(d);
            }
        }
        let default_values = DefaultValues::Distribution(Distribution::Uniform { low: -1.0, high: 1.0 }, Prim::F64);
        ctx.triples(vec![self.rows, self.columns], vec![rows, columns], default_values)
    }
}
