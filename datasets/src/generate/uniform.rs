//! Tensors with uniformly distributed coordinates.

use super::distribution::Own;
use super::places::{Place, choose, push_coordinates, skip};
use super::{Context, Distribution, Draw, Generator, Purpose, check_fraction, check_shape};
use crate::content::Content;
use crate::error::{Count, Fault};
use redpoll_logic::Prim;

/// A number of positions out of some set.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Amount {
    /// An exact number.
    Count(u64),
    /// A fraction of all positions, from 0 to 1.
    Density(f64),
}

impl Amount {
    /// Returns the number out of `places` positions; a density is rounded.
    pub(super) fn count(self, places: u128) -> Result<u64, Fault> {
        match self {
            Amount::Count(count) if u128::from(count) > places => {
                let limit = u64::try_from(places).unwrap_or(u64::MAX);
                Err(Fault::TooLarge { what: "the number of places to fill", size: Count(Some(count)), limit })
            }
            Amount::Count(count) => Ok(count),
            Amount::Density(density) => {
                check_fraction("a density", density)?;
                Ok(libm::round(places as f64 * density).min(places as f64) as u64)
            }
        }
    }
}

/// A tensor of any rank, in which every position is equally likely to have an entry: an exact
/// number of entries, or independent entries with the given density. Values: real numbers from 0 to
/// 1.
#[derive(Clone, PartialEq, Debug)]
pub struct Uniform {
    /// The size of each mode.
    pub shape: Vec<u64>,
    /// The number of entries.
    pub entries: Amount,
}

/// Minimum density for independent entries. Gaps are drawn as `f64`, which are inexact beyond 2^53,
/// so below this density the number of entries is fixed instead.
const LEAST_DENSITY: f64 = 1.0 / (1u64 << 44) as f64;

impl Uniform {
    fn draw_places<P: Place>(&self, ctx: &mut Context<'_>, all: u128, count: u64) -> Vec<Vec<u64>> {
        let mut random = ctx.random(Purpose::Places);
        let mut coordinates = vec![Vec::with_capacity(count as usize); self.shape.len()];
        match self.entries {
            Amount::Density(density) if density >= LEAST_DENSITY => skip(all, density, &mut random, |place| {
                ctx.report("entries", coordinates[0].len() as u64, count);
                push_coordinates(&self.shape, place, &mut coordinates);
            }),
            _ => {
                let chosen = choose::<P>(all, count as usize, &mut random, &mut |k| ctx.report("entries", k, count));
                chosen.into_iter().for_each(|p| push_coordinates(&self.shape, p.wide(), &mut coordinates));
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
    fn draw(&self, ctx: &mut Context<'_>) -> Result<Content, Fault> {
        check_shape(&self.shape)?;
        let product = self.shape.iter().try_fold(1u128, |n, &d| n.checked_mul(d.into()));
        let all = match product {
            _ if self.shape.contains(&0) => 0,
            Some(all) => all,
            None => {
                return Err(Fault::unsupported("a shape of more than 2^128 places", "choose fewer or smaller modes"));
            }
        };
        let count = self.entries.count(all)?;
        let spare = if matches!(self.entries, Amount::Density(_)) { 12.0 * libm::sqrt(count as f64) } else { 0.0 };
        let wide = if u64::try_from(all).is_ok() { 1 } else { 2 };
        ctx.check_entries(self.shape.len() + wide, count.checked_add(spare as u64))?;
        let coordinates = match wide {
            1 => self.draw_places::<u64>(ctx, all, count),
            _ => self.draw_places::<u128>(ctx, all, count),
        };
        let own = Own::Drawn(Distribution::Uniform { low: 0.0, high: 1.0 }, Prim::F64);
        ctx.triples(self.shape.clone(), coordinates, own)
    }
}
