"""NumPy's functions of arrays of redpoll, which `__array_function__` calls.

A function of the namespace with the name and the arguments of NumPy's needs no entry here. The
others are adapters: they have the name and the arguments of NumPy's, and call the namespace.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np

from .. import _core
from .numpy import dense

#: The functions of NumPy by name.
ADAPTERS: dict[str, Callable[..., Any]] = {}

#: Names of functions of NumPy that differ from the names of the standard.
_RENAMED = {
    "amax": "max", "amin": "min", "around": "round", "concatenate": "concat", "transpose": "permute_dims",
    "cumsum": "cumulative_sum", "cumprod": "cumulative_prod",
}  # fmt: skip


def _xp() -> Any:
    import redpoll

    return redpoll


def _array(value: Any) -> Any:
    return _xp().asarray(value)


def _adapter(function: Callable[..., Any]) -> Callable[..., Any]:
    ADAPTERS[function.__name__] = function
    return function


def call(
    called: Callable[..., Any], types: Iterable[type], args: Sequence[Any], kwargs: Mapping[str, Any]
) -> Any:
    """Return the result of a function of NumPy, or `NotImplemented`.

    Arrays that may hold arrays of redpoll, such as those of dask, implement the function instead.
    """
    if called.__module__ not in ("numpy", "numpy.linalg"):
        return NotImplemented
    if not all(issubclass(one, (_core.Array, np.ndarray)) or one.__module__.startswith("sparse") for one in types):
        return NotImplemented
    name = called.__name__ if called.__module__ == "numpy" else f"linalg_{called.__name__}"
    # An argument with its default says nothing about the result.
    given = dict(kwargs)
    for key, neutral in _NEUTRAL.items():
        if key in given and (given[key] is neutral or given[key] is None):
            del given[key]
    function = ADAPTERS.get(name) or getattr(_xp(), _RENAMED.get(name, name), None)
    if not callable(function) or isinstance(function, type) or not _accepts(function, len(args), tuple(given)):
        return NotImplemented
    return function(*args, **given)


#: The values of arguments that change nothing, besides `None`.
_NEUTRAL = {
    "out": None, "where": True, "copy": None, "subok": True, "like": None, "order": "K", "casting": "same_kind",
    "optimize": False, "overwrite_input": False, "kind": None, "device": None,
}  # fmt: skip


def _accepts(function: Callable[..., Any], count: int, names: tuple[str, ...]) -> bool:
    """Return whether a function has arguments of these names, so that others are not implemented."""
    parameters = _parameters(function)
    return parameters is None or (count <= parameters[0] and all(name in parameters[1] for name in names))


@cache
def _parameters(function: Callable[..., Any]) -> tuple[float, frozenset[str]] | None:
    """Return the number of positional arguments of a function, and the names of its arguments."""
    try:
        found = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return None
    positional = [p for p in found if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    count = math.inf if any(p.kind is p.VAR_POSITIONAL for p in found) else len(positional)
    return count, frozenset(p.name for p in found)


# Shapes and dtypes.


@_adapter
def shape(a: Any) -> Any:
    return a.shape


@_adapter
def ndim(a: Any) -> Any:
    return a.ndim


@_adapter
def size(a: Any, axis: Any = None) -> Any:
    return a.size if axis is None else a.shape[axis]


@_adapter
def result_type(*arrays_and_dtypes: Any) -> Any:
    return np.result_type(*(value.dtype.numpy if hasattr(value, "fill_value") else value for value in arrays_and_dtypes))


@_adapter
def can_cast(from_: Any, to: Any, casting: str = "safe") -> Any:
    return np.can_cast(getattr(from_, "dtype", from_).numpy, to, casting)


@_adapter
def iscomplexobj(x: Any) -> Any:
    return False


@_adapter
def isrealobj(x: Any) -> Any:
    return True


@_adapter
def may_share_memory(a: Any, b: Any, max_work: Any = None) -> Any:
    return a is b


shares_memory = ADAPTERS["shares_memory"] = may_share_memory


# Creation.


@_adapter
def copy(a: Any) -> Any:
    return a.__copy__()


def _like(name: str) -> None:
    def like(prototype: Any, dtype: Any = None, *, shape: Any = None) -> Any:
        size = prototype.shape if shape is None else shape
        return getattr(_xp(), name)(size, dtype=_dtype(prototype) if dtype is None else dtype)

    ADAPTERS[f"{name}_like"] = like


for _name in ("zeros", "ones", "empty"):
    _like(_name)


@_adapter
def full_like(a: Any, fill_value: Any, dtype: Any = None, *, shape: Any = None) -> Any:
    size = a.shape if shape is None else shape
    fill_value = fill_value.item() if hasattr(fill_value, "item") else fill_value
    return _xp().full(size, fill_value, dtype=_dtype(a) if dtype is None else dtype)


def _dtype(array: Any) -> Any:
    return _xp().asarray(array).dtype


# Reductions. NumPy has the axis as the second argument.


def _reduction(name: str, *, dtype: bool = False, keepdims: bool = True) -> None:
    function = lambda: getattr(_xp(), name)  # noqa: E731

    def reduction(a: Any, axis: Any = None, **given: Any) -> Any:
        return function()(_array(a), axis=axis, **given)

    def typed(a: Any, axis: Any = None, dtype: Any = None, **given: Any) -> Any:
        return function()(_array(a), axis=axis, dtype=dtype, **given)

    def moment(a: Any, axis: Any = None, dtype: Any = None, *, ddof: float = 0, correction: float = 0, **given: Any) -> Any:
        x = _array(a) if dtype is None else _array(a).astype(dtype)
        return function()(x, axis=axis, correction=correction or ddof, **given)

    def mean(a: Any, axis: Any = None, dtype: Any = None, **given: Any) -> Any:
        return function()(_array(a) if dtype is None else _array(a).astype(dtype), axis=axis, **given)

    if name.endswith(("var", "std")):
        ADAPTERS[name] = moment
    elif name.endswith("mean"):
        ADAPTERS[name] = mean
    else:
        ADAPTERS[name] = typed if dtype else reduction


for _name in ("sum", "prod"):
    _reduction(_name, dtype=True)
for _name in (
    "min", "max", "mean", "var", "std", "any", "all", "count_nonzero", "median", "nansum", "nanprod", "nanmin",
    "nanmax", "nanmean", "nanvar", "nanstd", "argmin", "argmax",
):  # fmt: skip
    _reduction(_name)
ADAPTERS["amin"], ADAPTERS["amax"] = ADAPTERS["min"], ADAPTERS["max"]


@_adapter
def ptp(a: Any, axis: Any = None, *, keepdims: bool = False) -> Any:
    return _xp().max(a, axis=axis, keepdims=keepdims) - _xp().min(a, axis=axis, keepdims=keepdims)


@_adapter
def average(a: Any, axis: Any = None, weights: Any = None, *, keepdims: bool = False) -> Any:
    xp, a = _xp(), _array(a)
    if weights is None:
        return xp.mean(a, axis=axis, keepdims=keepdims)
    weights = _array(weights)
    if weights.shape != a.shape:
        weights = xp.reshape(weights, [-1 if mode == axis % a.ndim else 1 for mode in range(a.ndim)])
    weights = xp.broadcast_to(weights, a.shape)
    total = xp.sum(weights, axis=axis, keepdims=keepdims)
    return xp.sum(a * weights, axis=axis, keepdims=keepdims) / total


@_adapter
def quantile(a: Any, q: float, axis: Any = None, *, keepdims: bool = False) -> Any:
    return _xp().quantile(_array(a), float(q), axis=axis, keepdims=keepdims)


@_adapter
def percentile(a: Any, q: float, axis: Any = None, *, keepdims: bool = False) -> Any:
    return _xp().quantile(_array(a), float(q) / 100, axis=axis, keepdims=keepdims)


@_adapter
def cumsum(a: Any, axis: Any = None, dtype: Any = None) -> Any:
    a = _array(a)
    return _xp().cumulative_sum(_xp().reshape(a, (-1,)) if axis is None else a, axis=axis or 0, dtype=dtype)


@_adapter
def cumprod(a: Any, axis: Any = None, dtype: Any = None) -> Any:
    a = _array(a)
    return _xp().cumulative_prod(_xp().reshape(a, (-1,)) if axis is None else a, axis=axis or 0, dtype=dtype)


@_adapter
def diff(a: Any, n: int = 1, axis: int = -1, prepend: Any = None, append: Any = None) -> Any:
    edges = {name: _array(edge) for name, edge in (("prepend", prepend), ("append", append)) if edge is not None}
    return _xp().diff(_array(a), axis=axis, n=n, **edges)


# Shapes.


@_adapter
def concatenate(arrays: Any, axis: Any = 0, *, dtype: Any = None) -> Any:
    result = _xp().concat([_array(one) for one in arrays], axis=axis)
    return result if dtype is None else result.astype(dtype)


ADAPTERS["concat"] = concatenate


@_adapter
def stack(arrays: Any, axis: int = 0, *, dtype: Any = None) -> Any:
    result = _xp().stack([_array(one) for one in arrays], axis=axis)
    return result if dtype is None else result.astype(dtype)


def _at_least(array: Any, rank: int) -> Any:
    """Return an array with modes of size 1, where NumPy adds them, up to a rank."""
    array = _array(array)
    while array.ndim < min(rank, 2):
        array = _xp().expand_dims(array, axis=0)
    return _xp().expand_dims(array, axis=2) if array.ndim < rank else array


def _at_least_function(rank: int) -> None:
    def at_least(*arrays: Any) -> Any:
        results = tuple(_at_least(one, rank) for one in arrays)
        return results[0] if len(results) == 1 else results

    ADAPTERS[f"atleast_{rank}d"] = at_least


for _rank in (1, 2, 3):
    _at_least_function(_rank)


@_adapter
def vstack(tup: Any, *, dtype: Any = None) -> Any:
    return concatenate([_at_least(one, 2) for one in tup], 0, dtype=dtype)


@_adapter
def hstack(tup: Any, *, dtype: Any = None) -> Any:
    parts = [_at_least(one, 1) for one in tup]
    return concatenate(parts, 0 if parts[0].ndim == 1 else 1, dtype=dtype)


@_adapter
def dstack(tup: Any) -> Any:
    return concatenate([_at_least(one, 3) for one in tup], 2)


@_adapter
def column_stack(tup: Any) -> Any:
    return concatenate([_array(one) if one.ndim > 1 else _xp().expand_dims(_array(one), axis=1) for one in tup], 1)


@_adapter
def array_split(ary: Any, indices_or_sections: Any, axis: int = 0) -> Any:
    length = ary.shape[axis]
    if isinstance(indices_or_sections, (int, np.integer)):
        small, rest = divmod(length, int(indices_or_sections))
        sizes = [small + (k < rest) for k in range(int(indices_or_sections))]
        bounds = [0, *np.cumsum(sizes).tolist()]
    else:
        bounds = [0, *(int(bound) for bound in indices_or_sections), length]
    before = (slice(None),) * (axis % ary.ndim)
    return [ary[(*before, slice(start, end))] for start, end in zip(bounds, bounds[1:], strict=False)]


@_adapter
def split(ary: Any, indices_or_sections: Any, axis: int = 0) -> Any:
    if isinstance(indices_or_sections, (int, np.integer)) and ary.shape[axis] % int(indices_or_sections):
        raise ValueError("array split does not result in an equal division")
    return array_split(ary, indices_or_sections, axis)


@_adapter
def ravel(a: Any) -> Any:
    # SciPy passes the result to its kernels, which take only arrays of NumPy.
    return np.ravel(dense(a))


@_adapter
def reshape(a: Any, shape: Any) -> Any:
    return _xp().reshape(a, shape)


@_adapter
def transpose(a: Any, axes: Any = None) -> Any:
    return a.transpose() if axes is None else _xp().permute_dims(a, tuple(axis % a.ndim for axis in axes))


@_adapter
def swapaxes(a: Any, axis1: int, axis2: int) -> Any:
    order = list(range(a.ndim))
    order[axis1], order[axis2] = order[axis2], order[axis1]
    return _xp().permute_dims(a, order)


@_adapter
def moveaxis(a: Any, source: Any, destination: Any) -> Any:
    return _xp().moveaxis(a, source, destination)


@_adapter
def expand_dims(a: Any, axis: Any) -> Any:
    return _xp().expand_dims(a, axis=axis)


@_adapter
def squeeze(a: Any, axis: Any = None) -> Any:
    axis = tuple(mode for mode, size in enumerate(a.shape) if size == 1) if axis is None else axis
    return _xp().squeeze(a, axis=axis)


@_adapter
def flip(m: Any, axis: Any = None) -> Any:
    return _xp().flip(m, axis=axis)


@_adapter
def flipud(m: Any) -> Any:
    return _xp().flip(m, axis=0)


@_adapter
def fliplr(m: Any) -> Any:
    return _xp().flip(m, axis=1)


@_adapter
def rot90(m: Any, k: int = 1, axes: tuple[int, int] = (0, 1)) -> Any:
    first, second = (axis % m.ndim for axis in axes)
    for _ in range(k % 4):
        m = _xp().flip(swapaxes(m, first, second), axis=first)
    return m


@_adapter
def roll(a: Any, shift: Any, axis: Any = None) -> Any:
    return _xp().roll(a, shift, axis=axis)


@_adapter
def tile(A: Any, reps: Any) -> Any:  # noqa: N803
    return _xp().tile(A, (reps,) if isinstance(reps, int) else reps)


@_adapter
def repeat(a: Any, repeats: Any, axis: Any = None) -> Any:
    return _xp().repeat(a, repeats if isinstance(repeats, int) else _array(repeats), axis=axis)


@_adapter
def broadcast_to(array: Any, shape: Any) -> Any:
    return _xp().broadcast_to(array, (shape,) if isinstance(shape, int) else shape)


@_adapter
def broadcast_arrays(*args: Any) -> Any:
    return tuple(_xp().broadcast_arrays(*(_array(one) for one in args)))


@_adapter
def pad(array: Any, pad_width: Any, mode: str = "constant", *, constant_values: Any = 0) -> Any:
    if mode != "constant" or not isinstance(constant_values, (bool, int, float)):
        return NotImplemented
    widths = np.broadcast_to(np.asarray(pad_width), (array.ndim, 2))
    return _xp().pad(array, [tuple(int(width) for width in pair) for pair in widths], value=constant_values)


@_adapter
def tril(m: Any, k: int = 0) -> Any:
    return _xp().tril(m, k=k)


@_adapter
def triu(m: Any, k: int = 0) -> Any:
    return _xp().triu(m, k=k)


@_adapter
def diagonal(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any:
    return _xp().diagonal(moveaxis(a, (axis1, axis2), (-2, -1)), offset=offset)


@_adapter
def trace(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: Any = None) -> Any:
    return _xp().trace(moveaxis(a, (axis1, axis2), (-2, -1)), offset=offset, dtype=dtype)


@_adapter
def diag(v: Any, k: int = 0) -> Any:
    xp = _xp()
    if v.ndim == 2:
        return xp.diagonal(v, offset=k)
    if v.ndim != 1:
        raise ValueError(f"a diagonal is a vector or that of a matrix, found shape {v.shape}")
    size = v.shape[0] + abs(k)
    columns = xp.pad(v, [(max(k, 0), max(-k, 0))])
    return xp.where(xp.eye(size, size, k=k, dtype=xp.bool), columns, xp.zeros((), dtype=v.dtype))


# Products.


@_adapter
def dot(a: Any, b: Any) -> Any:
    a, b = _array(a), _array(b)
    if a.ndim == 0 or b.ndim == 0:
        return a * b
    if a.ndim <= 2 and b.ndim <= 2:
        return a @ b
    return _xp().tensordot(a, b, axes=([a.ndim - 1], [max(b.ndim - 2, 0)]))


@_adapter
def vdot(a: Any, b: Any) -> Any:
    xp = _xp()
    return xp.vecdot(xp.reshape(_array(a), (-1,)), xp.reshape(_array(b), (-1,)))


@_adapter
def inner(a: Any, b: Any) -> Any:
    a, b = _array(a), _array(b)
    return a * b if a.ndim == 0 or b.ndim == 0 else _xp().tensordot(a, b, axes=([a.ndim - 1], [b.ndim - 1]))


@_adapter
def outer(a: Any, b: Any) -> Any:
    xp = _xp()
    return xp.outer(xp.reshape(_array(a), (-1,)), xp.reshape(_array(b), (-1,)))


@_adapter
def kron(a: Any, b: Any) -> Any:
    return _xp().kron(_array(a), _array(b))


@_adapter
def tensordot(a: Any, b: Any, axes: Any = 2) -> Any:
    if not isinstance(axes, int):
        # NumPy takes a number for a list of one axis, and negative axes.
        a_axes, b_axes = ([one] if isinstance(one, int) else list(one) for one in axes)
        axes = ([axis % a.ndim for axis in a_axes], [axis % b.ndim for axis in b_axes])
    return _xp().tensordot(_array(a), _array(b), axes=axes)


@_adapter
def einsum(subscripts: str, *operands: Any) -> Any:
    return _xp().einsum(subscripts, *(_array(one) for one in operands))


@_adapter
def linalg_norm(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Any:
    xp = _xp()
    modes = x.ndim if axis is None else 1 if isinstance(axis, int) else len(axis)
    if ord not in (None, "fro") and (modes != 1 or not isinstance(ord, (int, float))):
        return NotImplemented
    if ord == "fro" and modes != 2:
        raise ValueError(f"the Frobenius norm is that of matrices, found {modes} modes")
    axis = tuple(range(x.ndim)) if axis is None else axis
    magnitudes = xp.abs(x)
    if ord in (None, "fro", 2):
        return xp.sqrt(xp.sum(xp.square(magnitudes.astype(_float_dtype(x))), axis=axis, keepdims=keepdims))
    if math.isinf(ord):
        return (xp.max if ord > 0 else xp.min)(magnitudes, axis=axis, keepdims=keepdims)
    if ord == 0:
        return xp.count_nonzero(x, axis=axis, keepdims=keepdims).astype(_float_dtype(x))
    powers = xp.sum(magnitudes.astype(_float_dtype(x)) ** float(ord), axis=axis, keepdims=keepdims)
    return powers ** (1.0 / ord)


def _float_dtype(x: Any) -> Any:
    return x.dtype if x.dtype.kind == "real floating" else _xp().float64


# Selections, orders, elements.


@_adapter
def take(a: Any, indices: Any, axis: Any = None) -> Any:
    xp, a = _xp(), _array(a)
    a, axis = (xp.reshape(a, (-1,)), 0) if axis is None else (a, axis)
    return a[(*(slice(None),) * (axis % a.ndim), indices if isinstance(indices, int) else _array(indices))]


@_adapter
def take_along_axis(arr: Any, indices: Any, axis: int = -1) -> Any:
    return _xp().take_along_axis(arr, _array(indices), axis=axis)


@_adapter
def compress(condition: Any, a: Any, axis: Any = None) -> Any:
    return take(a, np.flatnonzero(np.asarray(condition)), axis)


@_adapter
def where(condition: Any, *values: Any) -> Any:
    if not values:
        return _xp().nonzero(_array(condition))
    numbers = (bool, int, float)
    return _xp().where(_array(condition), *(one if isinstance(one, numbers) else _array(one) for one in values))


@_adapter
def nonzero(a: Any) -> Any:
    return _xp().nonzero(a)


@_adapter
def flatnonzero(a: Any) -> Any:
    return _xp().nonzero(_xp().reshape(a, (-1,)))[0]


@_adapter
def argwhere(a: Any) -> Any:
    from .. import _core

    return _core.argwhere(_array(a))


@_adapter
def sort(a: Any, axis: Any = -1, *, stable: Any = None) -> Any:
    return _xp().sort(_xp().reshape(a, (-1,)) if axis is None else a, axis=-1 if axis is None else axis)


@_adapter
def argsort(a: Any, axis: Any = -1, *, stable: Any = None) -> Any:
    return _xp().argsort(_xp().reshape(a, (-1,)) if axis is None else a, axis=-1 if axis is None else axis)


@_adapter
def searchsorted(a: Any, v: Any, side: str = "left") -> Any:
    return _xp().searchsorted(_array(a), _array(v), side=side)


@_adapter
def unique(
    ar: Any, return_index: bool = False, return_inverse: bool = False, return_counts: bool = False, *,
    equal_nan: bool = False, sorted: bool = True,
) -> Any:  # fmt: skip
    if equal_nan and ar.dtype.kind == "real floating":
        return NotImplemented
    values, first, inverse, counts = _xp().unique_all(ar)
    parts = ((first, return_index), (inverse, return_inverse), (counts, return_counts))
    results = (values, *(part for part, asked in parts if asked))
    return results[0] if len(results) == 1 else results


@_adapter
def isin(element: Any, test_elements: Any, *, invert: bool = False) -> Any:
    return _xp().isin(_array(element), _array(test_elements), invert=invert)


@_adapter
def clip(a: Any, a_min: Any = None, a_max: Any = None, *, min: Any = None, max: Any = None) -> Any:
    return _xp().clip(_array(a), a_min if min is None else min, a_max if max is None else max)


@_adapter
def round(a: Any, decimals: int = 0) -> Any:
    xp = _xp()
    return xp.round(a) if decimals == 0 else xp.round(a * 10.0**decimals) / 10.0**decimals


ADAPTERS["around"] = round


@_adapter
def real(val: Any) -> Any:
    return val


@_adapter
def imag(val: Any) -> Any:
    return _xp().zeros_like(val)


@_adapter
def nan_to_num(x: Any, *, nan: float = 0.0, posinf: Any = None, neginf: Any = None) -> Any:
    xp = _xp()
    if x.dtype.kind != "real floating":
        return x
    limits = xp.finfo(x.dtype)
    x = xp.where(xp.isnan(x), nan, x)
    x = xp.where(x == math.inf, limits.max if posinf is None else posinf, x)
    return xp.where(x == -math.inf, limits.min if neginf is None else neginf, x)


@_adapter
def isclose(a: Any, b: Any, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> Any:
    xp = _xp()
    a, b = _array(a), _array(b)
    close = (xp.abs(a - b) <= atol + rtol * xp.abs(b)) & xp.isfinite(b.astype(_float_dtype(b)))
    close = close | (a == b)
    return close | (xp.isnan(a) & xp.isnan(b)) if equal_nan else close


@_adapter
def allclose(a: Any, b: Any, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> Any:
    return bool(_xp().all(isclose(a, b, rtol, atol, equal_nan)))


@_adapter
def array_equal(a1: Any, a2: Any, equal_nan: bool = False) -> Any:
    xp = _xp()
    a, b = _array(a1), _array(a2)
    if a.shape != b.shape:
        return False
    equal = a == b
    return bool(xp.all(equal | (xp.isnan(a) & xp.isnan(b)) if equal_nan else equal))


@_adapter
def array_equiv(a1: Any, a2: Any) -> Any:
    try:
        return bool(_xp().all(_array(a1) == _array(a2)))
    except ValueError:
        return False
