"""Conversion from and to NumPy and SciPy: shared memory, unsorted matrices, mixed operators."""

import copy
import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from conftest import DTYPES, same

import redpoll as rp


@pytest.mark.parametrize("dtype", DTYPES)
def test_numpy_arrays_come_back(rng, dtype):
    values = rng.integers(0, 2, (3, 4)).astype(dtype)
    same(rp.asarray(values), values)
    same(rp.asarray(values[::2, ::-1]), values[::2, ::-1])
    same(rp.asarray(values[:0]), values[:0])
    same(rp.asarray(values[0, 0]), values[0, 0])


def test_numpy_memory_is_shared():
    values = np.arange(6.0)
    array = rp.asarray(values)
    assert np.shares_memory(array.todense(), values)
    assert not np.shares_memory(rp.asarray(values, copy=True).todense(), values)
    assert not array.todense().flags.writeable


def test_foreign_dtypes_are_refused():
    for values in (np.array(["a"]), np.array([1j]), np.array([None])):
        with pytest.raises(TypeError, match="dtype"):
            rp.asarray(values)
    same(rp.asarray(np.arange(3, dtype=">i4")), np.arange(3, dtype="i4"))


def test_values_in_another_byte_order_are_converted_or_refused():
    swapped = np.dtype("f8").newbyteorder("S")
    for source in (sp.csr_array(np.diag([1.0, 2.0])), sp.coo_array(([1.0, 2.0], ([0, 1], [0, 1], [1, 0])))):
        expected = source.toarray()
        source.data = source.data.astype(swapped)
        same(rp.asarray(source), expected)
    with pytest.raises(TypeError, match="convert the elements"):
        rp._core.Tensor((2,), "float64", 0, "dense", [[]], [np.ones(2, swapped)])
    # Coordinates in another byte order would be read out of bounds.
    ends = np.array([0, 1], np.dtype("i8").newbyteorder("S"))
    with pytest.raises(TypeError, match="convert the elements"):
        rp._core.Tensor((1, 1), "float64", 0, "csr", [[], [ends, np.zeros(1, np.int64)]], [np.ones(1)])


@pytest.mark.parametrize("format", ["csr", "csc", "coo", "bsr", "dia", "lil", "dok"])
@pytest.mark.parametrize("kind", ["array", "matrix"])
def test_scipy_both_ways(format, kind):
    matrix = sp.random_array((5, 7), density=0.3, rng=3)
    matrix = (matrix if kind == "array" else sp.coo_matrix(matrix)).asformat(format)
    array = rp.asarray(matrix)
    same(array, matrix.toarray())
    back = array.to_scipy("csr" if format not in ("csc", "coo") else format, matrix=kind == "matrix")
    np.testing.assert_array_equal(back.toarray(), matrix.toarray())


def test_scipy_memory_is_shared():
    for make in (sp.csr_array, sp.csc_array):
        matrix = make(sp.random_array((50, 70), density=0.1, rng=3))
        assert np.shares_memory(rp.asarray(matrix).to_scipy(matrix.format).data, matrix.data)


def test_unsorted_matrices_are_sorted_or_refused():
    unsorted = sp.csr_array(([1.0, 2.0, 3.0], [2, 0, 2], [0, 3, 3]), shape=(2, 3))
    same(rp.from_scipy(unsorted), [[2.0, 0.0, 4.0], [0.0, 0.0, 0.0]])
    assert unsorted.nnz == 3, "`from_scipy` does not change its argument"
    with pytest.raises(ValueError, match="unsorted or repeated"):
        rp.from_scipy(unsorted, unsorted="refuse")
    cube = sp.coo_array(([1.0, 2.0], ([1, 0], [0, 1], [1, 1])), shape=(2, 2, 2))
    same(rp.from_scipy(cube), cube.toarray())
    with pytest.raises(ValueError, match="unsorted or repeated"):
        rp.from_scipy(cube, unsorted="refuse")


def test_fill_values_stay_out_of_scipy():
    with pytest.raises(ValueError, match="fill value 0"):
        (rp.asarray(sp.eye_array(3).tocsr()) + 1.0).to_scipy()


def test_mixed_operators(rng):
    values, matrix = rng.random((4, 5)), sp.random_array((4, 5), density=0.4, rng=2).tocsr()
    array = rp.asarray(values)
    for mixed in (array + values, values + array, array * values.astype("f4"), np.float32(2) * array):
        assert isinstance(mixed, rp.Array)
    same(array + values, values + values)
    same(values - array, values - values)
    same(array * matrix, matrix.toarray() * values)
    same(array @ values.T, values @ values.T, exact=False)
    np.testing.assert_allclose(matrix @ array.T, matrix @ values.T)
    np.testing.assert_allclose(matrix @ array[0], matrix @ values[0])
    same(np.ones(4) @ rp.asarray(matrix), np.ones(4) @ matrix, exact=False)
    same(np.maximum(array, 0.5), np.maximum(values, 0.5))
    same(np.add.reduce(array), np.add.reduce(values), exact=False)
    same(np.concatenate([array, array]), np.concatenate([values, values]))


def test_large_arrays_are_not_densified():
    huge = rp.zeros((1 << 20, 1 << 20))
    with pytest.raises(rp.DensificationError, match="todense"):
        np.asarray(huge)
    assert huge.size == 1 << 40


def test_pickles_keep_formats_and_fills():
    array = rp.asarray(sp.random_array((5, 7), density=0.3, rng=3).tocsr()) + 2.5
    for restored in (pickle.loads(pickle.dumps(array)), copy.deepcopy(array), copy.copy(array)):
        same(restored, array)
        assert restored.fill_value == 2.5
    assert pickle.loads(pickle.dumps(array)).compute_tensor().format == array.compute_tensor().format


def test_matrices_with_far_more_rows_than_entries_stay_small():
    matrix = sp.coo_array(([1.0, 2.0], ([5, 1 << 30], [7, 3])), shape=(1 << 31, 1 << 31))
    array = rp.asarray(matrix)
    assert array.compute_tensor().nbytes < 1000
    assert (array.item(5, 7), array.item(1 << 30, 3), array.item(6, 7)) == (1.0, 2.0, 0.0)
