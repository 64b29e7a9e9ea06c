"""Adapters for properties and dtypes of arrays, and for copies and arrays of an equal shape."""

from __future__ import annotations

from typing import Any

import numpy as np

from .registry import ADAPTERS, adapter, as_array, namespace


@adapter
def shape(a: Any) -> Any:
    return a.shape


@adapter
def ndim(a: Any) -> Any:
    return a.ndim


@adapter
def size(a: Any, axis: Any = None) -> Any:
    return a.size if axis is None else a.shape[axis]


@adapter
def result_type(*arrays_and_dtypes: Any) -> Any:
    return np.result_type(*(value.dtype.numpy if hasattr(value, "fill_value") else value for value in arrays_and_dtypes))


@adapter
def can_cast(from_: Any, to: Any, casting: Any = "safe") -> Any:
    return np.can_cast(getattr(from_, "dtype", from_).numpy, to, casting)


@adapter
def iscomplexobj(x: Any) -> Any:
    return False


@adapter
def isrealobj(x: Any) -> Any:
    return True


@adapter
def may_share_memory(a: Any, b: Any, max_work: Any = None) -> Any:
    return a is b


shares_memory = ADAPTERS["shares_memory"] = may_share_memory


@adapter
def copy(a: Any) -> Any:
    return a.__copy__()


def _like(name: str) -> None:
    def like(prototype: Any, dtype: Any = None, *, shape: Any = None) -> Any:
        size = prototype.shape if shape is None else shape
        return getattr(namespace(), name)(size, dtype=as_array(prototype).dtype if dtype is None else dtype)

    ADAPTERS[f"{name}_like"] = like


for _name in ("zeros", "ones", "empty"):
    _like(_name)


@adapter
def full_like(a: Any, fill_value: Any, dtype: Any = None, *, shape: Any = None) -> Any:
    size = a.shape if shape is None else shape
    fill_value = fill_value.item() if hasattr(fill_value, "item") else fill_value
    return namespace().full(size, fill_value, dtype=as_array(a).dtype if dtype is None else dtype)
