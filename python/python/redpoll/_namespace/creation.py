"""Functions that create arrays."""

from __future__ import annotations

import numpy as np

from .. import _core, _interop
from .._array import Array
from .._dtypes import DType, as_dtype, float64, int64
from .._dtypes import bool as bool_
from .._interop.numpy import from_numpy
from .._session import current_session
from .._typing import ArrayLike, DTypeLike, Number, Shape

__all__ = [
    "arange", "asarray", "empty", "empty_like", "eye", "from_dlpack", "full", "full_like", "linspace", "meshgrid",
    "ones", "ones_like", "tril", "triu", "zeros", "zeros_like",
]  # fmt: skip


def _check_device(device: str | None) -> None:
    if device not in (None, "cpu"):
        raise ValueError(f"the only device is 'cpu', found {device!r}")


def _shape(shape: Shape) -> tuple[int, ...]:
    return (shape,) if isinstance(shape, int) else tuple(int(size) for size in shape)


def asarray(
    obj: ArrayLike, /, *, dtype: DTypeLike | None = None, device: str | None = None, copy: bool | None = None
) -> Array:
    """Return an array of the elements of an object.

    The object is an array, a number, nested sequences of numbers, an array of NumPy, a sparse array
    or matrix of SciPy, PyData/Sparse or GraphBLAS, or any object with a buffer, `__array__` or
    `__dlpack__`. An array of another library must not be changed afterwards unless `copy` is true,
    because its memory is shared if the layouts agree.

    Raises:
        TypeError: redpoll has no dtype for the elements, such as strings or complex numbers.
        ValueError: `copy` is false, but the object is a number or a sequence, or an array of
            redpoll in another dtype.

    Examples:
        >>> rp.asarray([[1, 0], [0, 2]])
        <redpoll.Array shape=(2, 2) int64 fill=0 (dense dense) stored=4>
        >>> rp.asarray(sp.eye_array(3, format="csr"))
        <redpoll.Array shape=(3, 3) float64 fill=0.0 (dense sparse-list) stored=3>
    """
    _check_device(device)
    dtype = None if dtype is None else as_dtype(dtype)
    if isinstance(obj, Array):
        return _of_array(obj, dtype, copy)
    if isinstance(obj, (bool, int, float)):
        if copy is False:
            raise ValueError("a number cannot become an array without a copy; pass copy=None")
        own = bool_ if isinstance(obj, bool) else int64 if isinstance(obj, int) else float64
        return full((), obj, dtype=own if dtype is None else dtype)
    if copy is True and hasattr(obj, "copy"):
        obj = obj.copy()
    array = _interop.foreign(obj)
    if array is None and hasattr(obj, "__dlpack__") and not hasattr(obj, "__array__"):
        array = from_dlpack(obj, copy=copy)
    if array is None:
        if copy is False and isinstance(obj, (list, tuple)):
            raise ValueError("a sequence cannot become an array without a copy; pass copy=None")
        values = np.asarray(obj)
        if values.size == 0 and not hasattr(obj, "dtype"):
            values = values.astype(np.float64)
        if values.dtype.kind not in "biuf":
            raise TypeError(f"redpoll has no dtype for the elements, which are of {values.dtype}")
        array = from_numpy(values)
    return array if dtype is None or dtype is array.dtype else array.cast(dtype.name)


def _of_array(array: Array, dtype: DType | None, copy: bool | None) -> Array:
    """Return an array in a dtype. With `copy`, an assignment to the result does not change
    `array`."""
    if dtype is not None and dtype is not array.dtype:
        if copy is False:
            raise ValueError(f"elements of dtype {array.dtype} become {dtype} only by a copy; pass copy=None")
        return array.cast(dtype.name)
    return Array(array) if copy else array


def from_dlpack(x: ArrayLike, /, *, device: str | None = None, copy: bool | None = None) -> Array:
    """Return an array over the memory of an object with `__dlpack__`.

    Raises:
        BufferError: the memory is not on the CPU.

    Examples:
        >>> rp.from_dlpack(np.arange(3)).tolist()
        [0, 1, 2]
    """
    _check_device(device)
    return asarray(np.from_dlpack(x, copy=copy))


def full(
    shape: Shape, fill_value: Number | Array, *, dtype: DTypeLike | None = None, device: str | None = None
) -> Array:
    """Return an array of one repeated value, which is its fill value: nothing is stored.

    Examples:
        >>> rp.full((1000, 1000), 2.5)
        <redpoll.Array shape=(1000, 1000) float64 fill=2.5 lazy>
    """
    _check_device(device)
    if isinstance(fill_value, (Array, np.bool, np.integer, np.float32)):
        dtype = fill_value.dtype if dtype is None else dtype
        fill_value = fill_value.item()
    if dtype is None:
        dtype = bool_ if isinstance(fill_value, bool) else int64 if isinstance(fill_value, int) else float64
    return current_session().full(_shape(shape), fill_value, as_dtype(dtype).name)


def full_like(
    x: Array, /, fill_value: Number | Array, *, dtype: DTypeLike | None = None, device: str | None = None
) -> Array:
    """Return an array of one repeated value, with the shape and by default the dtype of `x`.

    Examples:
        >>> rp.full_like(rp.asarray([1, 2]), 7).tolist()
        [7, 7]
    """
    return full(x.shape, fill_value, dtype=x.dtype if dtype is None else dtype, device=device)


def zeros(shape: Shape, *, dtype: DTypeLike | None = None, device: str | None = None) -> Array:
    """Return an array of zeros, which stores nothing.

    Examples:
        >>> rp.zeros((2, 2), dtype=rp.int8).tolist()
        [[0, 0], [0, 0]]
    """
    return full(shape, 0, dtype=float64 if dtype is None else dtype, device=device)


def ones(shape: Shape, *, dtype: DTypeLike | None = None, device: str | None = None) -> Array:
    """Return an array of ones, which stores nothing.

    Examples:
        >>> rp.ones(3).tolist()
        [1.0, 1.0, 1.0]
    """
    return full(shape, 1, dtype=float64 if dtype is None else dtype, device=device)


def empty(shape: Shape, *, dtype: DTypeLike | None = None, device: str | None = None) -> Array:
    """Return an array of zeros. No array has uninitialized elements.

    Examples:
        >>> rp.empty(2).tolist()
        [0.0, 0.0]
    """
    return zeros(shape, dtype=dtype, device=device)


def zeros_like(x: Array, /, *, dtype: DTypeLike | None = None, device: str | None = None) -> Array:
    """Return an array of zeros, with the shape and by default the dtype of `x`.

    Examples:
        >>> rp.zeros_like(rp.asarray([1, 2])).tolist()
        [0, 0]
    """
    return full_like(x, 0, dtype=dtype, device=device)


def ones_like(x: Array, /, *, dtype: DTypeLike | None = None, device: str | None = None) -> Array:
    """Return an array of ones, with the shape and by default the dtype of `x`.

    Examples:
        >>> rp.ones_like(rp.asarray([3.5, 2.5])).tolist()
        [1.0, 1.0]
    """
    return full_like(x, 1, dtype=dtype, device=device)


def empty_like(x: Array, /, *, dtype: DTypeLike | None = None, device: str | None = None) -> Array:
    """Return an array of zeros, with the shape and by default the dtype of `x`.

    Examples:
        >>> rp.empty_like(rp.asarray([1, 2])).shape
        (2,)
    """
    return zeros_like(x, dtype=dtype, device=device)


def arange(
    start: float,
    /,
    stop: float | None = None,
    step: float = 1,
    *,
    dtype: DTypeLike | None = None,
    device: str | None = None,
) -> Array:
    """Return the numbers from `start`, by default 0, to `stop` (exclusive) in steps of `step`.

    Raises:
        ValueError: the step is 0.

    Examples:
        >>> rp.arange(2, 10, 3).tolist()
        [2, 5, 8]
    """
    _check_device(device)
    if stop is None:
        start, stop = 0, start
    if step == 0:
        raise ValueError("the step of a range must not be 0")
    session = current_session()
    if isinstance(start, int) and isinstance(stop, int) and isinstance(step, int):
        array = session.integers(start, stop, step)
    else:
        array = session.floats(start, stop, step)
    return array if dtype is None else array.cast(as_dtype(dtype).name)


def linspace(
    start: float,
    stop: float,
    /,
    num: int,
    *,
    dtype: DTypeLike | None = None,
    device: str | None = None,
    endpoint: bool = True,
) -> Array:
    """Return `num` numbers at equal distances from `start` to `stop`, by default inclusive.

    Raises:
        ValueError: the number of elements is negative.

    Examples:
        >>> rp.linspace(0, 1, 5).tolist()
        [0.0, 0.25, 0.5, 0.75, 1.0]
    """
    _check_device(device)
    dtype = float64 if dtype is None else as_dtype(dtype)
    if num < 0:
        raise ValueError(f"the number of elements must not be negative, found {num}")
    array = current_session().linspace(float(start), float(stop), num if endpoint else num + 1)
    array = array if endpoint else array[:num]
    return array if dtype is float64 else array.cast(dtype.name)


def eye(
    n_rows: int, n_cols: int | None = None, /, *, k: int = 0, dtype: DTypeLike | None = None, device: str | None = None
) -> Array:
    """Return the matrix with ones on diagonal `k`, stored sparsely.

    Examples:
        >>> rp.eye(2, 3, k=1).tolist()
        [[0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
    """
    _check_device(device)
    n_cols = n_rows if n_cols is None else n_cols
    return current_session().eye(n_rows, n_cols, k, (float64 if dtype is None else as_dtype(dtype)).name)


def meshgrid(*arrays: Array, indexing: str = "xy") -> tuple[Array, ...]:
    """Return an array for each vector, repeated along the modes of the other vectors.

    Raises:
        ValueError: an array is not a vector, or `indexing` is neither `xy` nor `ij`.

    Examples:
        >>> x, y = rp.meshgrid(rp.arange(2), rp.arange(3))
        >>> (10 * y + x).tolist()
        [[0, 1], [10, 11], [20, 21]]
    """
    if indexing not in ("xy", "ij"):
        raise ValueError(f"indexing is 'xy' or 'ij', found {indexing!r}")
    for array in arrays:
        if array.ndim != 1:
            raise ValueError(f"meshgrid expects vectors, found shape {array.shape}")
    rank = len(arrays)
    order = (1, 0, *range(2, rank)) if indexing == "xy" and rank > 1 else tuple(range(rank))
    shape = tuple(arrays[k].shape[0] for k in order)
    columns = []
    for array, mode in zip(arrays, order, strict=True):
        column = (
            _core.reshape(array, [-1 if k == mode else 1 for k in range(rank)])
            if array.size
            else array[tuple(slice(None) if k == mode else None for k in range(rank))]
        )
        columns.append(_core.broadcast_to(column, shape))
    return tuple(columns)


def tril(x: Array, /, *, k: int = 0) -> Array:
    """Return the elements on and below diagonal `k`, and zeros above diagonal `k`.

    Raises:
        ValueError: the array has less than 2 modes.

    Examples:
        >>> rp.tril(rp.ones((2, 2), dtype=rp.int64)).tolist()
        [[1, 0], [1, 1]]
    """
    return _core.triangle(x, None, k)


def triu(x: Array, /, *, k: int = 0) -> Array:
    """Return the elements on and above diagonal `k`, and zeros below diagonal `k`.

    Raises:
        ValueError: the array has less than 2 modes.

    Examples:
        >>> rp.triu(rp.ones((2, 2), dtype=rp.int64), k=1).tolist()
        [[0, 1], [0, 0]]
    """
    return _core.triangle(x, k, None)
