//! Erdos-Renyi graphs: all edges have the same probability.

use super::distribution::DefaultValues;
use super::sampling::visit_sampled;
use super::{Distribution, Draw, DrawContext, Edges, Generator, RandomStream, check_fraction};
use crate::content::Content;
use crate::error::{Count, Fault};
use redpoll_logic::Prim;

/// The adjacency matrix of `G(n, p)`, without self-loops. Values: `true`.
///
/// Sources: E. N. Gilbert, "Random Graphs", Annals of Mathematical Statistics 30 (1959), for the
/// model; V. Batagelj and U. Brandes, "Efficient Generation of Large Random Networks", Physical
/// Review E 71 (2005), for an algorithm that is linear in the number of edges.
#[derive(Clone, PartialEq, Debug)]
pub struct ErdosRenyi {
    /// The number of vertices, at most 2^32.
    pub vertices: u64,
    /// The probability of each edge.
    pub probability: f64,
    /// The direction of edges: `(i, j)` and `(j, i)` are drawn independently or together.
    pub direction: Edges,
}

impl ErdosRenyi {
    /// Returns a directed graph with the given mean degree.
    pub fn with_degree(vertices: u64, degree: f64) -> ErdosRenyi {
        let probability = degree / vertices.saturating_sub(1).max(1) as f64;
        ErdosRenyi { vertices, probability, direction: Edges::Directed }
    }
}

impl Generator for ErdosRenyi {
    fn name(&self) -> &'static str {
        "erdos-renyi"
    }
}

impl Draw for ErdosRenyi {
    fn draw(&self, ctx: &mut DrawContext<'_>) -> Result<Content, Fault> {
        const MAX_VERTICES: u64 = 1 << 32;
        let n = self.vertices;
        if n > MAX_VERTICES {
            return Err(Fault::TooLarge {
                quantity: "the number of vertices",
                size: Count(Some(n)),
                limit: MAX_VERTICES,
            });
        }
        check_fraction("a probability", self.probability)?;
        let pairs = u128::from(n) * u128::from(n.saturating_sub(1));
        // This bound is at least eight deviations above the mean; more edges practically never
        // occur.
        let mean = pairs as f64 * self.probability;
        let max_entries = ((mean + 12.0 * libm::sqrt(mean) + 16.0) as u64).min(pairs as u64);
        ctx.check_entries(3, Some(max_entries))?;
        let mut random = ctx.random(RandomStream::Coordinates);
        let (mut rows, mut columns) = (Vec::new(), Vec::new());
        match self.direction {
            Edges::Directed => visit_sampled(pairs, self.probability, &mut random, |position| {
                ctx.report("edges", rows.len() as u64, mean as u64);
                let (i, j) = ((position as u64) / (n - 1), (position as u64) % (n - 1));
                rows.push(i);
                // The numbers of positions skip the diagonal.
                columns.push(j + u64::from(j >= i));
            }),
            Edges::Undirected => {
                let mut edges = Vec::new();
                // Positions are numbered along the rows of the lower triangle, so `row` only
                // increases.
                let (mut row, mut start) = (1u64, 0u64);
                visit_sampled(pairs / 2, self.probability, &mut random, |position| {
                    ctx.report("edges", edges.len() as u64, mean as u64);
                    let position = position as u64;
                    while position - start >= row {
                        start += row;
                        row += 1;
                    }
                    let column = position - start;
                    edges.extend([row << 32 | column, column << 32 | row]);
                });
                edges.sort_unstable();
                rows = edges.iter().map(|p| p >> 32).collect();
                columns = edges.iter().map(|p| p & u64::from(u32::MAX)).collect();
            }
        }
        ctx.triples(vec![n; 2], vec![rows, columns], DefaultValues::Distribution(Distribution::One, Prim::Bool))
    }
}
