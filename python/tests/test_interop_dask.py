"""Arrays as blocks of dask: every block of a result is an array of redpoll."""

import numpy as np
import pytest
import scipy.sparse as sp

import redpoll as rp

pytest.importorskip("dask.array", reason="dask is not installed")
import dask.array as da  # noqa: E402


@pytest.fixture(scope="module")
def pairs():
    """Return two arrays with blocks of redpoll, and the same two arrays with blocks of NumPy."""
    values = np.random.default_rng(0).integers(0, 3, (60, 40)).astype("f8")
    blocks = dict(chunks=(20, 20))
    sparse = tuple(da.from_array(rp.asarray(sp.csr_array(one)), asarray=False, **blocks) for one in (values, values.T))
    return sparse, tuple(da.from_array(one, **blocks) for one in (values, values.T.copy()))


OPERATIONS = {
    "sum": lambda v, w: v.sum(axis=0),
    "sum of all": lambda v, w: v.sum(),
    "mean": lambda v, w: v.mean(axis=1),
    "std": lambda v, w: v.std(axis=0),
    "max": lambda v, w: v.max(axis=1),
    "argmax": lambda v, w: v.argmax(axis=1),
    "cumsum": lambda v, w: v.cumsum(axis=0),
    "any": lambda v, w: (v > 1).any(axis=0),
    "arithmetic": lambda v, w: v * 2 + v,
    "sqrt": lambda v, w: da.sqrt(v),
    "where": lambda v, w: da.where(v > 0, v, -1.0),
    "tensordot": lambda v, w: da.tensordot(v, w, axes=1),
    "matmul": lambda v, w: v @ w,
    "einsum": lambda v, w: da.einsum("ij,jk->ik", v, w),
    "transpose": lambda v, w: v.T,
    "slice": lambda v, w: v[3:30, ::2],
    "rows": lambda v, w: v[[1, 5, 30]],
    "concatenate": lambda v, w: da.concatenate([v, v], axis=1),
    "stack": lambda v, w: da.stack([v, v]),
    "reshape": lambda v, w: v.reshape(2400),
    "rechunk": lambda v, w: v.rechunk((30, 10)),
}


@pytest.mark.parametrize("name", OPERATIONS)
def test_operations(pairs, name):
    sparse, dense = (OPERATIONS[name](*pair) for pair in pairs)
    result = sparse.compute(scheduler="synchronous")
    assert isinstance(result, rp.Array)
    np.testing.assert_allclose(np.asarray(result), dense.compute(scheduler="synchronous"))


def test_blocks_are_computed_on_threads(pairs):
    (v, w), (x, y) = pairs
    product = da.tensordot(v, w, axes=1).sum().compute(scheduler="threads")
    assert float(product) == float(da.tensordot(x, y, axes=1).sum().compute())
