"""Sorting. The functions sort at once. `sort` returns a sparse array for a sparse array."""

from __future__ import annotations

from .. import _core
from .._array import Array

__all__ = ["argsort", "sort", "top_k"]


def sort(x: Array, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> Array:
    """Sort the elements along an axis, always stably.

    Raises:
        AxisError: the array has no such axis.

    Examples:
        >>> rp.sort(rp.asarray([2, 3, 1]), descending=True).tolist()
        [3, 2, 1]
    """
    return _core.sort(x, axis, descending)


def argsort(x: Array, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> Array:
    """Return the coordinates that sort the elements along an axis. The sort is always stable.

    Raises:
        AxisError: the array has no such axis.

    Examples:
        >>> rp.argsort(rp.asarray([2, 3, 1])).tolist()
        [2, 0, 1]
    """
    return _core.argsort(x, axis, descending)


def top_k(x: Array, k: int, /, *, axis: int = -1) -> tuple[Array, ...]:
    """Return the `k` largest elements along an axis in descending order, and their coordinates.

    Raises:
        AxisError: the array has no such axis.

    Examples:
        >>> values, coordinates = rp.top_k(rp.asarray([2, 5, 3]), 2)
        >>> values.tolist(), coordinates.tolist()
        ([5, 3], [1, 2])
    """
    return tuple(_core.top_k(x, k, axis))
