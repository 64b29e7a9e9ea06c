"""Steps that sort or search elements, or whose result's shape depends on the elements."""

from __future__ import annotations

from typing import Any

import numpy as np

import redpoll as rp

from . import leaves
from .program import Node, Program, Skip


def _ordered(program: Program, *, rank: int = 0) -> Node:
    """Draw an array without NaN, because the standard does not define the order of NaN."""
    return program.node(
        "any", exact=True, rank=rank, test=lambda node: node.kind != "f" or not np.isnan(node.dense).any()
    )


def sort(program: Program) -> None:
    """Sort along an axis, or find the coordinates that sort the elements."""
    x = _ordered(program, rank=1)
    axis, descending = program.axis(x), program.flag()
    name = program.pick(("sort", "argsort"))

    def numpy(a: np.ndarray) -> Any:
        if not descending:
            return getattr(np, name)(a, axis=axis, stable=True)
        if name == "sort":
            return np.flip(np.sort(a, axis=axis, stable=True), axis)
        return a.shape[axis] - 1 - np.flip(np.argsort(np.flip(a, axis), axis=axis, stable=True), axis)

    program.apply(
        f"rp.{name}({{}}, axis={axis}, descending={descending})",
        lambda a: getattr(rp, name)(a, axis=axis, descending=descending),
        numpy,
        x,
        fill=name == "sort",
    )


def unique(program: Program) -> None:
    """Find the distinct values, their first indices, the inverse indices, or the counts."""
    x = _ordered(program)
    at = program.integer(0, 3)

    def numpy(a: np.ndarray) -> Any:
        values, first, inverse, counts = np.unique(a, return_index=True, return_inverse=True, return_counts=True)
        return (values, first, inverse.reshape(a.shape), counts)[at]

    program.apply(f"rp.unique_all({{}})[{at}]", lambda a: rp.unique_all(a)[at], numpy, x, fill=False)


def searchsorted(program: Program) -> None:
    """Find the positions of values in a sorted vector."""
    x = _ordered(program)
    dense = np.sort(leaves.elements(program, (program.integer(0, 5),), str(x.dense.dtype)))
    if dense.dtype.kind == "f" and np.isnan(dense).any():
        raise Skip
    side = program.pick(("left", "right"))
    program.apply(
        f"rp.searchsorted(rp.asarray(np.array({dense.tolist()}, '{dense.dtype}')), {{}}, side='{side}')",
        lambda a: rp.searchsorted(rp.asarray(dense), a, side=side),
        lambda a: np.asarray(np.searchsorted(dense, a, side=side)),
        x,
        fill=False,
    )


def isin(program: Program) -> None:
    """Test whether elements are among values."""
    x, invert = _ordered(program), program.flag()
    y = leaves.leaf(program, (program.integer(0, 3),), x.kind)
    if y.dense.dtype.kind == "f" and np.isnan(y.dense).any():
        raise Skip
    program.apply(
        f"rp.isin({{}}, {{}}, invert={invert})",
        lambda a, b: rp.isin(a, b, invert=invert),
        lambda a, b: np.isin(a, b, invert=invert),
        x,
        y,
        fill=False,
    )


def nonzero(program: Program) -> None:
    """Find the coordinates of elements that are not zero."""
    x = program.node(exact=True, rank=1)
    at = program.integer(0, x.dense.ndim - 1)
    program.apply(f"rp.nonzero({{}})[{at}]", lambda a: rp.nonzero(a)[at], lambda a: np.nonzero(a)[at], x, fill=False)


STEPS = ((sort, 3), (unique, 2), (searchsorted, 1), (isin, 1), (nonzero, 1))
