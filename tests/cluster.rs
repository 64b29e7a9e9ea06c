//! A cluster of processes: workers that listen on free ports of this machine, and `redpoll sql` as the
//! coordinator.

use std::fmt::Write;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};

/// A worker process, which ends with its owner.
struct WorkerProcess {
    child: Child,
    url: String,
}

impl WorkerProcess {
    fn start(args: &[&str]) -> WorkerProcess {
        let mut command = Command::new(env!("CARGO_BIN_EXE_redpoll"));
        command.args(["worker", "--listen", "127.0.0.1:0"]).args(args).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut url = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut url).unwrap();
        WorkerProcess { child, url: url.trim().to_owned() }
    }
}

impl Drop for WorkerProcess {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A folder with a table of edges and the file of a cluster.
struct Workplace {
    folder: tempfile::TempDir,
    workers: Vec<WorkerProcess>,
}

impl Workplace {
    fn new(workers: usize, args: &[&str]) -> Workplace {
        let folder = tempfile::tempdir().unwrap();
        let mut edges = String::from("src,dst,w\n");
        for k in 0..3000u32 {
            writeln!(edges, "{},{},{}", k * 7 % 97, k * 11 % 89, k % 13).unwrap();
        }
        fs::write(folder.path().join("e.csv"), edges).unwrap();
        let workers = (0..workers).map(|_| WorkerProcess::start(args)).collect();
        Workplace { folder, workers }
    }

    fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Runs statements, on the cluster if `cluster` is the rest of the file of the cluster.
    fn sql(&self, statements: &str, cluster: Option<&str>) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_redpoll"));
        command
            .args(["sql", statements, "--format", "csv", "--table"])
            .arg(format!("e={}", self.file("e.csv").display()));
        if let Some(rest) = cluster {
            let urls: Vec<&str> = self.workers.iter().map(|worker| worker.url.as_str()).collect();
            fs::write(self.file("workers.toml"), format!("workers = {urls:?}\n{rest}")).unwrap();
            command.arg("--cluster").arg(self.file("workers.toml"));
        }
        command.output().unwrap()
    }
}

/// Returns the standard output of a run that must succeed.
fn stdout(output: &Output) -> &str {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    str::from_utf8(&output.stdout).unwrap()
}

/// Returns the standard error of a run that must fail.
fn stderr(output: &Output) -> &str {
    assert!(!output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    str::from_utf8(&output.stderr).unwrap()
}

const TRIANGLES: &str =
    "SELECT count(*), sum(a.w) FROM e a, e b, e c WHERE a.dst = b.src AND b.dst = c.src AND c.dst = a.src";

const PATHS: &str = "SELECT a.src, count(*), sum(a.w * b.w), avg(b.w) FROM e a JOIN e b ON a.dst = b.src GROUP BY a.src \
    ORDER BY a.src";

#[test]
fn four_processes_agree_with_one() {
    let workplace = Workplace::new(4, &[]);
    for query in [TRIANGLES, PATHS] {
        let expected = workplace.sql(query, None);
        for spread in ["auto", "whole", "keyed", "cells"] {
            let statements = format!("SET redpoll.claim = 'always'; SET redpoll.spread = '{spread}'; {query}");
            let found = workplace.sql(&statements, Some(""));
            assert_eq!(stdout(&found), stdout(&expected), "{spread}: {query}");
        }
    }
}

/// A worker answers only requests with its secret.
#[test]
fn workers_check_the_secret() {
    let folder = tempfile::tempdir().unwrap();
    let secret = folder.path().join("secret.txt");
    fs::write(&secret, "finch\n").unwrap();
    let workplace = Workplace::new(2, &["--secret-file", secret.to_str().unwrap()]);
    let query = format!("SET redpoll.claim = 'always'; SET redpoll.spread = 'keyed'; {PATHS}");
    let expected = workplace.sql(PATHS, None);
    assert_eq!(stdout(&workplace.sql(&query, Some("secret = 'finch'"))), stdout(&expected));
    for wrong in ["secret = 'wren'", ""] {
        let output = workplace.sql(&query, Some(wrong));
        let message = stderr(&output);
        assert!(message.contains("lacks the secret") && message.contains("http://127.0.0.1:"), "{message}");
    }
}

/// The error of a query names a worker that is gone.
#[test]
fn a_lost_worker_is_named() {
    let mut workplace = Workplace::new(3, &[]);
    workplace.workers[1].child.kill().unwrap();
    workplace.workers[1].child.wait().unwrap();
    let query = format!("SET redpoll.claim = 'always'; SET redpoll.spread = 'keyed'; {PATHS}");
    let output = workplace.sql(&query, Some(""));
    let message = stderr(&output);
    assert!(message.contains(&workplace.workers[1].url), "{message}");
}

#[test]
fn wrong_cluster_files_are_errors() {
    let workplace = Workplace::new(0, &[]);
    for (text, expected) in [
        ("workers = []", "at least one worker"),
        ("workers = ['10.0.0.1']", "expected a URL"),
        ("workers = ['http://a:1', 'http://a:1']", "listed twice"),
        ("worker = ['http://a:1']", "unknown field `worker`"),
        ("workers = 'http://a:1'", "invalid type"),
    ] {
        let file = workplace.file("cluster.toml");
        fs::write(&file, text).unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_redpoll"));
        let output = command.args(["sql", "SELECT 1", "--cluster"]).arg(&file).output().unwrap();
        let message = stderr(&output);
        assert!(message.contains(expected) && message.contains("cluster.toml"), "{message}");
    }
}

/// A worker that other machines can reach needs a secret.
#[test]
fn open_workers_need_a_secret() {
    let mut command = Command::new(env!("CARGO_BIN_EXE_redpoll"));
    let output = command.args(["worker", "--listen", "0.0.0.0:0"]).output().unwrap();
    assert!(stderr(&output).contains("--secret-file"));
}
