"""Searches, shortest paths and components."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, NamedTuple

import redpoll as rp

from .._array import Array
from .._typing import ArrayLike
from .call import adjacency, by_columns, by_rows, check_vertex, run, vertex_list, weights

__all__ = [
    "BfsResult", "PathsResult", "all_pairs", "betweenness", "bfs", "bfs_parents", "closeness", "components",
    "delta_stepping", "shortest_paths", "strong_components",
]  # fmt: skip


class BfsResult(NamedTuple):
    """The result of a breadth-first search, with -1 for unreachable vertices."""

    #: The smallest neighbour in the previous level; the source is its own parent.
    parent: Array
    #: The number of edges from the source.
    level: Array


class PathsResult(NamedTuple):
    """The shortest paths from a source."""

    #: The length of a shortest path; infinity at unreachable vertices.
    distance: Array
    #: The previous vertex on a shortest path; -1 at the source and at unreachable vertices.
    parent: Array


def bfs(a: ArrayLike, source: int) -> BfsResult:
    """Search breadth-first from a vertex: parents and levels of all vertices.

    A round pushes along the edges of a small frontier, and pulls into unvisited vertices if the
    frontier is large (Beamer, Asanović and Patterson, "Direction-Optimizing Breadth-First Search",
    2012).

    Raises:
        ValueError: the matrix is not square.
        IndexError: the source is not a vertex.

    Examples:
        >>> path = rp.asarray([[0, 1, 0], [0, 0, 1], [0, 0, 0]])
        >>> parent, level = rp.graph.bfs(path, 0)
        >>> parent.tolist(), level.tolist()
        ([0, 0, 1], [0, 1, 2])
    """
    array = adjacency(a)
    source = check_vertex(array, source)
    outputs = run("bfs", A=by_rows(array), B=by_columns(array), source=source)
    return BfsResult(outputs["parent"], outputs["level"])


def bfs_parents(a: ArrayLike, source: int, *, direction: Literal["push", "pull"] = "push") -> Array:
    """Search breadth-first in one direction, and return the parents alone.

    `push` reads a matrix that is stored by rows, and `pull` reads a matrix that is stored by
    columns. A matrix in another format is converted first.

    Raises:
        ValueError: the matrix is not square, or there is no such direction.
        IndexError: the source is not a vertex.

    Examples:
        >>> path = rp.asarray([[0, 1, 0], [0, 0, 1], [0, 0, 0]])
        >>> rp.graph.bfs_parents(path, 0, direction="pull").tolist()
        [0, 0, 1]
    """
    array = adjacency(a)
    source = check_vertex(array, source)
    if direction == "push":
        return run("bfs_push", A=by_rows(array), source=source)["parent"]
    if direction == "pull":
        return run("bfs_pull", B=by_columns(array), source=source)["parent"]
    raise ValueError(f"a direction is 'push' or 'pull', found {direction!r}")


def shortest_paths(a: ArrayLike, source: int) -> PathsResult:
    """Compute the shortest paths from a vertex, where elements are the lengths of edges.

    Lengths may be negative (the algorithm of Bellman and Ford). `delta_stepping` is faster for
    lengths of at least 0 on most graphs. An edge of length 0 needs another fill value, such as
    infinity.

    Raises:
        ValueError: the matrix is not square, or a cycle of negative length is reachable.
        IndexError: the source is not a vertex.

    Examples:
        >>> lengths = rp.asarray([[0.0, 4.0, 1.0], [0.0, 0.0, 0.0], [0.0, 2.0, 0.0]])
        >>> distance, parent = rp.graph.shortest_paths(lengths, 0)
        >>> distance.tolist(), parent.tolist()
        ([0.0, 3.0, 1.0], [-1, 2, 0])
    """
    array = adjacency(a)
    source = check_vertex(array, source)
    outputs = run("bellman_ford", A=weights(array, rp.inf), source=source)
    if outputs["negative"].item():
        raise ValueError(f"a cycle of negative length is reachable from the vertex {source}")
    return PathsResult(outputs["distance"], outputs["parent"])


def delta_stepping(a: ArrayLike, source: int, *, delta: float | None = None) -> PathsResult:
    """Compute the shortest paths from a vertex by delta-stepping, for lengths of at least 0.

    `delta` is the range of distances that are settled together; `None` is the largest length
    divided by the mean number of edges of a vertex. The results do not depend on `delta`, apart
    from the choice among shortest paths of equal length (Meyer and Sanders, "Delta-stepping: a
    parallelizable shortest path algorithm", 2003).

    Raises:
        ValueError: the matrix is not square, a length is negative, or `delta` is not positive.
        IndexError: the source is not a vertex.

    Examples:
        >>> lengths = rp.asarray([[0.0, 4.0, 1.0], [0.0, 0.0, 0.0], [0.0, 2.0, 0.0]])
        >>> rp.graph.delta_stepping(lengths, 0).distance.tolist()
        [0.0, 3.0, 1.0]
    """
    array = adjacency(a)
    source = check_vertex(array, source)
    if delta is not None and not delta > 0:
        raise ValueError(f"`delta` is positive, found {delta}")
    outputs = run("delta_stepping", A=weights(array, rp.inf), source=source, delta=float(delta or 0))
    if outputs["negative"].item():
        raise ValueError("lengths are at least 0; use `shortest_paths` for negative lengths")
    return PathsResult(outputs["distance"], outputs["parent"])


def all_pairs(a: ArrayLike) -> Array:
    """Compute the lengths of the shortest paths between all pairs of vertices of a small graph.

    The matrix of distances is squared over the semiring (min, +). The result has a value for each
    pair, infinity if there is no path. Lengths may be negative.

    Raises:
        ValueError: the matrix is not square, or there is a cycle of negative length.

    Examples:
        >>> lengths = rp.asarray([[0.0, 4.0, 1.0], [0.0, 0.0, 0.0], [0.0, 2.0, 0.0]])
        >>> rp.graph.all_pairs(lengths).tolist()
        [[0.0, 3.0, 1.0], [inf, 0.0, inf], [inf, 2.0, 0.0]]
    """
    array = adjacency(a)
    count = array.shape[0]
    empty_paths = rp.where(rp.eye(count, dtype=rp.bool), 0.0, rp.inf)
    distance = rp.minimum(weights(array, rp.inf), empty_paths).reformat("dense").compute()
    # After k squarings, the paths have up to 2^k edges.
    edges = 1
    while edges < count:
        distance = rp.einsum("ij,jk->ik", distance, distance, sum="min", product="+").compute()
        edges *= 2
    negative = rp.diagonal(distance) < 0.0
    if bool(rp.any(negative)):
        raise ValueError(f"a cycle of negative length is reachable from the vertex {int(rp.argmax(negative))}")
    return distance


def betweenness(a: ArrayLike, sources: Iterable[int] | None = None) -> Array:
    """Compute betweenness centrality from given sources, or from all vertices.

    The centrality of a vertex is the sum, over the sources and all other vertices, of the share of
    the shortest paths that pass through the vertex (Brandes, "A faster algorithm for betweenness
    centrality", 2001). Each edge has length 1. The values are not normalized: with all vertices of
    an undirected graph as sources, each pair of vertices counts twice.

    Raises:
        ValueError: the matrix is not square.
        IndexError: a source is not a vertex.

    Examples:
        >>> path = rp.asarray([[0, 1, 0], [1, 0, 1], [0, 1, 0]])
        >>> rp.graph.betweenness(path).tolist()
        [0.0, 2.0, 0.0]
        >>> rp.graph.betweenness(path, [0]).tolist()
        [0.0, 1.0, 0.0]
    """
    array = adjacency(a)
    return run("betweenness", A=by_rows(array), sources=vertex_list(array, sources))["centrality"]


def closeness(a: ArrayLike, sources: Iterable[int] | None = None) -> Array:
    """Compute the closeness of given vertices, or of all vertices.

    The closeness of a vertex is the number `r` of other vertices that can be reached, divided by
    the sum of their distances, and multiplied by `r / (n - 1)`, where `n` is the number of all
    vertices (Wasserman and Faust, "Social network analysis", 1994). Each edge has length 1. A
    vertex that reaches no other one has closeness 0.

    Raises:
        ValueError: the matrix is not square.
        IndexError: a source is not a vertex.

    Examples:
        >>> star = rp.asarray([[0, 1, 1], [1, 0, 0], [1, 0, 0]])
        >>> [round(value, 4) for value in rp.graph.closeness(star).tolist()]
        [1.0, 0.6667, 0.6667]
        >>> rp.graph.closeness(star, [0]).tolist()
        [1.0]
    """
    array = adjacency(a)
    return run("closeness", A=by_rows(array), sources=vertex_list(array, sources))["closeness"]


def components(a: ArrayLike) -> Array:
    """Return the smallest vertex in the connected component of each vertex.

    Directions of edges do not count, so these are the weakly connected components of a directed
    graph.

    Raises:
        ValueError: the matrix is not square.

    Examples:
        >>> rp.graph.components(rp.asarray([[0, 0, 0], [0, 0, 0], [1, 0, 0]])).tolist()
        [0, 1, 0]
    """
    return run("weak_components", A=by_rows(adjacency(a)))["component"]


def strong_components(a: ArrayLike) -> Array:
    """Return the smallest vertex in the strongly connected component of each vertex.

    Two vertices are in one component if each can be reached from the other.

    Raises:
        ValueError: the matrix is not square.

    Examples:
        >>> cycle_and_tail = rp.asarray([[0, 1, 0], [1, 0, 1], [0, 0, 0]])
        >>> rp.graph.strong_components(cycle_and_tail).tolist()
        [0, 0, 2]
    """
    array = adjacency(a)
    return run("strong_components", A=by_rows(array), B=by_columns(array))["component"]
