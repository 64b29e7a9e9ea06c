"""Import and export of coordinates and values as tables, by the PyCapsule interface of Arrow."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from .. import _core
from .._core import ArrowTable, Labels
from .._session import current_session

if TYPE_CHECKING:
    from .._array import Array
    from .._typing import Number

__all__ = ["ArrowTable", "Labels", "as_labels", "from_arrow", "to_arrow"]


def from_arrow(
    table: Any, coordinates: Sequence[str], values: str | None = None, *, labels: Mapping[str, Any] | None = None, shape: Sequence[int | None] | None = None, fill_value: Number | None = None, format: str = "coo",
    duplicates: str = "error", nulls: str = "error",
) -> Array:  # fmt: skip
    """Return an array from a table that has columns of coordinates and a column of values.

    The table is any object with `__arrow_c_stream__`: a frame of pandas or Polars, a table of
    pyarrow, a relation of DuckDB. Without a column of values, the array is true at every row. The
    values are shared where their layout allows sharing; the coordinates are copied.

    If a coordinate column has integers, these are the coordinates, unless `labels` names the
    column. The values of a coordinate column of another type become labels. The labels of a
    dictionary-encoded column keep their order, other labels ascend. `array.labels` has the labels
    of each mode, and `array.to_arrow` writes the labels back.

    Args:
        table: the table.
        coordinates: the name of a column for each mode.
        values: the name of the column of values.
        labels: a dictionary from the name of a coordinate column to its labels, such as the labels
            of another array, or to `True` to label a column of integers.
        shape: the sizes of the modes, or `None` for a size that follows from the column.
        fill_value: the value of coordinates without a row, by default 0.
        format: the format of the array.
        duplicates: the treatment of rows with equal coordinates: `error`, `first`, `last`, `sum`.
        nulls: the treatment of NULLs among the values: `error`, or `fill` for the fill value.

    Raises:
        KeyError: the table lacks a column.
        ValueError: coordinates are NULL, negative, repeated or not among the labels.

    Examples:
        >>> table = rp.eye(2).to_arrow(["i", "j"])
        >>> rp.from_arrow(table, coordinates=["i", "j"], values="value").tolist()
        [[1.0, 0.0], [0.0, 1.0]]
    """
    coordinates = [coordinates] if isinstance(coordinates, str) else list(coordinates)
    labels = labels or {}
    if not isinstance(labels, Mapping):
        raise TypeError(f"labels are a dictionary from names of columns to labels, found {type(labels).__name__}")
    for name in labels:
        if name not in coordinates:
            raise KeyError(f"labels are for columns of coordinates, which are {', '.join(coordinates)}; found {name!r}")
    known = [labels.get(name) for name in coordinates]
    known = [one if one is None or one is True else as_labels(one) for one in known]
    shape = [None] * len(coordinates) if shape is None else list(shape)
    tensor, found = _core.import_table(
        table, coordinates, values, known, shape, fill_value, format, duplicates, nulls
    )
    array = current_session().array(tensor)
    return array if all(one is None for one in found) else array.with_labels(*found)


def as_labels(labels: Any) -> Labels:
    """Return a sequence of strings, integers, floats or booleans as labels."""
    if isinstance(labels, Labels):
        return labels
    for method in ("to_pylist", "tolist", "to_list"):
        if hasattr(labels, method):
            return Labels(getattr(labels, method)())
    return Labels(list(labels))


def to_arrow(array: Array, names: Sequence[str] | None = None, *, values: str = "value", labels: Sequence[Any] | None = None) -> ArrowTable:
    """Compute an array and return its stored elements as a table of Arrow.

    The table has a column of coordinates for each mode and a column of values. The table shares the
    memory of an array in the format `coo`. A mode with labels becomes a dictionary-encoded column.
    Elements of a dense array that equal its fill value have no rows.

    Args:
        array: the array.
        names: the names of the columns of coordinates, by default the names of the modes, or
            `dim_0`, `dim_1` and so on.
        values: the name of the column of values.
        labels: labels for each mode, or `None` for coordinates, by default `array.labels`.

    Raises:
        ValueError: the number of names or labels differs from the number of modes.

    Examples:
        >>> rp.to_arrow(rp.eye(2), ["i", "j"])
        <redpoll.ArrowTable 2 rows, i: UInt32, j: UInt32, value: Float64>
    """
    if names is None:
        names = array.names or [f"dim_{mode}" for mode in range(array.ndim)]
    if len(names) != array.ndim:
        raise ValueError(f"expected {array.ndim} names of columns, one for each mode, found {len(names)}")
    labels = array.labels if labels is None else labels
    labels = [None] * array.ndim if labels is None else list(labels)
    if len(labels) != array.ndim:
        raise ValueError(f"expected labels or `None` for each of {array.ndim} modes, found {len(labels)}")
    labels = [None if one is None else as_labels(one) for one in labels]
    return _core.export_table(array.compute_tensor(), list(names), values, labels)


def checked_labels(shape: Sequence[int], labels: Sequence[Any]) -> tuple[Any, ...]:
    """Return labels for each mode of a shape: `Labels`, or a tuple for types that Arrow lacks."""
    if len(labels) != len(shape):
        raise ValueError(f"expected labels or `None` for each of {len(shape)} modes, found {len(labels)}")
    result = []
    for mode, (size, one) in enumerate(zip(shape, labels, strict=True)):
        if one is not None and not isinstance(one, Labels):
            try:
                one = as_labels(one)
            except (TypeError, OverflowError):
                one = tuple(one)
        if one is not None and len(one) != size:
            raise ValueError(f"mode {mode} has {size} coordinates, but {len(one)} labels")
        result.append(one)
    return tuple(result)
