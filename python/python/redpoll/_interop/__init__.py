"""Conversion from and to arrays of other libraries, without copies where the layouts agree."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import numpy as np

from . import numpy as _numpy

if TYPE_CHECKING:
    from .._array import Array

__all__ = ["convert", "foreign"]

#: Libraries with their classes of arrays, and the modules and functions that read these arrays.
_READERS = (
    ("sparse", ("SparseArray",), "sparse", "from_sparse"),
    ("graphblas", ("Matrix", "Vector"), "graphblas", "from_graphblas"),
)


def foreign(value: Any) -> Array | None:
    """Return an array over an array of another library, or `None` for any other object.

    The result shares the values of `value` if the layouts agree, so `value` must not be changed. An
    array of NumPy whose elements are neither booleans nor real numbers gives `None`.
    """
    if isinstance(value, (np.ndarray, np.generic)):
        return _numpy.from_numpy(np.asarray(value)) if value.dtype.kind in "biuf" else None
    # A matrix of SciPy exists only if SciPy is imported.
    scipy_sparse = sys.modules.get("scipy.sparse")
    if scipy_sparse is not None and scipy_sparse.issparse(value):
        from .scipy import from_scipy

        return from_scipy(value)
    for library, classes, module, reader in _READERS:
        loaded = sys.modules.get(library)
        if loaded is None or not type(value).__module__.startswith(library):
            continue
        if isinstance(value, tuple(getattr(loaded, name) for name in classes)):
            from importlib import import_module

            array: Array = getattr(import_module(f".{module}", __name__), reader)(value)
            return array
    return None


def convert(value: Any) -> Any:
    """Return an operand of another library as an array, or `NotImplemented`."""
    array = foreign(value)
    return NotImplemented if array is None else array
