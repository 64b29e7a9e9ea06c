"""Random expressions, compared with NumPy: elements, shapes, dtypes and fill values.

`REDPOLL_EXAMPLES` sets the number of expressions for each mode and float mode, and another
`REDPOLL_SEED` gives other expressions.
"""

from __future__ import annotations

import os
from contextlib import ExitStack

import numpy as np
import pytest
from conftest import same
from hypothesis import HealthCheck, Phase, given, note, seed, settings
from hypothesis import strategies as st
from random_expressions import elementwise, folds, leaves, orders, products, shapes
from random_expressions.program import Program, Skip

import redpoll as rp

EXAMPLES = int(os.environ.get("REDPOLL_EXAMPLES", "80"))
SEED = int(os.environ.get("REDPOLL_SEED", "1"))
STEPS = [
    step
    for module in (elementwise, folds, shapes, products, orders)
    for step, weight in module.STEPS
    for _ in range(weight)
]


def extend(program: Program, steps: int) -> None:
    """Add leaves and steps to an expression."""
    leaves.leaf(program)
    for _ in range(steps):
        try:
            program.pick(STEPS)(program)
        except Skip:
            leaves.leaf(program)


def run(number: int, steps: int, mode: str, *, strict: bool) -> None:
    """Draw an expression, compute arrays of it, and compare them with NumPy's results.

    The mode `lazy` computes the last array, `together` the last three arrays in one plan, and `in
    steps` each array when it is added.
    """
    program = Program(number, strict=strict)
    with ExitStack() as stack:
        stack.callback(lambda: note(program.report()))
        if strict:
            stack.enter_context(rp.use_session(STRICT))
        if mode == "in steps":
            program.created = program.check
        extend(program, steps)
        last = program.nodes[-3:] if mode == "together" else program.nodes[-1:]
        if mode == "together":
            rp.compute(*(node.array for node in last))
        for node in last:
            program.check(node)


STRICT = rp.Session(floats="strict")
MODES, FLOATS = ["lazy", "in steps", "together"], ["strict", "relaxed"]

deterministic = settings(
    max_examples=EXAMPLES,
    deadline=None,
    database=None,
    phases=(Phase.generate, Phase.shrink),
    suppress_health_check=list(HealthCheck),
    print_blob=False,
)


@pytest.mark.parametrize("floats", FLOATS)
@pytest.mark.parametrize("mode", MODES)
def test_random_expressions_equal_those_of_numpy(mode, floats):
    @seed(SEED * 6 + 2 * MODES.index(mode) + FLOATS.index(floats))
    @deterministic
    @given(st.binary(min_size=6, max_size=6), st.sampled_from((4, 6, 5, 3, 2, 1)))
    def check(number, steps):
        run(int.from_bytes(number), steps, mode, strict=floats == "strict")

    check()


# Each test below is a minimal example of a former difference from NumPy, found by random
# expressions or by other test suites.


@pytest.mark.parametrize(
    "key",
    [
        (-1, slice(None), np.array([0, 2])),
        (slice(None), np.array([1, 0]), slice(None), np.array([1, 0])),
        (None, None, np.array([1, 0]), slice(None), np.array([0, 1])),
        (np.array([True, False]), slice(None), 1),
        (..., np.array([1]), None, 0),
        (np.array([[1], [0]]), slice(None), np.array([1, 0])),
        (0, np.array([1, 0])),
        (slice(None), 0, np.array([1, 0])),
    ],
)
def test_modes_of_index_arrays_that_stand_apart_come_first(key):
    values = np.arange(2 * 3 * 4 * 2).reshape(2, 3, 4, 2)
    same(rp.asarray(values)[key], values[key])
    changed, expected = rp.asarray(values, copy=True), values.copy()
    changed[key] = -1
    expected[key] = -1
    same(changed, expected)


def test_einsum_of_booleans_is_a_boolean(rng):
    a, b = rng.random((3, 4)) < 0.3, rng.random((4, 2)) < 0.3
    same(rp.einsum("ij,jk->ik", a, b), np.einsum("ij,jk->ik", a, b))
    same(rp.einsum("ij->i", a), np.einsum("ij->i", a))


def test_einsum_refuses_two_sizes_of_a_mode_and_broadcasts_size_1(rng):
    cube = rng.random((2, 3, 4))
    for spec, operands in (("aab", [cube]), ("aab->b", [cube]), ("abc,acb", [cube, cube]), ("aa", [cube[:, :1, 0]])):
        with pytest.raises(ValueError, match="several sizes"):
            rp.einsum(spec, *operands)
    a, b = rng.random((2, 1)), rng.random((3, 2))
    for spec in ("ab,bc->ac", "ab,bc", "ab,bc->abc"):
        same(rp.einsum(spec, a, b), np.einsum(spec, a, b), exact=False)


@pytest.mark.parametrize("modes", [([0, 1],), ([0, ...],), ([..., 1], [...]), ([0, 1], [0]), ([0, 1], [1, 0])])
def test_einsum_of_numpy_takes_lists_of_modes(modes, rng):
    values = rng.random((3, 4))
    same(np.einsum(rp.asarray(values), *modes), np.einsum(values, *modes), exact=False)


def test_each_nan_is_a_value_of_its_own():
    nan = np.nan
    for values in ([nan, 1.0, nan, 0.0, 1.0, nan], [nan], [nan, nan], [1.0, nan], [[nan, 2.0], [2.0, nan]]):
        dense = np.array(values)
        found = rp.unique_all(rp.asarray(dense))
        expected = np.unique(dense, return_index=True, return_inverse=True, return_counts=True, equal_nan=False)
        for ours, theirs in zip(found, expected, strict=True):
            same(rp.reshape(ours, (-1,)), theirs.reshape(-1))
        assert found.inverse_indices.shape == dense.shape
        same(np.unique(rp.asarray(dense)), np.unique(dense))
        same(np.unique(rp.asarray(dense), equal_nan=False), np.unique(dense, equal_nan=False))
    same(rp.unique_counts(rp.full(3, nan)).counts, [1, 1, 1])


def test_assignments_to_a_copy_leave_the_array():
    x = rp.asarray([1, 2, 3])
    for copied in (rp.asarray(x, copy=True), rp.asarray(x, dtype=rp.int64, copy=True)):
        copied[0] = 9
        assert x.tolist() == [1, 2, 3]
    assert rp.asarray(x) is x and rp.asarray(x, copy=False) is x
    with pytest.raises(ValueError, match="copy"):
        rp.asarray(x, dtype=rp.float64, copy=False)


def test_variances_of_float32_do_not_lose_digits(rng):
    values = (rng.random(50_000) + 100.0).astype("float32")
    exact = values.astype("float64")
    for name in ("var", "std", "nanvar", "nanstd"):
        found = getattr(rp, name)(rp.asarray(values))
        assert found.dtype is rp.float32
        np.testing.assert_allclose(float(found), getattr(np, name)(exact), rtol=1e-6)


def test_can_cast_of_numpy_follows_the_casting():
    for source in ("int64", "float64", "int8"):
        for target in ("int8", "float32", "int64"):
            for casting in ("no", "safe", "same_kind", "unsafe"):
                found = np.can_cast(rp.zeros(2, dtype=source), target, casting=casting)
                assert found == np.can_cast(np.dtype(source), target, casting=casting)


def test_the_method_mean_takes_a_dtype(rng):
    values = rng.integers(0, 9, (3, 4))
    for dtype in ("float32", "float64"):
        same(rp.asarray(values).mean(axis=0, dtype=dtype), values.mean(axis=0, dtype=dtype), exact=False)


def test_errors_of_keys_and_axes_are_those_of_numpy():
    x = rp.zeros((2, 3, 4))
    with pytest.raises(IndexError, match="mask"):
        x[[True, False, False]]
    same(x[1, [], 0], np.zeros((0,)))
    for axes in ((3, 0), (0, -4)):
        with pytest.raises(ValueError, match="out of range"):
            np.swapaxes(x, *axes)
    with pytest.raises(ValueError, match="both or neither"):
        np.where(x, x)


def test_fill_values_of_strict_floats():
    with rp.use_session(STRICT):
        z = rp.zeros(4)
        for function in (rp.divide, rp.remainder, rp.floor_divide, rp.fmod):
            assert np.isnan(function(z, z).fill_value), "the fill value of a lazy array is NaN"
        x = rp.asarray([-2.0, 0.0, 0.0, -0.25]).refill(-0.25)
        for part in (x[rp.asarray([3])], rp.take(x, rp.asarray([3, 0]), axis=0), x[x < 0], rp.sort(x)):
            assert part.fill_value == -0.25 and part.compute().fill_value == -0.25
