//! Matrices with few dense blocks.

use super::distribution::DefaultValues;
use super::sampling::choose;
use super::{Amount, Distribution, Draw, DrawContext, Generator, RandomStream, check_shape};
use crate::content::{Content, element_count};
use crate::error::Fault;
use redpoll_logic::Prim;

/// A matrix partitioned into blocks of one size, of which some are full and the others empty.
/// Blocks at the lower and right edges are cut if the size does not divide the matrix. Values: real
/// numbers from -1 to 1.
#[derive(Clone, PartialEq, Debug)]
pub struct Blocks {
    /// The number of rows.
    pub rows: u64,
    /// The number of columns.
    pub columns: u64,
    /// The number of rows of a block.
    pub block_rows: u64,
    /// The number of columns of a block.
    pub block_columns: u64,
    /// The number of full blocks. All sets of this many blocks are equally likely.
    pub blocks: Amount,
}

impl Generator for Blocks {
    fn name(&self) -> &'static str {
        "blocks"
    }
}

impl Draw for Blocks {
    fn draw(&self, ctx: &mut DrawContext<'_>) -> Result<Content, Fault> {
        check_shape(&[self.rows, self.columns])?;
        let (height, width) = (self.block_rows, self.block_columns);
        if height == 0 || width == 0 {
            return Err(Fault::malformed("blocks of at least 1 x 1", format!("{height} x {width}")));
        }
        let grid = [self.rows.div_ceil(height), self.columns.div_ceil(width)];
        let all = u128::from(grid[0]) * u128::from(grid[1]);
        let count = self.blocks.count(all)?;
        let area = element_count(&[height.min(self.rows), width.min(self.columns)]);
        ctx.check_entries(2, area.and_then(|area| area.checked_mul(count)))?;
        let mut random = ctx.random(RandomStream::Coordinates);
        let chosen = choose::<u128>(all, count as usize, &mut random, &mut |k| ctx.report("blocks", k, count));
        let (mut rows, mut columns) = (Vec::new(), Vec::new());
        // Blocks are in row-major order, and each strip of blocks is expanded row by row.
        let across = u128::from(grid[1]);
        for strip in chosen.chunk_by(|a, b| a / across == b / across) {
            let top = (strip[0] / across) as u64 * height;
            for row in top..top.saturating_add(height).min(self.rows) {
                for block in strip {
                    let left = (block % across) as u64 * width;
                    for column in left..left.saturating_add(width).min(self.columns) {
                        ctx.report("entries", rows.len() as u64, area.unwrap_or(0) * count);
                        rows.push(row);
                        columns.push(column);
                    }
                }
            }
        }
        let default_values = DefaultValues::Distribution(Distribution::Uniform { low: -1.0, high: 1.0 }, Prim::F64);
        ctx.triples(vec![self.rows, self.columns], vec![rows, columns], default_values)
    }
}
