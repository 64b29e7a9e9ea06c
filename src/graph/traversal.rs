//! Algorithms that follow the edges of a graph: breadth-first search, shortest paths, the
//! centralities that paths define (betweenness and closeness), and components.

use super::call::{Call, Outputs, check_vertex, edges, vertices};
use super::error::GraphError;
use crate::array::Array;
use crate::error::Error;
use redpoll_logic::Prim;
use redpoll_logic::op::Builtin;

/// The result of [`bfs`]; -1 for vertices that cannot be reached.
#[derive(Clone, Debug)]
pub struct Search {
    /// The smallest neighbour in the previous level; the source is its own parent.
    pub parent: Array,
    /// The number of edges from the source.
    pub level: Array,
}

/// The shortest paths from a vertex.
#[derive(Clone, Debug)]
pub struct Paths {
    /// The length of a shortest path; infinity for vertices that cannot be reached.
    pub distance: Array,
    /// The previous vertex on a shortest path; -1 at the source and at vertices that cannot be
    /// reached.
    pub parent: Array,
}

/// The components of a graph.
#[derive(Clone, Debug)]
pub struct Components {
    /// The smallest vertex in the component of each vertex.
    pub component: Array,
    /// The number of components.
    pub count: u64,
}

/// Searches breadth-first from a vertex. The frontier is the set of vertices that the previous
/// round has found. If the frontier is small, a round follows its edges; if it is large, a round
/// searches for a parent of each unvisited vertex instead (Beamer, Asanović and Patterson,
/// "Direction-Optimizing Breadth-First Search", 2012).
///
/// ```
/// let session = redpoll::Session::default();
/// let path = session.dense([3, 3], [0, 1, 0, 0, 0, 1, 0, 0, 0]);
/// let search = redpoll::graph::bfs(&path, 0)?;
/// assert_eq!(search.parent.to_vec::<i64>()?, [0, 0, 1]);
/// assert_eq!(search.level.to_vec::<i64>()?, [0, 1, 2]);
/// # Ok::<(), redpoll::Error>(())
/// ```
///
/// # Errors
/// Fails if the matrix is not square, the graph does not have the vertex, or the array cannot be
/// computed.
pub fn bfs(adjacency: &Array, source: u64) -> Result<Search, Error> {
    let source = check_vertex("bfs", adjacency, source)?;
    let call = Call::new(adjacency.session(), include_str!("../../programs/bfs.rp"));
    let call = call.array("A", &adjacency.to_csr())?.array("B", &adjacency.to_csc())?;
    let outputs = call.number("source", source)?.run()?;
    Ok(Search { parent: outputs.array("parent"), level: outputs.array("level") })
}

/// Computes the shortest paths from a vertex by the algorithm of Bellman and Ford. Lengths may be
/// negative. [`delta_stepping`] is faster for lengths of at least 0 on most graphs.
///
/// ```
/// let session = redpoll::Session::default();
/// let lengths = session.dense([3, 3], [0.0, 4.0, 1.0, 0.0, 0.0, 0.0, 0.0, 2.0, 0.0]);
/// let paths = redpoll::graph::shortest_paths(&lengths, 0)?;
/// assert_eq!(paths.distance.to_vec::<f64>()?, [0.0, 3.0, 1.0]);
/// assert_eq!(paths.parent.to_vec::<i64>()?, [-1, 2, 0]);
/// # Ok::<(), redpoll::Error>(())
/// ```
///
/// # Errors
/// [`GraphError::NegativeCycle`] if a cycle of negative length can be reached; also the errors of
/// [`bfs`].
pub fn shortest_paths(adjacency: &Array, source: u64) -> Result<Paths, Error> {
    const NAME: &str = "shortest_paths";
    let number = check_vertex(NAME, adjacency, source)?;
    let call = Call::new(adjacency.session(), include_str!("../../programs/bellman_ford.rp"));
    let outputs = call.array("A", &lengths(adjacency)?)?.number("source", number)?.run()?;
    if outputs.item("negative")? {
        return Err(GraphError::NegativeCycle { algorithm: NAME, source_vertex: source }.into());
    }
    Ok(paths(&outputs))
}

/// Computes the shortest paths from a vertex by delta-stepping (Meyer and Sanders,
/// "Delta-stepping: a parallelizable shortest path algorithm", 2003). Lengths must be at least 0.
/// `delta` is the range of distances that are settled together; `None` for the largest length
/// divided by the mean number of edges of a vertex. The results do not depend on `delta`, apart
/// from the choice among shortest paths of equal length.
///
/// ```
/// let session = redpoll::Session::default();
/// let lengths = session.dense([3, 3], [0.0, 4.0, 1.0, 0.0, 0.0, 0.0, 0.0, 2.0, 0.0]);
/// let paths = redpoll::graph::delta_stepping(&lengths, 0, None)?;
/// assert_eq!(paths.distance.to_vec::<f64>()?, [0.0, 3.0, 1.0]);
/// # Ok::<(), redpoll::Error>(())
/// ```
///
/// # Errors
/// [`GraphError::Parameter`] if a length is negative, or `delta` is not positive; also the errors
/// of [`bfs`].
pub fn delta_stepping(adjacency: &Array, source: u64, delta: Option<f64>) -> Result<Paths, Error> {
    const NAME: &str = "delta_stepping";
    let source = check_vertex(NAME, adjacency, source)?;
    if let Some(found) = delta.filter(|delta| delta.is_nan() || *delta <= 0.0) {
        return Err(GraphError::Parameter { algorithm: NAME, parameter: "delta", expected: "positive", found }.into());
    }
    let call = Call::new(adjacency.session(), include_str!("../../programs/delta_stepping.rp"));
    let lengths = lengths(adjacency)?;
    let call = call.array("A", &lengths)?.number("source", source)?.number("delta", delta.unwrap_or(0.0))?;
    let outputs = call.run()?;
    if outputs.item("negative")? {
        let found = lengths.min(..).item()?;
        return Err(
            GraphError::Parameter { algorithm: NAME, parameter: "adjacency", expected: "at least 0", found }.into()
        );
    }
    Ok(paths(&outputs))
}

/// Computes the lengths of the shortest paths between all pairs of vertices of a small graph, by
/// squaring the matrix of distances over the semiring (min, +). Lengths must not form a cycle of
/// negative length. The result has a value for each pair, infinity if there is no path.
///
/// ```
/// let session = redpoll::Session::default();
/// let lengths = session.dense([3, 3], [0.0, 4.0, 1.0, 0.0, 0.0, 0.0, 0.0, 2.0, 0.0]);
/// let distances = redpoll::graph::all_pairs(&lengths)?;
/// assert_eq!(distances.get::<f64>([0, 1])?, 3.0);
/// assert_eq!(distances.get::<f64>([1, 0])?, f64::INFINITY);
/// # Ok::<(), redpoll::Error>(())
/// ```
///
/// # Errors
/// [`GraphError::NegativeCycle`] if there is a cycle of negative length. Also fails if the matrix
/// is not square or the array cannot be computed.
pub fn all_pairs(adjacency: &Array) -> Result<Array, Error> {
    const NAME: &str = "all_pairs";
    let n = vertices(NAME, adjacency)?;
    let session = adjacency.session();
    let direct = edges(adjacency)?.where_(adjacency.astype(Prim::F64), f64::INFINITY);
    let empty_paths = session.eye(n, n, 0, Prim::Bool).where_(0.0, f64::INFINITY);
    let mut distance = direct.minimum(&empty_paths).to_dense();
    distance.compute()?;
    // After k squarings, the paths have up to 2^k edges.
    let mut edges = 1;
    while edges < n {
        distance = session.einsum_with("ij,jk->ik", [&distance, &distance], Builtin::Min, Builtin::Add);
        distance.compute()?;
        edges *= 2;
    }
    let negative = distance.diagonal(0).less(0.0);
    if negative.any(..).item()? {
        let source_vertex = negative.argmax(0).item::<i64>()?.unsigned_abs();
        return Err(GraphError::NegativeCycle { algorithm: NAME, source_vertex }.into());
    }
    Ok(distance)
}

/// Computes betweenness centrality from given sources (Brandes, "A faster algorithm for betweenness
/// centrality", 2001): for each vertex `v`, the sum, over all pairs of a source `s` and another
/// vertex `t`, of the fraction of the shortest paths from `s` to `t` that pass through `v`. Each
/// edge has length 1. The values are not normalized: with all vertices of an undirected graph as
/// sources, each pair of vertices counts twice.
///
/// ```
/// let session = redpoll::Session::default();
/// let path = session.dense([3, 3], [0, 1, 0, 1, 0, 1, 0, 1, 0]);
/// assert_eq!(redpoll::graph::betweenness(&path, [0, 1, 2])?.to_vec::<f64>()?, [0.0, 2.0, 0.0]);
/// # Ok::<(), redpoll::Error>(())
/// ```
///
/// # Errors
/// Fails if the matrix is not square, the graph does not have one of the vertices, or the array
/// cannot be computed.
pub fn betweenness(adjacency: &Array, sources: impl IntoIterator<Item = u64>) -> Result<Array, Error> {
    let sources = vertex_list("betweenness", adjacency, sources)?;
    let call = Call::new(adjacency.session(), include_str!("../../programs/betweenness.rp"));
    Ok(call.array("A", &adjacency.to_csr())?.array("sources", &sources)?.run()?.array("centrality"))
}

/// Computes the closeness of given vertices: the number `r` of other vertices that can be reached,
/// divided by the sum of their distances, and multiplied by `r / (n - 1)`, where `n` is the number
/// of all vertices (Wasserman and Faust, "Social network analysis", 1994). Each edge has length 1.
/// The result is 0 for a vertex that reaches no other one.
///
/// ```
/// let session = redpoll::Session::default();
/// let path = session.dense([3, 3], [0, 1, 0, 1, 0, 1, 0, 1, 0]);
/// assert_eq!(redpoll::graph::closeness(&path, [1, 0])?.to_vec::<f64>()?, [1.0, 2.0 / 3.0]);
/// # Ok::<(), redpoll::Error>(())
/// ```
///
/// # Errors
/// The errors of [`betweenness`].
pub fn closeness(adjacency: &Array, sources: impl IntoIterator<Item = u64>) -> Result<Array, Error> {
    let sources = vertex_list("closeness", adjacency, sources)?;
    let call = Call::new(adjacency.session(), include_str!("../../programs/closeness.rp"));
    Ok(call.array("A", &adjacency.to_csr())?.array("sources", &sources)?.run()?.array("closeness"))
}

/// Computes the components of a graph; directions of edges do not count (weakly connected
/// components).
///
/// ```
/// let session = redpoll::Session::default();
/// let components = redpoll::graph::components(&session.dense([3, 3], [0, 0, 0, 0, 0, 0, 1, 0, 0]))?;
/// assert_eq!(components.component.to_vec::<i64>()?, [0, 1, 0]);
/// assert_eq!(components.count, 2);
/// # Ok::<(), redpoll::Error>(())
/// ```
///
/// # Errors
/// Fails if the matrix is not square or the array cannot be computed.
pub fn components(adjacency: &Array) -> Result<Components, Error> {
    vertices("components", adjacency)?;
    let call = Call::new(adjacency.session(), include_str!("../../programs/weak_components.rp"));
    components_of(&call.array("A", &adjacency.to_csr())?.run()?)
}

/// Computes the strongly connected components of a directed graph: two vertices are in one
/// component if each can be reached from the other.
///
/// ```
/// let session = redpoll::Session::default();
/// let cycle_and_tail = session.dense([3, 3], [0, 1, 0, 1, 0, 1, 0, 0, 0]);
/// let components = redpoll::graph::strong_components(&cycle_and_tail)?;
/// assert_eq!(components.component.to_vec::<i64>()?, [0, 0, 2]);
/// # Ok::<(), redpoll::Error>(())
/// ```
///
/// # Errors
/// Fails if the matrix is not square or the array cannot be computed.
pub fn strong_components(adjacency: &Array) -> Result<Components, Error> {
    vertices("strong_components", adjacency)?;
    let call = Call::new(adjacency.session(), include_str!("../../programs/strong_components.rp"));
    components_of(&call.array("A", &adjacency.to_csr())?.array("B", &adjacency.to_csc())?.run()?)
}

fn vertex_list(
    algorithm: &'static str,
    adjacency: &Array,
    vertices: impl IntoIterator<Item = u64>,
) -> Result<Array, Error> {
    let numbers = vertices.into_iter().map(|vertex| check_vertex(algorithm, adjacency, vertex));
    Ok(adjacency.session().vector(numbers.collect::<Result<Vec<i64>, _>>()?))
}

/// Returns the lengths of edges as a CSR matrix of `f64` with the fill value infinity.
fn lengths(adjacency: &Array) -> Result<Array, Error> {
    Ok(edges(adjacency)?.where_(adjacency.astype(Prim::F64), f64::INFINITY).to_csr())
}

fn paths(outputs: &Outputs<'_>) -> Paths {
    Paths { distance: outputs.array("distance"), parent: outputs.array("parent") }
}

fn components_of(outputs: &Outputs<'_>) -> Result<Components, Error> {
    Ok(Components { component: outputs.array("component"), count: outputs.item::<i64>("count")?.unsigned_abs() })
}
