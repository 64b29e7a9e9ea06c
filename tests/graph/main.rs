//! The functions of `redpoll::graph`, compared with reference implementations on random graphs:
//! directed and undirected, of 0 to 12 vertices, with self-loops, several formats, dtypes and fill
//! values.

mod reference_communities;
mod reference_paths;

use redpoll::graph::{self, GraphError, Stopping};
use redpoll::prelude::*;
use redpoll_testing::rng::Rng;
use reference_communities as communities;
use reference_paths as paths;

/// Adjacency lists, sorted by target.
type Lists = Vec<Vec<(usize, f64)>>;

/// A random graph as lists and as an array.
struct RandomGraph {
    lists: Lists,
    array: Array,
}

/// Draws a graph whose weights are small positive whole numbers. An undirected graph has each edge
/// in both directions.
fn draw(session: &Session, rng: &mut Rng, is_directed: bool) -> RandomGraph {
    let n = rng.index(13);
    let (density, loops) = (rng.index(60), rng.index(2) == 0);
    let mut weights = vec![vec![None; n]; n];
    for (v, w) in (0..n).flat_map(|v| (0..n).map(move |w| (v, w))) {
        let exists = rng.index(100) < density && (loops || v != w);
        if exists && (is_directed || v <= w) {
            let weight = (1 + rng.index(6)) as f64;
            weights[v][w] = Some(weight);
            if !is_directed {
                weights[w][v] = Some(weight);
            }
        }
    }
    let list = |row: &Vec<Option<f64>>| row.iter().enumerate().filter_map(|(w, x)| x.map(|x| (w, x))).collect();
    let lists: Lists = weights.iter().map(list).collect();
    RandomGraph { array: adjacency(session, rng, (n, n), &lists), lists }
}

/// Returns the matrix of edges, with a random fill value, dtype and format.
fn adjacency(session: &Session, rng: &mut Rng, (rows, columns): (usize, usize), lists: &Lists) -> Array {
    let fill = *rng.pick(&[0.0, 7.0, -1.0]);
    let mut values = vec![fill; rows * columns];
    for (v, list) in lists.iter().enumerate() {
        list.iter().for_each(|(w, x)| values[v * columns + w] = *x);
    }
    let prim = *rng.pick(&[Prim::F64, Prim::F32, Prim::I64, Prim::I8]);
    let fill = Scalar::F64(fill).cast(prim).expect("a small whole number");
    let array = session.dense([rows as u64, columns as u64], values).astype(prim).refill(fill);
    match rng.index(4) {
        0 => array,
        1 => array.to_csr(),
        2 => array.to_csc(),
        _ => array.to_coo(),
    }
}

/// Calls `check` with random graphs.
fn check_graphs(is_directed: bool, check: impl Fn(&RandomGraph, &mut Rng) -> Result<(), Error>) {
    let cases = std::env::var("REDPOLL_CASES").ok().and_then(|v| v.parse().ok()).unwrap_or(40);
    let session = Session::default();
    for seed in 0..cases {
        let mut rng = Rng::new(seed);
        let graph = draw(&session, &mut rng, is_directed);
        check(&graph, &mut rng).unwrap_or_else(|e| panic!("seed {seed}: {:?}: {e}", graph.lists));
    }
}

fn near(found: &[f64], expected: &[f64]) -> bool {
    found.len() == expected.len() && found.iter().zip(expected).all(|(a, b)| a == b || (a - b).abs() < 1e-9)
}

#[test]
fn searches_and_paths_agree() {
    check_graphs(true, |RandomGraph { lists, array }, rng| {
        let n = lists.len();
        let all: Vec<i64> = (0..n as i64).collect();
        let sources = || all.iter().map(|v| v.unsigned_abs());
        assert!(near(&graph::betweenness(array, sources())?.to_vec::<f64>()?, &paths::betweenness(lists, &all)));
        assert!(near(&graph::closeness(array, sources())?.to_vec::<f64>()?, &paths::closeness(lists, &all).2));
        let strong = graph::strong_components(array)?;
        assert_eq!(strong.component.to_vec::<i64>()?, paths::strong_components(lists));
        let weak = graph::components(array)?;
        assert_eq!(weak.component.to_vec::<i64>()?, communities::weak_components(lists));
        for components in [strong, weak] {
            let mut roots = components.component.to_vec::<i64>()?;
            roots.sort_unstable();
            roots.dedup();
            assert_eq!(components.count, roots.len() as u64);
        }
        let pairs = graph::all_pairs(array)?.to_vec::<f64>()?;
        for source in 0..n {
            let expected = paths::shortest_distances(lists, source as i64);
            let delta = (rng.index(2) == 0).then(|| 1.0 + rng.index(8) as f64);
            for found in
                [graph::shortest_paths(array, source as u64)?, graph::delta_stepping(array, source as u64, delta)?]
            {
                let (distance, parent) = (found.distance.to_vec::<f64>()?, found.parent.to_vec::<i64>()?);
                assert_eq!(distance, expected);
                assert!(paths::is_shortest_path_tree(lists, source as i64, &distance, &parent), "{parent:?}");
            }
            let found: Vec<f64> = (0..n).map(|t| pairs[source * n + t]).collect();
            assert_eq!(found, expected);
            // With edges of length 1, distances are levels.
            let unit: Lists = lists.iter().map(|list| list.iter().map(|(w, _)| (*w, 1.0)).collect()).collect();
            let search = graph::bfs(array, source as u64)?;
            let (level, mut parent) = (search.level.to_vec::<i64>()?, search.parent.to_vec::<i64>()?);
            let distance: Vec<f64> = level.iter().map(|l| if *l < 0 { f64::INFINITY } else { *l as f64 }).collect();
            assert_eq!(distance, paths::shortest_distances(&unit, source as i64));
            assert_eq!(parent[source], source as i64);
            parent[source] = -1;
            assert!(paths::is_shortest_path_tree(&unit, source as i64, &distance, &parent), "{parent:?}");
        }
        Ok(())
    });
}

#[test]
fn rankings_agree() {
    let iteration = |tolerance, max_rounds| communities::Iteration { tolerance, max_rounds };
    check_graphs(true, |RandomGraph { lists, array }, rng| {
        let n = lists.len();
        let stopping = Stopping { tolerance: 1e-9, max_rounds: 1 + rng.index(40) as u64 };
        let reference = || iteration(stopping.tolerance, stopping.max_rounds as i64);
        let ranking = graph::pagerank(array, 0.85, stopping)?;
        let expected = communities::pagerank(lists, 0.85, reference());
        assert!(near(&ranking.scores.to_vec::<f64>()?, &expected.values));
        assert_eq!((ranking.rounds as i64, ranking.converged), (expected.rounds, expected.converged));
        let preference: Vec<f64> = (0..n).map(|_| rng.index(3) as f64).collect();
        let session = array.session();
        let found = graph::personalized_pagerank(array, &session.vector(preference.clone()), 0.5, stopping)?;
        let expected = communities::personalized_pagerank(lists, &preference, 0.5, reference());
        assert!(near(&found.scores.to_vec::<f64>()?, &expected.values));
        let found = graph::hits(array, stopping)?;
        let (expected, authorities) = communities::hits(lists, reference());
        assert!(near(&found.hubs.to_vec::<f64>()?, &expected.values));
        assert!(near(&found.authorities.to_vec::<f64>()?, &authorities));
        let alpha = 1.0 / (2.0 * n.max(1) as f64);
        let found = graph::katz(array, alpha, 2.0, Stopping { tolerance: 1e-13, max_rounds: 10_000 })?;
        assert!(found.converged && near(&found.scores.to_vec::<f64>()?, &communities::katz(lists, alpha, 2.0)));
        Ok(())
    });
}

#[test]
fn directed_communities_agree() {
    check_graphs(true, |RandomGraph { lists, array }, rng| {
        let rounds = rng.index(6);
        let found = graph::label_propagation(array, rounds as u64)?.to_vec::<i64>()?;
        assert_eq!(found, communities::label_propagation(lists, rounds as i64));
        let (coefficient, triangles) = communities::clustering(lists);
        let found = graph::clustering(array)?;
        assert!(near(&found.coefficient.to_vec::<f64>()?, &coefficient));
        assert_eq!(found.triangles.to_vec::<i64>()?, triangles);
        let found = graph::similarity(array)?;
        let (jaccard, cosine) = (found.jaccard.to_vec::<f64>()?, found.cosine.to_vec::<f64>()?);
        let expected = communities::similarities(lists);
        for (k, (jaccard, cosine)) in jaccard.iter().zip(&cosine).enumerate() {
            let edge = (k / lists.len(), k % lists.len());
            let (a, b) = expected.get(&edge).copied().unwrap_or_default();
            assert!(near(&[*jaccard, *cosine], &[a, b]), "{edge:?}");
        }
        Ok(())
    });
}

#[test]
fn undirected_communities_agree() {
    check_graphs(false, |RandomGraph { lists, array }, _| {
        let n = lists.len();
        let expected = communities::truss_numbers(lists);
        for (k, truss) in graph::k_truss(array)?.to_vec::<i64>()?.into_iter().enumerate() {
            assert_eq!(truss, expected.get(&(k / n, k % n)).copied().unwrap_or_default());
        }
        let triangles = communities::clustering(lists).1.iter().sum::<i64>() / 3;
        assert_eq!(graph::triangles(array)?, triangles.unsigned_abs());
        assert_eq!(graph::k_core(array)?.to_vec::<i64>()?, core_numbers(lists));
        check_louvain(lists, array)
    });
}

/// Returns the core numbers by their definition: for each `k`, vertices with fewer than `k`
/// neighbours are removed until none is left to remove.
fn core_numbers(lists: &Lists) -> Vec<i64> {
    let mut core = vec![0; lists.len()];
    for k in 1..lists.len() {
        let mut alive = vec![true; lists.len()];
        loop {
            let degree = |v: usize| lists[v].iter().filter(|(w, _)| *w != v && alive[*w]).count();
            let Some(v) = (0..lists.len()).find(|v| alive[*v] && degree(*v) < k) else { break };
            alive[v] = false;
        }
        (0..lists.len()).filter(|v| alive[*v]).for_each(|v| core[v] = k as i64);
    }
    core
}

/// Checks that the reported modularity is that of the communities, and is at least the modularity
/// of the first level. Also checks that communities are numbered from 0 in the order of their
/// smallest vertices.
fn check_louvain(lists: &Lists, array: &Array) -> Result<(), Error> {
    let found = graph::louvain(array, 1.0)?;
    let community = found.community.to_vec::<i64>()?;
    let total: f64 = lists.iter().flatten().map(|(_, weight)| weight).sum();
    let modularity = |community: &[i64]| match total {
        0.0 => 0.0,
        total => communities::scaled_modularity(lists, community, 1.0) / (total * total),
    };
    assert!(near(&[found.modularity], &[modularity(&community)]));
    let first_level = communities::louvain_level(lists, 1.0, 100).0;
    assert!(found.modularity >= modularity(&first_level) - 1e-9);
    let mut next = 0;
    for number in community {
        assert!(number <= next);
        next = next.max(number + 1);
    }
    assert_eq!(found.count, next.unsigned_abs());
    Ok(())
}

#[test]
fn selections_agree() {
    check_graphs(false, |RandomGraph { lists, array }, rng| {
        let seed = rng.index(1000) as i64 - 500;
        assert_eq!(graph::independent_set(array, seed)?.to_vec::<bool>()?, paths::independent_set(lists, seed));
        let coloring = graph::coloring(array, seed)?;
        let color = coloring.color.to_vec::<i64>()?;
        assert_eq!(coloring.colors as i64, color.iter().max().map_or(0, |c| c + 1));
        assert_eq!(color, paths::coloring(lists, seed));
        let expected = paths::spanning_forest(lists);
        let forest = graph::spanning_forest(array)?;
        assert_eq!(forest.count, expected.len() as u64);
        assert!(near(&[forest.total], &[expected.iter().map(|(.., weight)| weight).sum::<f64>()]));
        let fill = array.fill()?.cast(Prim::F64).expect("a number");
        let stored = forest.forest.astype(Prim::F64).to_vec::<f64>()?;
        for (k, weight) in stored.iter().enumerate() {
            let (v, w) = (k / lists.len(), k % lists.len());
            let edge = expected.iter().find(|(a, b, _)| (*a, *b) == (v.min(w), v.max(w)));
            assert_eq!(Scalar::F64(*weight), edge.map_or(fill.clone(), |(.., weight)| Scalar::F64(*weight)));
        }
        Ok(())
    });
}

#[test]
fn matchings_are_largest() {
    let session = Session::default();
    for seed in 0..60 {
        let mut rng = Rng::new(seed);
        let (rows, columns, density) = (rng.index(10), rng.index(10), rng.index(60));
        let row = |_| (0..columns).filter(|_| rng.index(100) < density).map(|j| (j, 2.0)).collect();
        let lists: Lists = (0..rows).map(row).collect();
        let array = adjacency(&session, &mut rng, (rows, columns), &lists);
        let found = graph::matching(&array).unwrap();
        let (column, row) = (found.column.to_vec::<i64>().unwrap(), found.row.to_vec::<i64>().unwrap());
        assert!(paths::is_matching(&lists, &column, &row), "seed {seed}");
        assert_eq!(found.count as usize, paths::matching_size(&lists, columns), "seed {seed}");
    }
}

/// The loops over the vertices of an empty graph have no rounds, and the loops around them end.
#[test]
fn graphs_without_vertices_are_accepted() {
    let empty = Session::default().dense([0, 0], Vec::<f64>::new());
    assert!(graph::k_core(&empty).unwrap().to_vec::<i64>().unwrap().is_empty());
    assert_eq!(graph::components(&empty).unwrap().count, 0);
    assert_eq!(graph::strong_components(&empty).unwrap().count, 0);
    assert_eq!(graph::coloring(&empty, 0).unwrap().colors, 0);
    assert_eq!(graph::independent_set(&empty, 0).unwrap().shape().unwrap(), [0]);
    assert_eq!(graph::spanning_forest(&empty).unwrap().count, 0);
    assert_eq!(graph::matching(&empty).unwrap().count, 0);
    assert_eq!(graph::louvain(&empty, 1.0).unwrap().count, 0);
    assert_eq!(graph::k_truss(&empty).unwrap().shape().unwrap(), [0, 0]);
    assert!(graph::pagerank(&empty, 0.85, Stopping::default()).unwrap().scores.to_vec::<f64>().unwrap().is_empty());
}

#[test]
fn wrong_inputs_are_errors() {
    let session = Session::default();
    let rectangle = session.zeros([2, 3], Prim::F64);
    let error = graph::k_core(&rectangle).unwrap_err().to_string();
    assert_eq!(error, "`k_core` takes a square adjacency matrix, found shape [2, 3]");
    let edges = session.triples([2, 2], Format::csr(), [([0, 1], -2.0), ([1, 0], 1.0)]);
    let error = graph::bfs(&edges, 2).unwrap_err().to_string();
    assert_eq!(error, "`bfs` got the vertex 2, but the graph has 2 vertices, numbered from 0");
    for result in [graph::shortest_paths(&edges, 1).map(drop), graph::all_pairs(&edges).map(drop)] {
        assert!(matches!(result, Err(Error::Graph(GraphError::NegativeCycle { .. }))), "{result:?}");
    }
    let error = graph::delta_stepping(&edges, 0, None).unwrap_err().to_string();
    assert_eq!(error, "`adjacency` of `delta_stepping` must be at least 0, found -2");
    let error = graph::pagerank(&edges, 1.5, Stopping::default()).unwrap_err().to_string();
    assert_eq!(error, "`damping` of `pagerank` must be between 0 and 1, found 1.5");
    let preference = session.vector([1.0]);
    let error = graph::personalized_pagerank(&edges, &preference, 0.5, Stopping::default()).unwrap_err().to_string();
    assert!(error.contains("one for each vertex, found shape [1]"), "{error}");
}
