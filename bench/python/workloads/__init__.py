"""The workloads of the suite, a file for each group."""

from workload import Workload

from . import calls, chains, everyday, indexing, products, reductions, shapes, ufuncs

WORKLOADS: tuple[Workload, ...] = (
    *calls.WORKLOADS,
    *ufuncs.WORKLOADS,
    *reductions.WORKLOADS,
    *indexing.WORKLOADS,
    *shapes.WORKLOADS,
    *products.WORKLOADS,
    *everyday.WORKLOADS,
    *chains.WORKLOADS,
)
