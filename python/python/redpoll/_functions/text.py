"""The text of a traced expression in the language of `define-op`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from .nodes import DTYPE_TEXTS, Loop, Node

__all__ = ["body"]

_LEAVES = {"parameter", "variable", "literal"}


def body(root: Node) -> str:
    """Return the text of an expression. Values that are used several times are bound by `let`.

    A value that only one branch uses is computed in this branch. A value that both branches or
    other code use is computed before the branches. The exception is a loop that only branches use:
    each branch has its own copy of the loop, so the loop runs only where its result is used.
    """
    members: dict[int, set[int]] = {}
    for node in _reachable([root], {}):
        if node.kind == "member":
            members.setdefault(node.args[0].index, set()).add(node.payload)
    return _Writer(members).region(root, {}, frozenset())


def _eager(node: Node) -> tuple[Node, ...]:
    """Return the arguments that are evaluated whenever the node is evaluated."""
    return node.args[:1] if node.kind == "if" else node.args


def _regions(node: Node) -> tuple[Node, ...]:
    """Return the roots of the parts of a node that are evaluated conditionally or repeatedly."""
    if node.kind == "if":
        return node.args[1:]
    if isinstance(node.payload, Loop):
        return (node.payload.condition, *node.payload.steps)
    return ()


def _reachable(roots: Iterable[Node], bound: Mapping[int, str], *, eager: bool = False) -> list[Node]:
    """Return the nodes below roots, without leaves and bound nodes, each after its arguments."""
    found: dict[int, Node] = {}
    pending = list(roots)
    while pending:
        node = pending.pop()
        if node.index not in found and node.index not in bound and node.kind not in _LEAVES:
            found[node.index] = node
            pending += _eager(node) if eager else (*_eager(node), *_regions(node))
    return [found[index] for index in sorted(found)]


class _Writer:
    """Writes the text of nodes."""

    def __init__(self, members: Mapping[int, set[int]]) -> None:
        #: The variables of each loop that are used after the loop.
        self.members = members

    def region(self, root: Node, bound: Mapping[int, str], scope: frozenset[int]) -> str:
        """Return the text of a root, with the nodes that are evaluated whenever the root is.

        `bound` has the names of values that are computed already, and `scope` the variables of the
        enclosing loops.
        """
        shared = self._shared(root, bound, scope)
        names, lets = dict(bound), []
        texts: dict[int, str] = {}
        for node in _reachable([root, *shared], bound, eager=True):
            texts[node.index] = self._form(node, names, texts, scope)
            if node in shared:
                names[node.index] = f"t.{node.index}"
                lets.append(f"(let {names[node.index]} {texts[node.index]} ")
        return "".join(lets) + self._use(root, names, texts) + ")" * len(lets)

    def _shared(self, root: Node, bound: Mapping[int, str], scope: frozenset[int]) -> set[Node]:
        """Return the nodes to bind by `let`: nodes with several uses, not all in one subregion."""
        everything = _reachable([root], bound)
        uses = Counter(arg.index for node in everything for arg in (*_eager(node), *_regions(node)))
        eager = {node.index for node in _reachable([root], bound, eager=True)}
        parts = Counter(
            node.index
            for owner in everything
            if owner.index in eager
            for part in _regions(owner)
            for node in _reachable([part], bound)
        )
        return {
            node
            for node in everything
            if uses[node.index] > 1
            and node.free <= scope
            and (node.index in eager or (parts[node.index] > 1 and not node.has_loop))
        }

    def _use(self, node: Node, names: Mapping[int, str], texts: Mapping[int, str]) -> str:
        match node.kind:
            case "parameter":
                return str(node.payload)
            case "variable":
                return f"v.{node.index}"
            case "literal":
                return f"(lit {DTYPE_TEXTS[node.dtype.name]} {node.payload})"
        return names.get(node.index) or texts[node.index]

    def _form(self, node: Node, names: Mapping[int, str], texts: Mapping[int, str], scope: frozenset[int]) -> str:
        eager = [self._use(arg, names, texts) for arg in _eager(node)]
        match node.kind:
            case "if":
                yes, no = (self.region(part, names, scope) for part in _regions(node))
                return f"(if {eager[0]} {yes} {no})"
            case "while":
                return self._loop(node, eager, names, scope)
            case "member":
                is_only = len(self.members[node.args[0].index]) == 1
                return eager[0] if is_only else f"(member {eager[0]} {node.payload})"
        return f"({node.kind} {' '.join(eager)})"

    def _loop(self, node: Node, initial: list[str], names: Mapping[int, str], scope: frozenset[int]) -> str:
        loop: Loop = node.payload
        scope |= {variable.index for variable in loop.variables}
        condition, *steps = (self.region(part, names, scope) for part in _regions(node))
        variables = [f"v.{variable.index}" for variable in loop.variables]
        first = " ".join(f"({name} {value})" for name, value in zip(variables, initial, strict=True))
        used = self.members[node.index]
        # Members have the numbers of variables, so the struct has a member for every variable.
        result = variables[next(iter(used))] if len(used) == 1 else _struct(variables)
        return f"(while ({first}) {condition} ({' '.join(steps)}) {result})"


def _struct(variables: list[str]) -> str:
    return f"(struct {' '.join(f'(m{k} {name})' for k, name in enumerate(variables))})"
