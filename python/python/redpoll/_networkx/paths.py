"""Paths from a node: matrix products in the min-plus semiring."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

import redpoll as rp

from .graph import Graph, index_of

__all__ = [
    "bfs_layers", "descendants_at_distance", "single_source_bellman_ford_path_length",
    "single_source_dijkstra_path_length", "single_source_shortest_path_length",
]  # fmt: skip


def _layers(graph: Graph, sources: list[int]) -> Iterator[list[int]]:
    """Generate the nodes at each distance from sources, in the order in which a queue finds nodes.

    A node is found from the first node of the previous layer that has an edge to the node. So the
    nodes of a layer are sorted by the minimum of `p * n + r` over these edges. Here `p` is the
    position of the edge's start in the previous layer, and `r` the rank of the edge. The minima are
    the result of a min-plus product.
    """
    n = len(graph)
    ranks = graph.ranks()
    visited = np.zeros(n, bool)
    layer = sources
    visited[layer] = True
    while layer:
        yield layer
        places = np.full(n, np.inf)
        places[layer] = np.arange(len(layer)) * float(n)
        keys = rp.einsum("ij,j->i", ranks, rp.asarray(places), sum="min", product="+")
        keys = rp.where(rp.asarray(visited), np.inf, keys)
        found, order = rp.count_nonzero(rp.isfinite(keys)), rp.argsort(keys)
        layer = np.asarray(order)[: int(found)].tolist()
        visited[layer] = True


def single_source_shortest_path_length(G: Any, source: Any, cutoff: float | None = None) -> dict[Any, int]:  # noqa: N803
    """Compute the number of edges of a shortest path from the source to each reachable node."""
    lengths: dict[Any, int] = {}
    for distance, layer in enumerate(_layers(G, [index_of(G, source)])):
        if cutoff is not None and distance > cutoff:
            break
        lengths.update((G.nodes[node], distance) for node in layer)
    return lengths


def bfs_layers(G: Any, sources: Any) -> Iterator[list[Any]]:  # noqa: N803
    """Generate the nodes at each distance from sources, in the same order as networkx."""
    import networkx

    sources = [sources] if sources in G else list(set(sources))
    for source in sources:
        if source not in G:
            raise networkx.NetworkXError(f"The node {source} is not in the graph.")
    for layer in _layers(G, [G.index[source] for source in sources]):
        yield [G.nodes[node] for node in layer]


def descendants_at_distance(G: Any, source: Any, distance: int) -> set[Any]:  # noqa: N803
    """Return the nodes at the given distance from the source."""
    import networkx

    if source not in G:
        raise networkx.NetworkXError(f"The node {source} is not in the graph.")
    for at, layer in enumerate(_layers(G, [G.index[source]])):
        if at == distance:
            return {G.nodes[node] for node in layer}
    return set()


def _relaxed(graph: Graph, source: int, weight: str | None) -> np.ndarray:
    """Return the distances from a source, by min-plus products until no distance changes."""
    import networkx

    weights = graph.distances(weight)
    start = np.full(len(graph), np.inf)
    start[source] = 0.0
    lengths = rp.asarray(start)
    for _ in range(len(graph)):
        following = rp.minimum(lengths, rp.einsum("ij,j->i", weights, lengths, sum="min", product="+"))
        changed = rp.any(following != lengths)
        rp.compute(following, changed)
        lengths = following
        if not bool(changed):
            return np.asarray(lengths)
    raise networkx.NetworkXUnbounded("Negative cycle detected.")


def _by_distance(graph: Graph, lengths: np.ndarray, weight: str | None, cutoff: float | None) -> dict[Any, float]:
    """Return the finite distances in ascending order, as integers if the weights are integers."""
    integers = graph.values(weight).dtype.kind in "bui"
    limit = math.inf if cutoff is None else cutoff
    order = np.argsort(lengths, kind="stable").tolist()
    return {
        graph.nodes[node]: int(lengths[node]) if integers else float(lengths[node])
        for node in order
        if lengths[node] <= limit and math.isfinite(lengths[node])
    }


def single_source_dijkstra_path_length(
    G: Any,  # noqa: N803
    source: Any,
    cutoff: float | None = None,
    weight: str = "weight",
) -> dict[Any, float]:
    """Compute the length of a shortest path from the source to each reachable node."""
    place = index_of(G, source)
    if (G.values(weight) < 0).any():
        raise ValueError("Contradictory paths found:", "negative weights?")
    return _by_distance(G, _relaxed(G, place, weight), weight, cutoff)


def single_source_bellman_ford_path_length(G: Any, source: Any, weight: str = "weight") -> dict[Any, float]:  # noqa: N803
    """Compute the length of a shortest path to each reachable node, with weights of any sign."""
    return _by_distance(G, _relaxed(G, index_of(G, source), weight), weight, None)
