"""NumPy's ufuncs on arrays of redpoll, which `__array_ufunc__` calls."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from .. import _core

#: Names of ufuncs that differ from the names of the Array API standard.
_RENAMED = {
    "absolute": "abs", "fabs": "abs", "arccos": "acos", "arccosh": "acosh", "arcsin": "asin", "arcsinh": "asinh",
    "arctan": "atan", "arctan2": "atan2", "arctanh": "atanh", "invert": "bitwise_invert",
    "left_shift": "bitwise_left_shift", "right_shift": "bitwise_right_shift", "power": "pow", "float_power": "pow",
    "rint": "round", "true_divide": "divide", "mod": "remainder", "conjugate": "conj",
}  # fmt: skip

#: Ufuncs as combinations of functions of the namespace, which is the first argument.
_COMPOSED: dict[str, Callable[..., Any]] = {
    "divmod": lambda xp, a, b: (xp.floor_divide(a, b), xp.remainder(a, b)),
    "modf": lambda xp, a: (xp.copysign(a - xp.trunc(a), a), xp.trunc(a)),
    "fmax": lambda xp, a, b: xp.where(xp.isnan(a), b, xp.where(xp.isnan(b), a, xp.maximum(a, b))),
    "fmin": lambda xp, a, b: xp.where(xp.isnan(a), b, xp.where(xp.isnan(b), a, xp.minimum(a, b))),
    "heaviside": lambda xp, a, b: xp.where(xp.isnan(a), a, xp.where(a == 0, b, (a > 0).astype(a.dtype))),
    "deg2rad": lambda xp, a: a * (np.pi / 180),
    "radians": lambda xp, a: a * (np.pi / 180),
    "rad2deg": lambda xp, a: a * (180 / np.pi),
    "degrees": lambda xp, a: a * (180 / np.pi),
    "logaddexp2": lambda xp, a, b: xp.logaddexp(a * np.log(2), b * np.log(2)) / np.log(2),
    "matmul": lambda xp, a, b: xp.matmul(a, b),
    "vecdot": lambda xp, a, b: xp.vecdot(a, b),
    "matvec": lambda xp, a, b: xp.squeeze(xp.matmul(a, xp.expand_dims(b, axis=-1)), axis=-1),
    "vecmat": lambda xp, a, b: xp.squeeze(xp.matmul(xp.expand_dims(a, axis=-2), b), axis=-2),
}

#: For each ufunc, the function of the namespace for `reduce`, and the operator for `accumulate`.
_REDUCTIONS = {
    "add": "sum", "multiply": "prod", "minimum": "min", "maximum": "max", "logical_and": "all", "logical_or": "any",
}  # fmt: skip
_SCANS = {"add": "+", "multiply": "*", "minimum": "min", "maximum": "max"}

#: A cache of the functions for ufuncs, by name. It serves calls without options whose operands are
#: arrays of redpoll and numbers of Python.
_FOUND: dict[str, Callable[..., Any]] = {}


def call(namespace: Any, ufunc: np.ufunc, method: str, inputs: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    """Return the result of a method of a ufunc, or `NotImplemented`."""
    if not kwargs and method == "__call__" and (function := _FOUND.get(ufunc.__name__)) is not None:
        for one in inputs:
            if not (isinstance(one, _core.Array) or type(one) in (int, float, bool)):
                break
        else:
            return function(*inputs)
    if kwargs.get("where", True) is not True:
        return NotImplemented
    given = {name: value for name, value in kwargs.items() if name not in ("out", "where")}
    out = kwargs.get("out")
    out = None if out is None or all(one is None for one in out) else out
    # An array of NumPy may be an operand, and also `out`, as in `a += b` for an array `a` of NumPy.
    operands = [namespace.asarray(one) if isinstance(one, (np.ndarray, np.generic)) else one for one in inputs]
    if not all(isinstance(one, (_core.Array, bool, int, float)) for one in operands):
        operands = [_operand(one) for one in operands]
    if any(one is NotImplemented for one in operands):
        return NotImplemented
    result = _METHODS[method](namespace, ufunc.__name__, operands, given) if method in _METHODS else NotImplemented
    if result is NotImplemented or out is None:
        return result
    results = result if isinstance(result, tuple) else (result,)
    written = tuple(_write(one, target) for one, target in zip(results, out, strict=True))
    return written if isinstance(result, tuple) else written[0]


def _operand(value: Any) -> Any:
    """Return an operand as an array or a number, or `NotImplemented`."""
    from . import convert

    return value if isinstance(value, (_core.Array, bool, int, float)) else convert(value)


def _write(result: Any, target: Any) -> Any:
    """Write a result into the array given as `out`."""
    if target is None:
        return result
    if isinstance(target, _core.Array):
        if target.shape != result.shape:
            raise ValueError(f"the result of shape {result.shape} does not fit into `out` of shape {target.shape}")
        target.assign(result.cast(target.dtype_name))
        return target
    np.copyto(target, np.asarray(result), casting="same_kind")
    return target


def _call(namespace: Any, name: str, operands: list[Any], given: dict[str, Any]) -> Any:
    dtype = given.pop("dtype", None)
    if given.pop("casting", "same_kind") != "same_kind" or given.pop("order", "K") != "K" or given:
        return NotImplemented
    if dtype is not None:
        operands = [namespace.asarray(one).astype(dtype) for one in operands]
    if name == "float_power":
        operands = [namespace.asarray(one).astype(namespace.float64) for one in operands]
    if name in _COMPOSED:
        return _COMPOSED[name](namespace, *(namespace.asarray(one) for one in operands))
    function = getattr(namespace, _RENAMED.get(name, name), None)
    if function is None or isinstance(function, type):
        return NotImplemented
    if not isinstance(operands[0], _core.Array) and len(operands) == 1:
        operands = [namespace.asarray(operands[0])]
    if dtype is None and name != "float_power":
        _FOUND[name] = function
    return function(*operands)


def _reduce(namespace: Any, name: str, operands: list[Any], given: dict[str, Any]) -> Any:
    if name not in _REDUCTIONS or given.pop("initial", None) is not None:
        return NotImplemented
    dtype = given.pop("dtype", None)
    array = operands[0] if dtype is None else operands[0].astype(dtype)
    # By default, a ufunc reduces the first axis, and a function of the standard reduces all axes.
    return getattr(namespace, _REDUCTIONS[name])(array, **{"axis": 0, **given})


def _accumulate(namespace: Any, name: str, operands: list[Any], given: dict[str, Any]) -> Any:
    if name not in _SCANS:
        return NotImplemented
    dtype = given.pop("dtype", None)
    array = operands[0] if dtype is None else operands[0].astype(dtype)
    axis = given.pop("axis", 0)
    if name in ("add", "multiply"):
        scan = namespace.cumulative_sum if name == "add" else namespace.cumulative_prod
        return scan(array, axis=axis, dtype=array.dtype if dtype is not None else None)
    return namespace.scan(array, _SCANS[name], axis=axis)


def _outer(namespace: Any, name: str, operands: list[Any], given: dict[str, Any]) -> Any:
    left, right = (namespace.asarray(one) for one in operands)
    if right.ndim and left.ndim:
        left = left[(..., *(None,) * right.ndim)]
    return _call(namespace, name, [left, right], given)


_METHODS = {"__call__": _call, "reduce": _reduce, "accumulate": _accumulate, "outer": _outer}
