//! The extension module `redpoll._core` of the Python package.
//!
//! The module has these classes, among others: arrays (`array.rs`), sessions (`session.rs`),
//! tensors (`tensor.rs`) with the buffers that they share with Python (`buffer.rs`), tables of
//! Arrow (`arrow.rs`), programs (`program.rs`) and factorizations (`linalg/`). With the feature
//! `sql`, the module also has databases (`database.rs`). Operators are applied by their names, so
//! the module needs no function for each operator. The Python layer defines the functions of the
//! Python Array API standard, and calls the functions of this module.
#![allow(clippy::needless_pass_by_value, reason = "functions of Python receive their arguments by value")]

mod argument;
mod array;
mod arrow;
mod buffer;
#[cfg(feature = "sql")]
mod database;
mod dtype;
mod error;
mod index;
mod linalg;
mod operand;
mod operators;
mod ordered;
mod products;
mod program;
mod promotion;
mod reductions;
mod reports;
mod run;
mod session;
mod shapes;
mod tensor;
mod work;

/// The allocator of the module. The system's allocator returns the memory of large results to the
/// system. The page faults of the next result would then take longer than its computation.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// The core of the package `redpoll`; import `redpoll` instead.
#[pyo3::pymodule]
mod _core {
    #[pymodule_export]
    use crate::array::Array;
    #[pymodule_export]
    use crate::arrow::labels::Labels;
    #[pymodule_export]
    use crate::arrow::{ArrowTable, export_table, import_table};
    #[pymodule_export]
    use crate::buffer::SharedBuffer;
    #[cfg(feature = "sql")]
    #[pymodule_export]
    use crate::database::_sql;
    #[pymodule_export]
    use crate::linalg::dense::{
        cholesky, cross, eigh, lstsq, matrix_function, matrix_norm, matrix_power, matrix_rank, pinv, qr, slogdet,
        solve, svd,
    };
    #[pymodule_export]
    use crate::linalg::eigen::{eigsh, expm_multiply, svds};
    #[pymodule_export]
    use crate::linalg::preconditioner::Preconditioner;
    #[pymodule_export]
    use crate::linalg::solvers::{lsqr, solve_system};
    #[pymodule_export]
    use crate::linalg::sparse::{Factorization, spsolve};
    #[pymodule_export]
    use crate::operand::register;
    #[pymodule_export]
    use crate::operators::{Operator, operator_names};
    #[pymodule_export]
    use crate::ordered::{argsort, argwhere, isin, nonzero, quantile, searchsorted, select, sort, top_k, unique};
    #[pymodule_export]
    use crate::products::{einsum, kron, matmul, outer, tensordot, vecdot};
    #[pymodule_export]
    use crate::program::{Program, graph_programs};
    #[pymodule_export]
    use crate::reductions::{diff, moment, norm, reduce, scan};
    #[pymodule_export]
    use crate::reports::{explain, flow, kept_tensor, profile};
    #[pymodule_export]
    use crate::run::compute_all;
    #[pymodule_export]
    use crate::session::Session;
    #[pymodule_export]
    use crate::shapes::{
        broadcast_to, concat, diagonal, expand_dims, flip, pad, permute_dims, repeat, repeat_each, reshape, roll,
        scatter, squeeze, stack, take_along_axis, tile, triangle,
    };
    #[pymodule_export]
    use crate::tensor::Tensor;
}
