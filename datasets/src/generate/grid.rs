//! Matrices of stencils on regular grids, as from discretized differential equations.

use super::distribution::DefaultValues;
use super::{Draw, DrawContext, Generator, check_shape};
use crate::content::{Content, MAX_DIMENSION, element_count};
use crate::error::{Count, Fault};
use crate::values::Values;

/// The neighbours with which a point of a grid is coupled.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Stencil {
    /// Neighbours along the axes: with the point itself, 5 points in two dimensions, 7 in three.
    #[default]
    Star,
    /// All neighbours, including diagonal ones: with the point itself, 9 points in two dimensions,
    /// 27 in three.
    Box,
}

/// The matrix that couples each point of a grid with its neighbours, where points are numbered
/// row-major. Values: the negative Laplacian with zero boundaries, which is symmetric and positive
/// definite. The entry of each neighbour is -1, and each diagonal entry is the number of points of
/// the stencil minus 1.
///
/// Source: Y. Saad, "Iterative Methods for Sparse Linear Systems", 2nd edition (2003), section 2.2.
#[derive(Clone, PartialEq, Debug)]
pub struct Grid {
    /// The number of points along each axis.
    pub extents: Vec<u64>,
    /// The stencil.
    pub stencil: Stencil,
}

/// Maximum number of axes: a box stencil has 3^d points.
const MAX_AXES: usize = 8;

impl Grid {
    /// Returns the offsets of a point and its neighbours, in row-major order.
    fn offsets(&self) -> Vec<Vec<i64>> {
        let mut offsets = vec![vec![]];
        for _ in &self.extents {
            offsets = offsets.iter().flat_map(|o: &Vec<i64>| (-1..=1).map(|d| [&o[..], &[d]].concat())).collect();
        }
        if self.stencil == Stencil::Star {
            offsets.retain(|o| o.iter().filter(|&&d| d != 0).count() <= 1);
        }
        offsets
    }
}

impl Generator for Grid {
    fn name(&self) -> &'static str {
        "grid"
    }
}

impl Draw for Grid {
    fn draw(&self, ctx: &mut DrawContext<'_>) -> Result<Content, Fault> {
        check_shape(&self.extents)?;
        if self.extents.len() > MAX_AXES {
            let size = Count(Some(self.extents.len() as u64));
            return Err(Fault::TooLarge { quantity: "the number of axes", size, limit: MAX_AXES as u64 });
        }
        let offsets = self.offsets();
        let points = element_count(&self.extents).filter(|&n| n <= MAX_DIMENSION);
        ctx.check_entries(2, points.and_then(|n| n.checked_mul(offsets.len() as u64)))?;
        let points = points.expect("few enough for the memory");
        let diagonal = offsets.len() as f64 - 1.0;
        let (mut rows, mut columns, mut values) = (Vec::new(), Vec::new(), Vec::new());
        let mut point = vec![0i64; self.extents.len()];
        for row in 0..points {
            ctx.report("points", row, points);
            for offset in &offsets {
                let neighbour = point.iter().zip(offset).zip(&self.extents).try_fold(0u64, |at, ((i, d), &extent)| {
                    let i = u64::try_from(i + d).ok().filter(|&i| i < extent)?;
                    Some(at * extent + i)
                });
                if let Some(column) = neighbour {
                    rows.push(row);
                    columns.push(column);
                    values.push(if column == row { diagonal } else { -1.0 });
                }
            }
            for (i, &extent) in point.iter_mut().zip(&self.extents).rev() {
                *i += 1;
                if (*i as u64) < extent {
                    break;
                }
                *i = 0;
            }
        }
        ctx.triples(vec![points; 2], vec![rows, columns], DefaultValues::Values(Values::F64(values)))
    }
}
