"""Programs in Notation text, and the graph algorithms, which are compared with networkx."""

import numpy as np
import pytest

import redpoll as rp

nx = pytest.importorskip("networkx")

DOUBLE = "(program (input A (shape n)) (input k f64 2.0) (output y (shape n) f64 0.0) (for i (= (y i) (* k (A i)))))"


def test_inputs_are_keywords():
    program = rp.Program(DOUBLE)
    assert program.inputs == ("A", "k")
    assert program(A=[1.0, 2.0])["y"].tolist() == [2.0, 4.0]
    assert program(A=rp.asarray([1.0, 2.0]) + 1, k=3.0)["y"].tolist() == [6.0, 9.0]


def test_programs_without_arrays():
    program = rp.Program("(program (input k i64 2) (output y i64) (+= y (* k 3)))")
    assert program()["y"].item() == 6


def test_errors_of_programs():
    with pytest.raises(ValueError, match="line 2, column 24"):
        rp.Program("(program\n  (input A (shape 0 1) f99))")
    program = rp.Program(DOUBLE)
    with pytest.raises(TypeError, match="no input `B`"):
        program(B=[1.0])
    with pytest.raises(TypeError, match="needs the input `A`"):
        program()
    with pytest.raises(ValueError, match="modes"):
        program(A=[[1.0]])
    unknown = rp.Program("(program (input A (shape n)) (output y f64)\n  (for i (+= y (B i))))")
    with pytest.raises(ValueError, match="line 2"):
        unknown(A=[1.0])


def graphs(directed):
    """Return graphs with isolated vertices, components, cycles and leaves."""
    yield nx.gnp_random_graph(60, 0.04, seed=1, directed=directed)
    yield nx.gnp_random_graph(40, 0.2, seed=2, directed=directed)
    yield nx.path_graph(7, create_using=nx.DiGraph if directed else nx.Graph)
    yield nx.empty_graph(3, create_using=nx.DiGraph if directed else nx.Graph)


def adjacency(graph, weight=None):
    return rp.asarray(nx.to_scipy_sparse_array(graph, weight=weight, dtype=float, format="csr"))


def test_bfs():
    for graph in graphs(directed=True):
        levels = nx.single_source_shortest_path_length(graph, 0)
        parent, level = rp.graph.bfs(adjacency(graph), 0)
        assert level.tolist() == [levels.get(v, -1) for v in graph]
        before = {v: [u for u in graph.predecessors(v) if levels.get(u, -2) == levels[v] - 1] for v in levels}
        expected = [-1 if v not in levels else v if v == 0 else min(before[v]) for v in graph]
        assert parent.tolist() == expected
        for direction in ("push", "pull"):
            assert rp.graph.bfs_parents(adjacency(graph), 0, direction=direction).tolist() == expected


def test_shortest_paths():
    for seed, graph in enumerate(graphs(directed=True)):
        rng = np.random.default_rng(seed)
        for edge in graph.edges:
            graph.edges[edge]["length"] = float(rng.integers(1, 20))
        lengths = nx.single_source_dijkstra_path_length(graph, 0, weight="length")
        distance, parent = rp.graph.shortest_paths(adjacency(graph, "length"), 0)
        assert distance.tolist() == [lengths.get(v, np.inf) for v in graph]
        for v, before in enumerate(parent.tolist()):
            if before >= 0:
                assert lengths[v] == lengths[before] + graph.edges[before, v]["length"]
            else:
                assert v == 0 or v not in lengths


def test_negative_cycles_are_errors():
    lengths = rp.asarray([[0.0, 1.0], [-2.0, 0.0]])
    with pytest.raises(ValueError, match="negative"):
        rp.graph.shortest_paths(lengths, 0)


def test_undirected_graphs():
    for graph in graphs(directed=False):
        a = adjacency(graph)
        smallest = {v: min(part) for part in nx.connected_components(graph) for v in part}
        assert rp.graph.components(a).tolist() == [smallest[v] for v in graph]
        cores = nx.core_number(graph)
        assert rp.graph.k_core(a).tolist() == [cores[v] for v in graph]
        assert rp.graph.triangles(a) == sum(nx.triangles(graph).values()) // 3


@pytest.mark.parametrize("weighted", [False, True])
def test_pagerank(weighted):
    for seed, graph in enumerate(graphs(directed=True)):
        rng = np.random.default_rng(seed)
        for edge in graph.edges:
            graph.edges[edge]["weight"] = float(rng.integers(1, 5))
        expected = nx.pagerank(graph, tol=1e-12, weight="weight" if weighted else None, max_iter=500)
        ranks = rp.graph.pagerank(adjacency(graph, "weight"), tolerance=1e-12, weighted=weighted, max_rounds=500)
        np.testing.assert_allclose(np.asarray(ranks), [expected[v] for v in graph], atol=1e-9)
    with pytest.raises(ValueError, match="settled"):
        rp.graph.pagerank(rp.sample("karate"), tolerance=0.0, max_rounds=3)


@pytest.mark.parametrize("fill", [np.inf, 5.0, -1.0])
@pytest.mark.parametrize("weighted", [False, True])
def test_fill_values_are_no_edges_of_pagerank(weighted, fill):
    weights = np.array([[0.0, 2.0, 1.0], [0.0, 0.0, 3.0], [0.0, 0.0, 0.0]])
    expected = rp.graph.pagerank(weights, weighted=weighted)
    array = rp.full((3, 3), fill)
    for i, j in np.argwhere(weights):
        array[int(i), int(j)] = weights[i, j]
    assert array.fill_value == fill
    np.testing.assert_allclose(np.asarray(rp.graph.pagerank(array, weighted=weighted)), np.asarray(expected))


def test_graphs_are_square_and_have_the_source():
    with pytest.raises(ValueError, match="square"):
        rp.graph.components(rp.zeros((2, 3)))
    with pytest.raises(IndexError, match="vertex 5"):
        rp.graph.bfs(rp.zeros((2, 2)), 5)
