"""The functions of the Array API standard on random arrays, compared with NumPy's functions."""

import hypothesis.extra.numpy as hnp
import numpy as np
import pytest
import scipy.sparse as sp
from conftest import same
from hypothesis import given
from hypothesis import strategies as st

import redpoll as rp

shapes = hnp.array_shapes(min_dims=1, max_dims=3, max_side=4)


@st.composite
def arrays(draw, shape=shapes, dtypes=("int32", "int64", "float32", "float64", "uint8")):
    """Draw a NumPy array with many zeros, and the same array of redpoll in a random format."""
    dtype = draw(st.sampled_from(dtypes))
    shape = draw(shape) if hasattr(shape, "example") else shape
    elements = st.one_of(st.just(0), st.integers(0, 6))
    values = draw(hnp.arrays(dtype, shape, elements=elements))
    array = rp.asarray(values)
    formats = ["dense", "coo", "csf"] if values.ndim else ["dense"]
    return values, array.reformat(draw(st.sampled_from(formats)))


UNARY = ("sqrt", "square", "abs", "sign", "exp", "log1p", "floor", "isnan", "logical_not", "tanh", "negative")


@given(arrays(dtypes=("float32", "float64")), st.sampled_from(UNARY))
def test_unary_functions(pair, name):
    values, array = pair
    same(getattr(rp, name)(array), getattr(np, name)(values), exact=False)


@given(arrays(), st.data(), st.booleans())
def test_reductions(pair, data, keepdims):
    values, array = pair
    axis = data.draw(st.sampled_from([None, *range(-values.ndim, values.ndim)]))
    for name in ("sum", "prod", "min", "max", "mean", "any", "all", "var"):
        expected = getattr(np, name)(values, axis=axis, keepdims=keepdims)
        same(getattr(rp, name)(array, axis=axis, keepdims=keepdims), expected, exact=False)
    for name in ("argmax", "argmin"):
        same(getattr(rp, name)(array, axis=axis), getattr(np, name)(values, axis=axis))


@given(arrays(), st.data())
def test_basic_indexing(pair, data):
    values, array = pair
    key = data.draw(hnp.basic_indices(values.shape, allow_newaxis=True))
    same(array[key], values[key])


@given(arrays(), st.data())
def test_integer_and_boolean_arrays(pair, data):
    values, array = pair
    rows = data.draw(hnp.arrays("int64", (3,), elements=st.integers(-values.shape[0], values.shape[0] - 1)))
    same(array[rows], values[rows])
    same(array[rp.asarray(rows)], values[rows])
    same(array[..., None][rows], values[..., None][rows])
    same(array[values > 1], values[values > 1])
    mask = values.reshape(values.shape[0], -1).any(axis=1)
    same(array[mask], values[mask])
    if values.ndim > 1:
        columns = np.arange(values.shape[1])[::-1]
        same(array[np.ix_(rows, columns)], values[np.ix_(rows, columns)])
        same(array[mask, 0], values[mask, 0])


@given(arrays(), st.data())
def test_shapes(pair, data):
    values, array = pair
    order = data.draw(st.permutations(range(values.ndim)))
    same(rp.permute_dims(array, order), values.transpose(order))
    same(rp.reshape(array, (-1,)), values.reshape(-1))
    same(rp.flip(array), np.flip(values))
    same(rp.roll(array, 2, axis=-1), np.roll(values, 2, axis=-1))
    same(rp.roll(array, 1), np.roll(values, 1))
    same(rp.stack([array, array], axis=-1), np.stack([values, values], axis=-1))
    same(rp.concat([array, array], axis=None), np.concatenate([values, values], axis=None))
    same(rp.expand_dims(array, axis=(0, -1)), np.expand_dims(values, (0, -1)))
    same(rp.tile(array, (2, 1)), np.tile(values, (2, 1)))


@given(arrays(), st.booleans())
def test_sorts_and_distinct_values(pair, descending):
    values, array = pair
    expected = np.sort(values, axis=-1)
    same(rp.sort(array, descending=descending), expected[..., ::-1] if descending else expected)
    same(rp.argsort(array), np.argsort(values, axis=-1, kind="stable"))
    for mine, theirs in zip(rp.unique_all(array), np.unique_all(values), strict=True):
        same(mine, theirs)
    for mine, theirs in zip(rp.nonzero(array), np.nonzero(values), strict=True):
        same(mine, theirs)


@given(arrays(shape=(3, 4)), arrays(shape=(4, 2)))
def test_products(left, right):
    (a, x), (b, y) = left, right
    same(x @ y, a @ b, exact=False)
    same(rp.tensordot(x, y, axes=1), np.tensordot(a, b, axes=1), exact=False)
    same(rp.einsum("ij,jk->ki", x, y), np.einsum("ij,jk->ki", a, b), exact=False)


@given(st.floats(-5, 5), arrays(dtypes=("float64",)))
def test_fill_values_follow_the_operators(number, pair):
    values, _ = pair
    sparse = rp.asarray(sp.coo_array(values))
    result = sparse * 2.0 + number
    same(result, values * 2.0 + number)
    assert result.fill_value == number


def test_semirings():
    distances = rp.asarray([[0.0, 2.0, np.inf], [np.inf, 0.0, 3.0], [1.0, np.inf, 0.0]])
    shortest = rp.einsum("ij,jk->ik", distances, distances, sum="min", product="+")
    same(shortest, [[0.0, 2.0, 5.0], [4.0, 0.0, 3.0], [1.0, 3.0, 0.0]])


def test_named_modes(rng):
    a, b = rng.random((3, 4)), rng.random((4, 5))
    product = rp.sum(rp.asarray(a).at("i", "k") * rp.asarray(b).at("k", "j"), axis="k")
    assert set(product.names) == {"i", "j"}
    same(product.by_position("i", "j"), a @ b, exact=False)


@pytest.mark.parametrize("stop", [0, 1, 5, 9])
def test_creation(stop):
    same(rp.arange(stop), np.arange(stop))
    same(rp.arange(1, stop, 2), np.arange(1, stop, 2))
    same(rp.arange(0.5, stop, 0.75), np.arange(0.5, stop, 0.75))
    same(rp.linspace(0.1, stop, 7), np.linspace(0.1, stop, 7), exact=False)
    same(rp.linspace(0.1, stop, 7, endpoint=False), np.linspace(0.1, stop, 7, endpoint=False), exact=False)
    same(rp.eye(stop, 4, k=-1), np.eye(stop, 4, k=-1))
    for mine, theirs in zip(rp.meshgrid(rp.arange(stop), rp.arange(3)), np.meshgrid(np.arange(stop), np.arange(3))):
        same(mine, theirs)


def test_arrays_are_computed_once():
    a = rp.random((300, 300), density=0.1, format="csr")
    product = a @ a
    first = product.compute_tensor()
    assert np.shares_memory(np.asarray(first.leaf()[0]), np.asarray(product.compute_tensor().leaf()[0]))
    rows, columns = rp.sum(product, axis=1), rp.sum(product, axis=0)
    rp.compute(rows, columns)
    assert "computed array" in rp.sum(product * 3.0).explain()
