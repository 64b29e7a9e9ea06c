"""Dtypes: one object for each, with their limits and their promotion.

Promotion follows NumPy, which extends the standard: where the standard leaves the result open, as
for an integer and a float, the result is NumPy's.
"""

import numpy as np

__all__ = [
    "DType", "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float32", "float64",
    "can_cast", "finfo", "iinfo", "isdtype", "result_type",
]  # fmt: skip

_bool, _float, _int = bool, float, int


class DType:
    """A dtype of array elements; equal to its name and to NumPy's dtype of the same name."""

    __slots__ = ("bits", "kind", "name", "numpy")

    def __init__(self, name, kind, bits):
        self.name, self.kind, self.bits = name, kind, bits
        self.numpy = np.dtype(name)

    @property
    def itemsize(self):
        """The number of bytes of an element."""
        return self.numpy.itemsize

    @property
    def dtype(self):
        """The dtype of NumPy, by which `numpy.dtype` converts this object."""
        return self.numpy

    def __repr__(self):
        return f"redpoll.{self.name}"

    def __str__(self):
        return self.name

    def __hash__(self):
        return hash(self.numpy)

    def __eq__(self, other):
        if isinstance(other, DType):
            return self is other
        if isinstance(other, str):
            return other == self.name
        return _find(other) is self if isinstance(other, (type, np.dtype)) else NotImplemented

    def __reduce__(self):
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
_PYTHON = {_bool: bool, _int: int64, _float: float64}
_BY_KEY = {**{dtype.numpy: dtype for dtype in ALL}, **_PYTHON}


def _find(value):
    """Return the dtype of a name, a class or a dtype of NumPy, or `None`."""
    try:
        return _BY_KEY.get(value if value in _PYTHON else np.dtype(value))
    except (TypeError, ValueError):
        return None


def as_dtype(value):
    """Return the dtype of a name, of a dtype of NumPy, or of `bool`, `int` or `float`.

    Raises:
        TypeError: redpoll has no such dtype.
    """
    if isinstance(value, DType):
        return value
    found = None if value is None else _find(value)
    if found is None:
        raise TypeError(f"redpoll has no dtype {value!r}; its dtypes are {', '.join(BY_NAME)}")
    return found


def _of(value):
    """Return the dtype of an array or of a dtype."""
    dtype = getattr(value, "dtype", None)
    return dtype if isinstance(dtype, DType) else as_dtype(value if dtype is None else dtype)


def result_type(*arrays_and_dtypes):
    """Return the dtype to which arrays, dtypes and Python numbers are promoted."""
    strong = [_of(value) for value in arrays_and_dtypes if type(value) not in _PYTHON]
    weak = [value for value in arrays_and_dtypes if type(value) in _PYTHON]
    if not strong:
        raise ValueError("result_type expects at least one array or dtype")
    return BY_NAME[np.result_type(*(dtype.numpy for dtype in strong), *weak).name]


def can_cast(from_, to, /):
    """Return whether every value of one dtype has an equal value in another."""
    source, target = _of(from_), as_dtype(to)
    return _bool(np.can_cast(source.numpy, target.numpy))


_KINDS = {
    "bool": {"bool"},
    "signed integer": {"signed integer"},
    "unsigned integer": {"unsigned integer"},
    "integral": {"signed integer", "unsigned integer"},
    "real floating": {"real floating"},
    "complex floating": set(),
    "numeric": {"signed integer", "unsigned integer", "real floating"},
}


def isdtype(dtype, kind):
    """Return whether a dtype is of a kind, of one of several kinds, or equal to a dtype."""
    dtype = as_dtype(dtype)
    if isinstance(kind, tuple):
        return any(isdtype(dtype, one) for one in kind)
    if isinstance(kind, str):
        if kind not in _KINDS:
            raise ValueError(f"unknown kind of dtypes {kind!r}; the kinds are {', '.join(_KINDS)}")
        return dtype.kind in _KINDS[kind]
    return dtype is as_dtype(kind)


class finfo:
    """The limits of a dtype of floats."""

    __slots__ = ("bits", "dtype", "eps", "max", "min", "smallest_normal")

    def __init__(self, type, /):
        dtype = _of(type)
        if dtype.kind != "real floating":
            raise ValueError(f"finfo expects a dtype of floats, found {dtype}")
        limits = np.finfo(dtype.numpy)
        self.dtype, self.bits = dtype, dtype.bits
        self.eps, self.max, self.min = _float(limits.eps), _float(limits.max), _float(limits.min)
        self.smallest_normal = _float(limits.smallest_normal)

    def __repr__(self):
        return f"finfo(dtype={self.dtype}, min={self.min}, max={self.max}, eps={self.eps})"


class iinfo:
    """The limits of a dtype of integers."""

    __slots__ = ("bits", "dtype", "max", "min")

    def __init__(self, type, /):
        dtype = _of(type)
        if dtype.kind not in _KINDS["integral"]:
            raise ValueError(f"iinfo expects a dtype of integers, found {dtype}")
        self.dtype, self.bits = dtype, dtype.bits
        signed = dtype.kind == "signed integer"
        self.min = -(2 ** (self.bits - 1)) if signed else 0
        self.max = 2 ** (self.bits - signed) - 1

    def __repr__(self):
        return f"iinfo(dtype={self.dtype}, min={self.min}, max={self.max})"


