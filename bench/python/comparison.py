"""Comparison of results: every element of a library's result with the same element of redpoll's
result."""

from typing import Any

import numpy as np
import scipy.sparse as sp

from sides import MAX_DENSE

#: The largest relative and absolute differences that are allowed between floats, because the
#: libraries add in different orders.
RELATIVE, ABSOLUTE = 1e-8, 1e-10


def difference(ours: Any, theirs: Any) -> str | None:
    """Return how two results differ, or `None` if they are equal.

    Results are arrays of NumPy, matrices of SciPy, numbers, or tuples of them. Elements that are
    not stored equal stored zeros, and a NaN equals a NaN.
    """
    if isinstance(ours, tuple) or isinstance(theirs, tuple):
        pairs = zip(ours, theirs, strict=True)
        return next((found for pair in pairs if (found := difference(*pair)) is not None), None)
    ours, theirs = _host(ours), _host(theirs)
    if ours.shape != theirs.shape:
        return f"shapes {ours.shape} and {theirs.shape}"
    if sp.issparse(ours) or sp.issparse(theirs):
        return _sparse_difference(sp.csr_array(ours), sp.csr_array(theirs))
    return _dense_difference(ours, theirs)


def _host(result: Any) -> Any:
    """Return a result as an array of NumPy; a sparse result of more than `MAX_DENSE` elements stays
    a matrix of SciPy."""
    if not sp.issparse(result):
        return np.asarray(result)
    return result.toarray() if np.prod(result.shape, dtype=float) <= MAX_DENSE else result


def _dense_difference(ours: Any, theirs: Any) -> str | None:
    if ours.dtype.kind not in "biuf" or theirs.dtype.kind not in "biuf":
        return f"dtypes {ours.dtype} and {theirs.dtype}"
    equal = _equal(ours.astype(float), theirs.astype(float))
    if equal.all():
        return None
    at = tuple(int(i) for i in np.argwhere(~equal)[0])
    return f"{np.count_nonzero(~equal)} elements, first at {at}: {ours[at]} and {theirs[at]}"


def _sparse_difference(ours: sp.csr_array, theirs: sp.csr_array) -> str | None:
    ours, theirs = ours.astype(float), theirs.astype(float)
    # Equal elements differ by 0, which is not stored, or by NaN if they are infinite or NaN.
    places = (ours - theirs).tocoo().coords
    if len(places[0]) == 0:
        return None
    wrong = np.flatnonzero(~_equal(np.asarray(ours[places]), np.asarray(theirs[places])))
    if len(wrong) == 0:
        return None
    at = tuple(int(mode[wrong[0]]) for mode in places)
    return f"{len(wrong)} elements, first at {at}: {ours[at]} and {theirs[at]}"


def _equal(ours: np.ndarray, theirs: np.ndarray) -> np.ndarray:
    """Return, for each pair of floats, whether their difference is allowed."""
    with np.errstate(all="ignore"):
        return np.isclose(ours, theirs, RELATIVE, ABSOLUTE, equal_nan=True)
