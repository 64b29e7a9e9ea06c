"""Conversion from and to Arrow, pandas, Polars and DuckDB: coordinates, values and labels."""

import copy
import datetime
import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from conftest import same

import redpoll as rp

pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed")

COLUMNS = {"user": ["bob", "ann", "bob"], "day": [0, 2, 1], "stars": [1.0, 2.0, 3.0]}
RATINGS = [[0.0, 0.0, 2.0], [1.0, 3.0, 0.0]]


def frame(library):
    """Return the ratings as a table of a library."""
    if library == "pyarrow":
        return pa.table(COLUMNS)
    if library == "duckdb":
        duckdb = pytest.importorskip("duckdb", reason="duckdb is not installed")
        table = pa.table(COLUMNS)
        return duckdb.connect().from_arrow(table)
    module = pytest.importorskip(library, reason=f"{library} is not installed")
    return module.DataFrame(COLUMNS)


LIBRARIES = ("pyarrow", "pandas", "polars", "duckdb")


@pytest.mark.parametrize("library", LIBRARIES)
def test_frames_come_in_with_labels(library):
    array = rp.from_arrow(frame(library), ["user", "day"], "stars")
    same(array, RATINGS)
    users, days = array.labels
    assert (days, list(users), users.index("bob"), len(users)) == (None, ["ann", "bob"], 1, 2)


@pytest.mark.parametrize("library", LIBRARIES)
def test_frames_are_made_of_arrays(library):
    array = rp.from_arrow(pa.table(COLUMNS), ["user", "day"], "stars")
    expected = {"user": ["ann", "bob", "bob"], "day": [2, 0, 1], "stars": [2.0, 1.0, 3.0]}
    table = array.to_arrow(["user", "day"], values="stars")
    assert (table.num_rows, table.column_names) == (3, ["user", "day", "stars"])
    if library == "pyarrow":
        assert pa.table(table).to_pydict() == expected
        assert pa.table(array).column_names == ["dim_0", "dim_1", "value"]
    elif library == "polars":
        polars = pytest.importorskip("polars", reason="polars is not installed")
        assert polars.DataFrame(table).to_dict(as_series=False) == expected
        assert polars.DataFrame(array).shape == (3, 3)
    elif library == "pandas":
        pandas = pytest.importorskip("pandas", reason="pandas is not installed")
        result = pandas.DataFrame.from_arrow(table)
        assert result.to_dict("list") == expected and result["user"].dtype == "category"
    else:
        duckdb = pytest.importorskip("duckdb", reason="duckdb is not installed")
        ratings = duckdb.connect().from_arrow(table)
        assert ratings.aggregate("user, sum(stars) as s").order("user").fetchall() == [("ann", 2.0), ("bob", 4.0)]


def test_values_are_shared_and_coordinates_are_not():
    """Coordinates are copied, because a user can change a column that is an array of NumPy."""
    places = np.arange(1000, dtype="u4")
    table = pa.table({"i": places, "v": np.ones(1000)})
    array = rp.from_arrow(table, "i", "v")
    tensor = array.compute_tensor()
    assert np.shares_memory(np.asarray(tensor.leaf()[0]), table["v"].chunk(0).to_numpy())
    places[:] = 2**31
    same(array, np.ones(1000))
    array = rp.asarray(sp.coo_array(np.eye(3))).reformat("coo")
    values = pa.table(array)["value"].chunk(0).to_numpy()
    assert np.shares_memory(values, np.asarray(array.compute_tensor().leaf()[0]))


def test_dictionaries_keep_their_order_and_other_labels_ascend():
    colors = pa.DictionaryArray.from_arrays([1, 0, 1], ["red", "green"])
    array = rp.from_arrow(pa.table({"c": colors, "v": [1, 2, 3]}), "c", "v", duplicates="sum")
    assert list(array.labels[0]) == ["red", "green"]
    same(array, [2, 4])
    chunks = pa.chunked_array([colors, pa.DictionaryArray.from_arrays([0], ["blue"])])
    array = rp.from_arrow(pa.table({"c": chunks, "v": [1, 2, 3, 4]}), "c", "v", duplicates="sum")
    assert dict(zip(array.labels[0], array.tolist(), strict=True)) == {"red": 2, "green": 4, "blue": 4}


def test_labels_of_every_type():
    days = [datetime.date(2026, 11, 28), datetime.date(2026, 1, 2)]
    for column, expected in (
        (pa.array(days), ["2026-01-02", "2026-11-28"]),
        (pa.array([True, False]), ["False", "True"]),
        (pa.array([2.5, -1.0]), ["-1.0", "2.5"]),
        (pa.array(["é", ""], pa.string_view()), ["", "é"]),
        (pa.array([datetime.datetime(2026, 1, 1)] * 1), ["2026-01-01T00:00:00.000000"]),
    ):
        table = pa.table({"k": column, "v": np.arange(len(column))})
        array = rp.from_arrow(table, "k", "v")
        assert [str(label) for label in array.labels[0]] == expected
        assert list(pickle.loads(pickle.dumps(array.labels[0]))) == list(array.labels[0])
        back = pa.table(array.to_arrow(["k"], values="v")).sort_by("v")
        assert back["k"].to_pylist() == column.to_pylist()


def test_labels_of_one_array_are_looked_up_for_another():
    first = rp.from_arrow(pa.table(COLUMNS), ["user", "day"], "stars")
    more = pa.table({"user": ["bob"], "score": [7.0]})
    second = rp.from_arrow(more, "user", "score", labels={"user": first.labels[0]})
    same(second @ first, np.array([0.0, 7.0]) @ np.array(RATINGS))
    with pytest.raises(ValueError, match="row 0 has a name that is not among the labels"):
        rp.from_arrow(more, "user", "score", labels={"user": ["ann", "eve"]})
    ids = pa.table({"user": [10**12, 7], "v": [1.0, 2.0]})
    array = rp.from_arrow(ids, "user", "v", labels={"user": True})
    assert (array.shape, list(array.labels[0])) == ((2,), [7, 10**12])


def test_options():
    table = pa.table({"i": [1, 1, 0], "j": [0, 0, 1], "v": [1, None, 3]})
    with pytest.raises(ValueError, match="null|NULL"):
        rp.from_arrow(table, ["i", "j"], "v", duplicates="last")
    array = rp.from_arrow(table, ["i", "j"], "v", duplicates="sum", nulls="fill", fill_value=-1, shape=(None, 4))
    assert (array.shape, array.fill_value, array[1, 0].item(), array[1, 3].item()) == ((2, 4), -1, 0, -1)
    with pytest.raises(ValueError, match="repeats the coordinates"):
        rp.from_arrow(table.drop_columns("v"), ["i", "j"])
    pattern = rp.from_arrow(table.drop_columns("v"), ["i", "j"], duplicates="first", format="csr")
    same(pattern, [[False, True], [True, False]])
    with pytest.raises(KeyError, match="no column 'k'; its columns are i, j, v"):
        rp.from_arrow(table, ["i", "k"], "v")
    with pytest.raises(TypeError, match="__arrow_c_stream__"):
        rp.from_arrow([1, 2], "i", "v")
    with pytest.raises(ValueError, match="negative coordinate -2"):
        rp.from_arrow(pa.table({"i": [-2]}), "i")
    with pytest.raises(ValueError, match="duplicates are 'error'"):
        rp.from_arrow(table, ["i", "j"], "v", duplicates="mean")


def test_labels_are_checked_and_travel_with_copies():
    array = rp.eye(2).with_labels(["ann", "bob"], None)
    for same_array in (copy.copy(array), copy.deepcopy(array), pickle.loads(pickle.dumps(array))):
        assert list(same_array.labels[0]) == ["ann", "bob"] and same_array.labels[1] is None
    assert (array * 2).labels is None
    with pytest.raises(ValueError, match="mode 0 has 2 coordinates, but 3 labels"):
        array.with_labels(["a", "b", "c"], None)
    with pytest.raises(ValueError, match="2 modes"):
        array.with_labels(["a", "b"])
    with pytest.raises(ValueError, match="distinct"):
        rp.Labels(["a", "a"])
    with pytest.raises(ValueError, match="'x' is not among the 2 labels"):
        array.labels[0].index("x")
    with pytest.raises(IndexError):
        array.labels[0][2]
    assert repr(rp.Labels(range(9))) == "<redpoll.Labels [0, 1, 2, 3, 4, 5, ..] of 9>"
    assert pa.array(array.labels[0]).to_pylist() == ["ann", "bob"]


def test_no_rows_and_no_modes():
    empty = rp.from_arrow(pa.table({"i": pa.array([], pa.int32()), "v": pa.array([], pa.float32())}), "i", "v")
    assert (empty.shape, empty.dtype) == ((0,), rp.float32)
    assert pa.table(empty).num_rows == 0
    labelled = rp.from_arrow(pa.table({"c": pa.array([], pa.dictionary(pa.int32(), pa.string()))}), "c")
    assert (labelled.shape, len(labelled.labels[0])) == ((0,), 0)
    assert pa.table(rp.sum(rp.asarray([1.0, 2.0]))).to_pydict() == {"value": [3.0]}
    dense = rp.asarray([[1, 0], [0, 2]])
    assert pa.table(dense.to_arrow(["i", "j"])).to_pydict() == {"i": [0, 1], "j": [0, 1], "value": [1, 2]}
    assert pa.table(dense.at("a", "b")).column_names == ["a", "b", "value"]
    with pytest.raises(ValueError, match="occurs more than once"):
        dense.to_arrow(["i", "i"])
