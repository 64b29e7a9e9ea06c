"""The syntax tree of a Python function, found in the source text that defines the function."""

from __future__ import annotations

import ast
import linecache
from functools import lru_cache
from types import FunctionType
from typing import Any

__all__ = ["FunctionTree", "function_tree"]

FunctionTree = ast.FunctionDef | ast.Lambda


@lru_cache(maxsize=64)
def _parse(text: str) -> list[FunctionTree]:
    """Return the functions of a source text."""
    try:
        tree = ast.parse(text)
    except SyntaxError:  # A notebook cell with commands of IPython, for example.
        return []
    return [node for node in ast.walk(tree) if isinstance(node, FunctionTree)]


def function_tree(function: FunctionType) -> FunctionTree | None:
    """Return the syntax tree of a function, or `None` if the tree cannot be found."""
    code = function.__code__
    text = "".join(linecache.getlines(code.co_filename, function.__globals__))
    found = [tree for tree in _parse(text) if _first_line(tree) == code.co_firstlineno]
    if code.co_name != "<lambda>":
        named = [tree for tree in found if isinstance(tree, ast.FunctionDef) and tree.name == code.co_name]
        return named[0] if len(named) == 1 else None
    # Several lambdas may begin on one line. The instructions of the function lie in its body.
    spans = [(a, c, b, d) for a, b, c, d in code.co_positions() if None not in (a, b, c, d) and (c, d) != (0, 0)]
    around = [tree for tree in found if isinstance(tree, ast.Lambda) and _contains(tree.body, spans)]
    return min(around, key=lambda tree: len(ast.dump(tree)), default=None)


def _contains(tree: ast.expr, spans: list[tuple[Any, ...]]) -> bool:
    start, end = (tree.lineno, tree.col_offset), (tree.end_lineno, tree.end_col_offset)
    return all(start <= (span[0], span[1]) and (span[2], span[3]) <= end for span in spans)


def _first_line(tree: FunctionTree) -> int:
    decorators = tree.decorator_list if isinstance(tree, ast.FunctionDef) else []
    return min([tree.lineno, *(decorator.lineno for decorator in decorators)])

