"""Summaries of measurements, and ratios of rounds with confidence intervals."""

import math
from collections.abc import Sequence
from typing import NamedTuple


class Ratio(NamedTuple):
    """The median of the ratios of rounds, with an interval."""

    median: float
    low: float
    high: float


def quantile(numbers: Sequence[float], fraction: float) -> float:
    """Return a quantile of numbers, interpolated between the nearest two."""
    ordered = sorted(numbers)
    place = fraction * (len(ordered) - 1)
    low = math.floor(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (place - low) * (ordered[high] - ordered[low])


def median(numbers: Sequence[float]) -> float:
    """Return the median of numbers."""
    return quantile(numbers, 0.5)


def ratio(numerators: Sequence[float], denominators: Sequence[float]) -> Ratio:
    """Return the ratio of two sides that ran in turns, from the ratio of each round in which both
    ran.

    Both ends of the interval are measured ratios. From six rounds on, the interval covers the
    median of any distribution with a probability of at least 95%. With fewer rounds, the interval
    is the whole range, and this probability is lower.
    """
    ratios = sorted(a / b for a, b in zip(numerators, denominators, strict=False))
    rank = interval_rank(len(ratios))
    return Ratio(median(ratios), ratios[rank], ratios[-1 - rank])


def interval_rank(count: int) -> int:
    """Return the rank of the lower end of the interval among `count` ordered ratios, from 0."""
    rank, outside = 0, 0.0
    while rank <= (count - 1) // 2:
        # The probability that the median lies below the order statistic of this rank.
        outside += math.comb(count, rank) / 2**count
        if outside > 0.025:
            break
        rank += 1
    return max(rank - 1, 0)


def geometric_mean(numbers: Sequence[float]) -> float:
    """Return the geometric mean of positive numbers."""
    return math.exp(sum(map(math.log, numbers)) / len(numbers))
