"""Calls of the programs of the folder `programs/`, and the arguments of graph algorithms."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from operator import index

import numpy as np

import redpoll as rp

from .. import _core
from .._array import Array
from .._program import Program
from .._typing import ArrayLike

__all__ = ["adjacency", "by_columns", "by_rows", "check_vertex", "edges", "run", "vertex_list", "weights"]


@cache
def _program(name: str) -> Program:
    return Program(_core.graph_programs()[name])


def run(name: str, /, **inputs: ArrayLike) -> dict[str, Array]:
    """Run a program, and return its outputs by name."""
    return _program(name)(**inputs)


def adjacency(a: ArrayLike) -> Array:
    """Return an adjacency matrix as an array. Raises `ValueError` unless the matrix is square."""
    array = rp.asarray(a)
    if array.ndim != 2 or array.shape[0] != array.shape[1]:
        raise ValueError(f"an adjacency matrix is square, found shape {array.shape}")
    return array


def check_vertex(array: Array, vertex: int) -> int:
    """Return a vertex as a number. Raises `IndexError` unless the graph has the vertex."""
    number = index(vertex)
    if not 0 <= number < array.shape[0]:
        raise IndexError(f"the vertex {number} is not one of the {array.shape[0]} vertices")
    return number


def vertex_list(array: Array, vertices: Iterable[int] | None) -> Array:
    """Return a vector of the given vertices, or of all vertices for `None`."""
    if vertices is None:
        return rp.arange(array.shape[0], dtype=rp.int64)
    return rp.asarray(np.array([check_vertex(array, vertex) for vertex in vertices], np.int64))


def by_rows(array: Array) -> Array:
    """Return an array that is stored by rows. The engine keeps the conversion with the array."""
    return array.reformat("csr").compute()


def by_columns(array: Array) -> Array:
    """Return an array that is stored by columns. The engine keeps the conversion with the array."""
    return array.reformat("csc").compute()


def edges(array: Array) -> Array:
    """Return the boolean matrix of the edges."""
    is_edge: Array = array != array.fill_value
    return is_edge


def weights(array: Array, missing: float) -> Array:
    """Return the elements of edges as floats by rows, with `missing` where there is no edge."""
    return by_rows(rp.where(edges(array), array.astype(rp.float64), missing))
