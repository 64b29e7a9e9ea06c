"""Graph algorithms over adjacency matrices.

An element `a[i, j]` that differs from the fill value is an edge from `i` to `j`, and its length or
weight where an algorithm has these. Vertices are numbered from 0. Functions for undirected graphs
take matrices that store each edge in both directions.

Most functions run a program with explicit loops; the texts of the programs are in `programs/` of
the repository, and each begins with the definition that it follows. Others are expressions of
arrays. Results do not depend on the number of threads.
"""

from ._graph.communities import (
    ClusteringResult, LouvainResult, SimilarityResult, clustering, k_core, k_truss, label_propagation, louvain,
    similarity, triangles,
)  # fmt: skip
from ._graph.ranking import HitsResult, hits, katz, pagerank, personalized_pagerank
from ._graph.selection import (
    ColoringResult, MatchingResult, SpanningForestResult, coloring, independent_set, matching, spanning_forest,
)  # fmt: skip
from ._graph.traversal import (
    BfsResult, PathsResult, all_pairs, betweenness, bfs, bfs_parents, closeness, components, delta_stepping,
    shortest_paths, strong_components,
)  # fmt: skip

__all__ = [
    "BfsResult", "ClusteringResult", "ColoringResult", "HitsResult", "LouvainResult", "MatchingResult", "PathsResult",
    "SimilarityResult", "SpanningForestResult", "all_pairs", "betweenness", "bfs", "bfs_parents", "closeness",
    "clustering", "coloring", "components", "delta_stepping", "hits", "independent_set", "k_core", "k_truss", "katz",
    "label_propagation", "louvain", "matching", "pagerank", "personalized_pagerank", "shortest_paths", "similarity",
    "spanning_forest", "strong_components", "triangles",
]  # fmt: skip
