"""The adapters by name, and the functions that adapters share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

#: The adapters, by the names of NumPy's functions.
ADAPTERS: dict[str, Callable[..., Any]] = {}


def namespace() -> Any:
    """Return the namespace of the package, which imports this module."""
    import redpoll

    return redpoll


def as_array(value: Any) -> Any:
    """Return an operand as an array."""
    return namespace().asarray(value)


def adapter(function: Callable[..., Any]) -> Callable[..., Any]:
    """Register a function as the adapter of NumPy's function of the same name."""
    ADAPTERS[function.__name__] = function
    return function


def float_dtype(x: Any) -> Any:
    """Return the dtype of an array of floats, and `float64` for other arrays."""
    return x.dtype if x.dtype.kind == "f" else namespace().float64
