"""Text and HTML representations of arrays, made without computing the arrays."""

from __future__ import annotations

import math
from html import escape
from typing import TYPE_CHECKING

from . import _core

if TYPE_CHECKING:
    from ._array import Array

__all__ = ["html", "text"]

#: The largest number of cells of a pattern along one side, and the longer side in pixels.
_CELLS, _PIXELS = 40, 120
#: The least length of a side in pixels.
_SHORTEST = 12
#: The number of shades; a cell is darker if it has more entries.
_SHADES = 5


def text(array: Array) -> str:
    """Return the properties of an array. For a computed array, add the format and the number of
    stored elements."""
    parts = [f"shape={array.shape}"]
    if array.names is not None:
        parts.append(f"names={array.names}")
    parts += [array.dtype_name, f"fill={array.fill_value!r}"]
    tensor = _core.kept_tensor(array)
    parts += ["lazy"] if tensor is None else [tensor.level_names, f"stored={tensor.stored}"]
    return f"<redpoll.Array {' '.join(parts)}>"


def html(array: Array) -> str:
    """Return a table of the properties of an array, and the pattern of a computed array."""
    shape = " × ".join(map(str, array.shape)) or "()"
    rows = [("shape", shape), ("dtype", array.dtype_name), ("fill value", repr(array.fill_value))]
    if array.names is not None:
        rows.insert(1, ("names", ", ".join(array.names)))
    tensor = _core.kept_tensor(array)
    picture = ""
    if tensor is None:
        rows.append(("values", "lazy: not computed yet"))
    else:
        share = tensor.stored / array.size if array.size else 0.0
        rows += [
            ("format", tensor.level_names),
            ("stored", f"{tensor.stored} ({share:.3g} of all)"),
            ("memory", _bytes(tensor.nbytes)),
        ]
        picture = _pattern(tensor)
    cells = "".join(
        f'<tr><th style="text-align:left">{name}</th><td style="text-align:left">{escape(value)}</td></tr>'
        for name, value in rows
    )
    return (
        '<div style="display:flex;gap:1.5em;align-items:center">'
        f"<table><caption>redpoll.Array</caption>{cells}</table>{picture}</div>"
    )


def _bytes(count: int) -> str:
    """Return a number of bytes with a binary unit."""
    unit = 0 if count < 1024 else min(int(math.log(count, 1024)), 4)
    return f"{count} bytes" if unit == 0 else f"{count / 1024**unit:.1f} {('KiB', 'MiB', 'GiB', 'TiB')[unit - 1]}"


def _pattern(tensor: _core.Tensor) -> str:
    """Return the entries of a tensor as SVG; the modes before the last are flattened vertically."""
    *leading, width = tensor.shape or (0,)
    height = math.prod(leading)
    if not width or not height:
        return ""
    rows, columns = min(height, _CELLS), min(width, _CELLS)
    counts = tensor.pattern(rows, columns)
    if counts is None:
        return ""
    longest = max(height, width)
    pixels = [max(_SHORTEST, round(_PIXELS * size / longest)) for size in (height, width)]
    paths = "".join(
        f'<path d="{path}" stroke="#1f6feb" stroke-opacity="{(shade + 1) / _SHADES:.1f}"/>'
        for shade, path in enumerate(_shaded(counts, rows, columns))
        if path
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{pixels[1]}" height="{pixels[0]}" '
        f'viewBox="0 0 {columns} {rows}" preserveAspectRatio="none" shape-rendering="crispEdges" '
        f'style="background:#fff;outline:1px solid #8c959f">{paths}</svg>'
    )


def _shaded(counts: list[int], rows: int, columns: int) -> list[str]:
    """Return a path for each shade, with a line for each run of cells of that shade."""
    most = math.log1p(max(counts))
    paths = [""] * _SHADES
    for row in range(rows):
        column = 0
        for shade, length in _runs([_shade(count, most) for count in counts[row * columns : (row + 1) * columns]]):
            if shade is not None:
                paths[shade] += f"M{column} {row}.5h{length}"
            column += length
    return paths


def _shade(count: int, most: float) -> int | None:
    """Return the shade of a cell, by the logarithm of its number of entries."""
    return min(int(math.log1p(count) / most * _SHADES), _SHADES - 1) if count else None


def _runs(values: list[int | None]) -> list[tuple[int | None, int]]:
    """Return each run of equal values with its length."""
    runs: list[tuple[int | None, int]] = []
    for value in values:
        if runs and runs[-1][0] == value:
            runs[-1] = (value, runs[-1][1] + 1)
        else:
            runs.append((value, 1))
    return runs
