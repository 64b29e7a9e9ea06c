"""Compares CuPy and PyTorch, which run most products by cuSPARSE, with redpoll on a device, over
the inputs from `gpu --out`.

    python gpu_peer.py FOLDER [--dry]

Times are medians, measured by events of the device. A peer whose package is missing is reported and
skipped. With `--dry`, all peers run and are timed on the host: SciPy replaces CuPy. Their results
are then compared with those of `gpu --dry`.
"""

import json
import statistics
import sys
import time
from pathlib import Path

import numpy as np
import scipy.sparse as sp

ROUNDS = 9
# Seconds after which no round starts.
MAX_SECONDS = 10
# Number of entries of a tensor that are processed together.
CHUNK = 1 << 24
# The targets: largest time relative to cuSPARSE, and smallest share of the bandwidth of a copy.
TARGETS = (1.0, 0.8)


class Coords:
    """A tensor of rank 3 as coordinates and values of its entries."""

    def __init__(self, shape, coords, values):
        self.shape, self.coords, self.values = shape, coords, values

    def chunks(self):
        """Splits the entries into chunks whose temporaries fit into the memory of a device."""
        for first in range(0, len(self.values), CHUNK):
            chunk = slice(first, first + CHUNK)
            yield Coords(self.shape, self.coords[:, chunk], self.values[chunk])

    def row_matrix(self, sparse, put):
        """Returns a matrix in CSR with a column for each entry; the row is the first coordinate of
        the entry.

        The entries must be sorted.
        """
        entries = np.arange(len(self.values))
        ends = np.searchsorted(self.coords[0], np.arange(self.shape[0] + 1))
        parts = (put(self.values), put(entries), put(ends))
        return sparse.csr_matrix(parts, shape=(self.shape[0], len(entries)))


def load(folder, described):
    """Reads a tensor of `gpu --out` from its description."""
    part = lambda name: np.load(folder / f"{described['file']}.{name}.npy")
    shape, values = tuple(described["shape"]), part("values").astype(np.float64)
    if described["stored"] == "dense":
        return values
    if described["stored"] == "csr":
        return sp.csr_matrix((values, part("columns").astype(np.int32), part("ends")), shape=shape)
    tensor = Coords(shape, part("coordinates"), values)
    return sp.csr_matrix((values, tensor.coords), shape=shape) if len(shape) == 2 else tensor


def time_on_host(work):
    start = time.perf_counter()
    work()
    return 1e3 * (time.perf_counter() - start)


class Products:
    """The kernels as products of sparse matrices, by functions with the same names in SciPy and
    CuPy."""

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
            b, c = self.put(inputs["B"]), self.put(inputs["C"])
            put = self.put_array
            parts = [(t.row_matrix(self.sparse, put), put(t.coords[1]), put(t.coords[2])) for t in inputs["T"].chunks()]
            return lambda: sum(rows @ (b[j] * c[k]) for rows, j, k in parts)
        return None

    def put(self, a):
        if sp.issparse(a):
            return self.sparse.csr_matrix(a)
        return self.put_array(a)


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
    """SciPy on the host, which replaces CuPy in dry runs."""

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
        return time_on_host(work)


class Torch:
    def __init__(self, device="cuda"):
        import torch

        if device == "cuda" and not torch.cuda.is_available():
            raise ImportError("PyTorch finds no device")
        self.torch, self.device = torch, device
        # The data from redpoll are valid, and checks take time.
        torch.sparse.check_sparse_tensor_invariants.disable()

    def name(self):
        return f"PyTorch {self.torch.__version__}" + (", on the host" if self.device == "cpu" else "")

    def put(self, a):
        if not sp.issparse(a):
            return self.torch.from_numpy(a).to(self.device)
        parts = [self.torch.from_numpy(part) for part in (a.indptr, a.indices, a.data)]
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

            def sample_products():
                # `sampled_addmm` does not multiply the products by the values of the mask.
                products = self.torch.sparse.sampled_addmm(a, b, d.T, beta=0.0)
                values = products.values() * a.values()
                return self.torch.sparse_csr_tensor(a.crow_indices(), a.col_indices(), values, size=a.shape)

            return sample_products
        if kernel == "mttkrp":
            b, c = self.put(inputs["B"]), self.put(inputs["C"])
            index = lambda coords: self.torch.from_numpy(coords.astype(np.int64)).to(self.device)
            parts = [(*map(index, t.coords), self.put(t.values)[:, None]) for t in inputs["T"].chunks()]

            def add_products():
                sums = self.torch.zeros(inputs["T"].shape[0], b.shape[1], dtype=self.torch.float64, device=self.device)
                for i, j, k, values in parts:
                    sums.index_add_(0, i, values * b[j] * c[k])
                return sums

            return add_products
        return None

    def time(self, work):
        if self.device == "cpu":
            return time_on_host(work)
        start, end = (self.torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        work()
        end.record()
        end.synchronize()
        return start.elapsed_time(end)

    def bandwidth(self):
        """Returns the bytes per second that a copy within the device reads and writes."""
        source = self.torch.ones(1 << 27, dtype=self.torch.float64, device=self.device)
        target = self.torch.empty_like(source)
        times = [self.time(lambda: target.copy_(source)) for _ in range(ROUNDS)]
        return 2 * source.nbytes / (statistics.median(times) / 1e3)


def peers(dry):
    for peer in (SciPy, lambda: Torch("cpu")) if dry else (CuPy, Torch):
        try:
            yield peer()
        except Exception as error:  # An incompatible driver raises its own errors.
            print(f"a peer is skipped: {error}")


def measure(peer, work):
    """Returns the median time; no round starts after `MAX_SECONDS` seconds."""
    work()
    times, begin = [], time.perf_counter()
    while len(times) < ROUNDS and (not times or time.perf_counter() - begin < MAX_SECONDS):
        times.append(peer.time(work))
    return statistics.median(times)


def compare(kernel, folder, line, work):
    """Compares the results of a peer with redpoll's results."""
    [found] = (load(folder, result) for result in line["results"])
    expected = work()
    dense = lambda a: np.asarray(a.todense() if sp.issparse(a) else a.to_dense() if hasattr(a, "to_dense") else a)
    np.testing.assert_allclose(dense(found), dense(expected), rtol=1e-9, err_msg=f"{kernel} of {line['data']}")


def main(folder, dry):
    lines = folder / "redpoll.jsonl"
    if not lines.exists():
        print("nothing to compare: `gpu --out` has written no times")
        return
    engines = list(peers(dry))
    copy = next((peer.bandwidth() for peer in engines if isinstance(peer, Torch) and not dry), None)
    if copy:
        print(f"A copy within the device reads and writes {copy / 1e9:.0f} GB/s.")
    times, share = TARGETS
    print(f"Targets: {times:.1f}x the time of cuSPARSE, and {share:.0%} of the copy bandwidth for memory-bound kernels.\n")
    names = [peer.name() for peer in engines]
    print("| kernel | data | redpoll ms | share of copy |", " | ".join(names), "|")
    print("|---" * (4 + len(names)) + "|")
    for line in map(json.loads, lines.read_text().splitlines()):
        kernel, data, ms = line["kernel"], line["data"], line["ms"]
        inputs = {name: load(folder, described) for name, described in line["inputs"].items()}
        share = f"{line['bytes'] / (ms / 1e3) / copy:.0%}" if copy else "-"
        cells = []
        for peer in engines:
            try:
                work = peer.work(kernel, inputs)
                if work is None:
                    cells.append("-")
                    continue
                if dry:
                    compare(kernel, folder, line, work)
                peer_ms = measure(peer, work)
                cells.append(f"{peer_ms:.3f} ({peer_ms / ms:.2f}x)")
            except Exception as failure:  # A peer that runs out of device memory does not end the table.
                if dry:
                    raise
                cells.append(f"failed: {type(failure).__name__}")
        print("|", " | ".join([kernel, data, f"{ms:.3f}", share, *cells]), "|")


if __name__ == "__main__":
    main(Path(sys.argv[1]), "--dry" in sys.argv[2:])
