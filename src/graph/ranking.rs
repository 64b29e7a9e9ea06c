//! Scores of vertices by iteration: PageRank, HITS and Katz centrality.

use super::call::{Call, Outputs, vertices};
use super::error::GraphError;
use crate::array::Array;
use crate::error::Error;

/// The condition that ends an iteration.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Stopping {
    /// The iteration has converged if the sum of the absolute changes of all scores in a round is
    /// at most this number.
    pub tolerance: f64,
    /// The greatest number of rounds.
    pub max_rounds: u64,
}

impl Default for Stopping {
    /// A tolerance of 1e-6, and at most 100 rounds.
    fn default() -> Stopping {
        Stopping { tolerance: 1e-6, max_rounds: 100 }
    }
}

/// Scores of vertices after an iteration.
#[derive(Clone, Debug)]
pub struct Ranking {
    /// The score of each vertex.
    pub scores: Array,
    /// The number of rounds.
    pub rounds: u64,
    /// Whether the iteration has converged.
    pub converged: bool,
}

/// The result of [`hits`].
#[derive(Clone, Debug)]
pub struct Hits {
    /// The hub score of each vertex.
    pub hubs: Array,
    /// The authority score of each vertex.
    pub authorities: Array,
    /// The number of rounds.
    pub rounds: u64,
    /// Whether the hub scores have converged.
    pub converged: bool,
}

/// Computes PageRank (Page, Brin, Motwani and Winograd, "The PageRank Citation Ranking", 1999). The
/// weights of edges do not count, the rank of a vertex without outgoing edges is spread over all
/// vertices, and the ranks sum to 1.
///
/// ```
/// use redpoll::graph::{Stopping, pagerank};
///
/// let session = redpoll::Session::default();
/// let cycle = session.eye(3, 3, 1, redpoll::logic::Prim::Bool) + session.eye(3, 3, -2, redpoll::logic::Prim::Bool);
/// let ranking = pagerank(&cycle, 0.85, Stopping::default())?;
/// assert!(ranking.converged);
/// assert!((ranking.scores.get::<f64>([2])? - 1.0 / 3.0).abs() < 1e-6);
/// # Ok::<(), redpoll::Error>(())
/// ```
///
/// # Errors
/// Fails if the matrix is not square, `damping` is not between 0 and 1, or the array cannot be
/// computed.
pub fn pagerank(adjacency: &Array, damping: f64, stopping: Stopping) -> Result<Ranking, Error> {
    vertices("pagerank", adjacency)?;
    check_damping("pagerank", damping)?;
    let call = Call::new(adjacency.session(), include_str!("../../programs/pagerank.rp"));
    let call = call.array("A", &adjacency.to_csr())?.number("damping", damping)?;
    ranking(&stopped(call, stopping)?.run()?, "rank")
}

/// Computes PageRank for walks that begin at a vertex with a probability proportional to the
/// preference of the vertex; in [`pagerank`], all vertices are equally likely. Preferences must be
/// at least 0. If all preferences are 0, all ranks are 0.
///
/// ```
/// use redpoll::graph::{Stopping, personalized_pagerank};
///
/// let session = redpoll::Session::default();
/// let preference = session.vector([0.0, 1.0]);
/// let edges = session.dense([2, 2], [0, 1, 0, 0]);
/// let ranking = personalized_pagerank(&edges, &preference, 0.85, Stopping::default())?;
/// assert_eq!(ranking.scores.to_vec::<f64>()?, [0.0, 1.0]);
/// # Ok::<(), redpoll::Error>(())
/// ```
///
/// # Errors
/// Fails if `preference` does not have one element for each vertex; also the errors of
/// [`pagerank`].
pub fn personalized_pagerank(
    adjacency: &Array,
    preference: &Array,
    damping: f64,
    stopping: Stopping,
) -> Result<Ranking, Error> {
    const NAME: &str = "personalized_pagerank";
    let count = vertices(NAME, adjacency)?;
    check_damping(NAME, damping)?;
    let shape = preference.shape()?;
    if shape != [count] {
        let expected = format!("a preference of shape [{count}], one for each vertex");
        return Err(GraphError::Shape { algorithm: NAME, expected, shape }.into());
    }
    let call = Call::new(adjacency.session(), include_str!("../../programs/personalized_pagerank.rp"));
    let call = call.array("A", &adjacency.to_csr())?.array("preference", preference)?.number("damping", damping)?;
    ranking(&stopped(call, stopping)?.run()?, "rank")
}

/// Computes hubs and authorities (HITS; Kleinberg, "Authoritative Sources in a Hyperlinked
/// Environment", 1999). The weights of edges do not count. The squares of the hub scores sum to 1,
/// and so do those of the authority scores.
///
/// ```
/// use redpoll::graph::{Stopping, hits};
///
/// let session = redpoll::Session::default();
/// let star = session.dense([3, 3], [0, 1, 1, 0, 0, 0, 0, 0, 0]);
/// let scores = hits(&star, Stopping::default())?;
/// assert_eq!(scores.hubs.to_vec::<f64>()?, [1.0, 0.0, 0.0]);
/// # Ok::<(), redpoll::Error>(())
/// ```
///
/// # Errors
/// Fails if the matrix is not square or the array cannot be computed.
pub fn hits(adjacency: &Array, stopping: Stopping) -> Result<Hits, Error> {
    vertices("hits", adjacency)?;
    let call = Call::new(adjacency.session(), include_str!("../../programs/hits.rp"));
    let outputs = stopped(call.array("A", &adjacency.to_csr())?, stopping)?.run()?;
    let Ranking { scores: hubs, rounds, converged } = ranking(&outputs, "hub")?;
    Ok(Hits { hubs, authorities: outputs.array("authority"), rounds, converged })
}

/// Computes Katz centrality (Katz, "A New Status Index Derived from Sociometric Analysis", 1953):
/// the number of walks that end at a vertex, where a walk of length `k` counts `beta * alpha^k`.
/// The weights of edges do not count. The iteration converges if `alpha` is less than 1 divided by
/// the largest eigenvalue of the adjacency matrix.
///
/// ```
/// use redpoll::graph::{Stopping, katz};
///
/// let session = redpoll::Session::default();
/// let path = session.dense([3, 3], [0, 1, 0, 0, 0, 1, 0, 0, 0]);
/// assert_eq!(katz(&path, 0.5, 1.0, Stopping::default())?.scores.to_vec::<f64>()?, [1.0, 1.5, 1.75]);
/// # Ok::<(), redpoll::Error>(())
/// ```
///
/// # Errors
/// Fails if the matrix is not square or the array cannot be computed.
pub fn katz(adjacency: &Array, alpha: f64, beta: f64, stopping: Stopping) -> Result<Ranking, Error> {
    vertices("katz", adjacency)?;
    let call = Call::new(adjacency.session(), include_str!("../../programs/katz.rp"));
    let call = call.array("A", &adjacency.to_csr())?.number("alpha", alpha)?.number("beta", beta)?;
    ranking(&stopped(call, stopping)?.run()?, "centrality")
}

fn check_damping(algorithm: &'static str, damping: f64) -> Result<(), Error> {
    if (0.0..=1.0).contains(&damping) {
        return Ok(());
    }
    Err(GraphError::Parameter { algorithm, parameter: "damping", expected: "between 0 and 1", found: damping }.into())
}

fn stopped(call: Call<'_>, stopping: Stopping) -> Result<Call<'_>, Error> {
    let max_rounds = i64::try_from(stopping.max_rounds).unwrap_or(i64::MAX);
    call.number("tolerance", stopping.tolerance)?.number("max_rounds", max_rounds)
}

fn ranking(outputs: &Outputs<'_>, scores: &str) -> Result<Ranking, Error> {
    let rounds = outputs.item::<i64>("rounds")?.unsigned_abs();
    Ok(Ranking { scores: outputs.array(scores), rounds, converged: outputs.item("converged")? })
}
