//! Knowledge about tensors, and the estimates that follow from it.

pub(crate) mod estimate;
pub(crate) mod measuring;
pub(crate) mod memo;
mod tensors;

pub(crate) use tensors::{Facts, WrittenTensorFacts};
