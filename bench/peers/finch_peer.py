"""finch-tensor: Finch in Python, compiled through Numba. (Its other compiler is Finch.jl, which
needs Julia.)

Version 0.7.0 compiles again in every call, returns dense results, and rejects 32-bit indices. Some
sums of two sparse matrices, and some folds over a whole matrix, were wrong, so workloads that need
these operations are left out.
"""

from importlib.metadata import version as version_of

import finch
import numpy as np

finch.set_default_scheduler(ctx=finch.COMPILE_NUMBA)


def version():
    return f"finch-tensor {version_of('finch-tensor')}, through Numba"


def matrix(tensor):
    csr = tensor.csr()
    csr.indices, csr.indptr = csr.indices.astype(np.int64), csr.indptr.astype(np.int64)
    return finch.asarray(csr)


def dense(tensor):
    return finch.asarray(tensor.array)


class Result:
    """A result of Finch before it is checked."""

    def __init__(self, value):
        self.value = value

    def entries(self):
        return finch.to_numpy(self.value)


def spmv(inputs, _):
    a, x = matrix(inputs["A"]), dense(inputs["x"])
    return lambda: Result(finch.matmul(a, x))


def spmm(inputs, _):
    a, x = matrix(inputs["A"]), dense(inputs["X"])
    return lambda: Result(finch.matmul(a, x))


def residual(inputs, _):
    a, x, b = matrix(inputs["A"]), dense(inputs["x"]), dense(inputs["b"])
    return lambda: Result(finch.compute(finch.subtract(finch.defer(b), finch.matmul(finch.defer(a), finch.defer(x)))))


OPERATIONS = {f.__name__: f for f in [spmv, spmm, residual]} | {"tiny_spmv": spmv}
