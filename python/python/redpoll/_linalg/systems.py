"""Iterative solvers of linear systems and of least squares, with SciPy's names and arguments."""

from __future__ import annotations

from collections.abc import Callable
from operator import index
from typing import Any, Literal, NamedTuple

import numpy as np

import redpoll as rp

from .. import _core
from .._array import Array
from .._typing import ArrayLike
from .operators import Operator, operand, shifted

__all__ = ["LsqrResult", "bicgstab", "cg", "gmres", "lsqr", "minres"]

#: The number `info` for the reason why a solver stopped. For other reasons, it is the number of
#: iterations.
_INFO = {"converged": 0, "least squares": 0, "indefinite": -1, "breakdown": -10}


class LsqrResult(NamedTuple):
    """The result of `lsqr`, with fields in the order of SciPy."""

    #: The approximate solution.
    x: Array
    #: The reason to stop: 0 if the first guess is a least-squares solution, 1 if `A x = b` holds, 2
    #: if `x` is a least-squares solution, 3 if the condition number exceeds `conlim`, 4 to 6 as 1 to
    #: 3 but to the precision of floats, 7 at the limit of iterations.
    istop: int
    #: The number of iterations.
    itn: int
    #: The norm of `b - A x`.
    r1norm: float
    #: The square root of `norm(b - A x)^2 + damp^2 norm(x - x0)^2`.
    r2norm: float
    #: The estimate of the Frobenius norm of the matrix, with `damp I` below it.
    anorm: float
    #: The estimate of the condition number of that matrix.
    acond: float
    #: The estimate of the norm of the gradient.
    arnorm: float
    #: The norm of `x - x0`.
    xnorm: float
    #: Zeros, as SciPy returns them unless `calc_var` is set.
    var: Array


def cg(
    A: Operator,  # noqa: N803
    b: ArrayLike,
    x0: ArrayLike | None = None,
    *,
    rtol: float = 1e-5,
    atol: float = 0.0,
    maxiter: int | None = None,
    M: Operator | None = None,  # noqa: N803
    callback: Callable[[Any], Any] | None = None,
) -> tuple[Array, int]:
    """Solve `A x = b` for a symmetric positive definite `A` by the conjugate gradient method.

    `A` is a matrix of any format or library, a lazy array such as `B.T @ B`, which is multiplied
    factor by factor, or an object with `shape` and `matvec`. `M` approximates the inverse of `A`.
    The solver stops if the norm of `b - A x` is at most `max(rtol * norm(b), atol)`, or after
    `maxiter` iterations, by default 10 times the number of rows. `callback(xk)` is called after
    each iteration.

    Returns the solution and `info`: 0 if the solver has converged, the number of iterations if it
    has not, -1 if `A` or `M` is not positive definite, -10 if a division by zero ends the
    iteration.

    Raises:
        ValueError: shapes do not fit, a vector is not finite, or a tolerance is negative.

    Examples:
        >>> x, info = rp.linalg.cg(rp.asarray([[4.0, 1.0], [1.0, 3.0]]), [1.0, 2.0], rtol=1e-12)
        >>> [round(value, 6) for value in x.tolist()], info
        ([0.090909, 0.636364], 0)
    """
    return _solve("cg", A, b, x0, (rtol, atol), maxiter, M, callback)


def minres(
    A: Operator,  # noqa: N803
    b: ArrayLike,
    x0: ArrayLike | None = None,
    *,
    rtol: float = 1e-5,
    shift: float = 0.0,
    maxiter: int | None = None,
    M: Operator | None = None,  # noqa: N803
    callback: Callable[[Any], Any] | None = None,
) -> tuple[Array, int]:
    """Solve `(A - shift I) x = b` for a symmetric `A` by the minimal residual method.

    Arguments and results are those of `cg`, but `A` need not be positive definite, and `rtol` is
    relative to `norm(A) * norm(x)`, and `maxiter` is by default 5 times the number of rows, as in
    SciPy. `info` is also 0 if the system has no solution and `x` is a least-squares solution.

    Raises:
        ValueError: as for `cg`.

    Examples:
        >>> x, info = rp.linalg.minres(rp.asarray([[1.0, 0.0], [0.0, -2.0]]), [1.0, 2.0])
        >>> [round(value, 6) for value in x.tolist()], info
        ([1.0, -1.0], 0)
    """
    if shift != 0.0:
        A = shifted(A, shift)  # noqa: N806
    return _solve("minres", A, b, x0, (rtol, 0.0), maxiter, M, callback)


def bicgstab(
    A: Operator,  # noqa: N803
    b: ArrayLike,
    x0: ArrayLike | None = None,
    *,
    rtol: float = 1e-5,
    atol: float = 0.0,
    maxiter: int | None = None,
    M: Operator | None = None,  # noqa: N803
    callback: Callable[[Any], Any] | None = None,
) -> tuple[Array, int]:
    """Solve `A x = b` for a square `A` by the stabilized biconjugate gradient method.

    Arguments and results are those of `cg`.

    Raises:
        ValueError: as for `cg`.

    Examples:
        >>> x, info = rp.linalg.bicgstab(rp.asarray([[4.0, 1.0], [-1.0, 3.0]]), [5.0, 2.0])
        >>> [round(value, 3) for value in x.tolist()], info
        ([1.0, 1.0], 0)
    """
    return _solve("bicgstab", A, b, x0, (rtol, atol), maxiter, M, callback)


def gmres(
    A: Operator,  # noqa: N803
    b: ArrayLike,
    x0: ArrayLike | None = None,
    *,
    rtol: float = 1e-5,
    atol: float = 0.0,
    restart: int | None = None,
    maxiter: int | None = None,
    M: Operator | None = None,  # noqa: N803
    callback: Callable[[Any], Any] | None = None,
    callback_type: Literal["x", "pr_norm", "legacy"] | None = None,
) -> tuple[Array, int]:
    """Solve `A x = b` for a square `A` by the generalized minimal residual method.

    Arguments and results are those of `cg`, except that, as in SciPy, the method starts again after
    `restart` iterations, by default 20, and `maxiter` is the limit of these cycles. With
    `callback_type="x"`, the callback gets the solution after each cycle; with `pr_norm`, the norm
    of the residual relative to that of `b` after each iteration. The default is `legacy`: as
    `pr_norm`, and `maxiter` counts iterations if there is a callback. The preconditioner is on the
    right, so norms are those of `b - A x`.

    Raises:
        ValueError: as for `cg`; also if `restart` is 0.

    Examples:
        >>> x, info = rp.linalg.gmres(rp.asarray([[0.0, -1.0], [1.0, 0.0]]), [-2.0, 1.0])
        >>> [round(value, 6) for value in x.tolist()], info
        ([1.0, 2.0], 0)
    """
    kinds = ("x", "pr_norm", "legacy", None)
    if callback_type not in kinds:
        raise ValueError(f"`callback_type` is 'x', 'pr_norm' or 'legacy', found {callback_type!r}")
    right = _vector(b)
    cycle = count("restart", 20 if restart is None else restart)
    if callback is None or callback_type in ("x", "pr_norm"):
        cycles = count("maxiter", 10 * right.size if maxiter is None else maxiter)
        maxiter = cycles * max(1, min(cycle, right.size))
    if callback is None or callback_type == "x":
        return _solve("gmres", A, right, x0, (rtol, atol), maxiter, M, callback, restart=cycle)
    scale, with_norm = float(rp.linalg.vector_norm(right)), callback
    relative = lambda norm: with_norm(norm / scale)  # noqa: E731
    return _solve("gmres", A, right, x0, (rtol, atol), maxiter, M, relative, restart=cycle, norms=True)


def lsqr(
    A: Operator,  # noqa: N803
    b: ArrayLike,
    damp: float = 0.0,
    atol: float = 1e-6,
    btol: float = 1e-6,
    conlim: float = 1e8,
    iter_lim: int | None = None,
    *,
    x0: ArrayLike | None = None,
) -> LsqrResult:
    """Minimize `norm(A x - b)^2 + damp^2 norm(x - x0)^2` for a matrix of any shape by LSQR.

    `A` is a matrix as in `cg`, or an object with `shape`, `matvec` and `rmatvec`. `atol` and `btol`
    are the relative errors of `A` and `b`, and `conlim` the limit of the condition number, 0 for
    none. `iter_lim` is the greatest number of iterations, by default twice the number of columns.

    Raises:
        ValueError: shapes do not fit, a vector is not finite, or a parameter is negative.
        NotImplementedError: the operator has no `rmatvec`.

    Examples:
        >>> mean = rp.linalg.lsqr(rp.ones((3, 1)), [1.0, 2.0, 6.0])
        >>> round(mean.x.tolist()[0], 6), mean.istop
        (3.0, 2)
    """
    limit = limit_of("iter_lim", iter_lim)
    x, numbers = _core.lsqr(operand(A), _vector(b), _guess(x0), (damp, atol, btol, conlim), limit)
    return LsqrResult(x, *numbers, rp.zeros(x.shape))


def _solve(
    solver: str,
    a: Operator,
    b: ArrayLike,
    x0: ArrayLike | None,
    tolerances: tuple[float, float],
    maxiter: int | None,
    preconditioner: Operator | None,
    callback: Callable[[Any], Any] | None,
    *,
    restart: int = 0,
    norms: bool = False,
) -> tuple[Array, int]:
    limit = limit_of("maxiter", maxiter)
    m = None if preconditioner is None else operand(preconditioner)
    if callback is not None and not norms:
        with_solution = callback
        callback = lambda buffer: with_solution(np.asarray(buffer))  # noqa: E731
    x, reason, iterations = _core.solve_system(
        solver, operand(a), _vector(b), _guess(x0), tolerances, limit, restart, m, callback, norms
    )
    return x, _INFO.get(reason, max(1, iterations))


def _vector(values: ArrayLike) -> Array:
    """Return a vector; a matrix with one column becomes a vector, as in SciPy."""
    array = rp.asarray(values)
    return rp.reshape(array, (-1,)) if array.ndim == 2 and array.shape[1] == 1 else array


def _guess(x0: ArrayLike | None) -> Array | None:
    """Return a first guess as a vector."""
    return None if x0 is None else _vector(x0)


def limit_of(name: str, value: int | None) -> int | None:
    """Return a count of at least 0, or `None` for the default."""
    return None if value is None else count(name, value)


def count(name: str, value: int) -> int:
    """Return a number as an `int`. Raises `ValueError` if it is negative."""
    number = index(value)
    if number < 0:
        raise ValueError(f"`{name}` is at least 0, found {number}")
    return number
