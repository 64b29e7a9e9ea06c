"""NumPy's functions on arrays of redpoll, which `__array_function__` calls.

A function of the namespace that has the name and the arguments of NumPy's function needs no entry
here. For the other functions, an adapter takes the arguments of NumPy's function, and calls the
namespace.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np

from ... import _core
from . import creation, products, reductions, selections, shapes  # noqa: F401
from .registry import ADAPTERS, namespace

__all__ = ["ADAPTERS", "call"]

#: Names of functions of NumPy that differ from the names of the Array API standard.
_RENAMED = {"around": "round"}


def call(
    called: Callable[..., Any], types: Iterable[type], args: Sequence[Any], kwargs: Mapping[str, Any]
) -> Any:
    """Return the result of a function of NumPy, or `NotImplemented`.

    The result is `NotImplemented` for arrays of other libraries that may contain arrays of redpoll,
    such as dask. These libraries implement the function.
    """
    if called.__module__ not in ("numpy", "numpy.linalg"):
        return NotImplemented
    if not all(issubclass(one, (_core.Array, np.ndarray)) or one.__module__.startswith("sparse") for one in types):
        return NotImplemented
    name = called.__name__ if called.__module__ == "numpy" else f"linalg_{called.__name__}"
    function = ADAPTERS.get(name) or getattr(namespace(), _RENAMED.get(name, name), None)
    if not callable(function) or isinstance(function, type):
        return NotImplemented
    # Arguments whose values change nothing are dropped, because the function may lack them.
    given = {key: value for key, value in kwargs.items() if not _is_neutral(function, key, value)}
    if not _accepts(function, len(args), tuple(given)):
        return NotImplemented
    return function(*args, **given)


#: The values of arguments that change nothing, besides `None`.
_NEUTRAL: dict[str, tuple[Any, ...]] = {
    "out": (), "where": (True,), "copy": (), "subok": (True, False), "like": (), "order": ("K", "C"),
    "casting": ("same_kind", "safe"), "optimize": (True, False), "overwrite_input": (False,), "kind": (), "device": (),
}  # fmt: skip


def _is_neutral(function: Callable[..., Any], key: str, value: Any) -> bool:
    """Return whether an argument can be dropped: its value has no effect on the function."""
    if key not in _NEUTRAL or value is None:
        return key in _NEUTRAL
    parameters = _parameters(function)
    if parameters is not None and key in parameters[1]:
        return False
    return isinstance(value, (bool, str)) and value in _NEUTRAL[key]


def _accepts(function: Callable[..., Any], count: int, names: tuple[str, ...]) -> bool:
    """Return whether a function accepts `count` positional arguments and keywords `names`."""
    parameters = _parameters(function)
    return parameters is None or (count <= parameters[0] and all(name in parameters[1] for name in names))


@cache
def _parameters(function: Callable[..., Any]) -> tuple[float, frozenset[str]] | None:
    """Return the number of positional arguments of a function, and the names of its arguments."""
    try:
        found = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return None
    positional = [p for p in found if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    count = math.inf if any(p.kind is p.VAR_POSITIONAL for p in found) else len(positional)
    return count, frozenset(p.name for p in found)
