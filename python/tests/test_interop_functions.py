"""NumPy's functions and ufuncs on arrays of redpoll, compared with results on NumPy's arrays."""

import numpy as np
import pytest
import scipy.sparse as sp
from conftest import same

import redpoll as rp

A = np.array([[0.0, -1.5, 0.0, 2.0], [3.25, 0.0, 0.0, 0.5], [0.0, 0.0, -0.75, 4.0]])
B = np.array([[1.0, 0.0, 2.0, 0.0], [0.0, 0.0, 1.0, 1.0], [2.0, 3.0, 0.0, 0.0]])
V = np.array([0.0, 2.0, 0.0, 1.0])
N = np.array([[3, 0, 1], [0, 2, 2]])
C = np.arange(24.0).reshape(2, 3, 4) % 5

FUNCTIONS = {
    "sum": lambda f, a: f(a(A), 1), "prod": lambda f, a: f(a(A), axis=0), "mean": lambda f, a: f(a(A), axis=(0, 1)),
    "min": lambda f, a: f(a(A), 0), "amax": lambda f, a: f(a(A), axis=1, keepdims=True),
    "std": lambda f, a: f(a(A), axis=0, ddof=1), "var": lambda f, a: f(a(A), 1), "any": lambda f, a: f(a(A), axis=0),
    "all": lambda f, a: f(a(A)), "count_nonzero": lambda f, a: f(a(A), axis=1), "argmax": lambda f, a: f(a(A), 1),
    "argmin": lambda f, a: f(a(A)), "median": lambda f, a: f(a(A), axis=0), "ptp": lambda f, a: f(a(A), 1),
    "quantile": lambda f, a: f(a(A), 0.25, axis=0), "percentile": lambda f, a: f(a(A), 75.0),
    "average": lambda f, a: f(a(A), axis=1, weights=a(V)), "nansum": lambda f, a: f(a(A), 0),
    "nanmean": lambda f, a: f(a(A)), "cumsum": lambda f, a: f(a(A), axis=1), "cumprod": lambda f, a: f(a(V)),
    "diff": lambda f, a: f(a(A), axis=0), "concatenate": lambda f, a: f([a(A), B], axis=1),
    "stack": lambda f, a: f((a(A), a(B)), axis=-1), "vstack": lambda f, a: f((a(V), a(A))),
    "hstack": lambda f, a: f((a(A), a(B))), "dstack": lambda f, a: f((a(A), a(B))),
    "column_stack": lambda f, a: f((a(V), a(V))), "atleast_1d": lambda f, a: f(a(V)),
    "atleast_2d": lambda f, a: f(a(V)), "atleast_3d": lambda f, a: f(a(V)), "ravel": lambda f, a: f(a(A)),
    "reshape": lambda f, a: f(a(A), (2, -1)), "transpose": lambda f, a: f(a(C), (2, 0, 1)),
    "swapaxes": lambda f, a: f(a(C), 0, 2), "moveaxis": lambda f, a: f(a(C), 0, -1),
    "expand_dims": lambda f, a: f(a(A), 1), "squeeze": lambda f, a: f(a(A[None])), "flip": lambda f, a: f(a(A)),
    "flipud": lambda f, a: f(a(A)), "fliplr": lambda f, a: f(a(A)), "rot90": lambda f, a: f(a(A), 3),
    "roll": lambda f, a: f(a(A), 1, axis=1), "tile": lambda f, a: f(a(A), (2, 1)),
    "repeat": lambda f, a: f(a(A), 2, axis=1), "broadcast_to": lambda f, a: f(a(V), (3, 4)),
    "pad": lambda f, a: f(a(A), ((1, 0), (0, 2))), "tril": lambda f, a: f(a(A), -1), "triu": lambda f, a: f(a(A), 1),
    "diagonal": lambda f, a: f(a(C), 1, 0, 2), "trace": lambda f, a: f(a(A)), "diag": lambda f, a: f(a(V), 1),
    "dot": lambda f, a: f(a(A), V), "vdot": lambda f, a: f(a(A), a(B)), "inner": lambda f, a: f(a(A), a(B)),
    "outer": lambda f, a: f(a(V), a(V)), "kron": lambda f, a: f(a(A), a(B)),
    "tensordot": lambda f, a: f(a(A), a(B), axes=(-1, -1)), "einsum": lambda f, a: f("ij,kj->ik", a(A), a(B)),
    "take": lambda f, a: f(a(A), [2, 0], axis=0), "take_along_axis": lambda f, a: f(a(A), np.array([[0], [1], [3]]), 1),
    "compress": lambda f, a: f([True, False, True], a(A), axis=0), "where": lambda f, a: f(a(A) > 0, a(A), -1.0),
    "flatnonzero": lambda f, a: f(a(A)), "argwhere": lambda f, a: f(a(A)), "sort": lambda f, a: f(a(A), axis=0),
    "argsort": lambda f, a: f(a(A), stable=True), "searchsorted": lambda f, a: f(a(np.sort(V)), V),
    "unique": lambda f, a: f(a(N)), "isin": lambda f, a: f(a(A), [0.0, 4.0]), "clip": lambda f, a: f(a(A), -1, 2),
    "round": lambda f, a: f(a(A), 1), "real": lambda f, a: f(a(A)), "imag": lambda f, a: f(a(A)),
    "nan_to_num": lambda f, a: f(a(np.array([np.nan, np.inf, -np.inf, 1.0]))), "isclose": lambda f, a: f(a(A), a(A) + 1e-9),
    "zeros_like": lambda f, a: f(a(A)), "ones_like": lambda f, a: f(a(A), dtype="i4"),
    "full_like": lambda f, a: f(a(A), 3.0, shape=(2,)), "copy": lambda f, a: f(a(A)),
    "linalg.norm": lambda f, a: f(a(A), axis=1),
}  # fmt: skip


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_of_numpy(name):
    function = np.linalg.norm if name == "linalg.norm" else getattr(np, name)
    call = FUNCTIONS[name]
    result = call(function, rp.asarray)
    assert isinstance(result, rp.Array) or name == "ravel", "NumPy did not compute the result"
    same(result, call(function, np.asarray), exact=False)


def test_functions_of_numpy_with_several_or_no_arrays():
    x = rp.asarray(A)
    assert (np.shape(x), np.ndim(x), np.size(x), np.size(x, 1)) == (A.shape, 2, 12, 4)
    for mine, expected in zip(np.nonzero(x), np.nonzero(A), strict=True):
        same(mine, expected)
    for mine, expected in zip(np.split(x, [1, 2]), np.split(A, [1, 2]), strict=True):
        same(mine, expected)
    for mine, expected in zip(np.array_split(x, 3, axis=1), np.array_split(A, 3, axis=1), strict=True):
        same(mine, expected)
    for mine, expected in zip(np.broadcast_arrays(x, rp.asarray(V)), np.broadcast_arrays(A, V), strict=True):
        same(mine, expected)
    parts = np.unique(rp.asarray(N), return_inverse=True, return_counts=True)
    for mine, expected in zip(parts, np.unique(N, return_inverse=True, return_counts=True), strict=True):
        same(mine, expected)
    assert np.allclose(x, A + 1e-12) and not np.allclose(x, B)
    assert np.array_equal(x, A) and not np.array_equal(x, V)
    assert np.result_type(x, np.float32) == np.float64
    assert np.iscomplexobj(x) is False


def test_what_the_namespace_lacks_is_a_type_error():
    x = rp.asarray(A)
    for call in (
        lambda: np.fft.fft(x), lambda: np.interp(x, V, V), lambda: np.pad(x, 1, mode="wrap"), lambda: np.linalg.inv(x),
        lambda: np.sum(x, where=A > 0), lambda: np.add.at(x, 0, 1.0), lambda: np.add(x, "a"),
    ):  # fmt: skip
        with pytest.raises(TypeError):
            call()


UNARY = (
    "abs", "sqrt", "exp", "expm1", "log1p", "sin", "arctan", "sinh", "floor", "ceil", "trunc", "rint", "sign", "square",
    "reciprocal", "negative", "positive", "isnan", "isfinite", "isinf", "signbit", "cbrt", "exp2", "deg2rad",
    "degrees", "logical_not", "conjugate", "fabs",
)  # fmt: skip
BINARY = (
    "add", "subtract", "multiply", "divide", "floor_divide", "remainder", "power", "float_power", "maximum", "minimum",
    "fmax", "fmin", "fmod", "hypot", "arctan2", "copysign", "nextafter", "greater", "equal", "logical_and",
    "logical_xor", "logaddexp", "heaviside",
)  # fmt: skip


@pytest.mark.parametrize("name", UNARY)
def test_unary_ufuncs(name):
    ufunc = getattr(np, name)
    values = np.abs(A) + 0.5
    result = ufunc(rp.asarray(values))
    assert isinstance(result, rp.Array)
    same(result, ufunc(values), exact=False)


@pytest.mark.parametrize("name", BINARY)
def test_binary_ufuncs(name):
    ufunc = getattr(np, name)
    left, right = np.abs(A) + 0.5, B + 1.0
    for a, b in ((rp.asarray(left), right), (left, rp.asarray(right)), (rp.asarray(left), rp.asarray(right))):
        result = ufunc(a, b)
        assert isinstance(result, rp.Array)
        same(result, ufunc(left, right), exact=False)
    same(ufunc.outer(rp.asarray(V), rp.asarray(V + 1)), ufunc.outer(V, V + 1), exact=False)


@pytest.mark.parametrize("name", ["add", "multiply", "minimum", "maximum", "logical_and", "logical_or"])
def test_reductions_of_ufuncs(name):
    ufunc, x = getattr(np, name), rp.asarray(A)
    same(ufunc.reduce(x), ufunc.reduce(A), exact=False)
    same(ufunc.reduce(x, axis=1, keepdims=True), ufunc.reduce(A, axis=1, keepdims=True), exact=False)
    same(ufunc.reduce(x, axis=None), ufunc.reduce(A, axis=None), exact=False)
    if not name.startswith("logical"):
        same(ufunc.accumulate(x, axis=1), ufunc.accumulate(A, axis=1), exact=False)


def test_ufuncs_with_several_results_and_with_out():
    x = rp.asarray(A)
    for ufunc, operands in ((np.divmod, (x, 2.0)), (np.modf, (x,))):
        for mine, expected in zip(ufunc(*operands), ufunc(A, *operands[1:]), strict=True):
            same(mine, expected)
    target = np.zeros_like(A)
    assert np.add(x, 1.0, out=target) is target
    same(target, A + 1.0)
    target += x
    same(target, A + 1.0 + A)
    with pytest.raises(TypeError, match="same_kind"):
        np.add(x, 1.0, out=np.zeros(A.shape, "i4"))
    array = rp.asarray(B)
    assert np.add(x, 1.0, out=array) is array
    same(array, A + 1.0)
    same(np.add(x, 1, dtype="f4"), np.add(A, 1, dtype="f4"))


def test_products_with_foreign_matrices_on_either_side():
    x, matrix = rp.asarray(A), sp.csr_array(B)
    same(x @ matrix.T, A @ B.T)
    np.testing.assert_allclose(matrix @ x.T, B @ A.T)
    np.testing.assert_allclose(matrix @ x[0], B @ A[0])
    result = B.T @ x
    assert isinstance(result, rp.Array)
    same(result, B.T @ A)
    same(np.matmul(B.T, x), B.T @ A)
    np.testing.assert_allclose((matrix * x).toarray(), A * B)
    same(x * matrix, A * B)
    same(x + sp.csr_matrix(B), A + B)
