"""Adapters for products and norms."""

from __future__ import annotations

import math
import string
from typing import Any

from .registry import adapter, as_array, float_dtype, namespace


@adapter
def dot(a: Any, b: Any) -> Any:
    a, b = as_array(a), as_array(b)
    if a.ndim == 0 or b.ndim == 0:
        return a * b
    if a.ndim <= 2 and b.ndim <= 2:
        return a @ b
    return namespace().tensordot(a, b, axes=([a.ndim - 1], [max(b.ndim - 2, 0)]))


@adapter
def vdot(a: Any, b: Any) -> Any:
    xp = namespace()
    return xp.vecdot(xp.reshape(as_array(a), (-1,)), xp.reshape(as_array(b), (-1,)))


@adapter
def inner(a: Any, b: Any) -> Any:
    a, b = as_array(a), as_array(b)
    return a * b if a.ndim == 0 or b.ndim == 0 else namespace().tensordot(a, b, axes=([a.ndim - 1], [b.ndim - 1]))


@adapter
def outer(a: Any, b: Any) -> Any:
    xp = namespace()
    return xp.outer(xp.reshape(as_array(a), (-1,)), xp.reshape(as_array(b), (-1,)))


@adapter
def kron(a: Any, b: Any) -> Any:
    return namespace().kron(as_array(a), as_array(b))


@adapter
def tensordot(a: Any, b: Any, axes: Any = 2) -> Any:
    if not isinstance(axes, int):
        # NumPy accepts a number in place of a list of one axis, and negative axes.
        a_axes, b_axes = ([one] if isinstance(one, int) else list(one) for one in axes)
        axes = ([axis % a.ndim for axis in a_axes], [axis % b.ndim for axis in b_axes])
    return namespace().tensordot(as_array(a), as_array(b), axes=axes)


def _letters(modes: Any) -> str:
    """Return the letters of modes that are given as numbers."""
    return "".join("..." if mode is Ellipsis else string.ascii_letters[mode] for mode in modes)


@adapter
def einsum(subscripts: Any, *operands: Any, dtype: Any = None) -> Any:
    if not isinstance(subscripts, str):
        # Each operand is followed by the list of its modes, and the last list has the result's
        # modes.
        parts = [subscripts, *operands]
        last = parts.pop() if len(parts) % 2 else None
        operands, lists = tuple(parts[::2]), parts[1::2]
        subscripts = ",".join(map(_letters, lists)) + ("" if last is None else f"->{_letters(last)}")
    arrays = [as_array(one) if dtype is None else as_array(one).astype(dtype) for one in operands]
    return namespace().einsum(subscripts, *arrays)


@adapter
def linalg_norm(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Any:
    xp = namespace()
    modes = x.ndim if axis is None else 1 if isinstance(axis, int) else len(axis)
    if ord not in (None, "fro") and (modes != 1 or not isinstance(ord, (int, float))):
        return NotImplemented
    if ord == "fro" and modes != 2:
        raise ValueError(f"the Frobenius norm expects 2 modes, found {modes}")
    axis = tuple(range(x.ndim)) if axis is None else axis
    magnitudes = xp.abs(x)
    if ord in (None, "fro", 2):
        return xp.sqrt(xp.sum(xp.square(magnitudes.astype(float_dtype(x))), axis=axis, keepdims=keepdims))
    if math.isinf(ord):
        return (xp.max if ord > 0 else xp.min)(magnitudes, axis=axis, keepdims=keepdims)
    if ord == 0:
        return xp.count_nonzero(x, axis=axis, keepdims=keepdims).astype(float_dtype(x))
    powers = xp.sum(magnitudes.astype(float_dtype(x)) ** float(ord), axis=axis, keepdims=keepdims)
    return powers ** (1.0 / ord)
