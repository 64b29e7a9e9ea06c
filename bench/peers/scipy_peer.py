"""SciPy, and NumPy for dense arrays."""

import numpy as np
import scipy
import scipy.ndimage
import scipy.sparse as sp
from scipy.sparse import csgraph


def version():
    return f"SciPy {scipy.__version__}, NumPy {np.__version__}"


def spmv(inputs, _):
    a, x = inputs["A"].csr(), inputs["x"].array
    return lambda: a @ x


def spmm(inputs, _):
    a, x = inputs["A"].csr(), inputs["X"].array
    return lambda: a @ x


def spgemm(inputs, _):
    a, b = inputs["A"].csr(), inputs["B"].csr()

    def run():
        c = a @ b
        c.sort_indices()
        return c

    return run


def residual(inputs, _):
    a, x, b = inputs["A"].csr(), inputs["x"].array, inputs["b"].array
    return lambda: b - a @ x


def mattransmul(inputs, _):
    a, x, z = inputs["A"].csr(), inputs["x"].array, inputs["z"].array
    return lambda: 2.0 * (a.T @ x) + 3.0 * z


def addition(inputs, _):
    a, b = inputs["A"].csr(), inputs["B"].csr()
    return lambda: a + b


def plus3(inputs, _):
    a, b, c = inputs["A"].csr(), inputs["B"].csr(), inputs["C"].csr()
    return lambda: a + b + c


def fused(inputs, _):
    a, b, c = inputs["A"].csr(), inputs["B"].csr(), inputs["C"].csr()
    return lambda: (a + b).multiply(c)


def triangles(inputs, _):
    e = inputs["E"].csr(np.int64)
    return lambda: (e @ e).multiply(e).sum()


def sddmm(inputs, _):
    s, a, b = inputs["S"].csr(), inputs["A"].array, inputs["B"].array
    rows = np.repeat(np.arange(s.shape[0]), np.diff(s.indptr))

    def run():
        values = s.data * np.einsum("ek,ek->e", a[rows], b[s.indices])
        return sp.csr_array((values, s.indices, s.indptr), shape=s.shape)

    return run


def mttkrp(inputs, _):
    x, b, c = inputs["X"], inputs["B"].array, inputs["C"].array
    i, j, k = x.coords
    count = len(i)
    # The matrix has one column for each entry of X. Its product with the matrix of rows
    # `b[j] * c[k]` sums these rows by `i`.
    entries = sp.csr_array((x.values, (i, np.arange(count))), shape=(x.shape[0], count))
    return lambda: entries @ (b[j] * c[k])


def ttv(inputs, _):
    x, v = inputs["X"], inputs["x"].array
    m, n, p = x.shape
    unfolded = sp.csr_array((x.values, (x.coords[0] * n + x.coords[1], x.coords[2])), shape=(m * n, p))
    return lambda: (unfolded @ v).reshape(m, n)


def ttm(inputs, _):
    x, b = inputs["X"], inputs["B"].array
    m, n, p = x.shape
    if m * n * b.shape[1] > 1 << 28:
        from inputs import Unsupported

        raise Unsupported("the dense unfolded result exceeds the memory")
    unfolded = sp.csr_array((x.values, (x.coords[0] * n + x.coords[1], x.coords[2])), shape=(m * n, p))
    return lambda: (unfolded @ b).reshape(m, n, -1)


def unfolded(tensor):
    m, n, p = tensor.shape
    return sp.csr_array((tensor.values, (tensor.coords[0], tensor.coords[1] * p + tensor.coords[2])), shape=(m, n * p))


def tensor_plus(inputs, _):
    from sums import Entries

    x, y = unfolded(inputs["X"]), unfolded(inputs["Y"])
    shape = inputs["X"].shape

    class Result:
        """The unfolded sum before it is checked."""

        def __init__(self, matrix):
            self.matrix = matrix

        def entries(self):
            coo = self.matrix.tocoo()
            return Entries(np.stack([coo.row, coo.col // shape[2], coo.col % shape[2]]), coo.data, shape)

    return lambda: Result(x + y)


def innerprod(inputs, _):
    x, y = unfolded(inputs["X"]), unfolded(inputs["Y"])
    return lambda: x.multiply(y).sum()


def slices(inputs, parameters):
    a = inputs["A"].csr()
    n = a.shape[0]
    if parameters["strides"]:
        return lambda: a[: n // 2, ::2] + a[n // 2 :, 1::2]
    return lambda: a[1:, :] + a[:-1, :]


def edge(inputs, parameters):
    image, mask = inputs["I"], inputs["M"].array
    if not image.dense:
        pixels = image.csr()
        roi = sp.csr_array(mask)
        low, high = parameters["low"], parameters["high"]
        return lambda: ((pixels > low) != (pixels > high)).multiply(roi)
    array, low, high = image.array, parameters["low"], parameters["high"]
    return lambda: ((array > low) ^ (array > high)) & mask


def minimax(inputs, _):
    t = inputs["T"]
    array = np.zeros(t.shape)
    array[tuple(t.coords)] = t.values
    return lambda: array.max(axis=2).min(axis=1).max(axis=0)


def mxv_bool(inputs, _):
    a, x, v = inputs["A"].csr(np.int32), inputs["x"].array.astype(np.int32), inputs["v"].array
    return lambda: (a @ x > 0) & ~v


def mxm_bool(inputs, _):
    a, b, m = inputs["A"].csr(np.int32), inputs["B"].csr(np.int32), inputs["M"].csr(np.int32)
    return lambda: (a @ b).multiply(m) > 0


def bfs(inputs, parameters):
    a = inputs["A"].csr(np.int8)
    source, n = parameters["source"], a.shape[0]

    def run():
        order, predecessors = csgraph.breadth_first_order(a, source)
        levels = np.full(n, -1, dtype=np.int64)
        levels[source] = 0
        for node in order[1:]:
            levels[node] = levels[predecessors[node]] + 1
        return levels

    return run


def bellman_ford(inputs, parameters):
    a = inputs["A"].csr()
    return lambda: csgraph.dijkstra(a, indices=parameters["source"])


def pagerank(inputs, parameters):
    w, n = inputs["W"].csr(), inputs["W"].shape[0]

    def run():
        rank = np.full(n, 1.0 / n)
        for _ in range(parameters["steps"]):
            rank = 0.85 * (w @ rank) + 0.15 / n
        return rank

    return run


def erosion(inputs, _):
    image = inputs["I"].array
    return lambda: scipy.ndimage.binary_erosion(image)


def histogram(inputs, _):
    image = inputs["I"].array
    return lambda: np.bincount(image.reshape(-1), minlength=256)


def erosion_2(inputs, _):
    image, square = inputs["I"].array, np.ones((3, 3), bool)
    return lambda: scipy.ndimage.binary_erosion(image, square, iterations=2, border_value=1)


def masked_histogram(inputs, _):
    image, mask = inputs["I"].array, inputs["M"].array
    return lambda: np.bincount(image[mask] >> 4, minlength=16)


def tiny_add(inputs, _):
    x, y = inputs["x"].array, inputs["y"].array
    return lambda: x + y


def tiny_dot(inputs, _):
    x, y = inputs["x"].array, inputs["y"].array
    return lambda: x @ y


OPERATIONS = {
    f.__name__: f
    for f in [
        spmv, spmm, spgemm, residual, mattransmul, addition, plus3, fused, triangles, sddmm, mttkrp, ttv, ttm,
        tensor_plus, innerprod, slices, edge, minimax, mxv_bool, mxm_bool, bfs, bellman_ford, pagerank, erosion,
        histogram, erosion_2, masked_histogram, tiny_add, tiny_dot,
    ]
} | {"tiny_spmv": spmv}
