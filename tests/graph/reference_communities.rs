//! Reference implementations for the programs `pagerank.rp`, `personalized_pagerank.rp`, `cdlp.rp`,
//! `clustering.rp`, `k_truss.rp`, `louvain.rp`, `hits.rp`, `katz.rp`, `similarity.rp` and
//! `weak_components.rp`: plain loops that follow the definitions, by other algorithms than the
//! programs where there is a choice.
//!
//! A graph has for each vertex the list of its edges, sorted by target: the target and the weight.
//! An undirected graph lists each edge at both ends, with equal weights.

use std::collections::{BTreeMap, BTreeSet};

/// Parameters of an iteration that ends when its values change little.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Iteration {
    /// The largest sum of absolute changes after which the iteration ends.
    pub(crate) tolerance: f64,
    /// Maximum number of rounds.
    pub(crate) max_rounds: i64,
}

/// The result of an iteration.
#[derive(Clone, Debug)]
pub(crate) struct Converged {
    /// The values after the last round.
    pub(crate) values: Vec<f64>,
    /// The number of rounds.
    pub(crate) rounds: i64,
    /// Whether the last round changed the values by at most the tolerance.
    pub(crate) converged: bool,
}

/// Returns the PageRank of each vertex.
pub(crate) fn pagerank(graph: &[Vec<(usize, f64)>], damping: f64, iteration: Iteration) -> Converged {
    let preference = vec![1.0; graph.len()];
    personalized_pagerank(graph, &preference, damping, iteration)
}

/// Returns the PageRank of each vertex for walks that begin again at a vertex with a probability
/// proportional to its preference.
pub(crate) fn personalized_pagerank(
    graph: &[Vec<(usize, f64)>],
    preference: &[f64],
    damping: f64,
    iteration: Iteration,
) -> Converged {
    let total: f64 = preference.iter().sum();
    let start: Vec<f64> = preference.iter().map(|p| if total > 0.0 { p / total } else { 0.0 }).collect();
    iterate(start.clone(), iteration, |rank| {
        let dangling: f64 = (0..graph.len()).filter(|v| graph[*v].is_empty()).map(|v| rank[v]).sum();
        let next = |v: usize| {
            let sources = (0..graph.len()).filter(|u| has_edge(graph, *u, v));
            let received: f64 = sources.map(|u| rank[u] / graph[u].len() as f64).sum();
            (1.0 - damping) * start[v] + damping * (received + dangling * start[v])
        };
        (0..graph.len()).map(next).collect()
    })
}

/// Returns the hubs of all vertices, followed by the authorities of all vertices.
pub(crate) fn hits(graph: &[Vec<(usize, f64)>], iteration: Iteration) -> (Converged, Vec<f64>) {
    let n = graph.len();
    let scaled = |values: Vec<f64>| {
        let length = values.iter().map(|x| x * x).sum::<f64>().sqrt();
        values.into_iter().map(|x| if length > 0.0 { x / length } else { 0.0 }).collect::<Vec<f64>>()
    };
    let authorities = |hub: &[f64]| {
        let authority = |v: usize| (0..n).filter(|u| has_edge(graph, *u, v)).map(|u| hub[u]).sum::<f64>();
        scaled((0..n).map(authority).collect())
    };
    let mut authority = vec![0.0; n];
    let hubs = iterate(vec![1.0 / (n as f64).sqrt(); n], iteration, |hub| {
        authority = authorities(hub);
        let next = |u: usize| (0..n).filter(|v| has_edge(graph, u, *v)).map(|v| authority[v]).sum::<f64>();
        scaled((0..n).map(next).collect())
    });
    (hubs, authority)
}

/// Returns the Katz centrality of each vertex: the solution of the equations
/// `x[v] - alpha * (sum of x[u] over edges u -> v) = beta`, by elimination with row pivots. The
/// programs agree with this solution if `alpha` is less than the inverse of the largest eigenvalue.
pub(crate) fn katz(graph: &[Vec<(usize, f64)>], alpha: f64, beta: f64) -> Vec<f64> {
    let n = graph.len();
    // The last column is the right side.
    let mut rows = vec![vec![0.0; n + 1]; n];
    for (v, row) in rows.iter_mut().enumerate() {
        row[v] = 1.0;
        row[n] = beta;
    }
    for (u, edges) in graph.iter().enumerate() {
        for (v, _) in edges {
            rows[*v][u] -= alpha;
        }
    }
    for column in 0..n {
        let size = |row: usize| rows[row][column].abs();
        let pivot = (column..n).max_by(|a, b| size(*a).total_cmp(&size(*b))).unwrap_or(column);
        rows.swap(column, pivot);
        let pivot_row = rows[column].clone();
        for (v, row) in rows.iter_mut().enumerate() {
            if v != column {
                let factor = row[column] / pivot_row[column];
                for (x, p) in row.iter_mut().zip(&pivot_row) {
                    *x -= factor * p;
                }
            }
        }
    }
    (0..n).map(|v| rows[v][n] / rows[v][v]).collect()
}

/// Returns the labels after the given number of rounds of label propagation.
pub(crate) fn label_propagation(graph: &[Vec<(usize, f64)>], rounds: i64) -> Vec<i64> {
    let mut label: Vec<i64> = (0..graph.len() as i64).collect();
    for _ in 0..rounds {
        let mut votes: Vec<BTreeMap<i64, i64>> = vec![BTreeMap::new(); graph.len()];
        for (u, edges) in graph.iter().enumerate() {
            for (v, _) in edges {
                *votes[u].entry(label[*v]).or_insert(0) += 1;
                *votes[*v].entry(label[u]).or_insert(0) += 1;
            }
        }
        for (v, votes) in votes.iter().enumerate() {
            let most = votes.values().max();
            if let Some((winner, _)) = votes.iter().find(|(_, count)| Some(*count) == most) {
                label[v] = *winner;
            }
        }
    }
    label
}

/// Returns the local clustering coefficient and the number of triangles of each vertex, by testing
/// all pairs of neighbours.
pub(crate) fn clustering(graph: &[Vec<(usize, f64)>]) -> (Vec<f64>, Vec<i64>) {
    let (mut coefficients, mut triangles) = (Vec::new(), Vec::new());
    for v in 0..graph.len() {
        let is_neighbour = |u: &usize| *u != v && (has_edge(graph, v, *u) || has_edge(graph, *u, v));
        let neighbours: Vec<usize> = (0..graph.len()).filter(is_neighbour).collect();
        let (mut edges, mut joined) = (0_i64, 0_i64);
        for u in &neighbours {
            for w in neighbours.iter().filter(|w| *w > u) {
                let between = i64::from(has_edge(graph, *u, *w)) + i64::from(has_edge(graph, *w, *u));
                edges += between;
                joined += i64::from(between > 0);
            }
        }
        let degree = neighbours.len() as f64;
        coefficients.push(if degree > 1.0 { edges as f64 / (degree * (degree - 1.0)) } else { 0.0 });
        triangles.push(joined);
    }
    (coefficients, triangles)
}

/// Returns the truss number of each edge of an undirected graph, in both directions; self-loops
/// have none. For each k, edges in too few triangles are removed until none is left to remove.
pub(crate) fn truss_numbers(graph: &[Vec<(usize, f64)>]) -> BTreeMap<(usize, usize), i64> {
    let mut remaining = BTreeSet::new();
    for (u, edges) in graph.iter().enumerate() {
        remaining.extend(edges.iter().filter(|(v, _)| *v != u).map(|(v, _)| (u, *v)));
    }
    let mut truss = BTreeMap::new();
    let mut k = 2;
    while !remaining.is_empty() {
        truss.extend(remaining.iter().map(|edge| (*edge, k)));
        k += 1;
        loop {
            let in_triangle = |u: usize, v: usize, w: usize| remaining.contains(&(u, w)) && remaining.contains(&(v, w));
            let support = |u: usize, v: usize| (0..graph.len()).filter(|w| in_triangle(u, v, *w)).count() as i64;
            let kept: BTreeSet<(usize, usize)> =
                remaining.iter().copied().filter(|(u, v)| support(*u, *v) >= k - 2).collect();
            let is_stable = kept.len() == remaining.len();
            remaining = kept;
            if is_stable {
                break;
            }
        }
    }
    truss
}

/// Returns the modularity of a partition, multiplied by the square of the sum of all weights. The
/// result is exact if the weights and the resolution are small integers.
pub(crate) fn scaled_modularity(graph: &[Vec<(usize, f64)>], community: &[i64], resolution: f64) -> f64 {
    let (mut whole, mut inside) = (0.0_f64, 0.0_f64);
    let mut totals: BTreeMap<i64, f64> = BTreeMap::new();
    for (v, edges) in graph.iter().enumerate() {
        for (u, weight) in edges {
            whole += *weight;
            *totals.entry(community[v]).or_insert(0.0) += *weight;
            if community[v] == community[*u] {
                inside += *weight;
            }
        }
    }
    whole * inside - resolution * totals.values().map(|total| total * total).sum::<f64>()
}

/// Returns the communities and the number of moves of one level of the Louvain method on an
/// undirected graph, without a tolerance: each move is chosen by the modularity of the whole
/// partition. Communities are numbered in the order of their smallest vertices. The moves are exact
/// if the weights and the resolution are small integers.
pub(crate) fn louvain_level(graph: &[Vec<(usize, f64)>], resolution: f64, max_rounds: i64) -> (Vec<i64>, i64) {
    let mut community: Vec<i64> = (0..graph.len() as i64).collect();
    let (mut moves, mut rounds, mut has_moved) = (0, 0, true);
    while has_moved && rounds < max_rounds {
        has_moved = false;
        for v in 0..graph.len() {
            let home = community[v];
            let neighbours = graph[v].iter().filter(|(u, weight)| *u != v && *weight != 0.0);
            let candidates: BTreeSet<i64> = neighbours.map(|(u, _)| community[*u]).collect();
            let mut best = (scaled_modularity(graph, &community, resolution), home);
            for candidate in candidates {
                community[v] = candidate;
                let modularity = scaled_modularity(graph, &community, resolution);
                if modularity > best.0 {
                    best = (modularity, candidate);
                }
            }
            community[v] = best.1;
            if best.1 != home {
                moves += 1;
                has_moved = true;
            }
        }
        rounds += 1;
    }
    let mut numbers = BTreeMap::new();
    for c in &mut community {
        let next = numbers.len() as i64;
        *c = *numbers.entry(*c).or_insert(next);
    }
    (community, moves)
}

/// Returns the Jaccard and the cosine similarity of the ends of each edge.
pub(crate) fn similarities(graph: &[Vec<(usize, f64)>]) -> BTreeMap<(usize, usize), (f64, f64)> {
    let sets: Vec<BTreeSet<usize>> = graph.iter().map(|edges| edges.iter().map(|(v, _)| *v).collect()).collect();
    let mut all = BTreeMap::new();
    for (u, edges) in graph.iter().enumerate() {
        for (v, _) in edges {
            let common = sets[u].intersection(&sets[*v]).count() as f64;
            let jaccard = common / sets[u].union(&sets[*v]).count() as f64;
            let product = sets[u].len() as f64 * sets[*v].len() as f64;
            let cosine = if product > 0.0 { common / product.sqrt() } else { 0.0 };
            all.insert((u, *v), (jaccard, cosine));
        }
    }
    all
}

/// Returns the smallest vertex of the weakly connected component of each vertex: the ends of each
/// edge take the smaller of their numbers until nothing changes.
pub(crate) fn weak_components(graph: &[Vec<(usize, f64)>]) -> Vec<i64> {
    let mut component: Vec<i64> = (0..graph.len() as i64).collect();
    loop {
        let before = component.clone();
        for (u, edges) in graph.iter().enumerate() {
            for (v, _) in edges {
                let smaller = component[u].min(component[*v]);
                component[u] = smaller;
                component[*v] = smaller;
            }
        }
        if component == before {
            return component;
        }
    }
}

/// Applies `next` until the values change by at most the tolerance, or for the maximum number of
/// rounds.
fn iterate(start: Vec<f64>, iteration: Iteration, mut next: impl FnMut(&[f64]) -> Vec<f64>) -> Converged {
    let (mut values, mut rounds, mut change) = (start, 0, f64::INFINITY);
    while change > iteration.tolerance && rounds < iteration.max_rounds {
        let new = next(&values);
        change = new.iter().zip(&values).map(|(a, b)| (a - b).abs()).sum();
        values = new;
        rounds += 1;
    }
    Converged { values, rounds, converged: change <= iteration.tolerance }
}

fn has_edge(graph: &[Vec<(usize, f64)>], from: usize, to: usize) -> bool {
    graph[from].binary_search_by_key(&to, |(target, _)| *target).is_ok()
}
