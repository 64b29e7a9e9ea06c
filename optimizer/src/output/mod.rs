//! The storage of outputs: formats, the structure that they inherit from operands, and workspaces.

pub(crate) mod formats;
pub(crate) mod patterns;
pub(crate) mod structure;
pub(crate) mod workspace;
