"""Conversion between graphs of networkx and adjacency matrices, whose labels are the nodes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from .arrow import Labels
from .scipy import from_scipy, to_scipy

if TYPE_CHECKING:
    from .._array import Array
    from .._typing import DTypeLike

__all__ = ["from_networkx", "to_networkx"]


def from_networkx(graph: Any, nodes: Sequence[Any] | None = None, *, weight: str | None = "weight", dtype: DTypeLike | None = None) -> Array:
    """Return the adjacency matrix of a graph, in the format `csr`.

    Element `(i, j)` is the weight of the edge from node `i` to node `j`, or 1 if the edge has no
    weight. The weights of parallel edges of a multigraph are added. `array.labels` has the nodes
    for both modes.

    Args:
        graph: the graph, directed or not.
        nodes: the nodes in the order of rows and columns, by default in the order of the graph.
        weight: the attribute of edges that has the weight; with `None`, all weights are 1.
        dtype: the dtype of the weights, by default a dtype that can represent all weights.

    Raises:
        networkx.NetworkXError: a node is not in the graph.

    Examples:
        >>> import networkx
        >>> rp.from_networkx(networkx.path_graph(3)).tolist()
        [[0, 1, 0], [1, 0, 1], [0, 1, 0]]
    """
    import networkx

    nodes = list(graph) if nodes is None else list(nodes)
    if not nodes:
        from .._namespace.creation import zeros

        return zeros((0, 0), dtype=dtype).with_labels((), ())
    dtype = None if dtype is None else getattr(dtype, "numpy", dtype)
    matrix = networkx.to_scipy_sparse_array(graph, nodelist=nodes, weight=weight, dtype=dtype)
    return from_scipy(matrix).with_labels(nodes, nodes)


def to_networkx(array: Array, nodes: Any = None, *, create_using: Any = None, weight: str = "weight") -> Any:
    """Return the graph of an adjacency matrix.

    Each stored element is an edge; in an undirected graph, the elements `(i, j)` and `(j, i)` are
    the same edge.

    Args:
        array: a square matrix with fill value 0.
        nodes: the nodes in the order of rows, by default the labels of the array, or numbers.
        create_using: the class of the graph, by default `networkx.Graph`.
        weight: the attribute of edges that gets the elements.

    Raises:
        ValueError: the array is not a square matrix, its fill value is not 0, or the number of
            nodes is not the number of rows.

    Examples:
        >>> import networkx
        >>> rp.to_networkx(rp.sample("karate")).number_of_edges()
        78
    """
    import networkx

    if array.ndim != 2 or array.shape[0] != array.shape[1]:
        raise ValueError(f"the adjacency matrix of a graph is square, found shape {array.shape}")
    if nodes is None and array.labels is not None:
        nodes = array.labels[0]
    nodes = nodes.to_tuple() if isinstance(nodes, Labels) else nodes
    if nodes is not None and len(nodes) != array.shape[0]:
        raise ValueError(f"expected {array.shape[0]} nodes, one for each row, found {len(nodes)}")
    graph = networkx.from_scipy_sparse_array(to_scipy(array), create_using=create_using, edge_attribute=weight)
    return graph if nodes is None else networkx.relabel_nodes(graph, dict(enumerate(nodes)))
