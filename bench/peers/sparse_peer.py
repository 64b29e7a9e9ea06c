"""PyData/Sparse, with arrays in the format that each workload requires."""

import numpy as np
import sparse

from inputs import Unsupported
from sums import Entries

MOST_DENSE = 1 << 27


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


def of_matrices(compute, *names):
    def build(inputs, _):
        operands = [gcxs(inputs[n]) if not inputs[n].dense else inputs[n].array for n in names]
        return lambda: Result(compute(*operands))

    return build


def of_arrays(compute, *names):
    def build(inputs, _):
        operands = [coo(inputs[n]) if not inputs[n].dense else inputs[n].array for n in names]
        return lambda: Result(compute(*operands))

    return build


def triangles(inputs, _):
    e = gcxs(inputs["E"]).astype(np.int64)
    return lambda: Result(((e @ e) * e).sum())


def sddmm(inputs, _):
    s, a, b = coo(inputs["S"]), inputs["A"].array, inputs["B"].array
    if s.shape[0] * s.shape[1] > MOST_DENSE:
        raise Unsupported("the dense product would exceed the memory")
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
    "spmv": of_matrices(lambda a, x: a @ x, "A", "x"),
    "tiny_spmv": of_matrices(lambda a, x: a @ x, "A", "x"),
    "spmm": of_matrices(lambda a, x: a @ x, "A", "X"),
    "spgemm": of_matrices(lambda a, b: a @ b, "A", "B"),
    "residual": of_matrices(lambda a, x, b: b - a @ x, "A", "x", "b"),
    "mattransmul": of_matrices(lambda a, x, z: 2.0 * (a.T @ x) + 3.0 * z, "A", "x", "z"),
    "addition": of_arrays(lambda a, b: a + b, "A", "B"),
    "plus3": of_arrays(lambda a, b, c: a + b + c, "A", "B", "C"),
    "fused": of_arrays(lambda a, b, c: (a + b) * c, "A", "B", "C"),
    "triangles": triangles,
    "sddmm": sddmm,
    "mttkrp": mttkrp,
    "ttv": of_arrays(lambda x, v: sparse.tensordot(x, v, axes=1), "X", "x"),
    "ttm": of_arrays(lambda x, b: sparse.tensordot(x, b, axes=1), "X", "B"),
    "tensor_plus": of_arrays(lambda x, y: x + y, "X", "Y"),
    "innerprod": of_arrays(lambda x, y: (x * y).sum(), "X", "Y"),
    "xor": of_arrays(lambda a, b: a ^ b, "A", "B"),
    "ldexp": of_arrays(np.ldexp, "A", "B"),
    "right_shift": of_arrays(lambda a, b: a >> b, "A", "B"),
    "power": of_arrays(lambda a, b: a**b, "A", "B"),
    "bitwise": of_arrays(lambda a, b, c: (a & b) ^ (b | c), "A", "B", "C"),
    "slices": slices,
    "edge": edge,
    "minimax": of_arrays(lambda t: t.max(axis=2).min(axis=1).max(axis=0), "T"),
}
