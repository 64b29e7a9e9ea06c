//! Tests of the harness from end to end on tiny data: without peers, and with two peers, one with
//! wrong results and one that is missing.

use redpoll_bench::harness::{Budget, Harness};
use redpoll_bench::peers::Peer;
use redpoll_bench::protocol::Client;
use redpoll_bench::results::{MachineInfo, Results, RunSettings, SideStatus, WorkloadOutcome};
use redpoll_bench::workload::DataSize;
use redpoll_bench::{report, workloads};
use std::process::Command;

/// The shell script of a peer whose results are wrong.
const WRONG_PEER: &str = r#"while read request; do case "$request" in
  *'"do":"hello"'*) echo '{"is":"hello","name":"wrong","version":"1"}';;
  *'"do":"load"'*) echo '{"is":"loaded","load":0.5,"build":0.25}';;
  *'"do":"run"'*) echo '{"is":"ran","seconds":0.001,"kernel":null}';;
  *'"do":"check"'*) echo '{"is":"checked","sums":[{"shape":[16],"count":1,"sum":1.0,"mass":1.0,"weighted":1.0}]}';;
  *) exit;;
esac; done"#;

static PEERS: [Peer; 2] = [
    Peer { name: "wrong", start: |_, _| Client::start(Command::new("sh").args(["-c", WRONG_PEER])) },
    Peer { name: "missing", start: |_, _| anyhow::bail!("not installed") },
];

fn measure(id: &str, peers: &'static [Peer]) -> (Harness, WorkloadOutcome) {
    let program = env!("CARGO_BIN_EXE_redpoll-bench");
    let mut harness = Harness::new(Budget::new(DataSize::Tiny, 1), peers.iter().collect())
        .with_start(move |_| Client::start(Command::new(program).args(["serve", "redpoll"])));
    let (workload, data) = workloads::find(id).unwrap();
    let outcome = harness.measure(workload, data);
    (harness, outcome)
}

#[test]
fn workloads_run_in_every_tier_cold_and_warm() {
    let (_, outcome) = measure("linear/spmv/grid", &[]);
    assert_eq!(outcome.failures, Vec::<String>::new());
    let modes: Vec<&str> = outcome.sides.iter().map(|side| side.mode.as_str()).collect();
    assert_eq!(modes, ["instant", "optimizing", "cold", "cold optimizing"]);
    for side in &outcome.sides {
        assert_eq!(side.status, SideStatus::Ran);
        assert!(side.summary().unwrap().best > 0.0, "{side:?}");
    }
    assert!(outcome.bytes > 0.0 && outcome.description.contains("grid"));
}

#[test]
fn different_results_are_failures_and_missing_peers_are_listed() {
    let (harness, outcome) = measure("linear/spmv/uniform", &PEERS);
    assert_eq!(outcome.failures.len(), 1, "{:?}", outcome.failures);
    assert!(
        outcome.failures[0].starts_with("wrong") && outcome.failures[0].contains(", expected "),
        "{:?}",
        outcome.failures
    );
    let wrong = outcome.peers().next().unwrap();
    assert!(matches!(wrong.status, SideStatus::Mismatch(_)) && (wrong.load, wrong.build) == (0.5, 0.25), "{wrong:?}");
    let state = harness.states().into_iter().find(|state| state.name == "missing").unwrap();
    assert_eq!(state.version, Err("not installed".to_owned()));
}

#[test]
fn reports_have_tables_and_figures() {
    let (harness, mut outcome) = measure("linear/spmv/uniform", &PEERS);
    for side in &mut outcome.sides {
        side.status = SideStatus::Ran;
        side.seconds = vec![0.5, 0.25];
    }
    let machine = MachineInfo {
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
        settings: RunSettings { quick: true, threads: 1 },
        peers: harness.states(),
        outcomes: vec![outcome],
    };
    let text = serde_json::to_string(&results).unwrap();
    let results: Results = serde_json::from_str(&text).unwrap();
    let folder = tempfile::tempdir().unwrap();
    report::write(folder.path(), &results).unwrap();
    let table = std::fs::read_to_string(folder.path().join("README.md")).unwrap();
    assert!(table.contains("abacus") && table.contains("| missing | skipped: not installed |"), "{table}");
    assert!(table.contains("wrong 1.00 [1.00, 1.00]") && table.contains("![linear.svg](linear.svg)"), "{table}");
    assert!(table.contains("| linear | 1.00 (0 of 1) |"), "{table}");
    let figure = std::fs::read_to_string(folder.path().join("linear.svg")).unwrap();
    assert!(figure.contains("spmv uniform") && figure.contains("wrong"), "{figure}");
}
