"""Steps that fold, scan and take differences along axes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import redpoll as rp

from .program import Node, Program, Skip, widen


def sums_exactly(dense: np.ndarray, *, squared: bool = False) -> bool:
    """Return whether sums of elements, or of products if `squared`, are exact in every order."""
    if dense.dtype.kind != "f" or not dense.size:
        return True
    finite = dense[np.isfinite(dense)].astype(np.float64)
    with np.errstate(over="ignore"):
        steps = finite * 64
    total = np.abs(steps).sum()
    limit = 2.0**22 if dense.dtype == np.float32 else 2.0**50
    return bool((steps == np.round(steps)).all()) and total * (total if squared else 1.0) < limit


def _squares_are_finite(dense: np.ndarray) -> bool:
    """Return whether all elements are so small that the sum of their squares is finite."""
    return dense.dtype.kind != "f" or bool((np.abs(dense.astype(np.float64)) < 1e18).all())


def _has_zero(node: Node, axis: Any) -> bool:
    """Return whether a folded axis has no elements."""
    shape = node.dense.shape
    axes = range(len(shape)) if axis is None else (axis,) if isinstance(axis, int) else axis
    return any(shape[one] == 0 for one in axes)


def _finite(program: Program, node: Node) -> None:
    """Raise `Skip` for infinities or NaN in relaxed floats, whose order of operations is open."""
    if not program.strict and not (np.isfinite(node.dense).all() and np.isfinite(node.fills).all()):
        raise Skip


_FOLDS: tuple[tuple[str, str], ...] = (
    ("sum", "any"), ("prod", "any"), ("max", "any"), ("min", "any"), ("any", "any"), ("all", "any"),
    ("count_nonzero", "any"), ("mean", "any"), ("var", "any"), ("std", "any"),
)  # fmt: skip


def fold(program: Program) -> None:
    """Fold along axes."""
    name, kind = program.pick(_FOLDS)
    sharp = name in ("any", "all", "count_nonzero")
    x = program.node(kind, exact=sharp)
    axis, keepdims = program.axes(x), program.flag()
    if name in ("max", "min") and _has_zero(x, axis):
        raise Skip
    _finite(program, x)
    exact = sharp or name in ("max", "min")
    if name in ("sum", "prod") or (name in ("mean", "var", "std")):
        exact = (
            x.kind != "f"
            and name in ("sum", "prod")
            or name == "sum"
            and sums_exactly(x.dense)
            and sums_exactly(x.fills)
        )
    squares = name in ("mean", "var", "std")
    if squares and not (_squares_are_finite(x.dense) and _squares_are_finite(x.fills)):
        raise Skip
    reference = _reference(name)
    if name in ("var", "std") and _has_zero(x, axis):
        raise Skip
    text = f"rp.{name}({{}}, axis={axis}, keepdims={keepdims})"
    node = program.apply(
        text,
        lambda a: getattr(rp, name)(a, axis=axis, keepdims=keepdims),
        lambda a: reference(a, axis=axis, keepdims=keepdims),
        x,
        exact=exact,
    )
    node.zeros_open = node.zeros_open or name in ("sum", "prod", "mean")
    if name in ("prod", "var", "std"):
        widen(node)


def _reference(name: str) -> Callable[..., Any]:
    """Return NumPy's reduction, changed to compute in the dtype that redpoll uses."""
    function = getattr(np, name)
    if name in ("mean", "var", "std"):
        return lambda a, **kwargs: function(a, dtype=a.dtype if a.dtype == np.float32 else np.float64, **kwargs)
    if name == "count_nonzero":
        return lambda a, **kwargs: np.asarray(function(a, **kwargs), np.int64)
    return function


def nan_fold(program: Program) -> None:
    """Fold along axes, ignoring NaN."""
    name = program.pick(("nansum", "nanmax", "nanmin", "nanprod"))
    x = program.node("number")
    axis, keepdims = program.axes(x), program.flag()
    _finite(program, x)
    if name in ("nanmax", "nanmin") and _has_zero(x, axis):
        raise Skip
    exact = name in ("nanmax", "nanmin") or x.kind != "f" or name == "nansum" and sums_exactly(x.dense)
    node = program.apply(
        f"rp.{name}({{}}, axis={axis}, keepdims={keepdims})",
        lambda a: getattr(rp, name)(a, axis=axis, keepdims=keepdims),
        lambda a: getattr(np, name)(a, axis=axis, keepdims=keepdims),
        x,
        exact=exact,
    )
    node.usable, node.zeros_open = node.exact, True


def arg_fold(program: Program) -> None:
    """Find the coordinate of the largest or smallest element."""
    name = program.pick(("argmax", "argmin"))
    x = program.node("any", exact=True)
    axis = program.axis(x) if x.dense.ndim and program.flag() else None
    keepdims = program.flag()
    if _has_zero(x, axis):
        raise Skip
    _finite(program, x)
    program.apply(
        f"rp.{name}({{}}, axis={axis}, keepdims={keepdims})",
        lambda a: getattr(rp, name)(a, axis=axis, keepdims=keepdims),
        lambda a: getattr(np, name)(a, axis=axis, keepdims=keepdims),
        x,
    )


def quantile(program: Program) -> None:
    """Compute a median or a quantile."""
    x = program.node("number")
    axis, keepdims = program.axes(x), program.flag()
    if not x.dense.size or axis == () or not np.isfinite(x.dense).all() or np.abs(x.dense).max(initial=0) > 1e30:
        raise Skip
    fraction = program.pick((0.5, 0.25, 0.0, 1.0, 0.3))

    def numpy(a: np.ndarray) -> Any:
        a = a if a.dtype.kind == "f" else a.astype(np.float64)
        return np.asarray(np.quantile(a, fraction, axis=axis, keepdims=keepdims), a.dtype)

    program.apply(
        f"rp.quantile({{}}, {fraction}, axis={axis}, keepdims={keepdims})",
        lambda a: rp.quantile(a, fraction, axis=axis, keepdims=keepdims),
        numpy,
        x,
        exact=False,
        fill=False,
    )


def cumulative(program: Program) -> None:
    """Scan along an axis."""
    name = program.pick(("cumulative_sum", "cumulative_prod"))
    x = program.node("any", rank=1)
    _finite(program, x)
    axis, initial = program.axis(x), program.flag()
    exact = x.kind != "f" or name == "cumulative_sum" and sums_exactly(x.dense)
    node = program.apply(
        f"rp.{name}({{}}, axis={axis}, include_initial={initial})",
        lambda a: getattr(rp, name)(a, axis=axis, include_initial=initial),
        lambda a: getattr(np, name)(a, axis=axis, include_initial=initial),
        x,
        exact=exact,
        fill=not x.fills.any() and name == "cumulative_sum",
    )
    node.zeros_open = True
    widen(node)


def diff(program: Program) -> None:
    """Take differences of adjacent elements."""
    x = program.node("any", rank=1)
    _finite(program, x)
    axis, order = program.axis(x), program.pick((1, 2))
    if x.dense.shape[axis] < order:
        raise Skip
    program.apply(
        f"rp.diff({{}}, axis={axis}, n={order})",
        lambda a: rp.diff(a, axis=axis, n=order),
        lambda a: np.diff(a, axis=axis, n=order),
        x,
        exact=sums_exactly(x.dense) and sums_exactly(x.fills),
    )


STEPS = ((fold, 8), (nan_fold, 1), (arg_fold, 2), (quantile, 1), (cumulative, 2), (diff, 1))
