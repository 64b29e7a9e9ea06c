"""Redpoll: sparse and structured arrays, lazy and fused, with any fill value.

The package is the namespace of the Python Array API standard, version 2024.12::

    import redpoll as rp

    a = rp.asarray(scipy_or_numpy_array)
    b = (a @ a.T + 1).sum(axis=0)  # nothing is computed yet
    numpy.asarray(b)  # one fused kernel
"""

from math import e, inf, nan, pi

from ._array import Array
from ._core import Tensor, operator_names
from ._core import compute_all as _compute_all
from ._dtypes import (
    DType, bool, float32, float64, int8, int16, int32, int64, uint8, uint16, uint32, uint64,
)  # fmt: skip
from ._errors import AxisError, DensificationError
from ._interop.arrow import ArrowTable, Labels, from_arrow, to_arrow
from ._interop.graphblas import from_graphblas, to_graphblas
from ._interop.networkx import from_networkx, to_networkx
from ._interop.numpy import set_dense_limit
from ._interop.scipy import from_scipy, to_scipy
from ._interop.sparse import from_sparse, to_sparse
from ._namespace.creation import *
from ._namespace.data_types import *
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
from ._session import Session, current_session, use_session

__array_api_version__ = "2024.12"

newaxis = None


def compute(*arrays):
    """Compute several arrays in one plan, so that shared subexpressions are computed once."""
    _compute_all(list(arrays))
    return arrays


def random(shape, *, density=None, distribution="uniform", parameters=(0.0, 1.0), dtype=None, format=None, seed=0):
    """Draw an array of random numbers, which are the same on every machine.

    With a density, the array is sparse. The distribution is `uniform` (low, high), `normal` (mean,
    deviation) or `integers` (low, high), with its two parameters.
    """
    return current_session().random(
        shape, density=density, distribution=distribution, parameters=parameters, dtype=dtype, format=format, seed=seed
    )


def read(path):
    """Read an array from a file, such as `.npy`, `.npz` or `.mtx`."""
    return current_session().read(path)


def sample(name):
    """Return a small real data set that ships with redpoll, such as `karate`."""
    return current_session().sample(name)
