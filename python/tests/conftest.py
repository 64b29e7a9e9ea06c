"""The settings, the dtypes, the comparison with NumPy and the random numbers of all tests."""

import signal

import numpy as np
import pytest
from hypothesis import settings

settings.register_profile("redpoll", max_examples=30, deadline=None)
settings.load_profile("redpoll")

DTYPES = (
    "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float32", "float64",
)  # fmt: skip


def same(array, expected, *, exact=True):
    """Assert that an array has the shape, the dtype and the elements of an array of NumPy.

    Unless `exact`, the elements may differ by rounding errors.
    """
    expected = np.asarray(expected)
    values = np.asarray(array)
    assert values.shape == expected.shape
    assert values.dtype == expected.dtype
    if exact:
        np.testing.assert_array_equal(values, expected)
    else:
        np.testing.assert_allclose(values, expected, rtol=1e-5 if expected.dtype == np.float32 else 1e-12, atol=1e-12)


@pytest.fixture(autouse=True)
def interruptible():
    """Let SIGINT raise KeyboardInterrupt, also in background jobs of shells, which ignore SIGINT."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture
def rng():
    """Return a generator of random numbers with a fixed seed."""
    return np.random.default_rng(7)
