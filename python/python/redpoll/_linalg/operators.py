"""Linear operators from functions, and preconditioners."""

from __future__ import annotations

from collections.abc import Callable
from operator import index
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

import redpoll as rp

from .. import _core
from .._typing import ArrayLike

__all__ = ["LinearOperator", "Preconditioner", "ic0", "ilu0", "jacobi"]

#: A matrix, a preconditioner, or an object with `shape`, `matvec` and perhaps `rmatvec`.
Operator: TypeAlias = Any

_Function: TypeAlias = Callable[[Any], Any]
_Buffers: TypeAlias = Callable[[_core.SharedBuffer], npt.NDArray[np.float64]]
_Argument: TypeAlias = "_core.Array | _core.Preconditioner | tuple[tuple[int, int], _Buffers, _Buffers | None]"


class LinearOperator:
    """A linear map of vectors made from functions, like `scipy.sparse.linalg.LinearOperator`.

    `matvec` takes a vector of NumPy with an element for each column, and returns a vector with an
    element for each row. It must not change its argument. `rmatvec` is the product of the
    transpose, which `lsqr` and `svds` need. Methods return a vector of NumPy for a vector of NumPy,
    so solvers of SciPy also take the operator.

    Examples:
        >>> doubled = rp.linalg.LinearOperator((3, 3), lambda x: 2 * x)
        >>> x, info = rp.linalg.cg(doubled, [2.0, 4.0, 6.0])
        >>> x.tolist(), info
        ([1.0, 2.0, 3.0], 0)
    """

    def __init__(self, shape: tuple[int, int], matvec: _Function, rmatvec: _Function | None = None) -> None:
        rows, columns = shape
        self._shape = (index(rows), index(columns))
        if min(self._shape) < 0:
            raise ValueError(f"the sizes of an operator are at least 0, found {self._shape}")
        self._matvec, self._rmatvec = matvec, rmatvec

    @property
    def shape(self) -> tuple[int, int]:
        """The numbers of rows and columns.

        Examples:
            >>> rp.linalg.LinearOperator((2, 3), lambda x: x[:2]).shape
            (2, 3)
        """
        return self._shape

    @property
    def T(self) -> LinearOperator:  # noqa: N802
        """The transposed operator.

        Examples:
            >>> rp.linalg.LinearOperator((2, 3), lambda x: x[:2]).T.shape
            (3, 2)
        """
        return LinearOperator(self._shape[::-1], self.rmatvec, self._matvec)

    def matvec(self, x: ArrayLike) -> Any:
        """Return the product with a vector.

        Examples:
            >>> rp.linalg.LinearOperator((2, 2), lambda x: 2 * x).matvec([1.0, 2.0]).tolist()
            [2.0, 4.0]
        """
        return _like(x, self._matvec(np.asarray(x)))

    def rmatvec(self, x: ArrayLike) -> Any:
        """Return the product of the transpose with a vector.

        Raises:
            NotImplementedError: the operator has no `rmatvec`.

        Examples:
            >>> first = rp.linalg.LinearOperator((1, 2), lambda x: x[:1], lambda y: np.append(y, 0.0))
            >>> first.rmatvec([3.0]).tolist()
            [3.0, 0.0]
        """
        if self._rmatvec is None:
            raise NotImplementedError("the linear operator has no transposed product `rmatvec`")
        return _like(x, self._rmatvec(np.asarray(x)))

    def __matmul__(self, x: ArrayLike) -> Any:
        return self.matvec(x)


class Preconditioner:
    """An approximate inverse of a matrix, which `jacobi`, `ilu0` and `ic0` make.

    It is an argument `M` of the solvers here and in SciPy. Methods return a vector of NumPy for a
    vector of NumPy.

    Examples:
        >>> (rp.linalg.jacobi(rp.asarray([[4.0, 1.0], [1.0, 2.0]])) @ [1.0, 1.0]).tolist()
        [0.25, 0.5]
    """

    def __init__(self, core: _core.Preconditioner) -> None:
        self._core = core

    @property
    def shape(self) -> tuple[int, int]:
        """The numbers of rows and columns.

        Examples:
            >>> rp.linalg.jacobi(rp.eye(3)).shape
            (3, 3)
        """
        return self._core.shape

    @property
    def dtype(self) -> np.dtype[np.float64]:
        """The dtype of products, as SciPy's solvers read it.

        Examples:
            >>> rp.linalg.jacobi(rp.eye(3)).dtype
            dtype('float64')
        """
        return np.dtype(np.float64)

    def matvec(self, x: ArrayLike) -> Any:
        """Return the product with a vector: the approximate solution for a right side.

        Raises:
            ValueError: the vector has another size.

        Examples:
            >>> rp.linalg.jacobi(2 * rp.eye(2)).matvec([2.0, 4.0]).tolist()
            [1.0, 2.0]
        """
        return _like(x, self._core.multiply(rp.asarray(x), False))

    def rmatvec(self, x: ArrayLike) -> Any:
        """Return the product of the transpose with a vector.

        Raises:
            NotImplementedError: the preconditioner is `ilu0`.

        Examples:
            >>> rp.linalg.ic0(4 * rp.eye(2)).rmatvec([4.0, 8.0]).tolist()
            [1.0, 2.0]
        """
        return _like(x, self._core.multiply(rp.asarray(x), True))

    def __matmul__(self, x: ArrayLike) -> Any:
        return self.matvec(x)


def jacobi(A: ArrayLike) -> Preconditioner:  # noqa: N803
    """Return the preconditioner of Jacobi: the inverse of the diagonal of a matrix.

    Raises:
        LinAlgError: an element of the diagonal is zero or not finite.
        ValueError: the matrix is not square.

    Examples:
        >>> A = rp.asarray(sp.diags_array([1.0, 4.0, 9.0]))
        >>> rp.linalg.cg(A, np.ones(3), M=rp.linalg.jacobi(A))[1]
        0
    """
    return Preconditioner(_core.Preconditioner("jacobi", rp.asarray(A)))


def ilu0(A: ArrayLike) -> Preconditioner:  # noqa: N803
    """Return the incomplete LU factorization of a matrix.

    The factors store only coordinates that the matrix stores.

    Raises:
        LinAlgError: a pivot is zero or not finite.
        ValueError: the matrix is not square.

    Examples:
        >>> A = sp.diags_array([-1.0, 4.0, 2.0], offsets=[-1, 0, 1], shape=(5, 5))
        >>> rp.linalg.gmres(A, np.ones(5), M=rp.linalg.ilu0(A), maxiter=1)[1]
        0
    """
    return Preconditioner(_core.Preconditioner("ilu0", rp.asarray(A)))


def ic0(A: ArrayLike) -> Preconditioner:  # noqa: N803
    """Return the incomplete Cholesky factorization of a symmetric matrix.

    The factor stores only coordinates that the lower triangle of the matrix stores. The upper
    triangle is not read.

    Raises:
        LinAlgError: a pivot is not positive and finite.
        ValueError: the matrix is not square.

    Examples:
        >>> A = sp.diags_array([-1.0, 4.0, -1.0], offsets=[-1, 0, 1], shape=(5, 5))
        >>> rp.linalg.cg(A, np.ones(5), M=rp.linalg.ic0(A), maxiter=1)[1]
        0
    """
    return Preconditioner(_core.Preconditioner("ic0", rp.asarray(A)))


def operand(operator: Operator) -> _Argument:
    """Return an operator as an argument of a solver."""
    if isinstance(operator, _core.Array):
        return operator
    if isinstance(operator, Preconditioner):
        return operator._core
    if not (hasattr(operator, "matvec") and hasattr(operator, "shape")):
        return rp.asarray(operator)
    rows, columns = operator.shape
    if isinstance(operator, LinearOperator):
        multiply, transposed = operator._matvec, operator._rmatvec
    else:
        multiply, transposed = operator.matvec, getattr(operator, "rmatvec", None)
    return (index(rows), index(columns)), _buffers(multiply), None if transposed is None else _buffers(transposed)


def shifted(operator: Operator, shift: float) -> Operator:
    """Return an operator minus a multiple of the identity."""
    if hasattr(operator, "matvec") and hasattr(operator, "shape"):
        return LinearOperator(operator.shape, lambda x: np.asarray(operator.matvec(x)).reshape(-1) - shift * x)
    matrix = rp.asarray(operator)
    rows, columns = matrix.shape
    return matrix - shift * rp.eye(rows, columns)


def _like(x: ArrayLike, y: ArrayLike) -> Any:
    """Return a product as an array of redpoll; as a writable array of NumPy if `x` is one."""
    return np.array(y) if isinstance(x, np.ndarray) else rp.asarray(y)


def _buffers(function: _Function) -> _Buffers:
    """Return a function of vectors as a function of buffers."""

    def product(buffer: _core.SharedBuffer) -> npt.NDArray[np.float64]:
        values = np.asarray(function(np.asarray(buffer)))
        return np.ascontiguousarray(values.astype(np.float64, casting="same_kind", copy=False)).reshape(-1)

    return product
