"""Components and cores: labels of nodes by the programs of `redpoll.graph`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

import redpoll as rp

from .graph import Graph, by_node

__all__ = [
    "connected_components", "core_number", "is_connected", "is_strongly_connected", "is_weakly_connected",
    "number_connected_components", "number_strongly_connected_components", "number_weakly_connected_components",
    "strongly_connected_components", "weakly_connected_components",
]  # fmt: skip


def _sets(graph: Graph, roots: rp.Array) -> Iterator[set[Any]]:
    """Generate the sets of nodes with the same root, in the order of their first nodes."""
    sets: dict[int, set[Any]] = {}
    for node, root in zip(graph.nodes, np.asarray(roots).tolist(), strict=True):
        sets.setdefault(root, set()).add(node)
    yield from sets.values()


def _count(roots: rp.Array) -> int:
    return len(set(np.asarray(roots).tolist()))


def _is_one(graph: Graph, count: int) -> bool:
    """Return whether a graph has a single component. Raises an exception for the null graph."""
    import networkx

    if len(graph) == 0:
        raise networkx.NetworkXPointlessConcept("Connectivity is undefined for the null graph.")
    return count == 1


def connected_components(G: Any) -> Iterator[set[Any]]:  # noqa: N803
    """Generate the sets of nodes that are connected by edges."""
    return _sets(G, rp.graph.components(G.matrix()))


def number_connected_components(G: Any) -> int:  # noqa: N803
    """Count the sets of nodes that are connected by edges."""
    return _count(rp.graph.components(G.matrix()))


def is_connected(G: Any) -> bool:  # noqa: N803
    """Return whether there is a path between any two nodes."""
    return _is_one(G, number_connected_components(G))


def weakly_connected_components(G: Any) -> Iterator[set[Any]]:  # noqa: N803
    """Generate the sets of nodes that are connected by edges of any direction."""
    return _sets(G, rp.graph.components(G.matrix()))


def number_weakly_connected_components(G: Any) -> int:  # noqa: N803
    """Count the sets of nodes that are connected by edges of any direction."""
    return _count(rp.graph.components(G.matrix()))


def is_weakly_connected(G: Any) -> bool:  # noqa: N803
    """Return whether there is a path between any two nodes, over edges of any direction."""
    return _is_one(G, number_weakly_connected_components(G))


def strongly_connected_components(G: Any) -> Iterator[set[Any]]:  # noqa: N803
    """Generate the sets of nodes that can be reached from each other, in the order of their first
    nodes. networkx has the same sets in the order in which its search completes them."""
    return _sets(G, rp.graph.strong_components(G.matrix()))


def number_strongly_connected_components(G: Any) -> int:  # noqa: N803
    """Count the sets of nodes that can be reached from each other."""
    return _count(rp.graph.strong_components(G.matrix()))


def is_strongly_connected(G: Any) -> bool:  # noqa: N803
    """Return whether each node can be reached from every other node."""
    return _is_one(G, number_strongly_connected_components(G))


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
    return by_node(G, _directed_cores(G) if G.is_directed() else rp.graph.k_core(G.matrix()))


def _directed_cores(graph: Graph) -> rp.Array:
    """Return the core numbers of a directed graph, in which each node has as many neighbors as it
    has incoming and outgoing edges."""
    ones = graph.matrix(dtype="int64")
    neighbors = (ones + ones.T).compute()
    degrees = rp.sum(neighbors, axis=1).compute()
    remaining = rp.asarray(np.ones(len(graph), np.int64))
    cores, k = rp.asarray(np.zeros(len(graph), np.int64)), 0
    while bool(rp.any(remaining > 0)):
        bound = rp.asarray(np.int64(k))
        removed = remaining * (degrees <= bound).astype(rp.int64)
        count = rp.sum(removed)
        following = degrees - neighbors @ removed
        cores, remaining = cores + removed * bound, remaining - removed
        rp.compute(following, cores, remaining, count)
        degrees = following
        k += int(count) == 0
    return cores
