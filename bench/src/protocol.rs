//! How the harness talks with what it measures: a process that lives long, one line of JSON a request, one a reply.
//!
//! redpoll itself, DuckDB and every Python peer are servers of the same protocol, so that all are measured alike: by their
//! own clock, around the work alone. A server keeps the result of its last run, so that it can be checked outside of the
//! measured time.

use crate::checks::Sums;
use anyhow::{Context, Result, bail};
use serde::{Deserialize, Serialize};
use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

/// What the harness asks for.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "snake_case")]
pub enum Request {
    /// Who are you? Answered by [`Reply::Hello`].
    Hello {
        /// The threads that it may use.
        threads: usize,
    },
    /// Make the data of a workload and write them into a folder; redpoll alone is asked. Answered by [`Reply::Made`].
    Make(Choice),
    /// Compute the workload on tiny data, twice: by kernels and by the reference interpreter; redpoll alone is asked.
    /// Answered by [`Reply::Checked`], the sums of the first beside those of the second.
    Verify(Choice),
    /// Take data and build from them what runs best. Answered by [`Reply::Loaded`] or [`Reply::Unsupported`].
    Load(Task),
    /// Run so many times. Answered by [`Reply::Ran`].
    Run {
        /// Which way, where there are several: redpoll has tiers and caches.
        way: String,
        /// How many times.
        repeat: u32,
    },
    /// The sums of the results of the last run. Answered by [`Reply::Checked`].
    Check,
    /// Good bye.
    Quit,
}

/// What a server replies. Any request may be answered by [`Reply::Failed`].
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(tag = "is", rename_all = "snake_case")]
#[allow(missing_docs, reason = "the fields say what they are")]
pub enum Reply {
    /// Its name and version.
    Hello { name: String, version: String },
    /// The task that others can do, too, and what redpoll alone knows of it.
    Made { task: Task, data: String, bytes: f64, operations: f64, generate: f64, compared: Vec<Compared> },
    /// Ready; the seconds that reading of the files and building of indices and encodings took.
    Loaded { load: f64, build: f64 },
    /// It has no way to compute that.
    Unsupported { reason: String },
    /// The seconds of one run, those that kernels took, where they can be told apart, and its memory, which redpoll alone
    /// tells.
    Ran { seconds: f64, kernel: Option<f64>, memory: Option<Memory> },
    /// Checksums, one a result.
    Checked { sums: Vec<Sums> },
    /// Something went wrong.
    Failed { error: String },
}

/// The memory of a run, in bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Memory {
    /// The most that was allocated at one time: results, what is computed between them, workspaces.
    pub held: u64,
    /// The results.
    pub results: u64,
}

/// A way to store and compute something that is compared with others, the first of them being the baseline.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Compared {
    /// Its name, by which it is run.
    pub name: String,
    /// What a paper found for it.
    pub paper: Option<String>,
}

/// One workload over some data.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Choice {
    /// The name as `suite/workload/data`.
    pub id: String,
    /// Whether data are small.
    pub size: crate::workload::Size,
    /// Where to write them.
    pub folder: PathBuf,
}

/// What there is to compute, over files.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Task {
    /// The name of the workload, by which servers know what to do.
    pub operation: String,
    /// Where the files are.
    pub folder: PathBuf,
    /// The inputs.
    pub inputs: Vec<InputFile>,
    /// Numbers that the workload takes beside its inputs.
    pub parameters: serde_json::Map<String, serde_json::Value>,
    /// The fill value of each result, infinity as text.
    pub fills: Vec<Fill>,
    /// How far results may be off, as a part of the sum of their absolute values.
    pub tolerance: f64,
    /// The query that everybody is asked, where there is one: who takes SQL needs no program for the operation.
    #[serde(default)]
    pub query: Option<Query>,
}

/// A query over a table an input: that of `A` is `m_a`, that of `x` is `v_x`, with a column a mode (`i`, `j`, `k`) and one
/// of values (`v`). Its rows are the coordinates of a result in order, and then the value.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Query {
    /// The text.
    pub sql: String,
    /// The shape of the result.
    pub shape: Vec<u64>,
}

/// An input in files: `NAME.npy` of a dense one; `NAME.coords.npy`, of shape (modes, entries), and `NAME.values.npy` of a
/// sparse one, whose entries are sorted row-major, each there once.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct InputFile {
    /// Its name.
    pub name: String,
    /// The size of each mode.
    pub shape: Vec<u64>,
    /// Whether every place is there.
    pub dense: bool,
    /// The value of places that are not stored.
    pub fill: Fill,
}

/// A fill value, which may be infinite: JSON has no infinity.
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

/// What answers requests.
pub trait Server {
    /// The reply to a request; an error is told the harness, which may go on with other requests.
    ///
    /// # Errors
    /// When it cannot do what it is asked for.
    fn answer(&mut self, request: Request) -> Result<Reply>;
}

/// Answers requests until the input ends or says good bye.
///
/// # Errors
/// When the other side cannot be reached any more.
pub fn serve(server: &mut dyn Server, requests: impl BufRead, mut replies: impl Write) -> Result<()> {
    for line in requests.lines() {
        let request = match serde_json::from_str(&line?) {
            Ok(Request::Quit) => break,
            Ok(request) => server.answer(request),
            Err(error) => Err(error.into()),
        };
        let reply = request.unwrap_or_else(|error| Reply::Failed { error: format!("{error:#}") });
        writeln!(replies, "{}", serde_json::to_string(&reply)?)?;
        replies.flush()?;
    }
    Ok(())
}

/// A server that took longer than it may, and was ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NoAnswer(pub Duration);

impl std::fmt::Display for NoAnswer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "no answer within {} s", self.0.as_secs_f64())
    }
}

impl std::error::Error for NoAnswer {}

/// A server in a process of its own, seen from the harness.
pub struct Client {
    process: Child,
    replies: Receiver<String>,
}

impl Client {
    /// Starts the process.
    ///
    /// # Errors
    /// When it cannot be started.
    pub fn start(command: &mut Command) -> Result<Client> {
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut process = command.spawn().with_context(|| format!("cannot start {:?}", command.get_program()))?;
        let output = process.stdout.take().context("the output is piped")?;
        let (sender, replies) = channel();
        std::thread::spawn(move || {
            // Ends with the process, or when nobody listens any more.
            for line in BufReader::new(output).lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    break;
                }
            }
        });
        Ok(Client { process, replies })
    }

    /// The number of the process.
    pub fn id(&self) -> u32 {
        self.process.id()
    }

    /// Asks and waits. A server that does not answer in time is ended.
    ///
    /// # Errors
    /// When the process is gone, does not answer in time, or says that it failed.
    pub fn ask(&mut self, request: &Request, limit: Duration) -> Result<Reply> {
        let input = self.process.stdin.as_mut().context("the process has ended")?;
        writeln!(input, "{}", serde_json::to_string(request)?).context("the process has ended")?;
        input.flush().context("the process has ended")?;
        match self.replies.recv_timeout(limit) {
            Ok(line) => match serde_json::from_str(&line).with_context(|| format!("no reply: {line}"))? {
                Reply::Failed { error } => bail!("{error}"),
                reply => Ok(reply),
            },
            Err(RecvTimeoutError::Disconnected) => match self.process.wait() {
                Ok(status) => bail!("the process has ended ({status})"),
                Err(error) => bail!("the process is gone: {error}"),
            },
            Err(RecvTimeoutError::Timeout) => {
                // It may have ended by itself meanwhile.
                let _ = self.process.kill();
                let _ = self.process.wait();
                Err(NoAnswer(limit).into())
            }
        }
    }

    /// Whether the process is there.
    pub fn is_alive(&mut self) -> bool {
        matches!(self.process.try_wait(), Ok(None))
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        // Whoever does not listen any more is ended.
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

    struct Fake;

    impl Server for Fake {
        fn answer(&mut self, request: Request) -> Result<Reply> {
            match request {
                Request::Hello { threads } => Ok(Reply::Hello { name: "fake".into(), version: threads.to_string() }),
                Request::Run { repeat, .. } => {
                    Ok(Reply::Ran { seconds: f64::from(repeat), kernel: None, memory: None })
                }
                _ => bail!("it is a fake"),
            }
        }
    }

    #[test]
    fn servers_answer_line_by_line_and_go_on_after_failures() {
        let requests = b"{\"do\":\"hello\",\"threads\":3}\nnonsense\n{\"do\":\"check\"}\n{\"do\":\"run\",\"way\":\"x\",\"repeat\":4}\n{\"do\":\"quit\"}\n{\"do\":\"check\"}\n";
        let mut replies = Vec::new();
        serve(&mut Fake, &requests[..], &mut replies).unwrap();
        let replies: Vec<Reply> =
            String::from_utf8(replies).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!(replies.len(), 4);
        assert_eq!(replies[0], Reply::Hello { name: "fake".into(), version: "3".into() });
        assert!(matches!(&replies[1], Reply::Failed { error } if error.contains("expected")), "{:?}", replies[1]);
        assert_eq!(replies[2], Reply::Failed { error: "it is a fake".into() });
        assert_eq!(replies[3], Reply::Ran { seconds: 4.0, kernel: None, memory: None });
    }

    #[test]
    fn clients_talk_with_processes_and_end_those_that_hang() {
        let script = r#"read request; echo '{"is":"ran","seconds":0.5,"kernel":null}'
                        read request; echo '{"is":"failed","error":"out of luck"}'
                        read request; exec sleep 60"#;
        let mut client = Client::start(Command::new("sh").args(["-c", script])).unwrap();
        let limit = Duration::from_secs(20);
        let run = Request::Run { way: String::new(), repeat: 1 };
        assert_eq!(client.ask(&run, limit).unwrap(), Reply::Ran { seconds: 0.5, kernel: None, memory: None });
        assert_eq!(client.ask(&run, limit).unwrap_err().to_string(), "out of luck");
        let hang = client.ask(&run, Duration::from_millis(50)).unwrap_err().to_string();
        assert!(hang.contains("no answer"), "{hang}");
        assert!(client.ask(&run, limit).unwrap_err().to_string().contains("has ended"));
    }

    #[test]
    fn fills_may_be_infinite() {
        let text = serde_json::to_string(&[Fill(f64::INFINITY), Fill(0.0)]).unwrap();
        assert_eq!(text, "[\"inf\",\"0\"]");
        assert_eq!(serde_json::from_str::<Vec<Fill>>(&text).unwrap(), [Fill(f64::INFINITY), Fill(0.0)]);
    }
}
