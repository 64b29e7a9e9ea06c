"""Products that sum over shared modes."""

from __future__ import annotations

from collections.abc import Sequence

from .. import _core
from .._array import Array
from .._typing import ArrayLike, DTypeLike

__all__ = ["diagonal", "kron", "matmul", "matrix_transpose", "outer", "tensordot", "trace", "vecdot"]


def matmul(x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """Compute the matrix product; modes before the last two are broadcast.

    Raises:
        ValueError: the summed modes differ in size.

    Examples:
        >>> rp.matmul(rp.asarray([[1, 2], [3, 4]]), rp.asarray([1, 10])).tolist()
        [21, 43]
    """
    product: Array = x1 @ x2
    return product


def matrix_transpose(x: Array, /) -> Array:
    """Exchange the last two modes.

    Raises:
        ValueError: the array has less than 2 modes.

    Examples:
        >>> rp.matrix_transpose(rp.asarray([[1, 2], [3, 4]])).tolist()
        [[1, 3], [2, 4]]
    """
    return x.mT


def tensordot(x1: Array, x2: ArrayLike, /, *, axes: int | tuple[Sequence[int], Sequence[int]] = 2) -> Array:
    """Sum products over the last modes of `x1` and the first modes of `x2`, or over pairs of modes.

    Raises:
        ValueError: the summed modes differ in size.

    Examples:
        >>> a, b = rp.ones((2, 3, 4)), rp.ones((3, 4, 5))
        >>> rp.tensordot(a, b).shape, rp.tensordot(a, b, axes=([1], [0])).shape
        ((2, 5), (2, 4, 4, 5))
    """
    return _core.tensordot(x1, x2, axes if isinstance(axes, int) else (list(axes[0]), list(axes[1])))


def vecdot(x1: Array, x2: ArrayLike, /, *, axis: int = -1) -> Array:
    """Compute the sum of products along an axis; the other modes are broadcast.

    Raises:
        ValueError: the summed modes differ in size.

    Examples:
        >>> rp.vecdot(rp.asarray([[1, 2], [3, 4]]), rp.asarray([1, 10])).tolist()
        [21, 43]
    """
    return _core.vecdot(x1, x2, axis)


def outer(x1: Array, x2: ArrayLike, /) -> Array:
    """Compute the products of all pairs of elements of two vectors.

    Raises:
        ValueError: an operand is not a vector.

    Examples:
        >>> rp.outer(rp.asarray([1, 2]), rp.asarray([3, 4])).tolist()
        [[3, 4], [6, 8]]
    """
    return _core.outer(x1, x2)


def kron(x1: Array, x2: ArrayLike, /) -> Array:
    """Compute the Kronecker product.

    Examples:
        >>> rp.kron(rp.eye(2), rp.asarray([[1.0, 2.0]])).tolist()
        [[1.0, 2.0, 0.0, 0.0], [0.0, 0.0, 1.0, 2.0]]
    """
    return _core.kron(x1, x2)


def diagonal(x: Array, /, *, offset: int = 0) -> Array:
    """Return a diagonal of the last two modes.

    Raises:
        ValueError: the array has less than 2 modes.

    Examples:
        >>> rp.diagonal(rp.asarray([[1, 2], [3, 4]]), offset=1).tolist()
        [2]
    """
    return _core.diagonal(x, offset)


def trace(x: Array, /, *, offset: int = 0, dtype: DTypeLike | None = None) -> Array:
    """Compute the sum of a diagonal of the last two modes.

    Raises:
        ValueError: the array has less than 2 modes.

    Examples:
        >>> rp.trace(rp.asarray([[1, 2], [3, 4]])).item()
        5
    """
    from .statistics import sum

    return sum(_core.diagonal(x, offset), axis=-1, dtype=dtype)
