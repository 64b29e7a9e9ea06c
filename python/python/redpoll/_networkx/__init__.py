"""The backend of networkx: graph algorithms as products of sparse matrices and as programs.

networkx calls the functions of this module if the package is installed and the user asks for this
backend::

    networkx.pagerank(graph, backend="redpoll")
    networkx.config.backend_priority = ["redpoll"]

The functions have the same names, parameters and results as the functions of networkx.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from inspect import signature
from typing import Any

from .centrality import (
    betweenness_centrality, closeness_centrality, degree_centrality, eigenvector_centrality, in_degree_centrality,
    katz_centrality, out_degree_centrality, pagerank,
)  # fmt: skip
from .components import (
    connected_components, core_number, is_connected, is_strongly_connected, is_weakly_connected,
    number_connected_components, number_strongly_connected_components, number_weakly_connected_components,
    strongly_connected_components, weakly_connected_components,
)  # fmt: skip
from .graph import Graph, convert_from_nx, convert_to_nx
from .paths import (
    bfs_layers, descendants_at_distance, single_source_bellman_ford_path_length, single_source_dijkstra_path_length,
    single_source_shortest_path_length,
)  # fmt: skip
from .triangles import average_clustering, clustering, transitivity, triangles

#: The functions of networkx that the backend implements.
ALGORITHMS = (
    "average_clustering", "betweenness_centrality", "bfs_layers", "closeness_centrality", "clustering",
    "connected_components", "core_number", "degree_centrality", "descendants_at_distance", "eigenvector_centrality",
    "in_degree_centrality", "is_connected", "is_strongly_connected", "is_weakly_connected", "katz_centrality",
    "number_connected_components", "number_strongly_connected_components", "number_weakly_connected_components",
    "out_degree_centrality", "pagerank", "single_source_bellman_ford_path_length",
    "single_source_dijkstra_path_length", "single_source_shortest_path_length", "strongly_connected_components",
    "transitivity", "triangles", "weakly_connected_components",
)  # fmt: skip

__all__ = ["ALGORITHMS", "Graph", "can_run", "convert_from_nx", "convert_to_nx", "get_info", "should_run", *ALGORITHMS]

#: Functions that refuse multigraphs, because a matrix has only the sum of parallel edges.
_SIMPLE_GRAPHS = frozenset(ALGORITHMS) - {
    "betweenness_centrality", "bfs_layers", "closeness_centrality", "connected_components", "degree_centrality",
    "descendants_at_distance", "in_degree_centrality", "is_connected", "is_strongly_connected", "is_weakly_connected",
    "number_connected_components", "number_strongly_connected_components", "number_weakly_connected_components",
    "out_degree_centrality", "pagerank", "single_source_shortest_path_length", "strongly_connected_components",
    "weakly_connected_components",
}  # fmt: skip

#: The only values of parameters that the backend implements.
_ONLY_VALUES: dict[str, dict[str, Any]] = {
    "betweenness_centrality": {"k": None, "weight": None, "endpoints": False},
    "closeness_centrality": {"distance": None, "wf_improved": True},
}

#: The least number of edges at which the backend saves more time than the conversion costs.
_MIN_EDGES = 2000


def can_run(name: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> bool | str:
    """Return `True` if the backend can run a function with these arguments, else the reason."""
    arguments = signature(globals()[name]).bind(*args, **kwargs).arguments
    graph, weight = arguments["G"], arguments.get("weight")
    for parameter, value in _ONLY_VALUES.get(name, {}).items():
        if arguments.get(parameter, value) != value:
            return f"the backend implements only `{parameter}={value}`"
    if weight is not None and not isinstance(weight, str):
        return "weights are the names of attributes of edges, not functions"
    if name in _SIMPLE_GRAPHS and graph.is_multigraph():
        return "the function has no meaning for the sums of parallel edges"
    if name in ("transitivity", "average_clustering") and graph.is_directed():
        return "the function is implemented for undirected graphs"
    return True


def should_run(name: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> bool | str:
    """Return `True` if a function is worth the conversion of its graph, else the reason."""
    graph = args[0] if args else kwargs.get("G")
    if isinstance(graph, Graph) or graph is None or graph.number_of_edges() >= _MIN_EDGES:
        return True
    return f"the graph has less than {_MIN_EDGES} edges"


def get_info() -> dict[str, Any]:
    """Describe the backend for the documentation of networkx."""
    return {
        "backend_name": "redpoll",
        "project": "redpoll",
        "package": "redpoll",
        "short_summary": "Graph algorithms as products of sparse matrices and as programs.",
        "functions": {name: {} for name in ALGORITHMS},
    }
