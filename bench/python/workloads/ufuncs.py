"""NumPy's common ufuncs on sparse arrays: of one and of two operands, with numbers, with
broadcasts."""

import numpy as np
import scipy.sparse as sp

from workload import bytes_of, streamed, workload

#: Sparse matrices of 2,000 rows, which NumPy also holds as dense arrays.
ELEMENTWISE = ("uniform/1e5",)
#: Matrices of all sizes, for ufuncs that represent many others.
ALL_SIZES = ("ten", "uniform/1e3", "uniform/1e5", "power/1e6", "uniform/1e7")


def of_values(f):
    """Return a function of SciPy matrices that applies `f` to the stored values alone. `f` must
    leave zeros zero."""
    return lambda a: sp.csr_array((f(a.data), a.indices, a.indptr), shape=a.shape)


def dense(f):
    """Return a function that applies a ufunc to dense copies of SciPy matrices."""
    return lambda *operands: f(*(one.toarray() if sp.issparse(one) else one for one in operands))


#: Ufuncs of one operand that leave zeros zero, by a matrix on whose elements they are defined.
OF_ZERO = {
    "A": "sqrt square cbrt sin tan arcsin arctan sinh tanh arcsinh arctanh expm1 log1p",
    "N": "negative absolute sign rint floor ceil trunc isnan isinf signbit deg2rad",
}

#: Ufuncs of one operand whose results are not zero where nothing is stored.
NOT_OF_ZERO = "exp exp2 log log2 log10 cos cosh arccos reciprocal isfinite logical_not"

#: Ufuncs of two operands, with the matrices.
BINARY = {
    "A B": "add subtract multiply maximum minimum fmax fmin hypot arctan2 logaddexp copysign "
    "greater less not_equal greater_equal less_equal equal logical_and logical_or logical_xor",
    "I J": "bitwise_and bitwise_or bitwise_xor left_shift right_shift",
}

#: The functions of SciPy for ufuncs of two sparse matrices; other ufuncs run on dense copies.
SCIPY_BINARY = {
    "add": lambda a, b: a + b,
    "subtract": lambda a, b: a - b,
    "multiply": lambda a, b: a * b,
    "maximum": lambda a, b: a.maximum(b),
    "minimum": lambda a, b: a.minimum(b),
    "fmax": lambda a, b: a.maximum(b),
    "fmin": lambda a, b: a.minimum(b),
    "greater": lambda a, b: a > b,
    "less": lambda a, b: a < b,
    "not_equal": lambda a, b: a != b,
    "logical_and": lambda a, b: a.astype(bool) * b.astype(bool),
    "logical_or": lambda a, b: a.astype(bool) + b.astype(bool),
    "logical_xor": lambda a, b: a.astype(bool) != b.astype(bool),
}

#: Ufuncs of two operands that are shown over all sizes, and over operands of one pattern.
SHOWN = ("add", "multiply", "maximum", "greater")


def _unary():
    for operand, names in OF_ZERO.items():
        for name in names.split():
            f = getattr(np, name)
            method = getattr(sp.csr_array, name, None)
            cases = ALL_SIZES if name in ("sqrt", "sin") else ELEMENTWISE
            yield workload(
                f"ufunc/{name}",
                operand,
                f,
                cases,
                scipy=method or of_values(f),
                moved=streamed(operand),
                first=ELEMENTWISE if name == "sin" else (),
            )
    for name in NOT_OF_ZERO.split():
        f = getattr(np, name)
        yield workload(f"ufunc/{name}", "A", f, ELEMENTWISE, scipy=dense(f))


def _binary():
    for operands, names in BINARY.items():
        for name in names.split():
            f = getattr(np, name)
            yield workload(
                f"ufunc/{name}",
                operands,
                f,
                ALL_SIZES if name in SHOWN else ELEMENTWISE,
                scipy=SCIPY_BINARY.get(name) or dense(f),
                first=ELEMENTWISE if name == "add" else (),
            )
    for name in SHOWN:
        yield workload(
            f"ufunc/{name}, same pattern",
            "A S",
            getattr(np, name),
            ("uniform/1e5", "power/1e6"),
            scipy=SCIPY_BINARY[name],
            moved=bytes_of("A", "S"),
        )


def _with_numbers():
    """Yield ufuncs of a matrix and a number."""
    scaling = {"moved": streamed("A"), "first": ELEMENTWISE}
    yield workload("ufunc/A * 2", "A", lambda a: a * 2.0, ALL_SIZES, **scaling)
    yield workload(
        "ufunc/A * 2, csr to csr", "A", lambda a: a * 2.0, ALL_SIZES, format="csr", layout="gcxs", moved=streamed("A")
    )
    yield workload("ufunc/A / 3", "A", lambda a: a / 3.0, ELEMENTWISE, moved=streamed("A"))
    yield workload("ufunc/A ** 2", "A", lambda a: a**2, ELEMENTWISE, moved=streamed("A"))
    yield workload("ufunc/A > 0.5", "A", lambda a: a > 0.5, ("uniform/1e5", "power/1e6"))
    yield workload("ufunc/A + 1", "A", lambda a: a + 1.0, ELEMENTWISE, scipy=dense(lambda a: a + 1.0))
    yield workload(
        "ufunc/maximum(A, 0.5)",
        "A",
        lambda a: np.maximum(a, 0.5),
        ELEMENTWISE,
        scipy=dense(lambda a: np.maximum(a, 0.5)),
    )
    yield workload("ufunc/I % 3", "I", lambda a: a % 3, ELEMENTWISE, scipy=of_values(lambda values: values % 3))
    yield workload("ufunc/I & 3", "I", lambda a: a & 3, ELEMENTWISE, scipy=of_values(lambda values: values & 3))


def _broadcast():
    """Yield ufuncs of a matrix and a vector. PyData/Sparse refuses the ufuncs with dense
    results."""
    both = ("uniform/1e5", "power/1e6")
    yield workload("ufunc/A * row", "A x", lambda a, x: a * x, both)
    yield workload("ufunc/A * column", "A column", lambda a, y: a * y, both)
    yield workload("ufunc/A / column", "A column", lambda a, y: a / y, both, scipy=lambda a, y: a * (1.0 / y))
    yield workload("ufunc/A + row", "A x", lambda a, x: a + x, ELEMENTWISE, scipy=dense(np.add), sparse=None)
    yield workload(
        "ufunc/maximum(A, column)", "A column", np.maximum, ELEMENTWISE, scipy=dense(np.maximum), sparse=None
    )


WORKLOADS = (*_unary(), *_binary(), *_with_numbers(), *_broadcast())
