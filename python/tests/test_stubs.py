"""The stubs and types of the package: complete, up to date, and accepted by a type checker."""

import ast
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

import redpoll
from redpoll import _core

PACKAGE = Path(__file__).parents[1]


def _names(body):
    return {node.name for node in body if isinstance(node, ast.FunctionDef | ast.ClassDef)}


def test_the_stub_is_complete():
    stub = ast.parse((Path(redpoll.__file__).parent / "_core.pyi").read_text())
    assert {name for name in _names(stub.body) if not name.startswith("_")} == {
        name for name in dir(_core) if not name.startswith("_")
    }
    for node in stub.body:
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
            public = {name for name in dir(getattr(_core, node.name)) if not name.startswith("_")}
            assert {name for name in _names(node.body) if not name.startswith("_")} == public, node.name


def test_the_stub_of_elementwise_functions_is_up_to_date():
    tool = runpy.run_path(str(PACKAGE / "tools" / "stubs.py"))
    assert tool["STUB"].read_text() == tool["stub"](), "run `python tools/stubs.py`"
    defined = _names(ast.parse(tool["stub"]()).body)
    assert defined >= set(redpoll._namespace.elementwise.__all__)


def test_types():
    pytest.importorskip("mypy")
    check = [sys.executable, "-m", "mypy", "--config-file", PACKAGE / "pyproject.toml"]
    result = subprocess.run(check, cwd=PACKAGE, capture_output=True, text=True)
    assert result.returncode == 0, result.stdout + result.stderr
