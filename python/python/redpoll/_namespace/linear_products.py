"""Products that sum over shared modes."""

from __future__ import annotations

from collections.abc import Sequence

from .. import _core
from .._array import Array
from .._typing import ArrayLike, DTypeLike

__all__ = ["diagonal", "einsum", "kron", "matmul", "matrix_transpose", "outer", "tensordot", "trace", "vecdot"]


def matmul(x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """Compute the matrix product; modes before the last two are broadcast."""
    return x1 @ x2


def matrix_transpose(x: Array, /) -> Array:
    """Exchange the last two modes."""
    return x.mT


def tensordot(x1: Array, x2: ArrayLike, /, *, axes: int | tuple[Sequence[int], Sequence[int]] = 2) -> Array:
    """Compute the sum of products over the last modes of `x1` and the first of `x2`, or over pairs."""
    return _core.tensordot(x1, x2, axes if isinstance(axes, int) else tuple(list(part) for part in axes))


def vecdot(x1: Array, x2: ArrayLike, /, *, axis: int = -1) -> Array:
    """Compute the sum of products along an axis; the other modes are broadcast."""
    return _core.vecdot(x1, x2, axis)


def outer(x1: Array, x2: ArrayLike, /) -> Array:
    """Compute the products of all pairs of elements of two vectors."""
    return _core.outer(x1, x2)


def kron(x1: Array, x2: ArrayLike, /) -> Array:
    """Compute the Kronecker product."""
    return _core.kron(x1, x2)


def diagonal(x: Array, /, *, offset: int = 0) -> Array:
    """Return a diagonal of the last two modes."""
    return _core.diagonal(x, offset)


def trace(x: Array, /, *, offset: int = 0, dtype: DTypeLike | None = None) -> Array:
    """Compute the sum of a diagonal of the last two modes."""
    from .statistics import sum

    return sum(_core.diagonal(x, offset), axis=-1, dtype=dtype)


def einsum(spec: str, /, *operands: ArrayLike, sum: str = "+", product: str = "*") -> Array:
    """Compute an Einstein summation, by default of products.

    `sum` and `product` name the operators of another semiring, such as `min` and `+` for shortest
    paths; `operator_names` lists the operators.
    """
    from .creation import asarray

    return _core.einsum(spec, [asarray(operand) for operand in operands], sum, product)
