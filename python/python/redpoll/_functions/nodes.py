"""Values of traced functions: the nodes of an expression. Equal expressions are one node."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from .. import _core
from .._dtypes import BY_NAME, DType, as_dtype
from .._typing import DTypeLike

__all__ = ["BINARY", "COMPARISONS", "DTYPE_TEXTS", "Loop", "Node", "Trace", "is_number"]

#: The dtypes in the text form of plans, by their names.
DTYPE_TEXTS = {
    "bool": "bool", "int8": "i8", "int16": "i16", "int32": "i32", "int64": "i64", "uint8": "u8", "uint16": "u16",
    "uint32": "u32", "uint64": "u64", "float32": "f32", "float64": "f64",
}  # fmt: skip

#: Operators whose second operand is a count, which does not affect the dtype of the first.
_COUNTED = {"shl", "shr", "ldexp"}

#: Operators that read their operands as booleans.
_LOGICAL = {"and", "or", "xor", "not"}


def is_number(value: object) -> bool:
    """Return whether a value is a number of Python or a scalar of NumPy."""
    return isinstance(value, bool | int | float | np.bool_ | np.integer | np.floating)


@cache
def _operator(name: str) -> _core.Operator:
    return _core.Operator(name)


class Loop(NamedTuple):
    """A loop. The initial values of its carried variables are the arguments of the loop's node."""

    #: The carried variables.
    variables: tuple[Node, ...]
    condition: Node
    #: The next value of each variable.
    steps: tuple[Node, ...]


class Node:
    """A value of a traced function: a parameter, a loop variable, a constant, or an expression."""

    __slots__ = ("args", "dtype", "free", "has_loop", "index", "kind", "payload", "trace")

    __array_priority__ = 1000
    __hash__ = object.__hash__

    def __init__(self, trace: Trace, kind: str, args: tuple[Node, ...], dtype: DType, payload: Any) -> None:
        self.trace, self.kind, self.args, self.dtype, self.payload = trace, kind, args, dtype, payload
        #: The number of nodes of the trace before this node, so arguments have smaller indices.
        self.index = trace.count
        #: The variables of enclosing loops on which the node depends, by their indices.
        self.free: frozenset[int] = frozenset().union(*(arg.free for arg in args))
        self.has_loop: bool = kind == "while" or any(arg.has_loop for arg in args)
        if kind == "variable":
            self.free = frozenset([self.index])
        if isinstance(payload, Loop):
            inner = frozenset().union(*(node.free for node in (payload.condition, *payload.steps)))
            self.free |= inner - {variable.index for variable in payload.variables}

    def __bool__(self) -> bool:
        raise TypeError(
            "the value of a traced expression is not known yet; branch by `if` in a function with readable source, "
            "or by `where`"
        )

    __int__ = __float__ = __index__ = __bool__

    def __repr__(self) -> str:
        return f"<traced {self.dtype.name} {self.kind}>"

    def astype(self, dtype: DTypeLike) -> Node:
        """Cast the value to a dtype."""
        return self.trace.cast(self, as_dtype(dtype))

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        from .calls import ufunc_of_nodes

        return ufunc_of_nodes(ufunc, method, inputs, kwargs)

    def __array_function__(self, func: Callable[..., Any], types: Any, args: Sequence[Any], kwargs: Any) -> Any:
        from .calls import NAMESPACE

        function = NAMESPACE.get(func.__name__)
        return NotImplemented if function is None or kwargs else function(*args)

    def __neg__(self) -> Node:
        return self.trace.apply("neg", self)

    def __pos__(self) -> Node:
        return self

    def __abs__(self) -> Node:
        return self.trace.apply("abs", self)

    def __invert__(self) -> Node:
        return self.trace.apply("not" if self.dtype.name == "bool" else "bnot", self)


def _binary(name: str, operator_name: str) -> None:
    """Define an operator of Python and its reflected form."""

    def left(self: Node, other: Any) -> Any:
        known = is_number(other) or isinstance(other, Node)
        return self.trace.apply(operator_name, self, other) if known else NotImplemented

    def right(self: Node, other: Any) -> Any:
        return self.trace.apply(operator_name, other, self) if is_number(other) else NotImplemented

    setattr(Node, f"__{name}__", left)
    setattr(Node, f"__r{name}__", right)


for _name, _operator_name in {
    "add": "+", "sub": "-", "mul": "*", "truediv": "/", "floordiv": "floordiv", "mod": "rem", "pow": "pow",
    "and": "band", "or": "bor", "xor": "bxor", "lshift": "shl", "rshift": "shr",
}.items():  # fmt: skip
    _binary(_name, _operator_name)
for _name in ("eq", "ne", "lt", "le", "gt", "ge"):
    # Python reflects a comparison as another comparison, so it never calls `__rlt__` and so on.
    _binary(_name, _name)


class Trace:
    """The nodes of one traced function. Equal expressions are one node."""

    def __init__(self) -> None:
        self.count = 0
        self._nodes: dict[tuple[Any, ...], Node] = {}

    def node(self, kind: str, args: tuple[Node, ...], dtype: DType, payload: Any = None) -> Node:
        """Return the node of an expression, which is new if the expression has no node yet."""
        # Each loop has variables of its own, so no two loops are equal.
        key = (kind, tuple(arg.index for arg in args), dtype.name, self.count if kind == "while" else payload)
        if key not in self._nodes:
            self._nodes[key] = Node(self, kind, args, dtype, payload)
            self.count += 1
        return self._nodes[key]

    def parameter(self, name: str, dtype: DType) -> Node:
        """Return a parameter of the function."""
        return self.node("parameter", (), dtype, name)

    def variable(self, dtype: DType) -> Node:
        """Return a new variable of a loop."""
        return self.node("variable", (), dtype, self.count)

    def literal(self, value: Any, dtype: DType) -> Node:
        """Return a constant of the given dtype."""
        if dtype.category == "real floating":
            text = repr(float(dtype.type(value)))
        elif dtype.name == "bool":
            text = "true" if value else "false"
        else:
            if int(value) != int(np.asarray(int(value)).astype(dtype.numpy)):
                raise OverflowError(f"Python integer {value} is out of bounds for {dtype.name}")
            text = str(int(value))
        return self.node("literal", (), dtype, text)

    def cast(self, value: Any, dtype: DType) -> Node:
        """Cast a node or a number to a dtype."""
        if not isinstance(value, Node):
            return self.literal(value, dtype)
        if value.dtype is dtype:
            return value
        return self.node(f"cast-{DTYPE_TEXTS[dtype.name]}", (value,), dtype)

    def typed(self, *values: Any) -> tuple[Node, ...]:
        """Return nodes of values. The dtype of a Python number adapts to the other values."""
        return tuple(self.cast(value, dtype) for value, dtype in zip(values, _dtypes(values), strict=True))

    def apply(self, name: str, *operands: Any) -> Node:
        """Apply an operator of the core to nodes and numbers."""
        if name in ("band", "bor", "bxor") and all(_is_boolean(operand) for operand in operands):
            name = name[1:]
        if name in _LOGICAL:
            args = tuple(self.cast(operand, BY_NAME["bool"]) for operand in operands)
        elif name == "ifelse":
            args = (self.cast(operands[0], BY_NAME["bool"]), *self.common(*operands[1:]))
        elif name in _COUNTED:
            args = (*self.typed(operands[0]), *self.typed(operands[1]))
        else:
            args = self.typed(*operands)
        dtype = _operator(name).result_dtype([arg.dtype.name for arg in args])
        return self.node(name, args, BY_NAME[dtype])

    def common(self, *values: Any) -> tuple[Node, ...]:
        """Return nodes of values, all cast to their common dtype."""
        nodes = self.typed(*values)
        dtype = BY_NAME[np.result_type(*(node.dtype.numpy for node in nodes)).name]
        return tuple(self.cast(node, dtype) for node in nodes)

    def choose(self, condition: Node, yes: Any, no: Any) -> Node:
        """Return a conditional, which evaluates one of its branches."""
        first, second = self.common(yes, no)
        condition = self.cast(condition, BY_NAME["bool"])
        return first if first is second else self.node("if", (condition, first, second), first.dtype)

    def loop(self, initial: tuple[Node, ...], loop: Loop) -> tuple[Node, ...]:
        """Return the last values of the variables of a loop."""
        node = self.node("while", initial, initial[0].dtype, loop)
        return tuple(
            self.node("member", (node,), variable.dtype, k) for k, variable in enumerate(loop.variables)
        )


def _is_boolean(value: Any) -> bool:
    return value.dtype.name == "bool" if isinstance(value, Node) else isinstance(value, bool | np.bool_)


def _dtypes(values: Sequence[Any]) -> list[DType]:
    """Return the dtype of each value; a number of Python adapts to the dtypes of other values."""
    strong = [
        value.dtype.numpy if isinstance(value, Node) else value.dtype
        for value in values
        if isinstance(value, Node | np.generic)
    ]

    def dtype(value: Any) -> DType:
        if isinstance(value, Node):
            return value.dtype
        if isinstance(value, np.generic):
            return as_dtype(value.dtype)
        try:
            return as_dtype(np.result_type(*strong, value))
        except OverflowError:
            return as_dtype(np.result_type(*strong, np.min_scalar_type(value)))

    return [dtype(value) for value in values]


#: The functions of Python's operators, which apply to nodes and to numbers.
BINARY: dict[str, Callable[[Any, Any], Any]] = {
    "Add": operator.add, "Sub": operator.sub, "Mult": operator.mul, "Div": operator.truediv,
    "FloorDiv": operator.floordiv, "Mod": operator.mod, "Pow": operator.pow, "BitAnd": operator.and_,
    "BitOr": operator.or_, "BitXor": operator.xor, "LShift": operator.lshift, "RShift": operator.rshift,
}  # fmt: skip
COMPARISONS: dict[str, Callable[[Any, Any], Any]] = {
    "Eq": operator.eq, "NotEq": operator.ne, "Lt": operator.lt, "LtE": operator.le, "Gt": operator.gt,
    "GtE": operator.ge,
}  # fmt: skip
