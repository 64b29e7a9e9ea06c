"""Reductions over each axis."""

import numpy as np

from workload import streamed, workload

CASES = ("uniform/1e5", "power/1e5")
ALL_SIZES = ("ten", "uniform/1e3", "uniform/1e5", "power/1e6", "uniform/1e7")
AXES = (None, 0, 1)


def _of_method(name, operand="A"):
    """Yield the reductions by a method that all sides have."""
    for axis in AXES:

        def function(a, axis=axis):
            return getattr(a, name)(axis=axis)

        def scipy(a, axis=axis):
            result = getattr(a, name)(axis=axis)
            return result.toarray() if hasattr(result, "toarray") else result

        yield workload(
            f"reduction/{name}, axis {axis}",
            operand,
            function,
            ALL_SIZES if name == "sum" else CASES,
            scipy=scipy,
            moved=streamed(operand, 1) if axis != 0 else None,
            first=("uniform/1e5",) if (name, axis) == ("sum", 0) else (),
        )


def _argmax():
    for axis in AXES:

        def function(a, axis=axis):
            return np.argmax(a, axis=axis)

        def method(a, axis=axis):
            return a.argmax(axis=axis)

        def sparse(a, axis=axis):
            import sparse

            return sparse.argmax(a, axis=axis)

        yield workload(
            f"reduction/argmax, axis {axis}", "A", function, CASES, redpoll=method, scipy=method, sparse=sparse
        )


def _truth():
    for axis in AXES:

        def function(a, axis=axis):
            return a.any(axis=axis)

        def scipy(a, axis=axis):
            return a.count_nonzero(axis=axis) > 0

        yield workload(f"reduction/any, axis {axis}", "L", function, CASES, scipy=scipy)
    yield workload(
        "reduction/all, axis 1",
        "L",
        lambda a: a.all(axis=1),
        CASES,
        scipy=lambda a: a.count_nonzero(axis=1) == a.shape[1],
    )


def _moments():
    def scipy(a):
        mean = a.mean(axis=0)
        return (a * a).mean(axis=0) - mean**2

    yield workload("reduction/var, axis 0", "A", lambda a: a.var(axis=0), CASES, scipy=scipy)
    yield workload(
        "reduction/norm of rows",
        "A",
        lambda a: np.sqrt((a * a).sum(axis=1)),
        CASES,
        moved=streamed("A", 1),
    )
    yield workload("reduction/sum of a tensor, axis 2", "T", lambda t: t.sum(axis=2), CASES, scipy=None)
    yield workload("reduction/max of a tensor, axes 0 and 1", "T", lambda t: t.max(axis=(0, 1)), CASES, scipy=None)


WORKLOADS = (
    *(one for name in ("sum", "mean", "max", "min") for one in _of_method(name)),
    *_argmax(),
    *_truth(),
    *_moments(),
)
