"""The class `Array`: the core's array with the methods of the Array API standard and of NumPy."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import ModuleType
from typing import Any, Self

import numpy as np
import numpy.typing as npt

import redpoll

from . import _core, _display, _interop, _reports
from ._dtypes import BY_NAME, DType
from ._errors import AxisError
from ._flow import Drawing
from ._indexing import getitem, setitem
from ._interop import arrow as _arrow
from ._interop import functions as _functions_of_numpy
from ._interop import numpy as _numpy
from ._interop import ufuncs as _ufuncs
from ._ndarray import NumpyMethods
from ._typing import Axis, DTypeLike, Number

__all__ = ["Array"]


class Array(NumpyMethods, _core.Array):
    """A lazy array of any format and fill value.

    Operators and functions return new lazy arrays. Values are computed when Python needs them, as
    in `compute`, `bool`, `int`, `float` and `numpy.asarray`, and are kept for later expressions.
    Create arrays with `asarray` and the other creation functions, not with this class.
    """

    __slots__ = ("_labels",)

    _labels: tuple[Any, ...]

    __array_priority__ = 100
    __hash__ = None  # type: ignore[assignment]

    @property
    def dtype(self) -> DType:
        """The dtype of the elements.

        Examples:
            >>> rp.asarray([1.0, 2.0]).dtype
            redpoll.float64
        """
        return BY_NAME[self.dtype_name]

    @property
    def device(self) -> str:
        """The device of the results, always the CPU.

        Examples:
            >>> rp.asarray([1.0]).device
            'cpu'
        """
        return "cpu"

    @property
    def nbytes(self) -> int:
        """The number of bytes of all elements, stored or not.

        Examples:
            >>> rp.zeros((1000, 1000)).nbytes
            8000000
        """
        return self.size * self.dtype.itemsize

    @property
    def T(self) -> Array:  # noqa: N802
        """The matrix with its modes exchanged.

        Raises:
            ValueError: the array does not have 2 modes.

        Examples:
            >>> rp.asarray([[1, 2], [3, 4]]).T.tolist()
            [[1, 3], [2, 4]]
        """
        if self.ndim != 2:
            raise ValueError(f"`T` expects 2 modes, found shape {self.shape}; call `permute_dims`")
        return _core.permute_dims(self, (1, 0))

    @property
    def mT(self) -> Array:  # noqa: N802
        """The array with its last two modes exchanged.

        Raises:
            ValueError: the array has less than 2 modes.

        Examples:
            >>> rp.zeros((5, 2, 3)).mT.shape
            (5, 3, 2)
        """
        if self.ndim < 2:
            raise ValueError(f"`mT` expects at least 2 modes, found shape {self.shape}")
        return _core.permute_dims(self, (*range(self.ndim - 2), self.ndim - 1, self.ndim - 2))

    def to_device(self, device: str | None, /, *, stream: Any = None) -> Array:
        """Return the array itself, because the only device is `cpu`.

        Raises:
            ValueError: the device is not `cpu`, or `stream` is given.

        Examples:
            >>> rp.asarray([1, 2]).to_device("cpu").tolist()
            [1, 2]
        """
        if device != "cpu" or stream is not None:
            raise ValueError(f"the only device is 'cpu', without streams; found {device!r}, stream {stream!r}")
        return self

    # Computation.

    def compute(self) -> Self:
        """Compute the array, keep its tensor for later expressions, and return the array.

        Raises:
            MemoryError: the result exceeds the memory limit of the session.

        Examples:
            >>> (rp.asarray([1.0, 2.0]) * 3).compute()
            <redpoll.Array shape=(2,) float64 fill=0.0 (dense) stored=2>
        """
        super().compute()
        return self

    def compute_tensor(self) -> _core.Tensor:
        """Compute the array like `compute`, and return its tensor, which exports its buffers.

        Examples:
            >>> rp.eye(3).compute_tensor().stored
            3
        """
        tensor: _core.Tensor = super().compute()
        return tensor

    def todense(self) -> npt.NDArray[Any]:
        """Compute the array and return its elements as a read-only NumPy array.

        The limit of `set_dense_limit` does not apply.

        Examples:
            >>> rp.eye(2).todense()
            array([[1., 0.],
                   [0., 1.]])
        """
        return _numpy.to_numpy(super().compute())

    def tolist(self) -> Any:
        """Compute the array and return its elements as nested lists of Python numbers.

        Examples:
            >>> rp.eye(2, dtype=rp.int64).tolist()
            [[1, 0], [0, 1]]
        """
        return self.todense().tolist()

    def to_scipy(self, format: str = "csr", *, matrix: bool = False) -> Any:
        """Compute the array and return it as a sparse array of SciPy; see `redpoll.to_scipy`.

        Raises:
            ValueError: the array does not have 2 modes, or its fill value is not 0.

        Examples:
            >>> rp.eye(3).to_scipy("csc").nnz
            3
        """
        return redpoll.to_scipy(self, format, matrix=matrix)

    def to_sparse(self, format: str = "coo") -> Any:
        """Compute the array and return it as an array of PyData/Sparse; see `redpoll.to_sparse`.

        Examples:
            >>> (rp.eye(3) + 1.0).to_sparse().fill_value
            np.float64(1.0)
        """
        return redpoll.to_sparse(self, format)

    def to_arrow(
        self, names: Sequence[str] | None = None, *, values: str = "value", labels: Sequence[Any] | None = None
    ) -> _core.ArrowTable:
        """Compute the array and return its stored elements as a table; see `redpoll.to_arrow`.

        Examples:
            >>> rp.eye(2).to_arrow(["i", "j"])
            <redpoll.ArrowTable 2 rows, i: UInt32, j: UInt32, value: Float64>
        """
        return redpoll.to_arrow(self, names, values=values, labels=labels)

    @property
    def labels(self) -> tuple[Any, ...] | None:
        """The labels of the coordinates of each mode, or `None` for an array without labels.

        Labels belong to the array that was read from a table or a graph, or that `with_labels`
        returned. Arrays computed from a labelled array have no labels.

        Examples:
            >>> rp.asarray([3.0, 4.0]).with_labels(["ann", "bob"]).labels[0].index("bob")
            1
        """
        return getattr(self, "_labels", None)

    def with_labels(self, *labels: Any) -> Array:
        """Return the array with labels for each mode, or `None` for a mode without labels.

        Raises:
            ValueError: the labels do not fit the number of modes or the size of a mode, or a label
                of a mode occurs twice.

        Examples:
            >>> x = rp.asarray([3.0, 4.0]).with_labels(["ann", "bob"])
            >>> x.labels
            (<redpoll.Labels ['ann', 'bob'] of 2>,)
        """
        result = Array(self)
        result._labels = _arrow.checked_labels(self.shape, labels)
        return result

    def item(self, *at: int) -> Number:
        """Compute the array and return one element as a Python number, by default the only element.

        Raises:
            ValueError: no coordinates are given, and the array does not have exactly one element.
            IndexError: a coordinate is out of range.

        Examples:
            >>> x = rp.asarray([[1, 2], [3, 4]])
            >>> x.item(1, 0), rp.sum(x).item()
            (3, 10)
        """
        value: Number = super().compute().get(list(at)) if at else super().item()
        return value

    def __bool__(self) -> bool:
        return bool(super().item())

    def __int__(self) -> int:
        return int(super().item())

    def __float__(self) -> float:
        return float(super().item())

    def __complex__(self) -> complex:
        return complex(super().item())

    def __index__(self) -> int:
        if self.ndim or self.dtype_name == "bool" or self.dtype_name.startswith("float"):
            raise TypeError(f"only an array of one integer is an index, found shape {self.shape} of {self.dtype_name}")
        return int(super().item())

    def __iter__(self) -> Iterator[Array]:
        if self.ndim == 0:
            raise TypeError("an array without modes is not iterated; `item` returns its element")
        # The parts read one tensor, so that the array is not computed for each part.
        self.compute()
        return iter(redpoll.unstack(self))

    def __repr__(self) -> str:
        return _display.text(self)

    def __str__(self) -> str:
        return str(super().compute())

    def _repr_html_(self) -> str:
        return _display.html(self)

    # Plans.

    def explain(self, schedule: str | None = None) -> _reports.Explanation:
        """Return the text of every form of the plan and the decisions of the optimizer.

        Nothing is computed. `schedule` transforms the loops, as in `compute_scheduled`.

        Raises:
            ValueError: the schedule does not apply to the loops.

        Examples:
            >>> explanation = rp.sum(rp.asarray([1.0, 2.0])).explain()
            >>> [section.title for section in explanation.sections][:2]
            ['logic', 'nests']
        """
        return _reports.explain(self, schedule)

    def profile(self) -> _reports.Profile:
        """Compute the array without keeping its tensor, and return the measurements of the run.

        Examples:
            >>> profile = rp.sum(rp.asarray([1.0, 2.0])).profile()
            >>> profile.seconds > 0
            True
        """
        return _reports.profile(self)

    def visualize(self) -> Drawing:
        """Draw the queries of the plan and the tensors between them, as SVG; nothing is computed.

        Notebooks show the drawing, and `save` writes it to a file.

        Examples:
            >>> rp.sum(rp.asarray([1.0, 2.0])).visualize()
            <redpoll.Drawing of 3 nodes; `save` writes it as SVG>
        """
        return Drawing(*_core.flow(self))

    # Indexing.

    def __getitem__(self, key: Any) -> Array:
        return getitem(self, key)

    def __setitem__(self, key: Any, value: Any) -> None:
        setitem(self, key, value)

    # Elements and shapes.

    def __pos__(self) -> Array:
        return self

    def astype(self, dtype: DTypeLike, /, *, copy: bool = True) -> Array:
        """Cast the elements to a dtype; see `redpoll.astype`.

        Examples:
            >>> rp.asarray([1.5, -2.5]).astype(rp.int32).tolist()
            [1, -2]
        """
        return redpoll.astype(self, dtype, copy=copy)

    def reshape(self, *shape: Any) -> Array:
        """Change the shape and keep the elements in row-major order. One size may be -1.

        Raises:
            ValueError: the number of elements would change.

        Examples:
            >>> rp.arange(6).reshape(2, 3).tolist()
            [[0, 1, 2], [3, 4, 5]]
        """
        return _core.reshape(self, shape[0] if len(shape) == 1 and not isinstance(shape[0], int) else shape)

    def transpose(self, *axes: Any) -> Array:
        """Permute the modes, by default into the reverse order.

        Examples:
            >>> rp.zeros((2, 3, 4)).transpose(1, 0, 2).shape
            (3, 2, 4)
        """
        axes = axes[0] if len(axes) == 1 and not isinstance(axes[0], int) else axes
        return _core.permute_dims(self, axes or tuple(range(self.ndim))[::-1])

    def sum(self, axis: Axis = None, *, dtype: DTypeLike | None = None, keepdims: bool = False) -> Array:
        """Compute the sum along axes; see `redpoll.sum`.

        Examples:
            >>> rp.asarray([[1, 2], [3, 4]]).sum(axis=0).tolist()
            [4, 6]
        """
        return redpoll.sum(self, axis=axis, dtype=dtype, keepdims=keepdims)

    def prod(self, axis: Axis = None, *, dtype: DTypeLike | None = None, keepdims: bool = False) -> Array:
        """Compute the product along axes; see `redpoll.prod`.

        Examples:
            >>> rp.asarray([[1, 2], [3, 4]]).prod(axis=0).tolist()
            [3, 8]
        """
        return redpoll.prod(self, axis=axis, dtype=dtype, keepdims=keepdims)

    def min(self, axis: Axis = None, *, keepdims: bool = False) -> Array:
        """Compute the minimum along axes; see `redpoll.min`.

        Examples:
            >>> rp.asarray([[1, 2], [3, 4]]).min(axis=0).tolist()
            [1, 2]
        """
        return redpoll.min(self, axis=axis, keepdims=keepdims)

    def max(self, axis: Axis = None, *, keepdims: bool = False) -> Array:
        """Compute the maximum along axes; see `redpoll.max`.

        Examples:
            >>> rp.asarray([[1, 2], [3, 4]]).max(axis=0).tolist()
            [3, 4]
        """
        return redpoll.max(self, axis=axis, keepdims=keepdims)

    def mean(self, axis: Axis = None, *, dtype: DTypeLike | None = None, keepdims: bool = False) -> Array:
        """Compute the mean along axes, after a cast to `dtype` if given; see `redpoll.mean`.

        Examples:
            >>> rp.asarray([[1, 2], [3, 4]]).mean(axis=0).tolist()
            [2.0, 3.0]
        """
        return redpoll.mean(self if dtype is None else self.astype(dtype), axis=axis, keepdims=keepdims)

    def var(self, axis: Axis = None, *, correction: float = 0.0, keepdims: bool = False) -> Array:
        """Compute the variance along axes; see `redpoll.var`.

        Examples:
            >>> rp.asarray([[1, 2], [3, 4]]).var(axis=0).tolist()
            [1.0, 1.0]
        """
        return redpoll.var(self, axis=axis, correction=correction, keepdims=keepdims)

    def std(self, axis: Axis = None, *, correction: float = 0.0, keepdims: bool = False) -> Array:
        """Compute the standard deviation along axes; see `redpoll.std`.

        Examples:
            >>> rp.asarray([[1, 2], [3, 4]]).std(axis=0).tolist()
            [1.0, 1.0]
        """
        return redpoll.std(self, axis=axis, correction=correction, keepdims=keepdims)

    def any(self, axis: Axis = None, *, keepdims: bool = False) -> Array:
        """Return whether any element along axes is not zero; see `redpoll.any`.

        Examples:
            >>> rp.asarray([[1, 2], [3, 4]]).any(axis=0).tolist()
            [True, True]
        """
        return redpoll.any(self, axis=axis, keepdims=keepdims)

    def all(self, axis: Axis = None, *, keepdims: bool = False) -> Array:
        """Return whether all elements along axes are not zero; see `redpoll.all`.

        Examples:
            >>> rp.asarray([[1, 2], [3, 4]]).all(axis=0).tolist()
            [True, True]
        """
        return redpoll.all(self, axis=axis, keepdims=keepdims)

    # Protocols.

    def __array_namespace__(self, /, *, api_version: str | None = None) -> ModuleType:
        if api_version not in (None, "2021.12", "2022.12", "2023.12", "2024.12", "2025.12"):
            raise ValueError(f"the namespace follows version 2025.12 of the Array API standard, not {api_version!r}")
        return redpoll

    def __array__(self, dtype: npt.DTypeLike | None = None, copy: bool | None = None) -> npt.NDArray[Any]:
        return _numpy.dense(self, dtype, copy)

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        return _ufuncs.call(redpoll, ufunc, method, inputs, kwargs)

    def __array_function__(
        self, func: Callable[..., Any], types: Iterable[type], args: Sequence[Any], kwargs: Mapping[str, Any]
    ) -> Any:
        return _functions_of_numpy.call(func, types, args, kwargs)

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return self.to_arrow().__arrow_c_stream__(requested_schema)

    def __dlpack__(
        self,
        *,
        stream: Any = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[Any, int] | None = None,
        copy: bool | None = None,
    ) -> Any:
        if stream is not None:
            raise ValueError("arrays on the CPU have no streams")
        # NumPy exports read-only memory only to consumers of version 1 of the protocol.
        values = np.asarray(self)
        if max_version is None or max_version[0] < 1:
            values = values.copy()
        return values.__dlpack__(max_version=max_version, dl_device=dl_device, copy=copy)

    def __dlpack_device__(self) -> tuple[int, int]:
        return (1, 0)

    def __copy__(self) -> Array:
        return Array(self) if self.labels is None else self.with_labels(*self.labels)

    def __deepcopy__(self, memo: Any) -> Array:
        return self.__copy__()

    def __reduce__(self) -> tuple[Any, ...]:
        tensor = super().compute()
        levels = [[_elements(part) for part in level] for level in tensor.levels()]
        leaf = [_elements(part) for part in tensor.leaf()]
        return _restore, (tensor.shape, tensor.dtype, tensor.fill, tensor.format, levels, leaf, self.names, self.labels)


def _elements(buffer: _core.SharedBuffer) -> npt.NDArray[Any]:
    """Return the elements of a buffer as a NumPy array, which protocol 5 pickles without a copy."""
    return np.frombuffer(memoryview(buffer), buffer.dtype) if len(buffer) else np.empty(0, buffer.dtype)


def _restore(
    shape: tuple[int, ...],
    dtype: str,
    fill: Number,
    format: str,
    levels: list[list[npt.NDArray[Any]]],
    leaf: list[npt.NDArray[Any]],
    names: tuple[str, ...] | None,
    labels: tuple[Any, ...] | None,
) -> Array:
    """Return the array of a pickled tensor, in the current session."""
    from ._session import current_session

    array = current_session().array(_core.Tensor(shape, dtype, fill, format, levels, leaf))
    array = array if names is None else array.at(*names)
    return array if labels is None else array.with_labels(*labels)


_core.register(Array, _interop.convert, AxisError)
