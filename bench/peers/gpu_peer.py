"""cuSPARSE through CuPy and PyTorch beside redpoll on a device, over the matrices that `gpu --out` has left.

    python gpu_peer.py FOLDER

Times are medians by events of the device; a package that is missing is named and left out.
"""

import json
import statistics
import sys
from pathlib import Path

import numpy as np
import scipy.sparse as sp

ROUNDS = 9


def load(folder, name):
    dense, sparse = folder / f"{name}.npy", folder / f"{name}.npz"
    return np.load(dense) if dense.exists() else sp.load_npz(sparse).tocsr()


def operands(folder, kernel):
    names = {"spmv": "A", "spgemm": "A", "sddmm": "ABD", "triangles": "E"}.get(kernel, "AB")
    return [load(folder, name) for name in names]


class CuPy:
    def __init__(self):
        import cupy
        import cupyx.scipy.sparse

        self.cp, self.sparse = cupy, cupyx.scipy.sparse

    def name(self):
        return f"CuPy {self.cp.__version__}"

    def put(self, a):
        return self.sparse.csr_matrix(a.astype(np.float64)) if sp.issparse(a) else self.cp.asarray(a)

    def work(self, kernel, inputs):
        if kernel == "spmv":
            x = self.cp.ones(inputs[0].shape[1])
            return lambda: inputs[0] @ x
        if kernel.startswith("spmm"):
            return lambda: inputs[0] @ inputs[1]
        if kernel == "spgemm":
            return lambda: inputs[0] @ inputs[0]
        if kernel == "triangles":
            low = self.sparse.tril(inputs[0], -1).tocsr()
            return lambda: (low @ low.T).multiply(low).sum()
        return None

    def time(self, work):
        start, end = self.cp.cuda.Event(), self.cp.cuda.Event()
        start.record()
        work()
        end.record()
        end.synchronize()
        return self.cp.cuda.get_elapsed_time(start, end)


class Torch:
    def __init__(self):
        import torch

        if not torch.cuda.is_available():
            raise ImportError("PyTorch sees no device")
        self.torch = torch

    def name(self):
        return f"PyTorch {self.torch.__version__}"

    def put(self, a):
        if not sp.issparse(a):
            return self.torch.from_numpy(np.ascontiguousarray(a)).cuda()
        parts = [self.torch.from_numpy(part) for part in (a.indptr, a.indices, a.data.astype(np.float64))]
        return self.torch.sparse_csr_tensor(*parts, size=a.shape).cuda()

    def work(self, kernel, inputs):
        if kernel == "spmv":
            x = self.torch.ones(inputs[0].shape[1], dtype=self.torch.float64, device="cuda")
            return lambda: inputs[0] @ x
        if kernel.startswith("spmm"):
            return lambda: inputs[0] @ inputs[1]
        if kernel == "spgemm":
            return lambda: inputs[0] @ inputs[0]
        if kernel == "sddmm":
            a, b, d = inputs
            return lambda: self.torch.sparse.sampled_addmm(a, b, d.T, beta=0.0)
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
        source = self.torch.ones(1 << 27, dtype=self.torch.float64, device="cuda")
        target = self.torch.empty_like(source)
        times = [self.time(lambda: target.copy_(source)) for _ in range(ROUNDS)]
        return 2 * source.nbytes / (statistics.median(times) / 1e3)


def peers():
    for peer in (CuPy, Torch):
        try:
            yield peer()
        except Exception as missing:  # A driver that does not fit raises errors of its own.
            print(f"{peer.__name__} is left out: {missing}")


def measure(peer, kernel, folder):
    work = peer.work(kernel, [peer.put(a) for a in operands(folder, kernel)])
    if work is None:
        return None
    work()
    return statistics.median(peer.time(work) for _ in range(ROUNDS))


def main(folder):
    lines = folder / "redpoll.jsonl"
    if not lines.exists():
        print("nothing to compare with: `gpu --out` has left no times")
        return
    found = list(peers())
    copy = next((peer.bandwidth() for peer in found if isinstance(peer, Torch)), None)
    if copy:
        print(f"A copy within the device reads and writes {copy / 1e9:.0f} GB/s.\n")
    names = [peer.name() for peer in found]
    print("| kernel | data | redpoll ms | of the copy |", " | ".join(names), "|")
    print("|---" * (4 + len(names)) + "|")
    for line in map(json.loads, lines.read_text().splitlines()):
        kernel, data, ms = line["kernel"], line["data"], line["ms"]
        share = f"{line['bytes'] / (ms / 1e3) / copy:.0%}" if copy else "-"
        cells = []
        for peer in found:
            try:
                theirs = measure(peer, kernel, folder / f"{kernel}-{data}")
                cells.append("-" if theirs is None else f"{theirs:.3f} ({theirs / ms:.2f}x)")
            except Exception as failure:  # One that runs out of memory does not end the table.
                cells.append(f"failed: {type(failure).__name__}")
        print("|", " | ".join([kernel, data, f"{ms:.3f}", share, *cells]), "|")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
