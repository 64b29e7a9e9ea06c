"""Arrays inside `xarray.DataArray`: results are arrays of redpoll, and equal those over NumPy."""

import numpy as np
import pytest
import scipy.sparse as sp
from conftest import same

import redpoll as rp

xr = pytest.importorskip("xarray", reason="xarray is not installed")

COORDS = {"time": np.arange(6), "place": list("abcd"), "kind": ("time", list("uvuvuv"))}


@pytest.fixture
def pair():
    """Return the same data over redpoll and over NumPy."""
    values = np.random.default_rng(0).integers(0, 3, (6, 4)).astype("f8")
    sparse = rp.asarray(sp.csr_array(values))
    return tuple(xr.DataArray(data, dims=("time", "place"), coords=COORDS) for data in (sparse, values))


OPERATIONS = {
    "arithmetic": lambda a: a * 2 + a,
    "mixed": lambda a: a - a.mean("time"),
    "ufunc": lambda a: np.sqrt(a),
    "sum": lambda a: a.sum("time"),
    "sum of all": lambda a: a.sum(),
    "mean": lambda a: a.mean("place"),
    "mean of all": lambda a: a.mean(),
    "std": lambda a: a.std("time"),
    "max": lambda a: a.max("time"),
    "median": lambda a: a.median("time"),
    "argmax": lambda a: a.argmax("time"),
    "cumsum": lambda a: a.cumsum("time"),
    "any": lambda a: (a > 1).any("time"),
    "count": lambda a: a.count("time"),
    "where": lambda a: a.where(a > 1, 5.0),
    "clip": lambda a: a.clip(0, 1),
    "label": lambda a: a.sel(place="b"),
    "labels": lambda a: a.isel(time=[0, 2]),
    "groupby mean": lambda a: a.groupby("kind").mean(),
    "groupby sum": lambda a: a.groupby("kind").sum(),
    "concat": lambda a: xr.concat([a, a], "time"),
    "transpose": lambda a: a.transpose("place", "time"),
    "roll": lambda a: a.roll(time=1),
    "shift": lambda a: a.shift(time=1, fill_value=0),
    "dot": lambda a: xr.dot(a, a, dim="place"),
    "stack": lambda a: a.stack(z=("time", "place")),
}


@pytest.mark.parametrize("name", OPERATIONS)
def test_operations(pair, name):
    sparse, dense = (OPERATIONS[name](array) for array in pair)
    assert isinstance(sparse.data, rp.Array), "xarray did not densify the result"
    assert sparse.dims == dense.dims
    same(sparse.data, dense.data, exact=False)


def test_displays(pair):
    sparse, _ = pair
    assert "redpoll" in repr(sparse) and "redpoll" in sparse._repr_html_()


def test_datasets(pair):
    sparse, dense = (xr.Dataset({"v": array}).groupby("kind").mean() for array in pair)
    assert isinstance(sparse["v"].data, rp.Array)
    same(sparse["v"].data, dense["v"].data, exact=False)
