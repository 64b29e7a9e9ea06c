"""The class `Array`: operators, promotion, numbers, laziness, assignment, errors, interrupts."""

import contextlib
import operator
import threading
import time
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from conftest import DTYPES, same

import redpoll as rp

ARITHMETIC = ("add", "sub", "mul", "floordiv", "mod")


@pytest.mark.parametrize("left", DTYPES)
@pytest.mark.parametrize("right", DTYPES)
def test_operators_promote_as_numpy(rng, left, right):
    a, b = rng.integers(1, 5, 6).astype(left), rng.integers(1, 4, 6).astype(right)
    x, y = rp.asarray(a), rp.asarray(b)
    for name in ("lt", "le", "eq", "ne", "gt", "ge"):
        same(getattr(operator, name)(x, y), getattr(operator, name)(a, b))
    if left == right == "bool":
        return
    for name in ARITHMETIC:
        same(getattr(operator, name)(x, y), getattr(operator, name)(a, b))
    assert rp.result_type(x, y) == np.result_type(a, b)


@pytest.mark.parametrize("dtype", DTYPES[1:])
def test_numbers_take_the_dtype_of_the_array(rng, dtype):
    a = rng.integers(1, 9, 6).astype(dtype)
    x = rp.asarray(a)
    for name in ARITHMETIC:
        function = getattr(operator, name)
        same(function(x, 3), function(a, 3))
        same(function(19, x), function(19, a))
    for name in ("add", "mul", "truediv"):
        function = getattr(operator, name)
        same(function(x, 2.5), function(a, 2.5))
        same(function(2.5, x), function(2.5, a))
    same(2**x, 2**a)


def test_integers_out_of_range_are_refused():
    with pytest.raises(OverflowError, match="300 is out of bounds for uint8"):
        rp.asarray(np.zeros(2, "u1")) + 300
    for dtype in ("uint8", "uint64", "int64"):
        with pytest.raises(OverflowError, match=f"{2**70} is out of bounds for {dtype}"):
            rp.asarray(np.zeros(2, dtype)) + 2**70
    same(rp.asarray([1.5]) + 2**70, np.array([1.5]) + 2**70)


def test_integers_of_numpy_keep_all_digits():
    for number in (np.int64(2**53 + 1), np.uint64(2**64 - 1)):
        same(rp.full(2, number), np.full(2, number))
        same(rp.full(2, number, dtype=number.dtype), np.full(2, number))
        x = rp.asarray(np.zeros(1, number.dtype))
        same(rp.pad(x, 1, constant_values=number), np.pad(np.zeros(1, number.dtype), 1, constant_values=number))
        assert x.refill(number).fill_value == int(number)
    with pytest.raises(OverflowError, match="300 is out of bounds for uint8"):
        rp.full(2, np.int64(300), dtype="uint8")


def test_numbers_of_one_element():
    x = rp.asarray([[7]])
    assert (int(x), float(x), bool(x), operator.index(x[0, 0])) == (7, 7.0, True, 7)
    for conversion in (bool, int, float):
        with pytest.raises(ValueError, match="one element"):
            conversion(rp.asarray([1, 2]))
    with pytest.raises(TypeError):
        operator.index(rp.asarray(1.0))


def test_arrays_are_iterated_along_the_first_mode():
    x = rp.asarray([[1, 2], [3, 4]])
    same(rp.stack(list(x)), [[1, 2], [3, 4]])
    with pytest.raises(TypeError, match="item"):
        iter(rp.asarray(1))
    # NumPy would iterate over an object with a length, and SciPy's matrices would ask for the
    # length.
    assert not hasattr(x, "__len__")
    with pytest.raises(TypeError):
        hash(x)


def test_repr_computes_nothing():
    x = rp.zeros((1 << 40, 1 << 40)) + 1.5
    assert repr(x) == f"<redpoll.Array shape=({1 << 40}, {1 << 40}) float64 fill=1.5 lazy>"


def test_assignment_binds_one_array_alone(rng):
    a = rng.random((3, 4))
    x = rp.asarray(a.copy())
    other = rp.Array(x)
    b = a.copy()
    for key, value in [
        ((0, 1), 7.0), (slice(None, None, 2), 1.0), ((..., -1), np.arange(3.0)), (np.array([1, 1]), [[1.0], [2.0]]),
        (a > 0.5, -1.0),
    ]:  # fmt: skip
        x[key], b[key] = value, value
        same(x, b)
    same(other, a)
    x += 1
    same(x, b + 1)


def test_errors_have_the_classes_of_numpy():
    x = rp.asarray([[1, 2], [3, 4]])
    with pytest.raises(ValueError, match="do not align"):
        x + rp.asarray([1, 2, 3])
    with pytest.raises(ValueError, match="axis 5"):
        rp.sum(x, axis=5)
    with pytest.raises(IndexError, match="axis 5"):
        rp.sum(x, axis=5)
    for index in (2, 2**70, -(2**70)):
        with pytest.raises(IndexError, match=f"{index} is out of"):
            x[index]
    for bounds in (slice(1.5), slice("a", None), slice(None, None, 1.5)):
        with pytest.raises(TypeError, match="slice"):
            x[bounds]
    for shift in (lambda: x << 1.5, lambda: 1.5 >> x, lambda: rp.asarray([True]) << 1.5):
        with pytest.raises(TypeError, match="shifts expect integers"):
            shift()
    with pytest.raises(TypeError, match="use `~`"):
        -rp.asarray([True])
    with pytest.raises(TypeError, match="astype"):
        rp.sign(rp.asarray([True]))
    with pytest.raises(TypeError):
        rp.asarray([1.5]) & 1
    with pytest.raises(TypeError):
        x + "a"
    with pytest.raises(FileNotFoundError):
        rp.read("/no/such/file.npy")
    for error in (pytest.raises(ValueError), pytest.raises(IndexError)):
        with error as found:
            rp.sum(x, axis=5)
        assert ".rs" not in str(found.value)


def test_memory_limits_raise_memory_error():
    with rp.use_session(rp.Session(memory_limit=1 << 16)), pytest.raises(MemoryError):
        x = rp.asarray(np.arange(1000.0))
        (x[:, None] * x).compute()


def test_interrupts_end_long_runs():
    """A signal ends a run of several seconds within a second; the session can still compute."""
    import os
    import signal

    a = rp.asarray(np.random.default_rng(1).random((3000, 3000)))
    small = rp.sum(a[:2, :2] @ a[:2, :2])
    float(small)
    sent = []

    def send():
        time.sleep(0.5)
        sent.append(time.perf_counter())
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=send)
    thread.start()
    with pytest.raises(KeyboardInterrupt):
        # The product takes far longer than half a second.
        ((a @ a) @ (a @ a) @ (a @ a)).compute()
    thread.join()
    assert time.perf_counter() - sent[0] < 1.0
    assert float(small) > 0


def nearly_all(fill):
    """Return a large matrix that stores one element, and whose other elements are `fill`."""
    return rp.asarray(sp.csr_array(([1.0], ([1], [2])), shape=(3000, 3000))) + fill


def strict(product):
    """Return the product of a sparse and a dense matrix with floats that follow IEEE 754."""
    with rp.use_session(rp.Session(floats="strict")):
        return product(nearly_all(0.0)[:1100, :1100], rp.asarray(np.ones((1100, 1100))))


LONG = {
    "index": lambda: rp.arange(100)[rp.sum(rp.asarray(np.ones((90_000, 100), int)), axis=0) % 100],
    "concat": lambda: rp.concat([nearly_all(0.0), nearly_all(1.0)]),
    "triangle": lambda: rp.tril(nearly_all(1.0)),
    "product": lambda: nearly_all(1.0)[:1000, :1000] @ rp.asarray(np.ones((1000, 1000))),
    "strict": lambda: strict(operator.mul),
    "strict product": lambda: strict(operator.matmul),
}


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="the names of threads are files of Linux")
@pytest.mark.parametrize("name", LONG)
def test_long_runs_have_a_thread_of_their_own(name):
    """Ctrl-C ends a run only if the run has a thread of its own."""
    names, done = set(), threading.Event()

    def watch():
        while not done.is_set():
            for path in Path("/proc/self/task").glob("*/comm"):
                with contextlib.suppress(OSError):
                    names.add(path.read_text().strip())

    watcher = threading.Thread(target=watch)
    watcher.start()
    # On a busy machine, the watcher can miss a run.
    for _ in range(20):
        LONG[name]().compute()
        if "redpoll run" in names:
            break
    done.set()
    watcher.join()
    assert "redpoll run" in names


def test_threads_do_not_cancel_each_other():
    results = []
    a = rp.asarray(np.random.default_rng(1).random((200, 200)))

    def compute(k):
        results.append(float(rp.sum(a @ a + float(k))))

    threads = [threading.Thread(target=compute, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(results) == 4


def test_a_band_is_between_two_diagonals(rng):
    a = rng.random((5, 6))
    for lower, upper in ((-1, 2), (1, 3), (-3, -1), (2, 1)):
        same(rp._core.triangle(rp.asarray(a), lower, upper), np.tril(np.triu(a, lower), upper))


def test_assignment_keeps_the_fill_value() -> None:
    """SciPy finds an assigned value among the stored elements if it is not the fill value."""
    sparse = pytest.importorskip("scipy.sparse")
    x = rp.asarray(sparse.csr_array(np.eye(3)))
    x[0, 1] = 10.0
    assert x.fill_value == 0
    expected = np.eye(3)
    expected[0, 1] = 10.0
    np.testing.assert_array_equal(x.to_scipy("csr").todense(), expected)


def test_assignment_to_elements_of_a_large_array() -> None:
    """The cost of an assignment depends on the assigned and stored elements, not on the shape."""
    x = rp.zeros((10**6, 10**6))
    x[3, 5] = 2.0
    x[np.array([7, 7, 10**6 - 1]), np.array([1, 1, 0])] = np.array([1.0, 4.0, 3.0])
    x[8:10, 2] = 6.0
    assert [index.tolist() for index in rp.nonzero(x)] == [[3, 7, 8, 9, 10**6 - 1], [5, 1, 2, 2, 0]]
    assert x[7, 1].item() == 4.0 and rp.sum(x).item() == 21.0
