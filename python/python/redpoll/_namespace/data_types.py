"""Functions for dtypes, casts and broadcasts."""

from __future__ import annotations

from collections.abc import Sequence

from .. import _core
from .._array import Array
from .._dtypes import as_dtype, can_cast, finfo, iinfo, isdtype, result_type
from .._typing import DTypeLike

__all__ = [
    "astype",
    "broadcast_arrays",
    "broadcast_shapes",
    "broadcast_to",
    "can_cast",
    "finfo",
    "iinfo",
    "isdtype",
    "result_type",
]


def astype(x: Array, dtype: DTypeLike, /, *, copy: bool = True, device: str | None = None) -> Array:
    """Cast the elements to a dtype. Floats saturate and NaN becomes 0; integers wrap.

    Raises:
        TypeError: redpoll has no such dtype.

    Examples:
        >>> rp.astype(rp.asarray([1.75, -1.75]), rp.int8).tolist()
        [1, -1]
    """
    if device not in (None, "cpu"):
        raise ValueError(f"the only device is 'cpu', found {device!r}")
    dtype = as_dtype(dtype)
    if dtype is x.dtype:
        # An assignment to an array never changes another array, so a copy is only a new object.
        return type(x)(x) if copy else x
    return x.cast(dtype.name)


def broadcast_to(x: Array, /, shape: Sequence[int]) -> Array:
    """Broadcast an array to a larger shape, without copies.

    Raises:
        ValueError: a size differs and is not 1.

    Examples:
        >>> rp.broadcast_to(rp.asarray([1, 2]), (2, 2)).tolist()
        [[1, 2], [1, 2]]
    """
    return _core.broadcast_to(x, shape)


def broadcast_arrays(*arrays: Array) -> tuple[Array, ...]:
    """Broadcast arrays to their common shape, without copies.

    Raises:
        ValueError: two sizes of one mode differ, and neither is 1.

    Examples:
        >>> [x.shape for x in rp.broadcast_arrays(rp.zeros((3, 1)), rp.zeros(2))]
        [(3, 2), (3, 2)]
    """
    shape = broadcast_shapes(*(array.shape for array in arrays))
    return tuple(_core.broadcast_to(array, shape) for array in arrays)


def broadcast_shapes(*shapes: Sequence[int]) -> tuple[int, ...]:
    """Return the common shape of several shapes.

    Raises:
        ValueError: two sizes of one mode differ, and neither is 1.

    Examples:
        >>> rp.broadcast_shapes((3, 1), (2,))
        (3, 2)
    """
    rank = max((len(shape) for shape in shapes), default=0)
    result = [1] * rank
    for shape in shapes:
        for mode, size in enumerate(shape, rank - len(shape)):
            if size != 1 and result[mode] not in (1, size):
                raise ValueError(f"shapes {', '.join(map(str, shapes))} do not align: mode {mode} has several sizes")
            result[mode] = result[mode] if size == 1 else size
    return tuple(result)
