"""SuiteSparse:GraphBLAS, through python-graphblas."""

import graphblas as gb

gb.init("suitesparse", blocking=True)

import numpy as np  # noqa: E402
import suitesparse_graphblas  # noqa: E402
from graphblas import Matrix, Vector, binary, monoid, semiring, unary  # noqa: E402

from sums import Entries  # noqa: E402


def version():
    return f"SuiteSparse:GraphBLAS {suitesparse_graphblas.__version__}, python-graphblas {gb.__version__}"


def set_threads(threads):
    gb.ss.config["nthreads"] = threads


def matrix(tensor, dtype=None):
    values = tensor.values if dtype is None else tensor.values.astype(dtype)
    return Matrix.from_coo(*tensor.coords, values, nrows=tensor.shape[0], ncols=tensor.shape[1])


def full(tensor):
    kind = Vector if tensor.array.ndim == 1 else Matrix
    return kind.from_dense(tensor.array)


class Result:
    """A result in GraphBLAS before it is checked."""

    def __init__(self, value):
        value.wait()
        self.value = value

    def entries(self):
        parts = self.value.to_coo()
        return Entries(np.stack(parts[:-1]), parts[-1], self.value.shape)


def spmv(inputs, _):
    a, x = matrix(inputs["A"]), full(inputs["x"])
    return lambda: Result(semiring.plus_times(a @ x).new())


def spmm(inputs, _):
    a, x = matrix(inputs["A"]), full(inputs["X"])
    return lambda: Result(semiring.plus_times(a @ x).new())


def spgemm(inputs, _):
    a, b = matrix(inputs["A"]), matrix(inputs["B"])
    return lambda: Result(semiring.plus_times(a @ b).new())


def residual(inputs, _):
    a, x, b = matrix(inputs["A"]), full(inputs["x"]), full(inputs["b"])

    def run():
        r = b.dup()
        r(binary.minus) << semiring.plus_times(a @ x)
        return Result(r)

    return run


def mattransmul(inputs, _):
    a, x, z = matrix(inputs["A"]), full(inputs["x"]), full(inputs["z"])

    def run():
        y = unary.identity(binary.times(z, 3.0)).new()
        y(binary.plus) << binary.times(semiring.plus_times(a.T @ x).new(), 2.0)
        return Result(y)

    return run


def addition(inputs, _):
    a, b = matrix(inputs["A"]), matrix(inputs["B"])
    return lambda: Result(monoid.plus(a | b).new())


def plus3(inputs, _):
    a, b, c = matrix(inputs["A"]), matrix(inputs["B"]), matrix(inputs["C"])
    return lambda: Result(monoid.plus(monoid.plus(a | b).new() | c).new())


def fused(inputs, _):
    a, b, c = matrix(inputs["A"]), matrix(inputs["B"]), matrix(inputs["C"])

    def run():
        # The sum is computed only at the coordinates of C.
        s = Matrix(a.dtype, *a.shape)
        s(c.S) << monoid.plus(a | b)
        return Result(binary.times(s & c).new())

    return run


def triangles(inputs, _):
    e = matrix(inputs["E"])

    def run():
        c = Matrix(gb.dtypes.INT64, *e.shape)
        c(e.S) << semiring.plus_pair(e @ e.T)
        return c.reduce_scalar(monoid.plus).value

    return run


def sddmm(inputs, _):
    s, a, b = matrix(inputs["S"]), full(inputs["A"]), full(inputs["B"])

    def run():
        c = Matrix(s.dtype, *s.shape)
        c(s.S) << semiring.plus_times(a @ b.T)
        return Result(binary.times(c & s).new())

    return run


def true_entries(tensor):
    """Returns a vector with an entry `True` at each coordinate where a dense array is true."""
    (coords,) = np.nonzero(tensor.array)
    return Vector.from_coo(coords, True, size=len(tensor.array))


def finite_entries(tensor):
    (coords,) = np.nonzero(np.isfinite(tensor.array))
    return Vector.from_coo(coords, tensor.array[coords], size=len(tensor.array))


def mxv_bool(inputs, _):
    a, x, v = matrix(inputs["A"]), true_entries(inputs["x"]), true_entries(inputs["v"])

    def run():
        y = Vector(bool, a.nrows)
        y(~v.S) << semiring.any_pair(a @ x)
        return Result(y)

    return run


def mxv_tropical(inputs, _):
    a, x, v = matrix(inputs["A"]), finite_entries(inputs["x"]), true_entries(inputs["v"])

    def run():
        y = Vector(float, a.nrows)
        y(v.S) << semiring.min_plus(a @ x)
        return Result(y)

    return run


def mxm_bool(inputs, _):
    a, b, m = matrix(inputs["A"]), matrix(inputs["B"]), matrix(inputs["M"])

    def run():
        c = Matrix(bool, *m.shape)
        c(m.S) << semiring.any_pair(a @ b)
        return Result(c)

    return run


def mxm_tropical(inputs, _):
    a, b, m = matrix(inputs["A"]), matrix(inputs["B"]), matrix(inputs["M"])

    def run():
        c = Matrix(float, *m.shape)
        c(m.S) << semiring.min_plus(a @ b)
        return Result(c)

    return run


def bfs(inputs, parameters):
    a, source = matrix(inputs["A"]), parameters["source"]

    def run():
        levels, frontier = Vector(int, a.nrows), Vector(bool, a.nrows)
        frontier[source] << True
        step = 0
        while frontier.nvals > 0:
            levels(frontier.S) << step
            frontier(~levels.S, replace=True) << semiring.any_pair(frontier @ a)
            step += 1
        return Result(levels)

    return run


def bellman_ford(inputs, parameters):
    a, source = matrix(inputs["A"]), parameters["source"]

    def run():
        distance = Vector(float, a.nrows)
        distance[source] << 0.0
        while True:
            previous = distance.dup()
            distance(binary.min) << semiring.min_plus(distance @ a)
            if distance.isequal(previous):
                return Result(distance)

    return run


def pagerank(inputs, parameters):
    w = matrix(inputs["W"])
    n = w.nrows

    def run():
        rank = Vector.from_scalar(1.0 / n, n)
        for _ in range(parameters["steps"]):
            next_rank = Vector.from_scalar(0.15 / n, n)
            next_rank(binary.plus) << binary.times(semiring.plus_times(w @ rank).new(), 0.85)
            rank = next_rank
        return Result(rank)

    return run


def tiny_add(inputs, _):
    x, y = full(inputs["x"]), full(inputs["y"])
    return lambda: Result(binary.plus(x & y).new())


def tiny_dot(inputs, _):
    x, y = full(inputs["x"]), full(inputs["y"])
    return lambda: semiring.plus_times(x @ y).new().value


OPERATIONS = {
    f.__name__: f
    for f in [
        spmv, spmm, spgemm, residual, mattransmul, addition, plus3, fused, triangles, sddmm, mxv_bool, mxv_tropical,
        mxm_bool, mxm_tropical, bfs, bellman_ford, pagerank, tiny_add, tiny_dot,
    ]
} | {"tiny_spmv": spmv}
