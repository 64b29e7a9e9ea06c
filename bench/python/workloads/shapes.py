"""Functions that rearrange, convert or select elements: transpose, reshape, concatenate, casts, and
parts of matrices."""

import numpy as np
import scipy.sparse as sp

from workload import bytes_of, workload

CASES = ("uniform/1e5", "power/1e6")


def _module(name):
    """Return a function of the module of PyData/Sparse."""

    def call(*arguments, **named):
        import sparse

        return getattr(sparse, name)(*arguments, **named)

    return call


WORKLOADS = (
    workload("shape/transpose", "A", lambda a: a.T, CASES, layout="gcxs"),
    workload(
        "shape/transpose, csr to csr",
        "A",
        lambda a: a.T,
        CASES,
        format="csr",
        layout="gcxs",
        sparse=lambda a: a.T.change_compressed_axes((0,)),
        moved=lambda case: 2 * bytes_of("A")(case),
        first=("uniform/1e5",),
    ),
    workload(
        "shape/reshape",
        "A",
        lambda a: a.reshape((a.shape[0] // 2, a.shape[1] * 2)),
        CASES,
    ),
    workload("shape/flatten and reshape", "A", lambda a: a.reshape((1, -1)), ("uniform/1e5",)),
    workload(
        "shape/concatenate rows",
        "A B",
        lambda a, b: np.concatenate([a, b]),
        CASES,
        scipy=lambda a, b: sp.vstack([a, b], format="csr"),
        first=("uniform/1e5",),
    ),
    workload(
        "shape/concatenate columns",
        "A B",
        lambda a, b: np.concatenate([a, b], axis=1),
        CASES,
        scipy=lambda a, b: sp.hstack([a, b], format="csr"),
    ),
    workload("shape/stack", "A B", lambda a, b: np.stack([a, b]), ("uniform/1e5",), scipy=None),
    workload(
        "shape/diagonal", "A", lambda a: np.diagonal(a), CASES, scipy=lambda a: a.diagonal(), sparse=_module("diagonal")
    ),
    workload("shape/lower triangle", "A", np.tril, CASES, scipy=sp.tril, sparse=_module("tril")),
    workload("shape/upper triangle", "A", np.triu, CASES, scipy=sp.triu, sparse=_module("triu")),
    workload(
        "shape/roll",
        "A",
        lambda a: np.roll(a, 3, axis=0),
        ("uniform/1e5",),
        scipy=None,
        sparse=lambda a: _module("roll")(a, 3, axis=0),
    ),
    workload("shape/transpose of a tensor", "T", lambda t: np.transpose(t, (2, 0, 1)), ("uniform/1e5",), scipy=None),
    workload("shape/cast to float32", "A", lambda a: a.astype(np.float32), CASES),
    workload("shape/to dense", "A", lambda a: a.todense(), ("uniform/1e5",), scipy=lambda a: a.toarray(), numpy=None),
)
