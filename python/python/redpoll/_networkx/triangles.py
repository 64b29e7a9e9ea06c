"""Triangles and clustering: the diagonal of the third power of the adjacency matrix."""

from __future__ import annotations

from typing import Any

import numpy as np

import redpoll as rp

from .graph import Graph, by_node

__all__ = ["average_clustering", "clustering", "transitivity", "triangles"]


def _simple(graph: Graph, weight: str | None) -> Any:
    """Return the matrix without loops, with cube roots of `weight / largest weight`, or ones."""
    matrix = graph.matrix(weight, dtype="int64" if weight is None else "float64")
    if weight is not None:
        largest = max(graph.values(weight).tolist(), default=1)
        matrix = rp.cbrt(matrix / float(largest))
    return (rp.tril(matrix, k=-1) + rp.triu(matrix, k=1)).compute()


def _closed_walks(matrix: Any) -> Any:
    """Return the number of closed walks of three edges from each node of a symmetric matrix."""
    return rp.einsum("ij,jk,ik->i", matrix, matrix, matrix)


def _selected(graph: Graph, nodes: Any, values: dict[Any, Any]) -> Any:
    """Return the value of one node, or a dictionary of the values of several nodes or of all."""
    if nodes is None:
        return values
    if nodes in graph:
        return values[nodes]
    return {node: values[node] for node in nodes if node in graph}


def triangles(G: Any, nodes: Any = None) -> Any:  # noqa: N803
    """Count the triangles that each node is part of."""
    return _selected(G, nodes, by_node(G, _closed_walks(_simple(G, None)) // 2))


def _counts(graph: Graph, weight: str | None) -> tuple[list[Any], list[Any]]:
    """Return each node's number of closed walks, and the number if all neighbors were joined."""
    matrix, ones = _simple(graph, weight), _simple(graph, None)
    if not graph.is_directed():
        degrees = rp.sum(ones, axis=1)
        walks, pairs = _closed_walks(matrix), degrees * (degrees - 1)
    else:
        degrees = rp.sum(ones, axis=0) + rp.sum(ones, axis=1)
        both = rp.sum(ones * ones.T, axis=1)
        walks, pairs = _closed_walks(matrix + matrix.T), (degrees * (degrees - 1) - 2 * both) * 2
    rp.compute(walks, pairs)
    return np.asarray(walks).tolist(), np.asarray(pairs).tolist()


def clustering(G: Any, nodes: Any = None, weight: str | None = None) -> Any:  # noqa: N803
    """Compute, for each node, the share of pairs of neighbors that are joined by an edge."""
    shares = [0 if walk == 0 else walk / pair for walk, pair in zip(*_counts(G, weight), strict=True)]
    return _selected(G, nodes, dict(zip(G.nodes, shares, strict=True)))


def average_clustering(
    G: Any,  # noqa: N803
    nodes: Any = None,
    weight: str | None = None,
    count_zeros: bool = True,
) -> float:
    """Compute the mean of `clustering` over nodes."""
    shares = clustering(G, nodes, weight).values()
    counted = [share for share in shares if count_zeros or abs(share) > 0]
    return float(sum(counted) / len(counted))


def transitivity(G: Any) -> float:  # noqa: N803
    """Compute the share of the pairs of edges with a common node that are part of a triangle."""
    walks, pairs = (sum(counts) for counts in _counts(G, None))
    return 0 if walks == 0 else float(walks / pairs)
