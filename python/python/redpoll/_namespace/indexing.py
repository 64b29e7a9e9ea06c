"""Functions of indices."""

from .. import _core

__all__ = ["take", "take_along_axis"]


def take(x, indices, /, *, axis=None):
    """Return the elements at a vector of coordinates along an axis."""
    if axis is None:
        if x.ndim != 1:
            raise ValueError(f"take expects an axis for shape {x.shape}")
        axis = 0
    axis = axis + x.ndim if axis < 0 else axis
    return x[(slice(None),) * axis + (indices,)]


def take_along_axis(x, indices, /, *, axis=-1):
    """Return, for each element of `indices`, the element at that coordinate along an axis."""
    return _core.take_along_axis(x, indices, axis)
