//! The error type of this crate.

/// What can go wrong between a plan with its data and a result.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The arrays given for a tensor do not make one. The caller's fault.
    #[error("invalid tensor: {0}")]
    InvalidTensor(String),
}
