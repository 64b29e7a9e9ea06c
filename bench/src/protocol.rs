//! The protocol between the harness and the engines that it measures. Each engine is a long-lived
//! process; requests and replies are single lines of JSON.
//!
//! Redpoll and every peer of the harness are servers of this protocol. Each server measures the
//! time of the work alone. A server retains the result of its last run, so that the harness can
//! check it outside of the measured time.

use crate::checks::Sums;
use anyhow::{Context, Result, bail};
use serde::{Deserialize, Serialize};
use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

/// A request of the harness.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "snake_case")]
pub enum ServerRequest {
    /// Asks for name and version. The reply is [`ServerReply::Hello`].
    Hello {
        /// Number of threads that the server may use.
        threads: usize,
    },
    /// Generates the data of a workload and writes them to a folder; sent to redpoll alone. The
    /// reply is [`ServerReply::Generated`] or [`ServerReply::Unsupported`].
    Generate(WorkloadChoice),
    /// Computes the workload on tiny data twice: by kernels, and by a reference. The reference is
    /// the interpreter; for SQL queries, it is DataFusion. Sent to redpoll alone. The reply is
    /// [`ServerReply::Checked`], with the sums of the kernels followed by those of the reference,
    /// or [`ServerReply::Unsupported`].
    Verify(WorkloadChoice),
    /// Reads data and builds the formats that run fastest. The reply is [`ServerReply::Loaded`] or
    /// [`ServerReply::Unsupported`].
    Load(WorkloadTask),
    /// Runs the workload `repeat` times. The reply is [`ServerReply::Ran`].
    Run {
        /// The mode of execution, for redpoll: a tier with or without caches, or a variant.
        #[serde(rename = "way")]
        mode: String,
        /// Number of runs.
        repeat: u32,
    },
    /// Computes the sums of the results of the last run. The reply is [`ServerReply::Checked`].
    Check,
    /// Ends the server.
    Quit,
}

/// A reply of a server. The reply to any request may be [`ServerReply::Failed`].
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(tag = "is", rename_all = "snake_case")]
#[allow(missing_docs, reason = "the names of the fields describe them")]
pub enum ServerReply {
    /// The name and version of the server.
    Hello { name: String, version: String },
    /// The task for all servers, and facts about the task for the harness.
    Generated {
        task: WorkloadTask,
        data: String,
        bytes: f64,
        operations: f64,
        generate: f64,
        #[serde(rename = "compared")]
        variants: Vec<VariantInfo>,
    },
    /// The data are loaded; `load` and `build` are the seconds to read files and to build indices
    /// and encodings.
    Loaded { load: f64, build: f64 },
    /// The server does not support the task.
    Unsupported { reason: String },
    /// The seconds of one run; the seconds in kernels, if measured separately; and the memory of
    /// the run, which only redpoll reports.
    Ran { seconds: f64, kernel: Option<f64>, memory: Option<RunMemory> },
    /// The checksums of all results, in order.
    Checked { sums: Vec<Sums> },
    /// The request failed.
    Failed { error: String },
}

/// The memory of a run, in bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct RunMemory {
    /// Peak of allocated memory: results, intermediate tensors, workspaces.
    #[serde(rename = "held")]
    pub peak: u64,
    /// Memory of the results.
    pub results: u64,
}

/// A variant of a workload. Variants are compared with the first one, which is the baseline.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct VariantInfo {
    /// The name of the variant, which is its mode in requests.
    pub name: String,
    /// The result that a paper reports.
    pub paper: Option<String>,
}

/// A workload over some data.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct WorkloadChoice {
    /// The name `suite/workload/data`.
    pub id: String,
    /// The size of the data.
    pub size: crate::workload::DataSize,
    /// The folder to write the data to.
    pub folder: PathBuf,
}

/// A computation over files.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct WorkloadTask {
    /// The name of the workload, by which servers select their program.
    pub operation: String,
    /// The folder of the files.
    pub folder: PathBuf,
    /// The inputs.
    pub inputs: Vec<InputFile>,
    /// Numbers that the workload takes in addition to its inputs.
    pub parameters: serde_json::Map<String, serde_json::Value>,
    /// The fill value of each result.
    pub fills: Vec<Fill>,
    /// The largest accepted error, relative to the sum of the absolute values of a result.
    pub tolerance: f64,
    /// The SQL query of the workload, if the workload is a query. Servers that take SQL run the
    /// query and need no program for the operation.
    #[serde(default)]
    pub query: Option<SqlQuery>,
}

/// A query over one table for each input: `m_a` for matrix `A`, `v_x` for vector `x`. A table has a
/// column for each mode (`i`, `j`, ..) and a column `v` of values. The rows of the query are the
/// coordinates of a result in order, followed by the value.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct SqlQuery {
    /// The SQL text.
    pub sql: String,
    /// The shape of the result.
    pub shape: Vec<u64>,
}

/// An input in files. A dense input is `NAME.npy`. A sparse input is `NAME.coords.npy`, of shape
/// (modes, entries), and `NAME.values.npy`; its entries are sorted row-major and unique.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct InputFile {
    /// The name of the input.
    pub name: String,
    /// The size of each mode.
    pub shape: Vec<u64>,
    /// True if every coordinate is stored.
    pub dense: bool,
    /// The value of coordinates that are not stored.
    pub fill: Fill,
}

/// A fill value, written as text because JSON has no infinity.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct Fill(pub f64);

impl From<Fill> for String {
    fn from(fill: Fill) -> String {
        fill.0.to_string()
    }
}

impl TryFrom<String> for Fill {
    type Error = std::num::ParseFloatError;

    fn try_from(text: String) -> Result<Fill, Self::Error> {
        text.parse().map(Fill)
    }
}

/// A server of the protocol.
pub trait Server {
    /// Handles a request. The harness receives an error as [`ServerReply::Failed`] and may send
    /// further requests.
    ///
    /// # Errors
    /// If the server cannot fulfil the request.
    fn handle(&mut self, request: ServerRequest) -> Result<ServerReply>;
}

/// Handles requests until the input ends or contains a request to quit.
///
/// # Errors
/// If the connection to the harness is lost.
pub fn serve(server: &mut dyn Server, requests: impl BufRead, mut replies: impl Write) -> Result<()> {
    for line in requests.lines() {
        let request = match serde_json::from_str(&line?) {
            Ok(ServerRequest::Quit) => break,
            Ok(request) => server.handle(request),
            Err(error) => Err(error.into()),
        };
        let reply = request.unwrap_or_else(|error| ServerReply::Failed { error: format!("{error:#}") });
        writeln!(replies, "{}", serde_json::to_string(&reply)?)?;
        replies.flush()?;
    }
    Ok(())
}

/// The error of a server that exceeded its time limit and was killed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TimeoutError(pub Duration);

impl std::fmt::Display for TimeoutError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "no reply within {} s", self.0.as_secs_f64())
    }
}

impl std::error::Error for TimeoutError {}

/// The harness's handle of a server process.
pub struct Client {
    process: Child,
    replies: Receiver<String>,
}

impl Client {
    /// Starts the process.
    ///
    /// # Errors
    /// If the process cannot be started.
    pub fn start(command: &mut Command) -> Result<Client> {
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut process = command.spawn().with_context(|| format!("cannot start {:?}", command.get_program()))?;
        let output = process.stdout.take().context("the output of the process is not piped")?;
        let (sender, replies) = channel();
        std::thread::spawn(move || {
            // The thread ends with the process, or after the receiver is dropped.
            for line in BufReader::new(output).lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    break;
                }
            }
        });
        Ok(Client { process, replies })
    }

    /// Returns the id of the process.
    pub fn id(&self) -> u32 {
        self.process.id()
    }

    /// Sends a request and waits for the reply. Kills a server that does not reply in time.
    ///
    /// # Errors
    /// If the process has ended, does not reply in time, sends an invalid reply, or reports a
    /// failure.
    pub fn request(&mut self, request: &ServerRequest, limit: Duration) -> Result<ServerReply> {
        let input = self.process.stdin.as_mut().context("the process has ended")?;
        writeln!(input, "{}", serde_json::to_string(request)?).context("the process has ended")?;
        input.flush().context("the process has ended")?;
        match self.replies.recv_timeout(limit) {
            Ok(line) => match serde_json::from_str(&line).with_context(|| format!("invalid reply `{line}`"))? {
                ServerReply::Failed { error } => bail!("{error}"),
                reply => Ok(reply),
            },
            Err(RecvTimeoutError::Disconnected) => match self.process.wait() {
                Ok(status) => bail!("the process has ended ({status})"),
                Err(error) => bail!("cannot wait for the process: {error}"),
            },
            Err(RecvTimeoutError::Timeout) => {
                // The process may have ended by itself, so errors are ignored.
                let _ = self.process.kill();
                let _ = self.process.wait();
                Err(TimeoutError(limit).into())
            }
        }
    }

    /// Returns whether the process is running.
    pub fn is_alive(&mut self) -> bool {
        matches!(self.process.try_wait(), Ok(None))
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        // Asks the process to quit; a process that does not quit is killed below.
        if let Some(mut input) = self.process.stdin.take() {
            let _ = writeln!(input, "{}", serde_json::json!({ "do": "quit" }));
        }
        for _ in 0..50 {
            if !self.is_alive() {
                return;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct TestServer;

    impl Server for TestServer {
        fn handle(&mut self, request: ServerRequest) -> Result<ServerReply> {
            match request {
                ServerRequest::Hello { threads } => {
                    Ok(ServerReply::Hello { name: "test".into(), version: threads.to_string() })
                }
                ServerRequest::Run { repeat, .. } => {
                    Ok(ServerReply::Ran { seconds: f64::from(repeat), kernel: None, memory: None })
                }
                _ => bail!("not supported"),
            }
        }
    }

    #[test]
    fn servers_reply_line_by_line_and_continue_after_failures() {
        let requests = b"{\"do\":\"hello\",\"threads\":3}\nnonsense\n{\"do\":\"check\"}\n{\"do\":\"run\",\"way\":\"x\",\"repeat\":4}\n{\"do\":\"quit\"}\n{\"do\":\"check\"}\n";
        let mut replies = Vec::new();
        serve(&mut TestServer, &requests[..], &mut replies).unwrap();
        let replies: Vec<ServerReply> =
            String::from_utf8(replies).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!(replies.len(), 4);
        assert_eq!(replies[0], ServerReply::Hello { name: "test".into(), version: "3".into() });
        assert!(matches!(&replies[1], ServerReply::Failed { error } if error.contains("expected")), "{:?}", replies[1]);
        assert_eq!(replies[2], ServerReply::Failed { error: "not supported".into() });
        assert_eq!(replies[3], ServerReply::Ran { seconds: 4.0, kernel: None, memory: None });
    }

    #[test]
    fn clients_exchange_messages_and_kill_hanging_processes() {
        let script = r#"read request; echo '{"is":"ran","seconds":0.5,"kernel":null}'
                        read request; echo '{"is":"failed","error":"out of memory"}'
                        read request; exec sleep 60"#;
        let mut client = Client::start(Command::new("sh").args(["-c", script])).unwrap();
        let limit = Duration::from_secs(20);
        let run = ServerRequest::Run { mode: String::new(), repeat: 1 };
        assert_eq!(client.request(&run, limit).unwrap(), ServerReply::Ran { seconds: 0.5, kernel: None, memory: None });
        assert_eq!(client.request(&run, limit).unwrap_err().to_string(), "out of memory");
        let hang = client.request(&run, Duration::from_millis(50)).unwrap_err().to_string();
        assert!(hang.contains("no reply"), "{hang}");
        assert!(client.request(&run, limit).unwrap_err().to_string().contains("has ended"));
    }

    #[test]
    fn fills_may_be_infinite() {
        let text = serde_json::to_string(&[Fill(f64::INFINITY), Fill(0.0)]).unwrap();
        assert_eq!(text, "[\"inf\",\"0\"]");
        assert_eq!(serde_json::from_str::<Vec<Fill>>(&text).unwrap(), [Fill(f64::INFINITY), Fill(0.0)]);
    }
}
