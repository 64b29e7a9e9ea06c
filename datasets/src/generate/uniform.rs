//! Tensors with uniformly distributed coordinates.

use super::distribution::DefaultValues;
use super::sampling::{PositionNumber, choose, push_coordinates, visit_sampled};
use super::{Distribution, Draw, DrawContext, Generator, RandomStream, check_fraction, check_shape};
use crate::content::Content;
use crate::error::{Count, Fault};
use redpoll_logic::Prim;

/// A number of positions, absolute or as a fraction of all positions.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Amount {
    /// An exact number.
    Count(u64),
    /// A fraction of all positions, from 0 to 1.
    Density(f64),
}

impl Amount {
    /// Returns the requested number of positions out of `positions`. For a density, the number is
    /// rounded.
    pub(super) fn count(self, positions: u128) -> Result<u64, Fault> {
        match self {
            Amount::Count(count) if u128::from(count) > positions => {
                let limit = u64::try_from(positions).unwrap_or(u64::MAX);
                Err(Fault::TooLarge { quantity: "the requested count", size: Count(Some(count)), limit })
            }
            Amount::Count(count) => Ok(count),
            Amount::Density(density) => {
                check_fraction("a density", density)?;
                Ok(libm::round(positions as f64 * density).min(positions as f64) as u64)
            }
        }
    }
}

/// A tensor of rank 1 or more, in which every position is equally likely to have an entry. The
/// tensor has an exact number of entries, or independent entries with the given density. A density
/// below 2^-44 also gives an exact number. Values: real numbers from 0 to 1.
#[derive(Clone, PartialEq, Debug)]
pub struct Uniform {
    /// The size of each mode.
    pub shape: Vec<u64>,
    /// The number of entries.
    pub entries: Amount,
}

/// Minimum density for independent entries. Gaps are drawn as `f64`, which are inexact beyond 2^53,
/// so below this density the number of entries is fixed instead.
const MIN_DENSITY: f64 = 1.0 / (1u64 << 44) as f64;

impl Uniform {
    fn draw_coordinates<P: PositionNumber>(
        &self,
        ctx: &mut DrawContext<'_>,
        positions: u128,
        count: u64,
    ) -> Vec<Vec<u64>> {
        let mut random = ctx.random(RandomStream::Coordinates);
        let mut coordinates = vec![Vec::with_capacity(count as usize); self.shape.len()];
        match self.entries {
            Amount::Density(density) if density >= MIN_DENSITY => {
                visit_sampled(positions, density, &mut random, |position| {
                    ctx.report("entries", coordinates[0].len() as u64, count);
                    push_coordinates(&self.shape, position, &mut coordinates);
                });
            }
            _ => {
                let chosen =
                    choose::<P>(positions, count as usize, &mut random, &mut |k| ctx.report("entries", k, count));
                chosen.into_iter().for_each(|p| push_coordinates(&self.shape, p.to_wide(), &mut coordinates));
            }
        }
        coordinates
    }
}

impl Generator for Uniform {
    fn name(&self) -> &'static str {
        "uniform"
    }
}

impl Draw for Uniform {
    fn draw(&self, ctx: &mut DrawContext<'_>) -> Result<Content, Fault> {
        check_shape(&self.shape)?;
        let product = self.shape.iter().try_fold(1u128, |n, &d| n.checked_mul(d.into()));
        let positions = match product {
            _ if self.shape.contains(&0) => 0,
            Some(positions) => positions,
            None => {
                return Err(Fault::unsupported("a shape of at least 2^128 elements", "choose fewer or smaller modes"));
            }
        };
        let count = self.entries.count(positions)?;
        let margin = if matches!(self.entries, Amount::Density(_)) { 12.0 * libm::sqrt(count as f64) } else { 0.0 };
        let words = if u64::try_from(positions).is_ok() { 1 } else { 2 };
        ctx.check_entries(self.shape.len() + words, count.checked_add(margin as u64))?;
        let coordinates = match words {
            1 => self.draw_coordinates::<u64>(ctx, positions, count),
            _ => self.draw_coordinates::<u128>(ctx, positions, count),
        };
        let default_values = DefaultValues::Distribution(Distribution::Uniform { low: 0.0, high: 1.0 }, Prim::F64);
        ctx.triples(self.shape.clone(), coordinates, default_values)
    }
}
