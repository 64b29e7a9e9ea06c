"""PyData/Sparse: GCXS for products of matrices and triangles, COO for other sparse inputs."""

import numpy as np
import sparse

from inputs import Unsupported
from sums import Entries

MAX_DENSE = 1 << 27


def version():
    return f"PyData/Sparse {sparse.__version__}"


def coo(tensor, dtype=None):
    values = tensor.values if dtype is None else tensor.values.astype(dtype)
    return sparse.COO(tensor.coords, values, shape=tensor.shape, has_duplicates=False, sorted=True)


def gcxs(tensor):
    return sparse.GCXS.from_coo(coo(tensor), compressed_axes=(0,))


class Result:
    """A result of PyData/Sparse before it is checked."""

    def __init__(self, value):
        self.value = value

    def entries(self):
        value = self.value
        if not isinstance(value, sparse.SparseArray):
            return np.asarray(value)
        if value.ndim == 0:
            return value.todense()
        value = value.asformat("coo")
        return Entries(value.coords, value.data, value.shape)


def matrix_operation(compute, *names):
    def build(inputs, _):
        operands = [gcxs(inputs[n]) if not inputs[n].dense else inputs[n].array for n in names]
        return lambda: Result(compute(*operands))

    return build


def array_operation(compute, *names):
    def build(inputs, _):
        operands = [coo(inputs[n]) if not inputs[n].dense else inputs[n].array for n in names]
        return lambda: Result(compute(*operands))

    return build


def triangles(inputs, _):
    e = gcxs(inputs["E"]).astype(np.int64)
    return lambda: Result(((e @ e) * e).sum())


def sddmm(inputs, _):
    s, a, b = coo(inputs["S"]), inputs["A"].array, inputs["B"].array
    if s.shape[0] * s.shape[1] > MAX_DENSE:
        raise Unsupported("the dense product exceeds the memory")
    return lambda: Result(s * (a @ b.T))


def mttkrp(inputs, _):
    x, b, c = coo(inputs["X"]), inputs["B"].array, inputs["C"].array
    return lambda: Result(sparse.einsum("ijk,jr,kr->ir", x, b, c))


def slices(inputs, parameters):
    a = coo(inputs["A"])
    n = a.shape[0]
    if parameters["strides"]:
        return lambda: Result(a[: n // 2, ::2] + a[n // 2 :, 1::2])
    return lambda: Result(a[1:, :] + a[:-1, :])


def edge(inputs, parameters):
    if inputs["I"].dense:
        raise Unsupported("the image is dense")
    image, mask = coo(inputs["I"]), sparse.COO.from_numpy(inputs["M"].array)
    low, high = parameters["low"], parameters["high"]
    return lambda: Result(((image > low) ^ (image > high)) & mask)


OPERATIONS = {
    "spmv": matrix_operation(lambda a, x: a @ x, "A", "x"),
    "tiny_spmv": matrix_operation(lambda a, x: a @ x, "A", "x"),
    "spmm": matrix_operation(lambda a, x: a @ x, "A", "X"),
    "spgemm": matrix_operation(lambda a, b: a @ b, "A", "B"),
    "residual": matrix_operation(lambda a, x, b: b - a @ x, "A", "x", "b"),
    "mattransmul": matrix_operation(lambda a, x, z: 2.0 * (a.T @ x) + 3.0 * z, "A", "x", "z"),
    "addition": array_operation(lambda a, b: a + b, "A", "B"),
    "plus3": array_operation(lambda a, b, c: a + b + c, "A", "B", "C"),
    "fused": array_operation(lambda a, b, c: (a + b) * c, "A", "B", "C"),
    "triangles": triangles,
    "sddmm": sddmm,
    "mttkrp": mttkrp,
    "ttv": array_operation(lambda x, v: sparse.tensordot(x, v, axes=1), "X", "x"),
    "ttm": array_operation(lambda x, b: sparse.tensordot(x, b, axes=1), "X", "B"),
    "tensor_plus": array_operation(lambda x, y: x + y, "X", "Y"),
    "innerprod": array_operation(lambda x, y: (x * y).sum(), "X", "Y"),
    "xor": array_operation(lambda a, b: a ^ b, "A", "B"),
    "ldexp": array_operation(np.ldexp, "A", "B"),
    "right_shift": array_operation(lambda a, b: a >> b, "A", "B"),
    "power": array_operation(lambda a, b: a**b, "A", "B"),
    "bitwise": array_operation(lambda a, b, c: (a & b) ^ (b | c), "A", "B", "C"),
    "slices": slices,
    "edge": edge,
    "minimax": array_operation(lambda t: t.max(axis=2).min(axis=1).max(axis=0), "T"),
}
