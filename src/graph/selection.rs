//! Selections of vertices and edges: spanning forests, matchings, independent sets and colors.

use super::call::{Call, vertices};
use super::error::GraphError;
use crate::array::Array;
use crate::error::Error;

/// The result of [`coloring`].
#[derive(Clone, Debug)]
pub struct Coloring {
    /// The color of each vertex, from 0.
    pub color: Array,
    /// The number of colors.
    pub colors: u64,
}

/// The result of [`matching`].
#[derive(Clone, Debug)]
pub struct Matching {
    /// The column that is matched with each row; -1 for none.
    pub column: Array,
    /// The row that is matched with each column; -1 for none.
    pub row: Array,
    /// The number of matched pairs.
    pub count: u64,
}

/// The result of [`spanning_forest`].
#[derive(Clone, Debug)]
pub struct SpanningForest {
    /// The matrix of the edges of the forest, in both directions, with their weights.
    pub forest: Array,
    /// The sum of the weights; each edge counts once.
    pub total: f64,
    /// The number of edges.
    pub count: u64,
}

/// Computes a maximal independent set of an undirected graph: no two of its vertices are
/// neighbours, and every other vertex has a neighbour in it. Self-loops do not count. The set
/// depends on `seed` (Luby, "A simple parallel algorithm for the maximal independent set problem",
/// 1986). The result is true for the vertices of the set.
///
/// ```
/// let session = redpoll::Session::default();
/// let triangle = session.dense([3, 3], [0, 1, 1, 1, 0, 1, 1, 1, 0]);
/// let set = redpoll::graph::independent_set(&triangle, 0)?;
/// assert_eq!(set.count_nonzero(..).item::<i64>()?, 1);
/// # Ok::<(), redpoll::Error>(())
/// ```
///
/// # Errors
/// Fails if the matrix is not square or the array cannot be computed.
pub fn independent_set(adjacency: &Array, seed: i64) -> Result<Array, Error> {
    vertices("independent_set", adjacency)?;
    let call = Call::new(adjacency.session(), include_str!("../../programs/independent_set.rp"));
    Ok(call.array("A", &adjacency.to_csr())?.number("seed", seed)?.run()?.array("member"))
}

/// Colors an undirected graph so that neighbours have different colors: each vertex takes the
/// smallest color that no neighbour has taken, and vertices with more neighbours come first (Jones
/// and Plassmann, "A parallel graph coloring heuristic", 1993). Self-loops do not count; `seed`
/// decides the order of vertices with equally many neighbours.
///
/// ```
/// let session = redpoll::Session::default();
/// let triangle = session.dense([3, 3], [0, 1, 1, 1, 0, 1, 1, 1, 0]);
/// assert_eq!(redpoll::graph::coloring(&triangle, 0)?.colors, 3);
/// # Ok::<(), redpoll::Error>(())
/// ```
///
/// # Errors
/// Fails if the matrix is not square or the array cannot be computed.
pub fn coloring(adjacency: &Array, seed: i64) -> Result<Coloring, Error> {
    vertices("coloring", adjacency)?;
    let call = Call::new(adjacency.session(), include_str!("../../programs/coloring.rp"));
    let outputs = call.array("A", &adjacency.to_csr())?.number("seed", seed)?.run()?;
    Ok(Coloring { color: outputs.array("color"), colors: outputs.item::<i64>("colors")?.unsigned_abs() })
}

/// Computes a minimum spanning forest of an undirected graph by the algorithm of Borůvka: a tree
/// with the smallest sum of weights for each component. Weights may be negative; self-loops do not
/// count.
///
/// ```
/// let session = redpoll::Session::default();
/// let weights = session.dense([3, 3], [0.0, 1.0, 4.0, 1.0, 0.0, 2.0, 4.0, 2.0, 0.0]);
/// let forest = redpoll::graph::spanning_forest(&weights)?;
/// assert_eq!((forest.total, forest.count), (3.0, 2));
/// # Ok::<(), redpoll::Error>(())
/// ```
///
/// # Errors
/// Fails if the matrix is not square or the array cannot be computed.
pub fn spanning_forest(adjacency: &Array) -> Result<SpanningForest, Error> {
    vertices("spanning_forest", adjacency)?;
    let call = Call::new(adjacency.session(), include_str!("../../programs/spanning_forest.rp"));
    let outputs = call.array("A", &adjacency.to_csr())?.run()?;
    let count = outputs.item::<i64>("count")?.unsigned_abs();
    Ok(SpanningForest { forest: outputs.array("forest"), total: outputs.item("total")?, count })
}

/// Computes a maximum matching of a bipartite graph: a largest set of edges, no two of which share
/// a row or a column. An element of `edges` that differs from the fill value is an edge between its
/// row and its column (Azad and Buluç, "Distributed-memory algorithms for maximum cardinality
/// matching in bipartite graphs", 2016).
///
/// ```
/// let session = redpoll::Session::default();
/// let matching = redpoll::graph::matching(&session.dense([2, 3], [1, 1, 0, 1, 0, 0]))?;
/// assert_eq!(matching.column.to_vec::<i64>()?, [1, 0]);
/// assert_eq!(matching.row.to_vec::<i64>()?, [1, 0, -1]);
/// # Ok::<(), redpoll::Error>(())
/// ```
///
/// # Errors
/// Fails if the array is not a matrix or cannot be computed.
pub fn matching(edges: &Array) -> Result<Matching, Error> {
    let shape = edges.shape()?;
    if shape.len() != 2 {
        let expected = "a matrix with a row for each vertex of one side".to_owned();
        return Err(GraphError::Shape { algorithm: "matching", expected, shape }.into());
    }
    let call = Call::new(edges.session(), include_str!("../../programs/matching.rp"));
    let outputs = call.array("A", &edges.to_csr())?.run()?;
    let count = outputs.item::<i64>("count")?.unsigned_abs();
    Ok(Matching { column: outputs.array("column"), row: outputs.array("row"), count })
}
