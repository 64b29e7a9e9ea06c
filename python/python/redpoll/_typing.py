"""Types of the arguments of public functions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from ._dtypes import DType

__all__ = ["ArrayLike", "Axis", "DTypeLike", "Number", "Shape"]

#: A number of Python, whose dtype adapts to the arrays of the same operation.
Number: TypeAlias = bool | int | float

#: The sizes of the modes; an integer is the size of a vector.
Shape: TypeAlias = int | Sequence[int]

#: All axes (`None`), one axis, or several axes, by number or by name.
Axis: TypeAlias = int | str | Sequence[int] | Sequence[str] | None

#: A dtype, its name, `bool`, `int`, `float`, or a dtype or scalar class of NumPy.
DTypeLike: TypeAlias = "DType | str | type[Any] | Any"

#: Any object that `asarray` converts: arrays of all libraries, numbers, and nested sequences.
ArrayLike: TypeAlias = Any
