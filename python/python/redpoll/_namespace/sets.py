"""Distinct values. The functions are not lazy: the shapes of results depend on the data."""

from __future__ import annotations

from math import nan
from typing import NamedTuple

from .. import _core
from .._array import Array

__all__ = ["unique_all", "unique_counts", "unique_inverse", "unique_values"]


class UniqueAll(NamedTuple):
    """The results of `unique_all`."""

    values: Array
    indices: Array
    inverse_indices: Array
    counts: Array


class UniqueCounts(NamedTuple):
    """The distinct values and their counts."""

    values: Array
    counts: Array


class UniqueInverse(NamedTuple):
    """The distinct values and, for each element, the index of its value in `values`."""

    values: Array
    inverse_indices: Array


def _unique(x: Array) -> UniqueAll:
    """Return the distinct values. Each NaN is a distinct value, as in the Array API standard."""
    from .creation import full, ones
    from .elementwise import isnan, where
    from .manipulation import concat, reshape
    from .searching import nonzero
    from .statistics import cumulative_sum

    values, indices, counts, inverse = _core.unique(x)
    last = values.size - 1
    # The core treats all NaNs as one value, which is larger than all numbers.
    if last < 0 or values.item(last) == values.item(last) or counts.item(last) == 1:
        return UniqueAll(values, indices, inverse, counts)
    number = int(counts.item(last))
    is_nan = isnan(reshape(x, (-1,)))
    places = reshape(last - 1 + cumulative_sum(is_nan, axis=0), x.shape)
    return UniqueAll(
        concat([values[:last], full(number, nan, dtype=x.dtype)]),
        concat([indices[:last], nonzero(is_nan)[0]]),
        where(reshape(is_nan, x.shape), places, inverse),
        concat([counts[:last], ones(number, dtype=counts.dtype)]),
    )


def unique_all(x: Array, /) -> UniqueAll:
    """Return the distinct values in ascending order, and where and how often they occur.

    `indices` has, for each distinct value, the index of the first element with it in the flattened
    array, and `counts` has the number of elements with it. `inverse_indices` has, for each element,
    the index of its value in `values`.

    Examples:
        >>> unique = rp.unique_all(rp.asarray([3, 1, 3]))
        >>> unique.values.tolist(), unique.inverse_indices.tolist()
        ([1, 3], [1, 0, 1])
    """
    return _unique(x)


def unique_counts(x: Array, /) -> UniqueCounts:
    """Return the distinct values in ascending order, and their counts.

    Examples:
        >>> values, counts = rp.unique_counts(rp.asarray([3, 1, 3]))
        >>> counts.tolist()
        [1, 2]
    """
    values, _, _, counts = _unique(x)
    return UniqueCounts(values, counts)


def unique_inverse(x: Array, /) -> UniqueInverse:
    """Return the distinct values in ascending order and, for each element, the index of its value.

    Examples:
        >>> values, inverse = rp.unique_inverse(rp.asarray([3, 1, 3]))
        >>> inverse.tolist()
        [1, 0, 1]
    """
    values, _, inverse, _ = _unique(x)
    return UniqueInverse(values, inverse)


def unique_values(x: Array, /) -> Array:
    """Return the distinct values in ascending order.

    Examples:
        >>> rp.unique_values(rp.asarray([3, 1, 3])).tolist()
        [1, 3]
    """
    return _unique(x).values
