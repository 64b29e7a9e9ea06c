"""Tracing of functions by their syntax trees.

These statements are traced: assignments to names and tuples of names, `if`, `while`, `for` over
values that are known when the function is traced, `return`, `pass`, `assert` of known values and
docstrings. These expressions are traced: constants, names, operators, comparisons, `and`, `or`,
`not`, conditional expressions, tuples, lists, subscripts of known values, attributes, and calls of
functions.

A condition that depends on a parameter becomes a conditional of redpoll, and any other condition is
decided when the function is traced.
"""

from __future__ import annotations

import ast
import builtins
import inspect
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from types import FunctionType
from typing import Any

import numpy as np

from .._dtypes import BY_NAME, DType
from .._errors import FunctionError
from .calls import function_of_nodes
from .nodes import BINARY, COMPARISONS, Loop, Node, Trace, is_number
from .source import function_tree

__all__ = ["trace_call"]

#: The largest depth of nested calls of functions.
_DEPTH = 50

#: The largest number of rounds of loops that are unrolled in one function.
_ROUNDS = 1 << 12


class _Unbound:
    """The marker of a name that is assigned on some paths only."""

    def __init__(self, reason: str) -> None:
        self.reason = reason


class _NoReturn:
    """The outcome of statements that end without `return`."""


_NO_RETURN = _NoReturn()
_BOOL = BY_NAME["bool"]


def trace_call(
    trace: Trace, function: Callable[..., Any], args: Iterable[Any], kwargs: Mapping[str, Any], depth: int = 0
) -> Any:
    """Return the value of a function for nodes and other values.

    Raises:
        FunctionError: the function is outside of the subset that is traced.
    """
    # Functions of NumPy are wrapped by objects that are not Python functions. These wrappers stay,
    # because they ask nodes for the result.
    function = inspect.unwrap(function) if isinstance(function, FunctionType) else function
    tree = function_tree(function) if isinstance(function, FunctionType) else None
    if not isinstance(function, FunctionType) or tree is None:
        # Operators and ufuncs of NumPy apply to nodes without a syntax tree.
        return function(*args, **kwargs)
    return _Reader(trace, function, tree, depth).call(args, kwargs)


class _Reader:
    """Evaluates the syntax tree of one function."""

    def __init__(self, trace: Trace, function: FunctionType, tree: ast.FunctionDef | ast.Lambda, depth: int) -> None:
        self.trace, self.function, self.tree, self.depth = trace, function, tree, depth
        self.rounds = 0
        cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
        self.outer = dict(cells)

    def call(self, args: Iterable[Any], kwargs: Mapping[str, Any]) -> Any:
        if self.depth > _DEPTH:
            raise self.error(self.tree, f"more than {_DEPTH} calls within each other; write recursion as `while`")
        bound = inspect.signature(self.function).bind(*args, **kwargs)
        bound.apply_defaults()
        env = dict(bound.arguments)
        if isinstance(self.tree, ast.Lambda):
            return self.value(self.tree.body, env)
        result = self.block(self.tree.body, env)
        if result is _NO_RETURN:
            raise self.error(self.tree, "a path through the function ends without `return`")
        return result

    def error(self, at: ast.AST, problem: str) -> FunctionError:
        line = getattr(at, "lineno", self.tree.lineno)
        name = self.function.__name__
        return FunctionError(f"{self.function.__code__.co_filename}:{line}: in `{name}`: {problem}")

    # Statements.

    def block(self, statements: list[ast.stmt], env: dict[str, Any]) -> Any:
        """Run statements, and return the value of `return`, or `_NO_RETURN`."""
        for k, statement in enumerate(statements):
            match statement:
                case ast.Return(value=value):
                    if value is None:
                        raise self.error(statement, "`return` without a value")
                    return self.value(value, env)
                case ast.If():
                    result = self.branch(statement, statements[k + 1 :], env)
                    if result is not _NO_RETURN:
                        return result
                case ast.Assign(targets=targets, value=value):
                    result = self.value(value, env)
                    for target in targets:
                        self.assign(target, result, env)
                case ast.AnnAssign(target=ast.Name() as target, value=value):
                    if value is not None:
                        self.assign(target, self.value(value, env), env)
                case ast.AugAssign(target=ast.Name(id=name) as target, op=op, value=value):
                    current = self.name(target, name, env)
                    self.assign(target, self.operate(statement, op, current, self.value(value, env)), env)
                case ast.While():
                    self.loop(statement, env)
                case ast.For():
                    self.unroll(statement, env)
                case ast.Assert(test=test):
                    condition = self.truth(test, env)
                    if isinstance(condition, Node):
                        raise self.error(statement, "`assert` of a value that depends on a parameter")
                    if not condition:
                        raise self.error(statement, "the assertion does not hold")
                case ast.Pass() | ast.Expr(value=ast.Constant()):
                    pass
                case _:
                    kind = type(statement).__name__
                    raise self.error(statement, f"the statement `{kind}` cannot be traced; see `help(redpoll.op)`")
        return _NO_RETURN

    def branch(self, statement: ast.If, rest: list[ast.stmt], env: dict[str, Any]) -> Any:
        """Run a conditional. If a branch returns, `rest` belongs to both branches."""
        condition = self.truth(statement.test, env)
        if not isinstance(condition, Node):
            return self.block(statement.body if condition else statement.orelse, env)
        yes, no = dict(env), dict(env)
        if not _has(statement, ast.Return):
            self.block(statement.body, yes)
            self.block(statement.orelse, no)
            for name in yes.keys() | no.keys():
                env[name] = self.choose(statement, condition, name, yes, no)
            return _NO_RETURN
        first = self.block(statement.body + rest, yes)
        second = self.block(statement.orelse + rest, no)
        if first is _NO_RETURN or second is _NO_RETURN:
            raise self.error(statement, "a path from this `if` ends without `return`; return a value on each path")
        return self.select(statement, condition, first, second)

    def choose(self, at: ast.AST, condition: Node, name: str, yes: dict[str, Any], no: dict[str, Any]) -> Any:
        """Return the value of a name after a conditional."""
        missing = _Unbound(f"`{name}` has no value on a path through line {getattr(at, 'lineno', 0)}")
        first, second = yes.get(name, missing), no.get(name, missing)
        if isinstance(first, _Unbound) or isinstance(second, _Unbound):
            return missing
        return self.select(at, condition, first, second)

    def select(self, at: ast.AST, condition: Node, yes: Any, no: Any) -> Any:
        """Return a value that depends on a condition."""
        if yes is no:
            return yes
        if isinstance(yes, tuple) and isinstance(no, tuple) and len(yes) == len(no):
            return tuple(self.select(at, condition, a, b) for a, b in zip(yes, no, strict=True))
        for value in (yes, no):
            if not isinstance(value, Node) and not is_number(value):
                raise self.error(at, f"expected numbers in both branches, found {type(value).__name__}")
        if type(yes) is type(no) and not isinstance(yes, Node) and yes == no:
            return yes
        return self.trace.choose(condition, yes, no)

    def assign(self, target: ast.expr, value: Any, env: dict[str, Any]) -> None:
        match target:
            case ast.Name(id=name):
                env[name] = value
            case ast.Tuple(elts=targets) | ast.List(elts=targets):
                if not isinstance(value, tuple | list) or len(value) != len(targets):
                    raise self.error(target, f"expected {len(targets)} values for {len(targets)} names")
                for one, part in zip(targets, value, strict=True):
                    self.assign(one, part, env)
            case _:
                raise self.error(target, "only names can be assigned")

    def unroll(self, statement: ast.For, env: dict[str, Any]) -> None:
        """Run a loop over known values, round by round."""
        if statement.orelse or _has(statement, ast.Return | ast.Break | ast.Continue):
            raise self.error(statement, "`return`, `break`, `continue` and `else` of loops cannot be traced")
        values = self.value(statement.iter, env)
        if isinstance(values, Node):
            raise self.error(statement, "`for` expects values that do not depend on a parameter; write `while`")
        for value in values:
            self.rounds += 1
            if self.rounds > _ROUNDS:
                raise self.error(statement, f"more than {_ROUNDS} rounds are unrolled; write `while`")
            self.assign(statement.target, value, env)
            self.block(statement.body, env)

    def loop(self, statement: ast.While, env: dict[str, Any]) -> None:
        """Make a loop node. Its variables are the names that the loop assigns and that have a value
        before the loop."""
        if statement.orelse or _has(statement, ast.Return | ast.Break | ast.Continue):
            raise self.error(statement, "`return`, `break`, `continue` and `else` of loops cannot be traced")
        assigned = sorted(_assigned(statement))
        carried = [name for name in assigned if name in env and not isinstance(env[name], _Unbound)]
        for name in carried:
            if not isinstance(env[name], Node) and not is_number(env[name]):
                raise self.error(statement, f"the loop changes `{name}`, which is not a number")
        if not carried:
            raise self.error(statement, "the loop changes no variable that has a value before the loop")
        dtypes = [self.initial_dtype(env[name], env) for name in carried]
        while True:
            variables = tuple(self.trace.variable(dtype) for dtype in dtypes)
            inner = {**env, **dict(zip(carried, variables, strict=True))}
            condition = self.truth(statement.test, inner)
            if not isinstance(condition, Node):
                if condition:
                    raise self.error(statement, "the loop does not end: its condition is always true")
                return
            self.block(statement.body, inner)
            steps = [self.unwrapped(statement, inner[name]) for name in carried]
            # The dtype of a variable is the common dtype of its first value and of all later
            # values.
            wider = [self.trace.common(*pair)[0].dtype for pair in zip(variables, steps, strict=True)]
            if wider == dtypes:
                break
            dtypes = wider
        nodes = tuple(self.trace.cast(step, dtype) for step, dtype in zip(steps, dtypes, strict=True))
        initial = tuple(self.trace.cast(env[name], dtype) for name, dtype in zip(carried, dtypes, strict=True))
        results = self.trace.loop(initial, Loop(variables, condition, nodes))
        for name in assigned:
            env[name] = _Unbound(f"`{name}` has a value within the loop of line {statement.lineno} only")
        env.update(zip(carried, results, strict=True))

    def initial_dtype(self, value: Any, env: dict[str, Any]) -> DType:
        """Return a variable's dtype before a loop. Python floats take the dtype of float nodes."""
        if not isinstance(value, float) or isinstance(value, np.generic):
            return self.trace.typed(value)[0].dtype
        nodes = [other for other in env.values() if isinstance(other, Node)]
        floats = [node for node in nodes if node.dtype.category == "real floating"]
        return self.trace.typed(value, *floats)[0].dtype

    def unwrapped(self, at: ast.AST, value: Any) -> Any:
        if isinstance(value, _Unbound):
            raise self.error(at, value.reason)
        return value

    # Expressions.

    def value(self, tree: ast.expr, env: dict[str, Any]) -> Any:
        """Return the value of an expression: a node, or any value of Python."""
        match tree:
            case ast.Constant(value=value):
                return value
            case ast.Name(id=name):
                return self.name(tree, name, env)
            case ast.BinOp(left=left, op=op, right=right):
                return self.operate(tree, op, self.value(left, env), self.value(right, env))
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                condition = self.truth(operand, env)
                return self.trace.apply("not", condition) if isinstance(condition, Node) else not condition
            case ast.UnaryOp(op=op, operand=operand):
                value = self.value(operand, env)
                match op:
                    case ast.USub():
                        return self.attempt(tree, lambda: -value)
                    case ast.UAdd():
                        return self.attempt(tree, lambda: +value)
                return self.attempt(tree, lambda: ~value)
            case ast.BoolOp(op=op, values=values):
                return self.connect(tree, isinstance(op, ast.And), values, env)
            case ast.Compare(left=left, ops=ops, comparators=comparators):
                return self.compare(tree, self.value(left, env), ops, comparators, env)
            case ast.IfExp(test=test, body=body, orelse=orelse):
                condition = self.truth(test, env)
                if not isinstance(condition, Node):
                    return self.value(body if condition else orelse, env)
                return self.select(tree, condition, self.value(body, env), self.value(orelse, env))
            case ast.Tuple(elts=elements):
                return tuple(self.value(element, env) for element in elements)
            case ast.List(elts=elements):
                return [self.value(element, env) for element in elements]
            case ast.Call():
                return self.apply(tree, env)
            case ast.Attribute(value=of, attr=name):
                owner = self.value(of, env)
                return self.attempt(tree, lambda: getattr(owner, name))
            case ast.Subscript(value=of, slice=index):
                owner, key = self.value(of, env), self.value(index, env)
                if isinstance(owner, Node) or isinstance(key, Node):
                    raise self.error(tree, "a subscript cannot depend on a parameter")
                return self.attempt(tree, lambda: owner[key])
        kind = type(tree).__name__
        raise self.error(tree, f"the expression `{kind}` cannot be traced; see `help(redpoll.op)`")

    def name(self, at: ast.AST, name: str, env: dict[str, Any]) -> Any:
        """Return the value of a name, which is looked up from the function outwards."""
        if name in env:
            return self.unwrapped(at, env[name])
        if name in self.outer:
            try:
                return self.outer[name].cell_contents
            except ValueError:
                raise self.error(at, f"the name `{name}` has no value yet") from None
        scope = self.function.__globals__
        if name in scope:
            return scope[name]
        if hasattr(builtins, name):
            return getattr(builtins, name)
        raise self.error(at, f"the name `{name}` is not defined")

    def operate(self, at: ast.AST, op: ast.operator, left: Any, right: Any) -> Any:
        function = BINARY.get(type(op).__name__)
        if function is None:
            raise self.error(at, "the matrix product cannot be traced; a traced value is one number")
        return self.attempt(at, lambda: function(left, right))

    def compare(
        self, tree: ast.Compare, left: Any, ops: list[ast.cmpop], comparators: list[ast.expr], env: dict[str, Any]
    ) -> Any:
        """Return whether all comparisons of a chain hold."""
        result: Any = True
        for op, comparator in zip(ops, comparators, strict=True):
            right = self.value(comparator, env)
            function = COMPARISONS.get(type(op).__name__)
            if function is None:
                if isinstance(left, Node) or isinstance(right, Node):
                    raise self.error(tree, "`is` and `in` cannot compare values that depend on a parameter")
                holds = _identity_or_membership(op, left, right)
            else:
                holds = self.attempt(tree, partial(function, left, right))
            if isinstance(holds, Node) or isinstance(result, Node):
                result = holds if result is True else self.trace.apply("and", result, holds)
            else:
                result = result and holds
            left = right
        return result

    def connect(self, tree: ast.BoolOp, is_and: bool, values: list[ast.expr], env: dict[str, Any]) -> Any:
        """Return the value of `and` or `or`: the first value that decides, or the last value."""
        value = self.value(values[0], env)
        if len(values) == 1:
            return value
        if not isinstance(value, Node):
            return value if bool(value) is not is_and else self.connect(tree, is_and, values[1:], env)
        rest = self.connect(tree, is_and, values[1:], env)
        if value.dtype is _BOOL and (isinstance(rest, bool) or isinstance(rest, Node) and rest.dtype is _BOOL):
            return self.trace.apply("and" if is_and else "or", value, rest)
        condition = self.trace.cast(value, _BOOL)
        return self.select(tree, condition, *((rest, value) if is_and else (value, rest)))

    def truth(self, tree: ast.expr, env: dict[str, Any]) -> Any:
        """Return the truth of an expression: a node of `bool`, or `True` or `False`."""
        value = self.value(tree, env)
        return self.trace.cast(value, _BOOL) if isinstance(value, Node) else self.attempt(tree, lambda: bool(value))

    def apply(self, tree: ast.Call, env: dict[str, Any]) -> Any:
        """Call a function. With nodes as arguments, call its replacement for nodes, or trace it."""
        function = self.value(tree.func, env)
        if any(isinstance(arg, ast.Starred) for arg in tree.args) or any(word.arg is None for word in tree.keywords):
            raise self.error(tree, "`*` and `**` in calls cannot be traced")
        args = [self.value(arg, env) for arg in tree.args]
        kwargs = {str(word.arg): self.value(word.value, env) for word in tree.keywords}
        if not any(map(_has_node, (*args, *kwargs.values()))):
            return self.attempt(tree, lambda: function(*args, **kwargs))
        known = function_of_nodes(function)
        if known is not None:
            return self.attempt(tree, lambda: known(*args, **kwargs))
        return self.attempt(tree, lambda: trace_call(self.trace, function, args, kwargs, self.depth + 1))

    def attempt(self, at: ast.AST, compute: Callable[[], Any]) -> Any:
        """Return the result of a computation. Raise its errors with the line of the function."""
        try:
            return compute()
        except FunctionError:
            raise
        except Exception as error:
            raise self.error(at, f"{type(error).__name__}: {error}") from error


def _has_node(value: Any) -> bool:
    return isinstance(value, Node) or isinstance(value, tuple | list) and any(map(_has_node, value))


def _has(statement: ast.stmt, kinds: Any) -> bool:
    return any(isinstance(node, kinds) for node in ast.walk(statement))


def _assigned(statement: ast.stmt) -> set[str]:
    """Return the names that a statement assigns."""
    return {
        node.id for node in ast.walk(statement) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    }


def _identity_or_membership(op: ast.cmpop, left: Any, right: Any) -> bool:
    match op:
        case ast.Is():
            return left is right
        case ast.IsNot():
            return left is not right
        case ast.In():
            return left in right
    return left not in right
