"""Tests of the suite: statistics, comparisons, inputs, and all workloads on 1,000 elements."""

import math
import warnings

import numpy as np
import pytest
import scipy.sparse as sp

from comparison import difference
from inputs import GENERATED, OPERANDS, Case, case, power_law, uniform
from measurement import measure
from report import seconds, text
from results import Measured, Results
from sides import load
from summaries import geometric_mean, interval_rank, quantile, ratio
from workload import Varying, start
from workloads import WORKLOADS


def test_quantiles_are_interpolated():
    assert quantile([3.0, 1.0, 2.0], 0.5) == 2.0
    assert quantile([4.0, 1.0], 0.5) == 2.5
    assert geometric_mean([1.0, 4.0]) == pytest.approx(2.0)


@pytest.mark.parametrize("count", range(1, 40))
def test_intervals_cover_the_median(count):
    """The interval misses the median with a probability of at most 5%, except with few rounds."""
    rank = interval_rank(count)
    outside = 2 * sum(math.comb(count, k) for k in range(rank + 1)) / 2**count
    assert outside <= 0.05 or rank == 0
    # The next narrower interval would miss the median too often.
    assert 2 * sum(math.comb(count, k) for k in range(rank + 2)) / 2**count > 0.05 or 2 * rank + 1 >= count


def test_ratios_are_those_of_rounds():
    # The machine slows down in the second round, which the ratio does not show.
    assert ratio([2.0, 20.0, 2.0], [1.0, 10.0, 1.0]) == (2.0, 2.0, 2.0)


@pytest.mark.parametrize(
    ("ours", "theirs", "equal"),
    [
        (np.array([1.0, 2.0]), np.array([1.0, 2.0 + 1e-12]), True),
        (np.array([1.0, 2.0]), np.array([1.0, 2.1]), False),
        (np.array([np.nan]), np.array([np.nan]), True),
        (np.array([np.nan]), np.array([0.0]), False),
        (np.array([1.0]), np.array([[1.0]]), False),
        (np.array([[0.0, 2.0]]), sp.csr_array([[0.0, 2.0]]), True),
        (np.array([[0.0, 2.0]]), sp.csr_array([[2.0, 0.0]]), False),
        ((1.0, 2.0), (1.0, 2.0), True),
        ((1.0, 2.0), (1.0, 3.0), False),
        (3, 3.0, True),
    ],
)
def test_results_are_compared(ours, theirs, equal):
    assert (difference(ours, theirs) is None) == equal


def test_large_results_are_compared_sparse():
    shape = (1 << 20, 1 << 20)
    ours = sp.csr_array(([1.0, 2.0, 0.0], ([0, 5, 9], [1, 7, 3])), shape=shape)
    assert difference(ours, sp.csr_array(([1.0, 2.0], ([0, 5], [1, 7])), shape=shape)) is None
    found = difference(ours, sp.csr_array(([1.0, 2.5], ([0, 5], [1, 7])), shape=shape))
    assert found == "1 elements, first at (5, 7): 2.0 and 2.5"
    nan = sp.csr_array(([1.0, np.nan], ([0, 5], [1, 7])), shape=shape)
    assert difference(ours, nan) is not None


@pytest.mark.parametrize(
    ("ours", "theirs", "equal"),
    [
        (np.nan, np.nan, True),
        (np.inf, np.inf, True),
        (-np.inf, -np.inf, True),
        (np.inf, -np.inf, False),
        (np.inf, 1.0, False),
        (1.0, np.inf, False),
        (np.nan, 1.0, False),
        (1.0, np.nan, False),
        (np.nan, 0.0, False),
    ],
)
def test_large_results_may_have_nans_and_infinities(ours, theirs, equal):
    results = [sp.csr_array(([1.0, value], ([0, 5], [1, 7])), shape=(1 << 20, 1 << 20)) for value in (ours, theirs)]
    assert (difference(*results) is None) == equal


@pytest.mark.parametrize("generator", [uniform, power_law])
def test_generators_draw_distinct_places(generator):
    matrix = generator(50, 400, 1)
    assert matrix.nnz == 400 and matrix.has_canonical_format
    assert difference(matrix, generator(50, 400, 1)) is None
    assert difference(matrix, generator(50, 400, 2)) is not None


def test_power_laws_have_long_rows():
    lengths = [np.diff(generator(1000, 10_000, 1).indptr).max() for generator in (uniform, power_law)]
    assert lengths[1] > 5 * lengths[0]


def test_operands_are_the_same_in_each_process():
    for operand in OPERANDS:
        first, second = (Case("c", uniform(9, 20, 1), uniform(9, 20, 2))[operand] for _ in range(2))
        assert difference(first, second) is None, operand


def test_turns_alternate():
    order = []
    times = measure({name: lambda name=name: order.append(name) for name in "ab"}, 0.0)
    assert len(times["a"].rounds) == len(times["b"].rounds) >= 7
    assert all(time > 0 for time in times["a"].rounds)
    # Each side begins every second round, so the last turn of a round and the first turn of the
    # next round belong to the same side.
    turns = sum(a != b for a, b in zip(order, order[1:], strict=False))
    assert turns < 2 * len(times["a"].rounds) + 4


def test_each_side_has_the_same_constants():
    f = Varying(lambda a, k: a + k)
    assert [f(0), f(0), start(f)(0), start(f)(0)] == [0, 1, 0, 0]


def test_names_are_unique_and_cases_known():
    names = [one.name for one in WORKLOADS]
    assert len(set(names)) == len(names)
    for one in WORKLOADS:
        assert set(one.operands) <= OPERANDS.keys(), one.name
        assert set(one.first) <= set(one.cases), one.name


def test_reports_show_ratios_and_failures():
    rounds = {"redpoll": [1e-3] * 7, "scipy": [2e-3] * 7, "sparse": [5e-4] * 7}
    measured = Measured("product/SpMV", "power/1e6", rounds, 1000, {"numpy": "has no arrays"}, False)
    results = Results(copy_bandwidth=1e9, measured=[measured], failures=["wrong"], cpu_shares={"redpoll": 1.0})
    report = text(results)
    assert "- wrong" in report
    assert "SpMV takes at most 1.1 of the time of SciPy | 0.50 (power/1e6) | yes" in report
    assert "PyData/Sparse is slower in every workload | 0 of 1 | no" in report
    assert "| product/SpMV | power/1e6 | sparse | 0.50 | 0.50 to 0.50 |" in report
    assert seconds(0.0012) == "1.2 ms" and seconds(2.5e-6) == "2.5 us"


def test_results_are_read_as_written(tmp_path):
    results = Results(versions={"redpoll": "1"}, measured=[Measured("a/b", "ten", {"redpoll": [1.0]}, None, {}, True)])
    results.write(tmp_path / "results.json")
    assert Results.read(tmp_path / "results.json") == results


@pytest.mark.parametrize("one", WORKLOADS, ids=lambda one: one.name)
def test_sides_agree(one):
    """Every workload computes the same on all libraries that are installed."""
    inputs = case(next(name for name in ("uniform/1e3", *GENERATED) if name in one.cases or name == "uniform/1e3"))
    ours = None
    for name in one.functions:
        side = pytest.importorskip("redpoll") and _installed(name)
        if side is None:
            continue
        operands = [side.convert(inputs[operand], one.layout) for operand in one.operands]
        if any(operand is None for operand in operands):
            continue
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            result = start(one.functions[name])(*operands)
            result = side.to_host(side.finish(result, one.format))
        if name == "redpoll":
            ours = result
        else:
            assert difference(ours, result) is None, name


def _installed(name):
    try:
        return load(name)
    except ImportError:
        return None
