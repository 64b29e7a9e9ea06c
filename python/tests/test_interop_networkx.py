"""The backend of networkx: its functions return the same values as networkx, in the same order."""

import os
import subprocess
import sys
import tomllib
from pathlib import Path

import numpy as np
import pytest

import redpoll

nx = pytest.importorskip("networkx", reason="networkx is not installed")

from redpoll import _networkx as backend  # noqa: E402


def graphs():
    """Return graphs of every kind: with loops, weights, parallel edges, several components, no
    edges."""
    rng = np.random.default_rng(0)
    karate = nx.karate_club_graph()
    parts = nx.disjoint_union_all([nx.path_graph(40), nx.cycle_graph(5), nx.complete_graph(6), nx.empty_graph(2)])
    parts = nx.relabel_nodes(parts, {k: f"n{(k * 7) % 53}" for k in range(53)})
    sparse = nx.gnp_random_graph(60, 0.05, seed=2)
    directed = nx.gnp_random_graph(40, 0.08, seed=1, directed=True)
    for one in (sparse, directed):
        nx.set_edge_attributes(one, {edge: int(rng.integers(1, 9)) for edge in one.edges}, "weight")
    loops = sparse.copy()
    loops.add_edge(3, 3, weight=2)
    multi = nx.MultiDiGraph([(0, 1), (0, 1), (1, 2), (2, 0), (3, 0)])
    empty = nx.Graph()
    return {
        "karate": karate, "parts": parts, "sparse": sparse, "directed": directed, "loops": loops, "multi": multi,
        "multi undirected": nx.MultiGraph(multi), "empty": empty, "one": nx.empty_graph(1),
    }  # fmt: skip


GRAPHS = graphs()
CALLS = {
    "pagerank": [{}, {"alpha": 0.7}, {"weight": None}], "degree_centrality": [{}], "in_degree_centrality": [{}],
    "out_degree_centrality": [{}], "eigenvector_centrality": [{"max_iter": 2000}, {"max_iter": 2000, "weight": "weight"}],
    "katz_centrality": [{"alpha": 0.02}, {"alpha": 0.01, "weight": "weight", "normalized": False}], "triangles": [{}],
    "clustering": [{}, {"weight": "weight"}], "average_clustering": [{}, {"count_zeros": False}], "transitivity": [{}],
    "connected_components": [{}], "number_connected_components": [{}], "is_connected": [{}], "core_number": [{}],
    "weakly_connected_components": [{}], "number_weakly_connected_components": [{}], "is_weakly_connected": [{}],
    "strongly_connected_components": [{}], "number_strongly_connected_components": [{}], "is_strongly_connected": [{}],
    "betweenness_centrality": [{}, {"normalized": False}], "closeness_centrality": [{}],
}  # fmt: skip
FROM_A_SOURCE = {
    "single_source_shortest_path_length": [{}, {"cutoff": 2}], "bfs_layers": [{}],
    "descendants_at_distance": [{"distance": 2}, {"distance": 99}],
    "single_source_dijkstra_path_length": [{}, {"cutoff": 3}, {"weight": "none"}],
    "single_source_bellman_ford_path_length": [{}], "closeness_centrality": [{}],
}  # fmt: skip


#: Functions whose results are sets in another order than that of networkx.
UNORDERED = {"strongly_connected_components"}


def outcome(function, *args, **kwargs):
    """Return the result of a function, with generators as lists, or the class of its exception."""
    try:
        result = function(*args, **kwargs)
        return list(result) if hasattr(result, "__next__") else result
    except (nx.NetworkXException, ZeroDivisionError, ValueError) as error:
        return type(error)


def check(name, graph, *args, **kwargs):
    """Compare a function of the backend with the function of networkx."""
    if backend.can_run(name, (graph, *args), kwargs) is not True:
        pytest.skip("the backend leaves such graphs to networkx")
    expected = outcome(getattr(nx, name), graph, *args, **kwargs)
    if expected in (nx.NetworkXNotImplemented, nx.PowerIterationFailedConvergence) and name != "core_number":
        pytest.skip("networkx has no result")
    converted = backend.convert_from_nx(graph, edge_attrs={kwargs.get("weight") or "weight": 1})
    result = outcome(getattr(backend, name), converted, *args, **kwargs)
    if isinstance(expected, dict):
        assert set(result) == set(expected)
        values = [result[node] for node in expected]
        assert {type(one) for one in values} <= {type(one) for one in expected.values()} | {float}
        np.testing.assert_allclose(values, list(expected.values()), rtol=1e-9, atol=1e-12)
    elif name in UNORDERED:
        assert sorted(map(sorted, result)) == sorted(map(sorted, expected))
    elif isinstance(expected, float):
        assert result == pytest.approx(expected)
    else:
        assert result == expected


@pytest.mark.parametrize("graph", GRAPHS)
@pytest.mark.parametrize(("name", "options"), [(name, one) for name, all_ in CALLS.items() for one in all_])
def test_functions_of_graphs(name, options, graph):
    check(name, GRAPHS[graph], **options)


@pytest.mark.parametrize("graph", [name for name in GRAPHS if name != "empty"])
@pytest.mark.parametrize(("name", "options"), [(name, one) for name, all_ in FROM_A_SOURCE.items() for one in all_])
def test_functions_of_a_source(name, options, graph):
    check(name, GRAPHS[graph], next(iter(GRAPHS[graph])), **options)


def test_orders_are_those_of_networkx():
    for name in ("karate", "parts", "directed", "loops"):
        graph = GRAPHS[name]
        converted, source = backend.convert_from_nx(graph, edge_attrs={"weight": 1}), list(graph)[-1]
        for function in ("single_source_shortest_path_length", "pagerank", "core_number"):
            if function == "core_number" and name == "loops":
                continue
            args = (source,) if function.startswith("single") else ()
            assert list(getattr(backend, function)(converted, *args)) == list(getattr(nx, function)(graph, *args))


def test_parts_of_nodes_and_other_options():
    graph = GRAPHS["karate"]
    converted = backend.convert_from_nx(graph)
    assert backend.triangles(converted, 0) == nx.triangles(graph, 0)
    assert backend.triangles(converted, [1, 5]) == nx.triangles(graph, [1, 5])
    assert backend.clustering(converted, [1, 5]) == pytest.approx(nx.clustering(graph, [1, 5]))
    weighted = backend.convert_from_nx(graph, edge_attrs={"weight": 1})
    for options in (
        {"personalization": {0: 1.0, 3: 2.0}}, {"nstart": {5: 1.0}}, {"dangling": {1: 1.0}}, {"tol": 1e-12},
    ):  # fmt: skip
        assert backend.pagerank(weighted, **options) == pytest.approx(nx.pagerank(graph, **options))
    with pytest.raises(nx.PowerIterationFailedConvergence):
        backend.pagerank(weighted, max_iter=1)
    with pytest.raises(nx.NodeNotFound):
        backend.single_source_shortest_path_length(converted, "nobody")
    with pytest.raises(nx.NodeNotFound):
        backend.closeness_centrality(converted, "nobody")
    beta = {node: float(node) for node in graph}
    assert backend.katz_centrality(converted, 0.02, beta) == pytest.approx(nx.katz_centrality(graph, 0.02, beta))


def test_negative_weights():
    graph = nx.DiGraph()
    graph.add_weighted_edges_from([(0, 1, 4.0), (0, 2, 5.0), (2, 1, -3.0)])
    converted = backend.convert_from_nx(graph, edge_attrs={"weight": 1})
    assert backend.single_source_bellman_ford_path_length(converted, 0) == {0: 0.0, 1: 2.0, 2: 5.0}
    with pytest.raises(ValueError, match="Contradictory"):
        backend.single_source_dijkstra_path_length(converted, 0)
    graph.add_edge(1, 0, weight=-9.0)
    with pytest.raises(nx.NetworkXUnbounded):
        backend.single_source_bellman_ford_path_length(backend.convert_from_nx(graph, edge_attrs={"weight": 1}), 0)


@pytest.mark.parametrize("name", ["karate", "directed", "loops", "multi", "multi undirected", "empty"])
def test_graphs_come_back(name):
    graph = GRAPHS[name]
    back = backend.convert_to_nx(backend.convert_from_nx(graph, preserve_edge_attrs=True))
    assert type(back) is type(graph) and list(back) == list(graph)
    assert nx.utils.edges_equal(back.edges(data=True), graph.edges(data=True), directed=graph.is_directed())
    converted = backend.convert_from_nx(graph)
    assert (len(converted), converted.number_of_edges()) == (len(graph), graph.number_of_edges())


SCRIPT = """
import networkx as nx
graph = nx.gnp_random_graph(300, 0.1, seed=1)
assert "redpoll" in nx.utils.backends.backends
expected = nx.pagerank(graph, backend="networkx")
result = nx.pagerank(graph, backend="redpoll")
assert max(abs(result[node] - expected[node]) for node in graph) < 1e-9
assert nx.triangles(graph, backend="redpoll") == nx.triangles(graph, backend="networkx")
nx.config.backend_priority = ["redpoll"]
assert "redpoll" in nx.pagerank.backends
assert nx.core_number(graph) == nx.core_number(graph, backend="networkx")
assert isinstance(nx.clustering(graph), dict)
print("dispatched")
"""


def test_networkx_finds_the_backend(tmp_path):
    """The entry points of the package, in a fresh interpreter, dispatch calls to the backend."""
    project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())["project"]
    info = tmp_path / "redpoll_entry_points-0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: redpoll-entry-points\nVersion: 0\n")
    groups = project["entry-points"].items()
    lines = [f"[{group}]\n" + "".join(f"{name} = {at}\n" for name, at in points.items()) for group, points in groups]
    (info / "entry_points.txt").write_text("\n".join(lines))
    path = os.pathsep.join([str(Path(redpoll.__file__).parents[1]), str(tmp_path), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT], env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True
    )
    assert done.stdout.strip() == "dispatched", done.stderr


def test_should_run_spares_small_graphs():
    assert backend.should_run("pagerank", (GRAPHS["karate"],), {}) is not True
    assert backend.should_run("pagerank", (backend.convert_from_nx(GRAPHS["karate"]),), {}) is True
    assert backend.can_run("pagerank", (GRAPHS["karate"],), {"weight": lambda *_: 1}) is not True


def test_networkx_keeps_other_definitions():
    graph = GRAPHS["karate"]
    assert backend.can_run("betweenness_centrality", (graph, None, False), {"endpoints": False}) is True
    for args, kwargs in (((graph, 5), {}), ((graph,), {"weight": "weight"}), ((graph,), {"endpoints": True})):
        assert "implements only" in backend.can_run("betweenness_centrality", args, kwargs)
    for args, kwargs in (((graph, 0, "weight"), {}), ((graph,), {"wf_improved": False})):
        assert "implements only" in backend.can_run("closeness_centrality", args, kwargs)
