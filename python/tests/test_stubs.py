"""The stub of the extension module names exactly what the module has."""

import ast
from pathlib import Path

import redpoll
from redpoll import _core


def _names(body):
    return {node.name for node in body if isinstance(node, ast.FunctionDef | ast.ClassDef)}


def test_the_stub_is_complete():
    stub = ast.parse((Path(redpoll.__file__).parent / "_core.pyi").read_text())
    assert {name for name in _names(stub.body) if not name.startswith("_")} == {name for name in dir(_core) if not name.startswith("_")}
    for node in stub.body:
        if isinstance(node, ast.ClassDef):
            public = {name for name in dir(getattr(_core, node.name)) if not name.startswith("_")}
            assert {name for name in _names(node.body) if not name.startswith("_")} == public, node.name
