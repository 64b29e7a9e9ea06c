//! Erdos-Renyi graphs: all edges have the same probability.

use super::distribution::Own;
use super::places::skip;
use super::{Context, Distribution, Draw, Edges, Generator, Purpose, check_fraction};
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
    fn draw(&self, ctx: &mut Context<'_>) -> Result<Content, Fault> {
        const LARGEST: u64 = 1 << 32;
        let n = self.vertices;
        if n > LARGEST {
            return Err(Fault::TooLarge { what: "the number of vertices", size: Count(Some(n)), limit: LARGEST });
        }
        check_fraction("a probability", self.probability)?;
        let ordered = u128::from(n) * u128::from(n.saturating_sub(1));
        // At least eight deviations above the mean: more edges practically never occur.
        let mean = ordered as f64 * self.probability;
        let most = ((mean + 12.0 * libm::sqrt(mean) + 16.0) as u64).min(ordered as u64);
        ctx.check_entries(3, Some(most))?;
        let mut random = ctx.random(Purpose::Places);
        let (mut rows, mut columns) = (Vec::new(), Vec::new());
        match self.direction {
            Edges::Directed => skip(ordered, self.probability, &mut random, |place| {
                ctx.report("edges", rows.len() as u64, mean as u64);
                let (i, j) = ((place as u64) / (n - 1), (place as u64) % (n - 1));
                rows.push(i);
                // The diagonal is not numbered.
                columns.push(j + u64::from(j >= i));
            }),
            Edges::Undirected => {
                let mut places = Vec::new();
                // Positions are numbered along the rows of the lower triangle, so the row advances
                // with them.
                let (mut row, mut start) = (1u64, 0u64);
                skip(ordered / 2, self.probability, &mut random, |place| {
                    ctx.report("edges", places.len() as u64, mean as u64);
                    let place = place as u64;
                    while place - start >= row {
                        start += row;
                        row += 1;
                    }
                    let column = place - start;
                    places.extend([row << 32 | column, column << 32 | row]);
                });
                places.sort_unstable();
                rows = places.iter().map(|p| p >> 32).collect();
                columns = places.iter().map(|p| p & u64::from(u32::MAX)).collect();
            }
        }
        ctx.triples(vec![n; 2], vec![rows, columns], Own::Drawn(Distribution::One, Prim::Bool))
    }
}
