"""Functions that test whether all elements, or any elements, are not zero."""

from __future__ import annotations

from .. import _core
from .._array import Array
from .._typing import Axis

__all__ = ["all", "any"]


def all(x: Array, /, *, axis: Axis = None, keepdims: bool = False) -> Array:
    """Return whether all elements along axes are not zero.

    Raises:
        AxisError: the array has no such axis.

    Examples:
        >>> rp.all(rp.asarray([[1, 0], [2, 3]]), axis=1).tolist()
        [False, True]
    """
    return _core.reduce(x, "all", axis, keepdims)


def any(x: Array, /, *, axis: Axis = None, keepdims: bool = False) -> Array:
    """Return whether any element along axes is not zero.

    Raises:
        AxisError: the array has no such axis.

    Examples:
        >>> rp.any(rp.asarray([[0, 0], [2, 3]]), axis=1).tolist()
        [False, True]
    """
    return _core.reduce(x, "any", axis, keepdims)
