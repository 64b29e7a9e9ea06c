//! What the harness has measured, as it is written and read.

use crate::protocol::{Compared, Memory};
use crate::statistics::{Ratio, Summary};
use crate::workload::Suite;
use serde::{Deserialize, Serialize};

/// A whole run of the harness.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Results {
    /// Where it ran.
    pub machine: Machine,
    /// How it was asked to run.
    pub settings: Settings,
    /// Every peer, and its version or why it is missing.
    pub peers: Vec<PeerState>,
    /// The workloads, in order.
    pub outcomes: Vec<Outcome>,
}

/// The machine and its yardsticks.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Machine {
    /// The processor.
    pub processor: String,
    /// The operating system.
    pub system: String,
    /// The day, in UTC.
    pub date: String,
    /// The compiler of the harness, and that of the optimizing tier.
    pub compilers: Vec<String>,
    /// Bytes read and written a second by a copy of a large array.
    pub copy_bandwidth: f64,
    /// Bytes a second of a sum over a large array.
    pub read_bandwidth: f64,
    /// Gathers a second by a bare loop over uniform indices into an array that the cache holds, and one that it does not.
    pub gathers: [f64; 2],
    /// How many processes wanted to run when the harness began, on average.
    pub load: String,
}

/// How the harness was asked to run.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Settings {
    /// Whether data were small.
    pub quick: bool,
    /// Threads for each side.
    pub threads: usize,
}

/// A peer, and whether it could be had.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct PeerState {
    /// Its name.
    pub name: String,
    /// Its version, or the reason why it was skipped.
    pub version: Result<String, String>,
}

/// One workload over some data.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Outcome {
    /// `suite/workload/data`.
    pub id: String,
    /// The group.
    pub suite: Suite,
    /// The workload.
    pub name: String,
    /// The name of the data.
    pub data: String,
    /// What is computed.
    pub equation: String,
    /// The data in words.
    pub words: String,
    /// Bytes of the arrays read and written, each once; 0 where it is not told.
    pub bytes: f64,
    /// Multiplications and additions; 0 where it is not told.
    pub operations: f64,
    /// What is compared with each other in place of tiers and peers, the first being the baseline.
    #[serde(default)]
    pub compared: Vec<Compared>,
    /// Why it did not run.
    pub skipped: Option<String>,
    /// What is wrong: results that differ, runs that failed.
    pub failures: Vec<String>,
    /// All sides; redpoll's ways first.
    pub sides: Vec<Side>,
}

/// One way to compute a workload.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Side {
    /// `redpoll`, or the peer.
    pub peer: String,
    /// Which way of redpoll.
    pub way: String,
    /// What became of it.
    pub status: Status,
    /// Seconds of the first run.
    pub first: f64,
    /// Seconds by round.
    pub seconds: Vec<f64>,
    /// Seconds in kernels by round, where they can be told apart.
    pub kernel: Vec<f64>,
    /// Seconds that reading took.
    pub load: f64,
    /// Seconds that building of formats took.
    pub build: f64,
    /// The most bytes of memory that the process held while it ran: its code, the inputs, what it read them from, the
    /// results and what checked them.
    pub peak: u64,
    /// The memory of the last run, as far as it is told.
    #[serde(default)]
    pub memory: Option<Memory>,
}

/// What became of a side.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Status {
    /// It ran, and its results agree.
    Ran,
    /// It has no way to compute that.
    Unsupported(String),
    /// It failed.
    Failed(String),
    /// It took longer than a side may, which is told.
    Slow(String),
    /// Its results differ.
    Mismatch(String),
}

impl Outcome {
    /// The side that others are compared with: redpoll with everything cached, by the optimizing tier, or else the
    /// instant one. Of what is compared with each other, the baseline.
    pub fn reference(&self) -> Option<&Side> {
        let ran = |way: &str| self.sides.iter().find(|s| s.is_ours() && s.way == way && s.status == Status::Ran);
        if let Some(baseline) = self.compared.first() {
            return ran(&baseline.name);
        }
        ran("optimizing").or_else(|| ran("instant"))
    }

    /// How many times as long as redpoll a side takes.
    pub fn ratio(&self, side: &Side) -> Option<Ratio> {
        Ratio::of_rounds(&side.seconds, &self.reference()?.seconds)
    }

    /// How many times as fast as the baseline a way is, of those that are compared with each other.
    pub fn gain(&self, side: &Side) -> Option<Ratio> {
        Ratio::of_rounds(&self.reference()?.seconds, &side.seconds)
    }

    /// The sides of peers.
    pub fn peers(&self) -> impl Iterator<Item = &Side> {
        self.sides.iter().filter(|side| !side.is_ours())
    }

    /// The side of redpoll of that way.
    pub fn ours(&self, way: &str) -> Option<&Side> {
        self.sides.iter().find(|side| side.is_ours() && side.way == way)
    }
}

impl Side {
    /// Whether it is redpoll.
    pub fn is_ours(&self) -> bool {
        self.peer == "redpoll"
    }

    /// What its runs come to.
    pub fn summary(&self) -> Option<Summary> {
        Summary::of(&self.seconds)
    }
}
