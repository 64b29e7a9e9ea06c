"""Redpoll: sparse and structured arrays, lazy and fused, with any fill value.

The package is the namespace of the Python Array API standard, versions 2024.12 and 2025.12, with the
extension `linalg` of 2024.12::

    import redpoll as rp

    a = rp.asarray(scipy_or_numpy_array)
    b = (a @ a.T + 1).sum(axis=0)  # nothing is computed yet
    numpy.asarray(b)  # one fused kernel
"""

from __future__ import annotations

from builtins import bool as _Bool
from collections.abc import Sequence as _Sequence
from math import e as e
from math import inf as inf
from math import nan as nan
from math import pi as pi
from os import PathLike as _PathLike

from . import graph as graph
from . import linalg as linalg
from ._array import Array as Array
from ._core import Tensor as Tensor
from ._core import compute_all as _compute_all
from ._core import operator_names as operator_names
from ._dtypes import DType as DType
from ._dtypes import as_dtype as _as_dtype
from ._dtypes import bool as bool
from ._dtypes import float32 as float32
from ._dtypes import float64 as float64
from ._dtypes import int8 as int8
from ._dtypes import int16 as int16
from ._dtypes import int32 as int32
from ._dtypes import int64 as int64
from ._dtypes import uint8 as uint8
from ._dtypes import uint16 as uint16
from ._dtypes import uint32 as uint32
from ._dtypes import uint64 as uint64
from ._errors import AxisError as AxisError
from ._errors import DensificationError as DensificationError
from ._errors import FunctionError as FunctionError
from ._functions.operators import Op as Op
from ._functions.operators import map as map
from ._functions.operators import op as op
from ._functions.operators import reduce as reduce
from ._functions.operators import scan as scan
from ._flow import Drawing as Drawing
from ._interop.arrow import ArrowTable as ArrowTable
from ._interop.arrow import Labels as Labels
from ._interop.arrow import from_arrow as from_arrow
from ._interop.arrow import to_arrow as to_arrow
from ._interop.graphblas import from_graphblas as from_graphblas
from ._interop.graphblas import to_graphblas as to_graphblas
from ._interop.networkx import from_networkx as from_networkx
from ._interop.networkx import to_networkx as to_networkx
from ._interop.numpy import set_dense_limit as set_dense_limit
from ._interop.scipy import from_scipy as from_scipy
from ._interop.scipy import to_scipy as to_scipy
from ._interop.sparse import from_sparse as from_sparse
from ._interop.sparse import to_sparse as to_sparse
from ._namespace.creation import *
from ._namespace.data_types import *
from ._namespace.einsum import *
from ._namespace.elementwise import *
from ._namespace.indexing import *
from ._namespace.inspection import *
from ._namespace.linear_products import *
from ._namespace.manipulation import *
from ._namespace.searching import *
from ._namespace.sets import *
from ._namespace.sorting import *
from ._namespace.statistics import *
from ._namespace.utility import *
from ._reports import Explanation as Explanation
from ._reports import Profile as Profile
from ._program import Program as Program
from ._session import Session as Session
from ._session import current_session as current_session
from ._session import use_session as use_session
from ._sql import Database as Database
from ._sql import MissingSqlError as MissingSqlError
from ._sql import QueryResult as QueryResult
from ._sql import SqlError as SqlError
from ._sql import SqlNameError as SqlNameError
from ._sql import SqlSyntaxError as SqlSyntaxError
from ._sql import current_database as current_database
from ._sql import sql as sql
from ._typing import DTypeLike as _DTypeLike

__array_api_version__ = "2025.12"

newaxis = None


def compute(*arrays: Array) -> tuple[Array, ...]:
    """Compute several arrays in one plan, so that shared subexpressions are computed once.

    Raises:
        MemoryError: the results exceed the memory limit of the session.

    Examples:
        >>> x = rp.asarray([1.0, 2.0, 3.0])
        >>> total, largest = rp.compute(rp.sum(x), rp.max(x))
        >>> float(total), float(largest)
        (6.0, 3.0)
    """
    _compute_all(list(arrays))
    return arrays


def random(
    shape: _Sequence[int],
    *,
    density: float | None = None,
    distribution: str = "uniform",
    parameters: tuple[float, float] = (0.0, 1.0),
    dtype: _DTypeLike | None = None,
    format: str | None = None,
    seed: int = 0,
) -> Array:
    """Draw an array of random numbers. A seed gives the same numbers on every machine.

    With a density, the array is sparse. The distribution is `uniform`, with `parameters` (low,
    high), `normal` (mean, deviation) or `integers` (low, high).

    Raises:
        ValueError: there is no such distribution.

    Examples:
        >>> rp.random((1000, 1000), density=0.001, seed=1).shape
        (1000, 1000)
        >>> rp.random((3,), distribution="integers", parameters=(0, 10)).dtype
        redpoll.int64
    """
    name = None if dtype is None else _as_dtype(dtype).name
    return current_session().random(
        shape, density=density, distribution=distribution, parameters=parameters, dtype=name, format=format, seed=seed
    )


def read(
    path: str | _PathLike[str],
    *,
    dtype: _DTypeLike | None = None,
    columns: _Sequence[str] | None = None,
    values: str | None = None,
    vertices_per_mode: _Bool = False,
) -> Array:
    """Read an array from a file, such as `.npy`, `.npz`, `.mtx` or `.csv`.

    The dtype is that of the file unless another one is given. A `.csv` or `.tsv` file is an edge
    list: `columns` names the columns of the coordinates, mode by mode, and `values` the column of
    the values. By default, both modes of a matrix have the same vertices, as in a graph, so the
    matrix is square. `vertices_per_mode=True` numbers the vertices of each mode separately, as for
    users and items. Values at equal coordinates are added.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: the file is malformed, its format is not supported, it lacks a column, or a value
            does not fit the dtype; only 0 and 1 fit `bool`.

    Examples:
        >>> rp.read("datasets/data/davis.mtx").shape
        (18, 14)
        >>> rp.read("datasets/data/davis.mtx", dtype=rp.float32).dtype
        redpoll.float32
    """
    name = None if dtype is None else _as_dtype(dtype).name
    return current_session().read(
        path, dtype=name, columns=columns, values=values, vertices_per_mode=vertices_per_mode
    )


def sample(name: str) -> Array:
    """Return a small real data set that ships with redpoll, such as `karate`.

    Raises:
        KeyError: there is no such data set.

    Examples:
        >>> rp.sample("karate").shape
        (34, 34)
    """
    return current_session().sample(name)
