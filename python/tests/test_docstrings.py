"""Public functions and classes, and methods of some classes, are documented by a sentence.

They also have an example that runs, except for some classes.
"""

import doctest
import types
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

import redpoll as rp

FLAGS = doctest.ELLIPSIS | doctest.IGNORE_EXCEPTION_DETAIL | doctest.NORMALIZE_WHITESPACE
CLASSES = (rp.Array, rp.DType, rp.finfo, rp.iinfo)
CLASSES += (rp.linalg.LinearOperator, rp.linalg.Preconditioner)
CLASSES += (rp.linalg.SparseCholesky, rp.linalg.SparseLU, rp.linalg.SparseQR)
#: Classes without examples. The functions that make objects of these classes have examples.
WITHOUT_EXAMPLES = {"Array", "ArrowTable", "Labels", "Op", "QueryResult", "Session", "Tensor"}
#: The modules that examples need, by the last word of the name of a function.
LIBRARIES = {"graphblas": "graphblas", "networkx": "networkx", "sparse": "sparse"}
LIBRARIES |= dict.fromkeys(["Database", "database", "sql"], "redpoll._core._sql")


def public():
    """Return the functions, classes, methods and properties that need documentation, by name."""
    found = {"__array_namespace_info__": rp.__array_namespace_info__}
    for name, value in vars(rp).items():
        is_public = not name.startswith("_") and callable(value) and not isinstance(value, rp.DType)
        if is_public and not isinstance(value, types.ModuleType):
            found[name] = value
    for module in (rp.graph, rp.linalg):
        prefix = module.__name__.removeprefix("redpoll.")
        found |= {f"{prefix}.{name}": getattr(module, name) for name in module.__all__}
    for cls in CLASSES:
        for base in cls.__mro__:
            if base.__module__.startswith("redpoll") and base.__module__ != "redpoll._core":
                for name, value in vars(base).items():
                    if not name.startswith("_") and (callable(value) or isinstance(value, property)):
                        found[f"{cls.__name__}.{name}"] = value
    return found


PUBLIC = public()


@pytest.mark.parametrize("name", sorted(PUBLIC))
def test_documentation(name, monkeypatch):
    monkeypatch.chdir(Path(__file__).parents[2])
    text = PUBLIC[name].__doc__
    assert text, f"{name} has no documentation"
    summary = text.strip().split("\n\n")[0]
    assert summary.endswith("."), f"{name}: the summary is not a sentence: {summary}"
    examples = doctest.DocTestParser().get_doctest(text, {"rp": rp, "np": np, "sp": sp}, name, None, 0)
    if name in WITHOUT_EXAMPLES or (isinstance(PUBLIC[name], type) and issubclass(PUBLIC[name], (Exception, tuple))):
        return
    assert examples.examples, f"{name} has no example"
    if library := LIBRARIES.get(name.rpartition("_")[2]):
        pytest.importorskip(library)
    failures = []
    runner = doctest.DocTestRunner(optionflags=FLAGS)
    runner.run(examples, out=failures.append)
    assert not runner.failures, "".join(failures)
