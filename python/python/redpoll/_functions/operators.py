"""Functions of Python as operators of redpoll: `op`, `map`, `reduce` and `scan`."""

from __future__ import annotations

import functools
import inspect
import itertools
from collections.abc import Callable, Mapping, Sequence
from threading import Lock
from typing import Any, overload

import numpy as np

from .. import _core
from .._array import Array
from .._dtypes import DType, as_dtype
from .._errors import FunctionError
from .._session import current_session
from .._typing import ArrayLike, Axis, Number
from .calls import operator_of
from .nodes import DTYPE_TEXTS, Node, Trace, is_number
from .properties import Properties
from .reader import trace_call
from .text import body

__all__ = ["Op", "map", "op", "operator", "reduce", "scan"]

#: The definitions of operators by their names. Equal definitions have one name, so that their plans
#: are equal, and different definitions never share a name.
_NAMES: dict[str, str] = {}
_NAMES_LOCK = Lock()


class Op:
    """A function of Python that is an operator of redpoll, made by `redpoll.op`.

    A call with arrays applies the operator elementwise, and a call with numbers alone runs the
    function. Parameters that a call leaves out keep their default values. These values and the
    arguments after `*` are constants of the operator.

    Examples:
        >>> def power(x, *, exponent=2):
        ...     result = x
        ...     for _ in range(exponent - 1):
        ...         result = result * x
        ...     return result
        >>> rp.op(power)(rp.asarray([2.0, 3.0]), exponent=3).tolist()
        [8.0, 27.0]
    """

    def __init__(self, function: Callable[..., Any], properties: Properties) -> None:
        self.function, self.properties = function, properties
        self._signature = inspect.signature(function)
        self._known: dict[Any, _core.Operator] = {}
        functools.update_wrapper(self, function)
        kinds = {parameter.kind for parameter in self._signature.parameters.values()}
        if kinds & {inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD}:
            raise FunctionError(f"`{function.__name__}`: an operator has no parameters `*args` or `**kwargs`")

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        operands, constants = self._split(args, kwargs)
        values = tuple(operands.values())
        if all(is_number(value) for value in values):
            result = self.function(*args, **kwargs)
            return result.item() if isinstance(result, Array) and result.ndim == 0 else result
        if any(isinstance(value, Node) for value in values):
            trace = next(value.trace for value in values if isinstance(value, Node))
            return trace_call(trace, self.function, args, kwargs)
        arrays = [value if is_number(value) or isinstance(value, Array) else _as_array(value) for value in values]
        dtypes = _dtypes_of(arrays)
        session = current_session()
        # A number becomes an array without modes, so the result for a sparse operand stays sparse.
        full = [
            session.full((), value, dtype.name) if is_number(value) else value
            for value, dtype in zip(arrays, dtypes, strict=True)
        ]
        return self.specialize(dtypes, names=tuple(operands), constants=constants)(*full)

    def __repr__(self) -> str:
        return f"<redpoll operator `{self.function.__name__}`>"

    def text(self, *dtypes: Any) -> str:
        """Return the operator for arguments of the given dtypes as the `define-op` of a plan.

        Examples:
            >>> print(rp.op(lambda x, y: abs(x) + y).text("float64", "float64"))
            (define-op (lambda.f64.f64 (x f64) (y f64)) f64 (+ (abs x) y))
        """
        return self._definition(tuple(as_dtype(dtype) for dtype in dtypes), self._positional(len(dtypes)), {})[0]

    def specialize(
        self,
        dtypes: Sequence[DType],
        *,
        names: tuple[str, ...] | None = None,
        constants: Mapping[str, Any] | None = None,
    ) -> _core.Operator:
        """Return the operator of the core for arguments of the given dtypes."""
        names, constants = names or self._positional(len(dtypes)), constants or {}
        # Equal constants of different classes, such as 1 and 1.0, give different operators.
        values = tuple((name, type(value), value) for name, value in constants.items())
        key = (tuple(dtype.name for dtype in dtypes), names, values)
        try:
            is_known = key in self._known
        except TypeError:
            message = f"`{self.function.__name__}`: the parameters after `*` are constants, which must be hashable"
            raise FunctionError(message) from None
        if not is_known:
            text, _ = self._definition(tuple(dtypes), names, constants)
            try:
                self._known[key] = _core.Operator.define(text)
            except ValueError as error:
                raise FunctionError(f"`{self.function.__name__}`: {error}") from error
        return self._known[key]

    def result_dtype(self, dtypes: Sequence[DType]) -> DType:
        """Return the dtype of the result for arguments of the given dtypes."""
        return as_dtype(self.specialize(dtypes).result_dtype([dtype.name for dtype in dtypes]))

    def _positional(self, count: int) -> tuple[str, ...]:
        parameters = self._signature.parameters.values()
        names = [parameter.name for parameter in parameters if parameter.kind is not inspect.Parameter.KEYWORD_ONLY]
        if len(names) < count:
            raise FunctionError(f"`{self.function.__name__}` has {len(names)} parameters, found {count} arguments")
        return tuple(names[:count])

    def _split(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return the operands and the constants of a call."""
        given = self._signature.bind(*args, **kwargs).arguments
        parameters = self._signature.parameters
        is_constant = {name: parameters[name].kind is inspect.Parameter.KEYWORD_ONLY for name in given}
        operands = {name: value for name, value in given.items() if not is_constant[name]}
        return operands, {name: value for name, value in given.items() if is_constant[name]}

    def _definition(
        self, dtypes: tuple[DType, ...], names: tuple[str, ...], constants: Mapping[str, Any]
    ) -> tuple[str, DType]:
        """Return the text of the operator, and the dtype of its result."""
        trace = Trace()
        parameters = {name: trace.parameter(name, dtype) for name, dtype in zip(names, dtypes, strict=True)}
        result = trace_call(trace, self.function, (), {**parameters, **constants})
        if not isinstance(result, Node) and not is_number(result):
            raise FunctionError(f"`{self.function.__name__}` returns {type(result).__name__}, expected a number")
        (root,) = trace.typed(result)
        clauses = self.properties.clauses(trace, parameters, root.dtype)
        typed = " ".join(f"({name} {DTYPE_TEXTS[dtype.name]})" for name, dtype in zip(names, dtypes, strict=True))
        definition = f"{typed}) {DTYPE_TEXTS[root.dtype.name]} {body(root)}{''.join(f' {c}' for c in clauses)})"
        base = ".".join([self.function.__name__.strip("<>"), *(DTYPE_TEXTS[dtype.name] for dtype in dtypes)])
        return f"(define-op ({_unique_name(base, definition)} {definition}", root.dtype


def _unique_name(base: str, definition: str) -> str:
    with _NAMES_LOCK:
        for number in itertools.count(1):
            name = base if number == 1 else f"{base}.{number}"
            if _NAMES.setdefault(name, definition) == definition:
                return name
    raise AssertionError("unreachable")


def _as_array(value: Any) -> Array:
    from .._namespace.creation import asarray

    return asarray(value)


def _dtypes_of(values: Sequence[Array | Number]) -> list[DType]:
    """Return the dtype of each operand; a number adapts to the arrays."""
    arrays = [value.dtype.numpy for value in values if isinstance(value, Array)]
    return [
        value.dtype if isinstance(value, Array) else as_dtype(np.result_type(*arrays, value)) for value in values
    ]


@overload
def op(function: Callable[..., Any], /) -> Op: ...
@overload
def op(
    *,
    commutative: bool = False,
    associative: bool = False,
    idempotent: bool = False,
    identity: Number | Mapping[str, Number] | None = None,
    annihilator: Number | Mapping[str, Number] | None = None,
    distributes_over: str | Sequence[str] = (),
    special: Mapping[str, tuple[Number, Callable[..., Any]]] | None = None,
    iteration: str | None = None,
    fills: Sequence[Number] | None = None,
    cases: Mapping[str, Callable[..., Any]] | None = None,
) -> Callable[[Callable[..., Any]], Op]: ...
def op(function: Callable[..., Any] | None = None, /, **properties: Any) -> Any:
    """Make an operator of a Python function, which redpoll compiles into its kernels.

    The function is traced for the dtypes of each call. It may use arithmetic, comparisons, local
    variables, `if`, `while`, conditional expressions, `and`, `or` and `not`. It may call functions
    of this package, NumPy, `math`, and other functions of Python. It may use `for` over values that
    are known without the arguments, such as `range(3)`. It cannot use `break`, `continue`, `try`,
    `with`, or `return` within a loop.

    A name from outside the function keeps the value that it has in the first call with the same
    dtypes. Integers wrap, and integer quotients by 0 are 0. A `while` has to end for every element
    and for the fill values, because a kernel cannot be interrupted while such a loop runs.

    Properties are trusted, and the optimizer uses them. `commutative`, `associative` and
    `idempotent` are laws. `identity` and `annihilator` are one value for all parameters, or a value
    for each parameter. `distributes_over` has the operators over which this operator distributes.
    `special` maps a parameter to a pair of one of its values and a function that returns the result
    for this value. `iteration` is the set of coordinates at which the function is evaluated, such
    as `"x & ~y"`: those that `x` stores and `y` does not. `cases` has results at other coordinates,
    such as `{"all": lambda x, y: 0.0}`. `fills` has the fill values of the arguments for which
    `iteration` is declared.

    Raises:
        FunctionError: a line of the function cannot be traced; the message has the line.

    Examples:
        >>> @rp.op
        ... def huber(x, d):
        ...     if abs(x) <= d:
        ...         return 0.5 * x * x
        ...     return d * (abs(x) - 0.5 * d)
        >>> huber(rp.asarray([0.5, -3.0]), 1.0).tolist()
        [0.125, 2.5]
        >>> huber(2.0, 1.0)
        1.5
        >>> @rp.op(commutative=True, associative=True, identity=0)
        ... def gcd(x, y):
        ...     a, b = abs(x), abs(y)
        ...     while b != 0:
        ...         a, b = b, a % b
        ...     return a
        >>> rp.reduce(rp.asarray([12, 18, 30]), gcd).item()
        6
    """
    declared = Properties(**properties)
    return (lambda function: Op(function, declared)) if function is None else Op(function, declared)


def operator(value: Any, dtypes: Sequence[DType]) -> _core.Operator:
    """Return the operator of a name, a ufunc, a function of the namespace, or a Python function."""
    if isinstance(value, _core.Operator):
        return value
    if isinstance(value, str):
        return _core.Operator(value)
    if isinstance(value, Op):
        return value.specialize(dtypes)
    name = operator_of(value)
    if name is not None:
        return _core.Operator(name)
    if callable(value):
        return op(value).specialize(dtypes)
    raise TypeError(f"expected an operator, its name, or a function, found {type(value).__name__}")


def map(function: Any, /, *arrays: ArrayLike) -> Array:
    """Apply an operator, its name, or a Python function elementwise.

    A Python function is traced at each call. An operator that `op` makes is traced once for each
    combination of dtypes.

    Raises:
        FunctionError: the function cannot be traced; see `op`.

    Examples:
        >>> rp.map(lambda x, y: x if x > y else 2 * y, rp.asarray([1, 5]), rp.asarray([3, 4])).tolist()
        [6, 5]
    """
    operands = [array if is_number(array) else _as_array(array) for array in arrays]
    if all(is_number(operand) for operand in operands):
        operands = [_as_array(operand) for operand in operands]
    is_named = isinstance(function, str | _core.Operator) or operator_of(function) is not None
    apply = operator(function, []) if is_named else function if isinstance(function, Op) else op(function)
    result: Array = apply(*operands)
    return result


#: The reductions for operators whose initial values the core knows.
_REDUCTIONS = {"+": "sum", "*": "prod", "min": "min", "max": "max", "and": "all", "or": "any"}


def _folding(function: Any, array: Array) -> tuple[Any, Array]:
    """Return the operator that folds an array, and the array in the dtype of the results."""
    while True:
        found = operator(function, [array.dtype, array.dtype])
        result = as_dtype(found.result_dtype([array.dtype.name] * 2))
        if result is array.dtype or not isinstance(function, Op) and not callable(function):
            return found, array
        if np.result_type(result.numpy, array.dtype.numpy) == array.dtype.numpy:
            raise FunctionError(
                f"the operator of two values of {array.dtype.name} returns {result.name}, which cannot be folded"
            )
        array = array.cast(result.name)


def reduce(
    x: ArrayLike, function: Any, /, *, axis: Axis = None, initial: Number | None = None, keepdims: bool = False
) -> Array:
    """Fold the elements along axes by an operator, its name, or a Python function of two values.

    Elements and results have one dtype, to which the elements are cast. The fold begins with
    `initial`. The operators `+`, `*`, `min`, `max`, `and` and `or` need no `initial`, and neither
    does an operator that `op` makes with one identity for all parameters.

    Raises:
        ValueError: the operator needs `initial`, which is not given.
        FunctionError: the function cannot be traced; see `op`.

    Examples:
        >>> rp.reduce(rp.asarray([[6, 3], [5, 4]]), "band", initial=7, axis=1).tolist()
        [2, 4]
        >>> rp.reduce(rp.asarray([1, 2, 3]), lambda x, y: 10 * x + y, initial=0).item()
        123
    """
    found, folded = _folding(function, _as_array(x))
    if initial is None and found.name in _REDUCTIONS:
        return _core.reduce(folded, _REDUCTIONS[found.name], axis, keepdims)
    if initial is None:
        initial = function.properties.common_identity() if isinstance(function, Op) else None
    if initial is None:
        raise ValueError(f"the operator '{found.name}' has no declared identity; give `initial`")
    return _core.reduce(folded, found, axis, keepdims, initial)


def scan(x: ArrayLike, function: Any, /, *, axis: int | str = -1) -> Array:
    """Fold the elements along an axis and return every partial result.

    The operator has to be associative, with an identity.

    Raises:
        ValueError: the operator is not declared associative, or has no identity.

    Examples:
        >>> rp.scan(rp.asarray([1, 5, 3, 7]), "max").tolist()
        [1, 5, 5, 7]
        >>> @rp.op(associative=True, identity=0)
        ... def saturating(x, y):
        ...     return min(x + y, 5)
        >>> rp.scan(rp.asarray([1, 2, 3, 4]), saturating).tolist()
        [1, 3, 5, 5]
    """
    found, folded = _folding(function, _as_array(x))
    return _core.scan(folded, found, axis)
