"""Communities, cores and the neighbourhoods of vertices."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

import redpoll as rp

from .._array import Array
from .._interop.scipy import from_coordinates
from .._typing import ArrayLike
from .call import adjacency, by_columns, by_rows, edges, run, weights

__all__ = [
    "ClusteringResult", "LouvainResult", "SimilarityResult", "clustering", "k_core", "k_truss", "label_propagation",
    "louvain", "similarity", "triangles",
]  # fmt: skip


class ClusteringResult(NamedTuple):
    """The clustering of the neighbourhood of each vertex."""

    #: The local clustering coefficient of each vertex.
    coefficient: Array
    #: The number of triangles of each vertex.
    triangles: Array


class LouvainResult(NamedTuple):
    """The communities that `louvain` finds."""

    #: The community of each vertex, numbered from 0 in the order of their smallest vertices.
    community: Array
    #: The number of communities.
    communities: int
    #: The modularity of the partition.
    modularity: float


class SimilarityResult(NamedTuple):
    """The similarities of the ends of each edge: two matrices with the pattern of the graph."""

    #: The number of common neighbours divided by the number of all neighbours.
    jaccard: Array
    #: The number of common neighbours divided by the geometric mean of the numbers of neighbours.
    cosine: Array


def k_core(a: ArrayLike) -> Array:
    """Return the core number of each vertex of an undirected graph; self-loops do not count.

    The core number is the largest `k` for which the vertex belongs to a subgraph in which every
    vertex has at least `k` neighbours.

    Raises:
        ValueError: the matrix is not square.

    Examples:
        >>> triangle_and_leaf = [[0, 1, 1, 0], [1, 0, 1, 0], [1, 1, 0, 1], [0, 0, 1, 0]]
        >>> rp.graph.k_core(rp.asarray(triangle_and_leaf)).tolist()
        [2, 2, 2, 1]
    """
    return run("k_core", A=by_rows(adjacency(a)))["core"]


def k_truss(a: ArrayLike) -> Array:
    """Return the truss number of each edge of an undirected graph, as a matrix.

    The truss number is the largest `k` for which the edge belongs to a subgraph in which every edge
    is in at least `k - 2` triangles (Cohen, "Trusses: Cohesive Subgraphs for Social Network
    Analysis", 2008). Self-loops and pairs of vertices without an edge have the number 0.

    Raises:
        ValueError: the matrix is not square.

    Examples:
        >>> triangle_and_leaf = [[0, 1, 1, 0], [1, 0, 1, 0], [1, 1, 0, 1], [0, 0, 1, 0]]
        >>> rp.graph.k_truss(rp.asarray(triangle_and_leaf)).tolist()
        [[0, 3, 3, 0], [3, 0, 3, 0], [3, 3, 0, 2], [0, 0, 2, 0]]
    """
    return run("k_truss", A=by_rows(adjacency(a)))["truss"]


def triangles(a: ArrayLike) -> int:
    """Count the triangles of an undirected graph; self-loops do not count.

    Raises:
        ValueError: the matrix is not square.

    Examples:
        >>> rp.graph.triangles(rp.asarray([[0, 1, 1], [1, 0, 1], [1, 1, 0]]))
        1
    """
    # Only edges from a larger to a smaller vertex remain, so each triangle is counted once.
    below = rp.tril(edges(adjacency(a)).astype(rp.int64), k=-1)
    return int(rp.einsum("ij,jk,ik->", below, below, below))


def clustering(a: ArrayLike) -> ClusteringResult:
    """Compute the local clustering coefficients and the triangles of each vertex.

    As in LDBC Graphalytics, the coefficient is the number of edges between two neighbours of a
    vertex, divided by the number of ordered pairs of its neighbours. A vertex is a neighbour if
    there is an edge in either direction. Self-loops do not count.

    Raises:
        ValueError: the matrix is not square.

    Examples:
        >>> triangle_and_leaf = [[0, 1, 1, 0], [1, 0, 1, 0], [1, 1, 0, 1], [0, 0, 1, 0]]
        >>> coefficient, triangles = rp.graph.clustering(rp.asarray(triangle_and_leaf))
        >>> [round(value, 4) for value in coefficient.tolist()], triangles.tolist()
        ([1.0, 1.0, 0.3333, 0.0], [1, 1, 1, 0])
    """
    array = adjacency(a)
    outputs = run("clustering", A=by_rows(array), B=by_columns(array))
    return ClusteringResult(outputs["coefficient"], outputs["triangles"])


def label_propagation(a: ArrayLike, *, max_rounds: int = 10) -> Array:
    """Find communities by synchronous label propagation, as LDBC Graphalytics defines it.

    The label of a vertex begins as its number. In each round, a vertex takes the most frequent
    label among its neighbours in either direction, the smallest such label if several are equally
    frequent. There are `max_rounds` rounds, or fewer if a round changes no label.

    Raises:
        ValueError: the matrix is not square.

    Examples:
        >>> star_and_pair = rp.asarray([[0, 1, 1, 0, 0], [0] * 5, [0] * 5, [0, 0, 0, 0, 1], [0] * 5])
        >>> rp.graph.label_propagation(star_and_pair, max_rounds=2).tolist()
        [0, 1, 1, 3, 4]
    """
    array = adjacency(a)
    inputs = {"A": by_rows(array), "B": by_columns(array), "max_rounds": max_rounds}
    return run("cdlp", **inputs)["label"]


def louvain(a: ArrayLike, *, resolution: float = 1.0) -> LouvainResult:
    """Find communities of an undirected graph with weights of at least 0 by the method of Louvain.

    Vertices move to the neighbouring community that increases the modularity most, and then the
    communities become the vertices of a smaller graph, until nothing moves. A `resolution` above 1
    gives more and smaller communities (Blondel, Guillaume, Lambiotte and Lefebvre, "Fast Unfolding
    of Communities in Large Networks", 2008).

    Raises:
        ValueError: the matrix is not square.

    Examples:
        >>> community, communities, modularity = rp.graph.louvain(rp.sample("karate"))
        >>> communities, round(modularity, 3)
        (4, 0.419)
    """
    graph = weights(adjacency(a), 0.0)
    community = rp.arange(graph.shape[0], dtype=rp.int64)
    while True:
        outputs = run("louvain", A=graph, resolution=float(resolution))
        of_vertex, count = outputs["community"], int(outputs["count"])
        community = rp.take(of_vertex, community, axis=0).compute()
        if int(outputs["moves"]) == 0:
            return LouvainResult(community, count, float(outputs["modularity"]))
        # The weights between the communities: P^T A P, where P has the community of each vertex.
        size = graph.shape[0]
        members = from_coordinates([np.arange(size), of_vertex.todense()], np.ones(size), (size, count)).reformat("csr")
        graph = by_rows(rp.einsum("ic,ij,jd->cd", members, graph, members))


def similarity(a: ArrayLike) -> SimilarityResult:
    """Compute the similarities of the neighbourhoods of the two ends of each edge.

    The neighbourhood of a vertex is the set of the ends of its edges. The elements of edges do not
    count.

    Raises:
        ValueError: the matrix is not square.

    Examples:
        >>> jaccard, cosine = rp.graph.similarity(rp.asarray([[0, 1, 1], [1, 0, 1], [1, 1, 0]]))
        >>> round(jaccard[0, 1].item(), 4), cosine[0, 1].item()
        (0.3333, 0.5)
    """
    outputs = run("similarity", A=by_rows(adjacency(a)))
    return SimilarityResult(outputs["jaccard"], outputs["cosine"])
