"""Scores of vertices by iteration: PageRank, HITS and Katz centrality."""

from __future__ import annotations

from typing import NamedTuple

import redpoll as rp

from .._array import Array
from .._typing import ArrayLike
from .call import adjacency, by_rows, run, weights

__all__ = ["HitsResult", "hits", "katz", "pagerank", "personalized_pagerank"]


class HitsResult(NamedTuple):
    """The scores of HITS; the squares of each vector sum to 1."""

    #: The hub score of each vertex.
    hubs: Array
    #: The authority score of each vertex.
    authorities: Array


def pagerank(
    a: ArrayLike, *, damping: float = 0.85, tolerance: float = 1e-6, max_rounds: int = 100, weighted: bool = True
) -> Array:
    """Compute PageRank by power iteration; the ranks sum to 1.

    The rank of a vertex without outgoing edges is spread over all vertices. The iteration ends when
    the sum of the changes of all ranks is at most `tolerance`. With `weighted`, the random walk
    follows an edge in proportion to its element. Otherwise all edges of a vertex are equally likely
    (Page, Brin, Motwani and Winograd, "The PageRank Citation Ranking", 1999).

    Raises:
        ValueError: the matrix is not square, `damping` is not between 0 and 1, or the ranks have
            not settled after `max_rounds`.

    Examples:
        >>> ranks = rp.graph.pagerank(rp.asarray([[0.0, 1.0], [1.0, 0.0]]))
        >>> [round(rank, 6) for rank in ranks.tolist()]
        [0.5, 0.5]
    """
    array = adjacency(a)
    _check_damping(damping)
    if weighted:
        return _weighted_pagerank(weights(array, 0.0), damping, tolerance, max_rounds)
    return _iterate("pagerank", tolerance, max_rounds, A=by_rows(array), damping=float(damping))["rank"]


def _weighted_pagerank(edges: Array, damping: float, tolerance: float, max_rounds: int) -> Array:
    count = edges.shape[0]
    if count == 0:
        return rp.zeros((0,))
    totals = rp.sum(edges, axis=1)
    ends = totals == 0
    share = rp.where(ends, 0.0, 1.0 / rp.where(ends, 1.0, totals))
    rp.compute(ends, share)
    ranks = rp.full((count,), 1.0 / count)
    for _ in range(max_rounds):
        lost = rp.sum(rp.where(ends, ranks, 0.0))
        following = damping * (rp.einsum("ij,i->j", edges, ranks * share) + lost / count) + (1.0 - damping) / count
        change = rp.sum(abs(following - ranks))
        rp.compute(following, change)
        ranks = following
        if float(change) <= tolerance:
            return ranks
    raise _not_settled(max_rounds)


def personalized_pagerank(
    a: ArrayLike, preference: ArrayLike, *, damping: float = 0.85, tolerance: float = 1e-6, max_rounds: int = 100
) -> Array:
    """Compute PageRank with a preference for each vertex in place of equal preferences.

    Walks begin at a vertex with a probability proportional to its preference, which is at least 0,
    and begin again there after a vertex without outgoing edges. If all preferences are 0, all ranks
    are 0. The elements of edges do not count. The iteration ends as in `pagerank`.

    Raises:
        ValueError: the matrix is not square, `preference` does not have an element for each vertex,
            `damping` is not between 0 and 1, or the ranks have not settled after `max_rounds`.

    Examples:
        >>> edges = rp.asarray([[0, 1], [0, 0]])
        >>> rp.graph.personalized_pagerank(edges, [0.0, 1.0]).tolist()
        [0.0, 1.0]
    """
    array, preference = adjacency(a), rp.asarray(preference)
    _check_damping(damping)
    if preference.shape != array.shape[:1]:
        raise ValueError(
            f"`preference` has an element for each of {array.shape[0]} vertices, found shape {preference.shape}"
        )
    inputs = {"A": by_rows(array), "preference": preference, "damping": float(damping)}
    return _iterate("personalized_pagerank", tolerance, max_rounds, **inputs)["rank"]


def hits(a: ArrayLike, *, tolerance: float = 1e-6, max_rounds: int = 100) -> HitsResult:
    """Compute hubs and authorities (HITS).

    The authority of a vertex is the sum of the hub scores of the vertices with an edge to the
    vertex, and the hub score of a vertex is the sum of the authorities at the ends of its edges,
    both scaled so that the squares of all vertices sum to 1. The elements of edges do not count.
    The iteration ends when the sum of the changes of all hub scores is at most `tolerance`
    (Kleinberg, "Authoritative Sources in a Hyperlinked Environment", 1999).

    Raises:
        ValueError: the matrix is not square, or the scores have not settled after `max_rounds`.

    Examples:
        >>> star = rp.asarray([[0, 1, 1], [0, 0, 0], [0, 0, 0]])
        >>> hubs, authorities = rp.graph.hits(star)
        >>> hubs.tolist(), [round(score, 4) for score in authorities.tolist()]
        ([1.0, 0.0, 0.0], [0.0, 0.7071, 0.7071])
    """
    outputs = _iterate("hits", tolerance, max_rounds, A=by_rows(adjacency(a)))
    return HitsResult(outputs["hub"], outputs["authority"])


def katz(
    a: ArrayLike, *, alpha: float = 0.1, beta: float = 1.0, tolerance: float = 1e-6, max_rounds: int = 1000
) -> Array:
    """Compute Katz centrality: the number of walks that end at each vertex.

    A walk of length `k` counts `beta * alpha**k`, and the elements of edges do not count. The
    iteration ends when the sum of the changes of all scores is at most `tolerance`. It converges if
    `alpha` is less than 1 divided by the largest eigenvalue of the graph (Katz, "A New Status Index
    Derived from Sociometric Analysis", 1953).

    Raises:
        ValueError: the matrix is not square, or the scores have not settled after `max_rounds`.

    Examples:
        >>> path = rp.asarray([[0, 1, 0], [0, 0, 1], [0, 0, 0]])
        >>> rp.graph.katz(path, alpha=0.5).tolist()
        [1.0, 1.5, 1.75]
    """
    inputs = {"A": by_rows(adjacency(a)), "alpha": float(alpha), "beta": float(beta)}
    return _iterate("katz", tolerance, max_rounds, **inputs)["centrality"]


def _check_damping(damping: float) -> None:
    if not 0 <= damping <= 1:
        raise ValueError(f"`damping` is between 0 and 1, found {damping}")


def _iterate(name: str, tolerance: float, max_rounds: int, **inputs: ArrayLike) -> dict[str, Array]:
    """Run a program that iterates. Raises `ValueError` unless the iteration has converged."""
    outputs = run(name, tolerance=float(tolerance), max_rounds=max_rounds, **inputs)
    if not outputs["converged"].item():
        raise _not_settled(max_rounds)
    return outputs


def _not_settled(max_rounds: int) -> ValueError:
    return ValueError(f"the scores have not settled after {max_rounds} rounds; raise `max_rounds` or `tolerance`")
