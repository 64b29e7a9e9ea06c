"""Conversion from and to NumPy arrays, which share memory where the layouts agree."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import _core
from .._errors import DensificationError
from .._session import current_session

if TYPE_CHECKING:
    from numpy.typing import DTypeLike, NDArray

    from .._array import Array

_LIMIT: float = 1 << 30


def set_dense_limit(nbytes: int | None) -> None:
    """Set the largest size, in bytes, of a NumPy array that results from an implicit conversion.

    `numpy.asarray(x)`, `numpy.ravel(x)` and `scipy_matrix @ x` convert implicitly; `x.todense()`
    does not. The limit is 1 GiB by default; `None` removes the limit.

    Examples:
        >>> rp.set_dense_limit(1 << 20)
        >>> np.asarray(rp.zeros((1000, 1000)))
        Traceback (most recent call last):
        redpoll._errors.DensificationError: ...
        >>> rp.set_dense_limit(1 << 30)
    """
    global _LIMIT
    _LIMIT = math.inf if nbytes is None else nbytes


def from_numpy(value: NDArray[Any], *, copy: bool = False) -> Array:
    """Return a dense array of the elements of a NumPy array.

    Numbers that are contiguous and in native byte order are shared unless `copy` is true. Shared
    elements must not be changed. Booleans, floats of 16 bits and arrays without modes are copied.
    """
    dtype = value.dtype.newbyteorder("=")
    if dtype.name == "float16":
        dtype = np.dtype("float32")
    if value.ndim == 0:
        return current_session().full([], value.item(), dtype.name)
    value = np.array(value, dtype, order="C", copy=True if copy else None)
    levels: list[list[Any]] = [[] for _ in value.shape]
    tensor = _core.Tensor(value.shape, dtype.name, 0, "dense", levels, [value.reshape(-1)])
    return current_session().array(tensor)


def contiguous(values: NDArray[Any]) -> NDArray[Any]:
    """Return values as a contiguous array in native byte order, copied only if they are not."""
    return np.ascontiguousarray(values, values.dtype.newbyteorder("="))


def to_numpy(tensor: _core.Tensor) -> NDArray[Any]:
    """Return the elements of a tensor as a NumPy array, which is read-only and shares the memory of
    a dense tensor."""
    if not tensor.is_dense:
        tensor = tensor.convert("dense")
    [values] = tensor.leaf()
    return np.ndarray(tensor.shape, values.dtype, memoryview(values))


def dense(array: Array, dtype: DTypeLike | None = None, copy: bool | None = None) -> NDArray[Any]:
    """Implement `__array__`: compute the array and return its elements, within the limit."""
    nbytes = array.size * array.dtype.itemsize
    if nbytes > _LIMIT:
        raise DensificationError(
            f"a dense array of shape {array.shape} has {nbytes} bytes, more than the limit of {_LIMIT}; call "
            "`todense()`, or raise the limit by `redpoll.set_dense_limit`"
        )
    result = to_numpy(array.compute_tensor())
    return np.array(result, dtype, copy=copy) if dtype is not None or copy else result
