"""Drawings of plans: the queries and the tensors between them, as a layered graph in SVG.

The layout has the steps of Sugiyama, Tagawa and Toda (1981): layers, order within layers by
barycentres, coordinates. The label of an edge is a node of its own between two layers, so labels
and boxes never overlap.
"""

from __future__ import annotations

from html import escape
from os import PathLike
from pathlib import Path

__all__ = ["Drawing"]

_CHARACTER, _LINE = 6.7, 15.0
_PADDING, _GAP, _LAYER_GAP, _MARGIN = 8.0, 18.0, 16.0, 6.0
_SWEEPS = 8

_STYLE = (
    ".redpoll-flow text{font:11px ui-monospace,Menlo,Consolas,monospace;fill:#24292f}"
    ".redpoll-flow .edge text{fill:#6e7781}"
    ".redpoll-flow path{fill:none;stroke:#8c959f}"
    ".redpoll-flow rect{stroke:#57606a;fill:#fff}"
    ".redpoll-flow .input rect{fill:#ddf4ff}"
    ".redpoll-flow .result rect{fill:#dafbe1}"
)


class _Item:
    """A box, the label of an edge, or the bend of an edge that passes a layer."""

    __slots__ = ("above", "below", "height", "kind", "lines", "width", "x", "y")

    def __init__(self, kind: str, lines: list[str]) -> None:
        self.kind, self.lines = kind, lines
        padding = 0.0 if kind == "edge" else 2 * _PADDING
        self.width = max((len(line) for line in lines), default=0) * _CHARACTER + padding
        self.height = len(lines) * _LINE + padding
        self.above: list[_Item] = []
        self.below: list[_Item] = []
        self.x = self.y = 0.0


class Drawing:
    """A drawing of a plan, which notebooks show as a picture.

    Examples:
        >>> drawing = rp.sum(rp.asarray([1.0, 2.0])).visualize()
        >>> drawing
        <redpoll.Drawing of 3 nodes; `save` writes it as SVG>
        >>> drawing.svg[:4]
        '<svg'
    """

    def __init__(self, nodes: list[tuple[str, list[str]]], edges: list[tuple[int, int, list[str]]]) -> None:
        self._nodes = len(nodes)
        self.svg = _print(*_layout(nodes, edges))

    def save(self, path: str | PathLike[str]) -> None:
        """Write the drawing to a file of SVG.

        Raises:
            OSError: the file cannot be written.
        """
        Path(path).write_text(self.svg, encoding="utf-8")

    def __repr__(self) -> str:
        return f"<redpoll.Drawing of {self._nodes} nodes; `save` writes it as SVG>"

    def _repr_svg_(self) -> str:
        return self.svg


def _layout(
    nodes: list[tuple[str, list[str]]], edges: list[tuple[int, int, list[str]]]
) -> tuple[list[list[_Item]], float, float]:
    """Return the items of each layer with positions, and the width and height of the drawing."""
    boxes = [_Item(kind, lines) for kind, lines in nodes]
    layers = _insert_edges(boxes, _depths(nodes, edges), edges)
    for sweep in range(_SWEEPS):
        _order(layers, downwards=sweep % 2 == 0)
    width = _place(layers)
    top = _MARGIN
    for layer in layers:
        height = max((item.height for item in layer), default=0.0)
        for item in layer:
            item.y = top + height / 2
        top += height + _LAYER_GAP
    return layers, width + 2 * _MARGIN, top - _LAYER_GAP + _MARGIN


def _depths(nodes: list[tuple[str, list[str]]], edges: list[tuple[int, int, list[str]]]) -> list[int]:
    """Return the depth of each node. A query is below all its sources, and an input is directly
    above its highest reader."""
    depths = [0] * len(nodes)
    # Each edge leads to a later node, so one pass in order finds the longest paths.
    for source, target, _ in sorted(edges, key=lambda edge: edge[1]):
        depths[target] = max(depths[target], depths[source] + 1)
    for k, (kind, _) in enumerate(nodes):
        readers = [depths[target] for source, target, _ in edges if source == k]
        if kind == "input" and readers:
            depths[k] = min(readers) - 1
    return depths


def _insert_edges(boxes: list[_Item], depths: list[int], edges: list[tuple[int, int, list[str]]]) -> list[list[_Item]]:
    """Return the layers of boxes, and between them layers of labels and of bends of long edges."""
    layers: list[list[_Item]] = [[] for _ in range(2 * max(depths, default=0) + 1)]
    for box, depth in zip(boxes, depths, strict=True):
        layers[2 * depth].append(box)
    for source, target, lines in edges:
        above = boxes[source]
        for depth in range(2 * depths[source] + 1, 2 * depths[target]):
            # The label stands directly above the reader.
            item = _Item("edge", lines if depth == 2 * depths[target] - 1 else [])
            layers[depth].append(item)
            above.below.append(item)
            item.above.append(above)
            above = item
        above.below.append(boxes[target])
        boxes[target].above.append(above)
    return layers


def _order(layers: list[list[_Item]], *, downwards: bool) -> None:
    """Sort each layer by the mean position of an item's neighbours in the layer sorted before."""
    for layer in layers:
        for k, item in enumerate(layer):
            item.x = float(k)
    for layer in layers if downwards else layers[::-1]:
        layer.sort(key=lambda item: _mean([one.x for one in (item.above if downwards else item.below)], item.x))
        for k, item in enumerate(layer):
            item.x = float(k)


def _mean(values: list[float], default: float) -> float:
    return sum(values) / len(values) if values else default


def _place(layers: list[list[_Item]]) -> float:
    """Place the items of each layer horizontally, near their neighbours, and return the width."""
    for layer in layers:
        _pack(layer, [0.0] * len(layer))
    for sweep in range(_SWEEPS):
        for layer in layers if sweep % 2 == 0 else layers[::-1]:
            wanted = [_mean([one.x for one in item.above + item.below], item.x) for item in layer]
            _pack(layer, wanted)
    items = [item for layer in layers for item in layer]
    left = min((item.x - item.width / 2 for item in items), default=0.0)
    for item in items:
        item.x += _MARGIN - left
    return max((item.x + item.width / 2 for item in items), default=0.0) - _MARGIN


def _pack(layer: list[_Item], wanted: list[float]) -> None:
    """Place the items in order near the wanted positions, without overlaps."""
    groups: list[tuple[list[_Item], list[float], float]] = []
    for item, place in zip(layer, wanted, strict=True):
        group, offsets, middle = [item], [0.0], place
        # Overlapping groups are merged at the mean of their wanted positions, weighted by size.
        while groups:
            before, before_offsets, before_middle = groups[-1]
            distance = (before[-1].width + group[0].width) / 2 + _GAP
            end = before_middle + before_offsets[-1]
            if end + distance <= middle + offsets[0]:
                break
            groups.pop()
            shift = before_offsets[-1] + distance - offsets[0]
            weight = len(before) / (len(before) + len(group))
            middle = before_middle * weight + (middle - shift) * (1 - weight)
            offsets = before_offsets + [offset + shift for offset in offsets]
            group = before + group
        groups.append((group, offsets, middle))
    for group, offsets, middle in groups:
        for item, offset in zip(group, offsets, strict=True):
            item.x = middle + offset


def _print(layers: list[list[_Item]], width: float, height: float) -> str:
    """Return the drawing as SVG: lines first, so that boxes cover the ends of lines."""
    items = [item for layer in layers for item in layer]
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" class="redpoll-flow" width="{width:.0f}" height="{height:.0f}" '
        f'viewBox="0 0 {width:.0f} {height:.0f}"><style>{_STYLE}</style>'
        '<defs><marker id="redpoll-arrow" viewBox="0 0 6 6" refX="6" refY="3" markerWidth="7" markerHeight="7" '
        'orient="auto"><path d="M0 0L6 3L0 6"/></marker></defs>'
    ]
    parts.extend(_line(item, below) for item in items for below in item.below)
    parts.extend(_text(item) for item in items if item.lines)
    return "".join([*parts, "</svg>"])


def _line(above: _Item, below: _Item) -> str:
    """Return the curve from the bottom of an item to the top of an item below."""
    start, end = above.y + above.height / 2, below.y - below.height / 2
    middle = (start + end) / 2
    arrow = ' marker-end="url(#redpoll-arrow)"' if below.kind != "edge" else ""
    bend = f"M{above.x:.1f} {start:.1f}C{above.x:.1f} {middle:.1f} {below.x:.1f} {middle:.1f} {below.x:.1f} {end:.1f}"
    # A bend of a long edge has no height, and its line passes through the layer.
    return f'<path d="{bend}"{arrow}/>'


def _text(item: _Item) -> str:
    """Return the lines of an item, in a box unless it is the label of an edge."""
    left, top = item.x - item.width / 2, item.y - item.height / 2
    padding = 0.0 if item.kind == "edge" else _PADDING
    radius = 3 if item.kind == "query" else 12
    box = (
        ""
        if item.kind == "edge"
        else f'<rect x="{left:.1f}" y="{top:.1f}" width="{item.width:.1f}" height="{item.height:.1f}" rx="{radius}"/>'
    )
    lines = "".join(
        f'<text x="{item.x:.1f}" y="{top + padding + (k + 0.75) * _LINE:.1f}" text-anchor="middle">{escape(line)}</text>'
        for k, line in enumerate(item.lines)
    )
    return f'<g class="{item.kind}">{box}{lines}</g>'
