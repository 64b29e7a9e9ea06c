//! Linear algebra on arrays: factorizations (`dense.rs`, `sparse.rs`) and iterative solvers
//! (`iterative/`).
