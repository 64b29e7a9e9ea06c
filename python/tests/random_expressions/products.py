"""Steps that compute products and sums of products, and steps that take triangles and diagonals."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp

import redpoll as rp

from . import leaves
from .folds import sums_exactly
from .program import KINDS, Node, Program, Skip, widen


def _finite(program: Program, *nodes: Node) -> None:
    """Raise `Skip` if products may overflow, or are unspecified for relaxed floats."""
    for node in nodes:
        for dense in (node.dense, node.fills):
            if dense.dtype.kind == "f":
                bounded = np.isfinite(dense).all() and np.abs(dense).max(initial=0) < 1e30
                if not bounded and (not program.strict or np.abs(dense[np.isfinite(dense)]).max(initial=0) >= 1e30):
                    raise Skip


def _exact(*nodes: Node) -> bool:
    return all(sums_exactly(dense, squared=True) for node in nodes for dense in (node.dense, node.fills))


def _apply(
    program: Program, text: str, ours: Callable[..., Any], numpy: Callable[..., Any], *nodes: Node, given: Any = None
) -> None:
    _finite(program, *nodes)
    node = program.apply(text, ours, numpy, *nodes, exact=_exact(*nodes), given=given)
    node.zeros_open = True
    widen(node)


def matmul(program: Program) -> None:
    """Multiply matrices, vectors and stacks of matrices."""
    x = program.node(rank=1)
    *stack, size = x.dense.shape
    columns = program.pick((2, 1, 3, 0))
    shape: tuple[int, ...] = program.pick(((size,), (size, columns)))
    if len(shape) == 2 and len(stack) > 1 and program.flag():
        shape = (*(1 if program.flag() else one for one in stack[:-1]), *shape)
    y = leaves.leaf(program, shape)
    left, right = x.array, y.array
    text = "{} @ {}"
    if y.raw is not None and program.flag():
        right, text = y.raw, "{} @ raw({})"
    elif isinstance(x.raw, np.ndarray) and program.flag():
        left, text = x.raw, "raw({}) @ {}"
    _apply(program, text, lambda a, b: a @ b, np.matmul, x, y, given=[left, right])


def of_scipy(program: Program) -> None:
    """Multiply a matrix of SciPy by an array of redpoll. SciPy computes a dense result at once."""
    x = program.node(rank=1, test=lambda node: sp.issparse(node.raw) and node.dense.ndim == 2)
    y = leaves.leaf(program, (x.dense.shape[1], 2))
    _finite(program, x, y)
    result = x.raw @ y.array
    # SciPy leaves out the products with elements that are not stored.
    expected = x.raw @ y.dense
    found = np.asarray(result.todense() if hasattr(result, "todense") else result)
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)


def tensordot(program: Program) -> None:
    """Sum products over pairs of modes."""
    x = program.node()
    count = program.integer(0, min(x.dense.ndim, 2))
    others = (program.pick((2, 1, 3)),) if program.flag() else ()
    if program.flag():
        y = leaves.leaf(program, (*x.dense.shape[x.dense.ndim - count :], *others))
        axes: Any = count
    else:
        modes = list(program.shuffled(range(x.dense.ndim)))[:count]
        y = leaves.leaf(program, (*others, *(x.dense.shape[mode] for mode in modes)))
        axes = (modes, list(range(len(others), len(others) + count)))
    if x.dense.size * max(y.dense.size, 1) > 2000:
        raise Skip
    dtype = np.result_type(x.dense, y.dense)

    def numpy(a: np.ndarray, b: np.ndarray) -> Any:
        return np.tensordot(a.astype(dtype), b.astype(dtype), axes)

    _apply(program, f"rp.tensordot({{}}, {{}}, axes={axes})", lambda a, b: rp.tensordot(a, b, axes=axes), numpy, x, y)


def vecdot(program: Program) -> None:
    """Sum products along an axis."""
    x = program.node(rank=1)
    axis = -1 if program.flag() else -program.integer(1, x.dense.ndim)
    shape = tuple(
        1 if program.integer(0, 4) == 4 and k != x.dense.ndim + axis else n for k, n in enumerate(x.dense.shape)
    )
    y = leaves.leaf(program, shape[program.integer(0, x.dense.ndim + axis) :])
    _apply(
        program,
        f"rp.vecdot({{}}, {{}}, axis={axis})",
        lambda a, b: rp.vecdot(a, b, axis=axis),
        lambda a, b: np.vecdot(a, b, axis=axis),
        x,
        y,
    )


def outer(program: Program) -> None:
    """Multiply all pairs of elements."""
    x = program.node(rank=1, test=lambda node: node.dense.size <= 12)
    name = program.pick(("outer", "kron"))
    if name == "outer" and x.dense.ndim != 1 or x.dense.ndim > 2:
        raise Skip
    y = leaves.leaf(program, tuple(program.integer(0, 3) for _ in range(x.dense.ndim)))
    _apply(program, f"rp.{name}({{}}, {{}})", getattr(rp, name), getattr(np, name), x, y)


_LETTERS = "ijklmnop"


def einsum(program: Program) -> None:
    """Sum products over modes that are named by letters."""
    x = program.node("number")
    letters = "".join(_LETTERS[: x.dense.ndim])
    sizes = dict(zip(letters, x.dense.shape, strict=True))
    names = list(letters) + ["z"]
    sizes["z"] = program.pick((2, 1, 3))
    chosen = "".join(name for name in program.shuffled(names) if program.flag())
    y = leaves.leaf(program, tuple(sizes[name] for name in chosen), KINDS["number"])
    if x.dense.size * max(y.dense.size, 1) > 2000:
        raise Skip
    if not all(part.dtype.kind != "f" or np.isfinite(part).all() for part in (x.dense, x.fills, y.dense, y.fills)):
        # NumPy moves a common factor out of a sum, which changes results with infinities or NaN.
        raise Skip
    every = sorted(set(letters + chosen))
    result = "".join(name for name in program.shuffled(every) if program.flag())
    spec = f"{letters},{chosen}->{result}"
    dtype = np.result_type(x.dense, y.dense)

    def numpy(a: np.ndarray, b: np.ndarray) -> Any:
        return np.einsum(spec, a.astype(dtype), b.astype(dtype))

    given = [x.array, y.raw if y.raw is not None and program.flag() else y.array]
    _apply(program, f"rp.einsum('{spec}', {{}}, {{}})", lambda a, b: rp.einsum(spec, a, b), numpy, x, y, given=given)


def triangle(program: Program) -> None:
    """Take a triangle, a diagonal, or the sum of a diagonal."""
    x = program.node(rank=2)
    name, k = program.pick(("tril", "triu", "diagonal", "trace")), program.integer(-2, 2)
    if name in ("tril", "triu"):
        program.apply(
            f"rp.{name}({{}}, k={k})",
            lambda a: getattr(rp, name)(a, k=k),
            lambda a: getattr(np, name)(a, k),
            x,
            fill=not x.fills.any(),
        )
        return
    # The offset of a diagonal outside of the matrix is not an error.
    if name == "diagonal":
        program.apply(
            f"rp.diagonal({{}}, offset={k})", lambda a: rp.diagonal(a, offset=k), lambda a: np.diagonal(a, k, -2, -1), x
        )
        return
    _apply(program, f"rp.trace({{}}, offset={k})", lambda a: rp.trace(a, offset=k), lambda a: np.trace(a, k, -2, -1), x)


STEPS = ((matmul, 5), (of_scipy, 1), (tensordot, 2), (vecdot, 2), (outer, 1), (einsum, 3), (triangle, 2))
