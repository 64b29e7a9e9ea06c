"""Comparison of results: every element of a side with that of redpoll."""

from typing import Any

import numpy as np
import scipy.sparse as sp

from sides import MAX_DENSE

#: The largest relative and absolute differences of floats, whose sums are added in any order.
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
    """Return a result as an array of NumPy, or as a large matrix of SciPy."""
    if not sp.issparse(result):
        return np.asarray(result)
    return result.toarray() if np.prod(result.shape, dtype=float) <= MAX_DENSE else result


def _dense_difference(ours: Any, theirs: Any) -> str | None:
    if ours.dtype.kind not in "biuf" or theirs.dtype.kind not in "biuf":
        return f"dtypes {ours.dtype} and {theirs.dtype}"
    with np.errstate(all="ignore"):
        equal = np.isclose(ours.astype(float), theirs.astype(float), RELATIVE, ABSOLUTE, equal_nan=True)
    if equal.all():
        return None
    at = tuple(int(i) for i in np.argwhere(~equal)[0])
    return f"{np.count_nonzero(~equal)} elements, first at {at}: {ours[at]} and {theirs[at]}"


def _sparse_difference(ours: sp.csr_array, theirs: sp.csr_array) -> str | None:
    ours, theirs = ours.astype(float), theirs.astype(float)
    gap = abs(ours - theirs)
    if gap.nnz == 0:
        return None
    allowed = RELATIVE * abs(theirs)
    excess = (gap - allowed).tocoo()
    wrong = np.flatnonzero(~(excess.data <= ABSOLUTE))
    if len(wrong) == 0:
        return None
    at = tuple(int(mode[wrong[0]]) for mode in excess.coords)
    return f"{len(wrong)} elements, first at {at}: {ours[at]} and {theirs[at]}"
