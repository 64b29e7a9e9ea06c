"""Dtypes: equality, promotion, limits, and the dtypes of the results of functions."""

import itertools

import numpy as np
import pytest
from conftest import DTYPES

import redpoll as rp
from redpoll._namespace._operators import FUNCTIONS


@pytest.mark.parametrize("name", DTYPES)
def test_dtypes_equal_those_of_numpy(name):
    dtype = getattr(rp, name)
    assert dtype == np.dtype(name) and dtype == name and dtype == np.dtype(name).type
    assert hash(dtype) == hash(np.dtype(name)) and np.dtype(dtype) == name
    assert sum(getattr(rp, other) == dtype for other in DTYPES) == 1
    assert not any(dtype == other for other in ({}, [], None, 1, dict, 'id', 'no dtype'))
    assert rp.asarray([1]).astype(dtype).dtype is dtype


@pytest.mark.parametrize("name", DTYPES)
@pytest.mark.parametrize("other", DTYPES)
def test_promotion_is_that_of_numpy(name, other):
    x, y = getattr(rp, name), getattr(rp, other)
    assert rp.result_type(x, y) == np.result_type(name, other)
    assert rp.can_cast(x, y) == np.can_cast(name, other)


def test_kinds_and_limits():
    assert rp.isdtype(rp.int8, "integral") and not rp.isdtype(rp.int8, ("bool", "unsigned integer"))
    assert rp.isdtype(rp.float32, ("bool", "real floating")) and rp.isdtype(rp.float32, rp.float32)
    assert (rp.iinfo(rp.uint8).max, rp.iinfo(rp.int64).min) == (255, -(2**63))
    assert rp.finfo(rp.float32).eps == np.finfo("f4").eps
    with pytest.raises(ValueError, match="unknown kind"):
        rp.isdtype(rp.int8, "integer")
    with pytest.raises(TypeError, match="complex64"):
        rp.zeros(3, dtype="complex64")


#: NumPy's names of functions that have another name in the standard.
NUMPY_NAMES = {
    "acos": "arccos", "acosh": "arccosh", "asin": "arcsin", "asinh": "arcsinh", "atan": "arctan", "atan2": "arctan2",
    "atanh": "arctanh", "bitwise_invert": "invert", "bitwise_left_shift": "left_shift",
    "bitwise_right_shift": "right_shift", "pow": "power",
}  # fmt: skip


def dtype_or_error(function, *operands):
    """Return the name of the dtype of a result, or `TypeError` if the call raises that error."""
    try:
        with np.errstate(all="ignore"):
            return str(function(*operands).dtype)
    except TypeError:
        return "TypeError"


def of_dtype(name, shape=(2, 2)):
    return np.ones(shape, name)


def expected_dtype(row, names):
    """Return the dtype of NumPy's result, or of redpoll's if the two differ by definition."""
    function = getattr(np, NUMPY_NAMES.get(row.name, row.name), None)
    integers = all(np.dtype(name).kind in "biu" for name in names)
    if function is None or row.name == "reciprocal":
        # NumPy has no such function, or rounds reciprocals of integers. redpoll returns floats.
        return "float64" if integers else names[0]
    expected = dtype_or_error(function, *(of_dtype(name) for name in names))
    if row.name == "round" and names == ("bool",):
        return "bool"
    # Functions of floats return `float64` for integers of any width.
    return "float64" if integers and expected.startswith("float") else expected


@pytest.mark.parametrize("row", FUNCTIONS, ids=lambda row: row.name)
def test_dtypes_of_elementwise_functions_are_those_of_numpy(row):
    for names in itertools.product(DTYPES, repeat=row.operands):
        found = dtype_or_error(getattr(rp, row.name), *(rp.asarray(of_dtype(name)) for name in names))
        assert found == expected_dtype(row, names), names


#: Functions of one array, each with NumPy's function.
REDUCTIONS = [
    *((name, getattr(np, name)) for name in ("sum", "prod", "min", "max", "any", "all", "argmin", "argmax", "median")),
    *((name, getattr(np, name)) for name in ("mean", "var", "std", "nansum", "nanprod", "nanmin", "nanmax", "nanmean")),
    *((name, getattr(np, name)) for name in ("nanvar", "nanstd", "trace", "sort", "argsort", "diff", "tril", "triu")),
    *((name, getattr(np, name)) for name in ("permute_dims", "flip", "matrix_transpose", "diagonal")),
    ("count_nonzero", lambda x: np.asarray(np.count_nonzero(x))),
    ("cumulative_sum", lambda x: np.cumulative_sum(x, axis=0)),
    ("cumulative_prod", lambda x: np.cumulative_prod(x, axis=0)),
    ("unique_values", np.unique),
]
AXIS = {"cumulative_sum": {"axis": 0}, "cumulative_prod": {"axis": 0}}


@pytest.mark.parametrize(("name", "function"), REDUCTIONS, ids=[name for name, _ in REDUCTIONS])
def test_dtypes_of_functions_of_one_array_are_those_of_numpy(name, function):
    for dtype in DTYPES:
        found = getattr(rp, name)(rp.asarray(of_dtype(dtype)), **AXIS.get(name, {})).dtype
        assert found == dtype_or_error(function, of_dtype(dtype)), dtype


#: Functions of two arrays, each with NumPy's function.
PAIRS = [
    *((name, getattr(np, name)) for name in ("matmul", "vecdot", "tensordot", "kron")),
    ("outer", lambda x, y: np.outer(x[0], y[0])),
    ("concat", lambda x, y: np.concatenate([x, y])),
    ("stack", lambda x, y: np.stack([x, y])),
    ("where", lambda x, y: np.where([[True, False]], x, y)),
    ("einsum", lambda x, y: np.einsum("ij,jk", x, y)),
    ("isin", np.isin),
    ("searchsorted", lambda x, y: np.searchsorted(x[0], y)),
    ("linspace", lambda x, y: np.linspace(0, 1, 2)),
]
OF_TWO = {
    "outer": lambda x, y: rp.outer(x[0], y[0]),
    "concat": lambda x, y: rp.concat([x, y]),
    "stack": lambda x, y: rp.stack([x, y]),
    "where": lambda x, y: rp.where(rp.asarray([[True, False]]), x, y),
    "einsum": lambda x, y: rp.einsum("ij,jk", x, y),
    "searchsorted": lambda x, y: rp.searchsorted(x[0], y),
    "linspace": lambda x, y: rp.linspace(0, 1, 2),
}


@pytest.mark.parametrize(("name", "function"), PAIRS, ids=[name for name, _ in PAIRS])
def test_dtypes_of_functions_of_two_arrays_are_those_of_numpy(name, function):
    for x, y in itertools.product(DTYPES, repeat=2):
        ours = OF_TWO.get(name, getattr(rp, name))
        found = dtype_or_error(ours, rp.asarray(of_dtype(x)), rp.asarray(of_dtype(y)))
        assert found == dtype_or_error(function, of_dtype(x), of_dtype(y)), (x, y)


@pytest.mark.parametrize("number", [True, 2, 2.5])
def test_numbers_of_python_adapt_to_arrays_as_in_numpy(number):
    for name in DTYPES:
        for function in (np.add, np.multiply, np.divide, np.maximum, np.power, np.less):
            expected = dtype_or_error(function, of_dtype(name), number)
            expected = "float64" if expected == "float16" else expected
            ours = getattr(rp, {"power": "pow"}.get(function.__name__, function.__name__))
            assert dtype_or_error(ours, rp.asarray(of_dtype(name)), number) == expected, (name, function)
