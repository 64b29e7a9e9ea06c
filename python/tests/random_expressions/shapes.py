"""Steps that change shapes, select or assign elements, and join arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

import redpoll as rp

from . import leaves
from .program import Node, Program, Skip


def permute(program: Program) -> None:
    """Permute the modes."""
    x = program.node(rank=1)
    order = tuple(program.shuffled(range(x.dense.ndim)))
    program.apply(
        f"rp.permute_dims({{}}, {order})", lambda a: rp.permute_dims(a, order), lambda a: a.transpose(order), x
    )


def move(program: Program) -> None:
    """Move an axis, or exchange the last two axes."""
    x = program.node(rank=2)
    if program.flag():
        program.apply("rp.matrix_transpose({})", rp.matrix_transpose, np.matrix_transpose, x)
        return
    source, target = program.axis(x), program.axis(x)
    program.apply(
        f"rp.moveaxis({{}}, {source}, {target})",
        lambda a: rp.moveaxis(a, source, target),
        lambda a: np.moveaxis(a, source, target),
        x,
    )


def reshape(program: Program) -> None:
    """Change the shape."""
    x = program.node()
    rest, sizes = x.dense.size, []
    if rest:
        while rest > 1 and len(sizes) < 3 and program.flag():
            size = program.pick([n for n in range(1, rest + 1) if rest % n == 0])
            sizes.append(size)
            rest //= size
        if rest > 1 or program.flag():
            sizes.append(rest)
        if sizes and program.flag():
            sizes[program.integer(0, len(sizes) - 1)] = -1
    else:
        sizes = program.pick(([0], [0, 3], [2, 0, 1]))
    shape = tuple(sizes)
    program.apply(f"rp.reshape({{}}, {shape})", lambda a: rp.reshape(a, shape), lambda a: a.reshape(shape), x)


def expand(program: Program) -> None:
    """Insert or drop a mode of size 1."""
    x = program.node()
    ones = [axis for axis, size in enumerate(x.dense.shape) if size == 1]
    if ones and program.flag():
        axis = program.pick(ones)
        program.apply(
            f"rp.squeeze({{}}, axis={axis})", lambda a: rp.squeeze(a, axis=axis), lambda a: a.squeeze(axis), x
        )
        return
    if x.dense.ndim > 4:
        raise Skip
    axis = program.integer(-x.dense.ndim - 1, x.dense.ndim)
    program.apply(
        f"rp.expand_dims({{}}, axis={axis})",
        lambda a: rp.expand_dims(a, axis=axis),
        lambda a: np.expand_dims(a, axis),
        x,
    )


def broadcast(program: Program) -> None:
    """Broadcast to a larger shape."""
    x = program.node()
    shape = tuple(program.pick((2, 3, 0)) if size == 1 and program.flag() else size for size in x.dense.shape)
    if program.flag() and len(shape) < 4:
        shape = (program.pick((2, 1, 0)), *shape)
    program.apply(
        f"rp.broadcast_to({{}}, {shape})", lambda a: rp.broadcast_to(a, shape), lambda a: np.broadcast_to(a, shape), x
    )


def rotate(program: Program) -> None:
    """Rotate or reverse the elements along axes."""
    x = program.node()
    if program.flag():
        axis = program.axes(x)
        program.apply(f"rp.flip({{}}, axis={axis})", lambda a: rp.flip(a, axis=axis), lambda a: np.flip(a, axis), x)
        return
    shift, at = program.integer(-4, 4), program.axis(x) if x.dense.ndim and program.flag() else None
    program.apply(
        f"rp.roll({{}}, {shift}, axis={at})", lambda a: rp.roll(a, shift, axis=at), lambda a: np.roll(a, shift, at), x
    )


def repeat(program: Program) -> None:
    """Repeat elements or the whole array."""
    x = program.node(test=lambda node: node.dense.size < 40)
    if program.flag():
        counts = tuple(program.integer(0, 2) for _ in range(program.integer(0, max(x.dense.ndim + 1, 1))))
        program.apply(f"rp.tile({{}}, {counts})", lambda a: rp.tile(a, counts), lambda a: np.tile(a, counts), x)
        return
    axis = program.axis(x) if x.dense.ndim and program.flag() else None
    size = x.dense.size if axis is None else x.dense.shape[axis]
    if program.flag():
        count: Any = program.integer(0, 3)
        ours = count
    else:
        count = [program.integer(0, 2) for _ in range(size)]
        ours = rp.asarray(np.array(count, np.int64))
    program.apply(
        f"rp.repeat({{}}, {count}, axis={axis})",
        lambda a: rp.repeat(a, ours, axis=axis),
        lambda a: np.repeat(a, count, axis),
        x,
    )


def pad(program: Program) -> None:
    """Pad with the fill value or another number."""
    x = program.node(rank=1)
    widths = [(program.integer(0, 2), program.integer(0, 2)) for _ in range(x.dense.ndim)]
    value = program.pick(leaves.values(program, str(x.dense.dtype), special=False))
    program.apply(
        f"rp.pad({{}}, {widths}, value={value})",
        lambda a: rp.pad(a, widths, value=value),
        lambda a: np.pad(a, widths, constant_values=value),
        x,
        fill=bool(x.array.fill_value == value),
    )


def join(program: Program) -> None:
    """Join arrays along an axis, or along a new axis."""
    x = program.node()
    kind = program.pick(("concat", "stack", "flat"))
    if kind == "concat" and not x.dense.ndim:
        raise Skip
    axis = None if kind == "flat" else program.integer(0, x.dense.ndim - (kind == "concat"))
    parts = [x]
    for _ in range(program.integer(1, 2)):
        if program.flag():
            parts.append(x)
        else:
            size = tuple(
                program.integer(0, 2) if kind == "concat" and k == axis else n for k, n in enumerate(x.dense.shape)
            )
            parts.append(leaves.leaf(program, size))
    places = ", ".join("{}" for _ in parts)
    if kind == "stack":
        program.apply(
            f"rp.stack([{places}], axis={axis})",
            lambda *arrays: rp.stack(arrays, axis=axis),
            lambda *arrays: np.stack([a.astype(np.result_type(*arrays)) for a in arrays], axis=axis),
            *parts,
        )
        return
    program.apply(
        f"rp.concat([{places}], axis={axis})",
        lambda *arrays: rp.concat(arrays, axis=axis),
        lambda *arrays: np.concatenate([a.astype(np.result_type(*arrays)) for a in arrays], axis=axis),
        *parts,
    )


def unstack(program: Program) -> None:
    """Take the array at one coordinate of an axis."""
    x = program.node(rank=1)
    axis = program.axis(x)
    if not x.dense.shape[axis]:
        raise Skip
    at = program.integer(0, x.dense.shape[axis] - 1)
    program.apply(
        f"rp.unstack({{}}, axis={axis})[{at}]",
        lambda a: rp.unstack(a, axis=axis)[at],
        lambda a: np.moveaxis(a, axis, 0)[at],
        x,
    )


def _integers(program: Program, size: int, count: int) -> np.ndarray:
    return np.array([program.integer(-size, size - 1) for _ in range(count)], np.int64).reshape(count)


def take(program: Program) -> None:
    """Take the elements at coordinates along an axis."""
    x = program.node(rank=1)
    axis = program.axis(x)
    size = x.dense.shape[axis]
    indices = _integers(program, size, program.integer(0, 4) if size else 0)
    if program.flag():
        program.apply(
            f"rp.take({{}}, rp.asarray({indices.tolist()}), axis={axis})",
            lambda a: rp.take(a, rp.asarray(indices), axis=axis),
            lambda a: np.take(a, indices, axis),
            x,
        )
        return
    shape = tuple(program.integer(0, 2) if k == axis % x.dense.ndim else n for k, n in enumerate(x.dense.shape))
    if not size:
        shape = x.dense.shape
    places = np.array([program.integer(0, max(size - 1, 0)) for _ in range(int(np.prod(shape)))], np.int64).reshape(
        shape
    )
    program.apply(
        f"rp.take_along_axis({{}}, rp.asarray(np.array({places.tolist()}).reshape({shape})), axis={axis})",
        lambda a: rp.take_along_axis(a, rp.asarray(places), axis=axis),
        lambda a: np.take_along_axis(a, places, axis),
        x,
    )


def _slice(program: Program, size: int) -> slice:
    def bound() -> int | None:
        return None if program.flag() else program.integer(-size - 1, size + 1)

    return slice(bound(), bound(), program.pick((None, 1, 2, -1, -2)))


def key_of(program: Program, shape: tuple[int, ...], *, arrays: bool = True) -> tuple[Any, ...]:
    """Draw a key: integers, slices, `None`, `...`, and vectors of integers or booleans.

    Unless `arrays`, the key has neither `...` nor vectors.
    """
    items: list[Any] = []
    used = 0
    vectors, length = 0, program.integer(1, 3)
    ellipsis = False
    while used < len(shape) and program.integer(0, 5):
        size = shape[used]
        kind = program.pick(
            ("slice", "integer", "none", "ellipsis", "vector", "mask") if arrays else ("slice", "integer", "none")
        )
        if kind == "none":
            if len(items) < 6:
                items.append(None)
            continue
        if kind == "ellipsis":
            if ellipsis:
                continue
            ellipsis = True
            items.append(Ellipsis)
            break
        if kind == "integer" and size:
            items.append(program.integer(-size, size - 1))
        elif kind == "vector" and size and vectors < 2:
            items.append(_integers(program, size, length))
            vectors += 1
        elif kind == "mask" and not vectors:
            items.append(np.array([program.flag() for _ in range(size)], bool))
            vectors += 2
        else:
            items.append(_slice(program, size))
        used += 1
    if program.integer(0, 4) == 4:
        items.append(None)
    return tuple(items)


def _text(key: Any) -> str:
    """Return the text of a key."""
    if isinstance(key, tuple):
        return "(" + "".join(f"{_text(item)}, " for item in key) + ")"
    return f"np.array({key.tolist()}, '{key.dtype}')" if isinstance(key, np.ndarray) else repr(key)


def index(program: Program) -> None:
    """Index with a key."""
    x = program.node()
    key: Any = key_of(program, x.dense.shape)
    if len(key) == 1 and program.flag():
        key = key[0]
    wrapped = program.flag()

    def ours(a: Any) -> Any:
        items = key if isinstance(key, tuple) else (key,)
        items = tuple(rp.asarray(item) if wrapped and isinstance(item, np.ndarray) else item for item in items)
        return a[items if isinstance(key, tuple) else items[0]]

    program.apply(f"{{}}[{_text(key)}]", ours, lambda a: a[key], x)


def select(program: Program) -> None:
    """Select by a mask of the whole array, or of its first modes."""
    x = program.node()
    rank = program.integer(0, x.dense.ndim) if program.flag() else x.dense.ndim
    mask = leaves.elements(program, x.dense.shape[:rank], "bool")
    if program.flag() and not mask.ndim:
        raise Skip
    program.apply(
        f"{{}}[rp.asarray({mask.tolist()})]",
        lambda a: a[rp.asarray(mask)],
        lambda a: a[mask],
        x,
        fill=bool(mask.any()),
    )


def assign(program: Program) -> None:
    """Assign a number or an array to selected elements of a copy."""
    x = program.node(rank=1)
    key = key_of(program, x.dense.shape)
    with np.errstate(all="ignore"):
        part = x.dense[key]
    if program.flag():
        value: Any = program.pick(leaves.values(program, str(x.dense.dtype), special=False))
        node: Node | None = None
    else:
        node = leaves.leaf(program, part.shape, x.kind, special=False)
        if np.result_type(node.dense, x.dense) != x.dense.dtype:
            raise Skip
    if _repeats(key):
        raise Skip

    def ours(a: Any, *others: Any) -> Any:
        result = rp.astype(a, a.dtype)
        result[key] = others[0] if others else value
        return result

    def numpy(a: np.ndarray, *others: Any) -> Any:
        result = a.copy()
        result[key] = others[0] if others else value
        return result

    operands = (x,) if node is None else (x, node)
    text = f"assigned({{}}, {_text(key)}, {value if node is None else '{}'})"
    program.apply(text, ours, numpy, *operands, fill=False)


def _repeats(key: tuple[Any, ...]) -> bool:
    """Return whether a key may select an element twice, so that the new value is unspecified."""
    return any(isinstance(item, np.ndarray) and item.dtype != bool for item in key)


STEPS = (
    (permute, 3), (move, 1), (reshape, 4), (expand, 2), (broadcast, 2), (rotate, 3), (repeat, 2), (pad, 1), (join, 3),
    (unstack, 1), (take, 3), (index, 6), (select, 2), (assign, 2),
)  # fmt: skip
