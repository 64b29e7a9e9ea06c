"""The sides of a workload: one for each library. A side converts operands to arrays of the library,
and results to arrays of NumPy or matrices of SciPy."""

import importlib
from importlib.metadata import version
from types import ModuleType
from typing import Any, Protocol

import numpy as np
import scipy.sparse as sp

#: The largest number of elements, stored or not, of an operand of NumPy, and of a result that is
#: compared as a dense array.
MAX_DENSE = 1 << 24


class Side(Protocol):
    """A library."""

    name: str
    package: str

    def convert(self, operand: Any, layout: str) -> Any:
        """Convert an operand to an array of the library. Return `None` if the library has no arrays
        of this kind or size. `layout` is the preferred format of sparse arrays."""

    def finish(self, result: Any, format: str | None) -> Any:
        """Compute a result, in the given format if any. The time of this call is measured."""

    def to_host(self, result: Any) -> Any:
        """Return a result as an array of NumPy or a matrix of SciPy. This call is not measured."""


class Redpoll:
    """Redpoll: lazy arrays, which `compute` evaluates."""

    name, package = "redpoll", "redpoll"

    def __init__(self) -> None:
        self.module = importlib.import_module("redpoll")

    def convert(self, operand: Any, layout: str) -> Any:
        # Indices and masks stay arrays of NumPy, because users pass them as such arrays.
        if isinstance(operand, np.ndarray) and operand.dtype.kind in "bi":
            return operand
        return self.module.asarray(operand)

    def finish(self, result: Any, format: str | None) -> Any:
        if format is not None:
            return result.collect(format)
        return result.compute() if isinstance(result, self.module.Array) else result

    def to_host(self, result: Any) -> Any:
        if isinstance(result, self.module.Tensor):
            result = self.module.current_session().array(result)
        if not isinstance(result, self.module.Array):
            return np.asarray(result)
        return result.todense() if result.size <= MAX_DENSE else result.to_scipy("csr")


class SciPy:
    """SciPy: `csr_array`, with arrays of NumPy for dense operands and results."""

    name, package = "scipy", "scipy"

    def convert(self, operand: Any, layout: str) -> Any:
        return None if sp.issparse(operand) and operand.ndim != 2 else operand

    def finish(self, result: Any, format: str | None) -> Any:
        return result if format is None else result.asformat(format)

    def to_host(self, result: Any) -> Any:
        return result


class NumPy:
    """NumPy: dense arrays of at most `MAX_DENSE` elements."""

    name, package = "numpy", "numpy"

    def convert(self, operand: Any, layout: str) -> Any:
        if not sp.issparse(operand):
            return operand
        return operand.toarray() if np.prod(operand.shape) <= MAX_DENSE else None

    def finish(self, result: Any, format: str | None) -> Any:
        return result

    def to_host(self, result: Any) -> Any:
        return result


class PyDataSparse:
    """PyData/Sparse: `COO`, or `GCXS` in workloads where that is faster."""

    name, package = "sparse", "sparse"

    def __init__(self) -> None:
        self.module = importlib.import_module("sparse")

    def convert(self, operand: Any, layout: str) -> Any:
        if not sp.issparse(operand):
            return operand
        coo = operand.tocoo()
        coo = self.module.COO(np.stack(coo.coords), coo.data, shape=coo.shape, has_duplicates=False, sorted=True)
        return self.module.GCXS.from_coo(coo, compressed_axes=(0,)) if layout == "gcxs" and coo.ndim == 2 else coo

    def finish(self, result: Any, format: str | None) -> Any:
        if format is None or not isinstance(result, self.module.SparseArray):
            return result
        return result if isinstance(result, self.module.GCXS) else result.asformat("gcxs", compressed_axes=(0,))

    def to_host(self, result: Any) -> Any:
        if not isinstance(result, self.module.SparseArray):
            return np.asarray(result)
        return result.todense() if result.size <= MAX_DENSE else result.asformat("coo").tocsr()


class FinchTensor:
    """finch-tensor: Finch in Python, compiled through Numba."""

    name, package = "finch", "finch-tensor"

    def __init__(self) -> None:
        self.module = importlib.import_module("finch")
        self.module.set_default_scheduler(ctx=self.module.COMPILE_NUMBA)

    def convert(self, operand: Any, layout: str) -> Any:
        if not sp.issparse(operand):
            return self.module.asarray(operand)
        if operand.ndim != 2:
            return None
        # Version 0.7 rejects 32-bit indices.
        parts = operand.data, operand.indices.astype(np.int64), operand.indptr.astype(np.int64)
        return self.module.asarray(sp.csr_array(parts, shape=operand.shape))

    def finish(self, result: Any, format: str | None) -> Any:
        return result

    def to_host(self, result: Any) -> Any:
        return self.module.to_numpy(result)


_SIDES: tuple[type[Side], ...] = (Redpoll, SciPy, NumPy, PyDataSparse, FinchTensor)

NAMES = tuple(side.name for side in _SIDES)


def load(name: str) -> Side:
    """Import a library.

    Raises:
        ImportError: the library is not installed.
    """
    return next(side for side in _SIDES if side.name == name)()


def module_of(side: Side) -> ModuleType:
    """Return the module of a side."""
    return getattr(side, "module", None) or importlib.import_module(side.package)


def version_of(side: Side) -> str:
    """Return the name and the version of a library. A library that is not an installed package,
    such as redpoll run from its sources, has `(sources)` in place of a version."""
    try:
        return f"{side.package} {version(side.package)}"
    except ImportError:
        return f"{side.package} (sources)"
