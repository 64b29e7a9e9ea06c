"""Checksums of results, the same as in `bench/src/checks.rs`."""

from typing import NamedTuple

import numpy as np


class Entries(NamedTuple):
    """A sparse result: coordinates, with one row per mode, and values."""

    coords: np.ndarray
    values: np.ndarray
    shape: tuple


def compute_sums(result, fill):
    """Returns the checksums of the values of a result that differ from the fill value.

    A result is a number, an array, a SciPy matrix, `Entries`, or an object with a method `entries`.
    """
    if hasattr(result, "entries"):
        result = result.entries()
    if hasattr(result, "tocoo"):
        coo = result.tocoo()
        if hasattr(coo, "sum_duplicates"):
            coo.sum_duplicates()
        result = Entries(np.stack([coo.row, coo.col]), coo.data, coo.shape)
    if isinstance(result, Entries):
        values, shape = np.asarray(result.values), result.shape
        numbers = np.zeros(len(values), dtype=np.uint64)
        for coords, size in zip(result.coords, shape):
            numbers = numbers * np.uint64(size) + np.asarray(coords).astype(np.uint64)
    else:
        array = np.asarray(result)
        values, shape = array.reshape(-1), array.shape
        numbers = np.arange(values.size, dtype=np.uint64)
    values = values.astype(np.float64)
    differ = values != fill
    values, numbers = values[differ], numbers[differ]
    return {
        "shape": [int(d) for d in shape],
        "count": len(values),
        "sum": float(values.sum()),
        "mass": float(np.abs(values).sum()),
        "weighted": float((values * weights(numbers)).sum()),
    }


def weights(numbers):
    """Returns a weight for each row-major number of an entry: a multiple of 2^-20 below 1."""
    with np.errstate(over="ignore"):
        return ((numbers + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15) >> np.uint64(44)) / float(1 << 20)
