"""Adapters for functions that join, split, rearrange and pad arrays, and for diagonals."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._errors import AxisError
from ..numpy import dense
from .registry import ADAPTERS, adapter, as_array, namespace


@adapter
def concatenate(arrays: Any, axis: Any = 0, *, dtype: Any = None) -> Any:
    result = namespace().concat([as_array(one) for one in arrays], axis=axis)
    return result if dtype is None else result.astype(dtype)


ADAPTERS["concat"] = concatenate


@adapter
def stack(arrays: Any, axis: int = 0, *, dtype: Any = None) -> Any:
    result = namespace().stack([as_array(one) for one in arrays], axis=axis)
    return result if dtype is None else result.astype(dtype)


def _at_least(array: Any, rank: int) -> Any:
    """Insert modes of size 1, at the same positions as NumPy, up to `rank` modes."""
    array = as_array(array)
    while array.ndim < min(rank, 2):
        array = namespace().expand_dims(array, axis=0)
    return namespace().expand_dims(array, axis=2) if array.ndim < rank else array


def _at_least_function(rank: int) -> None:
    def at_least(*arrays: Any) -> Any:
        results = tuple(_at_least(one, rank) for one in arrays)
        return results[0] if len(results) == 1 else results

    ADAPTERS[f"atleast_{rank}d"] = at_least


for _rank in (1, 2, 3):
    _at_least_function(_rank)


@adapter
def vstack(tup: Any, *, dtype: Any = None) -> Any:
    return concatenate([_at_least(one, 2) for one in tup], 0, dtype=dtype)


@adapter
def hstack(tup: Any, *, dtype: Any = None) -> Any:
    parts = [_at_least(one, 1) for one in tup]
    return concatenate(parts, 0 if parts[0].ndim == 1 else 1, dtype=dtype)


@adapter
def dstack(tup: Any) -> Any:
    return concatenate([_at_least(one, 3) for one in tup], 2)


@adapter
def column_stack(tup: Any) -> Any:
    return concatenate([as_array(one) if one.ndim > 1 else namespace().expand_dims(as_array(one), axis=1) for one in tup], 1)


@adapter
def array_split(ary: Any, indices_or_sections: Any, axis: int = 0) -> Any:
    length = ary.shape[axis]
    if isinstance(indices_or_sections, (int, np.integer)):
        small, rest = divmod(length, int(indices_or_sections))
        sizes = [small + (k < rest) for k in range(int(indices_or_sections))]
        bounds = [0, *np.cumsum(sizes).tolist()]
    else:
        bounds = [0, *(int(bound) for bound in indices_or_sections), length]
    before = (slice(None),) * (axis % ary.ndim)
    return [ary[(*before, slice(start, end))] for start, end in zip(bounds, bounds[1:], strict=False)]


@adapter
def split(ary: Any, indices_or_sections: Any, axis: int = 0) -> Any:
    if isinstance(indices_or_sections, (int, np.integer)) and ary.shape[axis] % int(indices_or_sections):
        raise ValueError("array split does not result in an equal division")
    return array_split(ary, indices_or_sections, axis)


@adapter
def ravel(a: Any) -> Any:
    # SciPy passes the result to its kernels, which take only arrays of NumPy.
    return np.ravel(dense(a))


@adapter
def reshape(a: Any, shape: Any) -> Any:
    return namespace().reshape(a, shape)


@adapter
def transpose(a: Any, axes: Any = None) -> Any:
    return a.transpose() if axes is None else namespace().permute_dims(a, tuple(axis % a.ndim for axis in axes))


def checked_axis(axis: int, rank: int) -> int:
    """Return the axis as a number that is not negative."""
    if not -rank <= axis < rank:
        raise AxisError(f"axis {axis} is out of range for an array of {rank} modes")
    return axis % rank


@adapter
def swapaxes(a: Any, axis1: int, axis2: int) -> Any:
    first, second = checked_axis(axis1, a.ndim), checked_axis(axis2, a.ndim)
    order = list(range(a.ndim))
    order[first], order[second] = second, first
    return namespace().permute_dims(a, order)


@adapter
def moveaxis(a: Any, source: Any, destination: Any) -> Any:
    return namespace().moveaxis(a, source, destination)


@adapter
def expand_dims(a: Any, axis: Any) -> Any:
    return namespace().expand_dims(a, axis=axis)


@adapter
def squeeze(a: Any, axis: Any = None) -> Any:
    axis = tuple(mode for mode, size in enumerate(a.shape) if size == 1) if axis is None else axis
    return namespace().squeeze(a, axis=axis)


@adapter
def flip(m: Any, axis: Any = None) -> Any:
    return namespace().flip(m, axis=axis)


@adapter
def flipud(m: Any) -> Any:
    return namespace().flip(m, axis=0)


@adapter
def fliplr(m: Any) -> Any:
    return namespace().flip(m, axis=1)


@adapter
def rot90(m: Any, k: int = 1, axes: tuple[int, int] = (0, 1)) -> Any:
    first, second = (axis % m.ndim for axis in axes)
    for _ in range(k % 4):
        m = namespace().flip(swapaxes(m, first, second), axis=first)
    return m


@adapter
def roll(a: Any, shift: Any, axis: Any = None) -> Any:
    return namespace().roll(a, shift, axis=axis)


@adapter
def tile(A: Any, reps: Any) -> Any:  # noqa: N803
    return namespace().tile(A, (reps,) if isinstance(reps, int) else reps)


@adapter
def repeat(a: Any, repeats: Any, axis: Any = None) -> Any:
    return namespace().repeat(a, repeats if isinstance(repeats, int) else as_array(repeats), axis=axis)


@adapter
def broadcast_to(array: Any, shape: Any) -> Any:
    return namespace().broadcast_to(array, (shape,) if isinstance(shape, int) else shape)


@adapter
def broadcast_arrays(*args: Any) -> Any:
    return tuple(namespace().broadcast_arrays(*(as_array(one) for one in args)))


@adapter
def pad(array: Any, pad_width: Any, mode: str = "constant", *, constant_values: Any = 0) -> Any:
    if mode != "constant" or not isinstance(constant_values, (bool, int, float)):
        return NotImplemented
    widths = np.broadcast_to(np.asarray(pad_width), (array.ndim, 2))
    return namespace().pad(array, [tuple(int(width) for width in pair) for pair in widths], value=constant_values)


@adapter
def tril(m: Any, k: int = 0) -> Any:
    return namespace().tril(m, k=k)


@adapter
def triu(m: Any, k: int = 0) -> Any:
    return namespace().triu(m, k=k)


@adapter
def diagonal(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any:
    return namespace().diagonal(moveaxis(a, (axis1, axis2), (-2, -1)), offset=offset)


@adapter
def trace(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: Any = None) -> Any:
    return namespace().trace(moveaxis(a, (axis1, axis2), (-2, -1)), offset=offset, dtype=dtype)


@adapter
def diag(v: Any, k: int = 0) -> Any:
    xp = namespace()
    if v.ndim == 2:
        return xp.diagonal(v, offset=k)
    if v.ndim != 1:
        raise ValueError(f"diag expects a vector or a matrix, found shape {v.shape}")
    size = v.shape[0] + abs(k)
    columns = xp.pad(v, [(max(k, 0), max(-k, 0))])
    return xp.where(xp.eye(size, size, k=k, dtype=xp.bool), columns, xp.zeros((), dtype=v.dtype))
