"""Conversion from and to matrices and vectors of python-graphblas."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .. import _core
from .._session import current_session
from .scipy import from_coordinates

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from .._array import Array
    from .._typing import Number

__all__ = ["from_graphblas", "to_graphblas"]


def from_graphblas(array: Any, *, fill_value: Number = 0) -> Array:
    """Return a `Matrix` or `Vector` of python-graphblas as an array.

    GraphBLAS has no value for missing elements, so `fill_value` is their value in the result. The
    right fill value is the zero of the semiring that the array is used with, such as infinity for
    `min_plus`.

    Raises:
        TypeError: redpoll has no dtype for the elements.

    Examples:
        >>> import graphblas
        >>> rp.from_graphblas(graphblas.Vector.from_coo([1], [2.5], size=3)).tolist()
        [0.0, 2.5, 0.0]
    """
    if array.ndim == 1:
        places, values = array.to_coo(sort=True)
        return from_coordinates([places], _native(values), array.shape, fill_value)
    ends, indices, values = array.to_csr(sort=True)
    values = _native(values)
    levels = [[], [ends.view(np.int64), indices.view(np.int64)]]
    tensor = _core.Tensor(array.shape, values.dtype.name, fill_value, "csr", levels, [values])
    return current_session().array(tensor)


def _native(values: NDArray[Any]) -> NDArray[Any]:
    """Return values as a contiguous array of a dtype of redpoll."""
    if values.dtype.kind not in "biuf":
        raise TypeError(f"redpoll has no dtype for the elements, which are of {values.dtype}")
    return np.ascontiguousarray(values)


def to_graphblas(array: Array) -> Any:
    """Compute an array of one or two modes and return its stored elements as a `Vector` or `Matrix`
    of python-graphblas.

    Raises:
        ValueError: the array does not have 1 or 2 modes.

    Examples:
        >>> import graphblas
        >>> rp.to_graphblas(rp.eye(3)).nvals
        3
    """
    import graphblas

    if array.ndim not in (1, 2):
        raise ValueError(f"GraphBLAS has vectors and matrices, found shape {array.shape}")
    tensor = array.collect("coo" if array.ndim == 1 else "csr")
    levels = tensor.levels()
    [values] = tensor.leaf()
    # GraphBLAS takes ownership of the memory, so it gets copies.
    copies = [
        np.array(np.frombuffer(memoryview(part), part.dtype)) if len(part) else np.empty(0, part.dtype)
        for part in (*levels[-1], values)
    ]
    indices, elements = copies[:-1], copies[-1]
    if array.ndim == 1:
        return graphblas.Vector.from_coo(indices[1], elements, dtype=elements.dtype, size=array.shape[0])
    return graphblas.Matrix.from_csr(*indices, elements, dtype=elements.dtype, ncols=array.shape[1])
