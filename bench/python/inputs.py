"""The inputs of the suite: random and power-law matrices of several sizes, and real data.

An operand is an array of NumPy or a sparse array of SciPy. Each library converts an operand once.
"""

import os
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

#: The number of columns of dense factors.
FACTORS = 16


class Case:
    """A matrix, and operands derived from it, by name. Each operand is made on first use."""

    def __init__(self, name: str, matrix: sp.csr_array, other: sp.csr_array) -> None:
        self.name = name
        self._matrix = matrix
        self._other = other
        self._operands: dict[str, Any] = {}

    def __getitem__(self, operand: str) -> Any:
        if operand not in self._operands:
            self._operands[operand] = OPERANDS[operand](self)
        return self._operands[operand]

    @property
    def shape(self) -> tuple[int, int]:
        """The shape of the matrix."""
        return self._matrix.shape

    @property
    def stored(self) -> int:
        """The number of stored elements of the matrix."""
        return self._matrix.nnz

    def random(self, operand: str) -> np.random.Generator:
        """Return the generator of an operand, which draws the same numbers in every process."""
        return np.random.default_rng([len(self.name), *map(ord, operand)])

    def with_values(self, operand: str, pattern: sp.csr_array, draw: Callable[..., Any]) -> sp.csr_array:
        """Return a matrix with the given pattern, and values of the operand's generator."""
        values = draw(self.random(operand), pattern.nnz)
        return sp.csr_array((values, pattern.indices, pattern.indptr), shape=pattern.shape)

    def tensor(self) -> sp.coo_array:
        """Return a tensor of three modes with about as many stored elements as the matrix."""
        random, count = self.random("T"), self.stored
        side = max(round((20 * count) ** (1 / 3)), 3)
        shape = (side, side + 1, side + 2)
        keys = np.unique(random.integers(0, np.prod(shape), count))
        return sp.coo_array((random.uniform(0.1, 0.9, len(keys)), np.unravel_index(keys, shape)), shape=shape)


def _positive(random: np.random.Generator, count: int) -> Any:
    return random.uniform(0.1, 0.9, count)


def _mixed(random: np.random.Generator, count: int) -> Any:
    return np.round(random.uniform(-4, 4, count), 3) + 0.0005


def _integers(random: np.random.Generator, count: int) -> Any:
    return random.integers(1, 9, count)


def _true(random: np.random.Generator, count: int) -> Any:
    return np.ones(count, bool)


#: The operands by name, with the functions that make them.
OPERANDS: dict[str, Callable[[Case], Any]] = {
    # Matrices with the pattern of the case: two of positive values, then values of both signs,
    # integers, booleans.
    "A": lambda case: case.with_values("A", case._matrix, _positive),
    "S": lambda case: case.with_values("S", case._matrix, _positive),
    "N": lambda case: case.with_values("N", case._matrix, _mixed),
    "I": lambda case: case.with_values("I", case._matrix, _integers),
    "L": lambda case: case.with_values("L", case._matrix, _true),
    # Matrices with another pattern.
    "B": lambda case: case.with_values("B", case._other, _positive),
    "J": lambda case: case.with_values("J", case._other, _integers),
    "M": lambda case: case.with_values("M", case._other, _true),
    # A tensor of three modes.
    "T": lambda case: case.tensor(),
    # Dense vectors along columns and rows, and dense factors.
    "x": lambda case: case.random("x").uniform(0.1, 0.9, case.shape[1]),
    "y": lambda case: case.random("y").uniform(0.1, 0.9, case.shape[0]),
    "column": lambda case: case.random("column").uniform(0.1, 0.9, (case.shape[0], 1)),
    "X": lambda case: case.random("X").uniform(0.1, 0.9, (case.shape[1], FACTORS)),
    "Y": lambda case: case.random("Y").uniform(0.1, 0.9, (case.shape[0], FACTORS)),
    # Indices of rows and columns, and a mask of rows.
    "rows": lambda case: case.random("rows").integers(0, case.shape[0], max(case.shape[0] // 10, 2)),
    "columns": lambda case: case.random("columns").permutation(case.shape[1])[: max(case.shape[1] // 10, 2)],
    "keep": lambda case: case.random("keep").random(case.shape[0]) < 0.5,
}


def _matrix_of_keys(keys: Any, shape: tuple[int, int]) -> sp.csr_array:
    rows, columns = np.divmod(keys, shape[1])
    return sp.csr_array(sp.coo_array((np.ones(len(keys)), (rows, columns)), shape=shape))


def _distinct(draw: Callable[[int], Any], count: int) -> Any:
    """Return `count` distinct keys of a distribution, sorted."""
    keys = np.unique(draw(count))
    while len(keys) < count:
        keys = np.unique(np.concatenate([keys, draw(count - len(keys) + count // 10 + 1)]))
    excess = np.random.default_rng(len(keys)).permutation(len(keys))[: len(keys) - count]
    return np.delete(keys, excess)


def uniform(size: int, stored: int, seed: int) -> sp.csr_array:
    """Return a square matrix with stored elements at uniformly random coordinates."""
    random = np.random.default_rng(seed)
    return _matrix_of_keys(_distinct(lambda count: random.integers(0, size * size, count), stored), (size, size))


def power_law(size: int, stored: int, seed: int) -> sp.csr_array:
    """Return a square matrix whose numbers of elements per row and per column follow a power law,
    with rows and columns in random order."""
    random = np.random.default_rng(seed)
    rows, columns = random.permutation(size), random.permutation(size)

    def draw(count: int) -> Any:
        # The density of the coordinate k is about proportional to k to the power of -1/2.
        i, j = ((size * random.random(count) ** 2).astype(np.int64) for _ in range(2))
        return rows[i] * size + columns[j]

    return _matrix_of_keys(_distinct(draw, stored), (size, size))


#: The generated cases: the generator, the size of both modes, and the number of stored elements.
GENERATED = {
    "ten": (uniform, 5, 10),
    "uniform/1e3": (uniform, 300, 1_000),
    "uniform/1e5": (uniform, 2_000, 100_000),
    "power/1e5": (power_law, 20_000, 100_000),
    "power/1e6": (power_law, 100_000, 1_000_000),
    "uniform/1e7": (uniform, 1_000_000, 10_000_000),
    "power/1e7": (power_law, 1_000_000, 10_000_000),
}

#: The real data, as files of the collection.
FILES = {
    "facebook": "graphs/facebook_combined.mtx.zst",
    "dblp": "graphs/dblp-2010.mtx.zst",
    "press": "matrices/AssociatedPress_dtm.mtx.zst",
}

CASES = (*GENERATED, *FILES)


def dataset(name: str) -> Path | None:
    """Return the path of a file of the collection, or `None` if it is missing.

    The collection is the folder in the environment variable `REDPOLL_DATASETS`, or else
    `shared/datasets` in a folder above the checkout.
    """
    named = os.environ.get("REDPOLL_DATASETS")
    above = [folder / "shared/datasets" for folder in Path(__file__).resolve().parents]
    folders = [Path(named), *above] if named else above
    return next((folder / name for folder in folders if (folder / name).exists()), None)


def _read(name: str) -> sp.csr_array | None:
    path = dataset(FILES[name])
    if path is None:
        return None
    import redpoll

    matrix = redpoll.to_scipy(redpoll.read(path).astype(redpoll.float64), "csr")
    matrix.eliminate_zeros()
    return matrix


@lru_cache(maxsize=2)
def case(name: str, *, quick: bool = False) -> Case | None:
    """Return a case, or `None` if its file is missing. Quick generated cases have a hundredth of
    the elements, but none is reduced below 1,000."""
    if name in FILES:
        matrix = _read(name)
        if matrix is None:
            return None
        # The other pattern has the rows of the matrix in another order.
        return Case(name, matrix, matrix[np.random.default_rng(1).permutation(matrix.shape[0])])
    generator, size, stored = GENERATED[name]
    if quick and stored > 1_000:
        size, stored = max(size // 10, 100), max(stored // 100, 1_000)
    return Case(name, generator(size, stored, 1), generator(size, stored, 2))
