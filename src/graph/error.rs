//! Errors of graph algorithms.

/// An input that a graph algorithm does not accept. The fault is the caller's.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum GraphError {
    /// The adjacency matrix is not square.
    #[error("`{algorithm}` takes a square adjacency matrix, found shape {shape:?}")]
    NotSquare {
        /// The name of the function.
        algorithm: &'static str,
        /// The shape of the array.
        shape: Vec<u64>,
    },
    /// The array has another number of modes than the function takes.
    #[error("`{algorithm}` takes {expected}, found shape {shape:?}")]
    Shape {
        /// The name of the function.
        algorithm: &'static str,
        /// The expected shape.
        expected: String,
        /// The shape of the array.
        shape: Vec<u64>,
    },
    /// The graph does not have the vertex.
    #[error("`{algorithm}` got the vertex {vertex}, but the graph has {vertices} vertices, numbered from 0")]
    NoVertex {
        /// The name of the function.
        algorithm: &'static str,
        /// The number of the vertex.
        vertex: u64,
        /// The number of vertices.
        vertices: u64,
    },
    /// A cycle of negative length is reachable, so there are no shortest paths.
    #[error("`{algorithm}` found a cycle of negative length that can be reached from vertex {source_vertex}")]
    NegativeCycle {
        /// The name of the function.
        algorithm: &'static str,
        /// The vertex from which paths start.
        source_vertex: u64,
    },
    /// A parameter is out of its range.
    #[error("`{parameter}` of `{algorithm}` must be {expected}, found {found}")]
    Parameter {
        /// The name of the function.
        algorithm: &'static str,
        /// The name of the parameter.
        parameter: &'static str,
        /// The range of the parameter.
        expected: &'static str,
        /// The value.
        found: f64,
    },
}
