"""The overhead of calls: lazy operators, and results of ten numbers."""

import numpy as np

from workload import Varying, workload

TEN = ("ten",)


def _first(xs):
    """Return the first element of a one-dimensional result."""
    return xs[0]


WORKLOADS = (
    # Lazy operators, which compute nothing.
    workload("calls/lazy operator", "A B", lambda a, b: a + b, TEN, is_lazy=True),
    workload("calls/lazy operator with a number", "A", lambda a: a * 2.0, TEN, is_lazy=True),
    workload("calls/lazy ufunc", "A", np.sqrt, TEN, scipy=lambda a: a.sqrt(), is_lazy=True),
    workload("calls/lazy sum", "A", lambda a: a.sum(axis=0), TEN, is_lazy=True),
    workload("calls/lazy slice", "A", lambda a: a[1:3], TEN, is_lazy=True),
    workload("calls/lazy product", "A x", lambda a, x: a @ x, TEN, is_lazy=True),
    # Small results, computed in each call.
    workload("calls/sum of two", "A B", lambda a, b: a + b, TEN, first=TEN),
    workload("calls/product with a number", "A", lambda a: a * 2.0, TEN),
    workload("calls/matrix times vector", "A x", lambda a, x: a @ x, TEN, layout="gcxs"),
    workload("calls/total as a Python float", "A", lambda a: float(a.sum()), TEN),
    workload(
        "calls/result as an array of NumPy",
        "A x",
        lambda a, x: a @ x,
        TEN,
        redpoll=lambda a, x: np.asarray(a @ x),
        layout="gcxs",
    ),
    # The same plan with another constant in each call.
    workload("calls/another factor", "A", Varying(lambda a, k: a * (k + 1.5)), TEN, first=TEN),
    workload("calls/another bound", "A", Varying(lambda a, k: a > k / 1000), TEN),
    workload("calls/another row", "A", Varying(lambda a, k: a[k % 5]), TEN),
    workload(
        "calls/another slice", "y", Varying(lambda y, k: y[k % 3 : k % 3 + 2] + 1.0), TEN, scipy=None, sparse=None
    ),
)
