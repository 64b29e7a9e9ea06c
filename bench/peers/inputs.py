"""The inputs of a workload, read from files of the harness."""

import os

import numpy as np


class Unsupported(Exception):
    """The error of a peer that does not support a workload; the message is the reason."""


class Input:
    """One input: `array` if dense; `coords`, with one row per mode, and `values` if sparse, sorted
    row-major."""

    def __init__(self, folder, description):
        self.name = description["name"]
        self.shape = tuple(description["shape"])
        self.dense = description["dense"]
        self.fill = float(description["fill"])
        path = os.path.join(folder, self.name)
        if self.dense:
            self.array = np.load(path + ".npy")
        else:
            self.coords = np.load(path + ".coords.npy")
            self.values = np.load(path + ".values.npy")

    def csr(self, dtype=None):
        """Returns the matrix as a SciPy matrix, with 32-bit indices if possible."""
        import scipy.sparse as sp

        values = self.values if dtype is None else self.values.astype(dtype)
        return sp.csr_array(sp.coo_array((values, (self.coords[0], self.coords[1])), shape=self.shape))


class Inputs(dict):
    """All inputs by name."""

    def __init__(self, task):
        super().__init__((d["name"], Input(task["folder"], d)) for d in task["inputs"])
