"""Functions of dense matrices: the extension `linalg` of the Array API standard, against NumPy."""

import numpy as np
import pytest
import scipy.sparse as sp
from conftest import same

import redpoll as rp
from redpoll import linalg

EXTENSION = (
    "cholesky", "cross", "det", "diagonal", "eigh", "eigvalsh", "inv", "matmul", "matrix_norm", "matrix_power",
    "matrix_rank", "matrix_transpose", "outer", "pinv", "qr", "slogdet", "solve", "svd", "svdvals", "tensordot",
    "trace", "vecdot", "vector_norm",
)  # fmt: skip
SHAPES = [(3, 3), (1, 1), (0, 0), (2, 4, 4), (2, 0, 3, 3), (3, 2, 2, 2)]
RECTANGLES = [(4, 2), (2, 5), (0, 3), (3, 0), (2, 3, 2), (0, 2, 3)]
FLOATS = (np.float32, np.float64)


def close(array, expected):
    """Assert that shape, dtype and, up to rounding, elements are those of an array of NumPy."""
    expected = np.asarray(expected)
    values = np.asarray(array)
    assert (values.shape, values.dtype) == (expected.shape, expected.dtype)
    tolerance = 2e-4 if expected.dtype == np.float32 else 1e-10
    np.testing.assert_allclose(values, expected, rtol=tolerance, atol=tolerance)


def regular(rng, shape, dtype=np.float64):
    """Draw matrices whose condition numbers are moderate."""
    return (rng.uniform(-1, 1, shape) + 2 * np.eye(shape[-2], shape[-1])).astype(dtype)


def symmetric(rng, shape, dtype=np.float64):
    """Draw symmetric positive definite matrices."""
    a = regular(rng, shape, np.float64)
    return (a @ np.swapaxes(a, -1, -2)).astype(dtype)


def test_the_extension_is_whole():
    assert rp.asarray([1.0]).__array_namespace__().linalg is linalg
    assert all(name in linalg.__all__ for name in EXTENSION)
    assert all(hasattr(linalg, name) for name in linalg.__all__)
    for name in ("matmul", "tensordot", "vecdot", "matrix_transpose", "outer", "diagonal", "trace"):
        assert getattr(linalg, name) is getattr(rp, name)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("shape", SHAPES)
def test_functions_of_square_matrices(rng, shape, dtype):
    a, s = regular(rng, shape, dtype), symmetric(rng, shape, dtype)
    x, y = rp.asarray(a), rp.asarray(s)
    close(linalg.inv(x), np.linalg.inv(a))
    close(linalg.det(x), np.linalg.det(a))
    for found, expected in zip(linalg.slogdet(x), np.linalg.slogdet(a), strict=True):
        close(found, expected)
    close(linalg.eigvalsh(y), np.linalg.eigvalsh(s))
    values, vectors = linalg.eigh(y)
    close(values, np.linalg.eigvalsh(s))
    v = np.asarray(vectors)
    close(vectors * values[..., None, :] @ rp.asarray(np.swapaxes(v, -1, -2)), s)
    close(linalg.cholesky(y), np.linalg.cholesky(s))
    close(linalg.cholesky(y, upper=True), np.swapaxes(np.linalg.cholesky(s), -1, -2))
    for power in (-2, 0, 1, 3):
        close(linalg.matrix_power(x, power), np.linalg.matrix_power(a, power))


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("shape", [*SHAPES, *RECTANGLES])
def test_factors_of_matrices(rng, shape, dtype):
    a = rng.uniform(-1, 1, shape).astype(dtype)
    x, size = rp.asarray(a), min(shape[-2:])
    for mode in ("reduced", "complete"):
        factors = linalg.qr(x, mode=mode)
        expected = np.linalg.qr(a, mode)
        assert (factors.Q.shape, factors.R.shape) == (expected.Q.shape, expected.R.shape)
        close(factors.Q @ factors.R, a)
        q = np.asarray(factors.Q)
        identity = np.eye(q.shape[-1], dtype=dtype)
        close(np.swapaxes(q, -1, -2) @ q, np.broadcast_to(identity, (*shape[:-2], *identity.shape)))
        assert not np.tril(np.asarray(factors.R), -1).any()
    for full in (True, False):
        svd = linalg.svd(x, full_matrices=full)
        expected = np.linalg.svd(a, full_matrices=full)
        assert [part.shape for part in svd] == [part.shape for part in expected]
        close(svd.S, expected.S)
        close(svd.U[..., :size] * svd.S[..., None, :] @ svd.Vh[..., :size, :], a)
    close(linalg.svdvals(x), np.linalg.svd(a, compute_uv=False))
    if size:
        close(linalg.pinv(x), np.linalg.pinv(a))
        same(linalg.matrix_rank(x), np.linalg.matrix_rank(a))


@pytest.mark.parametrize("order", [None, "fro", "nuc", 1, -1, 2, -2, 1.0, np.inf, -np.inf])
@pytest.mark.parametrize("shape", [(3, 3), (2, 4), (2, 3, 2), (0, 2, 3)])
def test_norms_of_matrices(rng, shape, order):
    for a in (rng.uniform(-1, 1, shape), rng.uniform(-1, 1, shape).astype(np.float32)):
        for keepdims in (False, True):
            expected = np.linalg.norm(a, order, axis=(-2, -1), keepdims=keepdims)
            close(linalg.matrix_norm(rp.asarray(a), ord=order, keepdims=keepdims), expected)


@pytest.mark.parametrize("order", [0, 1, -1, 2, -2, 3, 0.5, np.inf, -np.inf])
def test_norms_of_vectors(rng, order):
    for dtype in FLOATS:
        a = rng.uniform(0.5, 1, (3, 4, 2)).astype(dtype) * rng.choice(np.array([-1, 1], dtype), (3, 4, 2))
        for axis in (None, 0, -1, (0, 2)):
            for keepdims in (False, True):
                found = linalg.vector_norm(rp.asarray(a), axis=axis, keepdims=keepdims, ord=order)
                if isinstance(axis, int):
                    expected = np.linalg.norm(a, order, axis, keepdims)
                else:
                    axes = (0, 1, 2) if axis is None else axis
                    rest = tuple(k for k in range(3) if k not in axes)
                    flat = a.transpose((*rest, *axes)).reshape((*(a.shape[k] for k in rest), -1))
                    expected = np.linalg.norm(flat, order, -1)
                    if keepdims:
                        expected = np.expand_dims(expected, axes)
                close(found, expected.astype(dtype))


def test_norms_of_sparse_arrays_stay_lazy_and_sparse():
    matrix = sp.random_array((10**6, 10**6), density=1e-10, rng=1, format="coo")
    x = rp.asarray(matrix)
    assert linalg.matrix_norm(x).item() == pytest.approx(np.sqrt((matrix.data**2).sum()))
    assert linalg.matrix_norm(x, ord=1).item() == pytest.approx(abs(matrix).sum(axis=0).max())
    assert linalg.vector_norm(x, ord=1).item() == pytest.approx(matrix.data.sum())
    assert linalg.vector_norm(x, ord=0).item() == matrix.nnz


@pytest.mark.parametrize(
    ("left", "right"),
    [((3, 3), (3,)), ((3, 3), (3, 2)), ((2, 3, 3), (3, 1)), ((4, 1, 2, 2), (3, 2, 2)), ((2, 3, 3), (3,))],
)
def test_systems_of_equations(rng, left, right):
    a, b = regular(rng, left), rng.uniform(-1, 1, right)
    close(linalg.solve(rp.asarray(a), rp.asarray(b)), np.linalg.solve(a, b))
    single = linalg.solve(rp.asarray(a, dtype=rp.float32), rp.asarray(b, dtype=rp.float32))
    assert single.dtype == rp.float32
    assert linalg.solve(rp.asarray(a, dtype=rp.float32), rp.asarray(b)).dtype == rp.float64


@pytest.mark.parametrize("shape", [(6, 3), (3, 6), (4, 4)])
def test_least_squares(rng, shape):
    a, b = rng.uniform(-1, 1, shape), rng.uniform(-1, 1, (shape[0], 2))
    found = linalg.lstsq(a, b)
    x, residuals, rank, values = np.linalg.lstsq(a, b)
    close(found.x, x)
    close(found.singular_values, values)
    assert found.rank.item() == rank
    if residuals.size:
        close(found.residuals, residuals)
    close(linalg.lstsq(a, b[:, 0]).x, x[:, 0])
    a[:, 1] = a[:, 0]
    a[1] = a[0]
    close(linalg.lstsq(a, b, rcond=1e-10).x, np.linalg.lstsq(a, b, rcond=1e-10)[0])


def test_tolerances_are_numbers_or_arrays():
    stack = rp.asarray(np.stack([np.diag([1.0, 0.1])] * 3))
    each = rp.asarray([0.5, 0.01, 0.2])
    assert linalg.matrix_rank(stack, rtol=each).tolist() == [1, 2, 1]
    assert linalg.matrix_rank(stack, rtol=0.5).tolist() == [1, 1, 1]
    assert linalg.matrix_rank(stack, rtol=rp.asarray(0.01)).tolist() == [2, 2, 2]
    assert linalg.matrix_rank(stack, rtol=[0.5, 0.01, 0.2]).tolist() == [1, 2, 1]
    close(linalg.pinv(stack, rtol=each), np.linalg.pinv(np.asarray(stack), rtol=np.asarray(each)))
    with pytest.raises(ValueError, match="broadcast"):
        linalg.pinv(stack, rtol=[0.5, 0.5])


def test_cross_products(rng):
    a, b = rng.uniform(-1, 1, (3, 4)), rng.uniform(-1, 1, (3, 1))
    close(linalg.cross(a, b, axis=0), np.cross(a, b, axis=0))
    same(linalg.cross(rp.asarray([1, 2, 3]), rp.asarray([4, 5, 6])), [-3, 6, -3])
    with pytest.raises(ValueError, match="size 3"):
        linalg.cross(a, b)


def test_integers_and_booleans_are_computed_as_float64():
    for dtype in (rp.int8, rp.uint64, rp.bool):
        x = rp.asarray([[1, 0], [1, 1]], dtype=dtype)
        assert linalg.det(x).dtype == linalg.inv(x).dtype == linalg.svdvals(x).dtype == rp.float64
        assert linalg.matrix_norm(x).dtype == linalg.vector_norm(x).dtype == rp.float64
    assert linalg.matrix_power(rp.asarray([[1, 1], [1, 0]], dtype=rp.int32), 3).dtype == rp.int32


def test_every_format_and_library_is_taken(rng):
    a = symmetric(rng, (5, 5)) * (rng.uniform(size=(5, 5)) < 0.6) + 9 * np.eye(5)
    arrays = [a.tolist(), a, *(convert(a) for convert in (sp.csr_array, sp.csc_array, sp.coo_array, sp.dia_array))]
    arrays += [rp.asarray(a).reformat(text) for text in ("csr", "csc", "coo", "csf")]
    for array in [*arrays, rp.asarray(a).refill(9.0), rp.asarray(sp.csr_array(a)) * 2 - rp.asarray(a)]:
        close(linalg.det(array), np.linalg.det(a))
        close(linalg.solve(array, np.ones(5)), np.linalg.solve(a, np.ones(5)))


@pytest.mark.parametrize(
    "name", ["det", "slogdet", "inv", "cholesky", "eigh", "eigvalsh", "svd", "svdvals", "qr", "pinv"]
)
def test_wrong_shapes_raise(name):
    function = getattr(linalg, name)
    with pytest.raises(linalg.LinAlgError):
        function(rp.ones((3,)))
    if name not in ("svd", "svdvals", "qr", "pinv"):
        with pytest.raises(np.linalg.LinAlgError):
            function(rp.ones((2, 3)))


def test_matrices_without_a_solution_raise():
    singular = rp.asarray([[1.0, 2.0], [2.0, 4.0]])
    for call in (
        lambda: linalg.inv(singular),
        lambda: linalg.solve(singular, rp.ones((2,))),
        lambda: linalg.matrix_power(singular, -1),
        lambda: linalg.cholesky(-singular),
    ):
        with pytest.raises(linalg.LinAlgError):
            call()
    with pytest.raises(linalg.LinAlgError, match=r"matrix \[1\] of the stack"):
        linalg.inv(rp.asarray([[[1.0]], [[0.0]]]))
    for function in (linalg.svd, linalg.eigh, linalg.pinv, linalg.matrix_rank):
        with pytest.raises(linalg.LinAlgError, match="infinity or NaN"):
            function(rp.asarray([[np.nan, 1.0], [1.0, 1.0]]))
    with pytest.raises(ValueError, match="does not fit"):
        linalg.solve(rp.eye(3), rp.ones((2,)))
    for call in (
        lambda: linalg.qr(singular, mode="raw"),
        lambda: linalg.matrix_norm(singular, ord=3),
        lambda: linalg.matrix_norm(singular, ord="max"),
    ):
        with pytest.raises(ValueError, match="found"):
            call()
    assert issubclass(linalg.LinAlgError, ValueError)


def test_the_memory_limit_holds():
    with rp.use_session(rp.Session(memory_limit=1 << 20)):
        huge = rp.asarray(sp.eye_array(10_000, format="csr"))
        with pytest.raises(MemoryError):
            linalg.inv(huge)
        assert linalg.spsolve(huge, np.ones(10_000)).shape == (10_000,)


def test_lazy_operands_are_computed_once(rng):
    x = rp.asarray(regular(rng, (4, 4))) * 2
    assert "stored" not in repr(x)
    linalg.inv(x)
    assert "stored=16" in repr(x)
