//! The placement of folds in the loops of a nest, and copies that make every access concordant.

pub(crate) mod concordize;
pub(crate) mod isolate;
