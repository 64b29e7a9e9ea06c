"""Connected components and cores: labels or degrees are updated until nothing changes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

import redpoll as rp
from redpoll import _core

from .graph import Graph, by_node

__all__ = ["connected_components", "core_number", "is_connected", "number_connected_components"]


def _roots(graph: Graph) -> np.ndarray:
    """Return, for each node, the index of the first node of its component.

    The algorithm is FastSV (Y. Zhang, A. Azad and Z. Hu, *FastSV: A Distributed-Memory Connected
    Component Algorithm with Fast Convergence*, SIAM PP 2020). The number of its steps grows as the
    logarithm of the number of nodes.
    """
    n = len(graph)
    links = graph.links()
    parents = rp.asarray(np.arange(n, dtype=float))
    while True:
        ends = parents.astype(rp.int64)
        grandparents = rp.take(parents, ends, axis=0)
        nearest = rp.einsum("ij,j->i", links, grandparents, sum="min", product="+")
        hooked = _core.scatter(rp.minimum(nearest, grandparents), ends, n, "min")
        following = rp.minimum(rp.minimum(hooked, nearest), rp.minimum(grandparents, parents))
        changed = rp.any(following != parents)
        rp.compute(following, changed)
        parents = following
        if not bool(changed):
            return np.asarray(parents).astype(np.int64)


def connected_components(G: Any) -> Iterator[set[Any]]:  # noqa: N803
    """Generate the sets of nodes that are connected by edges."""
    components: dict[int, set[Any]] = {}
    if len(G):
        for node, root in zip(G.nodes, _roots(G).tolist(), strict=True):
            components.setdefault(root, set()).add(node)
    yield from components.values()


def number_connected_components(G: Any) -> int:  # noqa: N803
    """Count the sets of nodes that are connected by edges."""
    return len(set(_roots(G).tolist())) if len(G) else 0


def is_connected(G: Any) -> bool:  # noqa: N803
    """Return whether there is a path between any two nodes."""
    import networkx

    if len(G) == 0:
        raise networkx.NetworkXPointlessConcept("Connectivity is undefined for the null graph.")
    return number_connected_components(G) == 1


def core_number(G: Any) -> dict[Any, int]:  # noqa: N803
    """Compute, for each node, the largest `k` whose `k`-core contains the node. The `k`-core is the
    largest subgraph in which all nodes have at least `k` neighbors."""
    import networkx

    if G.has_loops():
        raise networkx.NetworkXNotImplemented(
            "Input graph has self loops which is not permitted; "
            "Consider using G.remove_edges_from(nx.selfloop_edges(G))."
        )
    if len(G) == 0:
        return {}
    ones = G.matrix(dtype="int64")
    neighbors = (ones + ones.T).compute() if G.is_directed() else ones
    degrees = rp.sum(neighbors, axis=1).compute()
    remaining = rp.asarray(np.ones(len(G), np.int64))
    cores, k = rp.asarray(np.zeros(len(G), np.int64)), 0
    while bool(rp.any(remaining > 0)):
        bound = rp.asarray(np.int64(k))
        removed = remaining * (degrees <= bound).astype(rp.int64)
        count = rp.sum(removed)
        following = degrees - neighbors @ removed
        cores, remaining = cores + removed * bound, remaining - removed
        rp.compute(following, cores, remaining, count)
        degrees = following
        k += int(count) == 0
    return by_node(G, cores)
