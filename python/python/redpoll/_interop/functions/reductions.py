"""Adapters for reductions and scans, most of which have the axis as second argument."""

from __future__ import annotations

import math
from typing import Any

from .registry import ADAPTERS, adapter, as_array, namespace


def _reduction(name: str, *, dtype: bool = False) -> None:
    def function() -> Any:
        return getattr(namespace(), name)

    def reduction(a: Any, axis: Any = None, *, keepdims: bool = False) -> Any:
        return function()(as_array(a), axis=axis, keepdims=keepdims)

    def typed(a: Any, axis: Any = None, dtype: Any = None, *, keepdims: bool = False) -> Any:
        return function()(as_array(a), axis=axis, dtype=dtype, keepdims=keepdims)

    def moment(
        a: Any, axis: Any = None, dtype: Any = None, *, ddof: float = 0, correction: float = 0, keepdims: bool = False
    ) -> Any:
        x = as_array(a) if dtype is None else as_array(a).astype(dtype)
        return function()(x, axis=axis, correction=correction or ddof, keepdims=keepdims)

    def mean(a: Any, axis: Any = None, dtype: Any = None, *, keepdims: bool = False) -> Any:
        return function()(as_array(a) if dtype is None else as_array(a).astype(dtype), axis=axis, keepdims=keepdims)

    if name.endswith(("var", "std")):
        ADAPTERS[name] = moment
    elif name.endswith("mean"):
        ADAPTERS[name] = mean
    else:
        ADAPTERS[name] = typed if dtype else reduction


for _name in ("sum", "prod"):
    _reduction(_name, dtype=True)
for _name in (
    "min", "max", "mean", "var", "std", "any", "all", "count_nonzero", "median", "nansum", "nanprod", "nanmin",
    "nanmax", "nanmean", "nanvar", "nanstd", "argmin", "argmax",
):  # fmt: skip
    _reduction(_name)
ADAPTERS["amin"], ADAPTERS["amax"] = ADAPTERS["min"], ADAPTERS["max"]


@adapter
def nanmedian(a: Any, axis: Any = None, *, keepdims: bool = False) -> Any:
    a = as_array(a)
    if a.dtype.kind == "f" and bool(namespace().any(namespace().isnan(a))):
        # NumPy skips the NaN along an axis; the median of the namespace does not.
        return NotImplemented
    return namespace().median(a, axis=axis, keepdims=keepdims)


@adapter
def nanargmax(a: Any, axis: Any = None, *, keepdims: bool = False) -> Any:
    return namespace().argmax(_without_nan(a, -math.inf, axis), axis=axis, keepdims=keepdims)


@adapter
def nanargmin(a: Any, axis: Any = None, *, keepdims: bool = False) -> Any:
    return namespace().argmin(_without_nan(a, math.inf, axis), axis=axis, keepdims=keepdims)


def _without_nan(a: Any, value: float, axis: Any) -> Any:
    """Return an array with a value in place of NaN; raise if all elements along an axis are NaN."""
    xp, a = namespace(), as_array(a)
    if a.dtype.kind != "f":
        return a
    if bool(xp.any(xp.all(xp.isnan(a), axis=axis))):
        raise ValueError("All-NaN slice encountered")
    return xp.where(xp.isnan(a), value, a)


@adapter
def nancumsum(a: Any, axis: Any = None, dtype: Any = None) -> Any:
    return cumsum(namespace().where(namespace().isnan(a), 0.0, a) if a.dtype.kind == "f" else a, axis, dtype)


@adapter
def nancumprod(a: Any, axis: Any = None, dtype: Any = None) -> Any:
    return cumprod(namespace().where(namespace().isnan(a), 1.0, a) if a.dtype.kind == "f" else a, axis, dtype)


@adapter
def ptp(a: Any, axis: Any = None, *, keepdims: bool = False) -> Any:
    return namespace().max(a, axis=axis, keepdims=keepdims) - namespace().min(a, axis=axis, keepdims=keepdims)


@adapter
def average(a: Any, axis: Any = None, weights: Any = None, *, keepdims: bool = False) -> Any:
    xp, a = namespace(), as_array(a)
    if weights is None:
        return xp.mean(a, axis=axis, keepdims=keepdims)
    weights = as_array(weights)
    if weights.shape != a.shape:
        weights = xp.reshape(weights, [-1 if mode == axis % a.ndim else 1 for mode in range(a.ndim)])
    weights = xp.broadcast_to(weights, a.shape)
    total = xp.sum(weights, axis=axis, keepdims=keepdims)
    return xp.sum(a * weights, axis=axis, keepdims=keepdims) / total


@adapter
def quantile(a: Any, q: float, axis: Any = None, *, keepdims: bool = False) -> Any:
    return namespace().quantile(as_array(a), float(q), axis=axis, keepdims=keepdims)


@adapter
def percentile(a: Any, q: float, axis: Any = None, *, keepdims: bool = False) -> Any:
    return namespace().quantile(as_array(a), float(q) / 100, axis=axis, keepdims=keepdims)


@adapter
def cumsum(a: Any, axis: Any = None, dtype: Any = None) -> Any:
    a = as_array(a)
    return namespace().cumulative_sum(namespace().reshape(a, (-1,)) if axis is None else a, axis=axis or 0, dtype=dtype)


@adapter
def cumprod(a: Any, axis: Any = None, dtype: Any = None) -> Any:
    a = as_array(a)
    return namespace().cumulative_prod(namespace().reshape(a, (-1,)) if axis is None else a, axis=axis or 0, dtype=dtype)


@adapter
def diff(a: Any, n: int = 1, axis: int = -1, prepend: Any = None, append: Any = None) -> Any:
    edges = {name: as_array(edge) for name, edge in (("prepend", prepend), ("append", append)) if edge is not None}
    return namespace().diff(as_array(a), axis=axis, n=n, **edges)
