"""Functions that change shapes, and join and split arrays."""

from __future__ import annotations

from collections.abc import Sequence

from .. import _core
from .._array import Array
from .._errors import AxisError
from .._typing import Number, Shape

__all__ = [
    "concat", "expand_dims", "flip", "moveaxis", "pad", "permute_dims", "repeat", "reshape", "roll", "squeeze", "stack",
    "tile", "unstack",
]  # fmt: skip


def _axis(axis: int, rank: int) -> int:
    """Return the axis as a number that is not negative."""
    if not -rank <= axis < rank:
        raise AxisError(f"axis {axis} is out of range for an array of {rank} modes")
    return axis + rank if axis < 0 else axis


def _tuple(value: int | Sequence[int]) -> tuple[int, ...]:
    return (value,) if isinstance(value, int) else tuple(value)


def _promoted(arrays: Sequence[Array]) -> list[Array]:
    """Return arrays cast to their common dtype."""
    from .data_types import result_type

    arrays = list(arrays)
    dtype = result_type(*arrays)
    return [array if array.dtype is dtype else array.cast(dtype.name) for array in arrays]


def concat(arrays: Sequence[Array], /, *, axis: int | None = 0) -> Array:
    """Join arrays along an axis. With the axis `None`, the arrays are flattened first.

    Raises:
        ValueError: the sizes of another mode differ.

    Examples:
        >>> rp.concat([rp.asarray([1, 2]), rp.asarray([3])]).tolist()
        [1, 2, 3]
    """
    arrays = _promoted(arrays)
    if axis is None:
        arrays, axis = [_core.reshape(array, (array.size,)) for array in arrays], 0
    return _core.concat(arrays, axis)


def stack(arrays: Sequence[Array], /, *, axis: int = 0) -> Array:
    """Join arrays along a new axis.

    Raises:
        ValueError: the shapes differ.

    Examples:
        >>> rp.stack([rp.asarray([1, 2]), rp.asarray([3, 4])], axis=1).tolist()
        [[1, 3], [2, 4]]
    """
    return _core.stack(_promoted(arrays), axis)


def unstack(x: Array, /, *, axis: int = 0) -> tuple[Array, ...]:
    """Return the slice at each coordinate of an axis, without this axis.

    Raises:
        AxisError: the array has no such axis.

    Examples:
        >>> [x.tolist() for x in rp.unstack(rp.asarray([[1, 2], [3, 4]]), axis=1)]
        [[1, 3], [2, 4]]
    """
    axis = _axis(axis, x.ndim)
    whole = [slice(None)] * axis
    return tuple(x.slice([*whole, k]) for k in range(x.shape[axis]))


def expand_dims(x: Array, /, axis: int | Sequence[int]) -> Array:
    """Insert one or several modes of size 1.

    Raises:
        AxisError: the result has no such axis.

    Examples:
        >>> rp.expand_dims(rp.zeros((2, 3)), axis=(0, -1)).shape
        (1, 2, 3, 1)
    """
    given = _tuple(axis)
    rank = x.ndim + len(given)
    axes = sorted(_axis(one, rank) for one in given)
    if len(set(axes)) != len(axes):
        raise ValueError(f"an axis is given twice: {axis}")
    for one in axes:
        x = _core.expand_dims(x, one)
    return x


def squeeze(x: Array, /, axis: int | Sequence[int]) -> Array:
    """Drop modes of size 1.

    Raises:
        ValueError: the size of a mode is not 1.

    Examples:
        >>> rp.squeeze(rp.zeros((1, 3, 1)), axis=(0, 2)).shape
        (3,)
    """
    return _core.squeeze(x, axis)


def flip(x: Array, /, *, axis: int | Sequence[int] | None = None) -> Array:
    """Reverse the order of the elements along axes, by default along all axes.

    Raises:
        AxisError: the array has no such axis.

    Examples:
        >>> rp.flip(rp.asarray([[1, 2], [3, 4]]), axis=1).tolist()
        [[2, 1], [4, 3]]
    """
    return _core.flip(x, axis)


def permute_dims(x: Array, /, axes: Sequence[int] | None = None) -> Array:
    """Permute the modes: mode `k` of the result is mode `axes[k]` of the array.

    Raises:
        ValueError: `axes` is not a permutation of the axes.

    Examples:
        >>> rp.permute_dims(rp.zeros((2, 3, 4)), (2, 0, 1)).shape
        (4, 2, 3)
    """
    return _core.permute_dims(x, tuple(range(x.ndim))[::-1] if axes is None else axes)


def moveaxis(x: Array, source: int | Sequence[int], destination: int | Sequence[int], /) -> Array:
    """Move axes to other positions; the other axes keep their order.

    Raises:
        AxisError: the array has no such axis.

    Examples:
        >>> rp.moveaxis(rp.zeros((2, 3, 4)), 0, -1).shape
        (3, 4, 2)
    """
    sources = [_axis(one, x.ndim) for one in _tuple(source)]
    destinations = [_axis(one, x.ndim) for one in _tuple(destination)]
    if not len(sources) == len(destinations) == len(set(sources)) == len(set(destinations)):
        raise ValueError("moveaxis expects distinct sources, and as many distinct destinations")
    order = [mode for mode in range(x.ndim) if mode not in sources]
    for place, mode in sorted(zip(destinations, sources, strict=True)):
        order.insert(place, mode)
    return _core.permute_dims(x, order)


def reshape(x: Array, /, shape: Shape, *, copy: bool | None = None) -> Array:
    """Change the shape and keep the elements in row-major order. One size may be -1.

    Raises:
        ValueError: the number of elements would change.

    Examples:
        >>> rp.reshape(rp.arange(6), (2, -1)).tolist()
        [[0, 1, 2], [3, 4, 5]]
    """
    # A lazy array is never copied, so `copy` has no effect.
    return _core.reshape(x, _tuple(shape))


def repeat(x: Array, repeats: int | Array, /, *, axis: int | None = None) -> Array:
    """Repeat each element along an axis, with one count or with a count for each coordinate.

    Raises:
        ValueError: the number of counts is neither 1 nor the size of the axis.

    Examples:
        >>> rp.repeat(rp.asarray([1, 2]), 2).tolist()
        [1, 1, 2, 2]
        >>> rp.repeat(rp.asarray([1, 2]), rp.asarray([0, 3])).tolist()
        [2, 2, 2]
    """
    if axis is None:
        x, axis = _core.reshape(x, (x.size,)), 0
    if isinstance(repeats, int):
        return _core.repeat(x, repeats, axis)
    counts = [int(count) for count in repeats.todense().reshape(-1)]
    if len(counts) == 1:
        return _core.repeat(x, counts[0], axis)
    return _core.repeat_each(x, counts, axis)


def roll(x: Array, /, shift: int | Sequence[int], *, axis: int | Sequence[int] | None = None) -> Array:
    """Rotate the elements along axes, or in row-major order if no axis is given.

    Raises:
        AxisError: the array has no such axis.

    Examples:
        >>> rp.roll(rp.asarray([1, 2, 3]), 1).tolist()
        [3, 1, 2]
    """
    if axis is None:
        return _core.reshape(_core.roll(_core.reshape(x, (x.size,)), sum(_tuple(shift)), 0), x.shape)
    axes, shifts = _tuple(axis), _tuple(shift)
    if len(shifts) == 1:
        shifts = shifts * len(axes)
    if len(shifts) != len(axes):
        raise ValueError(f"roll expects a shift for each of {len(axes)} axes, found {len(shifts)}")
    for one, by in zip(axes, shifts, strict=True):
        x = _core.roll(x, by, one)
    return x


def tile(x: Array, repetitions: Shape, /) -> Array:
    """Repeat the whole array, with one count for each mode; missing modes are inserted in front.

    Examples:
        >>> rp.tile(rp.asarray([1, 2]), (2, 2)).tolist()
        [[1, 2, 1, 2], [1, 2, 1, 2]]
    """
    repetitions = _tuple(repetitions)
    repetitions = (1,) * (x.ndim - len(repetitions)) + repetitions
    if len(repetitions) > x.ndim:
        x = x[(None,) * (len(repetitions) - x.ndim) + (...,)]
    return _core.tile(x, repetitions)


def pad(
    x: Array, widths: int | Sequence[Sequence[int]], /, *, value: Number = 0, mode: str = "constant",
    constant_values: Number | None = None,
) -> Array:  # fmt: skip
    """Pad with a value. The widths are a pair (before, after) for each mode, or one number.

    Examples:
        >>> rp.pad(rp.asarray([1, 2]), [(1, 2)], value=9).tolist()
        [9, 1, 2, 9, 9]
    """
    if mode != "constant":
        raise ValueError(f"arrays are padded with a constant, found the mode {mode!r}")
    if isinstance(widths, int):
        widths = [(widths, widths)] * x.ndim
    return _core.pad(
        x, [(before, after) for before, after in widths], value if constant_values is None else constant_values
    )
