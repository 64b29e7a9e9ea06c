"""Steps that apply an operator to each element."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

import redpoll as rp

from . import leaves
from .program import Node, Program, Skip


def as_float(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function of NumPy that computes in floats, as redpoll does.

    The arguments are cast to their common dtype if this dtype is a float, and else to `float64`.
    """

    def cast(*arrays: np.ndarray) -> Any:
        dtype = np.result_type(*arrays)
        return function(*(array.astype(dtype if dtype.kind == "f" else np.float64) for array in arrays))

    return cast


#: Name, kinds of operands, whether the result is exact, and NumPy's function.
_UNARY: tuple[tuple[str, str, bool, Any], ...] = (
    ("abs", "number", True, np.abs),
    ("negative", "number", True, np.negative),
    ("positive", "number", True, np.positive),
    ("sign", "number", True, np.sign),
    ("square", "number", True, np.square),
    ("ceil", "number", True, np.ceil),
    ("floor", "number", True, np.floor),
    ("trunc", "number", True, np.trunc),
    ("round", "number", True, np.round),
    ("isfinite", "any", True, np.isfinite),
    ("isinf", "any", True, np.isinf),
    ("isnan", "any", True, np.isnan),
    ("signbit", "float", True, np.signbit),
    ("logical_not", "bool", True, np.logical_not),
    ("bitwise_invert", "bits", True, np.bitwise_not),
    ("conj", "number", True, np.conj),
    ("real", "number", True, np.real),
    ("imag", "number", True, np.zeros_like),
    ("sqrt", "any", True, as_float(np.sqrt)),
    ("reciprocal", "float", True, np.reciprocal),
    *(
        (name, "any", False, as_float(getattr(np, {"acos": "arccos", "asin": "arcsin", "atan": "arctan"}.get(name, name))))
        for name in ("exp", "expm1", "log", "log1p", "log2", "log10", "sin", "cos", "tan", "tanh", "cbrt", "exp2", "atan",
                     "asin", "acos")
    ),
    ("acosh", "any", False, as_float(np.arccosh)),
    ("asinh", "any", False, as_float(np.arcsinh)),
    ("atanh", "any", False, as_float(np.arctanh)),
    ("sinh", "any", False, as_float(np.sinh)),
    ("cosh", "any", False, as_float(np.cosh)),
)  # fmt: skip

#: Functions whose result depends on the sign of a zero.
_SIGNS = {
    "signbit",
    "reciprocal",
    "divide",
    "floor_divide",
    "remainder",
    "fmod",
    "copysign",
    "atan2",
    "pow",
    "nextafter",
}


def unary(program: Program) -> None:
    """Apply a function of one operand."""
    name, kind, exact, function = program.pick(_UNARY)
    node = program.node(kind, exact=True)
    if name == "signbit" and not program.strict or name in _SIGNS and node.zeros_open:
        raise Skip
    program.apply(f"rp.{name}({{}})", getattr(rp, name), function, node, exact=exact)


#: Operators of Python: the symbol, the function of Python, the name of the function of redpoll, and
#: the kinds of operands.
_OPERATORS: tuple[tuple[str, Callable[..., Any], str, str], ...] = (
    ("+", operator.add, "add", "any"),
    ("-", operator.sub, "subtract", "number"),
    ("*", operator.mul, "multiply", "any"),
    ("/", operator.truediv, "divide", "any"),
    ("//", operator.floordiv, "floor_divide", "any"),
    ("%", operator.mod, "remainder", "any"),
    ("**", operator.pow, "pow", "number"),
    ("&", operator.and_, "bitwise_and", "bits"),
    ("|", operator.or_, "bitwise_or", "bits"),
    ("^", operator.xor, "bitwise_xor", "bits"),
    ("<<", operator.lshift, "bitwise_left_shift", "bits"),
    (">>", operator.rshift, "bitwise_right_shift", "bits"),
    ("<", operator.lt, "less", "any"),
    ("<=", operator.le, "less_equal", "any"),
    (">", operator.gt, "greater", "any"),
    (">=", operator.ge, "greater_equal", "any"),
    ("==", operator.eq, "equal", "any"),
    ("!=", operator.ne, "not_equal", "any"),
)

#: Functions of two operands that have no operator of Python.
_BINARY: tuple[tuple[str, str, bool, Any], ...] = (
    ("maximum", "any", True, np.maximum),
    ("minimum", "any", True, np.minimum),
    ("logical_and", "bool", True, np.logical_and),
    ("logical_or", "bool", True, np.logical_or),
    ("logical_xor", "bool", True, np.logical_xor),
    ("fmod", "number", True, np.fmod),
    ("copysign", "number", True, as_float(np.copysign)),
    ("nextafter", "float", True, np.nextafter),
    ("atan2", "number", False, as_float(np.arctan2)),
    ("hypot", "number", False, as_float(np.hypot)),
    ("logaddexp", "float", False, np.logaddexp),
)

#: Operators whose operands may have rounding errors, because these errors stay small.
_ROUND = {"add", "subtract", "multiply"}


def partner(program: Program, node: Node, kind: str, *, exact: bool) -> Node:
    """Draw an array that can be broadcast with `node`."""

    def aligns(other: Node) -> bool:
        try:
            return int(np.prod(np.broadcast_shapes(node.dense.shape, other.dense.shape))) <= 100
        except ValueError:
            return False

    if program.flag():
        try:
            return program.node(kind, exact=exact, test=aligns)
        except Skip:
            pass
    size = node.dense.shape[program.integer(0, node.dense.ndim) :] if program.flag() else node.dense.shape
    size = tuple(1 if program.integer(0, 4) == 4 else one for one in size)
    from .program import KINDS

    return leaves.leaf(program, size, KINDS[kind])


def _relaxed(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function of NumPy, changed to the rules of relaxed floats."""

    def relaxed(x: Any, y: Any) -> Any:
        result = np.asarray(function(x, y))
        if result.dtype.kind != "f":
            return result
        zero = np.zeros((), result.dtype)
        if name == "multiply":
            return np.where((x == 0) | (y == 0), zero, result)
        if name in ("divide", "floor_divide", "remainder", "fmod"):
            result = np.where((x == 0) & np.isnan(result), zero, result)
            return np.where(np.isinf(y), zero, result) if name == "divide" else result
        return result

    return relaxed


def _check_operands(program: Program, name: str, x: np.ndarray, y: np.ndarray, result: np.dtype) -> None:
    """Raise `Skip` for operands for which NumPy raises an error or the result is unspecified."""
    if name in ("fmod", "remainder", "floor_divide") and result.kind == "f":
        finite = np.isfinite(x).all() and np.isfinite(y).all()
        # Whether `floordiv` and `rem` of an infinity are NaN depends on the order of operations.
        if not program.strict and not (finite and (y != 0).all() and (np.abs(y) > 1e-3).all()):
            raise Skip
    if name == "pow" and result.kind in "iu" and (y.astype(np.float64) < 0).any():
        raise Skip
    if (
        name == "pow"
        and not program.strict
        and result.kind == "f"
        and not (np.isfinite(x).all() and np.isfinite(y).all())
    ):
        raise Skip
    if name.startswith("bitwise") and result.kind == "f":
        raise Skip
    if name.endswith("shift"):
        if (x.dtype.kind == "b" and y.dtype.kind == "b") or result.kind not in "iu":
            raise Skip
        if (y.astype(np.float64) < 0).any() or (y.astype(np.float64) >= result.itemsize * 8).any():
            raise Skip
    if not program.strict and name in ("add", "subtract", "copysign", "nextafter", "atan2") and (result.kind == "f"):
        if name != "copysign" and name not in ("nextafter", "atan2"):
            with np.errstate(all="ignore"):
                total = x + y if name == "add" else x - y
            if np.isnan(total).any():
                raise Skip
        elif (x == 0).any() or (y == 0).any():
            raise Skip


def binary(program: Program) -> None:
    """Apply an operator, or its function, to two arrays, one of which may be of another library."""
    symbol, apply, name, kind = program.pick(_OPERATORS)
    sharp = name not in _ROUND
    x = program.node(kind, exact=sharp)
    y = partner(program, x, kind, exact=sharp)
    if program.flag():
        x, y = y, x
    function = getattr(np, {"pow": "power"}.get(name, name))
    if name == "divide":
        function = as_float(function)
    _apply_binary(program, name, function, x, y, name not in ("pow",), _form(program, symbol, apply, name, x, y))


def _form(
    program: Program, symbol: str, apply: Callable[..., Any], name: str, x: Node, y: Node
) -> tuple[str, Callable[..., Any], list[Any]]:
    """Draw a call of the operator. Return its text, its function and its arguments."""
    form = program.pick(("operator", "raw right", "function", "raw left", "raw function"))
    given = [x.array, y.array]
    if form == "raw right" and y.raw is not None:
        return f"{{}} {symbol} raw({{}})", apply, [x.array, y.raw]
    # An operator of SciPy's arrays would not call redpoll, so only an array of NumPy may be on the
    # left.
    if form == "raw left" and isinstance(x.raw, np.ndarray) and x.raw.ndim:
        return f"raw({{}}) {symbol} {{}}", apply, [x.raw, y.array]
    if form == "raw function" and y.raw is not None:
        return f"rp.{name}({{}}, raw({{}}))", getattr(rp, name), [x.array, y.raw]
    if form == "operator":
        return f"{{}} {symbol} {{}}", apply, given
    return f"rp.{name}({{}}, {{}})", getattr(rp, name), given


def _apply_binary(
    program: Program, name: str, function: Any, x: Node, y: Node, exact: bool,
    form: tuple[str, Callable[..., Any], list[Any]],
) -> None:  # fmt: skip
    _check_operands(program, name, x.dense, y.dense, np.result_type(x.dense, y.dense))
    _check_operands(program, name, x.fills, y.fills, np.result_type(x.dense, y.dense))
    if name in _SIGNS and (x.zeros_open or y.zeros_open):
        raise Skip
    text, ours, given = form
    reference = function if program.strict else _relaxed(name, function)
    # Powers of floats are rounded. Powers of integers wrap, so they are exact.
    exact = exact or name == "pow" and np.result_type(x.dense, y.dense).kind in "iu"
    program.apply(text, ours, reference, x, y, exact=exact, given=given)


def function(program: Program) -> None:
    """Apply a function of two operands that has no operator of Python."""
    name, kind, exact, reference = program.pick(_BINARY)
    x = program.node(kind, exact=True)
    y = partner(program, x, kind, exact=True)
    if name == "nextafter" and x.dense.dtype != y.dense.dtype:
        raise Skip
    _apply_binary(
        program, name, reference, x, y, exact, (f"rp.{name}({{}}, {{}})", getattr(rp, name), [x.array, y.array])
    )


_NUMBERS = {"b": (True, False), "i": (2, -1, 0, True), "u": (2, 3, 0), "f": (2, 0.5, -1.5, 0, 0.0, True)}


def scalar(program: Program) -> None:
    """Apply an operator to an array and a number of Python."""
    symbol, apply, name, kind = program.pick(_OPERATORS)
    x = program.node(kind, exact=name not in _ROUND)
    if x.kind == "b" and name in ("floor_divide", "remainder", "pow", "bitwise_left_shift", "bitwise_right_shift"):
        raise Skip
    if name in _SIGNS and x.zeros_open:
        raise Skip
    number = program.pick(_NUMBERS[x.kind])
    if type(number) is bool and name == "subtract" and x.kind == "b":
        raise Skip
    left = program.flag()
    function = getattr(np, {"pow": "power"}.get(name, name))
    if name == "divide":
        function = _weak_division
    reference = function if program.strict else _relaxed(name, function)

    def numpy(array: np.ndarray) -> Any:
        return reference(number, array) if left else reference(array, number)

    def ours(array: Any) -> Any:
        return apply(number, array) if left else apply(array, number)

    operands = (
        (np.full((), number).astype(x.dense.dtype), x.dense)
        if left
        else (x.dense, np.full((), number).astype(x.dense.dtype))
    )
    _check_operands(program, name, *operands, x.dense.dtype)
    fills = [x.fills if operand is x.dense else operand for operand in operands]
    _check_operands(program, name, *fills, x.dense.dtype)
    exact = name != "pow" or x.kind in "iu"
    program.apply(f"{number} {symbol} {{}}" if left else f"{{}} {symbol} {number}", ours, numpy, x, exact=exact)


def _weak_division(x: Any, y: Any) -> Any:
    """Divide in the dtype of an array of floats, and in `float64` for other arrays."""
    array = x if isinstance(x, np.ndarray) else y
    dtype = array.dtype if array.dtype.kind == "f" else np.float64
    return np.divide(np.asarray(x, dtype), np.asarray(y, dtype))


def where(program: Program) -> None:
    """Select elements by a condition."""
    condition = program.node("bool") if program.flag() else leaves.leaf(program, None, "b")
    x = partner(program, condition, "any", exact=False)
    y = partner(program, x, "any", exact=False)
    try:
        np.broadcast_shapes(condition.dense.shape, x.dense.shape, y.dense.shape)
    except ValueError:
        raise Skip from None
    program.apply("rp.where({}, {}, {})", rp.where, np.where, condition, x, y)


def clip(program: Program) -> None:
    """Clamp elements between numbers."""
    x = program.node("number")
    low, high = {"i": (-1, 2), "u": (1, 3), "f": (-1.5, 2.0)}[x.kind]
    low, high = (None if program.integer(0, 3) == 3 else low), (None if program.integer(0, 3) == 3 else high)
    if low is None and high is None:
        raise Skip
    program.apply(f"rp.clip({{}}, {low}, {high})", lambda a: rp.clip(a, low, high), lambda a: np.clip(a, low, high), x)


def astype(program: Program) -> None:
    """Cast to another dtype."""
    x = program.node("any")
    target = np.dtype(program.pick(leaves.DTYPES))
    for part in (x.dense, x.fills):
        if x.kind == "f" and target.kind in "iu":
            low, high = (0, 100) if target.kind == "u" else (-100, 100)
            if not x.exact or not ((part >= low) & (part <= high)).all():
                raise Skip
        if x.kind == "f" and target.kind == "b" and not x.exact:
            raise Skip
    program.apply(f"{{}}.astype('{target}')", lambda a: a.astype(str(target)), lambda a: a.astype(target), x)


STEPS = ((unary, 5), (binary, 8), (function, 3), (scalar, 4), (where, 2), (clip, 1), (astype, 2))
