"""Linear algebra: factorizations, systems of equations, eigenvalues and singular values.

The module has the extension `linalg` of the Python Array API standard, version 2024.12, and the
solvers of `scipy.sparse.linalg` by their names.

Functions of the extension take stacks of matrices. They take dense and sparse arrays, but compute
with dense matrices under the memory limit of the session. `matrix_norm`, `vector_norm` and products
keep sparse arrays sparse. Factorizations of sparse matrices and iterative solvers take matrices of
any format and library, and do not convert them to dense ones.

Integers and booleans are computed as `float64`. Iterative solvers compute in `float64`. Results do
not depend on the number of threads. Ctrl-C ends a long computation.
"""

from ._errors import LinAlgError as LinAlgError
from ._linalg.dense import (
    EighResult, LstsqResult, QRResult, SVDResult, SlogdetResult, cholesky, det, eigh, eigvalsh, inv, lstsq,
    matrix_power, matrix_rank, pinv, qr, slogdet, solve, svd, svdvals,
)  # fmt: skip
from ._linalg.eigen import eigsh, expm_multiply, svds
from ._linalg.operators import LinearOperator, Preconditioner, ic0, ilu0, jacobi
from ._linalg.products import cross, matrix_norm, vector_norm
from ._linalg.sparse import (
    LogDeterminant, SparseCholesky, SparseLU, SparseQR, factorized, sparse_cholesky, sparse_ldlt, sparse_qr, splu,
    spsolve,
)  # fmt: skip
from ._linalg.systems import LsqrResult, bicgstab, cg, gmres, lsqr, minres
from ._namespace.linear_products import diagonal, matmul, matrix_transpose, outer, tensordot, trace, vecdot

__all__ = [
    "EighResult", "LinAlgError", "LinearOperator", "LogDeterminant", "LsqrResult", "LstsqResult", "Preconditioner",
    "QRResult", "SVDResult", "SlogdetResult", "SparseCholesky", "SparseLU", "SparseQR", "bicgstab", "cg", "cholesky",
    "cross", "det", "diagonal", "eigh", "eigsh", "eigvalsh", "expm_multiply", "factorized", "gmres", "ic0", "ilu0",
    "inv", "jacobi", "lsqr", "lstsq", "matmul", "matrix_norm", "matrix_power", "matrix_rank", "matrix_transpose",
    "minres", "outer", "pinv", "qr", "slogdet", "solve", "sparse_cholesky", "sparse_ldlt", "sparse_qr", "splu",
    "spsolve", "svd", "svds", "svdvals", "tensordot", "trace", "vecdot", "vector_norm",
]  # fmt: skip
