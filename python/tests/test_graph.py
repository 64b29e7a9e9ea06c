"""The graph algorithms, which are compared with networkx, SciPy and direct definitions."""

import numpy as np
import pytest
from scipy.sparse import csgraph

import redpoll as rp

nx = pytest.importorskip("networkx")


def graphs(directed):
    """Return graphs with isolated vertices, components, cycles and leaves, and weights of edges."""
    kind = nx.DiGraph if directed else nx.Graph
    found = [
        nx.gnp_random_graph(60, 0.04, seed=1, directed=directed), nx.gnp_random_graph(40, 0.2, seed=2, directed=directed),
        nx.path_graph(7, create_using=kind), nx.empty_graph(3, create_using=kind), nx.empty_graph(0, create_using=kind),
    ]  # fmt: skip
    for seed, graph in enumerate(found):
        rng = np.random.default_rng(seed)
        for edge in graph.edges:
            graph.edges[edge]["weight"] = float(rng.integers(1, 20))
    return found


def adjacency(graph, weight=None):
    if len(graph) == 0:
        return rp.zeros((0, 0))
    return rp.asarray(nx.to_scipy_sparse_array(graph, weight=weight, dtype=float, format="csr"))


def with_loops(graph):
    """Return a copy of a graph with self-loops at every third vertex."""
    graph = graph.copy()
    graph.add_edges_from(((v, v) for v in list(graph)[::3]), weight=1.0)
    return graph


def by_vertex(values):
    """Return the values of a dictionary of networkx in the order of the vertices."""
    return [values[v] for v in sorted(values)]


def sources(graph):
    """Return the first vertices of a graph."""
    return list(graph)[:3]


def near(array, expected):
    np.testing.assert_allclose(np.asarray(array), expected, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("graph", graphs(directed=True))
def test_bfs(graph):
    a = adjacency(graph)
    for source in sources(graph):
        levels = nx.single_source_shortest_path_length(graph, source)
        parent, level = rp.graph.bfs(a, source)
        assert level.tolist() == [levels.get(v, -1) for v in graph]
        before = {v: [u for u in graph.predecessors(v) if levels.get(u, -2) == levels[v] - 1] for v in levels}
        expected = [-1 if v not in levels else v if v == source else min(before[v]) for v in graph]
        assert parent.tolist() == expected
        for direction in ("push", "pull"):
            assert rp.graph.bfs_parents(a, source, direction=direction).tolist() == expected


@pytest.mark.parametrize("graph", graphs(directed=True))
@pytest.mark.parametrize("options", [None, {}, {"delta": 0.5}, {"delta": 100}])
def test_paths_from_a_vertex(graph, options):
    a = adjacency(graph, "weight")
    for source in sources(graph):
        lengths = nx.single_source_dijkstra_path_length(graph, source)
        distance, parent = (
            rp.graph.shortest_paths(a, source) if options is None else rp.graph.delta_stepping(a, source, **options)
        )
        assert distance.tolist() == [lengths.get(v, np.inf) for v in graph]
        for v, before in enumerate(parent.tolist()):
            if before >= 0:
                assert lengths[v] == lengths[before] + graph.edges[before, v]["weight"]
            else:
                assert v == source or v not in lengths


@pytest.mark.parametrize("graph", graphs(directed=True))
def test_all_pairs(graph):
    if len(graph):
        near(rp.graph.all_pairs(adjacency(graph, "weight")), nx.floyd_warshall_numpy(graph))
    else:
        assert rp.graph.all_pairs(adjacency(graph)).shape == (0, 0)


def test_negative_lengths():
    lengths = rp.asarray([[0.0, 4.0, 5.0], [0.0, 0.0, 0.0], [0.0, -3.0, 0.0]])
    assert rp.graph.shortest_paths(lengths, 0).distance.tolist() == [0.0, 2.0, 5.0]
    assert rp.graph.all_pairs(lengths).tolist() == [[0.0, 2.0, 5.0], [np.inf, 0.0, np.inf], [np.inf, -3.0, 0.0]]
    with pytest.raises(ValueError, match="at least 0"):
        rp.graph.delta_stepping(lengths, 0)
    cycle = rp.asarray([[0.0, 1.0], [-2.0, 0.0]])
    for call in (lambda: rp.graph.shortest_paths(cycle, 0), lambda: rp.graph.all_pairs(cycle)):
        with pytest.raises(ValueError, match="negative length is reachable from the vertex 0"):
            call()


@pytest.mark.parametrize("directed", [False, True])
def test_centralities_by_paths(directed):
    for graph in graphs(directed):
        a = adjacency(graph)
        # networkx counts each pair of vertices of an undirected graph once.
        scale = 1.0 if directed else 2.0
        between = by_vertex(nx.betweenness_centrality(graph, normalized=False))
        near(rp.graph.betweenness(a), np.multiply(between, scale))
        subset = sources(graph)
        between = by_vertex(nx.betweenness_centrality_subset(graph, subset, list(graph)))
        near(rp.graph.betweenness(a, subset), np.multiply(between, scale))
        # networkx has the distances to a vertex.
        close = nx.closeness_centrality(graph.reverse() if directed else graph)
        near(rp.graph.closeness(a), by_vertex(close))
        near(rp.graph.closeness(a, np.array(subset[::-1], np.int32)), [close[v] for v in subset[::-1]])


@pytest.mark.parametrize("graph", [*graphs(directed=True), *graphs(directed=False)])
def test_components(graph):
    a = adjacency(with_loops(graph))
    parts = nx.weakly_connected_components(graph) if graph.is_directed() else nx.connected_components(graph)
    smallest = {v: min(part) for part in parts for v in part}
    assert rp.graph.components(a).tolist() == by_vertex(smallest)
    smallest = {v: min(part) for part in nx.strongly_connected_components(graph.to_directed()) for v in part}
    assert rp.graph.strong_components(a).tolist() == by_vertex(smallest)


def test_components_need_edges_in_one_direction_only():
    assert rp.graph.components(rp.triu(rp.sample("karate"))).tolist() == [0] * 34


@pytest.mark.parametrize("weighted", [False, True])
def test_pagerank(weighted):
    for graph in graphs(directed=True):
        expected = nx.pagerank(graph, tol=1e-12, weight="weight" if weighted else None, max_iter=500)
        ranks = rp.graph.pagerank(adjacency(graph, "weight"), tolerance=1e-12, weighted=weighted, max_rounds=500)
        near(ranks, by_vertex(expected))
    with pytest.raises(ValueError, match="settled"):
        rp.graph.pagerank(rp.sample("karate"), tolerance=0.0, max_rounds=3, weighted=weighted)
    with pytest.raises(ValueError, match="damping"):
        rp.graph.pagerank(rp.sample("karate"), damping=1.5, weighted=weighted)


def test_personalized_pagerank():
    options = {"tolerance": 1e-12, "max_rounds": 500}
    for graph in graphs(directed=True):
        preference = {v: float(v % 3) for v in graph}
        ranks = rp.graph.personalized_pagerank(adjacency(graph, "weight"), list(preference.values()), **options)
        if len(graph):
            near(ranks, by_vertex(nx.pagerank(graph, personalization=preference, weight=None, tol=1e-12, max_iter=500)))
        assert rp.graph.personalized_pagerank(adjacency(graph), rp.zeros((len(graph),))).tolist() == [0.0] * len(graph)
    with pytest.raises(ValueError, match="an element for each of 34 vertices"):
        rp.graph.personalized_pagerank(rp.sample("karate"), [1.0])


def test_hits():
    # In the first graph, the largest singular value of the matrix is simple.
    graph = graphs(directed=True)[1]
    hubs, authorities = rp.graph.hits(adjacency(graph, "weight"), tolerance=1e-12, max_rounds=1000)
    nx.set_edge_attributes(graph, 1.0, "weight")
    expected = [np.array(by_vertex(scores)) for scores in nx.hits(graph)]
    near(hubs, expected[0] / np.linalg.norm(expected[0]))
    near(authorities, expected[1] / np.linalg.norm(expected[1]))
    hubs, authorities = rp.graph.hits(rp.zeros((2, 2)))
    assert (hubs.tolist(), authorities.tolist()) == ([0.0, 0.0], [0.0, 0.0])
    with pytest.raises(ValueError, match="settled"):
        rp.graph.hits(rp.sample("karate"), max_rounds=1)


def test_katz():
    for graph in graphs(directed=True):
        alpha = 1 / (1 + max((degree for _, degree in graph.in_degree), default=0))
        scores = rp.graph.katz(adjacency(graph, "weight"), alpha=alpha, beta=2, tolerance=1e-13, max_rounds=10_000)
        dense = nx.to_numpy_array(graph, weight=None)
        near(scores, np.linalg.solve(np.eye(len(graph)) - alpha * dense.T, np.full(len(graph), 2.0)))
    with pytest.raises(ValueError, match="settled"):
        rp.graph.katz(rp.sample("karate"), alpha=0.5)


@pytest.mark.parametrize("graph", graphs(directed=False))
def test_cores_and_trusses(graph):
    a = adjacency(with_loops(graph), "weight")
    assert rp.graph.k_core(a).tolist() == by_vertex(nx.core_number(graph))
    truss = np.asarray(rp.graph.k_truss(a))
    for k in range(2, 6):
        edges = {tuple(sorted(edge)) for edge in nx.k_truss(graph, k).edges}
        assert {(int(i), int(j)) for i, j in np.argwhere(np.triu(truss) >= k)} == edges
    np.testing.assert_array_equal(truss, truss.T)


@pytest.mark.parametrize("graph", graphs(directed=False))
def test_triangles(graph):
    a = adjacency(with_loops(graph), "weight")
    coefficient, triangles = rp.graph.clustering(a)
    near(coefficient, by_vertex(nx.clustering(graph)))
    assert triangles.tolist() == by_vertex(nx.triangles(graph))
    assert rp.graph.triangles(a) == sum(triangles.tolist()) // 3


@pytest.mark.parametrize("graph", graphs(directed=True))
def test_clustering_of_directed_graphs(graph):
    expected, counts = [], []
    for v in graph:
        near_v = (set(graph.predecessors(v)) | set(graph.successors(v))) - {v}
        arcs = sum(graph.has_edge(u, w) for u in near_v for w in near_v)
        pairs = len(near_v) * (len(near_v) - 1)
        expected.append(arcs / pairs if pairs else 0.0)
        counts.append(sum(graph.has_edge(u, w) or graph.has_edge(w, u) for u in near_v for w in near_v if u < w))
    coefficient, triangles = rp.graph.clustering(adjacency(with_loops(graph)))
    near(coefficient, expected)
    assert triangles.tolist() == counts


@pytest.mark.parametrize("rounds", [0, 1, 5])
def test_label_propagation(rounds):
    for graph in graphs(directed=True):
        labels = list(graph)
        for _ in range(rounds):
            votes = [[labels[u] for u in (*graph.predecessors(v), *graph.successors(v))] for v in graph]
            labels = [
                min(set(one), key=lambda label, one=one: (-one.count(label), label)) if one else labels[v]
                for v, one in enumerate(votes)
            ]
        assert rp.graph.label_propagation(adjacency(graph), max_rounds=rounds).tolist() == labels


@pytest.mark.parametrize("resolution", [0.5, 1.0, 2.0])
@pytest.mark.parametrize("graph", graphs(directed=False))
def test_louvain(graph, resolution):
    community, count, modularity = rp.graph.louvain(adjacency(with_loops(graph), "weight"), resolution=resolution)
    labels = community.tolist()
    assert list(dict.fromkeys(labels)) == list(range(count))
    # networkx counts a self-loop twice in the degree of its vertex.
    dense = nx.to_numpy_array(with_loops(graph)) if len(graph) else np.zeros((0, 0))
    total, degrees = dense.sum(), dense.sum(axis=1)

    def quality(labels):
        equal = np.equal.outer(labels, labels)
        return ((dense - resolution * np.outer(degrees, degrees) / total) * equal).sum() / total if total else 0.0

    assert modularity == pytest.approx(quality(np.array(labels)))
    # No union of two communities increases the modularity.
    for one in range(count):
        for other in range(one):
            assert quality(np.where(np.equal(labels, one), other, labels)) <= modularity + 1e-7


def test_communities_of_louvain():
    cliques = nx.ring_of_cliques(6, 5)
    assert rp.graph.louvain(adjacency(cliques)).community.tolist() == [v // 5 for v in range(30)]


@pytest.mark.parametrize("graph", graphs(directed=False))
def test_similarity(graph):
    jaccard, cosine = rp.graph.similarity(adjacency(graph, "weight"))
    expected, cosines = np.zeros((len(graph),) * 2), np.zeros((len(graph),) * 2)
    for u, v, share in nx.jaccard_coefficient(graph, graph.edges):
        expected[u, v] = expected[v, u] = share
        common = len(list(nx.common_neighbors(graph, u, v)))
        cosines[u, v] = cosines[v, u] = common / np.sqrt(graph.degree(u) * graph.degree(v))
    near(jaccard, expected)
    near(cosine, cosines)


@pytest.mark.parametrize("seed", [0, 1, -5])
@pytest.mark.parametrize("graph", graphs(directed=False))
def test_independent_sets_and_colors(graph, seed):
    a = adjacency(with_loops(graph), "weight")
    members = {v for v, is_member in enumerate(rp.graph.independent_set(a, seed=seed).tolist()) if is_member}
    assert all(members.isdisjoint(graph[v]) == (v in members) for v in graph)
    color, colors = rp.graph.coloring(a, seed=seed)
    color = color.tolist()
    assert colors == len(set(color)) and all(color[u] != color[v] for u, v in graph.edges)
    # No vertex could have a smaller color.
    assert all(set(range(color[v])) <= {color[u] for u in graph[v]} for v in graph)


def test_seeds_change_selections():
    a = adjacency(nx.cycle_graph(40))
    sets = {tuple(rp.graph.independent_set(a, seed=seed).tolist()) for seed in range(5)}
    assert len(sets) == 5
    assert len({tuple(rp.graph.coloring(a, seed=seed).color.tolist()) for seed in range(5)}) == 5


@pytest.mark.parametrize("graph", graphs(directed=False))
def test_spanning_forest(graph):
    forest, total, edges = rp.graph.spanning_forest(adjacency(with_loops(graph), "weight"))
    expected = nx.minimum_spanning_tree(graph)
    assert (total, edges) == (expected.size("weight"), expected.number_of_edges())
    found = nx.from_numpy_array(np.asarray(forest))
    assert len(graph) == 0 or (nx.is_forest(found) and found.number_of_edges() == edges)
    assert all(graph.edges[u, v]["weight"] == weight for u, v, weight in found.edges(data="weight"))


@pytest.mark.parametrize("shape", [(0, 4), (4, 0), (1, 5), (9, 7), (30, 40)])
@pytest.mark.parametrize("density", [0.05, 0.15, 0.5])
def test_matching(shape, density, rng):
    dense = rng.random(shape) < density
    column, row, size = rp.graph.matching(dense)
    pairs = [(i, j) for i, j in enumerate(column.tolist()) if j >= 0]
    assert pairs == sorted((i, j) for j, i in enumerate(row.tolist()) if i >= 0)
    assert len(pairs) == size and all(dense[pair] for pair in pairs)
    expected = csgraph.maximum_bipartite_matching(rp.asarray(dense).to_scipy()) if dense.size else np.zeros(0)
    assert size == np.count_nonzero(expected >= 0)


#: A call of each function, with the arguments after the matrix.
CALLS = {
    "all_pairs": (), "betweenness": (), "bfs": (0,), "bfs_parents": (0,), "closeness": (), "clustering": (),
    "coloring": (), "components": (), "delta_stepping": (0,), "hits": (), "independent_set": (), "k_core": (),
    "k_truss": (), "katz": (), "label_propagation": (), "louvain": (), "matching": (), "pagerank": (),
    "personalized_pagerank": ([1.0] * 8,), "shortest_paths": (0,), "similarity": (), "spanning_forest": (),
    "strong_components": (), "triangles": (),
}  # fmt: skip


def values(result):
    """Return a result as numbers and NumPy arrays."""
    fields = result if isinstance(result, tuple) else (result,)
    return [np.asarray(one).astype(float) if isinstance(one, rp.Array) else one for one in fields]


def test_every_function_has_a_call():
    assert set(CALLS) == {name for name in rp.graph.__all__ if name.islower()}


@pytest.mark.parametrize("fill", [np.inf, 5.0, -1.0])
@pytest.mark.parametrize("format", ["csr", "csc", "coo", "dense"])
@pytest.mark.parametrize("name", CALLS)
def test_fill_values_and_formats(name, format, fill):
    """The elements with the fill value are no edges, in every format."""
    dense = nx.to_numpy_array(nx.gnp_random_graph(8, 0.4, seed=3), weight=None) * 2.0
    function, arguments = getattr(rp.graph, name), CALLS[name]
    expected = values(function(dense, *arguments))
    array = rp.asarray(np.where(dense == 0, fill, dense)).refill(fill).reformat(format)
    assert array.fill_value == fill
    found = values(function(array, *arguments))
    if name == "spanning_forest":
        found[0][found[0] == fill] = 0.0
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12)


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint64", "float32"])
@pytest.mark.parametrize("name", CALLS)
def test_dtypes(name, dtype):
    dense = nx.to_numpy_array(nx.gnp_random_graph(8, 0.4, seed=3), weight=None)
    function, arguments = getattr(rp.graph, name), CALLS[name]
    found = values(function(dense.astype(dtype), *arguments))
    for one, other in zip(found, values(function(dense, *arguments)), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12)


@pytest.mark.parametrize("name", CALLS)
def test_graphs_are_square(name):
    function, arguments = getattr(rp.graph, name), CALLS[name]
    shape = (3,) if name == "matching" else (2, 3)
    with pytest.raises(ValueError, match="matrix"):
        function(rp.zeros(shape), *arguments)


def test_vertices_exist():
    two = rp.zeros((2, 2))
    for name in ("bfs", "bfs_parents", "shortest_paths", "delta_stepping"):
        for source in (5, -1):
            with pytest.raises(IndexError, match=f"vertex {source}"):
                getattr(rp.graph, name)(two, source)
        with pytest.raises(TypeError):
            getattr(rp.graph, name)(two, 0.5)
    for name in ("betweenness", "closeness"):
        with pytest.raises(IndexError, match="vertex 2"):
            getattr(rp.graph, name)(two, [0, 2])
        assert getattr(rp.graph, name)(two, []).shape == ((2,) if name == "betweenness" else (0,))
    for delta in (0, -1.0, np.nan):
        with pytest.raises(ValueError, match="delta"):
            rp.graph.delta_stepping(two, 0, delta=delta)
