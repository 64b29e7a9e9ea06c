//! Tests of flows as text and as graphs, for a plan with two queries.

use crate::{Bindings, Flow, OutputProfile, Session, Size, Target};
use expect_test::{Expect, expect};
use redpoll_logic::{Format, Scalar, TensorType};
use redpoll_storage::{Duplicates, Tensor, Triples, Values};
use std::time::Duration;

/// The product of a matrix of nine entries and its transpose, masked by the matrix. The name of the
/// matrix has characters that are special in every graph language.
const PLAN: &str = r#"(plan
    (query P (reformat csr (aggregate + 0 (mapjoin * (table "A<\"1\">" i j) (table "A<\"1\">" k j)) j)))
    (query s (reformat csf (mapjoin * (table P i k) (table "A<\"1\">" i k)))) (produces s))"#;

/// Returns the flow as planned and as measured.
fn flows() -> [Flow; 2] {
    let fill = Scalar::F64(0.0);
    let ty = TensorType { shape: vec![6, 6], dtype: fill.dtype(), fill, format: Format::csr() };
    let coordinates = vec![(0..9).map(|k| k % 6).collect(), (0..9).map(|k| (k * 2 + k / 6) % 6).collect()];
    let triples = Triples { shape: vec![6, 6], coordinates, values: Values::from(vec![1.0; 9]) };
    let a = Tensor::from_triples(ty, &triples, Duplicates::Error).unwrap().0;
    let prepared = Session::default().prepare(PLAN, &Bindings::new().with("A<\"1\">", a)).unwrap();
    let planned = prepared.flow().unwrap();
    [planned, prepared.profile(Target::INSTANT).unwrap().flow].map(with_fixed_numbers)
}

/// Replaces numbers that depend on the cost model or the machine.
fn with_fixed_numbers(mut flow: Flow) -> Flow {
    for query in &mut flow.queries {
        query.decision.cost = 100.0;
        query.decision.priced_orders.clear();
        query.decision.outputs.iter_mut().for_each(|o| o.positions = vec![6.0, 24.0]);
        for read in &mut query.reads {
            read.size = match read.size {
                Size::Estimated(_) => Size::Estimated(24.0),
                Size::Measured { stored, .. } => Size::Measured { estimated: 24.0, stored },
                exact => exact,
            };
        }
        if let Some(profile) = &mut query.profile {
            profile.time = Duration::from_micros(1500);
            profile.outputs.iter_mut().for_each(|o| o.estimated = Some(24.0));
        }
    }
    flow
}

fn check(print: fn(&Flow) -> String, expected: [&Expect; 2]) {
    for (flow, expected) in flows().iter().zip(expected) {
        expected.assert_eq(&print(flow));
    }
}

/// Asserts the text form of queries.
#[test]
fn text() {
    check(
        ToString::to_string,
        [
            &expect![[r#"
                P
                  loops i k j at cost 100
                  P stored as (dense sparse-list), about 24 values
                  reads A<"1"> stored as (dense sparse-list), 9 values: walk i, follow j through a workspace (byte-map) inside 1 loop; walk k, walk j
                  threads take chunks of i
                s
                  loops i k at cost 100
                  s stored as (sparse-list sparse-list), about 24 values
                  reads P stored as (dense sparse-list), about 24 values: walk i, walk k
                  reads A<"1"> stored as (dense sparse-list), 9 values: walk i, walk k
                  threads take chunks of i
            "#]],
            &expect![[r#"
                P
                  loops i k j at cost 100
                  P stored as (dense sparse-list), about 24 values
                  reads A<"1"> stored as (dense sparse-list), 9 values: walk i, follow j through a workspace (byte-map) inside 1 loop; walk k, walk j
                  threads take chunks of i
                  took 1.5ms, estimated cost 100
                  P: 12 values, estimated 24, q-error 2.00
                s
                  loops i k at cost 100
                  s stored as (sparse-list sparse-list), about 24 values
                  reads P stored as (dense sparse-list), 12 values, estimated 24: walk i, walk k
                  reads A<"1"> stored as (dense sparse-list), 9 values: walk i, walk k
                  threads take chunks of i
                  took 1.5ms, estimated cost 100
                  s: 3 values, estimated 24, q-error 8.00
            "#]],
        ],
    );
}

/// Asserts the Graphviz form: nodes, edges, and escaped names.
#[test]
fn dot() {
    check(
        Flow::to_dot,
        [
            &expect![[r#"
                digraph plan {
                  node [shape=box];
                  n0 [shape=ellipse, label="A<\"1\">\nf64 6 x 6\n9 values"];
                  n1 [label="P\nloops i k j\ncost 100"];
                  n2 [label="s\nloops i k\ncost 100"];
                  n3 [shape=ellipse, peripheries=2, label="s\nf64 6 x 6"];
                  n0 -> n1 [label="(dense sparse-list)\nwalk i, follow j through a workspace (byte-map) inside 1 loop\nwalk k, walk j"];
                  n1 -> n2 [label="P (dense sparse-list)\nabout 24 values\nwalk i, walk k"];
                  n0 -> n2 [label="(dense sparse-list)\nwalk i, walk k"];
                  n2 -> n3 [label="(sparse-list sparse-list)\nabout 24 values"];
                }
            "#]],
            &expect![[r#"
                digraph plan {
                  node [shape=box];
                  n0 [shape=ellipse, label="A<\"1\">\nf64 6 x 6\n9 values"];
                  n1 [label="P\nloops i k j\ncost 100\ntook 1.5ms"];
                  n2 [label="s\nloops i k\ncost 100\ntook 1.5ms"];
                  n3 [shape=ellipse, peripheries=2, label="s\nf64 6 x 6"];
                  n0 -> n1 [label="(dense sparse-list)\nwalk i, follow j through a workspace (byte-map) inside 1 loop\nwalk k, walk j"];
                  n1 -> n2 [label="P (dense sparse-list)\n12 values, estimated 24\nwalk i, walk k"];
                  n0 -> n2 [label="(dense sparse-list)\nwalk i, walk k"];
                  n2 -> n3 [label="(sparse-list sparse-list)\n3 values, estimated 24"];
                }
            "#]],
        ],
    );
}

/// Asserts the Mermaid form: nodes, edges, and escaped names.
#[test]
fn mermaid() {
    check(
        Flow::to_mermaid,
        [
            &expect![[r#"
                flowchart TD
                  n0(["A#60;#34;1#34;#62;<br/>f64 6 x 6<br/>9 values"])
                  n1["P<br/>loops i k j<br/>cost 100"]
                  n2["s<br/>loops i k<br/>cost 100"]
                  n3[["s<br/>f64 6 x 6"]]
                  n0 -->|"(dense sparse-list)<br/>walk i, follow j through a workspace (byte-map) inside 1 loop<br/>walk k, walk j"| n1
                  n1 -->|"P (dense sparse-list)<br/>about 24 values<br/>walk i, walk k"| n2
                  n0 -->|"(dense sparse-list)<br/>walk i, walk k"| n2
                  n2 -->|"(sparse-list sparse-list)<br/>about 24 values"| n3
            "#]],
            &expect![[r#"
                flowchart TD
                  n0(["A#60;#34;1#34;#62;<br/>f64 6 x 6<br/>9 values"])
                  n1["P<br/>loops i k j<br/>cost 100<br/>took 1.5ms"]
                  n2["s<br/>loops i k<br/>cost 100<br/>took 1.5ms"]
                  n3[["s<br/>f64 6 x 6"]]
                  n0 -->|"(dense sparse-list)<br/>walk i, follow j through a workspace (byte-map) inside 1 loop<br/>walk k, walk j"| n1
                  n1 -->|"P (dense sparse-list)<br/>12 values, estimated 24<br/>walk i, walk k"| n2
                  n0 -->|"(dense sparse-list)<br/>walk i, walk k"| n2
                  n2 -->|"(sparse-list sparse-list)<br/>3 values, estimated 24"| n3
            "#]],
        ],
    );
}

/// Asserts that only a conversion without a schedule is said to run no loops.
#[test]
fn conversions() {
    let [mut planned, _] = flows();
    let query = &mut planned.queries[0];
    query.is_conversion = true;
    let scheduled = query.to_string();
    assert!(
        scheduled.contains("  converts storage\n") && scheduled.contains("threads take chunks of i"),
        "{scheduled}"
    );
    query.chunks = None;
    assert!(query.to_string().contains("  converts storage, runs no loops\n"), "{query}");
}

/// Asserts that the error of an estimate is a factor of at least 1, in either direction.
#[test]
fn q_errors_are_factors() {
    let mut output = OutputProfile { alias: "A".into(), stored: 0, estimated: None };
    for (estimated, stored, expected) in
        [(Some(10.0), 40, Some(4.0)), (Some(40.0), 10, Some(4.0)), (Some(0.2), 0, Some(1.0)), (None, 3, None)]
    {
        (output.estimated, output.stored) = (estimated, stored);
        assert_eq!(output.q_error(), expected);
    }
}
