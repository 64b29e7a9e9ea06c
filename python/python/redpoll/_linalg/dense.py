"""Stacks of dense matrices: the extension `linalg` of the Array API standard, and `lstsq`."""

from __future__ import annotations

from operator import index
from typing import Literal, NamedTuple, TypeAlias

import redpoll as rp

from .. import _core
from .._array import Array
from .._typing import ArrayLike

__all__ = [
    "EighResult", "LstsqResult", "QRResult", "SVDResult", "SlogdetResult", "cholesky", "det", "eigh", "eigvalsh",
    "inv", "lstsq", "matrix_power", "matrix_rank", "pinv", "qr", "slogdet", "solve", "svd", "svdvals",
]  # fmt: skip

#: A tolerance of singular values: a number, a number for each matrix, or the default.
Tolerance: TypeAlias = "float | ArrayLike | None"


class EighResult(NamedTuple):
    """The eigenvalues and eigenvectors of symmetric matrices."""

    #: The eigenvalues of each matrix, ascending.
    eigenvalues: Array
    #: The eigenvectors, as orthonormal columns.
    eigenvectors: Array


class QRResult(NamedTuple):
    """The factors of matrices `A = Q R`."""

    #: The matrices with orthonormal columns.
    Q: Array
    #: The upper triangular matrices.
    R: Array


class SlogdetResult(NamedTuple):
    """The signs and the logarithms of the absolute values of determinants."""

    #: -1, 0 or 1.
    sign: Array
    #: The natural logarithm; negative infinity for a singular matrix.
    logabsdet: Array


class SVDResult(NamedTuple):
    """The singular value decompositions `A = U diag(S) Vh` of matrices."""

    #: The left singular vectors, as orthonormal columns.
    U: Array
    #: The singular values of each matrix, descending.
    S: Array
    #: The right singular vectors, as orthonormal rows.
    Vh: Array


class LstsqResult(NamedTuple):
    """The solutions of least-squares problems."""

    #: The solutions, of all solutions the ones with the smallest norm.
    x: Array
    #: The sum of the squares of `a x - b`, for each column of `b`.
    residuals: Array
    #: The rank of each matrix.
    rank: Array
    #: The singular values of each matrix, descending.
    singular_values: Array


def cholesky(x: ArrayLike, /, *, upper: bool = False) -> Array:
    """Compute the Cholesky factors of symmetric positive definite matrices.

    The result is the lower triangular `L` with `x = L L^T`, or the upper triangular `U` with
    `x = U^T U`. Only the same triangle of the matrices is read.

    Raises:
        LinAlgError: a matrix is not positive definite or not square.

    Examples:
        >>> rp.linalg.cholesky(rp.asarray([[4.0, 2.0], [2.0, 2.0]])).tolist()
        [[2.0, 0.0], [1.0, 1.0]]
    """
    return _core.cholesky(rp.asarray(x), upper)


def det(x: ArrayLike, /) -> Array:
    """Compute the determinants of square matrices.

    Raises:
        LinAlgError: the matrices are not square.

    Examples:
        >>> rp.linalg.det(rp.asarray([[2.0, 1.0], [1.0, 1.0]])).item()
        1.0
    """
    return _core.matrix_function("det", rp.asarray(x))


def eigh(x: ArrayLike, /) -> EighResult:
    """Compute the eigenvalues and eigenvectors of symmetric matrices.

    Only the elements on and below the diagonal are read.

    Raises:
        LinAlgError: the matrices are not square, an element is infinite or NaN, or the iteration
            does not converge.

    Examples:
        >>> values, vectors = rp.linalg.eigh(rp.asarray([[2.0, 0.0], [0.0, 1.0]]))
        >>> values.tolist(), abs(vectors).tolist()
        ([1.0, 2.0], [[0.0, 1.0], [1.0, 0.0]])
    """
    return EighResult(*_core.eigh(rp.asarray(x)))


def eigvalsh(x: ArrayLike, /) -> Array:
    """Compute the eigenvalues of symmetric matrices, in ascending order.

    Only the elements on and below the diagonal are read.

    Raises:
        LinAlgError: as for `eigh`.

    Examples:
        >>> rp.linalg.eigvalsh(rp.asarray([[2.0, 0.0], [0.0, 1.0]])).tolist()
        [1.0, 2.0]
    """
    return _core.matrix_function("eigvalsh", rp.asarray(x))


def inv(x: ArrayLike, /) -> Array:
    """Compute the inverses of square matrices.

    Raises:
        LinAlgError: a matrix is singular or not square.

    Examples:
        >>> rp.linalg.inv(rp.asarray([[2.0, 1.0], [1.0, 1.0]])).tolist()
        [[1.0, -1.0], [-1.0, 2.0]]
    """
    return _core.matrix_function("inv", rp.asarray(x))


def matrix_power(x: ArrayLike, n: int, /) -> Array:
    """Compute a power of square matrices; a negative power is a power of the inverse.

    A power of at least 0 keeps the dtype, and sparse matrices stay sparse.

    Raises:
        LinAlgError: the matrices are not square, or one is singular and `n` is negative.

    Examples:
        >>> rp.linalg.matrix_power(rp.asarray([[1, 1], [1, 0]]), 10).tolist()
        [[89, 55], [55, 34]]
    """
    return _core.matrix_power(rp.asarray(x), index(n))


def matrix_rank(x: ArrayLike, /, *, rtol: Tolerance = None) -> Array:
    """Count the singular values of each matrix above `rtol` times the largest one.

    `rtol` is a number, or an array with a number for each matrix. The default is the larger size of
    the matrices times the machine epsilon.

    Raises:
        LinAlgError: an array has less than 2 modes, or an element is infinite or NaN.
        ValueError: `rtol` cannot be broadcast to the stack of matrices.

    Examples:
        >>> rp.linalg.matrix_rank(rp.asarray([[1.0, 2.0], [2.0, 4.0]])).item()
        1
    """
    return _core.matrix_rank(rp.asarray(x), _tolerance(rtol))


def pinv(x: ArrayLike, /, *, rtol: Tolerance = None) -> Array:
    """Compute the Moore-Penrose pseudo-inverses of matrices.

    Singular values of at most `rtol` times the largest one count as zero, with `rtol` as in
    `matrix_rank`.

    Raises:
        LinAlgError: as for `matrix_rank`.
        ValueError: as for `matrix_rank`.

    Examples:
        >>> rp.linalg.pinv(rp.asarray([[2.0, 0.0], [0.0, 0.0]])).tolist()
        [[0.5, 0.0], [0.0, 0.0]]
    """
    return _core.pinv(rp.asarray(x), _tolerance(rtol))


def qr(x: ArrayLike, /, *, mode: Literal["reduced", "complete"] = "reduced") -> QRResult:
    """Compute the factors of matrices `x = Q R`, with orthonormal `Q` and upper triangular `R`.

    With `complete`, `Q` is square.

    Raises:
        LinAlgError: the array has less than 2 modes.
        ValueError: the mode is neither `reduced` nor `complete`.

    Examples:
        >>> q, r = rp.linalg.qr(rp.asarray([[3.0], [0.0], [4.0]]))
        >>> q.shape, abs(r).tolist()
        ((3, 1), [[5.0]])
    """
    if mode not in ("reduced", "complete"):
        raise ValueError(f"`mode` is 'reduced' or 'complete', found {mode!r}")
    return QRResult(*_core.qr(rp.asarray(x), mode == "complete"))


def slogdet(x: ArrayLike, /) -> SlogdetResult:
    """Compute the signs and the logarithms of the absolute values of determinants.

    Raises:
        LinAlgError: the matrices are not square.

    Examples:
        >>> sign, logarithm = rp.linalg.slogdet(rp.asarray([[0.0, 1.0], [1.0, 0.0]]))
        >>> sign.item(), logarithm.item()
        (-1.0, 0.0)
    """
    return SlogdetResult(*_core.slogdet(rp.asarray(x)))


def solve(x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """Solve `x1 x = x2` for square matrices `x1` by Gaussian elimination.

    If `x2` has one mode, it is a vector; otherwise its last two modes are matrices whose columns
    are right sides. For a sparse matrix, `spsolve` is faster.

    Raises:
        LinAlgError: a matrix is singular or not square.
        ValueError: the shapes do not fit.

    Examples:
        >>> rp.linalg.solve(rp.asarray([[2.0, 1.0], [1.0, 1.0]]), rp.asarray([5.0, 3.0])).tolist()
        [2.0, 1.0]
    """
    return _core.solve(rp.asarray(x1), rp.asarray(x2))


def svd(x: ArrayLike, /, *, full_matrices: bool = True) -> SVDResult:
    """Compute the singular value decompositions `x = U diag(S) Vh` of matrices.

    With `full_matrices`, `U` and `Vh` are square.

    Raises:
        LinAlgError: the array has less than 2 modes, an element is infinite or NaN, or the
            iteration does not converge.

    Examples:
        >>> u, s, vh = rp.linalg.svd(rp.asarray([[0.0, 2.0], [3.0, 0.0]]))
        >>> [round(value, 6) for value in s.tolist()]
        [3.0, 2.0]
    """
    return SVDResult(*_core.svd(rp.asarray(x), full_matrices))


def svdvals(x: ArrayLike, /) -> Array:
    """Compute the singular values of matrices, in descending order.

    Raises:
        LinAlgError: as for `svd`.

    Examples:
        >>> [round(value, 6) for value in rp.linalg.svdvals(rp.asarray([[0.0, 2.0], [3.0, 0.0]])).tolist()]
        [3.0, 2.0]
    """
    return _core.matrix_function("svdvals", rp.asarray(x))


def lstsq(a: ArrayLike, b: ArrayLike, rcond: Tolerance = None) -> LstsqResult:
    """Find the `x` that minimizes the norm of `a x - b`, by the singular value decomposition.

    The shapes are those of `solve`, but matrices need not be square. Singular values of at most
    `rcond` times the largest one count as zero, as in `matrix_rank`. The matrices are computed as
    dense ones; for a sparse matrix, see `sparse_qr` and `lsqr`.

    Raises:
        LinAlgError: an element is infinite or NaN, or the iteration does not converge.
        ValueError: the shapes do not fit.

    Examples:
        >>> line = rp.linalg.lstsq([[1.0, 0.0], [1.0, 1.0], [1.0, 2.0]], [1.0, 3.0, 5.0])
        >>> [round(value, 6) for value in line.x.tolist()], line.rank.item()
        ([1.0, 2.0], 2)
    """
    return LstsqResult(*_core.lstsq(rp.asarray(a), rp.asarray(b), _tolerance(rcond)))


def _tolerance(rtol: Tolerance) -> float | Array | None:
    return rtol if rtol is None or isinstance(rtol, int | float) else rp.asarray(rtol)
