"""Chains of ten operations, as in everyday code."""

import numpy as np

from workload import workload

CASES = ("ten", "uniform/1e3", "uniform/1e5", "power/1e6")
FIRST = ("uniform/1e5",)


def elementwise(a, b):
    """Apply ten elementwise operations that leave zeros zero."""
    c = a * 2.0
    c = c + b
    c = c * a
    c = c - b * 0.5
    c = np.sqrt(abs(c))
    c = np.tanh(c * 3.0)
    return c / 2.0


def elementwise_scipy(a, b):
    c = a * 2.0
    c = c + b
    c = c * a
    c = c - b * 0.5
    c = abs(c).sqrt()
    c = (c * 3.0).tanh()
    return c / 2.0


def polynomial(a):
    """Compute a polynomial on one pattern by Horner's rule, and sum its rows."""
    c = a * 0.1
    c = (c + a) * a
    c = (c * 0.5 - a) * a
    c = (c + a * 0.25) * a
    return c.sum(axis=1)


def features(a, x):
    """Weight columns, divide the sum of each row by its length plus 1, and return the largest
    distance of these ratios from 0.5."""
    weighted = a * x
    squares = weighted * weighted
    scores = weighted.sum(axis=1)
    lengths = np.sqrt(squares.sum(axis=1)) + 1.0
    ratios = scores / lengths
    return abs(ratios - 0.5).max()


def residual(a, x, y):
    """Take a step of gradient descent for least squares, with the best step length."""
    r = a @ x - y
    g = r @ a
    step = (g @ g) / ((a @ g) ** 2).sum()
    return x - step * g


def links(a, x):
    """Run a round of hubs and authorities."""
    hubs = a @ x
    hubs = hubs / np.sqrt((hubs * hubs).sum())
    x = hubs @ a
    return x / abs(x).max() + 0.01


def filtered(a, b):
    """Apply thresholds, unite two patterns, and count by columns."""
    strong = a * (a > 0.3)
    weak = b * (b < 0.6)
    both = strong + weak
    clipped = np.minimum(both, abs(both) * 0.5)
    return (clipped > 0.2).sum(axis=0)


def filtered_scipy(a, b):
    strong = a * (a > 0.3)
    # A comparison that holds for zeros would be dense.
    weak = b - b * (b >= 0.6)
    both = strong + weak
    clipped = both.minimum(abs(both) * 0.5)
    return (clipped > 0.2).sum(axis=0)


WORKLOADS = (
    workload("chain/elementwise", "A B", elementwise, CASES, scipy=elementwise_scipy, first=FIRST),
    workload("chain/polynomial", "A", polynomial, CASES, first=FIRST),
    workload("chain/features", "A x", features, CASES, first=FIRST),
    workload("chain/gradient step", "A x y", residual, CASES, layout="gcxs", first=FIRST),
    workload("chain/hubs and authorities", "A x", links, CASES, layout="gcxs", first=FIRST),
    workload("chain/filters", "A B", filtered, CASES, scipy=filtered_scipy, first=FIRST),
)
