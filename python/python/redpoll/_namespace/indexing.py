"""Functions that select elements by coordinates."""

from __future__ import annotations

from .. import _core
from .._array import Array
from .._typing import ArrayLike

__all__ = ["take", "take_along_axis"]


def take(x: Array, indices: ArrayLike, /, *, axis: int | None = None) -> Array:
    """Return the elements at a vector of coordinates along an axis.

    In an array of coordinates, a coordinate that is out of range selects 0.

    Raises:
        IndexError: `indices` is one integer, which is out of range.
        ValueError: no axis is given, and the array does not have exactly one mode.

    Examples:
        >>> rp.take(rp.asarray([5, 6, 7]), rp.asarray([2, 0])).tolist()
        [7, 5]
    """
    if axis is None:
        if x.ndim != 1:
            raise ValueError(f"take expects an axis for shape {x.shape}")
        axis = 0
    axis = axis + x.ndim if axis < 0 else axis
    return x[(slice(None),) * axis + (indices,)]


def take_along_axis(x: Array, indices: ArrayLike, /, *, axis: int = -1) -> Array:
    """Return, for each element of `indices`, the element at that coordinate along an axis.

    Raises:
        ValueError: the shapes of the other modes differ.

    Examples:
        >>> x = rp.asarray([[3, 1, 2]])
        >>> rp.take_along_axis(x, rp.argsort(x)).tolist()
        [[1, 2, 3]]
    """
    return _core.take_along_axis(x, indices, axis)
