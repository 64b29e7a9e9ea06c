"""A table of the elementwise functions that apply a single operator."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["FUNCTIONS", "ElementwiseFunction"]


class ElementwiseFunction(NamedTuple):
    """A function that applies one operator of the core elementwise."""

    #: The name in the Array API standard, in NumPy or in C.
    name: str
    #: The name of the operator.
    operator: str
    #: The number of operands.
    operands: int
    #: The arguments of an example in the documentation.
    arguments: str
    #: The elements of the result of the example.
    result: str


FUNCTIONS = (
    ElementwiseFunction("abs", "abs", 1, "rp.asarray([-1.5, 2.0])", "[1.5, 2.0]"),
    ElementwiseFunction("acos", "acos", 1, "rp.asarray([1.0, 0.0])", "[0.0, 1.5707...]"),
    ElementwiseFunction("acosh", "acosh", 1, "rp.asarray([1.0, 2.0])", "[0.0, 1.3169...]"),
    ElementwiseFunction("add", "+", 2, "rp.asarray([1, 2]), 10", "[11, 12]"),
    ElementwiseFunction("asin", "asin", 1, "rp.asarray([0.0, 1.0])", "[0.0, 1.5707...]"),
    ElementwiseFunction("asinh", "asinh", 1, "rp.asarray([0.0, 1.0])", "[0.0, 0.8813...]"),
    ElementwiseFunction("atan", "atan", 1, "rp.asarray([0.0, 1.0])", "[0.0, 0.7853...]"),
    ElementwiseFunction("atan2", "atan2", 2, "rp.asarray([1.0, -1.0]), 1.0", "[0.7853..., -0.7853...]"),
    ElementwiseFunction("atanh", "atanh", 1, "rp.asarray([0.0, 0.5])", "[0.0, 0.5493...]"),
    ElementwiseFunction("bitwise_and", "band", 2, "rp.asarray([6, 5]), 4", "[4, 4]"),
    ElementwiseFunction("bitwise_invert", "bnot", 1, "rp.asarray([0, 5])", "[-1, -6]"),
    ElementwiseFunction("bitwise_left_shift", "shl", 2, "rp.asarray([1, 3]), 2", "[4, 12]"),
    ElementwiseFunction("bitwise_or", "bor", 2, "rp.asarray([6, 5]), 1", "[7, 5]"),
    ElementwiseFunction("bitwise_right_shift", "shr", 2, "rp.asarray([8, 5]), 2", "[2, 1]"),
    ElementwiseFunction("bitwise_xor", "bxor", 2, "rp.asarray([6, 5]), 3", "[5, 6]"),
    ElementwiseFunction("cbrt", "cbrt", 1, "rp.asarray([8.0, -27.0])", "[2.0, -3.0]"),
    ElementwiseFunction("ceil", "ceil", 1, "rp.asarray([1.25, -1.25])", "[2.0, -1.0]"),
    ElementwiseFunction("copysign", "copysign", 2, "rp.asarray([1.5, -2.5]), -1.0", "[-1.5, -2.5]"),
    ElementwiseFunction("cos", "cos", 1, "rp.asarray([0.0, 1.0])", "[1.0, 0.5403...]"),
    ElementwiseFunction("cosh", "cosh", 1, "rp.asarray([0.0, 1.0])", "[1.0, 1.5430...]"),
    ElementwiseFunction("divide", "/", 2, "rp.asarray([1.0, 3.0]), 2.0", "[0.5, 1.5]"),
    ElementwiseFunction("equal", "eq", 2, "rp.asarray([1, 2]), 2", "[False, True]"),
    ElementwiseFunction("erf", "erf", 1, "rp.asarray([0.0, 1.0])", "[0.0, 0.8427...]"),
    ElementwiseFunction("exp", "exp", 1, "rp.asarray([0.0, 1.0])", "[1.0, 2.7182...]"),
    ElementwiseFunction("exp2", "exp2", 1, "rp.asarray([0.0, 3.0])", "[1.0, 8.0]"),
    ElementwiseFunction("expm1", "expm1", 1, "rp.asarray([0.0, 1.0])", "[0.0, 1.7182...]"),
    ElementwiseFunction("floor", "floor", 1, "rp.asarray([1.25, -1.25])", "[1.0, -2.0]"),
    ElementwiseFunction("floor_divide", "floordiv", 2, "rp.asarray([7, -7]), 2", "[3, -4]"),
    ElementwiseFunction("fmod", "fmod", 2, "rp.asarray([7.0, -7.0]), 3.0", "[1.0, -1.0]"),
    ElementwiseFunction("greater", "gt", 2, "rp.asarray([1, 2, 3]), 2", "[False, False, True]"),
    ElementwiseFunction("greater_equal", "ge", 2, "rp.asarray([1, 2, 3]), 2", "[False, True, True]"),
    ElementwiseFunction("hypot", "hypot", 2, "rp.asarray([3.0, 5.0]), 4.0", "[5.0, 6.4031...]"),
    ElementwiseFunction("isfinite", "isfinite", 1, "rp.asarray([1.0, rp.inf])", "[True, False]"),
    ElementwiseFunction("isinf", "isinf", 1, "rp.asarray([1.0, rp.inf])", "[False, True]"),
    ElementwiseFunction("isnan", "isnan", 1, "rp.asarray([1.0, rp.nan])", "[False, True]"),
    ElementwiseFunction("less", "lt", 2, "rp.asarray([1, 2, 3]), 2", "[True, False, False]"),
    ElementwiseFunction("less_equal", "le", 2, "rp.asarray([1, 2, 3]), 2", "[True, True, False]"),
    ElementwiseFunction("lgamma", "lgamma", 1, "rp.asarray([1.0, 5.0])", "[0.0, 3.1780...]"),
    ElementwiseFunction("log", "log", 1, "rp.asarray([1.0, rp.e])", "[0.0, 1.0]"),
    ElementwiseFunction("log10", "log10", 1, "rp.asarray([1.0, 100.0])", "[0.0, 2.0]"),
    ElementwiseFunction("log1p", "log1p", 1, "rp.asarray([0.0, 1.0])", "[0.0, 0.6931...]"),
    ElementwiseFunction("log2", "log2", 1, "rp.asarray([1.0, 8.0])", "[0.0, 3.0]"),
    ElementwiseFunction("logical_and", "and", 2, "rp.asarray([True, False]), True", "[True, False]"),
    ElementwiseFunction("logical_not", "not", 1, "rp.asarray([True, False])", "[False, True]"),
    ElementwiseFunction("logical_or", "or", 2, "rp.asarray([True, False]), True", "[True, True]"),
    ElementwiseFunction("logical_xor", "xor", 2, "rp.asarray([True, False]), True", "[False, True]"),
    ElementwiseFunction("maximum", "max", 2, "rp.asarray([1, 5]), 3", "[3, 5]"),
    ElementwiseFunction("minimum", "min", 2, "rp.asarray([1, 5]), 3", "[1, 3]"),
    ElementwiseFunction("multiply", "*", 2, "rp.asarray([1, 2]), 10", "[10, 20]"),
    ElementwiseFunction("negative", "neg", 1, "rp.asarray([1, -2])", "[-1, 2]"),
    ElementwiseFunction("nextafter", "nextafter", 2, "rp.asarray([1.0]), 2.0", "[1.0000...]"),
    ElementwiseFunction("not_equal", "ne", 2, "rp.asarray([1, 2]), 2", "[True, False]"),
    ElementwiseFunction("pow", "pow", 2, "rp.asarray([2.0, 3.0]), 2.0", "[4.0, 9.0]"),
    ElementwiseFunction("reciprocal", "reciprocal", 1, "rp.asarray([2.0, -4.0])", "[0.5, -0.25]"),
    ElementwiseFunction("remainder", "rem", 2, "rp.asarray([7, -7]), 3", "[1, 2]"),
    ElementwiseFunction("round", "round", 1, "rp.asarray([0.5, 1.5, 2.25])", "[0.0, 2.0, 2.0]"),
    ElementwiseFunction("sign", "sign", 1, "rp.asarray([-2.5, 0.0, 3.0])", "[-1.0, 0.0, 1.0]"),
    ElementwiseFunction("signbit", "signbit", 1, "rp.asarray([-2.5, 3.0])", "[True, False]"),
    ElementwiseFunction("sin", "sin", 1, "rp.asarray([0.0, 1.0])", "[0.0, 0.8414...]"),
    ElementwiseFunction("sinh", "sinh", 1, "rp.asarray([0.0, 1.0])", "[0.0, 1.1752...]"),
    ElementwiseFunction("sqrt", "sqrt", 1, "rp.asarray([4.0, 2.0])", "[2.0, 1.4142...]"),
    ElementwiseFunction("square", "square", 1, "rp.asarray([3, -4])", "[9, 16]"),
    ElementwiseFunction("subtract", "-", 2, "rp.asarray([1, 2]), 10", "[-9, -8]"),
    ElementwiseFunction("tan", "tan", 1, "rp.asarray([0.0, 1.0])", "[0.0, 1.5574...]"),
    ElementwiseFunction("tanh", "tanh", 1, "rp.asarray([0.0, 1.0])", "[0.0, 0.7615...]"),
    ElementwiseFunction("tgamma", "tgamma", 1, "rp.asarray([1.0, 5.0])", "[1.0, 24.0]"),
    ElementwiseFunction("trunc", "trunc", 1, "rp.asarray([1.25, -1.25])", "[1.0, -1.0]"),
)
