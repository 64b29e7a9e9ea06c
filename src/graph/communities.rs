//! Communities, cores and the neighbourhoods of vertices.

use super::call::{Call, edges, vertices};
use crate::array::Array;
use crate::error::Error;
use redpoll_logic::{Format, Prim};

/// The result of [`clustering`].
#[derive(Clone, Debug)]
pub struct Clustering {
    /// The local clustering coefficient of each vertex.
    pub coefficient: Array,
    /// The number of triangles of each vertex.
    pub triangles: Array,
}

/// The result of [`louvain`].
#[derive(Clone, Debug)]
pub struct Communities {
    /// The community of each vertex, numbered from 0 in the order of their smallest vertices.
    pub community: Array,
    /// The number of communities.
    pub count: u64,
    /// The modularity of the partition.
    pub modularity: f64,
}

/// The result of [`similarity`].
#[derive(Clone, Debug)]
pub struct Similarity {
    /// Jaccard similarity: the number of common neighbours divided by the number of all neighbours.
    pub jaccard: Array,
    /// Cosine similarity: the number of common neighbours divided by the geometric mean of the
    /// numbers of neighbours.
    pub cosine: Array,
}

/// Returns the core number of each vertex of an undirected graph: the largest `k` for which the
/// vertex belongs to a subgraph in which every vertex has at least `k` neighbours. Self-loops do
/// not count.
///
/// ```
/// let session = redpoll::Session::default();
/// let triangle_and_leaf = session.dense([4, 4], [0, 1, 1, 0, 1, 0, 1, 0, 1, 1, 0, 1, 0, 0, 1, 0]);
/// assert_eq!(redpoll::graph::k_core(&triangle_and_leaf)?.to_vec::<i64>()?, [2, 2, 2, 1]);
/// # Ok::<(), redpoll::Error>(())
/// ```
///
/// # Errors
/// Fails if the matrix is not square or the array cannot be computed.
pub fn k_core(adjacency: &Array) -> Result<Array, Error> {
    vertices("k_core", adjacency)?;
    let call = Call::new(adjacency.session(), include_str!("../../programs/k_core.rp"));
    Ok(call.array("A", &adjacency.to_csr())?.run()?.array("core"))
}

/// Returns the truss number of each edge of an undirected graph, as a matrix: the largest `k` for
/// which the edge belongs to a subgraph in which every edge is in at least `k - 2` triangles
/// (Cohen, "Trusses: Cohesive Subgraphs for Social Network Analysis", 2008). Self-loops and pairs
/// of vertices without an edge have the number 0.
///
/// ```
/// let session = redpoll::Session::default();
/// let triangle_and_leaf = session.dense([4, 4], [0, 1, 1, 0, 1, 0, 1, 0, 1, 1, 0, 1, 0, 0, 1, 0]);
/// let truss = redpoll::graph::k_truss(&triangle_and_leaf)?;
/// assert_eq!((truss.get::<i64>([0, 1])?, truss.get::<i64>([2, 3])?), (3, 2));
/// # Ok::<(), redpoll::Error>(())
/// ```
///
/// # Errors
/// Fails if the matrix is not square or the array cannot be computed.
pub fn k_truss(adjacency: &Array) -> Result<Array, Error> {
    vertices("k_truss", adjacency)?;
    let call = Call::new(adjacency.session(), include_str!("../../programs/k_truss.rp"));
    Ok(call.array("A", &adjacency.to_csr())?.run()?.array("truss"))
}

/// Counts the triangles of an undirected graph. Self-loops do not count.
///
/// ```
/// let session = redpoll::Session::default();
/// let triangle = session.dense([3, 3], [0, 1, 1, 1, 0, 1, 1, 1, 0]);
/// assert_eq!(redpoll::graph::triangles(&triangle)?, 1);
/// # Ok::<(), redpoll::Error>(())
/// ```
///
/// # Errors
/// Fails if the matrix is not square or the array cannot be computed.
pub fn triangles(adjacency: &Array) -> Result<u64, Error> {
    vertices("triangles", adjacency)?;
    // Only edges from a larger to a smaller vertex remain, so each triangle is counted once.
    let below = edges(adjacency)?.astype(Prim::U64).tril(-1);
    adjacency.session().einsum("ij,jk,ik->", [&below, &below, &below]).item()
}

/// Computes the local clustering coefficient of each vertex, as LDBC Graphalytics defines it, and
/// the number of triangles of each vertex. Neighbours of a vertex are the other vertices with an
/// edge from or to it. The coefficient is the number of edges between neighbours, divided by the
/// number of ordered pairs of neighbours, and 0 for fewer than two neighbours.
///
/// ```
/// let session = redpoll::Session::default();
/// let triangle_and_leaf = session.dense([4, 4], [0, 1, 1, 0, 1, 0, 1, 0, 1, 1, 0, 1, 0, 0, 1, 0]);
/// let clustering = redpoll::graph::clustering(&triangle_and_leaf)?;
/// assert_eq!(clustering.coefficient.to_vec::<f64>()?, [1.0, 1.0, 1.0 / 3.0, 0.0]);
/// assert_eq!(clustering.triangles.to_vec::<i64>()?, [1, 1, 1, 0]);
/// # Ok::<(), redpoll::Error>(())
/// ```
///
/// # Errors
/// Fails if the matrix is not square or the array cannot be computed.
pub fn clustering(adjacency: &Array) -> Result<Clustering, Error> {
    vertices("clustering", adjacency)?;
    let call = Call::new(adjacency.session(), include_str!("../../programs/clustering.rp"));
    let outputs = call.array("A", &adjacency.to_csr())?.array("B", &adjacency.to_csc())?.run()?;
    Ok(Clustering { coefficient: outputs.array("coefficient"), triangles: outputs.array("triangles") })
}

/// Finds communities by synchronous label propagation, as LDBC Graphalytics defines it: the label
/// of a vertex begins as its number, and in each round a vertex takes the most frequent label among
/// its neighbours in either direction, or the smallest such label if several are equally frequent.
/// There are `max_rounds` rounds, or fewer if a round changes no label.
///
/// ```
/// let session = redpoll::Session::default();
/// let pairs = session.dense([4, 4], [0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 1, 0]);
/// assert_eq!(redpoll::graph::label_propagation(&pairs, 2)?.to_vec::<i64>()?, [0, 1, 2, 3]);
/// # Ok::<(), redpoll::Error>(())
/// ```
///
/// # Errors
/// Fails if the matrix is not square or the array cannot be computed.
pub fn label_propagation(adjacency: &Array, max_rounds: u64) -> Result<Array, Error> {
    vertices("label_propagation", adjacency)?;
    let call = Call::new(adjacency.session(), include_str!("../../programs/cdlp.rp"));
    let call = call.array("A", &adjacency.to_csr())?.array("B", &adjacency.to_csc())?;
    let max_rounds = i64::try_from(max_rounds).unwrap_or(i64::MAX);
    Ok(call.number("max_rounds", max_rounds)?.run()?.array("label"))
}

/// Finds communities of an undirected graph with weights of at least 0 by the method of Louvain
/// (Blondel, Guillaume, Lambiotte and Lefebvre, "Fast Unfolding of Communities in Large Networks",
/// 2008): vertices move to the neighbouring community that increases the modularity most, and then
/// the communities become the vertices of a smaller graph, until nothing moves. A larger
/// `resolution` than 1 gives more and smaller communities.
///
/// ```
/// let session = redpoll::Session::default();
/// let communities = redpoll::graph::louvain(&session.sample("karate")?, 1.0)?;
/// assert_eq!(communities.count, 4);
/// assert!(communities.modularity > 0.4);
/// # Ok::<(), redpoll::Error>(())
/// ```
///
/// # Errors
/// Fails if the matrix is not square or the array cannot be computed.
pub fn louvain(adjacency: &Array, resolution: f64) -> Result<Communities, Error> {
    let n = vertices("louvain", adjacency)?;
    let session = adjacency.session();
    let level = |graph: &Array| {
        let call = Call::new(session, include_str!("../../programs/louvain.rp"));
        call.array("A", &graph.to_csr())?.number("resolution", resolution)?.run()
    };
    // Elements that are not edges become 0, the fill value from here on. Edges of weight 0
    // disappear too, but they add nothing to any sum.
    let mut graph = edges(adjacency)?.where_(adjacency.astype(Prim::F64), 0.0);
    let mut community = session.arange(0, i64::try_from(n).unwrap_or(i64::MAX), 1);
    loop {
        let outputs = level(&graph)?;
        let (of_vertex, count) = (outputs.array("community"), outputs.item::<i64>("count")?.unsigned_abs());
        community = of_vertex.take(&community, 0);
        community.compute()?;
        if outputs.item::<i64>("moves")? == 0 {
            return Ok(Communities { community, count, modularity: outputs.item("modularity")? });
        }
        // The weights between the communities: P^T A P, where P has the community of each vertex.
        let of_vertex = of_vertex.to_vec::<i64>()?;
        let entries = (0..).zip(of_vertex).map(|(vertex, community)| ([vertex, community.unsigned_abs()], 1.0));
        let members = session.triples([graph.shape()?[0], count], Format::csr(), entries);
        graph = session.einsum("ic,ij,jd->cd", [&members, &graph, &members]).to_csr();
        graph.compute()?;
    }
}

/// Computes, for each edge, the similarities of the neighbourhoods of its two ends. The
/// similarities of vertices without an edge between them are 0. Weights do not count. The
/// neighbourhood of a vertex `v` is the set of the vertices `u` with an edge from `v` to `u`; a
/// self-loop makes `v` a member of its own neighbourhood.
///
/// ```
/// let session = redpoll::Session::default();
/// let triangle = session.dense([3, 3], [0, 1, 1, 1, 0, 1, 1, 1, 0]);
/// let similarity = redpoll::graph::similarity(&triangle)?;
/// assert_eq!(similarity.jaccard.get::<f64>([0, 1])?, 1.0 / 3.0);
/// assert_eq!(similarity.cosine.get::<f64>([0, 1])?, 0.5);
/// # Ok::<(), redpoll::Error>(())
/// ```
///
/// # Errors
/// Fails if the matrix is not square or the array cannot be computed.
pub fn similarity(adjacency: &Array) -> Result<Similarity, Error> {
    vertices("similarity", adjacency)?;
    let call = Call::new(adjacency.session(), include_str!("../../programs/similarity.rp"));
    let outputs = call.array("A", &adjacency.to_csr())?.run()?;
    Ok(Similarity { jaccard: outputs.array("jaccard"), cosine: outputs.array("cosine") })
}
