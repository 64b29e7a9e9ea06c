"""Products: of matrices with vectors and matrices, under masks, and by `einsum`."""

import numpy as np

from workload import bytes_of, workload

CASES = ("uniform/1e5", "power/1e6", "facebook", "dblp")
SQUARE = ("uniform/1e3", "power/1e5", "facebook")
ALL_SIZES = ("ten", "uniform/1e3", *CASES, "uniform/1e7", "power/1e7")


def _spmv_bytes(case):
    return bytes_of("A", "x")(case) + 8 * case.shape[0]


def _finch(name):
    def call(*operands):
        import finch

        return getattr(finch, name)(*operands)

    return call


def _einsum(spec):
    """Return the functions of redpoll and of PyData/Sparse for an Einstein summation."""

    def redpoll(*operands):
        import redpoll

        return redpoll.einsum(spec, *operands)

    def sparse(*operands):
        import sparse

        return sparse.einsum(spec, *operands)

    return {"redpoll": redpoll, "sparse": sparse}


def _sampled(s, x, y):
    """Return a SciPy array with each stored value multiplied by the product of a row of `y` and a
    row of `x`."""
    coo = s.tocoo()
    values = coo.data * np.einsum("ek,ek->e", y[coo.row], x[coo.col])
    return type(s)((values, s.indices, s.indptr), shape=s.shape)


WORKLOADS = (
    workload(
        "product/SpMV",
        "A x",
        lambda a, x: a @ x,
        ALL_SIZES,
        finch=_finch("matmul"),
        layout="gcxs",
        moved=_spmv_bytes,
        first=("uniform/1e5",),
    ),
    workload("product/SpMV of the transpose", "A y", lambda a, y: a.T @ y, CASES, layout="gcxs"),
    workload(
        "product/SpMM", "A X", lambda a, x: a @ x, CASES, finch=_finch("matmul"), layout="gcxs", first=("uniform/1e5",)
    ),
    workload("product/dense times sparse", "A Y", lambda a, y: y.T @ a, ("uniform/1e5", "power/1e6"), layout="gcxs"),
    workload("product/SpGEMM", "A B", lambda a, b: a @ b, SQUARE, layout="gcxs", first=("power/1e5",)),
    workload("product/gram matrix", "A", lambda a: a @ a.T, ("uniform/1e3", "power/1e5", "press"), layout="gcxs"),
    workload("product/masked", "A L", lambda a, mask: (a @ a) * mask, SQUARE, layout="gcxs", first=("power/1e5",)),
    workload(
        "product/sampled",
        "A X Y",
        lambda s, x, y: s * (y @ x.T),
        ("uniform/1e5", "facebook"),
        scipy=_sampled,
    ),
    workload("product/quadratic form", "A x y", lambda a, x, y: y @ (a @ x), CASES, layout="gcxs"),
    workload(
        "product/einsum ij,j,i->",
        "A x y",
        lambda a, x, y: np.einsum("ij,j,i->", a, x, y, optimize=True),
        ("uniform/1e5",),
        scipy=lambda a, x, y: y @ (a @ x),
        **_einsum("ij,j,i->"),
    ),
    workload(
        "product/einsum ijk,k->ij",
        "T",
        lambda t: np.einsum("ijk,k->ij", t, np.arange(t.shape[2]) * 1.0),
        ("uniform/1e5",),
        scipy=None,
        redpoll=lambda t: _einsum("ijk,k->ij")["redpoll"](t, _ramp(t)),
        sparse=lambda t: _einsum("ijk,k->ij")["sparse"](t, np.arange(t.shape[2]) * 1.0),
    ),
    workload("product/inner product", "A B", lambda a, b: (a * b).sum(), ("uniform/1e5", "power/1e6")),
)


def _ramp(t):
    import redpoll

    return redpoll.asarray(np.arange(t.shape[2]) * 1.0)
