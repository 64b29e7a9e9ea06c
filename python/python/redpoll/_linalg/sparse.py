"""Factorizations of sparse matrices."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, NamedTuple, Self

import redpoll as rp

from .. import _core
from .._array import Array
from .._typing import ArrayLike

__all__ = [
    "LogDeterminant", "SparseCholesky", "SparseLU", "SparseQR", "factorized", "sparse_cholesky", "sparse_ldlt",
    "sparse_qr", "splu", "spsolve",
]  # fmt: skip


class LogDeterminant(NamedTuple):
    """The sign and the logarithm of the absolute value of a determinant."""

    #: -1, 0 or 1.
    sign: float
    #: The natural logarithm.
    logabsdet: float


class _Factors:
    """The factors of a sparse matrix."""

    def __init__(self, core: _core.Factorization) -> None:
        self._core = core

    @property
    def shape(self) -> tuple[int, int]:
        """The numbers of rows and columns of the matrix.

        Examples:
            >>> rp.linalg.splu(rp.eye(3)).shape
            (3, 3)
        """
        return self._core.shape

    def refactorize(self, A: ArrayLike) -> Self:  # noqa: N803
        """Factorize another matrix that stores the same coordinates, without a new ordering.

        Raises:
            LinAlgError: the matrix has no factors of this kind.
            ValueError: the matrix stores other coordinates.

        Examples:
            >>> rp.linalg.splu(rp.eye(2)).refactorize(2 * rp.eye(2)).solve([2.0, 4.0]).tolist()
            [1.0, 2.0]
        """
        return type(self)(self._core.refactorize(rp.asarray(A)))


class SparseLU(_Factors):
    """The LU factors of a sparse square matrix, which `splu` makes.

    Examples:
        >>> lu = rp.linalg.splu(rp.asarray([[2.0, 1.0], [0.0, 1.0]]))
        >>> lu.solve([3.0, 1.0]).tolist(), lu.solve([2.0, 2.0], trans="T").tolist()
        ([1.0, 1.0], [1.0, 1.0])
    """

    def solve(self, rhs: ArrayLike, trans: Literal["N", "T", "H"] = "N") -> Array:
        """Solve `A x = rhs`, or `A^T x = rhs`, for a vector or for each column of a matrix.

        Raises:
            ValueError: the number of rows does not fit, or `trans` is not `N`, `T` or `H`.

        Examples:
            >>> rp.linalg.splu(2 * rp.eye(2)).solve([2.0, 4.0]).tolist()
            [1.0, 2.0]
        """
        if trans not in ("N", "T", "H"):
            raise ValueError(f"`trans` is 'N', 'T' or 'H', found {trans!r}")
        array = rp.asarray(rhs)
        return self._core.solve(array) if trans == "N" else self._core.solve_transposed(array)


class SparseCholesky(_Factors):
    """The factors of a sparse symmetric matrix, of `sparse_cholesky` or `sparse_ldlt`.

    Examples:
        >>> factors = rp.linalg.sparse_cholesky(4 * rp.eye(2))
        >>> factors.solve([4.0, 8.0]).tolist(), factors.nnz
        ([1.0, 2.0], 2)
    """

    @property
    def nnz(self) -> int:
        """The number of stored values of the factor, which may include zeros of blocks.

        Examples:
            >>> rp.linalg.sparse_cholesky(rp.eye(5)).nnz
            5
        """
        return self._determinant()[2]

    def solve(self, rhs: ArrayLike) -> Array:
        """Solve `A x = rhs` for a vector, or for each column of a matrix.

        Raises:
            ValueError: the number of rows does not fit.

        Examples:
            >>> rp.linalg.sparse_cholesky(4 * rp.eye(2)).solve([4.0, 8.0]).tolist()
            [1.0, 2.0]
        """
        return self._core.solve(rp.asarray(rhs))

    def slogdet(self) -> LogDeterminant:
        """Return the sign and the logarithm of the absolute value of the determinant.

        Examples:
            >>> rp.linalg.sparse_ldlt(rp.asarray([[1.0, 0.0], [0.0, -1.0]])).slogdet()
            LogDeterminant(sign=-1.0, logabsdet=0.0)
        """
        sign, logarithm, _ = self._determinant()
        return LogDeterminant(sign, logarithm)

    def _determinant(self) -> tuple[float, float, int]:
        determinant = self._core.determinant()
        assert determinant is not None, "symmetric factors have a determinant"
        return determinant


class SparseQR(_Factors):
    """The QR factors of a sparse matrix, which `sparse_qr` makes.

    Examples:
        >>> mean = rp.linalg.sparse_qr(rp.asarray([[1.0], [1.0], [1.0]])).solve([1.0, 2.0, 6.0])
        >>> round(mean.tolist()[0], 6)
        3.0
    """

    def solve(self, rhs: ArrayLike) -> Array:
        """Find the `x` that minimizes the norm of `A x - rhs`, for a vector or each column.

        Raises:
            ValueError: the number of rows does not fit.

        Examples:
            >>> round(rp.linalg.sparse_qr(rp.asarray([[3.0], [4.0]])).solve([6.0, 8.0]).tolist()[0], 6)
            2.0
        """
        return self._core.solve(rp.asarray(rhs))


def spsolve(A: ArrayLike, b: ArrayLike) -> Array:  # noqa: N803
    """Solve `A x = b` for a sparse square matrix and a vector or matrix `b`.

    The result is dense. The memory of the factors does not count against the memory limit.

    Raises:
        LinAlgError: the matrix is singular or not square.
        ValueError: shapes do not fit, or the fill value of the matrix is not 0.

    Examples:
        >>> rp.linalg.spsolve(sp.diags_array([1.0, 2.0, 4.0]), [1.0, 1.0, 1.0]).tolist()
        [1.0, 0.5, 0.25]
    """
    return _core.spsolve(rp.asarray(A), rp.asarray(b))


def splu(A: ArrayLike) -> SparseLU:  # noqa: N803
    """Factorize a sparse square matrix with partial pivoting, to solve many systems.

    An ordering of the columns keeps the factors sparse (COLAMD).

    Raises:
        LinAlgError: the matrix is singular or not square.
        ValueError: the fill value is not 0.

    Examples:
        >>> rp.linalg.splu(sp.diags_array([1.0, 2.0])).solve([1.0, 1.0]).tolist()
        [1.0, 0.5]
    """
    return SparseLU(_core.Factorization("lu", rp.asarray(A)))


def factorized(A: ArrayLike) -> Callable[[ArrayLike], Array]:  # noqa: N803
    """Factorize a sparse square matrix, and return the function that solves systems with it.

    Raises:
        LinAlgError: the matrix is singular or not square.
        ValueError: the fill value is not 0.

    Examples:
        >>> solve = rp.linalg.factorized(sp.diags_array([1.0, 2.0]))
        >>> solve([1.0, 1.0]).tolist()
        [1.0, 0.5]
    """
    return splu(A).solve


def sparse_cholesky(A: ArrayLike) -> SparseCholesky:  # noqa: N803
    """Factorize a sparse symmetric positive definite matrix as `P A P^T = L L^T`.

    An ordering keeps the factor sparse (AMD). Only the elements on and below the diagonal are read.

    Raises:
        LinAlgError: the matrix is not positive definite or not square.
        ValueError: the fill value is not 0.

    Examples:
        >>> factors = rp.linalg.sparse_cholesky(rp.asarray([[4.0, 2.0], [2.0, 2.0]]))
        >>> factors.solve([6.0, 4.0]).tolist()
        [1.0, 1.0]
    """
    return SparseCholesky(_core.Factorization("cholesky", rp.asarray(A)))


def sparse_ldlt(A: ArrayLike) -> SparseCholesky:  # noqa: N803
    """Factorize a sparse symmetric matrix as `P A P^T = L D L^T`, without pivoting.

    All principal submatrices must be regular, as those of positive definite and quasi-definite
    matrices are. Only the elements on and below the diagonal are read.

    Raises:
        LinAlgError: an element of `D` is zero, or the matrix is not square.
        ValueError: the fill value is not 0.

    Examples:
        >>> rp.linalg.sparse_ldlt(rp.asarray([[1.0, 1.0], [1.0, -1.0]])).solve([2.0, 0.0]).tolist()
        [1.0, 1.0]
    """
    return SparseCholesky(_core.Factorization("ldlt", rp.asarray(A)))


def sparse_qr(A: ArrayLike) -> SparseQR:  # noqa: N803
    """Factorize a sparse matrix with at least as many rows as columns, for least squares.

    An ordering of the columns keeps the factors sparse (COLAMD).

    Raises:
        LinAlgError: the columns are linearly dependent, or there are more columns than rows.
        ValueError: the fill value is not 0.

    Examples:
        >>> round(rp.linalg.sparse_qr(rp.asarray([[1.0], [1.0]])).solve([1.0, 3.0]).tolist()[0], 6)
        2.0
    """
    return SparseQR(_core.Factorization("qr", rp.asarray(A)))
