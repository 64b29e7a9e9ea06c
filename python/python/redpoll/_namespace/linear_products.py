"""Products that sum over shared modes."""

from .. import _core

__all__ = ["diagonal", "einsum", "kron", "matmul", "matrix_transpose", "outer", "tensordot", "trace", "vecdot"]


def matmul(x1, x2, /):
    """Compute the matrix product; modes before the last two are broadcast."""
    return x1 @ x2


def matrix_transpose(x, /):
    """Exchange the last two modes."""
    return x.mT


def tensordot(x1, x2, /, *, axes=2):
    """Compute the sum of products over the last modes of `x1` and the first of `x2`, or over pairs."""
    return _core.tensordot(x1, x2, axes if isinstance(axes, int) else tuple(list(part) for part in axes))


def vecdot(x1, x2, /, *, axis=-1):
    """Compute the sum of products along an axis; the other modes are broadcast."""
    return _core.vecdot(x1, x2, axis)


def outer(x1, x2, /):
    """Compute the products of all pairs of elements of two vectors."""
    return _core.outer(x1, x2)


def kron(x1, x2, /):
    """Compute the Kronecker product."""
    return _core.kron(x1, x2)


def diagonal(x, /, *, offset=0):
    """Return a diagonal of the last two modes."""
    return _core.diagonal(x, offset)


def trace(x, /, *, offset=0, dtype=None):
    """Compute the sum of a diagonal of the last two modes."""
    from .statistics import sum

    return sum(_core.diagonal(x, offset), axis=-1, dtype=dtype)


def einsum(spec, /, *operands, sum="+", product="*"):
    """Compute an Einstein summation, by default of products.

    `sum` and `product` name the operators of another semiring, such as `min` and `+` for shortest
    paths; `operator_names` lists the operators.
    """
    from .creation import asarray

    return _core.einsum(spec, [asarray(operand) for operand in operands], sum, product)
