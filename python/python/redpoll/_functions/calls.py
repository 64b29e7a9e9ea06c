"""The functions of the namespace, NumPy, `math` and Python that traced functions may call."""

from __future__ import annotations

import builtins
import math
from collections.abc import Callable, Mapping, Sequence
from functools import cache, reduce
from types import SimpleNamespace
from typing import Any

import numpy as np

from .._dtypes import BY_NAME
from .._interop import ufuncs
from .._namespace._operators import FUNCTIONS
from .nodes import Node, Trace

__all__ = ["NAMESPACE", "function_of_nodes", "operator_of", "ufunc_of_nodes"]


def _trace(operands: Sequence[Any]) -> Trace:
    return next(operand.trace for operand in operands if isinstance(operand, Node))


def _elementwise(name: str) -> Callable[..., Node]:
    return lambda *operands: _trace(operands).apply(name, *operands)


def _where(condition: Any, yes: Any, no: Any) -> Node:
    return _trace((condition, yes, no)).apply("ifelse", condition, yes, no)


def _clip(x: Any, low: Any = None, high: Any = None) -> Any:
    trace = _trace((x, low, high))
    x = x if low is None else trace.apply("max", x, low)
    return x if high is None else trace.apply("min", x, high)


def _logaddexp(a: Any, b: Any) -> Node:
    trace = _trace((a, b))
    distance = trace.apply("neg", trace.apply("abs", trace.apply("-", a, b)))
    # The difference of two equal infinities is NaN, but the result is that infinity.
    equal = trace.apply("eq", a, b)
    larger = trace.apply("max", a, b)
    return trace.apply("+", larger, _where(equal, math.log(2.0), trace.apply("log1p", trace.apply("exp", distance))))


#: Functions that take and return nodes, by the names of the functions of the Array API standard.
NAMESPACE: dict[str, Callable[..., Any]] = {row.name: _elementwise(row.operator) for row in FUNCTIONS} | {
    "where": _where,
    "clip": _clip,
    "logaddexp": _logaddexp,
    "positive": lambda x: x,
    "astype": lambda x, dtype: x.astype(dtype),
}

#: Functions of `math` that have another name in `NAMESPACE`, with that name.
_MATH = {"fabs": "abs", "gamma": "tgamma"}

#: Functions of `math` that return integers.
_MATH_INTEGERS = {"floor", "ceil", "trunc"}

_INTEGER = BY_NAME["int64"]


def _fold(name: str) -> Callable[..., Any]:
    def fold(*operands: Any) -> Any:
        values = operands if len(operands) > 1 else tuple(operands[0])
        return reduce(lambda a, b: _trace(values).apply(name, a, b), values)

    return fold


def _round(x: Any, digits: int | None = None) -> Any:
    if digits is not None:
        raise TypeError("`round` to digits cannot be traced; multiply by a power of 10, round and divide")
    return x.trace.apply("round", x).astype(_INTEGER)


_BUILTINS: dict[Any, Callable[..., Any]] = {
    builtins.min: _fold("min"),
    builtins.max: _fold("max"),
    builtins.float: lambda x: x.astype("float64"),
    builtins.int: lambda x: x.astype("int64"),
    builtins.bool: lambda x: x.astype("bool"),
    builtins.round: _round,
    builtins.divmod: lambda a, b: (NAMESPACE["floor_divide"](a, b), NAMESPACE["remainder"](a, b)),
}


@cache
def _functions() -> dict[Any, Callable[..., Any]]:
    """Return a dictionary from functions to the functions of nodes that replace them."""
    import redpoll

    found = dict(_BUILTINS)
    for name, function in vars(math).items():
        operator = _MATH.get(name, name)
        if name in _MATH_INTEGERS:
            found[function] = lambda x, name=name: NAMESPACE[name](x).astype(_INTEGER)
        elif operator in NAMESPACE:
            found[function] = NAMESPACE[operator]
    for name, function in NAMESPACE.items():
        found[getattr(redpoll, name)] = function
    return found


def function_of_nodes(function: Any) -> Callable[..., Any] | None:
    """Return the replacement for nodes of a function of the namespace, `math` or Python, if any."""
    try:
        return _functions().get(function)
    except TypeError:  # The function cannot be hashed.
        return None


def ufunc_of_nodes(ufunc: np.ufunc, method: str, inputs: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    """Apply a ufunc of NumPy to nodes. Return `NotImplemented` if the ufunc cannot be traced."""
    name = ufuncs._RENAMED.get(ufunc.__name__, ufunc.__name__)
    if method != "__call__" or kwargs:
        return NotImplemented
    if name in NAMESPACE:
        return NAMESPACE[name](*inputs)
    if name in ufuncs._COMPOSED:
        return ufuncs._COMPOSED[name](SimpleNamespace(**NAMESPACE), *_trace(inputs).typed(*inputs))
    return NotImplemented


def operator_of(function: Any) -> str | None:
    """Return the name of the operator of a ufunc of NumPy or a function of the namespace."""
    name = getattr(function, "__name__", None)
    if isinstance(function, np.ufunc):
        name = ufuncs._RENAMED.get(function.__name__, function.__name__)
    elif function_of_nodes(function) is None:
        return None
    return next((row.operator for row in FUNCTIONS if row.name == name), None)
