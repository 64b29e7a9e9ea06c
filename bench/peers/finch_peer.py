"""finch-tensor: Finch in Python, compiled through Numba. (Its other compiler is Finch.jl, which needs Julia.)

Version 0.7.0 compiles anew in every call, gives dense results, and refuses indices of 32 bits; folds over a whole sparse
array gave zero, so that operations which need one are left out.
"""

from importlib.metadata import version as version_of

import finch
import numpy as np
import scipy.sparse as sp

from inputs import Unsupported

finch.set_default_scheduler(ctx=finch.COMPILE_NUMBA)

MOST_DENSE = 1 << 24


def version():
    return f"finch-tensor {version_of('finch-tensor')}, through Numba"


def matrix(tensor):
    csr = tensor.csr()
    csr.indices, csr.indptr = csr.indices.astype(np.int64), csr.indptr.astype(np.int64)
    return finch.asarray(csr)


def dense(tensor):
    return finch.asarray(tensor.array)


def fits(shape):
    if np.prod(shape) > MOST_DENSE:
        raise Unsupported("its result would be dense and exceed the memory")


class Result:
    """A result of Finch until it is checked."""

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


def addition(inputs, _):
    fits(inputs["A"].shape)
    a, b = matrix(inputs["A"]), matrix(inputs["B"])
    return lambda: Result(finch.add(a, b))


OPERATIONS = {f.__name__: f for f in [spmv, spmm, residual, addition]} | {"tiny_spmv": spmv}
