//! R-MAT: graphs with skewed degrees and nested communities.

use super::distribution::DefaultValues;
use super::{Distribution, Draw, DrawContext, Edges, Generator, RandomStream};
use crate::content::Content;
use crate::error::{Count, Fault};
use redpoll_logic::Prim;

/// The adjacency matrix of a graph of `2^scale` vertices. An edge falls into one of the four
/// quadrants of the matrix with the given probabilities, then recursively into a quadrant of the
/// quadrant. Equal edges are merged, so the graph may have fewer edges than requested. Values:
/// `true`.
///
/// Source: D. Chakrabarti, Y. Zhan, C. Faloutsos, "R-MAT: A Recursive Model for Graph Mining", SIAM
/// Data Mining 2004. The noise is that of C. Seshadhri, A. Pinar, T. G. Kolda, "An In-Depth Study
/// of Stochastic Kronecker Graphs", ICDM 2011: one draw per level for the whole graph, which
/// smooths the degree distribution.
#[derive(Clone, PartialEq, Debug)]
pub struct Rmat {
    /// The base-2 logarithm of the number of vertices, at most 32.
    pub scale: u32,
    /// The number of edges drawn.
    pub edges: u64,
    /// The probabilities of the upper left, upper right, lower left and lower right quadrant.
    pub probabilities: [f64; 4],
    /// The bound of the noise of the probabilities. It is at least 0 and at most the smallest of
    /// `(a + d) / 2`, `b` and `c`, where `[a, b, c, d]` are the `probabilities`.
    pub noise: f64,
    /// The direction of edges. An undirected graph has each edge in both directions and no
    /// self-loops; a directed graph may have self-loops.
    pub direction: Edges,
}

impl Rmat {
    /// Returns a directed graph without noise, with the probabilities of Graph500: 0.57, 0.19,
    /// 0.19, 0.05.
    pub fn new(scale: u32, edges: u64) -> Rmat {
        let probabilities = [0.57, 0.19, 0.19, 0.05];
        Rmat { scale, edges, probabilities, noise: 0.0, direction: Edges::Directed }
    }

    fn check(&self) -> Result<(), Fault> {
        const MAX_SCALE: u32 = 32;
        if self.scale > MAX_SCALE {
            let size = Count(Some(self.scale.into()));
            return Err(Fault::TooLarge { quantity: "the scale", size, limit: MAX_SCALE.into() });
        }
        let sum: f64 = self.probabilities.iter().sum();
        if self.probabilities.iter().any(|p| !(0.0..=1.0).contains(p)) || (sum - 1.0).abs() > 1e-9 {
            let found = format!("{:?}", self.probabilities);
            return Err(Fault::malformed("four probabilities that add up to 1", found));
        }
        let [a, b, c, d] = self.probabilities;
        let max_noise = ((a + d) / 2.0).min(b).min(c);
        if !(0.0..=max_noise).contains(&self.noise) {
            return Err(Fault::malformed(format!("noise from 0 to {max_noise}"), self.noise.to_string()));
        }
        Ok(())
    }

    /// Returns, for each level, the bounds on a 32-bit random number for the first, the first two,
    /// and the first three quadrants.
    fn thresholds(&self, ctx: &DrawContext<'_>) -> Vec<[u64; 3]> {
        let mut random = ctx.random(RandomStream::Parameters);
        let [a, b, c, d] = self.probabilities;
        let level = |_| {
            let mu = self.noise * (2.0 * random.unit() - 1.0);
            let share = |x: f64| if mu == 0.0 { x } else { x - 2.0 * mu * x / (a + d) };
            let cumulative = [share(a), share(a) + b + mu, share(a) + b + c + 2.0 * mu];
            // If the last quadrant has probability 0, rounding must not make it reachable.
            let last = if d == 0.0 { 1.0 } else { cumulative[2] };
            [cumulative[0], cumulative[1], last].map(|p| libm::round(p * (1u64 << 32) as f64) as u64)
        };
        (0..self.scale).map(level).collect()
    }
}

impl Generator for Rmat {
    fn name(&self) -> &'static str {
        "rmat"
    }
}

impl Draw for Rmat {
    fn draw(&self, ctx: &mut DrawContext<'_>) -> Result<Content, Fault> {
        self.check()?;
        let sides = if self.direction == Edges::Undirected { 2 } else { 1 };
        // Each entry takes three words: one for both coordinates while the entries are drawn and
        // sorted, and two for the final coordinates.
        ctx.check_entries(3, self.edges.checked_mul(sides))?;
        let thresholds = self.thresholds(ctx);
        let mut random = ctx.random(RandomStream::Coordinates);
        let mut edges = Vec::with_capacity((self.edges * sides) as usize);
        for k in 0..self.edges {
            ctx.report("edges", k, self.edges);
            let (mut i, mut j) = (0u64, 0u64);
            for pair in thresholds.chunks(2) {
                // One random word serves two levels.
                let mut bits = random.bits();
                for [first, second, third] in pair {
                    let bits32 = bits & u64::from(u32::MAX);
                    bits >>= 32;
                    let quadrant =
                        u64::from(bits32 >= *first) + u64::from(bits32 >= *second) + u64::from(bits32 >= *third);
                    (i, j) = (i << 1 | quadrant >> 1, j << 1 | quadrant & 1);
                }
            }
            match self.direction {
                Edges::Directed => edges.push(i << 32 | j),
                Edges::Undirected if i == j => {}
                Edges::Undirected => edges.extend([i << 32 | j, j << 32 | i]),
            }
        }
        (ctx.progress)(super::Progress { step: "sorting", done: 0, total: edges.len() as u64 });
        edges.sort_unstable();
        edges.dedup();
        let rows = edges.iter().map(|p| p >> 32).collect();
        let columns = edges.iter().map(|p| p & u64::from(u32::MAX)).collect();
        drop(edges);
        ctx.triples(
            vec![1 << self.scale; 2],
            vec![rows, columns],
            DefaultValues::Distribution(Distribution::One, Prim::Bool),
        )
    }
}
