"""Intel MKL's sparse routines, through sparse_dot_mkl."""

import glob
import os
import sys

import numpy as np

# The wheel of MKL installs its libraries next to the interpreter, outside of the search path.
os.environ.setdefault("MKL_RT", next(iter(glob.glob(os.path.join(sys.prefix, "lib", "libmkl_rt.so*"))), ""))

import sparse_dot_mkl as mkl  # noqa: E402


def version():
    return mkl.get_version_string().replace("Intel(R) oneAPI Math Kernel Library ", "MKL ").strip()


def set_threads(threads):
    mkl.mkl_set_num_threads(threads)


def spmv(inputs, _):
    a, x = inputs["A"].csr(), inputs["x"].array
    return lambda: mkl.dot_product_mkl(a, x)


def spmm(inputs, _):
    a, x = inputs["A"].csr(), inputs["X"].array
    return lambda: mkl.dot_product_mkl(a, x)


def spgemm(inputs, _):
    a, b = inputs["A"].csr(), inputs["B"].csr()
    return lambda: mkl.dot_product_mkl(a, b, reorder_output=True)


def residual(inputs, _):
    a, x, b = inputs["A"].csr(), inputs["x"].array, inputs["b"].array

    def run():
        out = b.copy()
        mkl.dot_product_mkl(a, x, out=out, out_scalar=-1.0)
        return np.negative(out, out=out)

    return run


def triangles(inputs, _):
    e = inputs["E"].csr(np.float64)
    return lambda: mkl.dot_product_mkl(e, e).multiply(e).sum()


OPERATIONS = {f.__name__: f for f in [spmv, spmm, spgemm, residual, triangles]} | {"tiny_spmv": spmv}
