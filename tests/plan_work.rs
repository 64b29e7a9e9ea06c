//! Compares the work of optimized plans with the work of an expert's loops and of unoptimized
//! plans. The interpreter of Assembly counts rounds of loops.
//!
//! Tests of the optimizer check the form of these plans; the tests here run the plans on data.

use redpoll::Config;
use redpoll_logic::{Format, Scalar};
use redpoll_optimizer::{CostThreshold, OptimizerConfig, Subjects};
use redpoll_storage::Tensor;
use redpoll_testing::counted::{coordinates_by_row, count_with, dense, list, matrix, pattern, vector};
use redpoll_testing::rng::Rng;
use std::collections::BTreeSet;

/// The expected work of a plan.
struct Expert {
    /// The number of rounds of the innermost loops that an expert would write.
    rounds: u64,
    /// The minimum ratio of the rounds of the unoptimized plan to the rounds of the optimized plan;
    /// 0 if the unoptimized plan would take too long.
    gain: f64,
}

/// Checks that an optimized plan takes at most 64 rounds more than twice the innermost rounds of an
/// expert's loops. Unless `gain` is 0, also checks that the unoptimized plan takes at least `gain`
/// times the rounds of the optimized plan, and that both plans give the same results. Returns the
/// bytes that the optimized plan allocates.
fn check(name: &str, text: &str, inputs: &[(&str, Tensor)], expert: &Expert) -> u64 {
    let with = |subjects: Subjects| {
        let optimizer =
            OptimizerConfig { rewrite_threshold: CostThreshold(0.0), subjects, ..OptimizerConfig::default() };
        Config { optimizer, ..Config::default() }
    };
    let (found, results) = count_with(with(Subjects::default()), text, inputs);
    let max_rounds = 2 * expert.rounds + 64;
    assert!(found.iterations <= max_rounds, "{name}: {} rounds, expected at most {max_rounds}", found.iterations);
    if expert.gain > 0.0 {
        let (unoptimized, expected) = count_with(with(Subjects::none()), text, inputs);
        let gain = unoptimized.iterations as f64 / found.iterations as f64;
        assert!(gain >= expert.gain, "{name}: {} rounds instead of {}", found.iterations, unoptimized.iterations);
        for (found, expected) in results.iter().zip(&expected) {
            let [found, expected] = [found, expected].map(|t| t.to_dense_scalars().expect("values"));
            let number = |x: &Scalar| x.to_f64().expect("a number");
            let near = |(x, y): (f64, f64)| (x - y).abs() <= 1e-9 * y.abs();
            assert!(found.iter().map(number).zip(expected.iter().map(number)).all(near), "{name}");
        }
    }
    found.allocated_bytes
}

/// Returns a plan with an aggregate over a product.
fn aggregate(factors: &str, over: &str) -> String {
    format!("(plan (query R (aggregate + 0.0 (mapjoin * {factors}) {over})) (produces R))")
}

/// Returns an undirected graph without self-loops, with about `edges` edges.
fn graph(vertices: u64, edges: u64) -> (BTreeSet<(u64, u64)>, Tensor) {
    let mut rng = Rng::new(vertices);
    let mut found = BTreeSet::new();
    while (found.len() as u64) < 2 * edges {
        // The smaller of two random numbers, so that some vertices have many edges.
        let (a, b) = (rng.below(vertices).min(rng.below(vertices)), rng.below(vertices));
        if a != b {
            found.extend([(a, b), (b, a)]);
        }
    }
    let coordinates: Vec<[u64; 2]> = found.iter().map(|(a, b)| [*a, *b]).collect();
    let tensor = pattern([vertices; 2], &coordinates, Format::csr());
    (found, tensor)
}

/// Counts the pairs of an entry of `a` in column k and an entry of `b` in row k, over all k.
fn pairs(a: &[[u64; 2]], b: &[[u64; 2]]) -> u64 {
    let in_row = |k: u64| b.iter().filter(|p| p[0] == k).count() as u64;
    a.iter().map(|p| in_row(p[1])).sum()
}

/// Returns the cost of the cheapest order of a chain of products, by dynamic programming over
/// intervals.
fn cheapest_chain(sizes: &[u64]) -> u64 {
    let count = sizes.len() - 1;
    let mut best = vec![vec![0u64; count]; count];
    for length in 1..count {
        for first in 0..count - length {
            let last = first + length;
            let split = |k: usize| best[first][k] + best[k + 1][last] + sizes[first] * sizes[k + 1] * sizes[last + 1];
            best[first][last] = (first..last).map(split).min().expect("a chain has splits");
        }
    }
    best[0][count - 1]
}

#[test]
fn chains_take_the_rounds_of_the_cheapest_order() {
    let mut rng = Rng::new(7);
    for count in 3..=10usize {
        // One size in three is large.
        let sizes: Vec<u64> =
            (0..=count).map(|_| if rng.below(3) == 0 { 30 + rng.below(20) } else { 8 + rng.below(6) }).collect();
        let names: Vec<String> = (0..count).map(|k| format!("M{k}")).collect();
        let factors: String = (0..count).map(|k| format!("(table M{k} x{k} x{}) ", k + 1)).collect();
        let over: String = (1..count).map(|k| format!("x{k} ")).collect();
        let inputs: Vec<(&str, Tensor)> =
            names.iter().zip(sizes.windows(2)).map(|(name, w)| (name.as_str(), dense(&[w[0], w[1]]))).collect();
        // An unoptimized chain has one loop for each size.
        let ends = sizes.iter().product::<u64>() < 4_000_000;
        let expert = Expert { rounds: cheapest_chain(&sizes), gain: if ends { 1.0 } else { 0.0 } };
        check(&format!("chain of {sizes:?}"), &aggregate(&factors, &over), &inputs, &expert);
    }
}

#[test]
fn bilinear_forms_allocate_no_matrix() {
    let (n, mut rng) = (200, Rng::new(1));
    let coordinates = coordinates_by_row(&mut rng, n, n, 5);
    let text = "(plan (query R (aggregate + 0.0 (mapjoin * (mapjoin * (table A i k) (table x k)) (table y i)) i k))
        (produces R))";
    let inputs = [("A", matrix([n, n], &coordinates, Format::csr())), ("x", dense(&[n])), ("y", dense(&[n]))];
    let bytes = check("x A y", text, &inputs, &Expert { rounds: coordinates.len() as u64 + n, gain: 1.0 });
    assert!(bytes <= 8 * n, "{bytes} bytes for a number");
}

#[test]
fn sampled_products_take_the_rounds_of_the_sample() {
    let (n, depth, mut rng) = (100, 8, Rng::new(2));
    let mask = coordinates_by_row(&mut rng, n, n, 2);
    let text = "(plan (query C (mapjoin * (table S i j)
        (aggregate + 0.0 (mapjoin * (table A i k) (table B k j)) k))) (produces C))";
    let inputs = [("S", matrix([n, n], &mask, Format::csr())), ("A", dense(&[n, depth])), ("B", dense(&[depth, n]))];
    check("SDDMM", text, &inputs, &Expert { rounds: mask.len() as u64 * depth, gain: 1.0 });
}

#[test]
fn triangles_and_four_cliques_visit_each_set_of_vertices_once() {
    let (edges, tensor) = graph(60, 400);
    let below = |v: u64| edges.range((v, 0)..(v, v)).map(|(_, w)| *w);
    let is_edge = |v: u64, w: u64| edges.contains(&(v, w));
    // Lists that are searched by coordinate are copied to workspaces: the lists of i, and for
    // cliques of four also the lists of j.
    let degree = |v: u64| edges.range((v, 0)..(v + 1, 0)).count() as u64;
    let (mut triangles, mut cliques, mut copied) = (0, 0, 0);
    for i in 0..60 {
        for j in below(i) {
            triangles += below(j).count() as u64;
            copied += degree(j);
            for k in below(j).filter(|k| is_edge(i, *k)) {
                cliques += below(k).count() as u64;
            }
        }
    }
    let edge = |a: &str, b: &str| format!("(table A {a} {b}) ");
    let three = [edge("i", "j"), edge("j", "k"), edge("i", "k")].concat();
    let inputs = [("A", tensor)];
    let expert = Expert { rounds: triangles + edges.len() as u64, gain: 2.0 };
    check("triangles", &aggregate(&three, "i j k"), &inputs, &expert);
    let four = three + &[edge("i", "l"), edge("j", "l"), edge("k", "l")].concat();
    let expert = Expert { rounds: cliques + triangles + copied + 2 * edges.len() as u64, gain: 4.0 };
    check("four-cliques", &aggregate(&four, "i j k l"), &inputs, &expert);
}

/// Several sums and counts over one join iterate over each table only once.
#[test]
fn aggregates_over_one_join_take_the_rounds_of_its_tables() {
    let (n, mut rng) = (100, Rng::new(11));
    let (a, b) = (coordinates_by_row(&mut rng, n, n, 4), coordinates_by_row(&mut rng, n, n, 12));
    let text = "(plan
        (query s (aggregate + 0.0 (mapjoin * (table A k j) (table B j l)) j l))
        (query n (aggregate + 0.0 (mapjoin cast-f64
            (mapjoin and (mapjoin ne (table A k j) 0.0) (mapjoin ne (table B j l) 0.0))) j l))
        (query q (aggregate + 0.0 (mapjoin * (table A k j) (table B j l) (table B j l)) j l))
        (produces s n q))";
    let inputs = [("A", matrix([n, n], &a, Format::csr())), ("B", matrix([n, n], &b, Format::csr()))];
    // One pass over both tables has a round for each entry, and for each of the 2 `n` starts of
    // rows. `check` allows twice `rounds`, so `rounds` is half of this number. Three passes would
    // exceed the limit.
    let rounds = (a.len() + b.len()) as u64 / 2 + n;
    check("sum, count and sum of squares", text, &inputs, &Expert { rounds, gain: 2.0 });
}

/// A quadratic form over a symmetric matrix reads each pair of equal entries once, and each entry
/// of the diagonal once.
#[test]
fn symmetric_forms_take_the_rounds_of_a_triangle_with_its_diagonal() {
    let (edges, _) = graph(60, 700);
    let mut coordinates: Vec<[u64; 2]> = edges.iter().map(|(a, b)| [*a, *b]).collect();
    coordinates.extend((0..60).step_by(3).map(|v| [v, v]));
    coordinates.sort_unstable();
    let tensor = pattern([60, 60], &coordinates, Format::csr());
    let count = coordinates.iter().filter(|[i, j]| i >= j).count() as u64;
    let text =
        "(plan (query R (aggregate + 0.0 (mapjoin * (mapjoin cast-f64 (table E i j)) (table x i) (table x j)) i j))
        (produces R))";
    let inputs = [("E", tensor), ("x", dense(&[60]))];
    let with = |subjects: Subjects| {
        let optimizer =
            OptimizerConfig { rewrite_threshold: CostThreshold(0.0), subjects, ..OptimizerConfig::default() };
        count_with(Config { optimizer, ..Config::default() }, text, &inputs)
    };
    let (found, results) = with(Subjects::default());
    let (unoptimized, expected) = with(Subjects::none());
    assert!(found.iterations <= count + 3 * 60, "{} rounds for {count} coordinates", found.iterations);
    assert!(unoptimized.iterations >= coordinates.len() as u64, "{} rounds", unoptimized.iterations);
    let values = |of: &[Tensor]| of[0].to_dense_scalars().expect("values")[0].to_f64().expect("a number");
    assert!((values(&results) - values(&expected)).abs() <= 1e-9 * values(&expected).abs());
}

#[test]
fn four_cycles_take_the_rounds_of_one_matrix_of_pairs() {
    let (n, mut rng) = (100, Rng::new(3));
    let coordinates = coordinates_by_row(&mut rng, n, n, 6);
    let factors = "(table A i j) (table A j k) (table A k l) (table A l i)";
    let rounds = 2 * pairs(&coordinates, &coordinates);
    let inputs = [("A", matrix([n, n], &coordinates, Format::csr()))];
    check("four-cycles", &aggregate(factors, "i j k l"), &inputs, &Expert { rounds, gain: 2.0 });
}

#[test]
fn sums_are_distributed_if_cheaper() {
    let (n, mut rng) = (100, Rng::new(4));
    let coordinates = coordinates_by_row(&mut rng, n, n, 4);
    let sparse = || matrix([n, n], &coordinates, Format::csr());
    // A sparse matrix plus a matrix of rank 1, which is never materialized.
    let text =
        "(plan (query y (aggregate + 0.0 (mapjoin * (mapjoin + (table B j k) (mapjoin * (table u j) (table v k)))
        (table x k)) k)) (produces y))";
    let inputs = [("B", sparse()), ("u", dense(&[n])), ("v", dense(&[n])), ("x", dense(&[n]))];
    check("rank 1", text, &inputs, &Expert { rounds: coordinates.len() as u64 + 2 * n, gain: 8.0 });
    // For two matrices with equal patterns, a product with their sum is computed as one product,
    // not as two.
    let text = "(plan (query R (aggregate + 0.0 (mapjoin * (table A i k) (mapjoin + (table B k j) (table C k j))) k))
        (produces R))";
    let inputs = [("A", sparse()), ("B", sparse()), ("C", sparse())];
    check("A (B + C)", text, &inputs, &Expert { rounds: 2 * pairs(&coordinates, &coordinates), gain: 1.0 });
}

#[test]
fn traces_and_sums_of_products_reduce_early() {
    let (n, mut rng) = (100, Rng::new(5));
    let (a, b) = (coordinates_by_row(&mut rng, n, n, 10), coordinates_by_row(&mut rng, n, n, 10));
    let inputs = [("A", matrix([n, n], &a, Format::csr())), ("B", matrix([n, n], &b, Format::csr()))];
    let coordinates = (a.len() + b.len()) as u64;
    let trace = aggregate("(table A i k) (table B k i)", "i k");
    check("trace", &trace, &inputs, &Expert { rounds: coordinates + n, gain: 1.0 });
    let sum = aggregate("(table A i k) (table B k j)", "i j k");
    check("sum of a product", &sum, &inputs, &Expert { rounds: coordinates + n, gain: 4.0 });
}

#[test]
fn page_rank_steps_take_one_round_per_edge() {
    let (n, mut rng) = (200, Rng::new(6));
    let coordinates = coordinates_by_row(&mut rng, n, n, 5);
    let text = "(plan (query R (mapjoin + 0.0001 (mapjoin * 0.85
        (aggregate + 0.0 (mapjoin * (table A i j) (mapjoin / (table r j) (table d j))) j)))) (produces R))";
    let inputs = [("A", matrix([n, n], &coordinates, Format::csr())), ("r", dense(&[n])), ("d", dense(&[n]))];
    check("page rank", text, &inputs, &Expert { rounds: coordinates.len() as u64 + n, gain: 1.0 });
}

#[test]
fn cosines_take_the_rounds_of_the_pairs() {
    let (n, m, mut rng) = (60, 200, Rng::new(7));
    let coordinates = coordinates_by_row(&mut rng, n, m, 6);
    let text = "(plan
        (query n (mapjoin sqrt (aggregate + 0.0 (mapjoin * (table A i k) (table A i k)) k)))
        (query R (mapjoin / (aggregate + 0.0 (mapjoin * (table A i k) (table A j k)) k)
          (mapjoin + 1.0 (mapjoin * (table n i) (relabel (table n i) j)))))
        (produces R))";
    let transposed: Vec<[u64; 2]> = coordinates.iter().map(|p| [p[1], p[0]]).collect();
    let rounds = 2 * pairs(&coordinates, &transposed) + 2 * coordinates.len() as u64;
    check("cosines", text, &[("A", matrix([n, m], &coordinates, Format::csr()))], &Expert { rounds, gain: 1.0 });
}

#[test]
fn least_squares_gradients_iterate_over_each_row_twice() {
    let (n, m, mut rng) = (200, 50, Rng::new(8));
    let coordinates = coordinates_by_row(&mut rng, n, m, 5);
    let text = "(plan (query g (aggregate + 0.0 (mapjoin * (table A i k)
        (mapjoin - (aggregate + 0.0 (mapjoin * (table A i j) (table x j)) j) (table b i))) i)) (produces g))";
    let inputs = [("A", matrix([n, m], &coordinates, Format::csr())), ("x", dense(&[m])), ("b", dense(&[n]))];
    check("gradient", text, &inputs, &Expert { rounds: 2 * coordinates.len() as u64 + n, gain: 1.0 });
}

#[test]
fn layers_of_message_passing_multiply_by_the_smaller_side_first() {
    let (n, mut rng) = (60, Rng::new(9));
    let widths = [24, 4, 4, 12];
    let coordinates = coordinates_by_row(&mut rng, n, n, 5);
    let layer = |out: &str, input: &str, weights: &str| {
        format!(
            "(query {out} (mapjoin max 0.0 (aggregate + 0.0 (mapjoin * (table A i j) (relabel {input} j f)
               (table {weights} f g)) j f)))"
        )
    };
    let text = format!(
        "(plan {} {} {} (produces H3))",
        layer("H1", "(table X i f)", "U"),
        layer("H2", "(table H1 i g)", "V"),
        layer("H3", "(table H2 i g)", "W"),
    );
    let inputs = [
        ("A", matrix([n, n], &coordinates, Format::csr())),
        ("X", dense(&[n, widths[0]])),
        ("U", dense(&[widths[0], widths[1]])),
        ("V", dense(&[widths[1], widths[2]])),
        ("W", dense(&[widths[2], widths[3]])),
    ];
    let edges = coordinates.len() as u64;
    let layer = |w: &[u64]| n * w[0] * w[1] + edges * w[0].min(w[1]);
    let rounds = widths.windows(2).map(layer).sum();
    check("message passing", &text, &inputs, &Expert { rounds, gain: 2.0 });
}

#[test]
fn repeated_expressions_are_shared_if_cheaper() {
    let (n, mut rng) = (100, Rng::new(10));
    let coordinates = coordinates_by_row(&mut rng, n, n, 6);
    // The product of matrices is computed once.
    let square =
        |i: &str, j: &str, k: &str| format!("(aggregate + 0.0 (mapjoin * (table A {i} {k}) (table A {k} {j})) {k})");
    let text = format!(
        "(plan (query R (aggregate + 0.0 (mapjoin * {} {}) i j)) (produces R))",
        square("i", "j", "k"),
        square("i", "j", "l")
    );
    let rounds = 2 * pairs(&coordinates, &coordinates);
    let inputs = [("A", matrix([n, n], &coordinates, Format::csr()))];
    check("norm of a product", &text, &inputs, &Expert { rounds, gain: 1.0 });
    // The difference of vectors is computed twice and not stored.
    let text = "(plan (query d (mapjoin - (table x i) (table y i)))
        (query R (mapjoin / (aggregate + 0.0 (mapjoin * (table d i) (table d i)) i) (aggregate max -inf (table d i) i)))
        (produces R))";
    let spaced = |first: u64| vector(20 * n, (0..n).map(move |k| first + 20 * k), list());
    let bytes = check("norms", text, &[("x", spaced(0)), ("y", spaced(7))], &Expert { rounds: 4 * n, gain: 1.0 });
    assert!(bytes <= 64, "{bytes} bytes for a number");
}
