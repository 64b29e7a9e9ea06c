"""Functions of indices."""

from __future__ import annotations

from .. import _core
from .._array import Array
from .._typing import ArrayLike

__all__ = ["take", "take_along_axis"]


def take(x: Array, indices: ArrayLike, /, *, axis: int | None = None) -> Array:
    """Return the elements at a vector of coordinates along an axis."""
    if axis is None:
        if x.ndim != 1:
            raise ValueError(f"take expects an axis for shape {x.shape}")
        axis = 0
    axis = axis + x.ndim if axis < 0 else axis
    return x[(slice(None),) * axis + (indices,)]


def take_along_axis(x: Array, indices: ArrayLike, /, *, axis: int = -1) -> Array:
    """Return, for each element of `indices`, the element at that coordinate along an axis."""
    return _core.take_along_axis(x, indices, axis)
