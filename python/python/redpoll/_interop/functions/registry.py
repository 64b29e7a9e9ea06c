"""The adapters by name, and what they share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

#: The functions of NumPy by name.
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
    """Return the dtype of an array of floats, and `float64` for others."""
    return x.dtype if x.dtype.kind == "f" else namespace().float64
