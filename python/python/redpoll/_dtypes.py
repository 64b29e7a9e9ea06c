"""Dtypes: one object for each, with their limits and their promotion.

Promotion follows NumPy, which extends the Array API standard: it also defines the results that the
standard leaves open, such as the dtype of an integer and a float.
"""

from __future__ import annotations

import builtins
from typing import Any

import numpy as np

from ._typing import DTypeLike

__all__ = [
    "DType", "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float32", "float64",
    "can_cast", "finfo", "iinfo", "isdtype", "result_type",
]  # fmt: skip


class DType:
    """A dtype of array elements; equal to its name and to NumPy's dtype of the same name.

    Examples:
        >>> rp.float64 == "float64" == rp.float64, rp.float64 == np.float64
        (True, True)
    """

    __slots__ = ("bits", "category", "name", "numpy")

    def __init__(self, name: str, category: str, bits: int) -> None:
        self.name, self.category, self.bits = name, category, bits
        self.numpy = np.dtype(name)

    @property
    def itemsize(self) -> int:
        """The number of bytes of an element.

        Examples:
            >>> rp.float32.itemsize
            4
        """
        return self.numpy.itemsize

    @property
    def kind(self) -> str:
        """The character of NumPy for booleans (`b`), integers (`i`, `u`) or floats (`f`).

        Examples:
            >>> rp.float32.kind
            'f'
        """
        return self.numpy.kind

    @property
    def type(self) -> type[np.generic]:
        """The class of NumPy's scalars of this dtype.

        Examples:
            >>> rp.float32.type(1.5)
            np.float32(1.5)
        """
        return self.numpy.type

    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype of NumPy. `numpy.dtype` reads this attribute to convert the object.

        Examples:
            >>> np.dtype(rp.float32)
            dtype('float32')
        """
        return self.numpy

    def __repr__(self) -> str:
        return f"redpoll.{self.name}"

    def __str__(self) -> str:
        return self.name

    def __hash__(self) -> int:
        return hash(self.numpy)

    def __eq__(self, other: object) -> builtins.bool:
        if isinstance(other, DType):
            return self is other
        if isinstance(other, str):
            return other == self.name
        return _find(other) is self if isinstance(other, (type, np.dtype)) else NotImplemented

    def __reduce__(self) -> tuple[Any, ...]:
        return as_dtype, (self.name,)


bool = DType("bool", "bool", 1)
int8 = DType("int8", "signed integer", 8)
int16 = DType("int16", "signed integer", 16)
int32 = DType("int32", "signed integer", 32)
int64 = DType("int64", "signed integer", 64)
uint8 = DType("uint8", "unsigned integer", 8)
uint16 = DType("uint16", "unsigned integer", 16)
uint32 = DType("uint32", "unsigned integer", 32)
uint64 = DType("uint64", "unsigned integer", 64)
float32 = DType("float32", "real floating", 32)
float64 = DType("float64", "real floating", 64)

ALL = (bool, int8, int16, int32, int64, uint8, uint16, uint32, uint64, float32, float64)
BY_NAME = {dtype.name: dtype for dtype in ALL}
_PYTHON: dict[Any, DType] = {builtins.bool: bool, int: int64, float: float64}
_BY_KEY: dict[Any, DType] = {**{dtype.numpy: dtype for dtype in ALL}, **_PYTHON}


def _find(value: Any) -> DType | None:
    """Return the dtype of a name, of a class, or of a dtype of NumPy; `None` if there is none."""
    try:
        return _BY_KEY.get(value if value in _PYTHON else np.dtype(value))
    except (TypeError, ValueError):
        return None


def as_dtype(value: DTypeLike | None) -> DType:
    """Return the dtype of a name, of a dtype or class of NumPy, or of `bool`, `int` or `float`.

    Raises:
        TypeError: redpoll has no such dtype.
    """
    if isinstance(value, DType):
        return value
    found = None if value is None else _find(value)
    if found is None:
        raise TypeError(f"redpoll has no dtype {value!r}; its dtypes are {', '.join(BY_NAME)}")
    return found


def _of(value: Any) -> DType:
    """Return the dtype of an array or of a dtype."""
    dtype = getattr(value, "dtype", None)
    return dtype if isinstance(dtype, DType) else as_dtype(value if dtype is None else dtype)


def result_type(*arrays_and_dtypes: Any) -> DType:
    """Return the dtype to which arrays, dtypes and Python numbers are promoted, as NumPy does.

    Raises:
        ValueError: no array and no dtype is given.

    Examples:
        >>> rp.result_type(rp.int32, rp.float32, 2)
        redpoll.float64
    """
    strong = [_of(value) for value in arrays_and_dtypes if type(value) not in _PYTHON]
    weak = [value for value in arrays_and_dtypes if type(value) in _PYTHON]
    if not strong:
        raise ValueError("result_type expects at least one array or dtype")
    return BY_NAME[np.result_type(*(dtype.numpy for dtype in strong), *weak).name]


def can_cast(from_: Any, to: DTypeLike, /) -> builtins.bool:
    """Return whether NumPy casts one dtype to another by its casting rule `safe`.

    Examples:
        >>> rp.can_cast(rp.int32, rp.float64), rp.can_cast(rp.int64, rp.int32)
        (True, False)
    """
    source, target = _of(from_), as_dtype(to)
    return builtins.bool(np.can_cast(source.numpy, target.numpy))


_KINDS: dict[str, set[str]] = {
    "bool": {"bool"},
    "signed integer": {"signed integer"},
    "unsigned integer": {"unsigned integer"},
    "integral": {"signed integer", "unsigned integer"},
    "real floating": {"real floating"},
    "complex floating": set(),
    "numeric": {"signed integer", "unsigned integer", "real floating"},
}


def isdtype(dtype: DTypeLike, kind: DTypeLike | tuple[DTypeLike, ...]) -> builtins.bool:
    """Return whether a dtype is of a kind, of one of several kinds, or equal to a dtype.

    Raises:
        ValueError: the Array API standard has no such kind.

    Examples:
        >>> rp.isdtype(rp.int8, "integral"), rp.isdtype(rp.int8, ("bool", "real floating"))
        (True, False)
    """
    dtype = as_dtype(dtype)
    if isinstance(kind, tuple):
        return any(isdtype(dtype, one) for one in kind)
    if isinstance(kind, str):
        if kind not in _KINDS:
            raise ValueError(f"unknown kind of dtypes {kind!r}; the kinds are {', '.join(_KINDS)}")
        return dtype.category in _KINDS[kind]
    return dtype is as_dtype(kind)


class finfo:
    """The limits of a dtype of floats.

    Raises:
        ValueError: the dtype is not one of floats.

    Examples:
        >>> rp.finfo(rp.float32).bits
        32
    """

    __slots__ = ("bits", "dtype", "eps", "max", "min", "smallest_normal")

    def __init__(self, type: Any, /) -> None:
        dtype = _of(type)
        if dtype.category != "real floating":
            raise ValueError(f"finfo expects a dtype of floats, found {dtype}")
        limits = np.finfo(dtype.numpy)
        self.dtype, self.bits = dtype, dtype.bits
        self.eps, self.max, self.min = float(limits.eps), float(limits.max), float(limits.min)
        self.smallest_normal = float(limits.smallest_normal)

    def __repr__(self) -> str:
        return f"finfo(dtype={self.dtype}, min={self.min}, max={self.max}, eps={self.eps})"


class iinfo:
    """The limits of a dtype of integers.

    Raises:
        ValueError: the dtype is not one of integers.

    Examples:
        >>> rp.iinfo(rp.int8).max
        127
    """

    __slots__ = ("bits", "dtype", "max", "min")

    def __init__(self, type: Any, /) -> None:
        dtype = _of(type)
        if dtype.category not in _KINDS["integral"]:
            raise ValueError(f"iinfo expects a dtype of integers, found {dtype}")
        self.dtype, self.bits = dtype, dtype.bits
        signed = dtype.category == "signed integer"
        self.min = -(2 ** (self.bits - 1)) if signed else 0
        self.max = 2 ** (self.bits - signed) - 1

    def __repr__(self) -> str:
        return f"iinfo(dtype={self.dtype}, min={self.min}, max={self.max})"


