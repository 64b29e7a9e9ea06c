"""Random expressions, compared with NumPy: elements, shapes, dtypes and fill values.

`REDPOLL_EXAMPLES` sets the number of expressions, and `REDPOLL_SEED` chooses others.
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

EXAMPLES = int(os.environ.get("REDPOLL_EXAMPLES", "60"))
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
    """Draw an expression, compute it in a mode, and compare it with NumPy."""
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

deterministic = settings(
    max_examples=EXAMPLES,
    deadline=None,
    database=None,
    phases=(Phase.generate, Phase.shrink),
    suppress_health_check=list(HealthCheck),
    print_blob=False,
)


@pytest.mark.parametrize("mode", ["lazy", "in steps", "together"])
@pytest.mark.parametrize("floats", ["strict", "relaxed"])
def test_random_expressions_equal_those_of_numpy(mode, floats):
    @seed(SEED)
    @deterministic
    @given(st.integers(0, 2**40), st.integers(1, 6))
    def check(number, steps):
        run(number, steps, mode, strict=floats == "strict")

    check()


# The smallest examples of differences that random expressions and other suites found.


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
