"""Measures how long SciPy takes to load the matrix of `src/bin/mapped.rs` and to multiply it.

The argument is the folder with the arrays of the matrix.
"""

import statistics
import sys
import time
from pathlib import Path

import numpy as np
import scipy.sparse as sp

REPEATS = 9


def median(work):
    """Returns the median time of a call in seconds."""
    seconds = []
    for _ in range(REPEATS):
        start = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - start)
    return statistics.median(seconds)


def main():
    folder = Path(sys.argv[1])
    ptr, idx, val = (np.load(folder / f"{name}.npy") for name in ("ptr", "idx", "val"))
    matrix = sp.csr_array((val, idx.astype(np.int32), ptr), shape=(len(ptr) - 1,) * 2)
    path = folder / "matrix.npz"
    sp.save_npz(path, matrix, compressed=False)
    vector = np.ones(matrix.shape[1])
    loaded = median(lambda: sp.load_npz(path))
    first = median(lambda: sp.load_npz(path) @ vector)
    product = median(lambda: matrix @ vector)
    print(f"load, not compressed     {1e3 * loaded:9.1f}")
    print(f"load and first product   {1e3 * first:9.1f}")
    print(f"each further product     {1e3 * product:9.1f}")


main()
