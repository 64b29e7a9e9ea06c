"""Slices, strides, and indices that are integers, arrays of integers, or booleans."""

import numpy as np

from workload import Varying, workload

CASES = ("uniform/1e5", "power/1e6")
#: The case of functions that are measured at one size alone.
SMALL = ("uniform/1e5",)


WORKLOADS = (
    workload("index/row", "A", lambda a: a[a.shape[0] // 2], CASES),
    workload("index/column", "A", lambda a: a[:, a.shape[1] // 2], CASES),
    workload("index/element", "A", Varying(lambda a, k: float(a[k % a.shape[0], (7 * k) % a.shape[1]])), SMALL),
    workload("index/another row", "A", Varying(lambda a, k: a[k % a.shape[0]]), CASES),
    workload("index/rows of a window", "A", lambda a: a[a.shape[0] // 4 : a.shape[0] // 2], CASES, first=SMALL),
    workload("index/columns of a window", "A", lambda a: a[:, a.shape[1] // 4 : a.shape[1] // 2], CASES),
    workload(
        "index/window", "A", lambda a: a[a.shape[0] // 4 : a.shape[0] // 2, a.shape[1] // 4 : a.shape[1] // 2], CASES
    ),
    workload("index/every second row", "A", lambda a: a[::2], CASES),
    workload("index/every third column", "A", lambda a: a[:, ::3], CASES),
    workload("index/rows backwards", "A", lambda a: a[::-1], CASES),
    workload("index/rows by integers", "A rows", lambda a, rows: a[rows], CASES, first=SMALL),
    workload("index/columns by integers", "A columns", lambda a, columns: a[:, columns], CASES),
    workload("index/rows by booleans", "A keep", lambda a, keep: a[keep], CASES),
    workload(
        "index/elements by integers",
        "A rows columns",
        lambda a, rows, columns: a[rows, columns[: len(rows)]],
        SMALL,
        sparse=None,
    ),
    workload(
        "index/elements by a condition",
        "A",
        lambda a: a[a > 0.5],
        SMALL,
        # All stored values are positive.
        scipy=lambda a: a.data[a.data > 0.5],
        sparse=lambda a: a.data[a.data > 0.5],
    ),
    workload(
        "index/differences of rows",
        "A",
        lambda a: a[1:] - a[:-1],
        CASES,
    ),
    workload("index/plane of a tensor", "T", lambda t: t[:, t.shape[1] // 2], SMALL, scipy=None),
    workload("index/window of a tensor", "T", lambda t: t[2:-2, 1:-1, ::2], SMALL, scipy=None),
    workload(
        "index/take and sum",
        "A rows",
        lambda a, rows: np.sum(a[rows], axis=0),
        SMALL,
        scipy=lambda a, rows: a[rows].sum(axis=0),
    ),
)
