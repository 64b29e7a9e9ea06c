//! A cluster of processes: workers that listen on free ports of this machine, and `redpoll sql` as
//! the coordinator. Proxies between the processes inject faults.

use std::fmt::Write;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

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

/// A fault of a worker, as seen over the network.
#[derive(Clone, Copy, Debug)]
enum Fault {
    /// All connections end.
    Close,
    /// All connections stay open, but carry nothing.
    Hang,
    /// The bytes change.
    Garbage,
}

/// Starts a proxy for a worker, and returns its URL. After the worker has sent `after` bytes over
/// all connections, the fault begins.
fn proxy(worker: &str, fault: Fault, after: usize) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let address = worker.strip_prefix("http://").unwrap().trim_end_matches('/').to_owned();
    let sent = Arc::<AtomicUsize>::default();
    thread::spawn(move || {
        for client in listener.incoming() {
            let (Ok(client), Ok(server)) = (client, TcpStream::connect(&address)) else { continue };
            let (from_client, to_client) = (client.try_clone().unwrap(), client);
            let (from_server, to_server) = (server.try_clone().unwrap(), server);
            thread::spawn(move || forward(from_client, to_server, |_| true));
            let sent = sent.clone();
            let break_off = move |bytes: &mut [u8]| {
                if sent.fetch_add(bytes.len(), Ordering::Relaxed) + bytes.len() <= after {
                    return true;
                }
                match fault {
                    Fault::Close => return false,
                    Fault::Hang => thread::park(),
                    Fault::Garbage => bytes.iter_mut().for_each(|byte| *byte ^= 0x55),
                }
                true
            };
            thread::spawn(move || forward(from_server, to_client, break_off));
        }
    });
    url
}

/// Copies bytes from one connection to another until one ends, or `change` returns `false`.
fn forward(mut from: TcpStream, mut to: TcpStream, mut change: impl FnMut(&mut [u8]) -> bool) {
    let mut buffer = [0; 4096];
    while let Ok(count @ 1..) = from.read(&mut buffer) {
        if !change(&mut buffer[..count]) || to.write_all(&buffer[..count]).is_err() {
            break;
        }
    }
    let _ = (from.shutdown(Shutdown::Both), to.shutdown(Shutdown::Both));
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
        let urls: Vec<&str> = self.workers.iter().map(|worker| worker.url.as_str()).collect();
        self.sql_at(statements, cluster.map(|rest| (&urls[..], rest)))
    }

    /// Runs statements, on workers at the given URLs if `cluster` has URLs and the rest of the file
    /// of the cluster.
    fn sql_at(&self, statements: &str, cluster: Option<(&[&str], &str)>) -> Output {
        self.command(statements, cluster).output().unwrap()
    }

    fn command(&self, statements: &str, cluster: Option<(&[&str], &str)>) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_redpoll"));
        command
            .args(["sql", statements, "--format", "csv", "--table"])
            .arg(format!("e={}", self.file("e.csv").display()));
        if let Some((urls, rest)) = cluster {
            fs::write(self.file("workers.toml"), format!("workers = {urls:?}\n{rest}")).unwrap();
            command.arg("--cluster").arg(self.file("workers.toml"));
        }
        command
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

/// The error of a query names a worker that is gone, and the cause. With a retry, the remaining
/// workers answer.
#[test]
fn a_lost_worker_is_named() {
    let mut workplace = Workplace::new(3, &[]);
    workplace.workers[1].child.kill().unwrap();
    workplace.workers[1].child.wait().unwrap();
    let query = format!("SET redpoll.claim = 'always'; SET redpoll.spread = 'keyed'; {PATHS}");
    let output = workplace.sql(&query, Some(""));
    let message = stderr(&output);
    assert!(message.contains(&workplace.workers[1].url), "{message}");
    assert!(message.contains("cannot be reached: tcp connect error: Connection refused"), "{message}");
    let expected = workplace.sql(PATHS, None);
    assert_eq!(stdout(&workplace.sql(&query, Some("retry = 1"))), stdout(&expected));
    assert_eq!(stdout(&workplace.sql(&format!("SET redpoll.retry = 1; {query}"), Some(""))), stdout(&expected));
    // One retry is not enough for two lost workers.
    workplace.workers[0].child.kill().unwrap();
    workplace.workers[0].child.wait().unwrap();
    assert!(stderr(&workplace.sql(&query, Some("retry = 1"))).contains("cannot be reached"));
    assert_eq!(stdout(&workplace.sql(&query, Some("retry = 2"))), stdout(&expected));
}

/// `--strict` applies to the workers.
#[test]
fn workers_are_strict_if_the_session_is() {
    let workplace = Workplace::new(2, &[]);
    let query = format!("SET redpoll.claim = 'always'; SET redpoll.spread = 'keyed'; {PATHS}");
    let run = |cluster| workplace.command(&query, cluster).arg("--strict").output().unwrap();
    let urls: Vec<&str> = workplace.workers.iter().map(|worker| worker.url.as_str()).collect();
    assert_eq!(stdout(&run(Some((&urls[..], "")))), stdout(&run(None)));
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

/// A query ends with its rows or an error, whatever a worker does at whatever time, and the workers
/// then answer other queries.
#[test]
fn faults_give_errors_or_the_right_rows() {
    let workplace = Workplace::new(3, &["--timeout", "1"]);
    let query = format!("SET redpoll.claim = 'always'; SET redpoll.spread = 'keyed'; {PATHS}");
    let expected = workplace.sql(PATHS, None);
    let mut failures = 0;
    for fault in [Fault::Close, Fault::Hang, Fault::Garbage] {
        for after in [0, 40, 100, 150, 200, 300, 500, 1000, 4000, 16000] {
            let faulty = proxy(&workplace.workers[1].url, fault, after);
            let urls = [&workplace.workers[0].url, faulty.as_str(), &workplace.workers[2].url];
            let output = workplace.sql_at(&query, Some((&urls, "timeout = 1")));
            if output.status.success() {
                assert_eq!(stdout(&output), stdout(&expected), "{fault:?} after {after} bytes");
            } else {
                let message = stderr(&output);
                assert!(message.contains("worker http://127.0.0.1:"), "{fault:?} after {after} bytes: {message}");
                failures += 1;
                // The other workers answer.
                let faulty = proxy(&workplace.workers[1].url, fault, after);
                let urls = [&workplace.workers[0].url, faulty.as_str(), &workplace.workers[2].url];
                let output = workplace.sql_at(&query, Some((&urls, "timeout = 1\nretry = 1")));
                assert_eq!(stdout(&output), stdout(&expected), "{fault:?} after {after} bytes, with a retry");
            }
        }
    }
    assert!((10..30).contains(&failures), "{failures} of 30 faults were errors");
    assert_eq!(stdout(&workplace.sql(&query, Some(""))), stdout(&expected));
}

/// A worker whose memory is exhausted says so.
#[test]
fn exhausted_memory_is_an_error_of_the_worker() {
    let workplace = Workplace::new(2, &["--memory-limit", "64K"]);
    let query = format!("SET redpoll.claim = 'always'; SET redpoll.spread = 'keyed'; {PATHS}");
    let output = workplace.sql(&query, Some(""));
    let message = stderr(&output);
    assert!(message.contains("memory") && message.contains("worker http://127.0.0.1:"), "{message}");
}

/// Workers end the tasks of a coordinator that is gone, and answer the next one.
#[test]
fn workers_outlive_coordinators() {
    let workplace = Workplace::new(2, &[]);
    let urls: Vec<&str> = workplace.workers.iter().map(|worker| worker.url.as_str()).collect();
    let endless = "SELECT count(*) FROM e a, e b, e c, e d WHERE a.w + b.w + c.w + d.w = 1000";
    for _ in 0..3 {
        let mut coordinator = workplace.command(endless, Some((&urls, ""))).stdout(Stdio::piped()).spawn().unwrap();
        // The coordinator connects to the workers before it waits for rows.
        while coordinator.try_wait().unwrap().is_none() && !is_connected(&coordinator) {
            thread::yield_now();
        }
        coordinator.kill().unwrap();
        coordinator.wait().unwrap();
    }
    let query = format!("SET redpoll.claim = 'always'; SET redpoll.spread = 'keyed'; {PATHS}");
    assert_eq!(stdout(&workplace.sql(&query, Some(""))), stdout(&workplace.sql(PATHS, None)));
}

/// Returns whether a process has a socket, as the system lists its files.
fn is_connected(process: &Child) -> bool {
    let Ok(files) = fs::read_dir(format!("/proc/{}/fd", process.id())) else { return true };
    let targets = files.filter_map(|file| fs::read_link(file.ok()?.path()).ok());
    targets.filter(|target| target.to_string_lossy().starts_with("socket:")).count() > 2
}
