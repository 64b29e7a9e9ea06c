"""The leaves of a random expression: arrays of all dtypes, and of several formats and libraries."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

import numpy as np
import scipy.sparse as sp
from conftest import DTYPES

import redpoll as rp

from .program import Node, Program

HAS_SPARSE = find_spec("sparse") is not None

#: Values whose sums are exact in every order, except for the special values.
_INTEGERS = (0, 1, 2, 3, 5)
_SIGNED = (-1, -2, -3)
_FLOATS = (0.5, -0.25, 1.5, -2.5)
_SPECIAL = {
    "float32": (np.nan, np.inf, -np.inf, -0.0, 3e38, 1e-45, 0.1),
    "float64": (np.nan, np.inf, -np.inf, -0.0, 1e308, 5e-324, 0.1),
}
#: Formats for any rank, formats for matrices only, and levels.
_FORMATS = ("coo", "csf", "rle", "vbl", "band", "ell")
_MATRIX_FORMATS = ("csr", "csc", "dcsr", "dcsc", "dia", "bcsr")
_LEVELS = ("hash", "byte-map")


def values(program: Program, dtype: str, *, special: bool = True) -> tuple[Any, ...]:
    """Return the values from which elements of a dtype are drawn, sometimes with special values."""
    if dtype == "bool":
        return (False, True)
    own = _INTEGERS + (() if dtype.startswith("uint") else _SIGNED)
    if dtype.startswith("float"):
        own += _FLOATS
        if special and program.integer(0, 4) == 4:
            own += _SPECIAL[dtype] if program.strict else (np.inf, -np.inf, -0.0)
    elif special and program.integer(0, 6) == 6:
        limits = np.iinfo(dtype)
        own += (int(limits.min), int(limits.max))
    return own


def shape(program: Program, *, most: int = 4) -> tuple[int, ...]:
    """Draw a shape of at most 24 elements; modes may have size 0."""
    sizes: list[int] = []
    for _ in range(program.pick((2, 1, 3, 0, 4)) if most == 4 else program.integer(0, most)):
        room = 24 // int(np.prod([max(size, 1) for size in sizes] or [1]))
        sizes.append(program.pick([size for size in (2, 3, 1, 4, 0, 5) if size <= max(room, 1)]))
    return tuple(sizes)


def elements(program: Program, size: tuple[int, ...], dtype: str, *, special: bool = True) -> np.ndarray:
    """Draw the elements of an array."""
    count = int(np.prod(size))
    choices = values(program, dtype, special=special)
    # Half of the arrays have many zeros.
    choices = choices + (choices[0],) * (2 * len(choices)) if program.flag() else choices
    drawn = [program.pick(choices) for _ in range(count)]
    with np.errstate(all="ignore"):
        return np.array(drawn, dtype).reshape(size)


def leaf(program: Program, size: tuple[int, ...] | None = None, kinds: str = "biuf", *, special: bool = True) -> Node:
    """Draw an array. `size` is its shape if given, and `kinds` are the kinds of its dtype."""
    dtype = program.pick([name for name in ("float64", "int64", *DTYPES) if np.dtype(name).kind in kinds])
    size = shape(program) if size is None else size
    dense = elements(program, size, dtype, special=special)
    sources = [_of_numpy, _of_format]
    if len(size) and HAS_SPARSE:
        sources.append(_of_sparse)
    if len(size) in (1, 2):
        sources.append(_of_scipy)
    if not len(size) or program.integer(0, 9) == 9:
        sources.append(_constant)
    return program.pick(sources)(program, dense)


def _literal(dense: np.ndarray) -> str:
    """Return Python code that makes an array of NumPy."""
    if dense.ndim and dense.size:
        return f"np.array({dense.tolist()}, '{dense.dtype}')".replace("nan", "np.nan").replace("inf", "np.inf")
    return f"np.full({dense.shape}, {dense.item() if not dense.ndim else 0}, '{dense.dtype}')"


def _added(program: Program, raw: Any, dense: np.ndarray, text: str, fill: Any = 0) -> Node:
    array = rp.asarray(raw)
    assert array.shape == dense.shape and array.dtype == dense.dtype
    if array.ndim:
        np.testing.assert_equal(array.fill_value, dense.dtype.type(fill))
    return program.add(Node(array, dense, raw=raw), f"rp.asarray({text})")


def _of_numpy(program: Program, dense: np.ndarray) -> Node:
    layout = program.pick(("contiguous", "columns", "strided", "reversed", "list"))
    text = _literal(dense)
    if layout == "columns" and dense.ndim:
        return _added(program, np.asfortranarray(dense), dense, f"np.asfortranarray({text})")
    if layout == "strided" and dense.ndim:
        return _added(program, np.repeat(dense, 2, axis=-1)[..., ::2], dense, text)
    if layout == "reversed" and dense.ndim:
        return _added(program, dense[::-1].copy()[::-1], dense, text)
    if layout == "list" and dense.ndim and dense.size and str(dense.dtype) in ("bool", "int64", "float64"):
        array = rp.asarray(dense.tolist())
        return program.add(Node(array, dense), f"rp.asarray({text}.tolist())")
    return _added(program, dense, dense, text)


def _of_scipy(program: Program, dense: np.ndarray) -> Node:
    format = program.pick(("csr", "csc", "coo", "lil", "dok", "bsr") if dense.ndim == 2 else ("csr", "coo"))
    if 0 in dense.shape and format == "bsr":
        format = "csr"
    matrix = program.flag() and dense.ndim == 2
    cls = getattr(sp, f"{format}_{'matrix' if matrix else 'array'}")
    raw = cls(sp.coo_array(dense)) if dense.ndim == 2 else sp.coo_array(dense).asformat(format)
    name = f"sp.{format}_{'matrix' if matrix else 'array'}({_literal(dense)})"
    return _added(program, raw, raw.toarray(), name)


def _of_sparse(program: Program, dense: np.ndarray) -> Node:
    import sparse

    fill = dense.dtype.type(program.pick(values(program, str(dense.dtype))))
    format = program.pick(("coo", "gcxs", "dok"))
    raw: Any = sparse.COO.from_numpy(dense, fill_value=fill)
    # A negative zero equals a fill value of 0, so PyData/Sparse drops it with its sign.
    dense = raw.todense()
    if format == "gcxs":
        raw = sparse.GCXS.from_coo(raw)
    elif format == "dok" and dense.size and not np.isnan(fill):
        raw = raw.asformat("dok")
    text = f"sparse.COO.from_numpy({_literal(dense)}, fill_value={fill}).asformat('{format}')"
    return _added(program, raw, dense, text, fill)


def _of_format(program: Program, dense: np.ndarray) -> Node:
    fill = program.pick(values(program, str(dense.dtype)))
    array, text = rp.asarray(dense), f"rp.asarray({_literal(dense)})"
    if program.flag():
        array, text = array.refill(fill), f"{text}.refill({fill})"
        if program.flag():
            array, text = array.drop_fills(), f"{text}.drop_fills()"
    if dense.ndim:
        choice = program.pick(_FORMATS + _LEVELS + (_MATRIX_FORMATS if dense.ndim == 2 else ()))
        if choice in _LEVELS:
            choice = f"(dense ({choice} (element)))" if dense.ndim == 2 else "coo"
        array, text = array.reformat(choice), f"{text}.reformat('{choice}')"
    return program.add(Node(array, dense), text)


def _constant(program: Program, dense: np.ndarray) -> Node:
    value = program.pick(values(program, str(dense.dtype)))
    dense = np.full(dense.shape, value, dense.dtype)
    array = rp.full(dense.shape, value, dtype=dense.dtype)
    return program.add(Node(array, dense), f"rp.full({dense.shape}, {value}, dtype='{dense.dtype}')")
