"""NumPy arrays: shared memory both ways, and NumPy's protocols for functions of arrays."""

import math

import numpy as np

from .. import _core
from .._errors import DensificationError
from .._session import current_session

_LIMIT = 1 << 30


def set_dense_limit(nbytes):
    """Set the largest NumPy array, in bytes, to which arrays are converted implicitly.

    `numpy.asarray(x)`, NumPy's functions and `scipy_matrix @ x` convert implicitly, `x.todense()`
    does not. The limit is 1 GiB by default; `None` removes it.
    """
    global _LIMIT
    _LIMIT = math.inf if nbytes is None else nbytes


def from_numpy(value, *, copy=False):
    """Return a dense array over the memory of a NumPy array.

    The memory is shared if the elements are contiguous and in native byte order; then the NumPy
    array must not be changed, unless `copy` is true.
    """
    dtype = value.dtype.newbyteorder("=")
    if dtype.name == "float16":
        dtype = np.dtype("float32")
    if value.ndim == 0:
        return current_session().full([], value.item(), dtype.name)
    value = np.array(value, dtype, order="C", copy=True if copy else None)
    levels = [[] for _ in value.shape]
    tensor = _core.Tensor(value.shape, dtype.name, 0, "dense", levels, [value.reshape(-1)])
    return current_session().array(tensor)


def to_numpy(tensor):
    """Return the elements of a tensor as a NumPy array, which is read-only and shares the memory of
    a dense tensor."""
    if not tensor.is_dense:
        tensor = tensor.convert("dense")
    [values] = tensor.leaf()
    return np.ndarray(tensor.shape, values.dtype, values)


def dense(array, dtype=None, copy=None):
    """Implement `__array__`: compute the array and return its elements, within the limit."""
    nbytes = array.size * array.dtype.itemsize
    if nbytes > _LIMIT:
        raise DensificationError(
            f"a dense array of shape {array.shape} has {nbytes} bytes, more than the limit of {_LIMIT}; call "
            "`todense()`, or raise the limit by `redpoll.set_dense_limit`"
        )
    result = to_numpy(array.compute_tensor())
    return np.array(result, dtype, copy=copy) if dtype is not None or copy else result


#: Names of ufuncs that differ from the names of the standard.
_UFUNCS = {
    "absolute": "abs", "fabs": "abs", "arccos": "acos", "arccosh": "acosh", "arcsin": "asin", "arcsinh": "asinh",
    "arctan": "atan", "arctan2": "atan2", "arctanh": "atanh", "invert": "bitwise_invert",
    "left_shift": "bitwise_left_shift", "right_shift": "bitwise_right_shift", "power": "pow", "float_power": "pow",
    "rint": "round", "true_divide": "divide", "mod": "remainder",
}  # fmt: skip

#: Reductions of ufuncs, and their scans.
_REDUCTIONS = {
    "add": "sum", "multiply": "prod", "minimum": "min", "maximum": "max", "logical_and": "all", "logical_or": "any",
}  # fmt: skip
_SCANS = {"add": "cumulative_sum", "multiply": "cumulative_prod"}

#: Names of functions of NumPy that differ from the names of the standard.
_FUNCTIONS = {
    "amax": "max", "amin": "min", "around": "round", "concatenate": "concat", "transpose": "permute_dims",
    "cumsum": "cumulative_sum", "cumprod": "cumulative_prod",
}  # fmt: skip


def ufunc(namespace, operator, method, inputs, kwargs):
    """Implement `__array_ufunc__` by the functions of the standard."""
    if kwargs.get("out") is not None or kwargs.get("where", True) is not True:
        return NotImplemented
    kwargs = {name: value for name, value in kwargs.items() if name not in ("out", "where")}
    name = operator.__name__
    if method == "__call__" and not kwargs:
        function = getattr(namespace, _UFUNCS.get(name, name), None)
    elif method == "reduce" and name in _REDUCTIONS:
        # The default of ufuncs is the first axis, that of the standard all axes.
        kwargs.setdefault("axis", 0)
        function = getattr(namespace, _REDUCTIONS[name])
    elif method == "accumulate" and name in _SCANS:
        kwargs.setdefault("axis", 0)
        function = getattr(namespace, _SCANS[name])
    elif method == "outer" and name == "multiply" and not kwargs:
        function = namespace.outer
    else:
        return NotImplemented
    if function is None:
        return NotImplemented
    operands = [namespace.asarray(one) if isinstance(one, np.ndarray | np.generic) else one for one in inputs]
    return function(*operands, **kwargs)


def function(namespace, called, args, kwargs):
    """Implement `__array_function__` by the functions of the same names."""
    if not called.__module__.startswith("numpy") or called.__module__.startswith(("numpy.linalg", "numpy.fft")):
        return NotImplemented
    name = called.__name__
    if name == "ravel":
        # SciPy passes the result to its kernels, which take only arrays of NumPy.
        return np.ravel(*(np.asarray(one) for one in args), **kwargs)
    found = getattr(namespace, _FUNCTIONS.get(name, name), None)
    if found is None:
        return NotImplemented
    if any(kwargs.get(name) is not None for name in ("out", "where")):
        return NotImplemented
    kwargs = {name: value for name, value in kwargs.items() if name not in ("out", "where")}
    return found(*args, **kwargs)
