"""Norms and cross products. The other products of the extension are functions of the namespace."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import redpoll as rp

from .. import _core
from .._array import Array
from .._typing import ArrayLike

__all__ = ["cross", "matrix_norm", "vector_norm"]


def cross(x1: ArrayLike, x2: ArrayLike, /, *, axis: int = -1) -> Array:
    """Compute the cross products of vectors of 3 elements along an axis.

    The other modes are broadcast, and the result is lazy.

    Raises:
        ValueError: the size along the axis is not 3, or the shapes do not fit.

    Examples:
        >>> rp.linalg.cross(rp.asarray([1, 2, 3]), rp.asarray([4, 5, 6])).tolist()
        [-3, 6, -3]
    """
    return _core.cross(rp.asarray(x1), rp.asarray(x2), axis)


def matrix_norm(x: ArrayLike, /, *, keepdims: bool = False, ord: float | Literal["fro", "nuc"] | None = "fro") -> Array:
    """Compute the norm of each matrix.

    The order is `fro` or `None` (Frobenius), `nuc` (the sum of the singular values), 2 or -2 (the
    largest or smallest singular value), 1 or -1 (the largest or smallest sum of absolute values of
    a column), `inf` or `-inf` (of a row). Norms of sums are lazy, and sparse matrices stay sparse.

    Raises:
        LinAlgError: the array has less than 2 modes.
        ValueError: there is no such order.

    Examples:
        >>> x = rp.asarray([[1.0, -2.0], [2.0, 4.0]])
        >>> rp.linalg.matrix_norm(x).item(), rp.linalg.matrix_norm(x, ord=1).item()
        (5.0, 6.0)
    """
    order = "fro" if ord is None else ord if isinstance(ord, str) else f"{ord:g}"
    norm = _core.matrix_norm(rp.asarray(x), order)
    return rp.expand_dims(rp.expand_dims(norm, axis=-1), axis=-1) if keepdims else norm


def vector_norm(
    x: ArrayLike, /, *, axis: int | Sequence[int] | None = None, keepdims: bool = False, ord: float = 2
) -> Array:
    """Compute the norm of vectors along axes, or of all elements.

    The order is any number, such as 1, 2, 0 (the number of elements that are not zero) and `inf`.
    The result is lazy.

    Raises:
        AxisError: the array has no such axis.

    Examples:
        >>> x = rp.asarray([3.0, 0.0, -4.0])
        >>> rp.linalg.vector_norm(x).item(), rp.linalg.vector_norm(x, ord=rp.inf).item()
        (5.0, 4.0)
    """
    return _core.norm(rp.asarray(x), float(ord), axis, keepdims)
