"""Functions that search for elements."""

from .. import _core
from .elementwise import where

__all__ = ["argmax", "argmin", "count_nonzero", "isin", "nonzero", "searchsorted", "where"]


def _require_elements(name, x, axis):
    sizes = x.shape if axis is None else (x.shape[axis],) if -x.ndim <= axis < x.ndim else ()
    if 0 in sizes:
        raise ValueError(f"{name} of no elements is not defined")


def argmax(x, /, *, axis=None, keepdims=False):
    """Return the coordinate of the first maximum along an axis, or the row-major index of all."""
    _require_elements("argmax", x, axis)
    return _core.reduce(x, "argmax", axis, keepdims)


def argmin(x, /, *, axis=None, keepdims=False):
    """Return the coordinate of the first minimum along an axis, or the row-major index of all."""
    _require_elements("argmin", x, axis)
    return _core.reduce(x, "argmin", axis, keepdims)


def count_nonzero(x, /, *, axis=None, keepdims=False):
    """Count the elements along axes that are not zero."""
    return _core.reduce(x, "count_nonzero", axis, keepdims)


def nonzero(x, /):
    """Return the coordinates of the elements that are not zero, a vector for each mode."""
    if x.ndim == 0:
        raise ValueError("nonzero expects an array with modes, found a number")
    return _core.nonzero(x)


def searchsorted(x1, x2, /, *, side="left", sorter=None):
    """Return the positions in a sorted vector at which values keep it sorted."""
    if side not in ("left", "right"):
        raise ValueError(f"side is 'left' or 'right', found {side!r}")
    sorted_values = x1 if sorter is None else x1[sorter]
    return _core.searchsorted(sorted_values, x2, side == "right")


def isin(x, values, /, *, invert=False):
    """Return, for each element, whether it is among the values."""
    found = _core.isin(x, values)
    return ~found if invert else found
