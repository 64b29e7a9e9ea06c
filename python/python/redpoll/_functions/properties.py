"""Declared properties of operators, and their clauses in a `define-op`."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .._dtypes import DType
from .._errors import FunctionError
from .._typing import Number
from .calls import operator_of
from .nodes import Node, Trace
from .reader import trace_call
from .text import body

__all__ = ["Properties"]


@dataclass(frozen=True)
class Properties:
    """The properties that `redpoll.op` documents."""

    commutative: bool = False
    associative: bool = False
    idempotent: bool = False
    identity: Number | Mapping[str, Number] | None = None
    annihilator: Number | Mapping[str, Number] | None = None
    distributes_over: Any = ()
    special: Mapping[str, tuple[Number, Callable[..., Any]]] | None = None
    iteration: str | None = None
    fills: Sequence[Number] | None = None
    cases: Mapping[str, Callable[..., Any]] | None = None

    def common_identity(self) -> Number | None:
        """Return the identity that all parameters share, if it is declared."""
        return None if isinstance(self.identity, Mapping) else self.identity

    def clauses(self, trace: Trace, parameters: Mapping[str, Node], result: DType) -> list[str]:
        """Return the clauses for parameters of known dtypes.

        Raises:
            FunctionError: a property names a parameter that does not exist, a set is malformed,
                `distributes_over` has a value that is no operator, `fills` has too few or too many
                values, or a function cannot be traced.
        """
        laws = ("commutative", "associative", "idempotent")
        found = [f"({law})" for law in laws if getattr(self, law)]
        for law in ("identity", "annihilator"):
            declared = getattr(self, law)
            if declared is not None:
                values = declared if isinstance(declared, Mapping) else dict.fromkeys(parameters, declared)
                texts = {name: _literal(trace, parameters, name, value) for name, value in values.items()}
                found += [f"({law} {text} {name})" for name, text in texts.items()]
        over = self.distributes_over
        over = [over] if isinstance(over, str) or callable(over) else list(over)
        if over:
            found.append(f"(distributes-over {' '.join(one if isinstance(one, str) else _name(one) for one in over)})")
        for name, (value, function) in (self.special or {}).items():
            text = _result(trace, parameters, result, function)
            found.append(f"(special ({name} {_literal(trace, parameters, name, value)}) {text})")
        if self.iteration is not None:
            found.append(f"(iteration {_set(self.iteration)})")
        if self.fills is not None:
            if len(self.fills) != len(parameters):
                names = ", ".join(parameters)
                raise FunctionError(f"`fills` expects a value for each parameter ({names}), found {len(self.fills)}")
            pairs = zip(parameters, self.fills, strict=True)
            found.append(f"(fills {' '.join(_literal(trace, parameters, name, value) for name, value in pairs)})")
        for domain, function in (self.cases or {}).items():
            found.append(f"(case {_set(domain)} {_result(trace, parameters, result, function)})")
        return found


def _name(function: Any) -> str:
    name = operator_of(function)
    if name is None:
        expected = "operators, each as a name, a ufunc or a function of redpoll"
        raise FunctionError(f"`distributes_over` expects {expected}; found {function!r}")
    return name


def _literal(trace: Trace, parameters: Mapping[str, Node], name: str, value: Number) -> str:
    if name not in parameters:
        raise FunctionError(f"there is no parameter `{name}`; the parameters are {', '.join(parameters)}")
    return body(trace.literal(value, parameters[name].dtype))


def _result(trace: Trace, parameters: Mapping[str, Node], dtype: DType, function: Callable[..., Any]) -> str:
    """Return the text of a function whose parameters are some of the operator's parameters."""
    names = list(inspect.signature(function).parameters)
    unknown = [name for name in names if name not in parameters]
    if unknown:
        raise FunctionError(f"there is no parameter `{unknown[0]}`; the parameters are {', '.join(parameters)}")
    value = trace_call(trace, function, (), {name: parameters[name] for name in names})
    return body(trace.cast(value, dtype))


def _set(text: str) -> str:
    """Return a set in the text form of plans.

    `text` combines names of parameters and `all` by `&`, `|` and `~`.
    """
    malformed = f"the set {text!r} is malformed; expected names of parameters or `all`, combined with `&`, `|` and `~`"

    def form(tree: ast.expr) -> str:
        match tree:
            case ast.Name(id=name):
                return name
            case ast.BinOp(left=left, op=ast.BitAnd(), right=right):
                return f"(intersection {form(left)} {form(right)})"
            case ast.BinOp(left=left, op=ast.BitOr(), right=right):
                return f"(union {form(left)} {form(right)})"
            case ast.UnaryOp(op=ast.Invert(), operand=operand):
                return f"(complement {form(operand)})"
        raise FunctionError(malformed)

    try:
        return form(ast.parse(text, mode="eval").body)
    except SyntaxError:
        raise FunctionError(malformed) from None
