//! The place of each fold in the loops of a nest, and copies that make every access concordant.

pub(crate) mod concordize;
pub(crate) mod isolate;
