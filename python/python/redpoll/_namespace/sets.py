"""Distinct values. They are computed at once, as their number depends on the data."""

from __future__ import annotations

from typing import NamedTuple

from .. import _core
from .._array import Array

__all__ = ["unique_all", "unique_counts", "unique_inverse", "unique_values"]


class UniqueAll(NamedTuple):
    """The distinct values, their first indices, the index of each element's value, the counts."""

    values: Array
    indices: Array
    inverse_indices: Array
    counts: Array


class UniqueCounts(NamedTuple):
    """The distinct values and their counts."""

    values: Array
    counts: Array


class UniqueInverse(NamedTuple):
    """The distinct values and the index of each element's value."""

    values: Array
    inverse_indices: Array


def unique_all(x: Array, /) -> UniqueAll:
    """Return the distinct values in ascending order, with indices, inverse indices and counts.

    Examples:
        >>> unique = rp.unique_all(rp.asarray([3, 1, 3]))
        >>> unique.values.tolist(), unique.inverse_indices.tolist()
        ([1, 3], [1, 0, 1])
    """
    values, indices, counts, inverse = _core.unique(x)
    return UniqueAll(values, indices, inverse, counts)


def unique_counts(x: Array, /) -> UniqueCounts:
    """Return the distinct values in ascending order, and their counts.

    Examples:
        >>> values, counts = rp.unique_counts(rp.asarray([3, 1, 3]))
        >>> counts.tolist()
        [1, 2]
    """
    values, _, counts, _ = _core.unique(x)
    return UniqueCounts(values, counts)


def unique_inverse(x: Array, /) -> UniqueInverse:
    """Return the distinct values in ascending order, and the index of each element's value.

    Examples:
        >>> values, inverse = rp.unique_inverse(rp.asarray([3, 1, 3]))
        >>> inverse.tolist()
        [1, 0, 1]
    """
    values, _, _, inverse = _core.unique(x)
    return UniqueInverse(values, inverse)


def unique_values(x: Array, /) -> Array:
    """Return the distinct values in ascending order.

    Examples:
        >>> rp.unique_values(rp.asarray([3, 1, 3])).tolist()
        [1, 3]
    """
    return _core.unique(x)[0]
