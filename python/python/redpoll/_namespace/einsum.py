"""Einstein summation over any semiring, with letters or names for the modes."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from itertools import chain
from typing import Any

from .. import _core
from .._array import Array
from .._functions.operators import operator
from .._dtypes import as_dtype, result_type
from .._dtypes import bool as bool_
from .._typing import ArrayLike

__all__ = ["einsum"]

_ELLIPSIS = "..."


def einsum(
    spec: str, /, *operands: ArrayLike, sum: str | Callable[..., Any] = "+", product: str | Callable[..., Any] = "*"
) -> Array:
    """Compute an Einstein summation, by default of products.

    Modes are letters, or names separated by spaces. `...` stands for the modes of an operand that
    are not named; these modes are broadcast. `sum` and `product` select another semiring. Each is a
    name that `operator_names` lists, a ufunc, a function of the namespace, an operator made by
    `op`, or a Python function.

    Raises:
        ValueError: the subscripts are malformed, or two sizes of a mode differ.

    Examples:
        >>> a = rp.asarray([[0.0, 2.0], [5.0, 0.0]])
        >>> rp.einsum("ij,jk->ik", a, a).tolist()
        [[10.0, 0.0], [0.0, 10.0]]
        >>> rp.einsum("row inner, inner -> row", a, rp.asarray([1.0, 1.0])).tolist()
        [2.0, 5.0]
        >>> rp.einsum("...j->...", a).tolist()
        [2.0, 5.0]
        >>> rp.einsum("ij,jk->ik", a, a, sum="min", product=rp.add).tolist()
        [[0.0, 2.0], [5.0, 0.0]]
    """
    from .creation import asarray

    arrays = [asarray(operand) for operand in operands]
    arrays = [array if array.names is None else array.by_position(*array.names) for array in arrays]
    # The core reads plain letters.
    if _ELLIPSIS in spec or re.search(r"\w\s+\w", spec):
        spec, arrays = _expand(spec, arrays)
    if not arrays:
        raise ValueError("einsum: expected at least one array")
    spec, arrays = _aligned(spec, arrays)
    dtype = result_type(*arrays)
    if dtype is bool_ and (sum, product) == ("+", "*"):
        # Sums of products of booleans are booleans, as in NumPy.
        sum, product = "or", "and"
    multiply = operator(product, [dtype, dtype])
    terms = as_dtype(multiply.result_dtype([dtype.name] * 2)) if len(arrays) > 1 else dtype
    if terms is not dtype and len(arrays) > 2:
        # The product of two operands is an operand of the next product.
        multiply = operator(product, [terms, terms])
    return _core.einsum(spec, arrays, operator(sum, [terms, terms]), multiply)


def _expand(spec: str, arrays: list[Array]) -> tuple[str, list[Array]]:
    """Return subscripts of plain letters, and the arrays without broadcast modes of size 1."""
    parts = [part.split(",") for part in spec.split("->")]
    if len(parts) > 2 or len(parts[-1]) > 1 and len(parts) == 2 or len(parts[0]) != len(arrays):
        raise ValueError(f"einsum: {spec!r} does not name the modes of {len(arrays)} operands and one result")
    words = [[part.replace(_ELLIPSIS, f" {_ELLIPSIS} ").split() for part in side] for side in parts]
    are_names = any(len(word) > 1 and word != _ELLIPSIS for side in words for part in side for word in part) and bool(
        re.search(r"\w\s+\w", spec)
    )
    modes = [[part if are_names else _letters(part) for part in side] for side in words]
    for part in chain(*modes):
        if part.count(_ELLIPSIS) > 1:
            raise ValueError(f"einsum: {spec!r} has `...` twice in one part")
    # The modes of `...` are aligned at the last mode, so they are numbered from the last mode.
    hidden = [array.ndim - len(part) + 1 for part, array in zip(modes[0], arrays, strict=True) if _ELLIPSIS in part]
    if any(count < 0 for count in hidden):
        raise ValueError(f"einsum: {spec!r} names more modes than an operand has")
    count = max(hidden, default=0)
    sizes = [1] * count
    named, kept = [], []
    for part, array in zip(modes[0], arrays, strict=True):
        expanded = _replaced(part, array.ndim - len(part) + 1)
        for name, size in zip(expanded, array.shape, strict=False):
            if isinstance(name, int):
                sizes[name] = max(sizes[name], size)
        named.append(expanded)
    for expanded, array in zip(named, arrays, strict=True):
        pairs = list(zip(expanded, array.shape, strict=False))
        ones = [k for k, (name, size) in enumerate(pairs) if isinstance(name, int) and size == 1 < sizes[name]]
        names = [name for k, name in enumerate(expanded) if k not in ones]
        kept.append((_core.squeeze(array, ones) if ones else array, names))
    if len(modes) == 2:
        result = _replaced(modes[1][0], count)
    else:
        every = [name for part in modes[0] for name in part if name != _ELLIPSIS]
        result = [*range(count)[::-1], *sorted(name for name in every if every.count(name) == 1)]
    letters = _letter_of(chain(*(names for _, names in kept), result))
    text = ",".join("".join(letters[name] for name in names) for _, names in kept)
    return f"{text}->{''.join(letters[name] for name in result)}", [array for array, _ in kept]


def _aligned(spec: str, arrays: list[Array]) -> tuple[str, list[Array]]:
    """Return subscripts and arrays, without modes of size 1 whose letter has another size."""
    inputs, arrow, result = spec.replace(" ", "").partition("->")
    parts = inputs.split(",")
    if [len(part) for part in parts] != [array.ndim for array in arrays]:
        # The core reports how many letters are missing.
        return spec, arrays
    sizes: dict[str, int] = {}
    for part, array in zip(parts, arrays, strict=True):
        own: dict[str, int] = {}
        for letter, size in zip(part, array.shape, strict=True):
            if own.setdefault(letter, size) != size or (size != 1 and sizes.get(letter, 1) not in (1, size)):
                raise ValueError(f"einsum: mode {letter!r} has several sizes in {spec!r} for shape {array.shape}")
        sizes.update({letter: size for letter, size in own.items() if sizes.get(letter, 1) == 1})
    ones = [
        [k for k, (letter, size) in enumerate(zip(part, array.shape, strict=True)) if size == 1 != sizes[letter]]
        for part, array in zip(parts, arrays, strict=True)
    ]
    if not any(ones):
        return spec, arrays
    if not arrow:
        result = "".join(sorted(letter for letter in sizes if inputs.count(letter) == 1))
    kept = ["".join(letter for k, letter in enumerate(part) if k not in at) for part, at in zip(parts, ones, strict=True)]
    squeezed = [_core.squeeze(array, at) if at else array for array, at in zip(arrays, ones, strict=True)]
    return f"{','.join(kept)}->{result}", squeezed


def _letters(part: list[str]) -> list[str]:
    """Return the letters of words, with `...` as one letter."""
    return [letter for word in part for letter in ([word] if word == _ELLIPSIS else word)]


def _replaced(part: list[str], hidden: int) -> list[str | int]:
    """Return the modes of an operand or of the result, with numbers for the modes of `...`."""
    return [name for word in part for name in (range(hidden)[::-1] if word == _ELLIPSIS else [word])]


def _letter_of(names: Iterator[str | int]) -> dict[str | int, str]:
    """Return a letter for each name."""
    alphabet = (chr(code) for code in range(ord("A"), 0x250) if chr(code).isalpha())
    found: dict[str | int, str] = {}
    for name in names:
        if name not in found:
            found[name] = next(alphabet)
    return found
