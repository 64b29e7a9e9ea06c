"""Dtypes: equality, promotion, limits."""

import numpy as np
import pytest
from conftest import DTYPES

import redpoll as rp


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
