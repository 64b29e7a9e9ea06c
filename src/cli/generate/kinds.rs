//! The kinds of data of `redpoll generate`, and their options.

use super::super::failure::CommandFailure;
use super::super::values::{real, size, whole};
use super::CommonArgs;
use crate::datasets::generate::{
    Amount, Banded, Blocks, Edges, ErdosRenyi, Generator, Grid, Image, Ratings, Rmat, Stencil, Uniform,
};
use clap::{ArgGroup, Args, Subcommand, ValueEnum};

#[derive(Subcommand)]
pub(super) enum GeneratorKind {
    /// A graph with skewed degrees and communities, by recursive quadrants
    Rmat(RmatArgs),
    /// A graph in which every edge is equally likely
    ErdosRenyi(ErdosRenyiArgs),
    /// The matrix of a stencil on a regular grid: a Laplacian
    Grid(GridArgs),
    /// A banded matrix
    Banded(BandedArgs),
    /// A matrix with few dense blocks
    Blocks(BlocksArgs),
    /// A tensor of any rank with uniformly distributed entries
    Uniform(UniformArgs),
    /// Ratings of items by users: a matrix of low rank with noise and power-law counts
    Ratings(RatingsArgs),
    /// An image of blobs: long runs of one value
    Image(ImageArgs),
}

#[derive(Args)]
pub(super) struct RmatArgs {
    #[command(flatten)]
    common: CommonArgs,
    /// The base-2 logarithm of the number of vertices
    #[arg(long, value_name = "N", value_parser = whole::<u32>)]
    scale: u32,
    /// The number of edges drawn; equal ones are merged
    #[arg(long, value_name = "N", value_parser = whole::<u64>)]
    edges: u64,
    /// The probabilities of the four quadrants: upper left, upper right, lower left, lower right
    #[arg(
        long,
        value_name = "A,B,C,D",
        value_delimiter = ',',
        default_value = "0.57,0.19,0.19,0.05",
        value_parser = real
    )]
    probabilities: Vec<f64>,
    /// The bound of the noise in the probabilities, drawn once for each level of the recursion
    #[arg(long, value_name = "X", default_value_t = 0.0, value_parser = real)]
    noise: f64,
    /// Store both directions of each edge, without self-loops
    #[arg(long)]
    undirected: bool,
}

#[derive(Args)]
#[command(group(ArgGroup::new("edge count").required(true).args(["probability", "degree"])))]
pub(super) struct ErdosRenyiArgs {
    #[command(flatten)]
    common: CommonArgs,
    /// The number of vertices
    #[arg(long, value_name = "N", value_parser = whole::<u64>)]
    vertices: u64,
    /// The probability of each edge
    #[arg(long, value_name = "P", value_parser = real)]
    probability: Option<f64>,
    /// The mean number of edges of a vertex, instead of the probability
    #[arg(long, value_name = "X", value_parser = real)]
    degree: Option<f64>,
    /// Store both directions of each edge
    #[arg(long)]
    undirected: bool,
}

#[derive(Args)]
pub(super) struct GridArgs {
    #[command(flatten)]
    common: CommonArgs,
    /// The number of points along each axis
    #[arg(long, value_name = "N,..", value_delimiter = ',', required = true, value_parser = size)]
    extents: Vec<u64>,
    /// The neighbours in the stencil
    #[arg(long, value_enum, default_value_t = StencilArg::Star)]
    stencil: StencilArg,
}

/// Neighbours with which a point is coupled.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum StencilArg {
    /// Neighbours along the axes: 5 points in 2-D, 7 in 3-D
    Star,
    /// All neighbours, including diagonal ones: 9 points in 2-D, 27 in 3-D
    Box,
}

#[derive(Args)]
pub(super) struct BandedArgs {
    #[command(flatten)]
    common: CommonArgs,
    /// The number of rows
    #[arg(long, value_name = "N", value_parser = whole::<u64>)]
    rows: u64,
    /// The number of columns, by default the number of rows
    #[arg(long, value_name = "N", value_parser = whole::<u64>)]
    columns: Option<u64>,
    /// The number of diagonals below the main one
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = whole::<u64>)]
    below: u64,
    /// The number of diagonals above the main one
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = whole::<u64>)]
    above: u64,
    /// The probability of an entry at each coordinate of the band; the main diagonal is always full
    #[arg(long, value_name = "X", default_value_t = 1.0, value_parser = real)]
    density: f64,
}

#[derive(Args)]
#[command(group(ArgGroup::new("block count").required(true).args(["blocks", "density"])))]
pub(super) struct BlocksArgs {
    #[command(flatten)]
    common: CommonArgs,
    /// The number of rows
    #[arg(long, value_name = "N", value_parser = whole::<u64>)]
    rows: u64,
    /// The number of columns, by default the number of rows
    #[arg(long, value_name = "N", value_parser = whole::<u64>)]
    columns: Option<u64>,
    /// The rows and columns of a block
    #[arg(
        long,
        value_name = "ROWS,COLUMNS",
        value_delimiter = ',',
        num_args = 1,
        default_value = "4,4",
        value_parser = whole::<u64>
    )]
    block: Vec<u64>,
    /// The number of full blocks
    #[arg(long, value_name = "N", value_parser = whole::<u64>)]
    blocks: Option<u64>,
    /// The fraction of full blocks
    #[arg(long, value_name = "X", value_parser = real)]
    density: Option<f64>,
}

#[derive(Args)]
#[command(group(ArgGroup::new("entry count").required(true).args(["entries", "density"])))]
pub(super) struct UniformArgs {
    #[command(flatten)]
    common: CommonArgs,
    /// The size of each mode
    #[arg(long, value_name = "N,..", value_delimiter = ',', required = true, value_parser = size)]
    shape: Vec<u64>,
    /// The exact number of entries
    #[arg(long, value_name = "N", value_parser = whole::<u64>)]
    entries: Option<u64>,
    /// The probability of an entry at each coordinate
    #[arg(long, value_name = "X", value_parser = real)]
    density: Option<f64>,
}

#[derive(Args)]
pub(super) struct RatingsArgs {
    #[command(flatten)]
    common: CommonArgs,
    /// The number of users: rows
    #[arg(long, value_name = "N", value_parser = whole::<u64>)]
    users: u64,
    /// The number of items: columns
    #[arg(long, value_name = "N", value_parser = whole::<u64>)]
    items: u64,
    /// The number of ratings
    #[arg(long, value_name = "N", value_parser = whole::<u64>)]
    ratings: u64,
    /// The rank of the matrix without noise
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = whole::<u32>)]
    rank: u32,
    /// The standard deviation of the noise; the matrix without noise has deviation 1
    #[arg(long, value_name = "X", default_value_t = 0.5, value_parser = real)]
    noise: f64,
    /// The exponent of the power law of users; 0 for a uniform distribution
    #[arg(long, value_name = "X", default_value_t = 0.8, value_parser = real)]
    user_skew: f64,
    /// The exponent of the power law of items; 0 for a uniform distribution
    #[arg(long, value_name = "X", default_value_t = 0.8, value_parser = real)]
    item_skew: f64,
    /// Round to integers from 1 to N
    #[arg(long, value_name = "N", value_parser = whole::<u32>)]
    stars: Option<u32>,
}

#[derive(Args)]
pub(super) struct ImageArgs {
    #[command(flatten)]
    common: CommonArgs,
    /// The number of rows
    #[arg(long, value_name = "N", value_parser = whole::<u64>)]
    height: u64,
    /// The number of columns, by default the number of rows
    #[arg(long, value_name = "N", value_parser = whole::<u64>)]
    width: Option<u64>,
    /// The number of blobs
    #[arg(long, value_name = "N", default_value_t = 32, value_parser = whole::<u64>)]
    blobs: u64,
    /// The longest half-axis of a blob, by default a quarter of the shorter side
    #[arg(long, value_name = "X", value_parser = real)]
    radius: Option<f64>,
}

impl GeneratorKind {
    /// Returns the generator, and the common options.
    pub(super) fn generator(&self) -> Result<(Box<dyn Generator>, &CommonArgs), CommandFailure> {
        Ok(match self {
            GeneratorKind::Rmat(a) => {
                let (scale, edges, noise) = (a.scale, a.edges, a.noise);
                let probabilities = exactly("--probabilities", &a.probabilities)?;
                (Box::new(Rmat { scale, edges, probabilities, noise, direction: direction(a.undirected) }), &a.common)
            }
            GeneratorKind::ErdosRenyi(a) => {
                let by_degree = ErdosRenyi::with_degree(a.vertices, a.degree.unwrap_or_default());
                let probability = a.probability.unwrap_or(by_degree.probability);
                (Box::new(ErdosRenyi { probability, direction: direction(a.undirected), ..by_degree }), &a.common)
            }
            GeneratorKind::Grid(a) => {
                let stencil = if a.stencil == StencilArg::Star { Stencil::Star } else { Stencil::Box };
                (Box::new(Grid { extents: a.extents.clone(), stencil }), &a.common)
            }
            GeneratorKind::Banded(a) => {
                let (rows, columns) = (a.rows, a.columns.unwrap_or(a.rows));
                let (below, above, density) = (a.below, a.above, a.density);
                (Box::new(Banded { rows, columns, below, above, density }), &a.common)
            }
            GeneratorKind::Blocks(a) => {
                let (rows, columns) = (a.rows, a.columns.unwrap_or(a.rows));
                let [block_rows, block_columns] = exactly("--block", &a.block)?;
                let blocks = amount(a.blocks, a.density);
                (Box::new(Blocks { rows, columns, block_rows, block_columns, blocks }), &a.common)
            }
            GeneratorKind::Uniform(a) => {
                (Box::new(Uniform { shape: a.shape.clone(), entries: amount(a.entries, a.density) }), &a.common)
            }
            GeneratorKind::Ratings(a) => {
                let (rank, noise, stars) = (a.rank, a.noise, a.stars);
                let (user_skew, item_skew) = (a.user_skew, a.item_skew);
                let plain = Ratings::new(a.users, a.items, a.ratings);
                (Box::new(Ratings { rank, noise, user_skew, item_skew, stars, ..plain }), &a.common)
            }
            GeneratorKind::Image(a) => {
                let plain = Image::new(a.height, a.width.unwrap_or(a.height));
                let radius = a.radius.unwrap_or(plain.radius);
                (Box::new(Image { blobs: a.blobs, radius, ..plain }), &a.common)
            }
        })
    }
}

fn direction(undirected: bool) -> Edges {
    if undirected { Edges::Undirected } else { Edges::Directed }
}

fn amount(count: Option<u64>, density: Option<f64>) -> Amount {
    count.map_or(Amount::Density(density.unwrap_or_default()), Amount::Count)
}

/// Returns exactly `N` numbers, or a usage failure.
fn exactly<T: Copy, const N: usize>(option: &str, numbers: &[T]) -> Result<[T; N], CommandFailure> {
    let wrong = |_| CommandFailure::usage(format!("{option} takes {N} numbers, found {}", numbers.len()));
    <[T; N]>::try_from(numbers).map_err(wrong)
}
