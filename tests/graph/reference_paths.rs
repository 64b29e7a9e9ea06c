//! Reference implementations for the programs `delta_stepping.rp`, `betweenness.rp`,
//! `closeness.rp`, `strong_components.rp`, `spanning_forest.rp`, `independent_set.rp`,
//! `coloring.rp` and `matching.rp`: plain loops that follow the definitions, by other algorithms
//! than the programs where there is a choice.
//!
//! A graph has for each vertex the list of its edges, sorted by target: the target and the weight.
//! An undirected graph lists each edge at both ends, with equal weights.

/// Returns the distance of each vertex from the source, infinite if there is no path: all edges are
/// relaxed once for each vertex (Bellman and Ford). Lengths must not be negative.
pub(crate) fn shortest_distances(graph: &[Vec<(usize, f64)>], source: i64) -> Vec<f64> {
    let mut distance = vec![f64::INFINITY; graph.len()];
    if let Some(start) = vertex(source, graph.len()) {
        distance[start] = 0.0;
    }
    for _ in 0..graph.len() {
        for (v, edges) in graph.iter().enumerate() {
            for (w, length) in edges {
                let offer = distance[v] + length;
                if offer < distance[*w] {
                    distance[*w] = offer;
                }
            }
        }
    }
    distance
}

/// Returns whether `parent` describes shortest paths. From every vertex with a finite distance, the
/// parents must lead to the source, over edges whose length is exactly the difference of the
/// distances of their ends. The parent of the source, and of each vertex with an infinite distance,
/// must be -1.
pub(crate) fn is_shortest_path_tree(
    graph: &[Vec<(usize, f64)>],
    source: i64,
    distance: &[f64],
    parent: &[i64],
) -> bool {
    let n = graph.len();
    (0..n).all(|v| {
        if vertex(source, n) == Some(v) || distance[v].is_infinite() {
            return parent[v] == -1;
        }
        let Some(p) = vertex(parent[v], n) else { return false };
        let tight = graph[p].iter().any(|(w, length)| *w == v && distance[p] + length == distance[v]);
        let mut at = v;
        for _ in 0..n {
            if let Some(next) = vertex(parent[at], n) {
                at = next;
            }
        }
        tight && vertex(source, n) == Some(at)
    })
}

/// Returns the betweenness of each vertex by its definition: the sum, over the sources `s` and all
/// vertices `t`, of the share of the shortest paths from `s` to `t` that pass through the vertex.
pub(crate) fn betweenness(graph: &[Vec<(usize, f64)>], sources: &[i64]) -> Vec<f64> {
    let n = graph.len();
    let from: Vec<(Vec<i64>, Vec<f64>)> = (0..n).map(|s| levels_and_paths(graph, s)).collect();
    let mut centrality = vec![0.0; n];
    for s in sources.iter().filter_map(|s| vertex(*s, n)) {
        for t in (0..n).filter(|t| *t != s && from[s].0[*t] >= 0) {
            for v in (0..n).filter(|v| *v != s && *v != t && from[s].0[*v] >= 0 && from[*v].0[t] >= 0) {
                if from[s].0[v] + from[v].0[t] == from[s].0[t] {
                    centrality[v] += from[s].1[v] * from[v].1[t] / from[s].1[t];
                }
            }
        }
    }
    centrality
}

/// Returns for each source the number of other vertices that it reaches, the sum of their
/// distances, and its closeness (Wasserman and Faust).
pub(crate) fn closeness(graph: &[Vec<(usize, f64)>], sources: &[i64]) -> (Vec<i64>, Vec<i64>, Vec<f64>) {
    let n = graph.len();
    let mut results = (Vec::new(), Vec::new(), Vec::new());
    for source in sources {
        let levels = vertex(*source, n).map_or_else(Vec::new, |s| levels_and_paths(graph, s).0);
        let reached = levels.iter().filter(|level| **level > 0).count() as i64;
        let total: i64 = levels.iter().filter(|level| **level > 0).sum();
        results.0.push(reached);
        results.1.push(total);
        results.2.push(if reached == 0 {
            0.0
        } else {
            (reached as f64 / total as f64) * (reached as f64 / (n as f64 - 1.0))
        });
    }
    results
}

/// Returns the smallest vertex of the strongly connected component of each vertex, by the
/// transitive closure (Warshall).
pub(crate) fn strong_components(graph: &[Vec<(usize, f64)>]) -> Vec<i64> {
    let n = graph.len();
    let mut reaches = vec![vec![false; n]; n];
    for (v, edges) in graph.iter().enumerate() {
        reaches[v][v] = true;
        for (w, _) in edges {
            reaches[v][*w] = true;
        }
    }
    for k in 0..n {
        let through = reaches[k].clone();
        for row in reaches.iter_mut().filter(|row| row[k]) {
            for (reached, also) in row.iter_mut().zip(&through) {
                *reached |= *also;
            }
        }
    }
    (0..n).map(|v| (0..=v).find(|u| reaches[*u][v] && reaches[v][*u]).unwrap_or(v) as i64).collect()
}

/// Returns the edges of the minimum spanning forest of an undirected graph, each with its smaller
/// end first, sorted by ends (Kruskal). The graph may list an edge at one end only; if the weights
/// at both ends differ, the smaller one counts. Edges of equal weight are taken by their smaller
/// end, then by their larger end.
pub(crate) fn spanning_forest(graph: &[Vec<(usize, f64)>]) -> Vec<(usize, usize, f64)> {
    let mut edges = Vec::new();
    for (v, list) in graph.iter().enumerate() {
        edges.extend(list.iter().map(|(w, weight)| (v.min(*w), v.max(*w), *weight)));
    }
    let by_weight = |a: f64, b: f64| a.partial_cmp(&b).unwrap_or(std::cmp::Ordering::Equal);
    edges.sort_by(|a, b| by_weight(a.2, b.2).then((a.0, a.1).cmp(&(b.0, b.1))));
    let mut tree: Vec<usize> = (0..graph.len()).collect();
    let mut forest = Vec::new();
    for (v, w, weight) in edges {
        let (joined, kept) = (tree[v], tree[w]);
        if joined != kept {
            forest.push((v, w, weight));
            for t in &mut tree {
                if *t == joined {
                    *t = kept;
                }
            }
        }
    }
    forest.sort_by_key(|(v, w, _)| (*v, *w));
    forest
}

/// Returns the hash of a vertex in `independent_set.rp` and `coloring.rp`.
pub(crate) fn hash(v: usize, seed: i64) -> u64 {
    let x = (v as i64).wrapping_add(seed).wrapping_add(1) as u64;
    let x = x.wrapping_mul(11_400_714_819_323_198_485);
    let y = (x ^ (x >> 32)).wrapping_mul(15_241_094_284_759_029_579);
    y ^ (y >> 32)
}

/// Returns the independent set that takes the vertices in the order of their hashes, except for
/// neighbours of taken vertices.
pub(crate) fn independent_set(graph: &[Vec<(usize, f64)>], seed: i64) -> Vec<bool> {
    let mut order: Vec<usize> = (0..graph.len()).collect();
    order.sort_by_key(|v| hash(*v, seed));
    let mut member = vec![false; graph.len()];
    for v in order {
        member[v] = !graph[v].iter().any(|(w, _)| *w != v && member[*w]);
    }
    member
}

/// Returns the coloring that gives each vertex the smallest color that no neighbour has, in the
/// order of degrees, largest first; vertices of equal degree are in the order of their hashes.
pub(crate) fn coloring(graph: &[Vec<(usize, f64)>], seed: i64) -> Vec<i64> {
    let degree = |v: usize| graph[v].iter().filter(|(w, _)| *w != v).count();
    let mut order: Vec<usize> = (0..graph.len()).collect();
    order.sort_by_key(|v| (std::cmp::Reverse(degree(*v)), hash(*v, seed)));
    let mut color = vec![-1; graph.len()];
    for v in order {
        let free = |c: &i64| !graph[v].iter().any(|(w, _)| *w != v && color[*w] == *c);
        let smallest = (0..).find(free).unwrap_or(-1);
        color[v] = smallest;
    }
    color
}

/// Returns the size of a maximum matching of a bipartite graph, by one depth-first search for an
/// augmenting path per row (Kuhn). `rows` has the edges of each row to columns.
pub(crate) fn matching_size(rows: &[Vec<(usize, f64)>], columns: usize) -> usize {
    fn augment(rows: &[Vec<(usize, f64)>], i: usize, row_of: &mut [Option<usize>], visited: &mut [bool]) -> bool {
        for (j, _) in &rows[i] {
            if visited[*j] {
                continue;
            }
            visited[*j] = true;
            let is_free = match row_of[*j] {
                Some(k) => augment(rows, k, row_of, visited),
                None => true,
            };
            if is_free {
                row_of[*j] = Some(i);
                return true;
            }
        }
        false
    }
    let mut row_of = vec![None; columns];
    (0..rows.len()).filter(|i| augment(rows, *i, &mut row_of, &mut vec![false; columns])).count()
}

/// Returns whether `column` and `row` describe a matching: `column` has the column of each row,
/// `row` has the row of each column, and both have -1 where there is no partner. They must be
/// inverse to each other, and use only edges of the graph.
pub(crate) fn is_matching(rows: &[Vec<(usize, f64)>], column: &[i64], row: &[i64]) -> bool {
    let matched = |i: usize| match vertex(column[i], row.len()) {
        Some(j) => row[j] == i as i64 && rows[i].iter().any(|(k, _)| *k == j),
        None => column[i] == -1,
    };
    let inverse = |j: usize| match vertex(row[j], column.len()) {
        Some(i) => column[i] == j as i64,
        None => row[j] == -1,
    };
    (0..column.len()).all(matched) && (0..row.len()).all(inverse)
}

/// Returns the number as a vertex, `None` if it is out of bounds.
fn vertex(number: i64, n: usize) -> Option<usize> {
    usize::try_from(number).ok().filter(|v| *v < n)
}

/// Returns the number of edges of a shortest path from the source to each vertex, -1 if there is no
/// path, and the number of shortest paths.
fn levels_and_paths(graph: &[Vec<(usize, f64)>], source: usize) -> (Vec<i64>, Vec<f64>) {
    let (mut level, mut paths) = (vec![-1; graph.len()], vec![0.0; graph.len()]);
    level[source] = 0;
    paths[source] = 1.0;
    let mut queue = std::collections::VecDeque::from([source]);
    while let Some(v) = queue.pop_front() {
        for (w, _) in &graph[v] {
            if level[*w] == -1 {
                level[*w] = level[v] + 1;
                queue.push_back(*w);
            }
            if level[*w] == level[v] + 1 {
                paths[*w] += paths[v];
            }
        }
    }
    (level, paths)
}
