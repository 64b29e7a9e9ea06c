"""Elementwise functions: operators of the core by their names, and functions of several operators."""

from __future__ import annotations

from collections.abc import Callable

from .. import _core
from .._array import Array
from .._dtypes import isdtype
from .._typing import ArrayLike
from .creation import zeros_like

#: The names of the standard, and of NumPy, with the names of the operators.
_OPERATORS = {
    "abs": "abs", "acos": "acos", "acosh": "acosh", "add": "+", "asin": "asin", "asinh": "asinh", "atan": "atan",
    "atan2": "atan2", "atanh": "atanh", "bitwise_and": "band", "bitwise_invert": "bnot",
    "bitwise_left_shift": "shl", "bitwise_or": "bor", "bitwise_right_shift": "shr", "bitwise_xor": "bxor",
    "cbrt": "cbrt", "ceil": "ceil", "copysign": "copysign", "cos": "cos", "cosh": "cosh", "divide": "/",
    "equal": "eq", "erf": "erf", "exp": "exp", "exp2": "exp2", "expm1": "expm1", "floor": "floor",
    "floor_divide": "floordiv", "fmod": "fmod", "greater": "gt", "greater_equal": "ge", "hypot": "hypot",
    "isfinite": "isfinite", "isinf": "isinf", "isnan": "isnan", "less": "lt", "less_equal": "le",
    "lgamma": "lgamma", "log": "log", "log10": "log10", "log1p": "log1p", "log2": "log2", "logical_and": "and",
    "logical_not": "not", "logical_or": "or", "logical_xor": "xor", "maximum": "max", "minimum": "min",
    "multiply": "*", "negative": "neg", "nextafter": "nextafter", "not_equal": "ne", "pow": "pow",
    "reciprocal": "reciprocal", "remainder": "rem", "round": "round", "sign": "sign", "signbit": "signbit",
    "sin": "sin", "sinh": "sinh", "sqrt": "sqrt", "square": "square", "subtract": "-", "tan": "tan",
    "tanh": "tanh", "tgamma": "tgamma", "trunc": "trunc",
}  # fmt: skip


_UNARY = {
    "abs", "acos", "acosh", "asin", "asinh", "atan", "atanh", "bitwise_invert", "cbrt", "ceil", "cos", "cosh", "erf",
    "exp", "exp2", "expm1", "floor", "isfinite", "isinf", "isnan", "lgamma", "log", "log10", "log1p", "log2",
    "logical_not", "negative", "reciprocal", "round", "sign", "signbit", "sin", "sinh", "sqrt", "square", "tan",
    "tanh", "tgamma", "trunc",
}  # fmt: skip


def _function(name: str, operator: str) -> Callable[..., Array]:
    """Return the function of an operator, with the signature of the standard."""
    apply = _core.Operator(operator)
    if name in _UNARY:

        def function(x: Array, /) -> Array:
            return apply(x)
    else:

        def function(x1: ArrayLike, x2: ArrayLike, /) -> Array:
            return apply(x1, x2)

    function.__name__ = function.__qualname__ = name
    function.__module__ = "redpoll"
    function.__doc__ = f"Apply the operator `{operator}` elementwise. {_DESCRIPTIONS[operator]}"
    return function


_DESCRIPTIONS = dict(_core.operator_names())
globals().update({name: _function(name, operator) for name, operator in _OPERATORS.items()})


def clip(x: Array, /, min: ArrayLike | None = None, max: ArrayLike | None = None) -> Array:
    """Clamp the elements to the range from `min` to `max`; `None` does not limit a side."""
    result = x
    for name, bound in (("max", min), ("min", max)):
        if bound is not None:
            result = result.apply(name, bound)
    # Bounds of another dtype do not change that of the elements.
    return result if result.dtype_name == x.dtype_name else result.cast(x.dtype_name)


def logaddexp(x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """Compute `log(exp(x1) + exp(x2))` without intermediate overflow."""
    larger, smaller = maximum(x1, x2), minimum(x1, x2)  # noqa: F821
    difference = where(larger == smaller, 0.0, smaller - larger)
    return larger + difference.apply("exp").apply("log1p")


def positive(x: Array, /) -> Array:
    """Return the elements as they are."""
    return x


def conj(x: Array, /) -> Array:
    """Return the complex conjugates, which are the elements themselves as they are real."""
    return x


def real(x: Array, /) -> Array:
    """Return the real parts, which are the elements themselves as they are real."""
    return x


def imag(x: Array, /) -> Array:
    """Return the imaginary parts, which are zeros as the elements are real."""
    if not isdtype(x.dtype, "real floating"):
        raise TypeError(f"imag expects an array of floats, found {x.dtype}")
    return zeros_like(x)


_IF_ELSE = _core.Operator("ifelse")


def where(condition: ArrayLike, x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """Return the elements of `x1` where the condition is true, and those of `x2` elsewhere."""
    return _IF_ELSE(condition, x1, x2)


__all__ = [*_OPERATORS, "clip", "logaddexp", "positive", "conj", "real", "imag"]
