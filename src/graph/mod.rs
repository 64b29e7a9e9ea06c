//! Graph algorithms over adjacency matrices.
//!
//! An element `A[i, j]` that differs from the fill value of the array is an edge from `i` to `j`.
//! In algorithms that use lengths or weights of edges, the value of the element is the length or
//! weight. Vertices are numbered from 0. Functions for undirected graphs take matrices that store
//! each edge in both directions. If the fill value is NaN, every element is an edge.
//!
//! Most functions run a program with explicit loops; the texts of the programs are in the folder
//! `programs/` of the repository, and each begins with the definition that it follows. Others are
//! expressions of arrays. Results do not depend on the number of threads.
//!
//! ```
//! use redpoll::{Session, graph};
//!
//! let session = Session::default();
//! let edges = session.sample("karate")?;
//! let search = graph::bfs(&edges, 0)?;
//! assert_eq!(search.level.max(..).item::<i64>()?, 3);
//! assert_eq!(graph::triangles(&edges)?, 45);
//! # Ok::<(), redpoll::Error>(())
//! ```

mod call;
mod communities;
mod error;
mod ranking;
mod selection;
mod traversal;

pub use communities::{
    Clustering, Communities, Similarity, clustering, k_core, k_truss, label_propagation, louvain, similarity, triangles,
};
pub use error::GraphError;
pub use ranking::{Hits, Ranking, Stopping, hits, katz, pagerank, personalized_pagerank};
pub use selection::{Coloring, Matching, SpanningForest, coloring, independent_set, matching, spanning_forest};
pub use traversal::{
    Components, Paths, Search, all_pairs, betweenness, bfs, closeness, components, delta_stepping, shortest_paths,
    strong_components,
};
