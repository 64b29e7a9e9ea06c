"""Functions that search for elements."""

from __future__ import annotations

from .. import _core
from .._array import Array
from .._typing import ArrayLike, Axis
from .creation import asarray
from .elementwise import where

__all__ = ["argmax", "argmin", "count_nonzero", "isin", "nonzero", "searchsorted", "where"]


def _require_elements(name: str, x: Array, axis: int | None) -> None:
    sizes = x.shape if axis is None else (x.shape[axis],) if -x.ndim <= axis < x.ndim else ()
    if 0 in sizes:
        raise ValueError(f"{name} of no elements is not defined")


def argmax(x: Array, /, *, axis: int | None = None, keepdims: bool = False) -> Array:
    """Return the coordinate of the first maximum along an axis.

    Without an axis, the result is the row-major index of the first maximum.

    Raises:
        ValueError: there are no elements.

    Examples:
        >>> rp.argmax(rp.asarray([[1, 5], [7, 2]]), axis=1).tolist()
        [1, 0]
    """
    _require_elements("argmax", x, axis)
    return _core.reduce(x, "argmax", axis, keepdims)


def argmin(x: Array, /, *, axis: int | None = None, keepdims: bool = False) -> Array:
    """Return the coordinate of the first minimum along an axis.

    Without an axis, the result is the row-major index of the first minimum.

    Raises:
        ValueError: there are no elements.

    Examples:
        >>> rp.argmin(rp.asarray([3, 1, 2])).item()
        1
    """
    _require_elements("argmin", x, axis)
    return _core.reduce(x, "argmin", axis, keepdims)


def count_nonzero(x: Array, /, *, axis: Axis = None, keepdims: bool = False) -> Array:
    """Count the elements along axes that are not zero.

    Raises:
        AxisError: the array has no such axis.

    Examples:
        >>> rp.count_nonzero(rp.asarray([[1, 0], [2, 3]]), axis=1).tolist()
        [1, 2]
    """
    return _core.reduce(x, "count_nonzero", axis, keepdims)


def nonzero(x: Array, /) -> tuple[Array, ...]:
    """Return the coordinates of the elements that are not zero, a vector for each mode.

    Raises:
        ValueError: the array has no modes.

    Examples:
        >>> [x.tolist() for x in rp.nonzero(rp.asarray([[0, 1], [2, 0]]))]
        [[0, 1], [1, 0]]
    """
    if x.ndim == 0:
        raise ValueError("nonzero expects an array with modes, found a number")
    return _core.nonzero(x)


def searchsorted(x1: Array, x2: ArrayLike, /, *, side: str = "left", sorter: Array | None = None) -> Array:
    """Return the positions at which values can be inserted so that a sorted vector stays sorted.

    Raises:
        ValueError: `side` is neither `left` nor `right`.

    Examples:
        >>> rp.searchsorted(rp.asarray([1, 3, 3, 5]), rp.asarray([3, 4]), side="right").tolist()
        [3, 3]
    """
    if side not in ("left", "right"):
        raise ValueError(f"side is 'left' or 'right', found {side!r}")
    sorted_values = x1 if sorter is None else x1[sorter]
    return _core.searchsorted(sorted_values, x2, side == "right")


def isin(x1: ArrayLike, x2: ArrayLike, /, *, invert: bool = False) -> Array:
    """Return, for each element of `x1`, whether `x2` contains the element.

    Examples:
        >>> rp.isin(rp.asarray([1, 2, 3]), rp.asarray([3, 1])).tolist()
        [True, False, True]
    """
    found = _core.isin(asarray(x1), x2)
    return ~found if invert else found
