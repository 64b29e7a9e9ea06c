"""Centralities: fixed points of a product with the adjacency matrix, paths, and degrees."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

import redpoll as rp

from .graph import Graph, by_node, index_of

__all__ = [
    "betweenness_centrality", "closeness_centrality", "degree_centrality", "eigenvector_centrality",
    "in_degree_centrality", "katz_centrality", "out_degree_centrality", "pagerank",
]  # fmt: skip


def _iterate(graph: Graph, start: Any, step: Callable[[Any], Any], max_iter: int, tol: float) -> Any:
    """Repeat a step until the mean change of a node is below `tol`."""
    import networkx

    x = rp.asarray(start)
    for _ in range(max_iter):
        following = step(x)
        change = rp.sum(rp.abs(following - x))
        rp.compute(following, change)
        x = following
        if float(change) < len(graph) * tol:
            return x
    raise networkx.PowerIterationFailedConvergence(max_iter)


def _vector(graph: Graph, values: Mapping[Any, float], missing: float = 0.0) -> np.ndarray:
    """Return the values of nodes as a vector in the order of the nodes of the graph."""
    return np.array([values.get(node, missing) for node in graph.nodes], float)


def pagerank(
    G: Any,  # noqa: N803
    alpha: float = 0.85,
    personalization: Mapping[Any, float] | None = None,
    max_iter: int = 100,
    tol: float = 1.0e-6,
    nstart: Mapping[Any, float] | None = None,
    weight: str | None = "weight",
    dangling: Mapping[Any, float] | None = None,
) -> dict[Any, float]:
    """Compute the share of time that a random walk spends at each node."""
    n = len(G)
    if n == 0:
        return {}
    uniform = np.repeat(1.0 / n, n)
    start = uniform if nstart is None else _vector(G, nstart)
    weights = uniform if personalization is None else _vector(G, personalization)
    if weights.sum() == 0:
        raise ZeroDivisionError
    jump = rp.asarray(weights / weights.sum())
    sinks = weights if dangling is None else _vector(G, dangling)
    rest = rp.asarray(sinks / sinks.sum())
    totals = rp.sum(G.matrix(weight), axis=1)
    shares = (1.0 / rp.where(totals == 0, np.inf, totals)).compute()
    ends = (totals == 0).astype(rp.float64).compute()
    incoming = G.matrix(weight, transposed=True)
    factor, restart = rp.asarray(np.float64(alpha)), rp.asarray(np.float64(1 - alpha))

    def step(x: Any) -> Any:
        return factor * (incoming @ (x * shares) + rp.sum(x * ends) * rest) + restart * jump

    return by_node(G, _iterate(G, start / start.sum(), step, max_iter, tol))


def eigenvector_centrality(
    G: Any,  # noqa: N803
    max_iter: int = 100,
    tol: float = 1.0e-6,
    nstart: Mapping[Any, float] | None = None,
    weight: str | None = None,
) -> dict[Any, float]:
    """Compute the left eigenvector of the largest eigenvalue, with norm 1."""
    import networkx

    if len(G) == 0:
        raise networkx.NetworkXPointlessConcept("cannot compute centrality for the null graph")
    start = np.ones(len(G)) if nstart is None else _vector(G, nstart)
    if not start.any():
        raise networkx.NetworkXError("initial vector cannot have all zero values")
    incoming = G.matrix(weight, transposed=True)

    def step(x: Any) -> Any:
        product = x + incoming @ x
        norm = rp.sqrt(rp.sum(product * product))
        return product / rp.where(norm == 0, 1.0, norm)

    return by_node(G, _iterate(G, start / start.sum(), step, max_iter, tol))


def katz_centrality(
    G: Any,  # noqa: N803
    alpha: float = 0.1,
    beta: float | Mapping[Any, float] = 1.0,
    max_iter: int = 1000,
    tol: float = 1.0e-6,
    nstart: Mapping[Any, float] | None = None,
    normalized: bool = True,
    weight: str | None = None,
) -> dict[Any, float]:
    """Count the walks to each node. A walk of `k` edges counts as `alpha ** k`."""
    import networkx

    if len(G) == 0:
        return {}
    if isinstance(beta, Mapping):
        if set(beta) != set(G):
            raise networkx.NetworkXError("beta dictionary must have a value for every node")
        base = rp.asarray(_vector(G, beta))
    else:
        base = rp.asarray(np.full(len(G), float(beta)))
    start = np.zeros(len(G)) if nstart is None else _vector(G, nstart)
    incoming, factor = G.matrix(weight, transposed=True), rp.asarray(np.float64(alpha))
    x = _iterate(G, start, lambda x: factor * (incoming @ x) + base, max_iter, tol)
    if normalized:
        norm = rp.sqrt(rp.sum(x * x))
        x = x / rp.where(norm == 0, 1.0, norm)
    return by_node(G, x)


def betweenness_centrality(
    G: Any,  # noqa: N803
    k: int | None = None,
    normalized: bool = True,
    weight: str | None = None,
    endpoints: bool = False,
    seed: Any = None,
) -> dict[Any, float]:
    """Compute, for each node, the share of the shortest paths that pass through the node, for all
    nodes as sources and edges of length 1."""
    n = len(G)
    if normalized:
        scale = 1.0 / ((n - 1) * (n - 2)) if n > 2 else 1.0
    else:
        scale = 1.0 if G.is_directed() else 0.5
    return by_node(G, rp.graph.betweenness(G.matrix()) * scale)


def closeness_centrality(
    G: Any,  # noqa: N803
    u: Any = None,
    distance: str | None = None,
    wf_improved: bool = True,
) -> Any:
    """Compute, for each node or for the node `u`, the number of nodes with a path to the node,
    divided by the sum of their distances, and scaled by their share of all nodes."""
    matrix = G.matrix(transposed=True)
    if u is None:
        return by_node(G, rp.graph.closeness(matrix))
    return float(rp.graph.closeness(matrix, [index_of(G, u)])[0])


def _shares_of_degree(graph: Graph, degrees: Any) -> dict[Any, float]:
    if len(graph) <= 1:
        return {node: 1 for node in graph}
    scale = 1.0 / (len(graph) - 1.0)
    return by_node(graph, rp.asarray(degrees).astype(rp.float64) * scale)


def degree_centrality(G: Any) -> dict[Any, float]:  # noqa: N803
    """Compute, for each node, the share of the other nodes that are neighbors of the node."""
    ones = G.matrix(dtype="int64")
    degrees = rp.sum(ones, axis=1)
    # In an undirected graph, a loop adds 2 to the degree of its node.
    more = rp.sum(ones, axis=0) if G.is_directed() else rp.diagonal(ones)
    return _shares_of_degree(G, degrees + more)


def in_degree_centrality(G: Any) -> dict[Any, float]:  # noqa: N803
    """Compute, for each node, the share of the other nodes that have an edge to the node."""
    return _shares_of_degree(G, rp.sum(G.matrix(dtype="int64"), axis=0))


def out_degree_centrality(G: Any) -> dict[Any, float]:  # noqa: N803
    """Compute, for each node, the share of the other nodes to which the node has an edge."""
    return _shares_of_degree(G, rp.sum(G.matrix(dtype="int64"), axis=1))
