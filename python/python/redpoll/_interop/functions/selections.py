"""Adapters for selections, sorts, searches, comparisons and elementwise functions."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .registry import ADAPTERS, adapter, as_array, float_dtype, namespace


@adapter
def take(a: Any, indices: Any, axis: Any = None) -> Any:
    xp, a = namespace(), as_array(a)
    a, axis = (xp.reshape(a, (-1,)), 0) if axis is None else (a, axis)
    return a[(*(slice(None),) * (axis % a.ndim), indices if isinstance(indices, int) else as_array(indices))]


@adapter
def take_along_axis(arr: Any, indices: Any, axis: int = -1) -> Any:
    return namespace().take_along_axis(arr, as_array(indices), axis=axis)


@adapter
def compress(condition: Any, a: Any, axis: Any = None) -> Any:
    return take(a, np.flatnonzero(np.asarray(condition)), axis)


@adapter
def where(condition: Any, *values: Any) -> Any:
    if not values:
        return namespace().nonzero(as_array(condition))
    if len(values) != 2:
        raise ValueError("where expects both or neither of the values `x` and `y`")
    numbers = (bool, int, float)
    return namespace().where(as_array(condition), *(one if isinstance(one, numbers) else as_array(one) for one in values))


@adapter
def nonzero(a: Any) -> Any:
    return namespace().nonzero(a)


@adapter
def flatnonzero(a: Any) -> Any:
    return namespace().nonzero(namespace().reshape(a, (-1,)))[0]


@adapter
def argwhere(a: Any) -> Any:
    from ... import _core

    return _core.argwhere(as_array(a))


@adapter
def sort(a: Any, axis: Any = -1, *, stable: Any = None) -> Any:
    return namespace().sort(namespace().reshape(a, (-1,)) if axis is None else a, axis=-1 if axis is None else axis)


@adapter
def argsort(a: Any, axis: Any = -1, *, stable: Any = None) -> Any:
    return namespace().argsort(namespace().reshape(a, (-1,)) if axis is None else a, axis=-1 if axis is None else axis)


@adapter
def searchsorted(a: Any, v: Any, side: str = "left") -> Any:
    return namespace().searchsorted(as_array(a), as_array(v), side=side)


@adapter
def unique(
    ar: Any, return_index: bool = False, return_inverse: bool = False, return_counts: bool = False, *,
    equal_nan: bool = True, sorted: bool = True,
) -> Any:  # fmt: skip
    from ... import _core

    # The core counts NaN as one value.
    values, first, counts, inverse = _core.unique(ar)
    if not equal_nan:
        values, first, inverse, counts = namespace().unique_all(ar)
    parts = ((first, return_index), (inverse, return_inverse), (counts, return_counts))
    results = (values, *(part for part, asked in parts if asked))
    return results[0] if len(results) == 1 else results


@adapter
def isin(element: Any, test_elements: Any, *, invert: bool = False) -> Any:
    return namespace().isin(as_array(element), as_array(test_elements), invert=invert)


@adapter
def clip(a: Any, a_min: Any = None, a_max: Any = None, *, min: Any = None, max: Any = None) -> Any:
    return namespace().clip(as_array(a), a_min if min is None else min, a_max if max is None else max)


@adapter
def round(a: Any, decimals: int = 0) -> Any:
    xp = namespace()
    return xp.round(a) if decimals == 0 else xp.round(a * 10.0**decimals) / 10.0**decimals


ADAPTERS["around"] = round


@adapter
def real(val: Any) -> Any:
    return val


@adapter
def imag(val: Any) -> Any:
    return namespace().zeros_like(val)


@adapter
def nan_to_num(x: Any, *, nan: float = 0.0, posinf: Any = None, neginf: Any = None) -> Any:
    xp = namespace()
    if x.dtype.kind != "f":
        return x
    limits = xp.finfo(x.dtype)
    x = xp.where(xp.isnan(x), nan, x)
    x = xp.where(x == math.inf, limits.max if posinf is None else posinf, x)
    return xp.where(x == -math.inf, limits.min if neginf is None else neginf, x)


@adapter
def isclose(a: Any, b: Any, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> Any:
    xp = namespace()
    a, b = as_array(a), as_array(b)
    close = (xp.abs(a - b) <= atol + rtol * xp.abs(b)) & xp.isfinite(b.astype(float_dtype(b)))
    close = close | (a == b)
    return close | (xp.isnan(a) & xp.isnan(b)) if equal_nan else close


@adapter
def allclose(a: Any, b: Any, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> Any:
    return bool(namespace().all(isclose(a, b, rtol, atol, equal_nan)))


@adapter
def array_equal(a1: Any, a2: Any, equal_nan: bool = False) -> Any:
    xp = namespace()
    a, b = as_array(a1), as_array(a2)
    if a.shape != b.shape:
        return False
    equal = a == b
    return bool(xp.all(equal | (xp.isnan(a) & xp.isnan(b)) if equal_nan else equal))


@adapter
def array_equiv(a1: Any, a2: Any) -> Any:
    try:
        return bool(namespace().all(as_array(a1) == as_array(a2)))
    except ValueError:
        return False
