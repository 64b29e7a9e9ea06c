"""Reductions and scans along axes."""

from __future__ import annotations

from .. import _core
from .._array import Array
from .._dtypes import as_dtype, float32, isdtype
from .._dtypes import bool as bool_
from .._typing import Axis, DTypeLike, Number

__all__ = [
    "cumulative_prod", "cumulative_sum", "diff", "max", "mean", "median", "min", "nanmax", "nanmean", "nanmin",
    "nanprod", "nanstd", "nansum", "nanvar", "prod", "quantile", "std", "sum", "var",
]  # fmt: skip


def _fold(x: Array, name: str, axis: Axis, dtype: DTypeLike | None, keepdims: bool) -> Array:
    """Compute a sum or a product of elements that are first cast to `dtype`."""
    if dtype is None:
        return _core.reduce(x, name, axis, keepdims)
    dtype = as_dtype(dtype)
    result = _core.reduce(x if x.dtype is dtype else x.cast(dtype.name), name, axis, keepdims)
    return result if result.dtype is dtype else result.cast(dtype.name)


def sum(x: Array, /, *, axis: Axis = None, dtype: DTypeLike | None = None, keepdims: bool = False) -> Array:
    """Compute the sum along axes. Integers are added in 64 bits, unless `dtype` says otherwise.

    Raises:
        AxisError: the array has no such axis.

    Examples:
        >>> rp.sum(rp.asarray([[1.0, 2.0], [3.0, 4.0]]), axis=0).tolist()
        [4.0, 6.0]
    """
    return _fold(x, "sum", axis, dtype, keepdims)


def prod(x: Array, /, *, axis: Axis = None, dtype: DTypeLike | None = None, keepdims: bool = False) -> Array:
    """Compute the product along axes. Integers are multiplied in 64 bits, unless `dtype` says
    otherwise.

    Raises:
        AxisError: the array has no such axis.

    Examples:
        >>> rp.prod(rp.asarray([[1.0, 2.0], [3.0, 4.0]]), axis=0).tolist()
        [3.0, 8.0]
    """
    return _fold(x, "prod", axis, dtype, keepdims)


def _extreme(x: Array, name: str, axis: Axis, keepdims: bool) -> Array:
    axes = range(x.ndim) if axis is None else (axis,) if isinstance(axis, int) else axis
    numbers = [one for one in axes if isinstance(one, int)]
    if x.names is None and any(-x.ndim <= one < x.ndim and x.shape[one] == 0 for one in numbers):
        raise ValueError(f"{name} of no elements is not defined")
    return _core.reduce(x, name, axis, keepdims)


def min(x: Array, /, *, axis: Axis = None, keepdims: bool = False) -> Array:
    """Compute the minimum along axes; NaN if any element is NaN.

    Raises:
        ValueError: there are no elements.
        AxisError: the array has no such axis.

    Examples:
        >>> rp.min(rp.asarray([[1.0, 2.0], [3.0, 4.0]]), axis=0).tolist()
        [1.0, 2.0]
    """
    return _extreme(x, "min", axis, keepdims)


def max(x: Array, /, *, axis: Axis = None, keepdims: bool = False) -> Array:
    """Compute the maximum along axes; NaN if any element is NaN.

    Raises:
        ValueError: there are no elements.
        AxisError: the array has no such axis.

    Examples:
        >>> rp.max(rp.asarray([[1.0, 2.0], [3.0, 4.0]]), axis=0).tolist()
        [3.0, 4.0]
    """
    return _extreme(x, "max", axis, keepdims)


def mean(x: Array, /, *, axis: Axis = None, keepdims: bool = False) -> Array:
    """Compute the mean along axes.

    Raises:
        AxisError: the array has no such axis.

    Examples:
        >>> rp.mean(rp.asarray([[1.0, 2.0], [3.0, 4.0]]), axis=0).tolist()
        [2.0, 3.0]
    """
    return _core.reduce(x, "mean", axis, keepdims)


def _moment(x: Array, name: str, axis: Axis, correction: float, keepdims: bool) -> Array:
    """Compute a moment. `float32` is summed in `float64`, since sums of squares lose digits."""
    if x.dtype is not float32:
        return _core.moment(x, name, axis, correction, keepdims)
    return _core.moment(x.cast("float64"), name, axis, correction, keepdims).cast("float32")


def var(x: Array, /, *, axis: Axis = None, correction: float = 0.0, keepdims: bool = False) -> Array:
    """Compute the variance along axes. `correction` is subtracted from the number of elements.

    Raises:
        AxisError: the array has no such axis.

    Examples:
        >>> rp.var(rp.asarray([[1.0, 2.0], [3.0, 4.0]]), axis=0).tolist()
        [1.0, 1.0]
    """
    return _moment(x, "var", axis, correction, keepdims)


def std(x: Array, /, *, axis: Axis = None, correction: float = 0.0, keepdims: bool = False) -> Array:
    """Compute the standard deviation along axes. See `var` for `correction`.

    Raises:
        AxisError: the array has no such axis.

    Examples:
        >>> rp.std(rp.asarray([[1.0, 2.0], [3.0, 4.0]]), axis=0).tolist()
        [1.0, 1.0]
    """
    return _moment(x, "std", axis, correction, keepdims)


def _cast(x: Array, dtype: DTypeLike | None) -> Array:
    return x if dtype is None else x.cast(as_dtype(dtype).name)


def _without_nan(x: Array, name: str) -> str:
    """Return the name of the reduction that ignores NaN; integers and booleans have no NaN."""
    return f"nan_{name}" if isdtype(x.dtype, "real floating") else name


def nansum(x: Array, /, *, axis: Axis = None, dtype: DTypeLike | None = None, keepdims: bool = False) -> Array:
    """Compute the sum along axes, ignoring NaN.

    Raises:
        AxisError: the array has no such axis.

    Examples:
        >>> rp.nansum(rp.asarray([1.0, rp.nan, 3.0])).item()
        4.0
    """
    return _core.reduce(_cast(x, dtype), _without_nan(x, "sum"), axis, keepdims)


def nanprod(x: Array, /, *, axis: Axis = None, dtype: DTypeLike | None = None, keepdims: bool = False) -> Array:
    """Compute the product along axes, ignoring NaN.

    Raises:
        AxisError: the array has no such axis.

    Examples:
        >>> rp.nanprod(rp.asarray([1.0, rp.nan, 3.0])).item()
        3.0
    """
    return _core.reduce(_cast(x, dtype), _without_nan(x, "prod"), axis, keepdims)


def nanmin(x: Array, /, *, axis: Axis = None, keepdims: bool = False) -> Array:
    """Compute the minimum along axes, ignoring NaN.

    Raises:
        AxisError: the array has no such axis.

    Examples:
        >>> rp.nanmin(rp.asarray([1.0, rp.nan, 3.0])).item()
        1.0
    """
    return _core.reduce(x, _without_nan(x, "min"), axis, keepdims)


def nanmax(x: Array, /, *, axis: Axis = None, keepdims: bool = False) -> Array:
    """Compute the maximum along axes, ignoring NaN.

    Raises:
        AxisError: the array has no such axis.

    Examples:
        >>> rp.nanmax(rp.asarray([1.0, rp.nan, 3.0])).item()
        3.0
    """
    return _core.reduce(x, _without_nan(x, "max"), axis, keepdims)


def nanmean(x: Array, /, *, axis: Axis = None, dtype: DTypeLike | None = None, keepdims: bool = False) -> Array:
    """Compute the mean along axes, ignoring NaN.

    Raises:
        AxisError: the array has no such axis.

    Examples:
        >>> rp.nanmean(rp.asarray([1.0, rp.nan, 3.0])).item()
        2.0
    """
    return _core.reduce(_cast(x, dtype), "nan_mean", axis, keepdims)


def nanvar(
    x: Array, /, *, axis: Axis = None, dtype: DTypeLike | None = None, correction: float = 0.0, ddof: float = 0.0,
    keepdims: bool = False,
) -> Array:  # fmt: skip
    """Compute the variance along axes, ignoring NaN.

    Raises:
        AxisError: the array has no such axis.

    Examples:
        >>> rp.nanvar(rp.asarray([1.0, rp.nan, 3.0])).item()
        1.0
    """
    return _moment(_cast(x, dtype), "nan_var", axis, correction or ddof, keepdims)


def nanstd(
    x: Array, /, *, axis: Axis = None, dtype: DTypeLike | None = None, correction: float = 0.0, ddof: float = 0.0,
    keepdims: bool = False,
) -> Array:  # fmt: skip
    """Compute the standard deviation along axes, ignoring NaN.

    Raises:
        AxisError: the array has no such axis.

    Examples:
        >>> rp.nanstd(rp.asarray([1.0, rp.nan, 3.0])).item()
        1.0
    """
    return _moment(_cast(x, dtype), "nan_std", axis, correction or ddof, keepdims)


def median(x: Array, /, *, axis: Axis = None, keepdims: bool = False) -> Array:
    """Compute the median along axes. The computation is not lazy.

    Raises:
        AxisError: the array has no such axis.

    Examples:
        >>> rp.median(rp.asarray([[1.0, 2.0], [3.0, 4.0]]), axis=0).tolist()
        [2.0, 3.0]
    """
    return _core.quantile(x, 0.5, axis, keepdims)


def quantile(x: Array, fraction: float, /, *, axis: Axis = None, keepdims: bool = False) -> Array:
    """Compute a quantile along axes. The computation is not lazy.

    Raises:
        ValueError: the fraction is not between 0 and 1.

    Examples:
        >>> rp.quantile(rp.asarray([1.0, 2.0, 3.0, 4.0, 5.0]), 0.25).item()
        2.0
    """
    return _core.quantile(x, fraction, axis, keepdims)


def _cumulative(
    x: Array, name: str, axis: int | None, dtype: DTypeLike | None, include_initial: bool, initial: Number
) -> Array:
    from .creation import full

    if axis is None:
        if x.ndim != 1:
            raise ValueError(f"a scan expects an axis for shape {x.shape}")
        axis = 0
    if dtype is not None and as_dtype(dtype) is not x.dtype:
        x = x.cast(as_dtype(dtype).name)
    result = _core.scan(x, name, axis)
    if dtype is not None and result.dtype is not as_dtype(dtype):
        result = result.cast(as_dtype(dtype).name)
    if include_initial:
        shape = list(x.shape)
        shape[axis] = 1
        result = _core.concat([full(tuple(shape), initial, dtype=result.dtype), result], axis)
    return result


def cumulative_sum(
    x: Array, /, *, axis: int | None = None, dtype: DTypeLike | None = None, include_initial: bool = False
) -> Array:
    """Compute the partial sums along an axis.

    Raises:
        ValueError: no axis is given, and the array does not have exactly one mode.

    Examples:
        >>> rp.cumulative_sum(rp.asarray([1, 2, 3]), include_initial=True).tolist()
        [0, 1, 3, 6]
    """
    return _cumulative(x, "sum", axis, dtype, include_initial, 0)


def cumulative_prod(
    x: Array, /, *, axis: int | None = None, dtype: DTypeLike | None = None, include_initial: bool = False
) -> Array:
    """Compute the partial products along an axis.

    Raises:
        ValueError: no axis is given, and the array does not have exactly one mode.

    Examples:
        >>> rp.cumulative_prod(rp.asarray([1, 2, 3])).tolist()
        [1, 2, 6]
    """
    return _cumulative(x, "prod", axis, dtype, include_initial, 1)


def diff(
    x: Array, /, *, axis: int = -1, n: int = 1, prepend: Array | None = None, append: Array | None = None
) -> Array:
    """Compute the differences of adjacent elements along an axis, `n` times.

    Raises:
        AxisError: the array has no such axis.

    Examples:
        >>> rp.diff(rp.asarray([1, 4, 9])).tolist()
        [3, 5]
    """
    from .manipulation import concat

    parts = [part for part in (prepend, x, append) if part is not None]
    x = concat(parts, axis=axis) if len(parts) > 1 else x
    # As in NumPy, the difference of two booleans is true if the booleans differ.
    result = _core.diff(x, n, axis)
    return result.cast("int8").apply("band", 1).cast("bool") if x.dtype is bool_ else result
