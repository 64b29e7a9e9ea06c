"""The type of workloads, and functions that make them."""

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from inputs import Case

Function = Callable[..., Any]

#: Marks a side that uses the common function of the workload.
SAME: Any = object()


@dataclass(frozen=True)
class Workload:
    """One computation on all sides, over several cases."""

    #: The name, which begins with the name of a group and a slash.
    name: str
    #: The names of the operands.
    operands: tuple[str, ...]
    #: The function of each side that computes the workload.
    functions: Mapping[str, Function]
    #: The names of the cases.
    cases: tuple[str, ...]
    #: The requested format of results; if `None`, each library chooses.
    format: str | None = None
    #: The layout of sparse matrices in PyData/Sparse.
    layout: str = "coo"
    #: A lower bound of the bytes that every algorithm must move, if known.
    moved: Callable[[Case], int] | None = None
    #: Whether the result stays lazy; lazy results are neither computed nor checked.
    is_lazy: bool = False
    #: The cases for which the first call is measured in new processes.
    first: tuple[str, ...] = ()

    @property
    def group(self) -> str:
        """The group of the workload."""
        return self.name.split("/", 1)[0]


def workload(
    name: str,
    operands: str,
    function: Function,
    cases: Sequence[str],
    *,
    redpoll: Function | None = SAME,
    scipy: Function | None = SAME,
    numpy: Function | None = SAME,
    sparse: Function | None = SAME,
    finch: Function | None = None,
    **options: Any,
) -> Workload:
    """Return a workload. A side uses `function` or one of its own; a side with `None` does not take
    part."""
    sides = {"redpoll": redpoll, "scipy": scipy, "numpy": numpy, "sparse": sparse, "finch": finch}
    functions = {side: function if own is SAME else own for side, own in sides.items() if own is not None}
    return Workload(name, tuple(operands.split()), functions, tuple(cases), **options)


class Varying:
    """A function with one more argument, an integer that differs in each call.

    The integers run from 0 to 999, then start again.
    """

    def __init__(self, function: Function) -> None:
        self._function = function
        self._numbers = itertools.cycle(range(1000))

    def __call__(self, *operands: Any) -> Any:
        return self._function(*operands, next(self._numbers))

    def restarted(self) -> "Varying":
        """Return the same function, from the first integer on."""
        return Varying(self._function)


def start(function: Function) -> Function:
    """Return the function for the calls of one side; a varying function starts from its first
    integer."""
    return function.restarted() if isinstance(function, Varying) else function


# Bytes of operands, for `moved`.


def bytes_of(*operands: str) -> Callable[[Case], int]:
    """Return a function that sums the bytes of operands, each once."""
    return lambda case: sum(_bytes(case[name]) for name in operands)


def streamed(operand: str, passes: int = 2) -> Callable[[Case], int]:
    """Return a function that multiplies the bytes of an operand's values by `passes`."""
    return lambda case: passes * case[operand].data.nbytes


def _bytes(operand: Any) -> int:
    if hasattr(operand, "indptr"):
        return operand.data.nbytes + operand.indices.nbytes + operand.indptr.nbytes
    return operand.nbytes
