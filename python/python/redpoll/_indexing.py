"""Indexing: keys of `x[key]` as lists of indices, and assignment to `x[key]`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeGuard

import numpy as np

from . import _core
from ._dtypes import int64, isdtype
from ._interop.scipy import from_coordinates

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ._array import Array


def _is_array(item: object) -> TypeGuard[Array]:
    return isinstance(item, _core.Array)


def _is_mask(item: object) -> TypeGuard[Array]:
    return isinstance(item, _core.Array) and item.dtype_name == "bool"


def _expand(array: Array, key: Any) -> list[Any]:
    """Return the items of a key, with lists and arrays of other libraries as arrays of redpoll."""
    items = key if isinstance(key, tuple) else (key,)
    result = []
    for item in items:
        if isinstance(item, (list, np.ndarray, np.bool, bool)):
            # An empty list has no dtype, and selects nothing.
            item = array.__array_namespace__().asarray(item, dtype=int64 if isinstance(item, list) and not item else None)
        elif isinstance(item, np.integer):
            item = int(item)
        result.append(item)
    return result


def _check_integers(array: Array, items: list[Any]) -> None:
    """Raise `IndexError` for several ellipses, and for more indices than modes."""
    taken = sum(item.ndim if _is_mask(item) else 1 for item in items if item is not None and item is not Ellipsis)
    if sum(item is Ellipsis for item in items) > 1:
        raise IndexError("an index can have only one ellipsis ('...')")
    if taken > array.ndim:
        raise IndexError(f"too many indices: the array has {array.ndim} modes, but {taken} were indexed")


def getitem(array: Array, key: Any) -> Array:
    """Return `array[key]`."""
    if type(key) is int and array.ndim:
        return array.slice([key])
    items = _expand(array, key)
    _check_integers(array, items)
    masks = [item for item in items if _is_mask(item)]
    if not masks:
        return _sliced(array, [_place(item) for item in items])
    if len(items) == 1:
        [mask] = masks
        if mask.ndim == 0:
            return array.slice([None]).slice([slice(0, 1 if bool(mask) else 0)])
        _check_mask(array, mask, [])
        return _core.select(array, mask)
    # A mask among other indices selects like the coordinates at which the mask is true.
    places: list[Any] = []
    for item in items:
        if _is_mask(item) and item.ndim:
            _check_mask(array, item, places)
            places.extend(_core.nonzero(item))
        elif _is_mask(item):
            raise IndexError("a boolean of no modes cannot be combined with other indices")
        else:
            places.append(_place(item))
    return _sliced(array, places)


def _sliced(array: Array, places: list[Any]) -> Array:
    """Return the part of an array, with modes of index arrays at the same positions as in NumPy.

    The modes of index arrays replace the first mode that an array indexes. They are the first modes
    of the result if a slice, `None` or `...` is between the arrays and integers.
    """
    result = array.slice(places)
    advanced = [k for k, place in enumerate(places) if isinstance(place, int) or _is_array(place)]
    arrays = [k for k in advanced if _is_array(places[k])]
    if not arrays or advanced[-1] - advanced[0] == len(advanced) - 1:
        return result
    indexed = sum(place is not None and place is not Ellipsis for place in places)
    sizes = (array.ndim - indexed if place is Ellipsis else not isinstance(place, int) for place in places[: arrays[0]])
    first, rank = sum(sizes), max(places[k].ndim for k in arrays)
    order = [*range(first, first + rank), *range(first), *range(first + rank, result.ndim)]
    return _core.permute_dims(result, order)


def _check_mask(array: Array, mask: Array, before: list[Any]) -> None:
    if Ellipsis in [item for item in before if not isinstance(item, _core.Array)]:
        return
    first = sum(item is not None for item in before)
    if array.shape[first : first + mask.ndim] != mask.shape:
        raise IndexError(f"a mask of shape {mask.shape} does not match modes {first}.. of shape {array.shape}")


def _place(item: Any) -> Any:
    """Return an item as an index of the core. An array without modes becomes an integer."""
    if _is_array(item):
        if not isdtype(item.dtype, "integral"):
            raise IndexError(f"an index array must have integers or booleans, found {item.dtype}")
        return int(item) if item.ndim == 0 else item
    if isinstance(item, (int, slice)) or item is None or item is Ellipsis:
        return item
    if hasattr(item, "__index__"):
        return item.__index__()
    raise IndexError(
        f"an index is an integer, a slice, `None`, `...`, or an array of integers or booleans, found {type(item).__name__}"
    )


def setitem(array: Array, key: Any, value: Any) -> None:
    """Bind `array` to a copy of itself with `array[key]` replaced by `value`."""
    xp = array.__array_namespace__()
    items = _expand(array, key)
    if not isinstance(value, (bool, int, float)):
        value = xp.asarray(value)
        if value.ndim and xp.result_type(value, array) is not array.dtype:
            raise TypeError(f"cannot assign values of dtype {value.dtype} to an array of dtype {array.dtype}")
        value = value.cast(array.dtype.name)
    if len(items) == 1 and _is_mask(items[0]) and items[0].shape == array.shape and not getattr(value, "ndim", 0):
        result = xp.where(items[0], value, array)
    elif array.size == 0:
        return
    else:
        places = np.asarray(xp.reshape(xp.arange(array.size, dtype=int64), array.shape)[key])
        if places.size == 0:
            return
        result = _replaced(array, places, value)
    # The assigned value may have another fill value, which would make a sparse array dense.
    result = result.cast(array.dtype.name).refill(array.fill_value)
    result.compute()
    array.assign(result)


def _replaced(array: Array, places: NDArray[Any], value: Any) -> Array:
    """Return the array with the elements at the row-major indices `places` replaced by values."""
    xp = array.__array_namespace__()
    if array.ndim == 0:
        element: Array = xp.reshape(xp.broadcast_to(xp.asarray(value), places.shape), ())
        return element
    # NumPy assigns in order, so the last value for an element remains.
    elements, last = np.unique(places.ravel()[::-1], return_index=True)
    coords = np.unravel_index(elements, array.shape)
    mask = from_coordinates(coords, np.ones(elements.size, bool), array.shape, False)
    if not isinstance(value, (bool, int, float)):
        values = np.asarray(xp.broadcast_to(value, places.shape)).ravel()[::-1][last]
        value = from_coordinates(coords, values, array.shape)
    result: Array = xp.where(mask, value, array)
    return result
