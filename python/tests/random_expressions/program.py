"""The state of a random expression: its arrays, NumPy's results, and its random choices."""

from __future__ import annotations

import random
import re
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

import redpoll as rp

#: The largest number of elements of an array.
LIMIT = 300

KINDS = {"bool": "b", "integer": "iu", "float": "f", "number": "iuf", "bits": "biu", "any": "biuf"}


@dataclass
class Node:
    """An array of the expression."""

    array: Any
    #: The elements as computed by NumPy.
    dense: np.ndarray
    #: Whether the elements must equal NumPy's exactly, because no step has rounded.
    exact: bool = True
    #: The array of another library from which `array` was made.
    raw: Any = None
    #: Whether further steps may read the array.
    usable: bool = True
    name: str = ""
    #: The largest finite absolute value of a computed array and its operands, to which rounding
    #: errors are relative.
    scale: float = 0.0
    #: Whether the signs of zeros may differ from NumPy's, as after sums and products.
    zeros_open: bool = False
    #: The expected fill value, or `None` if NumPy's results do not define one.
    fill: Any = None

    @property
    def kind(self) -> str:
        """The kind of the dtype, as NumPy's character."""
        return self.dense.dtype.kind

    @property
    def fills(self) -> np.ndarray:
        """An array of the same shape whose elements are all the fill value."""
        fill = self.array.fill_value if self.fill is None else self.fill
        return np.full(self.dense.shape, fill, self.dense.dtype)


class Skip(Exception):
    """The exception of a step that cannot be applied, most often for lack of suitable operands."""


class Program:
    """A random expression, whose choices follow from a seed."""

    def __init__(self, seed: int, *, strict: bool) -> None:
        self.random, self.strict = random.Random(seed), strict
        self.nodes: list[Node] = []
        #: The statements, for the report of a failure.
        self.text: list[str] = []
        #: The function that is called with each new node.
        self.created: Callable[[Node], None] = lambda node: None

    # Choices.

    def pick(self, values: Sequence[Any]) -> Any:
        """Draw one of the values."""
        return self.random.choice(values)

    def integer(self, low: int, high: int) -> int:
        """Draw an integer, both bounds included."""
        return self.random.randint(low, high)

    def flag(self) -> bool:
        """Draw a boolean."""
        return self.random.random() < 0.5

    def shuffled(self, values: Sequence[Any]) -> list[Any]:
        """Draw a permutation of the values."""
        return self.random.sample(values, len(values))

    def node(self, kind: str = "any", *, exact: bool = False, rank: int = 0, test: Any = None) -> Node:
        """Draw an array whose dtype is of a kind, with at least `rank` modes.

        With `exact`, the elements are exact. The array is one of the four newest suitable arrays,
        so that expressions become deep.
        """
        found = [
            node
            for node in reversed(self.nodes)
            if node.usable
            and node.kind in KINDS[kind]
            and (node.exact or not exact)
            and node.dense.ndim >= rank
            and (test is None or test(node))
        ]
        if not found:
            raise Skip
        return found[min(self.integer(0, 3), len(found) - 1)]

    def axis(self, node: Node) -> int:
        """Draw an axis of an array, which may count from the end."""
        axis = self.integer(0, node.dense.ndim - 1)
        return axis - node.dense.ndim if self.flag() else axis

    def axes(self, node: Node) -> Any:
        """Draw the argument `axis` of a reduction."""
        rank = node.dense.ndim
        kind = self.pick(("all", "one", "several"))
        if kind == "all" or rank == 0:
            return None
        if kind == "one":
            return self.axis(node)
        return tuple(axis for axis in range(rank) if self.flag())

    # Results.

    def report(self) -> str:
        """Return the last statement, with the statements that it depends on."""
        wanted, lines = set(), []
        for line in reversed(self.text):
            name, equals, _ = line.partition(" = ")
            if lines and equals and name not in wanted:
                continue
            lines.append(line)
            wanted.update(re.findall(r"\bx\d+\b", line))
        return "\n".join(reversed(lines))

    def add(self, node: Node, text: str) -> Node:
        """Add an array to the expression."""
        node.name = f"x{len(self.nodes)}"
        self.text.append(f"{node.name} = {text}")
        self.nodes.append(node)
        self.created(node)
        return node

    def apply(
        self,
        text: str,
        ours: Callable[..., Any],
        numpy: Callable[..., np.ndarray],
        *operands: Node,
        exact: bool = True,
        fill: bool = True,
        given: Sequence[Any] | None = None,
    ) -> Node:
        """Add the result of a function of arrays, and check its shape, dtype and fill value.

        `text` has a placeholder `{}` for each operand, and `numpy` is the same function of NumPy's
        arrays. Unless `fill` is false, the expected fill value is the result of `numpy` for arrays
        of fill values. `given` has the objects that are passed instead of the arrays of redpoll.
        """
        line = text.format(*(operand.name for operand in operands))
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            dense = np.asarray(numpy(*(operand.dense for operand in operands)))
            constant = np.asarray(numpy(*(operand.fills for operand in operands))) if fill else None
        if dense.size > LIMIT:
            raise Skip
        name = f"x{len(self.nodes)}"
        # The statement is added before the call, so that the report of a failure has the statement.
        self.text.append(f"{name} = {line}")
        array = ours(*([operand.array for operand in operands] if given is None else given))
        node = Node(array, dense, exact and all(operand.exact for operand in operands))
        node.scale = max([_magnitude(dense), *(max(operand.scale, _magnitude(operand.dense)) for operand in operands)])
        node.zeros_open = any(operand.zeros_open for operand in operands)
        node.usable = self.strict or dense.dtype.kind != "f" or bool(np.isfinite(dense).all())
        assert isinstance(array, rp.Array), f"{name} is a {type(array)}"
        assert array.shape == dense.shape, f"{name} has shape {array.shape}, expected {dense.shape}"
        assert array.dtype == dense.dtype, f"{name} has dtype {array.dtype}, expected {dense.dtype}"
        if constant is not None and constant.size:
            node.fill = _one_value(constant)
            node.scale = max(node.scale, _magnitude(constant))
            self.check_fill(node)
        self.text.pop()
        return self.add(node, line)

    def check_fill(self, node: Node) -> None:
        """Compare the fill value of an array with the expected fill value, if there is one."""
        if node.fill is None:
            return
        found, expected = type(node.fill)(node.array.fill_value), node.fill
        tolerance = 0.0 if node.exact else _epsilon(node.dense.dtype) * max(1.0, node.scale)
        if not self.strict and np.isinf(expected):
            found = abs(found) * np.sign(expected)
        message = f"fill value {found!r} of {self.text[-1]}, expected {expected!r}"
        assert _close(found, expected, tolerance), message

    def check(self, node: Node) -> None:
        """Compute an array, and compare it with NumPy's elements."""
        values = np.asarray(node.array)
        assert values.shape == node.dense.shape and values.dtype == node.dense.dtype
        self.check_fill(node)
        expected = node.dense
        if not self.strict and expected.dtype.kind == "f":
            # The sign of a zero is unspecified, and so is the sign of an infinity that is the
            # reciprocal of a zero.
            infinite = np.isinf(expected) & np.isinf(values)
            values = np.where(infinite, expected, values)
        if node.exact or expected.dtype.kind != "f":
            np.testing.assert_array_equal(values, expected, err_msg=node.name)
            return
        epsilon = _epsilon(expected.dtype)
        np.testing.assert_allclose(
            values, expected, rtol=epsilon, atol=epsilon * max(node.scale, 1.0), err_msg=node.name
        )


def _one_value(constant: np.ndarray) -> Any:
    """Return the value of all elements, or `None` if they differ."""
    first, *others = constant.reshape(-1)
    return first if all(_close(one, first, 0.0) for one in others) else None


def widen(node: Node) -> None:
    """Widen the tolerance of an inexact result, and exclude the result from further steps."""
    if not node.exact:
        node.scale = max(node.scale, min(node.scale, 1e150) ** 2)
        node.usable = False


def _magnitude(dense: np.ndarray) -> float:
    """Return the largest finite absolute value of an array."""
    if dense.dtype.kind == "b" or not dense.size:
        return 1.0
    values = np.abs(dense.astype(np.float64))
    finite = values[np.isfinite(values)]
    return float(finite.max()) if finite.size else 0.0


def _epsilon(dtype: np.dtype) -> float:
    """Return the tolerance of a dtype of floats, relative to the largest operand."""
    return 1e-5 if dtype == np.float32 else 1e-12


def _close(found: Any, expected: Any, tolerance: float) -> bool:
    if found == expected or (np.isnan(found) and np.isnan(expected)):
        return True
    return tolerance > 0 and bool(abs(float(found) - float(expected)) <= tolerance)
