"""The inputs of a workload, read from the files that the harness wrote."""

import os

import numpy as np


class Unsupported(Exception):
    """A peer has no way to compute a workload; the message says why."""


class Input:
    """One input: `array` of a dense one; `coords`, one row a mode, and `values` of a sparse one, sorted row-major."""

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
        """The matrix as SciPy has it, with indices of 32 bits where they fit."""
        import scipy.sparse as sp

        values = self.values if dtype is None else self.values.astype(dtype)
        return sp.csr_array(sp.coo_array((values, (self.coords[0], self.coords[1])), shape=self.shape))


class Inputs(dict):
    """All inputs by name."""

    def __init__(self, task):
        super().__init__((d["name"], Input(task["folder"], d)) for d in task["inputs"])
