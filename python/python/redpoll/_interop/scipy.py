"""Conversion from and to sparse arrays and matrices of SciPy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import _core
from .._session import current_session
from .numpy import contiguous

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from .._array import Array
    from .._typing import Number

__all__ = ["from_scipy", "to_scipy"]

#: The formats that SciPy and redpoll store in the same buffers.
_COMPRESSED = ("csr", "csc")

_UNSORTED = "the coordinates are unsorted or repeated; pass unsorted='sort' to sort a copy"


def from_scipy(matrix: Any, *, unsorted: str = "sort") -> Array:
    """Return an array over a sparse array or matrix of SciPy, in the format `csr`, `csc` or `coo`.

    If the coordinates ascend without duplicates, the array shares the values where the formats
    agree, and the values must not be changed. Otherwise, `unsorted="sort"` sorts a copy and adds
    the values of duplicates, and `unsorted="refuse"` raises `ValueError`. Coordinates are copied
    unless they belong to a tensor of redpoll, because kernels rely on their order.

    Raises:
        ValueError: the coordinates are unsorted or repeated, and `unsorted` is "refuse".

    Examples:
        >>> rp.from_scipy(sp.csr_array([[0, 1], [2, 0]])).tolist()
        [[0, 1], [2, 0]]
    """
    if unsorted not in ("sort", "refuse"):
        raise ValueError(f"unsorted is 'sort' or 'refuse', found {unsorted!r}")
    if matrix.format not in _COMPRESSED:
        matrix = matrix.tocoo()
        # With far more rows than entries, the row pointers of `csr` would need most of the memory.
        if matrix.ndim != 2 or matrix.shape[0] > 4 * matrix.nnz + 1024:
            return _from_coo(matrix, unsorted)
        # `tocsr` sorts the coordinates and adds the values of duplicates. With "refuse", a matrix
        # for which `tocsr` would have to do so is an error.
        if unsorted == "refuse" and not ascends(matrix.coords):
            raise ValueError(_UNSORTED)
        matrix = matrix.tocsr()
    if not matrix.has_canonical_format:
        if unsorted == "refuse":
            raise ValueError(_UNSORTED)
        matrix = matrix.copy()
        matrix.sum_duplicates()
    if matrix.ndim == 1:
        return _from_coo(matrix.tocoo(), unsorted)
    data = contiguous(matrix.data)
    levels = [[], [matrix.indptr, matrix.indices]]
    tensor = _core.Tensor(matrix.shape, data.dtype.name, 0, matrix.format, levels, [data])
    return current_session().array(tensor)


def ascends(coords: Sequence[NDArray[Any]]) -> bool:
    """Return whether coordinates ascend lexicographically, without duplicates."""
    if len(coords[0]) < 2:
        return True
    undecided, ascends = np.ones(len(coords[0]) - 1, bool), np.zeros(len(coords[0]) - 1, bool)
    for mode in coords:
        ascends |= undecided & (mode[1:] > mode[:-1])
        undecided &= mode[1:] == mode[:-1]
    return bool(ascends.all())


def _from_coo(matrix: Any, unsorted: str) -> Array:
    """Convert an array of SciPy in the format `coo`, with any number of modes."""
    if not ascends(matrix.coords):
        if unsorted == "refuse":
            raise ValueError(_UNSORTED)
        matrix = matrix.copy()
        matrix.sum_duplicates()
    return from_coordinates(matrix.coords, matrix.data, matrix.shape)


def from_coordinates(coords: Sequence[NDArray[Any]], data: NDArray[Any], shape: Sequence[int], fill_value: Number = 0) -> Array:
    """Return an array of values at ascending coordinates. `coords` has an array for each mode."""
    index = np.uint32 if max(shape, default=0) < 2**32 else np.uint64
    columns = [np.ascontiguousarray(column, index) for column in coords]
    ends = np.array([0, len(data)], np.int32 if len(data) < 2**31 else np.int64)
    levels = [[ends, columns[0]], *([column] for column in columns[1:])]
    data = contiguous(data)
    tensor = _core.Tensor(shape, data.dtype.name, fill_value, "coo", levels, [data])
    return current_session().array(tensor)


def to_scipy(array: Array, format: str = "csr", *, matrix: bool = False) -> Any:
    """Return an array of two modes with fill value zero as a sparse array of SciPy.

    A result in the format `csr` or `csc` shares the memory of the computed tensor, which is
    read-only. With `matrix`, the result is of SciPy's older class of matrices, whose `*` is the
    matrix product.

    Raises:
        ValueError: the array does not have 2 modes, or its fill value is not 0.

    Examples:
        >>> rp.to_scipy(rp.eye(3), "csc").nnz
        3
    """
    import scipy.sparse

    if array.ndim != 2:
        raise ValueError(f"SciPy's sparse arrays have 2 modes, found shape {array.shape}")
    if array.fill_value != 0:
        raise ValueError(
            f"SciPy's sparse arrays have the fill value 0, found {array.fill_value}; subtract it, or call `refill(0)`"
        )
    compressed = format if format in _COMPRESSED else "csr"
    tensor = array.collect(compressed)
    _, [ends, indices] = tensor.levels()
    [values] = tensor.leaf()
    parts = tuple(np.frombuffer(memoryview(part), part.dtype) if len(part) else np.empty(0, part.dtype) for part in (values, indices, ends))
    cls = getattr(scipy.sparse, f"{compressed}_{'matrix' if matrix else 'array'}")
    result = cls(parts, shape=array.shape)
    return result if compressed == format else result.asformat(format)
