"""Selections of vertices and edges: spanning forests, matchings, independent sets and colors."""

from __future__ import annotations

from typing import NamedTuple

import redpoll as rp

from .._array import Array
from .._typing import ArrayLike
from .call import adjacency, by_rows, run

__all__ = [
    "ColoringResult", "MatchingResult", "SpanningForestResult", "coloring", "independent_set", "matching",
    "spanning_forest",
]  # fmt: skip


class ColoringResult(NamedTuple):
    """A coloring of a graph, in which neighbours have different colors."""

    #: The color of each vertex, from 0.
    color: Array
    #: The number of colors.
    colors: int


class MatchingResult(NamedTuple):
    """A matching of the rows and columns of a matrix."""

    #: The column that is matched with each row; -1 for none.
    column: Array
    #: The row that is matched with each column; -1 for none.
    row: Array
    #: The number of matched pairs.
    size: int


class SpanningForestResult(NamedTuple):
    """A minimum spanning forest of a graph."""

    #: The matrix of the edges of the forest, in both directions, with their weights.
    forest: Array
    #: The sum of the weights; each edge counts once.
    total: float
    #: The number of edges.
    edges: int


def independent_set(a: ArrayLike, *, seed: int = 0) -> Array:
    """Compute a maximal independent set of an undirected graph, as a boolean for each vertex.

    No two vertices of the set are neighbours, and every other vertex has a neighbour in the set.
    Self-loops do not count. The set depends on `seed` (Luby, "A simple parallel algorithm for the
    maximal independent set problem", 1986).

    Raises:
        ValueError: the matrix is not square.

    Examples:
        >>> star = rp.asarray([[0, 1, 1], [1, 0, 0], [1, 0, 0]])
        >>> rp.graph.independent_set(star).tolist()
        [False, True, True]
    """
    return run("independent_set", A=by_rows(adjacency(a)), seed=seed)["member"]


def coloring(a: ArrayLike, *, seed: int = 0) -> ColoringResult:
    """Color an undirected graph so that neighbours have different colors.

    Each vertex takes the smallest free color, those with most neighbours first; `seed` decides the
    order of vertices with equally many neighbours. Self-loops do not count (Jones and Plassmann, "A
    parallel graph coloring heuristic", 1993).

    Raises:
        ValueError: the matrix is not square.

    Examples:
        >>> star = rp.asarray([[0, 1, 1], [1, 0, 0], [1, 0, 0]])
        >>> color, colors = rp.graph.coloring(star)
        >>> color.tolist(), colors
        ([0, 1, 1], 2)
    """
    outputs = run("coloring", A=by_rows(adjacency(a)), seed=seed)
    return ColoringResult(outputs["color"], int(outputs["colors"]))


def spanning_forest(a: ArrayLike) -> SpanningForestResult:
    """Compute a minimum spanning forest of an undirected graph by the algorithm of Borůvka.

    The forest has a tree with the smallest sum of weights for each component. Weights may be
    negative, and a weight of 0 needs another fill value, such as infinity. Self-loops do not count.

    Raises:
        ValueError: the matrix is not square.

    Examples:
        >>> weights = rp.asarray([[0.0, 1.0, 4.0], [1.0, 0.0, 2.0], [4.0, 2.0, 0.0]])
        >>> forest, total, edges = rp.graph.spanning_forest(weights)
        >>> forest.tolist()
        [[0.0, 1.0, 0.0], [1.0, 0.0, 2.0], [0.0, 2.0, 0.0]]
        >>> total, edges
        (3.0, 2)
    """
    outputs = run("spanning_forest", A=by_rows(adjacency(a)))
    return SpanningForestResult(outputs["forest"], float(outputs["total"]), int(outputs["count"]))


def matching(a: ArrayLike) -> MatchingResult:
    """Compute a maximum matching of a bipartite graph: a largest set of edges without common ends.

    The rows of the matrix are the vertices of one side, and the columns those of the other side. An
    element that differs from the fill value is an edge between its row and its column (Azad and
    Buluç, "Distributed-memory algorithms for maximum cardinality matching in bipartite graphs",
    2016).

    Raises:
        ValueError: the array is not a matrix.

    Examples:
        >>> column, row, size = rp.graph.matching(rp.asarray([[1, 1, 0], [1, 0, 0]]))
        >>> column.tolist(), row.tolist(), size
        ([1, 0], [1, 0, -1], 2)
    """
    array = rp.asarray(a)
    if array.ndim != 2:
        raise ValueError(f"a bipartite graph is a matrix of rows and columns, found shape {array.shape}")
    outputs = run("matching", A=by_rows(array))
    return MatchingResult(outputs["column"], outputs["row"], int(outputs["count"]))
