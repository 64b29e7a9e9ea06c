//! Runs the programs of the folder `programs` on small graphs, on every target that runs programs,
//! and in several formats. Compares the results with plain loops. Also checks the work of a search
//! at sizes n and 4n, hand-written schedules, errors, bounds checks, and cached programs.

use redpoll::datasets::{read_bytes, sample};
use redpoll::logic::text::parse_format;
use redpoll::logic::{Alias, DType, Prim, Scalar, TensorType};
use redpoll::storage::{Duplicates, Tensor, Triples, Values};
use redpoll::{Bindings, Config, Detail, Error, Program, Run, Session, Target};
use std::collections::{BTreeSet, VecDeque};

const FORMATS: [&str; 4] = ["csr", "dcsr", "coo", "dense"];

/// Returns the targets that run programs.
fn targets() -> impl Iterator<Item = Target> {
    Target::ALL.into_iter().filter(|target| *target != Target::LOGIC)
}

/// A graph as a set of edges.
#[derive(Clone, Debug)]
struct TestGraph {
    n: u64,
    edges: BTreeSet<(u64, u64)>,
}

/// A small generator of pseudo-random numbers (splitmix64).
struct Rng(u64);

impl Rng {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (z ^ (z >> 31)) % n
    }
}

impl TestGraph {
    /// Returns a graph of random edges, which may be self-loops. With few edges, the graph is not
    /// connected.
    fn random(n: u64, edges: u64, rng: &mut Rng) -> TestGraph {
        let edges = (0..edges).map(|_| (rng.below(n), rng.below(n))).collect();
        TestGraph { n, edges }
    }

    fn undirected(mut self) -> TestGraph {
        self.edges.extend(self.edges.clone().iter().map(|(a, b)| (*b, *a)));
        self
    }

    /// Returns a square grid of vertices, with edges between neighbours.
    fn grid(side: u64) -> TestGraph {
        let at = |r: u64, c: u64| r * side + c;
        let right = (0..side).flat_map(|r| (1..side).map(move |c| (at(r, c - 1), at(r, c))));
        let down = (1..side).flat_map(|r| (0..side).map(move |c| (at(r - 1, c), at(r, c))));
        TestGraph { n: side * side, edges: right.chain(down).collect() }.undirected()
    }

    /// Returns the adjacency matrix with `value` on each edge.
    fn tensor(&self, format: &str, value: impl Fn(u64, u64) -> f64) -> Tensor {
        let format = parse_format(format, 2).unwrap();
        let ty =
            TensorType { shape: vec![self.n, self.n], dtype: DType::Prim(Prim::F64), fill: Scalar::F64(0.0), format };
        let (rows, columns) = self.edges.iter().copied().unzip();
        let values: Vec<f64> = self.edges.iter().map(|(a, b)| value(*a, *b)).collect();
        let (shape, coordinates) = (ty.shape.clone(), vec![rows, columns]);
        let triples = Triples { shape, coordinates, values: Values::from(values) };
        Tensor::from_triples(ty, &triples, Duplicates::Error).unwrap().0
    }

    fn neighbours(&self, v: u64) -> impl Iterator<Item = u64> {
        self.edges.range((v, 0)..(v + 1, 0)).map(|(_, b)| *b)
    }

    /// Returns the smallest parent of each vertex in a breadth-first search, and the number of
    /// levels.
    fn parents(&self, source: i64) -> (Vec<i64>, i64) {
        let mut parent = vec![-1; self.n as usize];
        if !(0..self.n as i64).contains(&source) {
            return (parent, 0);
        }
        parent[source as usize] = source;
        let (mut frontier, mut levels) = (BTreeSet::from([source as u64]), 0);
        while !frontier.is_empty() {
            let mut next = BTreeSet::new();
            for v in &frontier {
                for u in self.neighbours(*v) {
                    if parent[u as usize] == -1 {
                        parent[u as usize] = *v as i64;
                        next.insert(u);
                    }
                }
            }
            (frontier, levels) = (next, levels + 1);
        }
        (parent, levels)
    }

    fn components(&self) -> Vec<i64> {
        let mut component = vec![-1; self.n as usize];
        for s in 0..self.n {
            let mut queue = VecDeque::from([s]);
            while let Some(v) = queue.pop_front() {
                if component[v as usize] == -1 {
                    component[v as usize] = s as i64;
                    queue.extend(self.neighbours(v));
                }
            }
        }
        component
    }

    fn cores(&self) -> Vec<i64> {
        let mut core = vec![0; self.n as usize];
        for k in 1.. {
            let mut remaining: BTreeSet<u64> = (0..self.n).collect();
            loop {
                let few = |v: &u64| self.neighbours(*v).filter(|u| u != v && remaining.contains(u)).count() < k;
                let removed: Vec<u64> = remaining.iter().copied().filter(few).collect();
                if removed.is_empty() {
                    break;
                }
                remaining.retain(|v| !removed.contains(v));
            }
            if remaining.is_empty() {
                return core;
            }
            remaining.iter().for_each(|v| core[*v as usize] = k as i64);
        }
        core
    }
}

/// Returns the depth of each vertex, which is its distance from the root; -1 for a vertex without a
/// parent.
fn levels_of(parent: &[i64]) -> Vec<i64> {
    let level = |v: usize| {
        let up = |v: &usize| (parent[*v] != *v as i64).then(|| parent[*v] as usize);
        if parent[v] == -1 { -1 } else { std::iter::successors(Some(v), up).count() as i64 - 1 }
    };
    (0..parent.len()).map(level).collect()
}

fn length(a: u64, b: u64) -> f64 {
    ((a * 7 + b * 3) % 9 + 1) as f64
}

fn vector(values: Vec<f64>) -> Tensor {
    let format = parse_format("dense", 1).unwrap();
    let shape = vec![values.len() as u64];
    let ty = TensorType { shape, dtype: DType::Prim(Prim::F64), fill: Scalar::F64(0.0), format };
    Tensor::from_dense(ty, &Values::from(values)).unwrap()
}

fn program(name: &str) -> Program {
    let path = format!("{}/programs/{name}.rp", env!("CARGO_MANIFEST_DIR"));
    Program::new(&std::fs::read_to_string(path).unwrap()).unwrap()
}

fn ints(run: &Run, name: &str) -> Vec<i64> {
    let values = run.get(name).unwrap().to_dense_scalars().unwrap();
    values.iter().map(|v| i64::try_from(v.to_i128().unwrap()).unwrap()).collect()
}

fn session() -> Session {
    Session::new(Config { target: Target::INSTANT, ..Config::default() })
}

/// Runs a program over a graph in several formats. The C compiler is used for the first format
/// only.
fn check_runs(session: &Session, name: &str, bindings: impl Fn(&str) -> Bindings, check: impl Fn(&Run, &str)) {
    let program = program(name);
    for format in FORMATS {
        let prepared = session.prepare_program(&program, &bindings(format)).unwrap_or_else(|e| panic!("{name}: {e}"));
        for target in targets().filter(|target| *target != Target::OPTIMIZING || format == "csr") {
            let run = prepared.run_with(target).unwrap_or_else(|e| panic!("{name}, {format}, {target:?}: {e}"));
            check(&run, &format!("{name}, {format}, {target:?}"));
        }
    }
}

/// Returns graphs of one vertex, a graph without edges, random graphs of several densities, which
/// may have self-loops, and a grid.
fn graphs(seed: u64) -> Vec<TestGraph> {
    let mut rng = Rng(seed);
    let mut all = vec![TestGraph { n: 1, edges: BTreeSet::new() }, TestGraph { n: 6, edges: BTreeSet::new() }];
    all.push(TestGraph { n: 1, edges: BTreeSet::from([(0, 0)]) });
    all.extend([(9, 8), (12, 20), (14, 60)].map(|(n, m)| TestGraph::random(n, m, &mut rng)));
    all.push(TestGraph::grid(4));
    all
}

fn check_searches(graph: &TestGraph, source: i64) {
    let session = session();
    let (parent, levels) = graph.parents(source);
    let source = || Tensor::scalar(&Scalar::I64(source)).unwrap();
    for name in ["bfs_push", "bfs_pull", "bfs"] {
        let bindings = |format: &str| {
            let columns = if format == "csr" { "csc" } else { format };
            let b = graph.tensor(columns, |_, _| 1.0);
            Bindings::new().with("A", graph.tensor(format, |_, _| 1.0)).with("B", b).with("source", source())
        };
        check_runs(&session, name, bindings, |run, label| {
            assert_eq!(ints(run, "parent"), parent, "{label}, {graph:?}");
            if name == "bfs" {
                assert_eq!(ints(run, "level"), levels_of(&parent), "{label}, {graph:?}");
            }
            assert_eq!(ints(run, "levels"), [levels], "{label}");
        });
    }
}

#[test]
fn searches_find_the_smallest_parents() {
    for graph in graphs(1) {
        check_searches(&graph, 0);
    }
    let graph = TestGraph::random(12, 30, &mut Rng(2)).undirected();
    check_searches(&graph, 5);
    check_searches(&graph, 12);
}

/// Swapped lists grow when a small frontier is followed by a large frontier.
#[test]
fn frontiers_grow() {
    let first = (1..=5).map(|v| (0, v));
    let second = (6..=105).map(|v| (1 + v % 5, v));
    check_searches(&TestGraph { n: 106, edges: first.chain(second).collect() }, 0);
}

#[test]
fn shortest_paths() {
    let session = session();
    for graph in graphs(3) {
        let mut distance = vec![f64::INFINITY; graph.n as usize];
        distance[0] = 0.0;
        for _ in 0..graph.n {
            for (a, b) in &graph.edges {
                distance[*b as usize] = distance[*b as usize].min(distance[*a as usize] + length(*a, *b));
            }
        }
        check_runs(
            &session,
            "bellman_ford",
            |format| Bindings::new().with("A", graph.tensor(format, length)),
            |run, label| {
                let found = run.get("distance").unwrap().to_dense_scalars().unwrap();
                let found: Vec<f64> = found.iter().map(|v| v.to_f64().unwrap()).collect();
                assert_eq!(found, distance, "{label}, {graph:?}");
                assert_eq!(run.get("negative").unwrap().get(&[]).unwrap(), Scalar::Bool(false), "{label}");
                for (v, p) in ints(run, "parent").into_iter().enumerate() {
                    let (v, reached) = (v as u64, distance[v].is_finite() && v != 0);
                    assert_eq!(p >= 0, reached, "{label}");
                    if reached {
                        let by = distance[p as usize] + length(p as u64, v);
                        assert!(graph.edges.contains(&(p as u64, v)) && by == distance[v as usize], "{label}");
                    }
                }
            },
        );
    }
    let circle = TestGraph { n: 3, edges: BTreeSet::from([(0, 1), (1, 2), (2, 0)]) };
    let bindings = Bindings::new().with("A", circle.tensor("csr", |_, _| -1.0));
    let run = session.prepare_program(&program("bellman_ford"), &bindings).unwrap().run().unwrap();
    assert_eq!(run.get("negative").unwrap().get(&[]).unwrap(), Scalar::Bool(true));
}

#[test]
fn components_and_cores() {
    let session = session();
    let samples = ["karate"].map(|name| {
        let sample = sample(name).unwrap();
        let (tensor, _) =
            read_bytes(sample.file_name, sample.bytes, &Default::default()).unwrap().into_tensor(None).unwrap();
        let (n, dense) = (tensor.ty().shape[0], tensor.to_dense_scalars().unwrap());
        let edges = (0..n * n).filter(|k| dense[*k as usize].to_f64() != Some(0.0)).map(|k| (k / n, k % n));
        TestGraph { n, edges: edges.collect() }
    });
    for graph in graphs(4).into_iter().chain(samples).map(TestGraph::undirected) {
        let bindings = |format: &str| Bindings::new().with("A", graph.tensor(format, |_, _| 1.0));
        let (component, core) = (graph.components(), graph.cores());
        check_runs(&session, "components", bindings, |run, label| {
            assert_eq!(ints(run, "component"), component, "{label}, {graph:?}");
            let count = component.iter().collect::<BTreeSet<_>>().len() as i64;
            assert_eq!(ints(run, "count"), [count], "{label}");
        });
        check_runs(&session, "k_core", bindings, |run, label| {
            assert_eq!(ints(run, "core"), core, "{label}, {graph:?}");
        });
    }
}

#[test]
fn one_triangle_represents_both() {
    let session = session();
    for graph in graphs(5) {
        let upper = TestGraph { edges: graph.edges.iter().copied().filter(|(a, b)| a <= b).collect(), ..graph };
        let x: Vec<f64> = (0..upper.n).map(|k| (k % 5) as f64 - 2.0).collect();
        let mut y = vec![0.0; x.len()];
        for (a, b) in upper.edges.iter().map(|(a, b)| (*a as usize, *b as usize)) {
            let value = length(a as u64, b as u64);
            y[a] += value * x[b];
            if a != b {
                y[b] += value * x[a];
            }
        }
        let x = vector(x);
        let bindings = |format: &str| Bindings::new().with("A", upper.tensor(format, length)).with("x", x.clone());
        check_runs(&session, "symmetric_spmv", bindings, |run, label| {
            let found = run.get("y").unwrap().to_dense_scalars().unwrap();
            let found: Vec<f64> = found.iter().map(|v| v.to_f64().unwrap()).collect();
            assert_eq!(found, y, "{label}");
        });
    }
}

/// Programs with schedules compute matrix products, and `explain` shows the schedules.
#[test]
fn products_by_schedule() {
    let session = session();
    for graph in graphs(11).into_iter().chain([TestGraph::random(40, 200, &mut Rng(3))]) {
        let n = graph.n as usize;
        let mut product = vec![0.0; n * n];
        for (a, b) in &graph.edges {
            for c in graph.neighbours(*b) {
                product[*a as usize * n + c as usize] += length(*a, *b) * length(*b, c);
            }
        }
        for name in ["spmm_tiled", "spgemm"] {
            let other = |format: &str| if name == "spgemm" { format.to_owned() } else { "dense".to_owned() };
            let bindings = |format: &str| {
                let (a, b) = (graph.tensor(format, length), graph.tensor(&other(format), length));
                Bindings::new().with("A", a).with("B", b)
            };
            check_runs(&session, name, bindings, |run, label| {
                let found = run.get("C").unwrap().to_dense_scalars().unwrap();
                let found: Vec<f64> = found.iter().map(|v| v.to_f64().unwrap()).collect();
                assert_eq!(found, product, "{label}");
            });
        }
    }
    let skewed =
        TestGraph { n: 50, edges: (0..50).map(|b| (7, b)).chain((0..50).map(|a| (a, (3 * a) % 50))).collect() };
    for graph in graphs(12).into_iter().chain([skewed]) {
        let sums: Vec<f64> = (0..graph.n).map(|a| graph.neighbours(a).map(|b| length(a, b) * b as f64).sum()).collect();
        let x: Vec<f64> = (0..graph.n).map(|b| b as f64).collect();
        let bindings =
            |format: &str| Bindings::new().with("A", graph.tensor(format, length)).with("x", vector(x.clone()));
        check_runs(&session, "spmv_balanced", bindings, |run, label| {
            let found = run.get("y").unwrap().to_dense_scalars().unwrap();
            let found: Vec<f64> = found.iter().map(|v| v.to_f64().unwrap()).collect();
            assert_eq!(found, sums, "{label}");
        });
    }
    let bindings = |graph: TestGraph| {
        Bindings::new().with("A", graph.tensor("csr", length)).with("B", graph.tensor("csr", length))
    };
    let prepared = session.prepare_program(&program("spgemm"), &bindings(TestGraph::grid(3))).unwrap();
    let sections = prepared.explain(Detail::Notation).unwrap();
    let explanation: String = sections.iter().map(|s| s.text.as_str()).collect();
    for part in ["(schedule", "(precompute w C (A B) (j jc jp)", "(where"] {
        assert!(explanation.contains(part), "{explanation}");
    }
}

/// Loops over blocks, as a schedule makes them, can also be written by hand. Wrong block inputs are
/// rejected.
#[test]
fn hand_written_schedules_are_programs() {
    let graph = TestGraph::grid(5);
    let text = |blocks: &str| {
        format!(
            "(program (input A (shape n n)) (input b (type (shape 4) i64 25 dense)) (output s i64 0)
               (output begins (shape 3) i64) {blocks}
               (for k (range 0 3) (= (begins k) (b k)) (for i (range (b k) (b (+ k 1))) (+= s 1))))"
        )
    };
    let run = |blocks: &str| {
        let bindings = Bindings::new().with("A", graph.tensor("csr", length));
        session().prepare_program(&Program::new(&text(blocks)).unwrap(), &bindings).and_then(|p| p.run())
    };
    let found = run("(block-inputs A (modes 0 1) (into 3) b)").unwrap();
    assert_eq!((ints(&found, "s"), ints(&found, "begins")), (vec![25], vec![0, 9, 17]));
    for wrong in [
        "(block-inputs A (modes 0 3) (into 3) b)",
        "(block-inputs A (modes 0 1) (into 4) b)",
        "(block-inputs A (modes 0 1) (into 90000000000000) b)",
        "(block-inputs A (modes 0 1) (of 2) b)",
        "",
    ] {
        let message = run(wrong).map(drop).unwrap_err().to_string();
        assert!(message.contains("invalid program") || message.contains("no data for table `b`"), "{wrong}: {message}");
    }
}

/// On a grid the frontier is a diagonal. If each level visited all vertices, work would grow
/// eightfold from side s to side 2s, not fourfold.
#[test]
fn searches_cost_edges_not_levels_times_vertices() {
    let session = session();
    let program = program("bfs_push");
    let work = |side: u64| {
        let bindings = Bindings::new().with("A", TestGraph::grid(side).tensor("csr", |_, _| 1.0));
        let run = session.prepare_program(&program, &bindings).unwrap().run_with(Target::ASSEMBLY).unwrap();
        let counts = run.counts.unwrap();
        [counts.iterations, counts.loads, counts.stores, counts.allocated_bytes]
    };
    for (small, large) in work(24).into_iter().zip(work(48)) {
        assert!(large < 5 * small, "{small} at n, {large} at 4n");
    }
}

/// The comparisons detect a program that reads the frontier of the wrong round.
#[test]
fn a_missing_swap_is_detected() {
    let text = std::fs::read_to_string(format!("{}/programs/bfs_push.rp", env!("CARGO_MANIFEST_DIR"))).unwrap();
    let wrong = Program::new(&text.replace("(swap F N)", "")).unwrap();
    let graph = TestGraph::grid(4);
    let bindings = Bindings::new().with("A", graph.tensor("csr", |_, _| 1.0));
    let run = session().prepare_program(&wrong, &bindings).unwrap().run().unwrap();
    assert_ne!(ints(&run, "parent"), graph.parents(0).0);
}

#[test]
fn errors_name_the_line() {
    let graph = TestGraph::grid(2).tensor("csr", |_, _| 1.0);
    let message = |text: &str| {
        let bindings = Bindings::new().with("A", graph.clone());
        let prepared = Program::new(text).and_then(|p| session().prepare_program(&p, &bindings));
        prepared.err().map(|e| e.to_string()).unwrap_or_default()
    };
    let declared = "(program (input A (shape n n))\n (output y (shape n) f64)\n";
    let cases = [
        ("(for i (for j (+= (y i) (B i j)))))", "program, line 3, column 25: unknown tensor or operator `B`"),
        ("(for i\n (= (y i) (+ (y i) 1))))", "program, line 4, column 2: invalid program"),
        ("(for k (+= (y 0) 1)))", "program, line 3, column 1: the extent of loop `k` cannot be inferred"),
        ("(+= (y 0) 1)", "program, line"),
        (
            "(schedule (reorder i j)\n (split k ko ki 4)) (for i (for j (+= (y i) (A i j)))))",
            "program, line 4, column 2: invalid program",
        ),
        (
            "(schedule (split j jo ji 4) (bound ji 3)) (for i (for j (+= (y i) (A i j)))))",
            "program, line 3, column 29: invalid program",
        ),
        ("(schedule (parallel j)) (for i (for j (+= (y i) (A i j)))))", "program, line"),
    ];
    for (body, expected) in cases {
        let found = message(&format!("{declared}{body}"));
        assert!(found.starts_with(expected), "{found}");
    }
    assert!(message("(program (input B (shape n n)) (block))").starts_with("no data for table `B`"));
    assert!(message("(program (input A (shape n 3)) (block))").contains("line 1, column 28"));
}

fn index(values: &[i64]) -> Tensor {
    let ty = TensorType {
        shape: vec![values.len() as u64],
        dtype: Prim::I64.into(),
        fill: Scalar::I64(0),
        format: parse_format("dense", 1).unwrap(),
    };
    Tensor::from_dense(ty, &Values::from(values.to_vec())).unwrap()
}

const SCATTER: &str = "(program (input I (shape m)) (output y (shape 3) f64)\n  (for i\n    (+= (y (I i)) 1)))";

/// On every target, a run that reaches a coordinate out of bounds ends with an error that names the
/// line and column. The session can be used again.
#[test]
fn coordinates_out_of_bounds_are_errors() {
    let program = Program::new(SCATTER).unwrap();
    for target in targets() {
        let session = Session::new(Config { target, ..Config::default() });
        let run = |values: &[i64]| {
            let bindings: Bindings = [("I", index(values))].into_iter().collect();
            session.prepare_program(&program, &bindings).unwrap().run()
        };
        assert!(run(&[0, 2, 1]).is_ok(), "{target:?}");
        for at in [3, -1, 3_000_000_000] {
            let error = run(&[0, 2, at]).unwrap_err();
            assert_eq!(
                error.to_string(),
                format!(
                    "program, `(y (I i))`, line 3, column 9, is out of bounds: `(I i)` has coordinate {at} in storage \
                     mode 0 of `y`, whose size is 3; test the coordinate with an `if`, or give a read an `outside`"
                ),
                "{target:?}"
            );
        }
        assert!(run(&[2, 2, 2]).is_ok(), "{target:?}");
    }
}

/// Subscripts that an index tensor computes need no checks if its values are in bounds; `explain`
/// lists the remaining checks.
#[test]
fn index_tensors_are_checked_once() {
    let program = Program::new(SCATTER).unwrap();
    let session = Session::default();
    let bounds = |values: &[i64]| {
        let bindings: Bindings = [("I", index(values))].into_iter().collect();
        let sections = session.prepare_program(&program, &bindings).unwrap().explain(Detail::Notation).unwrap();
        sections.into_iter().find(|s| s.title == "bounds").unwrap().text
    };
    assert_eq!(bounds(&[0, 2, 1]), "the values of `I` were scanned once; they are between 0 and 2\n");
    let checked = "line 3, column 9: `(I i)` of `(y (I i))` is checked at run time against the size of mode 0 of `y`\n";
    assert_eq!(bounds(&[0, 2, 4]), checked);
    assert_eq!(bounds(&[0, 2, -1]), checked);
}

/// The text of a program is prepared like the text of a plan, but there is no plan to inspect.
#[test]
fn programs_have_no_plan() {
    let bindings = Bindings::new().with("I", index(&[0, 2, 1]));
    let prepared = session().prepare(SCATTER, &bindings).unwrap();
    assert_eq!(prepared.produces(), [Alias::from("y")]);
    assert!(prepared.plan().is_none() && prepared.physical().is_none() && prepared.report().is_none());
    let notes: Vec<String> = prepared.notes().iter().map(ToString::to_string).collect();
    assert_eq!(notes, ["the values of `I` were scanned once; they are between 0 and 2"]);
    let error = prepared.flow().err();
    assert!(matches!(error, Some(Error::NoPlan)), "{error:?}");
    let profile = prepared.profile(Target::INSTANT).unwrap();
    assert!(profile.flow.queries.is_empty());
    assert_eq!(profile.queries[0].outputs[0].stored, 3);
    let error = prepared.run_with(Target::LOGIC).err();
    assert!(matches!(error, Some(Error::NoLogic)), "{error:?}");
    assert!(prepared.run().is_ok());
}

/// A program is compiled once for tensors of one type, whatever the number of their entries, and
/// again for another text or type.
#[test]
fn programs_are_compiled_once() {
    let session = session();
    let text = |op: &str| {
        format!("(program (input A (shape n n)) (output y (shape n) f64) (for i (for j (+= (y i) ({op} (A i j) 1)))))")
    };
    let is_cached = |text: &str, graph: TestGraph, format: &str| {
        let bindings = Bindings::new().with("A", graph.tensor(format, |_, _| 1.0));
        session.prepare(text, &bindings).unwrap().timings().iter().next().is_none()
    };
    let path = || TestGraph { n: 16, edges: (0..15).map(|i| (i, i + 1)).collect() };
    assert!(!is_cached(&text("*"), path(), "csr"));
    assert!(is_cached(&text("*"), path(), "csr"));
    assert!(is_cached(&text("*"), TestGraph::grid(4), "csr"));
    assert!(!is_cached(&text("*"), path(), "dcsr"));
    assert!(!is_cached(&text("max"), path(), "csr"));
}

/// No program of the folder needs checks: loops and conditions prove that all coordinates are in
/// bounds.
#[test]
fn programs_need_no_bounds_checks() {
    let graph = TestGraph::grid(3);
    let dense = graph.tensor("dense", |_, _| 1.0);
    for file in std::fs::read_dir("programs").unwrap() {
        let path = file.unwrap().path();
        if path.extension().is_none_or(|e| e != "rp") {
            continue;
        }
        let program = Program::new(&std::fs::read_to_string(&path).unwrap()).unwrap();
        let input = |i: &redpoll::compiler::notation::InputText| {
            let tensor = match i.name.as_str() {
                "sources" => index(&[0]),
                "x" | "preference" => floats(&[9]),
                "B" => dense.clone(),
                _ => graph.tensor("csr", |_, _| 1.0),
            };
            (i.name.clone(), tensor)
        };
        let bindings: Bindings = program.inputs().iter().filter(|i| i.value.is_none()).map(input).collect();
        let sections = session().prepare_program(&program, &bindings).unwrap().explain(Detail::Notation).unwrap();
        let bounds = sections.into_iter().find(|s| s.title == "bounds").unwrap().text;
        assert!(bounds.contains("none is checked"), "{}: {bounds}", path.display());
    }
}

fn floats(shape: &[u64]) -> Tensor {
    let ty = TensorType {
        shape: shape.to_vec(),
        dtype: Prim::F64.into(),
        fill: Scalar::F64(0.0),
        format: parse_format("dense", shape.len()).unwrap(),
    };
    Tensor::from_dense(ty, &Values::from(vec![1.0; shape.iter().product::<u64>() as usize])).unwrap()
}
