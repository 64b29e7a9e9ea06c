"""Sorting. It is computed at once; the results of sparse arrays are as small as their entries."""

from .. import _core

__all__ = ["argsort", "sort", "top_k"]


def sort(x, /, *, axis=-1, descending=False, stable=True):
    """Sort the elements along an axis, always stably."""
    return _core.sort(x, axis, descending)


def argsort(x, /, *, axis=-1, descending=False, stable=True):
    """Return the coordinates that sort the elements along an axis, always stably."""
    return _core.argsort(x, axis, descending)


def top_k(x, k, /, *, axis=-1):
    """Return the `k` largest elements along an axis in descending order, and their coordinates."""
    return tuple(_core.top_k(x, k, axis))
