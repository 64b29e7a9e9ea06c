"""The class `Array` of the package: NumPy's and the standard's methods over the core's arrays."""

import numpy as np

from . import _core, _interop
from ._dtypes import BY_NAME
from ._errors import AxisError
from ._indexing import getitem, setitem
from ._interop import numpy as _numpy

__all__ = ["Array"]


class Array(_core.Array):
    """A lazy array of any format and fill value.

    Operators and functions return new lazy arrays. Values are computed when Python needs them: by
    `compute`, `bool`, `int`, `float`, `numpy.asarray`, and then kept for later expressions. Arrays
    are made by `asarray` and the other functions of creation, not by this class.
    """

    __slots__ = ()

    __array_priority__ = 100
    __hash__ = None

    @property
    def dtype(self):
        """The dtype of the elements."""
        return BY_NAME.get(self.dtype_name, self.dtype_name)

    @property
    def device(self):
        """The device of the results, always the CPU."""
        return "cpu"

    @property
    def nbytes(self):
        """The number of bytes of all elements, stored or not."""
        return self.size * self.dtype.itemsize

    @property
    def T(self):  # noqa: N802
        """The matrix with its modes exchanged."""
        if self.ndim != 2:
            raise ValueError(f"`T` expects 2 modes, found shape {self.shape}; call `permute_dims`")
        return _core.permute_dims(self, (1, 0))

    @property
    def mT(self):  # noqa: N802
        """The array with its last two modes exchanged."""
        if self.ndim < 2:
            raise ValueError(f"`mT` expects at least 2 modes, found shape {self.shape}")
        return _core.permute_dims(self, (*range(self.ndim - 2), self.ndim - 1, self.ndim - 2))

    def to_device(self, device, /, *, stream=None):
        """Return the array itself, as the only device is `cpu`."""
        if device != "cpu" or stream is not None:
            raise ValueError(f"the only device is 'cpu', without streams; found {device!r}, stream {stream!r}")
        return self

    # Computation.

    def compute(self):
        """Compute the array, keep its tensor for later expressions, and return the array."""
        super().compute()
        return self

    def compute_tensor(self):
        """Compute the array like `compute`, and return its tensor."""
        return super().compute()

    def todense(self):
        """Compute the array and return its elements as a read-only NumPy array."""
        return _numpy.to_numpy(super().compute())

    def to_scipy(self, format="csr", *, matrix=False):
        """Compute the array and return it as a sparse array of SciPy; see `to_scipy`."""
        from ._interop.scipy import to_scipy

        return to_scipy(self, format, matrix=matrix)

    def item(self, *at):
        """Compute the array and return one element as a Python number, the only one by default."""
        return super().compute().get(list(at)) if at else super().item()

    def __bool__(self):
        return bool(super().item())

    def __int__(self):
        return int(super().item())

    def __float__(self):
        return float(super().item())

    def __complex__(self):
        return complex(super().item())

    def __index__(self):
        if self.ndim or self.dtype_name == "bool" or self.dtype_name.startswith("float"):
            raise TypeError(
                f"only an array of one integer is an index, found shape {self.shape} of {self.dtype_name}"
            )
        return super().item()

    def __iter__(self):
        if self.ndim == 0:
            raise TypeError("an array without modes is not iterated; `item` returns its element")
        # The parts read one tensor in place of computing the array for each of them.
        self.compute()
        return iter(self.__array_namespace__().unstack(self))

    def __repr__(self):
        names = "" if self.names is None else f" names={self.names}"
        return f"<redpoll.Array shape={self.shape}{names} {self.dtype_name} fill={self.fill_value!r}>"

    # Indexing.

    def __getitem__(self, key):
        return getitem(self, key)

    def __setitem__(self, key, value):
        setitem(self, key, value)

    # Elements and shapes.

    def __pos__(self):
        return self

    def astype(self, dtype, /, *, copy=True):
        """Cast the elements to a dtype."""
        return self.__array_namespace__().astype(self, dtype, copy=copy)

    def reshape(self, *shape):
        """Change the shape and keep the elements in row-major order."""
        return _core.reshape(self, shape[0] if len(shape) == 1 and not isinstance(shape[0], int) else shape)

    def transpose(self, *axes):
        """Permute the modes, by default into the opposite order."""
        axes = axes[0] if len(axes) == 1 and not isinstance(axes[0], int) else axes
        return _core.permute_dims(self, axes or tuple(range(self.ndim))[::-1])

    def sum(self, axis=None, *, dtype=None, keepdims=False):
        """Compute the sum along axes."""
        return self.__array_namespace__().sum(self, axis=axis, dtype=dtype, keepdims=keepdims)

    def prod(self, axis=None, *, dtype=None, keepdims=False):
        """Compute the product along axes."""
        return self.__array_namespace__().prod(self, axis=axis, dtype=dtype, keepdims=keepdims)

    def min(self, axis=None, *, keepdims=False):
        """Compute the minimum along axes."""
        return self.__array_namespace__().min(self, axis=axis, keepdims=keepdims)

    def max(self, axis=None, *, keepdims=False):
        """Compute the maximum along axes."""
        return self.__array_namespace__().max(self, axis=axis, keepdims=keepdims)

    def mean(self, axis=None, *, keepdims=False):
        """Compute the mean along axes."""
        return self.__array_namespace__().mean(self, axis=axis, keepdims=keepdims)

    def var(self, axis=None, *, correction=0.0, keepdims=False):
        """Compute the variance along axes."""
        return self.__array_namespace__().var(self, axis=axis, correction=correction, keepdims=keepdims)

    def std(self, axis=None, *, correction=0.0, keepdims=False):
        """Compute the standard deviation along axes."""
        return self.__array_namespace__().std(self, axis=axis, correction=correction, keepdims=keepdims)

    def any(self, axis=None, *, keepdims=False):
        """Return whether any element along axes is not zero."""
        return self.__array_namespace__().any(self, axis=axis, keepdims=keepdims)

    def all(self, axis=None, *, keepdims=False):
        """Return whether all elements along axes are not zero."""
        return self.__array_namespace__().all(self, axis=axis, keepdims=keepdims)

    # Protocols.

    def __array_namespace__(self, /, *, api_version=None):
        import redpoll

        if api_version not in (None, "2021.12", "2022.12", "2023.12", "2024.12"):
            raise ValueError(f"the namespace follows version 2024.12 of the standard, not {api_version!r}")
        return redpoll

    def __array__(self, dtype=None, copy=None):
        return _numpy.dense(self, dtype, copy)

    def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
        return _numpy.ufunc(self.__array_namespace__(), ufunc, method, inputs, kwargs)

    def __array_function__(self, func, types, args, kwargs):
        return _numpy.function(self.__array_namespace__(), func, args, kwargs)

    def __dlpack__(self, *, stream=None, max_version=None, dl_device=None, copy=None):
        if stream is not None:
            raise ValueError("arrays on the CPU have no streams")
        # NumPy exports read-only memory only to consumers of version 1 of the protocol.
        values = np.asarray(self)
        if max_version is None or max_version[0] < 1:
            values = values.copy()
        return values.__dlpack__(max_version=max_version, dl_device=dl_device, copy=copy)

    def __dlpack_device__(self):
        return (1, 0)

    def __copy__(self):
        return Array(self)

    def __deepcopy__(self, memo):
        return Array(self)

    def __reduce__(self):
        tensor = super().compute()
        levels = [[_bytes(part) for part in level] for level in tensor.levels()]
        leaf = [_bytes(part) for part in tensor.leaf()]
        return _restore, (tensor.shape, tensor.dtype, tensor.fill, tensor.format, levels, leaf)


def _bytes(buffer):
    """Return the elements of a buffer as a NumPy array, which pickles without a copy."""
    return np.frombuffer(buffer, buffer.dtype) if len(buffer) else np.empty(0, buffer.dtype)


def _restore(shape, dtype, fill, format, levels, leaf):
    """Return the array of a pickled tensor."""
    from ._session import current_session

    return current_session().array(_core.Tensor(shape, dtype, fill, format, levels, leaf))


_core.register(Array, _interop.convert, AxisError)
