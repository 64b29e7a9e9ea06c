"""Graph algorithms over adjacency matrices.

An element `a[i, j]` that differs from the fill value is an edge from `i` to `j`. Vertices are
numbered from 0. The searches are programs with explicit loops (`programs/` of the repository). A
round that pushes visits only the edges of its frontier, and a round that pulls visits the edges
into unvisited vertices.
"""

from __future__ import annotations

from functools import cache
from typing import Literal, NamedTuple

from . import _core
from ._array import Array
from ._program import Program
from ._typing import ArrayLike

__all__ = [
    "BfsResult", "PathsResult", "bfs", "bfs_parents", "components", "k_core", "pagerank", "shortest_paths", "triangles",
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


@cache
def _program(name: str) -> Program:
    return Program(_core.graph_programs()[name])


def _square(a: ArrayLike) -> Array:
    from ._namespace.creation import asarray

    array = asarray(a)
    if array.ndim != 2 or array.shape[0] != array.shape[1]:
        raise ValueError(f"an adjacency matrix is square, found shape {array.shape}")
    return array


def _checked(source: int, array: Array) -> int:
    if not 0 <= source < array.shape[0]:
        raise IndexError(f"the vertex {source} is not one of the {array.shape[0]} vertices")
    return source


def bfs(a: ArrayLike, source: int) -> BfsResult:
    """Search breadth-first from a vertex: parents and levels of all vertices.

    A round pushes along the edges of a small frontier, and pulls into unvisited vertices if the
    frontier is large.

    Raises:
        ValueError: the matrix is not square.
        IndexError: the source is not a vertex.

    Examples:
        >>> path = rp.asarray([[0, 1, 0], [0, 0, 1], [0, 0, 0]])
        >>> parent, level = rp.graph.bfs(path, 0)
        >>> parent.tolist(), level.tolist()
        ([0, 0, 1], [0, 1, 2])
    """
    array = _square(a)
    rows, columns = array.reformat("csr"), array.reformat("csc")
    outputs = _program("bfs")(A=rows, B=columns, source=_checked(source, array))
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
    array = _square(a)
    source = _checked(source, array)
    if direction == "push":
        return _program("bfs_push")(A=array.reformat("csr"), source=source)["parent"]
    if direction == "pull":
        return _program("bfs_pull")(B=array.reformat("csc"), source=source)["parent"]
    raise ValueError(f"a direction is 'push' or 'pull', found {direction!r}")


def shortest_paths(a: ArrayLike, source: int) -> PathsResult:
    """Compute the shortest paths from a vertex, where elements are the lengths of edges.

    Lengths may be negative. An edge of length 0 needs another fill value, such as infinity.

    Raises:
        ValueError: the matrix is not square, or a cycle of negative length is reachable.
        IndexError: the source is not a vertex.

    Examples:
        >>> lengths = rp.asarray([[0.0, 4.0, 1.0], [0.0, 0.0, 0.0], [0.0, 2.0, 0.0]])
        >>> distance, parent = rp.graph.shortest_paths(lengths, 0)
        >>> distance.tolist(), parent.tolist()
        ([0.0, 3.0, 1.0], [-1, 2, 0])
    """
    array = _square(a)
    outputs = _program("bellman_ford")(A=array.reformat("csr"), source=_checked(source, array))
    if outputs["negative"].item():
        raise ValueError(f"a cycle of negative length is reachable from the vertex {source}")
    return PathsResult(outputs["distance"], outputs["parent"])


def components(a: ArrayLike) -> Array:
    """Return the smallest vertex in the connected component of each vertex of an undirected graph.

    Raises:
        ValueError: the matrix is not square.

    Examples:
        >>> rp.graph.components(rp.asarray([[0, 0, 1], [0, 0, 0], [1, 0, 0]])).tolist()
        [0, 1, 0]
    """
    return _program("components")(A=_square(a).reformat("csr"))["component"]


def k_core(a: ArrayLike) -> Array:
    """Return the core number of each vertex of an undirected graph; self-loops do not count.

    Raises:
        ValueError: the matrix is not square.

    Examples:
        >>> triangle_and_leaf = [[0, 1, 1, 0], [1, 0, 1, 0], [1, 1, 0, 1], [0, 0, 1, 0]]
        >>> rp.graph.k_core(rp.asarray(triangle_and_leaf)).tolist()
        [2, 2, 2, 1]
    """
    return _program("k_core")(A=_square(a).reformat("csr"))["core"]


def triangles(a: ArrayLike) -> int:
    """Count the triangles of an undirected graph; self-loops do not count.

    Raises:
        ValueError: the matrix is not square.

    Examples:
        >>> rp.graph.triangles(rp.asarray([[0, 1, 1], [1, 0, 1], [1, 1, 0]]))
        1
    """
    import redpoll

    array = _square(a)
    # Only edges from a larger to a smaller vertex remain, so each triangle is counted once.
    below = redpoll.tril((array != array.fill_value).astype(redpoll.int64), k=-1)
    return int(redpoll.einsum("ij,jk,ik->", below, below, below))


def pagerank(
    a: ArrayLike, *, damping: float = 0.85, tolerance: float = 1e-6, max_rounds: int = 100, weighted: bool = True
) -> Array:
    """Compute PageRank by power iteration; the ranks sum to 1.

    The rank of a vertex without outgoing edges is spread over all vertices. The iteration ends when
    the sum of the changes of all ranks is less than `tolerance` times the number of vertices. With
    `weighted`, the random walk follows an edge in proportion to its element. Otherwise all edges of
    a vertex are equally likely.

    Raises:
        ValueError: the matrix is not square, or the ranks have not settled after `max_rounds`.

    Examples:
        >>> ranks = rp.graph.pagerank(rp.asarray([[0.0, 1.0], [1.0, 0.0]]))
        >>> [round(rank, 6) for rank in ranks.tolist()]
        [0.5, 0.5]
    """
    import redpoll

    array = _square(a)
    count = array.shape[0]
    if count == 0:
        return redpoll.zeros((0,))
    is_edge = array != array.fill_value
    edges = (array if weighted else is_edge).astype(redpoll.float64)
    if weighted and array.fill_value != 0:
        edges = redpoll.where(is_edge, edges, 0.0)
    weights = redpoll.sum(edges, axis=1)
    ends = weights == 0
    share = redpoll.where(ends, 0.0, 1.0 / redpoll.where(ends, 1.0, weights))
    redpoll.compute(ends, share)
    ranks = redpoll.full((count,), 1.0 / count)
    for _ in range(max_rounds):
        lost = redpoll.sum(redpoll.where(ends, ranks, 0.0))
        following = damping * (redpoll.einsum("ij,i->j", edges, ranks * share) + lost / count) + (1.0 - damping) / count
        change = redpoll.sum(abs(following - ranks))
        redpoll.compute(following, change)
        ranks = following
        if float(change) < count * tolerance:
            return ranks
    raise ValueError(f"the ranks have not settled after {max_rounds} rounds; raise `max_rounds` or `tolerance`")
