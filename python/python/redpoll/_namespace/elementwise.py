"""Elementwise functions: a function for each row of the table, and functions of several operators.

Type checkers read `elementwise.pyi`, which `tools/stubs.py` generates.
"""

from __future__ import annotations

from collections.abc import Callable

from .. import _core
from .._array import Array
from .._dtypes import bool as bool_
from .._typing import ArrayLike
from ._operators import FUNCTIONS, ElementwiseFunction
from .creation import zeros_like


def _function(row: ElementwiseFunction) -> Callable[..., Array]:
    """Return the function of a row of the table, with the signature of the Array API standard."""
    apply = _core.Operator(row.operator)
    if row.operands == 1:

        def function(x: Array, /) -> Array:
            return apply(x)
    else:

        def function(x1: ArrayLike, x2: ArrayLike, /) -> Array:
            return apply(x1, x2)

    function.__name__ = function.__qualname__ = row.name
    function.__module__ = "redpoll"
    function.__doc__ = _document(row)
    return function


def _document(row: ElementwiseFunction) -> str:
    """Return the documentation of the function of a row."""
    shape = " The operands are broadcast to their common shape." if row.operands == 2 else ""
    return f"""Apply the operator `{row.operator}` elementwise.

    {_DESCRIPTIONS[row.operator]}{shape}

    Raises:
        TypeError: the operator is not defined for the dtype of an operand.

    Examples:
        >>> rp.{row.name}({row.arguments}).tolist()
        {row.result}
    """


_DESCRIPTIONS = dict(_core.operator_names())
globals().update({row.name: _function(row) for row in FUNCTIONS})


def clip(x: Array, /, min: ArrayLike | None = None, max: ArrayLike | None = None) -> Array:
    """Clamp the elements to the range from `min` to `max`; `None` means no limit.

    Examples:
        >>> rp.clip(rp.asarray([-5, 0, 5]), -1, 3).tolist()
        [-1, 0, 3]
    """
    result = x
    for name, bound in (("max", min), ("min", max)):
        if bound is not None:
            result = result.apply(name, bound)
    # The result has the dtype of the elements, also for bounds of another dtype.
    return result if result.dtype_name == x.dtype_name else result.cast(x.dtype_name)


def logaddexp(x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """Compute `log(exp(x1) + exp(x2))` without intermediate overflow.

    Examples:
        >>> rp.logaddexp(rp.asarray([1000.0]), 1000.0).tolist()
        [1000.6931471805599]
    """
    larger, smaller = maximum(x1, x2), minimum(x1, x2)  # noqa: F821
    difference = where(larger == smaller, 0.0, smaller - larger)
    return larger + difference.apply("exp").apply("log1p")


def positive(x: Array, /) -> Array:
    """Return the elements as they are.

    Raises:
        TypeError: the elements are booleans.

    Examples:
        >>> rp.positive(rp.asarray([1, -2])).tolist()
        [1, -2]
    """
    if x.dtype is bool_:
        raise TypeError("positive is not defined for booleans")
    return x


def conj(x: Array, /) -> Array:
    """Return the complex conjugates. Elements are real, so these are the elements themselves.

    Examples:
        >>> rp.conj(rp.asarray([1.0, -2.0])).tolist()
        [1.0, -2.0]
    """
    return x


def real(x: Array, /) -> Array:
    """Return the real parts. Elements are real, so these are the elements themselves.

    Examples:
        >>> rp.real(rp.asarray([1.0, -2.0])).tolist()
        [1.0, -2.0]
    """
    return x


def imag(x: Array, /) -> Array:
    """Return the imaginary parts, which are zeros because the elements are real.

    Examples:
        >>> rp.imag(rp.asarray([1.0, -2.0])).tolist()
        [0.0, 0.0]
    """
    return zeros_like(x)


_IF_ELSE = _core.Operator("ifelse")


def where(condition: ArrayLike, x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """Return the elements of `x1` where the condition is true, and the elements of `x2` elsewhere.

    A condition that is a number is true if it is not 0.

    Raises:
        TypeError: no operand is an array of redpoll.

    Examples:
        >>> x = rp.asarray([1, -2, 3])
        >>> rp.where(x > 0, x, 0).tolist()
        [1, 0, 3]
    """
    return _IF_ELSE(condition, x1, x2)


__all__ = [*(row.name for row in FUNCTIONS), "clip", "logaddexp", "positive", "conj", "real", "imag"]
