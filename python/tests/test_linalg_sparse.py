"""Sparse factorizations and iterative solvers, compared with SciPy: results, names and errors."""

import _thread
import inspect
import threading
import time

import numpy as np
import pytest
import scipy.sparse as sp
import scipy.sparse.linalg as spla

import redpoll as rp
from redpoll import linalg

FORMATS = ("csr", "csc", "coo", "bsr", "dia")
SOLVERS = ("cg", "minres", "gmres", "bicgstab")


def laplacian(n):
    """Return the matrix of a grid of `n` by `n` points, which is symmetric positive definite."""
    line = sp.diags_array([-1.0, 2.0, -1.0], offsets=[-1, 0, 1], shape=(n, n))
    return sp.csr_array(sp.kron(line, sp.eye_array(n)) + sp.kron(sp.eye_array(n), line))


def close(found, expected, tolerance=1e-8):
    found = np.asarray(found)
    assert found.shape == np.shape(expected)
    np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("name", ["cg", "minres", "gmres", "bicgstab", "lsqr", "eigsh", "svds", "expm_multiply"])
def test_parameters_have_the_names_and_defaults_of_scipy(name):
    ours = inspect.signature(getattr(linalg, name)).parameters
    theirs = inspect.signature(getattr(spla, name)).parameters
    assert not [parameter for parameter in ours if parameter not in theirs]
    for parameter in ours.keys() - {"num", "endpoint"}:
        assert ours[parameter].default == theirs[parameter].default, parameter


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64])
def test_direct_solvers_take_every_format_and_dtype(rng, form, dtype):
    a = sp.random_array((30, 30), density=0.1, rng=rng) * 5 + 10 * sp.eye_array(30)
    matrix = sp.csr_array(a).astype(dtype).asformat(form)
    for b in (rng.uniform(size=30), rng.uniform(size=(30, 4))):
        expected = np.linalg.solve(matrix.toarray().astype(np.float64), b)
        tolerance = 1e-4 if dtype == np.float32 else 1e-9
        close(linalg.spsolve(matrix, b), expected, tolerance)
        close(linalg.splu(matrix).solve(b), expected, tolerance)
        close(linalg.factorized(matrix)(b), expected, tolerance)
        close(linalg.sparse_qr(matrix).solve(b), expected, tolerance)
        transposed = np.linalg.solve(matrix.toarray().astype(np.float64).T, b)
        close(linalg.splu(matrix).solve(b, trans="T"), transposed, tolerance)
    single = linalg.splu(sp.csr_array(a).astype(np.float32)).solve(rp.ones((30,), dtype=rp.float32))
    assert single.dtype == rp.float32


def test_factors_solve_and_refactorize(rng):
    a = laplacian(8)
    b = rng.uniform(size=64)
    expected = spla.spsolve(sp.csc_array(a), b)
    for factors in (linalg.sparse_cholesky(a), linalg.sparse_ldlt(a)):
        assert factors.shape == (64, 64)
        close(factors.solve(b), expected)
        sign, logarithm = factors.slogdet()
        assert (sign, pytest.approx(logarithm)) == tuple(np.linalg.slogdet(a.toarray()))
        close(factors.refactorize(2 * a).solve(b), expected / 2)
        assert factors.nnz >= 64
    close(linalg.splu(a).refactorize(2 * a).solve(b), expected / 2)
    tall = sp.random_array((40, 10), density=0.5, rng=rng)
    b = rng.uniform(size=40)
    qr, expected = linalg.sparse_qr(tall), np.linalg.lstsq(tall.toarray(), b)[0]
    close(qr.solve(b), expected)
    close(qr.refactorize(tall * 2).solve(b), expected / 2)


def test_sparse_factorizations_do_not_make_dense_matrices():
    n = 200_000
    a = sp.diags_array([-1.0, 4.0, -1.0], offsets=[-1, 0, 1], shape=(n, n), format="csr")
    b = np.ones(n)
    for x in (linalg.spsolve(a, b), linalg.sparse_cholesky(a).solve(b), linalg.cg(a, b, rtol=1e-12)[0]):
        assert np.linalg.norm(a @ np.asarray(x) - b) < 1e-8 * np.sqrt(n)


def test_errors_of_direct_solvers():
    singular = sp.csr_array(np.array([[1.0, 2.0], [2.0, 4.0]]))
    for call in (
        lambda: linalg.spsolve(singular, np.ones(2)),
        lambda: linalg.splu(singular),
        lambda: linalg.sparse_cholesky(-singular),
        lambda: linalg.splu(sp.csr_array((2, 3))),
        lambda: linalg.splu(rp.ones((3,))),
        lambda: linalg.ilu0(sp.csr_array((2, 2))),
        lambda: linalg.ic0(-sp.eye_array(3)),
    ):
        with pytest.raises(linalg.LinAlgError):
            call()
    for call in (
        lambda: linalg.splu(sp.eye_array(2)).solve(np.ones(3)),
        lambda: linalg.splu(sp.eye_array(2)).solve(np.ones(2), trans="X"),
        lambda: linalg.splu(rp.ones((2, 2))),
        lambda: linalg.splu(sp.eye_array(2)).refactorize(sp.csr_array(np.ones((2, 2)))),
    ):
        with pytest.raises(ValueError):
            call()


@pytest.mark.parametrize("name", SOLVERS)
def test_systems_are_solved_as_by_scipy(rng, name):
    solve, scipy_solve = getattr(linalg, name), getattr(spla, name)
    a, b, x0 = laplacian(6), rng.uniform(size=36), rng.uniform(size=36)
    expected = spla.spsolve(sp.csc_array(a), b)
    array = rp.asarray(a)
    lazy = rp.asarray(a) * 2 - rp.asarray(a)
    operators = [array, lazy, a, a.toarray(), spla.aslinearoperator(a), linalg.LinearOperator(a.shape, lambda x: a @ x)]
    operators += [a.asformat(form) for form in FORMATS] + [rp.asarray(a).reformat("coo")]
    for operator in operators:
        for first in (None, x0):
            x, info = solve(operator, b, first, rtol=1e-10)
            assert info == 0 and isinstance(x, rp.Array)
            close(x, expected, 1e-6)
    x, info = solve(a, b[:, None], rtol=1e-10)
    assert x.shape == (36,)
    x, info = solve(a, b, maxiter=1, rtol=1e-14, **({"restart": 1} if name == "gmres" else {}))
    assert info > 0
    x, info = scipy_solve(array.to_scipy(), b, rtol=1e-10, M=linalg.jacobi(array))
    assert info == 0
    assert solve(a, np.zeros(36))[1] == 0 and not np.asarray(solve(a, np.zeros(36))[0]).any()


@pytest.mark.parametrize("name", SOLVERS)
def test_preconditioners_and_callbacks(rng, name):
    solve = getattr(linalg, name)
    a, b = laplacian(8), rng.uniform(size=64)
    expected = spla.spsolve(sp.csc_array(a), b)
    lu = linalg.splu(a)
    counts = {}
    preconditioners = {"none": None, "jacobi": linalg.jacobi(a), "ic0": linalg.ic0(a), "ilu0": linalg.ilu0(a)}
    preconditioners["exact"] = linalg.LinearOperator(a.shape, lu.solve)
    preconditioners["dense"] = np.linalg.inv(a.toarray())
    preconditioners["scipy"] = spla.LinearOperator(a.shape, matvec=spla.splu(sp.csc_array(a)).solve)
    for key, m in preconditioners.items():
        seen = []
        kind = {"callback_type": "x", "restart": 3} if name == "gmres" else {}
        x, info = solve(a, b, M=m, rtol=1e-10, callback=seen.append, **kind)
        assert info == 0, key
        close(x, expected, 1e-6)
        assert seen and all(isinstance(xk, np.ndarray) and xk.shape == (64,) for xk in seen)
        close(seen[-1], np.asarray(x), 1e-12)
        counts[key] = len(seen)
    assert counts["exact"] == counts["dense"] == counts["scipy"] <= 2
    assert counts["ic0"] < counts["none"] and counts["ilu0"] < counts["none"]


def test_callbacks_of_gmres_follow_scipy(rng):
    a, b = laplacian(6), rng.uniform(size=36)
    for kind in (None, "legacy", "pr_norm", "x"):
        for options in ({"maxiter": 4}, {"maxiter": 2, "restart": 5}):
            ours, theirs = [], []
            x, info = linalg.gmres(a, b, callback=ours.append, callback_type=kind, rtol=1e-12, **options)
            with pytest.warns(DeprecationWarning) if kind is None else _nothing():
                y, other = spla.gmres(a, b, callback=theirs.append, callback_type=kind, rtol=1e-12, **options)
            assert (info > 0) == (other > 0)
            assert len(ours) == len(theirs)
            if kind != "x":
                np.testing.assert_allclose(ours, theirs, rtol=1e-8, atol=1e-13)
            close(x, y, 1e-8)
    with pytest.raises(ValueError, match="callback_type"):
        linalg.gmres(a, b, callback_type="norm")


class _nothing:
    def __enter__(self):
        return self

    def __exit__(self, *exception):
        return False


def test_info_says_why_a_solver_stopped():
    indefinite = rp.asarray([[1.0, 0.0], [0.0, -1.0]])
    assert linalg.cg(indefinite, [1.0, 1.0])[1] < 0
    assert linalg.minres(indefinite, [1.0, 1.0])[1] == 0
    nilpotent = rp.asarray([[0.0, 1.0], [0.0, 0.0]])
    assert linalg.bicgstab(nilpotent, [1.0, 1.0])[1] != 0
    assert linalg.gmres(nilpotent, [1.0, 1.0])[1] != 0
    assert linalg.cg(rp.eye(2), [1.0, 1.0], maxiter=0)[1] > 0


def test_shifts_of_minres(rng):
    a, b = laplacian(5), rng.uniform(size=25)
    expected = np.linalg.solve(a.toarray() - 0.3 * np.eye(25), b)
    for operator in (a, rp.asarray(a), linalg.LinearOperator(a.shape, lambda x: a @ x)):
        close(linalg.minres(operator, b, shift=0.3, rtol=1e-12)[0], expected, 1e-6)
    with pytest.raises(ValueError):
        linalg.minres(np.ones((3, 1)), np.ones(3), shift=0.3)


@pytest.mark.parametrize("shape", [(20, 8), (8, 20), (9, 9)])
def test_lsqr_returns_what_scipy_returns(rng, shape):
    a = sp.csr_array(sp.random_array(shape, density=0.6, rng=rng) + 2 * sp.eye_array(*shape))
    b, x0 = rng.uniform(size=shape[0]), rng.uniform(size=shape[1])
    for options in ({}, {"damp": 0.5}, {"atol": 1e-12, "btol": 1e-12, "x0": x0}, {"iter_lim": 2}):
        theirs = spla.lsqr(a, b, **options)
        for operator in (a, rp.asarray(a), spla.aslinearoperator(a)):
            ours = linalg.lsqr(operator, b, **options)
            assert (len(ours), ours.istop, ours.itn) == (10, theirs[1], theirs[2])
            close(ours.x, theirs[0], 1e-6)
            np.testing.assert_allclose(ours[3:9], theirs[3:9], rtol=1e-5, atol=1e-7)
            close(ours.var, theirs[9])


@pytest.mark.parametrize("which", ["LM", "SM", "LA", "SA", "BE"])
def test_eigenvalues_are_those_of_scipy(which):
    line = sp.diags_array([-1.0, 2.0, -1.0], offsets=[-1, 0, 1], shape=(7, 7))
    plus = sp.csr_array(sp.kron(line, sp.eye_array(7)) + 2**0.5 * sp.kron(sp.eye_array(7), line))
    a = plus - 4.1 * sp.eye_array(49)
    expected = np.sort(spla.eigsh(sp.csr_array(a), k=5, which=which, return_eigenvectors=False))
    for operator in (a, rp.asarray(a), rp.asarray(plus) - 4.1 * rp.eye(49), spla.aslinearoperator(a)):
        values, vectors = linalg.eigsh(operator, k=5, which=which)
        close(values, expected)
        close(a @ np.asarray(vectors), np.asarray(values) * np.asarray(vectors), 1e-6)
    close(linalg.eigsh(a, k=5, which=which, v0=np.ones(49), ncv=20, maxiter=500, return_eigenvectors=False), expected)


def test_eigenvalues_near_a_shift():
    a = laplacian(9)
    expected = np.sort(spla.eigsh(a, k=4, sigma=3.05, return_eigenvectors=False))
    inverse = spla.splu(sp.csc_array(a - 3.05 * sp.eye_array(81)))
    for options in ({}, {"OPinv": linalg.LinearOperator(a.shape, inverse.solve)}):
        close(linalg.eigsh(a, k=4, sigma=3.05, return_eigenvectors=False, **options), expected)
    with pytest.raises(ValueError, match="inverse"):
        linalg.eigsh(spla.aslinearoperator(a), k=4, sigma=3.05)
    with pytest.raises(ValueError, match="sigma"):
        linalg.eigsh(a, OPinv=a)
    with pytest.raises(linalg.LinAlgError, match="restarts"):
        linalg.eigsh(a, k=4, which="SM", maxiter=1)
    for options in ({"k": 90}, {"k": -1}, {"which": "LR"}, {"ncv": 3}):
        with pytest.raises(ValueError):
            linalg.eigsh(a, **options)


@pytest.mark.parametrize("which", ["LM", "SM"])
@pytest.mark.parametrize("shape", [(30, 12), (12, 30)])
def test_singular_values_are_those_of_scipy(rng, shape, which):
    a = sp.random_array(shape, density=0.5, rng=rng)
    expected = spla.svds(a, k=3, which=which)[1]
    for operator in (a, rp.asarray(a), spla.aslinearoperator(a)):
        u, s, vt = linalg.svds(operator, k=3, which=which)
        close(s, expected)
        close(a @ np.asarray(vt).T, np.asarray(u) * np.asarray(s), 1e-6)
        assert (u.shape, vt.shape) == ((shape[0], 3), (3, shape[1]))
    close(linalg.svds(a, k=3, which=which, return_singular_vectors=False), expected)
    with pytest.raises(NotImplementedError):
        linalg.svds(linalg.LinearOperator(shape, lambda x: a @ x), k=3)


def test_exponentials(rng):
    a, b = -laplacian(4), rng.uniform(size=(16, 2))
    for right in (b, b[:, 0]):
        close(linalg.expm_multiply(a, right), spla.expm_multiply(sp.csr_array(a), right))
        for options in ({"num": 4}, {"num": 4, "endpoint": False}, {"num": 2}):
            ours = linalg.expm_multiply(a, right, start=0.1, stop=2.0, **options)
            close(ours, spla.expm_multiply(sp.csr_array(a), right, start=0.1, stop=2.0, **options))
    with pytest.raises(ValueError, match="stop"):
        linalg.expm_multiply(a, b, start=0.0)


def test_linear_operators_have_the_methods_of_scipy_operators(rng):
    a = sp.random_array((5, 3), density=0.8, rng=rng)
    operator = linalg.LinearOperator(a.shape, lambda x: a @ x, lambda y: a.T @ y)
    x, y = rng.uniform(size=3), rng.uniform(size=5)
    close(operator @ x, a @ x)
    close(operator.T.matvec(y), a.T @ y)
    close(operator.T.rmatvec(x), a @ x)
    close(spla.aslinearoperator(operator).rmatvec(y), a.T @ y)
    with pytest.raises(NotImplementedError):
        linalg.LinearOperator(a.shape, lambda x: a @ x).rmatvec(y)
    with pytest.raises(NotImplementedError):
        linalg.ilu0(sp.eye_array(3)).rmatvec(x)
    with pytest.raises(ValueError, match="at least 0"):
        linalg.LinearOperator((-1, 2), abs)


@pytest.mark.parametrize("name", SOLVERS)
def test_wrong_arguments_raise(name):
    solve = getattr(linalg, name)
    a = laplacian(3)
    for call in (
        lambda: solve(a, np.ones(4)),
        lambda: solve(sp.csr_array((2, 3)), np.ones(2)),
        lambda: solve(a, np.ones(9), np.ones(4)),
        lambda: solve(a, np.full(9, np.nan)),
        lambda: solve(a, np.ones(9), rtol=-1.0),
        lambda: solve(a, np.ones(9), maxiter=-1),
        lambda: solve(a, np.ones(9), M=np.eye(4)),
        lambda: solve(linalg.LinearOperator((9, 9), lambda x: x[:4]), np.ones(9)),
        lambda: solve(linalg.LinearOperator((9, 9), lambda x: np.full(9, np.inf)), np.ones(9)),
    ):
        with pytest.raises(ValueError):
            call()
    with pytest.raises(TypeError):
        solve(linalg.LinearOperator((9, 9), lambda x: 1j * x), np.ones(9))
    with pytest.raises(TypeError):
        solve(linalg.LinearOperator((9, 9), lambda x: None), np.ones(9))


@pytest.mark.parametrize("name", SOLVERS)
def test_exceptions_of_functions_reach_the_caller(name):
    class OwnError(Exception):
        pass

    def fail(*_):
        raise OwnError("mine")

    solve, a = getattr(linalg, name), laplacian(3)
    for options in ({"callback": fail}, {"M": linalg.LinearOperator(a.shape, fail)}):
        with pytest.raises(OwnError, match="mine"):
            solve(a, np.arange(9.0), **options)
    with pytest.raises(OwnError, match="mine"):
        solve(linalg.LinearOperator(a.shape, fail), np.ones(9))
    # The session still works.
    assert solve(a, np.ones(9))[1] == 0


def test_callbacks_get_read_only_copies():
    kept = []
    linalg.cg(laplacian(4), np.arange(16.0), callback=kept.append)
    assert len({xk.tobytes() for xk in kept}) == len(kept)
    assert not kept[0].flags.writeable


def interrupted(call):
    """Interrupt a call after half a second. Return how long it then took to end."""
    begin = time.perf_counter()
    timer = threading.Timer(0.5, _thread.interrupt_main)
    timer.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            call()
    finally:
        timer.cancel()
    return time.perf_counter() - begin - 0.5


def test_an_interrupt_ends_a_long_computation(rng):
    a = laplacian(700)
    b = rng.uniform(size=490_000)
    calls = [
        lambda: linalg.cg(a, b, rtol=1e-300, maxiter=10**9),
        lambda: linalg.cg(spla.aslinearoperator(a), b, rtol=1e-300, maxiter=10**9),
        lambda: linalg.minres(a, b, rtol=1e-300, maxiter=10**9, callback=lambda xk: None),
        lambda: linalg.eigsh(a, k=20, which="SM", maxiter=10**9),
        lambda: linalg.svd(rng.uniform(size=(3000, 3000))),
    ]
    for call in calls:
        assert interrupted(call) < 5.0


def test_the_lock_of_the_interpreter_is_released(rng):
    a = rng.uniform(size=(600, 600))
    counted, done = [0], threading.Event()

    def count():
        while not done.is_set():
            counted[0] += 1
            time.sleep(0.001)

    thread = threading.Thread(target=count)
    thread.start()
    linalg.svd(a).U.compute()
    done.set()
    thread.join()
    assert counted[0] > 5


def test_empty_systems():
    empty = rp.zeros((0, 0))
    for name in SOLVERS:
        x, info = getattr(linalg, name)(empty, np.zeros(0))
        assert (x.shape, info) == ((0,), 0)
    assert linalg.spsolve(empty, np.zeros(0)).shape == (0,)
    assert linalg.lsqr(rp.zeros((0, 2)), np.zeros(0)).x.shape == (2,)
    assert linalg.expm_multiply(empty, np.zeros(0)).shape == (0,)
    assert linalg.eigsh(rp.eye(3), k=0)[1].shape == (3, 0)
