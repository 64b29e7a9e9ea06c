"""Computations of everyday code: texts, features, graphs."""

import numpy as np
import scipy.sparse as sp

from workload import workload

TEXTS = ("uniform/1e5", "power/1e6", "press")
GRAPHS = ("power/1e5", "power/1e6", "facebook", "dblp")


def tf_idf(a):
    """Weigh counts by the logarithm of inverse document frequencies, and scale rows to length 1."""
    frequencies = (a > 0).sum(axis=0)
    weights = np.log((1.0 + a.shape[0]) / (1.0 + frequencies)) + 1.0
    weighted = a * weights
    return weighted / np.sqrt((weighted * weighted).sum(axis=1))[:, None]


def tf_idf_scipy(a):
    frequencies = np.bincount(a.indices, minlength=a.shape[1])
    weights = np.log((1.0 + a.shape[0]) / (1.0 + frequencies)) + 1.0
    weighted = a * weights
    norms = np.sqrt((weighted * weighted).sum(axis=1))
    return sp.diags_array(_inverse(norms)) @ weighted


def _inverse(values):
    """Return the inverses of values, and 0 for zeros."""
    return np.divide(1.0, values, out=np.zeros_like(values, float), where=values != 0)


def normalized(a):
    """Scale each row to the sum 1."""
    return a / a.sum(axis=1)[:, None]


def normalized_scipy(a):
    return sp.diags_array(_inverse(a.sum(axis=1))) @ a


def page_rank_step(a, x):
    """Return one step of PageRank over the links from columns to rows."""
    return 0.85 * (a @ x) + 0.15 / x.shape[0]


def cosine_similarity(a):
    """Return the cosines between rows that share a column."""
    unit = a / np.sqrt((a * a).sum(axis=1))[:, None]
    return unit @ unit.T


def cosine_similarity_scipy(a):
    unit = sp.diags_array(_inverse(np.sqrt((a * a).sum(axis=1)))) @ a
    return unit @ unit.T


def laplacian(a):
    """Return the Laplacian of the undirected graph of a matrix."""
    graph = a + a.T
    return np.diag(graph.sum(axis=1)) - graph


def laplacian_redpoll(a):
    import redpoll

    graph = a + a.T
    return redpoll.eye(a.shape[0]) * graph.sum(axis=1) - graph


def laplacian_scipy(a):
    graph = a + a.T
    return sp.diags_array(graph.sum(axis=1), format="csr") - graph


def laplacian_sparse(a):
    import sparse

    graph = a + a.T
    return sparse.diagonalize(sparse.COO.from_numpy(graph.sum(axis=1).todense())) - graph


def standardized_sums(a):
    """Return the sums of rows after each column is divided by its standard deviation plus 0.001."""
    count = a.shape[0]
    mean = a.sum(axis=0) / count
    deviation = np.sqrt((a * a).sum(axis=0) / count - mean * mean) + 1e-3
    return (a * (1.0 / deviation)).sum(axis=1)


def _safely(function):
    """Return a function of NumPy that divides by zeros as redpoll does: 0 / 0 is 0."""

    def call(*operands):
        with np.errstate(all="ignore"):
            return np.nan_to_num(function(*operands), nan=0.0)

    return call


def _sparse_scaled(a, factors):
    return a * factors[:, None]


def tf_idf_sparse(a):
    frequencies = (a > 0).sum(axis=0).todense()
    weighted = a * (np.log((1.0 + a.shape[0]) / (1.0 + frequencies)) + 1.0)
    return _sparse_scaled(weighted, _inverse(np.sqrt((weighted * weighted).sum(axis=1).todense())))


def normalized_sparse(a):
    return _sparse_scaled(a, _inverse(a.sum(axis=1).todense()))


def cosine_similarity_sparse(a):
    unit = _sparse_scaled(a, _inverse(np.sqrt((a * a).sum(axis=1).todense())))
    return unit @ unit.T


def standardized_sums_sparse(a):
    count = a.shape[0]
    mean = a.sum(axis=0).todense() / count
    deviation = np.sqrt((a * a).sum(axis=0).todense() / count - mean * mean) + 1e-3
    return (a * (1.0 / deviation)).sum(axis=1)


WORKLOADS = (
    workload(
        "everyday/TF-IDF",
        "A",
        tf_idf,
        TEXTS,
        scipy=tf_idf_scipy,
        numpy=_safely(tf_idf),
        sparse=tf_idf_sparse,
        first=("uniform/1e5",),
    ),
    workload(
        "everyday/rows to sum 1",
        "A",
        normalized,
        TEXTS,
        scipy=normalized_scipy,
        numpy=_safely(normalized),
        sparse=normalized_sparse,
        first=("uniform/1e5",),
    ),
    workload("everyday/PageRank step", "A x", page_rank_step, GRAPHS, layout="gcxs", first=("power/1e5",)),
    workload(
        "everyday/cosine similarity",
        "A",
        cosine_similarity,
        ("uniform/1e3", "power/1e5", "press"),
        scipy=cosine_similarity_scipy,
        numpy=_safely(cosine_similarity),
        sparse=cosine_similarity_sparse,
        first=("uniform/1e3",),
    ),
    workload(
        "everyday/graph Laplacian",
        "A",
        laplacian,
        ("uniform/1e3", *GRAPHS),
        redpoll=laplacian_redpoll,
        scipy=laplacian_scipy,
        sparse=laplacian_sparse,
        first=("power/1e5",),
    ),
    workload(
        "everyday/scaled features",
        "A",
        standardized_sums,
        TEXTS,
        sparse=standardized_sums_sparse,
    ),
    workload(
        "everyday/common neighbours",
        "L",
        lambda a: a.astype(np.float64) @ a.T.astype(np.float64),
        ("uniform/1e3", "power/1e5", "facebook"),
        layout="gcxs",
    ),
    workload("everyday/degrees", "L", lambda a: a.sum(axis=0) + a.sum(axis=1), GRAPHS),
    workload(
        "everyday/power iteration step",
        "A x",
        lambda a, x: (a @ x) / np.sqrt(((a @ x) ** 2).sum()),
        GRAPHS,
        layout="gcxs",
    ),
)
