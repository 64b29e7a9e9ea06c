"""cuSPARSE through CuPy and PyTorch beside redpoll on a device, over the inputs that `gpu --out` has left.

    python gpu_peer.py FOLDER [--dry]

Times are medians by events of the device; a package that is missing is named and left out. With `--dry` SciPy takes their place,
and its results are compared with those that `gpu --dry` has left.
"""

import json
import statistics
import sys
import time
from pathlib import Path

import numpy as np
import scipy.sparse as sp

ROUNDS = 9
# How many times as long cuSPARSE is to take, and how much of the bandwidth of a copy is to be used.
AIMS = (1.0, 0.8)


class Coords:
    """A tensor of rank 3, by the coordinates of its entries, sorted, and their values."""

    def __init__(self, shape, coords, values):
        self.shape, self.coords, self.values = shape, coords, values

    def by_rows(self, sparse, put):
        """The matrix that adds up the entries of each row: row `i` has the values of its entries, a column for each."""
        rows, entries = self.coords[0], np.arange(len(self.values))
        shape = (self.shape[0], len(entries))
        ends = np.searchsorted(rows, np.arange(self.shape[0] + 1))
        parts = (put(self.values.astype(np.float64)), put(entries), put(ends))
        return sparse.csr_matrix(parts, shape=shape)


def load(folder):
    """The arrays of a folder by name."""
    found = {}
    for name, shape in json.loads((folder / "shapes.json").read_text()).items():
        dense = folder / f"{name}.npy"
        if dense.exists():
            found[name] = np.load(dense)
            continue
        coords, values = (np.load(folder / f"{name}.{part}.npy") for part in ("coords", "values"))
        if len(shape) == 2:
            found[name] = sp.coo_matrix((values, coords), shape=shape).tocsr()
        else:
            order = np.lexsort(coords[::-1])
            found[name] = Coords(shape, coords[:, order], values[order])
    return found


class Products:
    """The kernels by the products of sparse matrices that SciPy has and CuPy by the same names."""

    def work(self, kernel, inputs):
        if kernel == "spmv":
            a, x = self.put(inputs["A"]), self.put(inputs["x"])
            return lambda: a @ x
        if kernel.startswith("spmm"):
            a, b = self.put(inputs["A"]), self.put(inputs["B"])
            return lambda: a @ b
        if kernel == "spgemm":
            a = self.put(inputs["A"])
            return lambda: a @ a
        if kernel == "triangles":
            low = self.sparse.tril(self.put(inputs["E"]), -1).tocsr()
            return lambda: (low @ low.T).multiply(low).sum()
        if kernel == "mttkrp":
            t, b, c = inputs["T"], self.put(inputs["B"]), self.put(inputs["C"])
            rows, j, k = t.by_rows(self.sparse, self.put_array), self.put_array(t.coords[1]), self.put_array(t.coords[2])
            return lambda: rows @ (b[j] * c[k])
        return None

    def put(self, a):
        if sp.issparse(a):
            return self.sparse.csr_matrix(a.astype(np.float64))
        return self.put_array(a.astype(np.float64))


class CuPy(Products):
    def __init__(self):
        import cupy
        import cupyx.scipy.sparse

        self.cp, self.sparse, self.put_array = cupy, cupyx.scipy.sparse, cupy.asarray

    def name(self):
        return f"CuPy {self.cp.__version__}"

    def time(self, work):
        start, end = self.cp.cuda.Event(), self.cp.cuda.Event()
        start.record()
        work()
        end.record()
        end.synchronize()
        return self.cp.cuda.get_elapsed_time(start, end)


class SciPy(Products):
    """In place of the others, on the host."""

    def __init__(self):
        self.sparse, self.put_array = sp, np.asarray

    def name(self):
        return "SciPy, on the host"

    def work(self, kernel, inputs):
        if kernel == "sddmm":
            mask, b, d = inputs["A"].tocoo(), inputs["B"], inputs["D"]
            values = lambda: mask.data * np.einsum("nk,nk->n", b[mask.row], d[mask.col])
            return lambda: sp.coo_matrix((values(), (mask.row, mask.col)), shape=mask.shape)
        return super().work(kernel, inputs)

    def time(self, work):
        start = time.perf_counter()
        work()
        return 1e3 * (time.perf_counter() - start)


class Torch:
    def __init__(self, device="cuda"):
        import torch

        if device == "cuda" and not torch.cuda.is_available():
            raise ImportError("PyTorch sees no device")
        self.torch, self.device = torch, device

    def name(self):
        return f"PyTorch {self.torch.__version__}"

    def put(self, a):
        if not sp.issparse(a):
            return self.torch.from_numpy(np.ascontiguousarray(a.astype(np.float64))).to(self.device)
        parts = [self.torch.from_numpy(part) for part in (a.indptr, a.indices, a.data.astype(np.float64))]
        return self.torch.sparse_csr_tensor(*parts, size=a.shape).to(self.device)

    def work(self, kernel, inputs):
        if kernel == "spmv":
            a, x = self.put(inputs["A"]), self.put(inputs["x"])
            return lambda: a @ x
        if kernel.startswith("spmm"):
            a, b = self.put(inputs["A"]), self.put(inputs["B"])
            return lambda: a @ b
        if kernel == "spgemm":
            a = self.put(inputs["A"])
            return lambda: a @ a
        if kernel == "sddmm":
            a, b, d = (self.put(inputs[name]) for name in "ABD")
            return lambda: self.torch.sparse.sampled_addmm(a, b, d.T, beta=0.0)
        if kernel == "mttkrp":
            t, b, c = inputs["T"], self.put(inputs["B"]), self.put(inputs["C"])
            i, j, k = (self.torch.from_numpy(np.ascontiguousarray(own)).to(self.device) for own in t.coords)
            values = self.put(t.values)[:, None]
            zeros = lambda: self.torch.zeros(t.shape[0], b.shape[1], dtype=self.torch.float64, device=self.device)
            return lambda: zeros().index_add_(0, i, values * b[j] * c[k])
        return None

    def time(self, work):
        start, end = (self.torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        work()
        end.record()
        end.synchronize()
        return start.elapsed_time(end)

    def bandwidth(self):
        """Bytes a second that a copy within the device reads and writes."""
        source = self.torch.ones(1 << 27, dtype=self.torch.float64, device=self.device)
        target = self.torch.empty_like(source)
        times = [self.time(lambda: target.copy_(source)) for _ in range(ROUNDS)]
        return 2 * source.nbytes / (statistics.median(times) / 1e3)


def peers(dry):
    for peer in (SciPy,) if dry else (CuPy, Torch):
        try:
            yield peer()
        except Exception as missing:  # A driver that does not fit raises errors of its own.
            print(f"{peer.__name__} is left out: {missing}")


def measure(peer, kernel, inputs):
    work = peer.work(kernel, inputs)
    if work is None:
        return None
    work()
    return statistics.median(peer.time(work) for _ in range(ROUNDS))


def compare(kernel, folder, peer, inputs):
    """Holds what a peer comes to against what was left of redpoll's results."""
    [found] = load(folder / "results").values()
    expected = peer.work(kernel, inputs)()
    dense = lambda a: np.asarray(a.todense() if sp.issparse(a) else a)
    np.testing.assert_allclose(dense(found), dense(expected), rtol=1e-9, err_msg=f"{kernel} of {folder.name}")


def main(folder, dry):
    lines = folder / "redpoll.jsonl"
    if not lines.exists():
        print("nothing to compare with: `gpu --out` has left no times")
        return
    found = list(peers(dry))
    copy = next((peer.bandwidth() for peer in found if isinstance(peer, Torch)), None)
    if copy:
        print(f"A copy within the device reads and writes {copy / 1e9:.0f} GB/s.")
    times, share = AIMS
    print(f"The aims are {times:.1f}x of cuSPARSE, and {share:.0%} of the copy where a kernel is bound by memory.\n")
    names = [peer.name() for peer in found]
    print("| kernel | data | redpoll ms | of the copy |", " | ".join(names), "|")
    print("|---" * (4 + len(names)) + "|")
    for line in map(json.loads, lines.read_text().splitlines()):
        kernel, data, ms = line["kernel"], line["data"], line["ms"]
        inputs = load(folder / f"{kernel}-{data}")
        share = f"{line['bytes'] / (ms / 1e3) / copy:.0%}" if copy else "-"
        cells = []
        for peer in found:
            try:
                if dry:
                    compare(kernel, folder / f"{kernel}-{data}", peer, inputs)
                theirs = measure(peer, kernel, inputs)
                cells.append("-" if theirs is None else f"{theirs:.3f} ({theirs / ms:.2f}x)")
            except Exception as failure:  # One that runs out of memory of the device does not end the table.
                if dry:
                    raise
                cells.append(f"failed: {type(failure).__name__}")
        print("|", " | ".join([kernel, data, f"{ms:.3f}", share, *cells]), "|")


if __name__ == "__main__":
    main(Path(sys.argv[1]), "--dry" in sys.argv[2:])
