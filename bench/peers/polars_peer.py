"""Polars: joins and groups of tables with a column for each mode, on the in-memory engine."""

import numpy as np
import polars as pl

from sums import Entries


def version():
    return f"Polars {pl.__version__}"


def frame(tensor, *names):
    """Returns the table of an input: columns of modes with the given names, and values under the
    name of the input."""
    if tensor.dense:
        coords, values = np.indices(tensor.shape).reshape(len(tensor.shape), -1), tensor.array.reshape(-1)
    else:
        coords, values = tensor.coords, tensor.values
    columns = {name: c.astype(np.uint32) for name, c in zip(names, coords)}
    return pl.DataFrame(columns | {tensor.name: values})


class Result:
    """A table before it is checked: columns of modes, followed by the column of values."""

    def __init__(self, table, shape):
        self.table, self.shape = table, shape

    def entries(self):
        *modes, values = self.table.columns
        coords = [self.table[m].to_numpy() for m in modes]
        return Entries(np.array(coords), self.table[values].to_numpy(), self.shape)


def product(left, right, modes, shape):
    """Returns the operation that sums products over the joined mode `k`, grouped by the other
    modes."""

    def build(inputs, _):
        (a, a_modes), (b, b_modes) = left, right
        a_table, b_table = frame(inputs[a], *a_modes), frame(inputs[b], *b_modes)
        query = a_table.lazy().join(b_table.lazy(), on="k").group_by(modes).agg((pl.col(a) * pl.col(b)).sum())
        size = tuple(inputs[name].shape[mode] for name, mode in shape)
        return lambda: Result(query.collect(), size)

    return build


def addition_of(*names):
    def build(inputs, _):
        shape = inputs[names[0]].shape
        modes = ["i", "j", "k"][: len(shape)]
        tables = [frame(inputs[name], *modes).rename({name: "v"}).lazy() for name in names]
        query = pl.concat(tables).group_by(modes).agg(pl.col("v").sum())
        return lambda: Result(query.collect(), shape)

    return build


def triangles(inputs, _):
    ij, jk, ik = (frame(inputs["E"], *modes).drop("E").lazy() for modes in (("i", "j"), ("j", "k"), ("i", "k")))
    query = ij.join(jk, on="j").join(ik, on=["i", "k"]).select(pl.len())
    return lambda: query.collect().item()


def sddmm(inputs, _):
    s, a, b = frame(inputs["S"], "i", "j"), frame(inputs["A"], "i", "k"), frame(inputs["B"], "j", "k")
    joined = s.lazy().join(a.lazy(), on="i").join(b.lazy(), on=["j", "k"])
    query = joined.group_by("i", "j").agg((pl.col("S") * pl.col("A") * pl.col("B")).sum())
    return lambda: Result(query.collect(), inputs["S"].shape)


def fused(inputs, _):
    a, b, c = (frame(inputs[name], "i", "j").lazy() for name in "ABC")
    either = pl.col("A").is_not_null() | pl.col("B").is_not_null()
    joined = c.join(a, on=["i", "j"], how="left").join(b, on=["i", "j"], how="left").filter(either)
    query = joined.select("i", "j", (pl.col("A").fill_null(0) + pl.col("B").fill_null(0)) * pl.col("C"))
    return lambda: Result(query.collect(), inputs["C"].shape)


def mttkrp(inputs, _):
    x, b, c = frame(inputs["X"], "i", "j", "k"), frame(inputs["B"], "j", "r"), frame(inputs["C"], "k", "r")
    joined = x.lazy().join(b.lazy(), on="j").join(c.lazy(), on=["k", "r"])
    query = joined.group_by("i", "r").agg((pl.col("X") * pl.col("B") * pl.col("C")).sum())
    return lambda: Result(query.collect(), (inputs["X"].shape[0], inputs["B"].shape[1]))


def innerprod(inputs, _):
    x, y = (frame(inputs[name], "i", "j", "k").lazy() for name in "XY")
    query = x.join(y, on=["i", "j", "k"]).select((pl.col("X") * pl.col("Y")).sum())
    return lambda: query.collect().item()


def histogram(inputs, _):
    table = frame(inputs["I"], "i", "j")
    query = table.lazy().group_by("I").agg(pl.len().alias("n"))
    return lambda: Result(query.collect(), (256,))


OPERATIONS = {
    "spmv": product(("A", "ik"), ("x", "k"), ["i"], [("A", 0)]),
    "tiny_spmv": product(("A", "ik"), ("x", "k"), ["i"], [("A", 0)]),
    "spmm": product(("A", "ik"), ("X", "kj"), ["i", "j"], [("A", 0), ("X", 1)]),
    "spgemm": product(("A", "ik"), ("B", "kj"), ["i", "j"], [("A", 0), ("B", 1)]),
    "ttv": product(("X", "ijk"), ("x", "k"), ["i", "j"], [("X", 0), ("X", 1)]),
    "addition": addition_of("A", "B"),
    "plus3": addition_of("A", "B", "C"),
    "tensor_plus": addition_of("X", "Y"),
} | {f.__name__: f for f in [triangles, sddmm, fused, mttkrp, innerprod, histogram]}
