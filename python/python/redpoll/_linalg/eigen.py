"""A few eigenvalues or singular values of large operators, and the action of exponentials."""

from __future__ import annotations

from typing import Literal, overload

import redpoll as rp

from .. import _core
from .._array import Array
from .._session import current_session
from .._typing import ArrayLike
from .operators import Operator, operand
from .systems import count, limit_of

__all__ = ["eigsh", "expm_multiply", "svds"]


@overload
def eigsh(
    A: Operator,  # noqa: N803
    k: int = 6,
    *,
    sigma: float | None = None,
    which: str = "LM",
    v0: ArrayLike | None = None,
    ncv: int | None = None,
    maxiter: int | None = None,
    tol: float = 0.0,
    return_eigenvectors: Literal[True] = True,
    OPinv: Operator | None = None,  # noqa: N803
) -> tuple[Array, Array]: ...
@overload
def eigsh(
    A: Operator,  # noqa: N803
    k: int = 6,
    *,
    sigma: float | None = None,
    which: str = "LM",
    v0: ArrayLike | None = None,
    ncv: int | None = None,
    maxiter: int | None = None,
    tol: float = 0.0,
    return_eigenvectors: Literal[False],
    OPinv: Operator | None = None,  # noqa: N803
) -> Array: ...
def eigsh(
    A: Operator,  # noqa: N803
    k: int = 6,
    *,
    sigma: float | None = None,
    which: str = "LM",
    v0: ArrayLike | None = None,
    ncv: int | None = None,
    maxiter: int | None = None,
    tol: float = 0.0,
    return_eigenvectors: bool = True,
    OPinv: Operator | None = None,  # noqa: N803
) -> tuple[Array, Array] | Array:
    """Compute `k` eigenvalues, in ascending order, and eigenvectors of a symmetric operator.

    `which` selects the eigenvalues: `LM` or `SM` for the largest or smallest magnitudes, `LA` or
    `SA` for the largest or smallest ones, `BE` for half of them from each end. With `sigma`, the
    choice is among `1 / (lambda - sigma)`, so `LM` finds the eigenvalues nearest to `sigma`; the
    shifted matrix is factorized, unless `OPinv` multiplies by its inverse. `tol` is the relative
    tolerance, 0 for the precision of floats; `ncv` the number of vectors that are stored; `maxiter`
    the greatest number of restarts. `A` is an operator as in `cg`.

    Raises:
        LinAlgError: eigenvalues have not converged, or the shifted matrix is singular.
        ValueError: the operator is not square, or a parameter is out of range.

    Examples:
        >>> A = sp.diags_array([1.0, 2.0, 3.0, 4.0])
        >>> values, vectors = rp.linalg.eigsh(A, k=2)
        >>> [round(value, 6) for value in values.tolist()], vectors.shape
        ([3.0, 4.0], (4, 2))
        >>> values = rp.linalg.eigsh(A, k=1, sigma=1.9, return_eigenvectors=False)
        >>> round(values.tolist()[0], 6)
        2.0
    """
    if OPinv is not None and sigma is None:
        raise ValueError("`OPinv` is the inverse of the shifted operator, but there is no `sigma`")
    inverse = None if OPinv is None else operand(OPinv)
    shift = None if sigma is None else (sigma, inverse)
    parameters = _parameters(k, which, tol, maxiter, ncv)
    values, vectors = _core.eigsh(current_session(), operand(A), parameters, _first(v0), shift)
    return (values, vectors) if return_eigenvectors else values


@overload
def svds(
    A: Operator,  # noqa: N803
    k: int = 6,
    *,
    ncv: int | None = None,
    tol: float = 0.0,
    which: Literal["LM", "SM"] = "LM",
    v0: ArrayLike | None = None,
    maxiter: int | None = None,
    return_singular_vectors: Literal[True] = True,
) -> tuple[Array, Array, Array]: ...
@overload
def svds(
    A: Operator,  # noqa: N803
    k: int = 6,
    *,
    ncv: int | None = None,
    tol: float = 0.0,
    which: Literal["LM", "SM"] = "LM",
    v0: ArrayLike | None = None,
    maxiter: int | None = None,
    return_singular_vectors: Literal[False],
) -> Array: ...
def svds(
    A: Operator,  # noqa: N803
    k: int = 6,
    *,
    ncv: int | None = None,
    tol: float = 0.0,
    which: Literal["LM", "SM"] = "LM",
    v0: ArrayLike | None = None,
    maxiter: int | None = None,
    return_singular_vectors: bool = True,
) -> tuple[Array, Array, Array] | Array:
    """Compute the `k` largest (`LM`) or smallest (`SM`) singular values of an operator.

    Returns `u`, `s` and `vt` with ascending `s`, as SciPy does. The other parameters are those of
    `eigsh`. `A` is an operator as in `lsqr`. The values come from the eigenvalues of `A^T A` or
    `A A^T`, so small singular values have large relative errors.

    Raises:
        LinAlgError: values have not converged.
        ValueError: a parameter is out of range.
        NotImplementedError: the operator has no `rmatvec`.

    Examples:
        >>> u, s, vt = rp.linalg.svds(rp.asarray([[3.0, 0.0, 0.0], [0.0, 0.0, 2.0]]), k=1)
        >>> [round(value, 6) for value in s.tolist()], u.shape, vt.shape
        ([3.0], (2, 1), (1, 3))
    """
    if which not in ("LM", "SM"):
        raise ValueError(f"`which` of `svds` is 'LM' or 'SM', found {which!r}")
    parameters = _parameters(k, which, tol, maxiter, ncv)
    u, s, vt = _core.svds(current_session(), operand(A), parameters, _first(v0))
    ascending = rp.compute(rp.flip(u, axis=1), rp.flip(s), rp.flip(vt, axis=0))
    return (ascending[0], ascending[1], ascending[2]) if return_singular_vectors else ascending[1]


def expm_multiply(
    A: ArrayLike,  # noqa: N803
    B: ArrayLike,  # noqa: N803
    start: float | None = None,
    stop: float | None = None,
    num: int = 50,
    endpoint: bool = True,
) -> Array:
    """Compute `exp(A) B` for a square matrix and a vector or matrix `B`, without `exp(A)`.

    With `start` and `stop`, the result has `exp(t A) B` for each of `num` times `t` at equal
    distances, along the first mode.

    Raises:
        ValueError: shapes do not fit, a value is not finite, or only one of `start` and `stop` is
            given.

    Examples:
        >>> A = rp.asarray([[0.0, -1.0], [1.0, 0.0]])
        >>> [round(value, 6) for value in rp.linalg.expm_multiply(rp.pi * A, [1.0, 0.0]).tolist()]
        [-1.0, 0.0]
        >>> rp.linalg.expm_multiply(A, [1.0, 0.0], start=0.0, stop=rp.pi, num=5).shape
        (5, 2)
    """
    matrix, right = rp.asarray(A), rp.asarray(B)
    if start is None and stop is None:
        return _core.expm_multiply(matrix, right, 1.0)
    if start is None or stop is None:
        raise ValueError("times need both `start` and `stop`")
    times = count("num", num)
    if times == 0:
        return rp.zeros((0, *right.shape))
    step = (stop - start) / max(1, times - 1 if endpoint else times)
    products = [_core.expm_multiply(matrix, right, start)]
    for _ in range(times - 1):
        products.append(_core.expm_multiply(matrix, products[-1], step))
    return rp.stack(products)


def _parameters(
    k: int, which: str, tol: float, maxiter: int | None, ncv: int | None
) -> tuple[int, str, float, int | None, int | None]:
    return count("k", k), which, tol, limit_of("maxiter", maxiter), limit_of("ncv", ncv)


def _first(v0: ArrayLike | None) -> Array | None:
    return None if v0 is None else rp.asarray(v0)
