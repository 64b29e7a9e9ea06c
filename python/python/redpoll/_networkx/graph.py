"""Graphs of the backend: nodes in a fixed order, and a matrix for each attribute of edges."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import scipy.sparse as sp

from .._array import Array
from .._interop.scipy import from_coordinates, from_scipy

__all__ = ["Graph", "by_node", "convert_from_nx", "convert_to_nx", "index_of"]


class Graph:
    """A graph of networkx: a list of nodes, and arrays of the ends and attributes of the edges.

    An edge of an undirected graph is stored in both directions, and a loop once.
    """

    __networkx_backend__ = "redpoll"

    def __init__(self, graph: Any, attributes: Mapping[str, Any]) -> None:
        self.nodes: list[Any] = list(graph)
        self.index: dict[Any, int] = {node: k for k, node in enumerate(self.nodes)}
        self.graph = dict(graph.graph)
        self._directed, self._multigraph = graph.is_directed(), graph.is_multigraph()
        rows: list[int] = []
        columns: list[int] = []
        data: list[Mapping[Any, Any]] = []
        for node, neighbors in graph.adjacency():
            row = self.index[node]
            for neighbor, edge in neighbors.items():
                column = self.index[neighbor]
                for one in edge.values() if self._multigraph else (edge,):
                    rows.append(row)
                    columns.append(column)
                    data.append(one)
        self.rows = np.array(rows, np.int64)
        self.columns = np.array(columns, np.int64)
        self.weights = {
            name: np.array([one.get(name, 1 if default is None else default) for one in data])
            for name, default in attributes.items()
        }
        self._matrices: dict[Any, Array] = {}

    def __len__(self) -> int:
        return len(self.nodes)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.nodes)

    def __contains__(self, node: Any) -> bool:
        try:
            return node in self.index
        except TypeError:
            return False

    def is_directed(self) -> bool:
        """Return whether edges have a direction."""
        return bool(self._directed)

    def is_multigraph(self) -> bool:
        """Return whether there may be several edges between two nodes."""
        return bool(self._multigraph)

    def number_of_nodes(self) -> int:
        """Return the number of nodes."""
        return len(self.nodes)

    def number_of_edges(self) -> int:
        """Return the number of edges."""
        loops = int(np.count_nonzero(self.rows == self.columns))
        return len(self.rows) if self._directed else (len(self.rows) + loops) // 2

    def has_loops(self) -> bool:
        """Return whether an edge joins a node with itself."""
        return bool((self.rows == self.columns).any())

    def values(self, weight: str | None) -> np.ndarray:
        """Return the weight of each edge, or 1 if `weight` is `None`."""
        return np.ones(len(self.rows), np.int64) if weight is None else self.weights[weight]

    def matrix(self, weight: str | None = None, *, transposed: bool = False, dtype: str = "float64") -> Array:
        """Return the adjacency matrix, which has the sum of the weights of parallel edges."""
        return self._cached((weight, transposed, dtype), lambda: self._sums(weight, transposed, dtype))

    def _sums(self, weight: str | None, transposed: bool, dtype: str) -> Array:
        ends = (self.columns, self.rows) if transposed else (self.rows, self.columns)
        values = self.values(weight).astype(dtype)
        return from_scipy(sp.coo_array((values, ends), shape=(len(self), len(self))).tocsr())

    def distances(self, weight: str | None) -> Array:
        """Return the transposed matrix of the smallest weights of edges. No edge means infinity."""
        return self._cached(("distances", weight), lambda: self._smallest(self.values(weight).astype("f8")))

    def ranks(self) -> Array:
        """Return the transposed matrix of the ranks of edges. The rank of an edge is its position
        among the edges with the same start."""
        return self._cached("ranks", lambda: self._smallest(self._places()))

    def _places(self) -> np.ndarray:
        starts = np.searchsorted(self.rows, self.rows, side="left")
        return (np.arange(len(self.rows)) - starts).astype("f8")

    def _smallest(self, values: np.ndarray) -> Array:
        order = np.lexsort((values, self.rows, self.columns))
        rows, columns = self.columns[order], self.rows[order]
        first = np.ones(len(order), bool)
        first[1:] = (rows[1:] != rows[:-1]) | (columns[1:] != columns[:-1])
        coordinates = [rows[first], columns[first]]
        matrix = from_coordinates(coordinates, values[order][first], (len(self), len(self)), np.inf)
        return matrix.reformat("csr").compute()

    def _cached(self, key: Any, make: Any) -> Array:
        if key not in self._matrices:
            self._matrices[key] = make()
        return self._matrices[key]


def by_node(graph: Graph, values: Any) -> dict[Any, Any]:
    """Return a dictionary from nodes to values, which are given in the order of the nodes."""
    return dict(zip(graph.nodes, np.asarray(values).tolist(), strict=True))


def index_of(graph: Graph, source: Any) -> int:
    """Return the number of a node. Raises `NodeNotFound` unless the graph has the node."""
    import networkx

    if source not in graph:
        raise networkx.NodeNotFound(f"Source {source} is not in G")
    return graph.index[source]


def convert_from_nx(
    graph: Any,
    edge_attrs: Mapping[str, Any] | None = None,
    node_attrs: Mapping[str, Any] | None = None,
    preserve_edge_attrs: bool = False,
    preserve_node_attrs: bool = False,
    preserve_graph_attrs: bool = False,
    name: str | None = None,
    graph_name: str | None = None,
) -> Graph:
    """Convert a graph of networkx to a graph of the backend."""
    if isinstance(graph, Graph):
        return graph
    attributes: dict[str, Any] = {}
    if preserve_edge_attrs:
        attributes = {key: None for *_, data in graph.edges(data=True) for key in data}
    attributes.update(edge_attrs or {})
    return Graph(graph, attributes)


def convert_to_nx(result: Any, *, name: str | None = None) -> Any:
    """Convert a graph of the backend to a graph of networkx, and return other results unchanged."""
    if not isinstance(result, Graph):
        return result
    import networkx

    cls = {
        (False, False): networkx.Graph, (True, False): networkx.DiGraph,
        (False, True): networkx.MultiGraph, (True, True): networkx.MultiDiGraph,
    }[result.is_directed(), result.is_multigraph()]  # fmt: skip
    graph = cls(**result.graph)
    graph.add_nodes_from(result.nodes)
    weights = {name: values.tolist() for name, values in result.weights.items()}
    for k, (row, column) in enumerate(zip(result.rows.tolist(), result.columns.tolist(), strict=True)):
        if result.is_directed() or row <= column:
            data = {name: values[k] for name, values in weights.items()}
            graph.add_edge(result.nodes[row], result.nodes[column], **data)
    return graph
