"""Conversion from and to arrays of PyData/Sparse, with their fill values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .. import _core
from .._session import current_session
from .numpy import contiguous
from .scipy import ascends, from_coordinates

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from .._array import Array

__all__ = ["from_sparse", "to_sparse"]


def from_sparse(array: Any) -> Array:
    """Return an array over an array of PyData/Sparse: `COO`, `GCXS` or `DOK`, with its fill value.

    The values of a `COO`, and of a `GCXS` with two modes, are shared and must not be changed if the
    coordinates ascend without duplicates. Other values are copied, and the values of duplicates are
    added.

    Raises:
        TypeError: redpoll has no dtype for the elements.

    Examples:
        >>> import sparse
        >>> rp.from_sparse(sparse.eye(2) + 1).fill_value
        1.0
    """
    import sparse

    if isinstance(array, sparse.DOK):
        array = array.to_coo()
    # Only these kinds of NumPy's dtypes have a dtype in redpoll.
    if array.dtype.kind not in "biuf":
        raise TypeError(f"redpoll has no dtype for the elements, which are of {array.dtype}")
    fill = array.fill_value.item()
    if isinstance(array, sparse.GCXS) and array.ndim == 2 and _compressed_ascends(array):
        data = contiguous(array.data)
        format = "csr" if tuple(array.compressed_axes) == (0,) else "csc"
        levels = [[], [_signed(array.indptr), _signed(array.indices)]]
        return current_session().array(_core.Tensor(array.shape, data.dtype.name, fill, format, levels, [data]))
    coo = array if isinstance(array, sparse.COO) else array.tocoo()
    if coo.ndim == 0:
        return current_session().full([], coo.todense().item(), coo.dtype.name)
    if not ascends(coo.coords):
        coo = sparse.COO(coo.coords, coo.data, shape=coo.shape, fill_value=coo.fill_value)
    return from_coordinates(coo.coords, coo.data, coo.shape, fill)


def _signed(indices: NDArray[Any]) -> NDArray[Any]:
    """Return indices as signed integers of 32 or 64 bits."""
    wide = indices.dtype.itemsize > 4 or (len(indices) and int(indices.max()) >= 2**31)
    return np.ascontiguousarray(indices, np.int64 if wide else np.int32)


def _compressed_ascends(array: Any) -> bool:
    """Return whether the coordinates of every row, or of every column, ascend."""
    rises = np.diff(array.indices.astype(np.int64)) > 0
    # The first element of a row may have a smaller coordinate than the last element of the row
    # before.
    starts = array.indptr[1:-1].astype(np.int64)
    rises[starts[(starts > 0) & (starts < len(array.indices))] - 1] = True
    return bool(rises.all())


def to_sparse(array: Array, format: str = "coo") -> Any:
    """Compute an array and return it as a `COO` or `GCXS` of PyData/Sparse, with its fill value.

    Raises:
        ValueError: the format is neither `coo` nor `gcxs`.

    Examples:
        >>> rp.to_sparse(rp.eye(3)).nnz
        3
    """
    import sparse

    if format not in ("coo", "gcxs"):
        raise ValueError(f"the formats of PyData/Sparse are 'coo' and 'gcxs', found {format!r}")
    fill = array.dtype.numpy.type(array.fill_value)
    if array.ndim == 0:
        return sparse.COO.from_numpy(np.asarray(array), fill_value=fill).asformat(format)
    if format == "gcxs" and array.ndim == 2:
        tensor = array.collect("csr")
        _, [ends, indices] = tensor.levels()
        [values] = tensor.leaf()
        parts = tuple(_elements(part) for part in (values, indices, ends))
        return sparse.GCXS(parts, shape=array.shape, compressed_axes=(0,), fill_value=fill)
    tensor = array.collect("coo")
    [_, first], *others = tensor.levels()
    coords = np.stack([_elements(first), *(_elements(column) for [column] in others)]).astype(np.int64)
    [values] = tensor.leaf()
    coo = sparse.COO(
        coords, _elements(values), shape=array.shape, has_duplicates=False, sorted=True, fill_value=fill
    )
    return coo.asformat(format)


def _elements(buffer: _core.SharedBuffer) -> NDArray[Any]:
    """Return the elements of a buffer as an array of NumPy that shares the memory of the buffer."""
    return np.frombuffer(memoryview(buffer), buffer.dtype) if len(buffer) else np.empty(0, buffer.dtype)
