//! Errors of iterative solvers.

/// An input that a function of iterative linear algebra does not accept, or a result that it cannot
/// compute.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SolverError {
    /// The shape of an array or an operator does not fit. The fault is the caller's.
    #[error("`{function}` takes {expected}, found shape {shape:?}")]
    Shape {
        /// The name of the function.
        function: &'static str,
        /// The expected shape.
        expected: String,
        /// The found shape.
        shape: Vec<u64>,
    },
    /// An array has values that are not real numbers. The fault is the caller's.
    #[error("`{function}` takes real numbers, found dtype {dtype}; cast the array first: `astype(Prim::F64)`")]
    DType {
        /// The name of the function.
        function: &'static str,
        /// The dtype of the array.
        dtype: redpoll_logic::DType,
    },
    /// An input or a product has an infinity or NaN. The fault is the caller's, unless a product of
    /// finite numbers overflows.
    #[error("`{function}` found an infinity or NaN in {vector}")]
    NotFinite {
        /// The name of the function.
        function: &'static str,
        /// The name of the input or product.
        vector: &'static str,
    },
    /// A parameter is out of its range. The fault is the caller's.
    #[error("`{parameter}` of `{function}` must be {expected}, found {found}")]
    Parameter {
        /// The name of the function.
        function: &'static str,
        /// The name of the parameter.
        parameter: &'static str,
        /// The range of the parameter.
        expected: &'static str,
        /// The value.
        found: f64,
    },
    /// An operator returned a vector whose length is not its number of rows. The fault is that of
    /// the operator's author.
    #[error("a linear operator returned a vector of shape {shape:?}, expected [{rows}]")]
    ProductShape {
        /// The number of rows of the operator.
        rows: u64,
        /// The shape of the returned vector.
        shape: Vec<u64>,
    },
    /// An operator has no transposed product. The fault is the caller's.
    #[error("the linear operator has no transposed product; add one with `with_transpose`")]
    NoTranspose,
    /// A solver needs the inverse of an operator, of the shifted operator or of `B`, that is not an
    /// array, so the solver cannot factorize it. The fault is the caller's.
    #[error("`{function}` needs the inverse of an operator that is not an array; give it with the operator")]
    NoInverse {
        /// The name of the function.
        function: &'static str,
    },
    /// A pivot of a factorization is zero or not finite, or not positive where the factorization
    /// takes a square root. Another preconditioner or a shifted matrix may help.
    #[error("`{function}` found the pivot {pivot} in row {row}; shift the matrix or take another preconditioner")]
    Pivot {
        /// The name of the function.
        function: &'static str,
        /// The row.
        row: u64,
        /// The pivot.
        pivot: f64,
    },
    /// An operator that defines an inner product is not positive definite. The fault is the
    /// caller's.
    #[error("`{function}` takes a positive definite operator `{operator}`")]
    NotPositiveDefinite {
        /// The name of the function.
        function: &'static str,
        /// The name of the operator.
        operator: &'static str,
    },
    /// An eigenvalue solver reached its limit of restarts.
    #[error(
        "`{function}` found {converged} of {requested} values in {restarts} restarts; raise the limit of restarts, \
         the tolerance or the dimension of the subspace"
    )]
    NotConverged {
        /// The name of the function.
        function: &'static str,
        /// The number of values that have converged.
        converged: u64,
        /// The number of requested values.
        requested: u64,
        /// The number of restarts.
        restarts: u64,
    },
}
