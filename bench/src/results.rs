//! Measurements of the harness, as written to and read from JSON.

use crate::protocol::{RunMemory, VariantInfo};
use crate::statistics::{Ratio, Summary};
use crate::workload::Suite;
use serde::{Deserialize, Serialize};

/// A run of the harness.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Results {
    /// The machine that ran the harness.
    pub machine: MachineInfo,
    /// The settings of the run.
    pub settings: RunSettings,
    /// Every peer with its version, or the reason why it is missing.
    pub peers: Vec<PeerState>,
    /// The workloads, measured or skipped, in order.
    pub outcomes: Vec<WorkloadOutcome>,
}

/// The machine and its reference speeds.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct MachineInfo {
    /// The processor.
    pub processor: String,
    /// The operating system.
    pub system: String,
    /// The date in UTC.
    pub date: String,
    /// The compilers of the harness and of the optimizing tier.
    pub compilers: Vec<String>,
    /// Bytes read and written per second by a copy of a large array.
    pub copy_bandwidth: f64,
    /// Bytes read per second by a sum over a large array.
    pub read_bandwidth: f64,
    /// Number of values that a bare loop gathers per second at uniform indices: first from an array
    /// that fits the caches, then from an array that does not.
    pub gathers: [f64; 2],
    /// The load averages of the machine over 1, 5 and 15 minutes, when the harness started.
    pub load: String,
}

/// The settings of a run.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct RunSettings {
    /// Set when data are small.
    pub quick: bool,
    /// Number of threads for each side.
    pub threads: usize,
}

/// A peer and its availability.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct PeerState {
    /// The name of the peer.
    pub name: String,
    /// The version, or the reason why the peer was skipped.
    pub version: Result<String, String>,
}

/// The measurements of one workload over some data.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct WorkloadOutcome {
    /// `suite/workload/data`.
    pub id: String,
    /// The suite.
    pub suite: Suite,
    /// The name of the workload.
    pub name: String,
    /// The name of the data.
    pub data: String,
    /// The equation that the workload computes.
    pub equation: String,
    /// A description of the data.
    #[serde(rename = "words")]
    pub description: String,
    /// Bytes of the arrays read and written, each once; 0 if unknown.
    pub bytes: f64,
    /// Number of multiplications and additions, or steps of merges; 0 if unknown.
    pub operations: f64,
    /// Variants that are compared with each other; the first is the baseline. A workload with
    /// variants has no sides of tiers and peers.
    #[serde(default, rename = "compared")]
    pub variants: Vec<VariantInfo>,
    /// The reason why the workload did not run.
    pub skipped: Option<String>,
    /// Descriptions of results that differ, on any side, and of errors and timeouts of redpoll.
    /// Errors and timeouts of peers are only in the status of their sides.
    pub failures: Vec<String>,
    /// All sides, with the execution modes of redpoll first.
    pub sides: Vec<SideOutcome>,
}

/// The measurements of one engine, execution mode or variant for a workload.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SideOutcome {
    /// `redpoll`, or the name of the peer.
    pub peer: String,
    /// The execution mode or variant of redpoll; empty for peers.
    #[serde(rename = "way")]
    pub mode: String,
    /// The outcome of the side.
    pub status: SideStatus,
    /// Time of the first run in seconds.
    pub first: f64,
    /// Time of each round in seconds.
    pub seconds: Vec<f64>,
    /// Time in kernels in each round in seconds, if measured separately.
    pub kernel: Vec<f64>,
    /// Time to read the inputs in seconds.
    pub load: f64,
    /// Time to build formats in seconds.
    pub build: f64,
    /// Peak memory of the process in bytes: code, inputs, the data from which the inputs were read,
    /// results and the checks of results.
    pub peak: u64,
    /// The memory of the last run, if reported.
    #[serde(default)]
    pub memory: Option<RunMemory>,
}

/// The outcome of a side.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum SideStatus {
    /// The side ran, and its results agree.
    Ran,
    /// The side does not support the workload, for the given reason.
    Unsupported(String),
    /// The side failed with the given error.
    Failed(String),
    /// The side exceeded its time limit, as described.
    Slow(String),
    /// The results differ, as described.
    Mismatch(String),
}

impl WorkloadOutcome {
    /// Returns the side with which all other sides are compared: the cached optimizing tier of
    /// redpoll, or else the cached instant tier. For variants, returns the baseline.
    pub fn reference(&self) -> Option<&SideOutcome> {
        let completed = |mode: &str| self.redpoll_side(mode).filter(|side| side.status == SideStatus::Ran);
        if let Some(baseline) = self.variants.first() {
            return completed(&baseline.name);
        }
        completed("optimizing").or_else(|| completed("instant"))
    }

    /// Returns the time of `side` relative to the reference.
    pub fn ratio(&self, side: &SideOutcome) -> Option<Ratio> {
        Ratio::of_rounds(&side.seconds, &self.reference()?.seconds)
    }

    /// Returns the speedup of a variant over the baseline.
    pub fn speedup(&self, side: &SideOutcome) -> Option<Ratio> {
        Ratio::of_rounds(&self.reference()?.seconds, &side.seconds)
    }

    /// Returns the sides of peers.
    pub fn peers(&self) -> impl Iterator<Item = &SideOutcome> {
        self.sides.iter().filter(|side| !side.is_redpoll())
    }

    /// Returns the side of redpoll with the given execution mode or variant.
    pub fn redpoll_side(&self, mode: &str) -> Option<&SideOutcome> {
        self.sides.iter().find(|side| side.is_redpoll() && side.mode == mode)
    }
}

impl SideOutcome {
    /// Returns whether the side is redpoll.
    pub fn is_redpoll(&self) -> bool {
        self.peer == "redpoll"
    }

    /// Returns the summary of the measured rounds.
    pub fn summary(&self) -> Option<Summary> {
        Summary::of(&self.seconds)
    }
}
