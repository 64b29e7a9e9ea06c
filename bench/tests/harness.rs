//! The harness from end to end on tiny data, with one peer, whose results are wrong.

use redpoll_bench::harness::{Budget, Harness};
use redpoll_bench::peers::Peer;
use redpoll_bench::protocol::Client;
use redpoll_bench::report;
use redpoll_bench::results::{Machine, Outcome, Results, Settings, Status};
use redpoll_bench::workload::Size;
use redpoll_bench::workloads;
use std::process::Command;

/// A peer in shell script, whose results are wrong.
const LIAR: &str = r#"while read request; do case "$request" in
  *'"do":"hello"'*) echo '{"is":"hello","name":"liar","version":"1"}';;
  *'"do":"load"'*) echo '{"is":"loaded","load":0.5,"build":0.25}';;
  *'"do":"run"'*) echo '{"is":"ran","seconds":0.001,"kernel":null}';;
  *'"do":"check"'*) echo '{"is":"checked","sums":[{"shape":[16],"count":1,"sum":1.0,"mass":1.0,"weighted":1.0}]}';;
  *) exit;;
esac; done"#;

static LIARS: [Peer; 2] = [
    Peer { name: "liar", start: |_, _| Client::start(Command::new("sh").args(["-c", LIAR])) },
    Peer { name: "absent", start: |_, _| anyhow::bail!("it is on holiday") },
];

fn measure(id: &str, peers: &'static [Peer]) -> (Harness, Outcome) {
    let program = env!("CARGO_BIN_EXE_redpoll-bench");
    let mut harness = Harness::new(Budget::new(Size::Tiny, 1), peers.iter().collect())
        .starting(move |_| Client::start(Command::new(program).args(["serve", "redpoll"])));
    let (workload, data) = workloads::find(id).unwrap();
    let outcome = harness.measure(workload, data);
    (harness, outcome)
}

#[test]
fn a_workload_runs_on_every_tier_cold_and_warm() {
    let (_, outcome) = measure("linear/spmv/grid", &[]);
    assert_eq!(outcome.failures, Vec::<String>::new());
    let ways: Vec<&str> = outcome.sides.iter().map(|side| side.way.as_str()).collect();
    assert_eq!(ways, ["instant", "optimizing", "cold", "cold optimizing"]);
    for side in &outcome.sides {
        assert_eq!(side.status, Status::Ran);
        assert!(side.summary().unwrap().best > 0.0, "{side:?}");
    }
    assert!(outcome.bytes > 0.0 && outcome.words.contains("grid"));
}

#[test]
fn results_that_differ_are_failures_and_peers_that_are_missing_are_named() {
    let (harness, outcome) = measure("linear/spmv/uniform", &LIARS);
    assert_eq!(outcome.failures.len(), 1, "{:?}", outcome.failures);
    assert!(
        outcome.failures[0].starts_with("liar") && outcome.failures[0].contains("against"),
        "{:?}",
        outcome.failures
    );
    let liar = outcome.peers().next().unwrap();
    assert!(matches!(liar.status, Status::Mismatch(_)) && (liar.load, liar.build) == (0.5, 0.25), "{liar:?}");
    let state = harness.states().into_iter().find(|state| state.name == "absent").unwrap();
    assert_eq!(state.version, Err("it is on holiday".to_owned()));
}

#[test]
fn reports_have_tables_and_figures() {
    let (harness, mut outcome) = measure("linear/spmv/uniform", &LIARS);
    for side in &mut outcome.sides {
        side.status = Status::Ran;
        side.seconds = vec![0.5, 0.25];
    }
    let machine = Machine {
        processor: "abacus".into(),
        system: "none".into(),
        date: "2026-11-21".into(),
        compilers: vec![],
        copy_bandwidth: 1e9,
        read_bandwidth: 1e9,
        gathers: [1e6, 1e6],
        load: "0".into(),
    };
    let results = Results {
        machine,
        settings: Settings { quick: true, threads: 1 },
        peers: harness.states(),
        outcomes: vec![outcome],
    };
    let text = serde_json::to_string(&results).unwrap();
    let results: Results = serde_json::from_str(&text).unwrap();
    let folder = tempfile::tempdir().unwrap();
    report::write(folder.path(), &results).unwrap();
    let table = std::fs::read_to_string(folder.path().join("README.md")).unwrap();
    assert!(table.contains("abacus") && table.contains("| absent | skipped: it is on holiday |"), "{table}");
    assert!(table.contains("liar 1.00 [1.00, 1.00]") && table.contains("![linear.svg](linear.svg)"), "{table}");
    assert!(table.contains("| linear | 1.00 (0 of 1) |"), "{table}");
    let figure = std::fs::read_to_string(folder.path().join("linear.svg")).unwrap();
    assert!(figure.contains("spmv uniform") && figure.contains("liar"), "{figure}");
}
