//! Measures workloads. A side is another engine, or redpoll in one execution mode, or redpoll with
//! one variant of a workload. All sides take turns over the same data, which variants store in
//! different formats.

use crate::checks::Sums;
use crate::peers::{PEERS, Peer, start_server};
use crate::process::{peak_memory, reset_peak_memory, wait_until_idle};
use crate::protocol::{Client, RunMemory, ServerReply, ServerRequest, TimeoutError, WorkloadChoice, WorkloadTask};
use crate::redpoll_server::{ExecutionMode, compare_halves};
use crate::results::{PeerState, SideOutcome, SideStatus, WorkloadOutcome};
use crate::workload::{DataSize, Workload};
use anyhow::{Result, bail};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// Longest wait for the threads of one side to become idle. All known runtimes spin for a shorter
/// time.
const MAX_IDLE_WAIT: Duration = Duration::from_millis(500);

/// Largest total time of the unmeasured calls before a measurement. If a single call takes longer,
/// there are no unmeasured calls. These calls give the processor time to reach its full speed, and
/// refill caches with the data of the side.
const WARM_UP_TIME: Duration = Duration::from_millis(20);

/// Limits on the measurements of a workload.
#[derive(Clone, Copy, Debug)]
pub struct Budget {
    /// The size of the data.
    pub size: DataSize,
    /// Number of threads for each side.
    pub threads: usize,
    /// Time for the rounds of a workload. A side stops early when its measured calls have taken
    /// half of this time.
    pub round_time: Duration,
    /// Smallest number of rounds, even if they exceed `round_time`. Sides that stop early run fewer
    /// rounds.
    pub min_rounds: usize,
    /// Largest number of rounds.
    pub max_rounds: usize,
    /// Time limit of a run, and of loading data into a peer. Other requests have longer limits.
    pub request_timeout: Duration,
    /// Calls that are shorter than this are repeated within a measurement, except in cold modes.
    pub min_measurement: Duration,
}

impl Budget {
    /// Returns the budget for data of the given size.
    pub fn new(size: DataSize, threads: usize) -> Budget {
        let seconds = Duration::from_secs;
        Budget {
            size,
            threads,
            round_time: size.pick(seconds(4), seconds(2), Duration::from_millis(50)),
            min_rounds: size.pick(7, 3, 2),
            max_rounds: size.pick(41, 15, 3),
            request_timeout: size.pick(seconds(30), seconds(15), seconds(15)),
            min_measurement: size.pick(Duration::from_millis(2), Duration::from_millis(2), Duration::from_micros(100)),
        }
    }
}

/// A function that starts the server of redpoll with the given number of threads.
pub type StartServer = dyn Fn(usize) -> Result<Client>;

/// A harness that measures workloads within a budget. The peers keep running between workloads.
pub struct Harness {
    budget: Budget,
    start_redpoll: Box<StartServer>,
    peers: Vec<&'static Peer>,
    clients: BTreeMap<&'static str, Client>,
    states: Vec<PeerState>,
}

impl Harness {
    /// Creates a harness; starts the given peers and asks each for its version.
    pub fn new(budget: Budget, peers: Vec<&'static Peer>) -> Harness {
        let mut harness = Harness {
            budget,
            start_redpoll: Box::new(|threads| start_server("redpoll", threads)),
            peers: Vec::new(),
            clients: BTreeMap::new(),
            states: Vec::new(),
        };
        for peer in peers {
            let version = peer.start(budget.threads).map(|(client, version)| {
                harness.peers.push(peer);
                harness.clients.insert(peer.name, client);
                version
            });
            let version = version.map_err(|error| format!("{error:#}"));
            harness.states.push(PeerState { name: peer.name.into(), version });
        }
        harness
    }

    /// Returns the harness with another function that starts redpoll.
    #[must_use]
    pub fn with_start(mut self, start: impl Fn(usize) -> Result<Client> + 'static) -> Harness {
        self.start_redpoll = Box::new(start);
        self
    }

    /// Returns every peer with its version, or the reason why it is missing. Includes peers that
    /// were not selected.
    pub fn states(&self) -> Vec<PeerState> {
        let is_unlisted = |peer: &&Peer| !self.states.iter().any(|state| state.name == peer.name);
        let unselected = |peer: &Peer| PeerState { name: peer.name.into(), version: Err("not selected".into()) };
        self.states.iter().cloned().chain(PEERS.iter().filter(is_unlisted).map(unselected)).collect()
    }

    /// Measures a workload over the data of the given name. Errors are recorded in the outcome.
    pub fn measure(&mut self, workload: &Workload, data: &str) -> WorkloadOutcome {
        let mut outcome = WorkloadOutcome {
            id: workload.id(data),
            suite: workload.suite,
            name: workload.name.into(),
            data: data.into(),
            equation: workload.equation.into(),
            description: String::new(),
            bytes: 0.0,
            operations: 0.0,
            variants: Vec::new(),
            skipped: None,
            failures: Vec::new(),
            sides: Vec::new(),
        };
        if let Err(error) = self.run_sides(&mut outcome) {
            outcome.failures.push(format!("{error:#}"));
        }
        outcome
    }

    fn run_sides(&mut self, outcome: &mut WorkloadOutcome) -> Result<()> {
        let budget = self.budget;
        let folder = tempfile::tempdir()?;
        let choice = WorkloadChoice { id: outcome.id.clone(), size: budget.size, folder: folder.path().into() };
        let mut redpoll = (self.start_redpoll)(budget.threads)?;
        match redpoll.request(&ServerRequest::Verify(choice.clone()), Duration::from_secs(120))? {
            ServerReply::Checked { sums } => {
                if let Err(difference) = compare_halves(&sums, crate::checks::ROUNDED) {
                    outcome
                        .failures
                        .push(format!("kernels and the reference results differ on tiny data: {difference}"));
                }
            }
            ServerReply::Unsupported { reason } => {
                outcome.skipped = Some(reason);
                return Ok(());
            }
            reply => bail!("unexpected reply {reply:?}"),
        }
        let task = match redpoll.request(&ServerRequest::Generate(choice), Duration::from_secs(600))? {
            ServerReply::Generated { task, data, bytes, operations, variants, .. } => {
                (outcome.description, outcome.bytes, outcome.operations) = (data, bytes, operations);
                outcome.variants = variants;
                task
            }
            // `Verify` needs only tiny data. The full data may be missing on this machine.
            ServerReply::Unsupported { reason } => {
                outcome.skipped = Some(reason);
                return Ok(());
            }
            reply => bail!("unexpected reply {reply:?}"),
        };
        let mut runs = vec![];
        let (load, build) = load_redpoll(&mut redpoll, &task, budget)?;
        for variant in &outcome.variants {
            runs.push(RunningSide::new("redpoll", &variant.name, (load, build)));
        }
        if outcome.variants.is_empty() {
            let modes = ExecutionMode::for_task(&task).iter();
            runs.extend(modes.map(|mode| RunningSide::new("redpoll", mode.name(), (load, build))));
            self.load_peers(&task, &mut runs);
        }
        let mut sides = Sides { redpoll, peers: &mut self.clients, budget };
        sides.warm_up(&task, &mut runs);
        sides.run_rounds(&mut runs);
        for run in &mut runs {
            run.side.peak = sides.peak_memory(&run.side.peer);
        }
        for RunningSide { side, .. } in runs {
            // The workload fails if any side has other results, or if redpoll fails or exceeds the
            // time limit. Errors and timeouts of peers are not failures of the workload.
            let failure = match &side.status {
                SideStatus::Mismatch(message) => Some(message),
                SideStatus::Failed(message) | SideStatus::Slow(message) if side.is_redpoll() => Some(message),
                _ => None,
            };
            if let Some(message) = failure {
                outcome.failures.push(format!("{} {}: {message}", side.peer, side.mode).replace(" : ", ": "));
            }
            outcome.sides.push(side);
        }
        Ok(())
    }

    /// Loads the task into every peer, restarting peers that have ended.
    fn load_peers(&mut self, task: &WorkloadTask, runs: &mut Vec<RunningSide>) {
        for peer in &self.peers {
            let mut run = RunningSide::new(peer.name, "", (0.0, 0.0));
            if !self.clients.get_mut(peer.name).is_some_and(Client::is_alive) {
                match peer.start(self.budget.threads) {
                    Ok((client, _)) => drop(self.clients.insert(peer.name, client)),
                    Err(error) => run.stop(SideStatus::Failed(format!("{error:#}"))),
                }
            }
            if let Some(client) = self.clients.get_mut(peer.name).filter(|_| run.is_active()) {
                match client.request(&ServerRequest::Load(task.clone()), self.budget.request_timeout) {
                    Ok(ServerReply::Loaded { load, build }) => {
                        (run.side.load, run.side.build) = (load, build);
                        reset_peak_memory(client.id());
                    }
                    Ok(ServerReply::Unsupported { reason }) => run.stop(SideStatus::Unsupported(reason)),
                    Ok(reply) => run.stop(SideStatus::Failed(format!("unexpected reply {reply:?}"))),
                    Err(error) => run.fail(&error.context("loading")),
                }
            }
            runs.push(run);
        }
    }
}

fn load_redpoll(redpoll: &mut Client, task: &WorkloadTask, budget: Budget) -> Result<(f64, f64)> {
    match redpoll.request(&ServerRequest::Load(task.clone()), budget.request_timeout.max(Duration::from_secs(60)))? {
        ServerReply::Loaded { load, build } => {
            reset_peak_memory(redpoll.id());
            Ok((load, build))
        }
        reply => bail!("unexpected reply {reply:?}"),
    }
}

/// The state of a side during the rounds.
struct RunningSide {
    side: SideOutcome,
    /// Number of calls in one measurement.
    repeat: u32,
    /// Number of unmeasured calls before each measurement.
    warm_up_calls: u32,
    spent: f64,
    done: bool,
}

impl RunningSide {
    fn new(peer: &str, mode: &str, (load, build): (f64, f64)) -> RunningSide {
        let (peer, mode) = (peer.to_owned(), mode.to_owned());
        let (seconds, kernel) = (Vec::new(), Vec::new());
        let side = SideOutcome {
            peer,
            mode,
            status: SideStatus::Ran,
            first: 0.0,
            seconds,
            kernel,
            load,
            build,
            peak: 0,
            memory: None,
        };
        RunningSide { side, repeat: 1, warm_up_calls: 0, spent: 0.0, done: false }
    }

    fn is_active(&self) -> bool {
        !self.done
    }

    fn fail(&mut self, error: &anyhow::Error) {
        let (message, slow) = (format!("{error:#}"), error.is::<TimeoutError>());
        self.stop(if slow { SideStatus::Slow(message) } else { SideStatus::Failed(message) });
    }

    fn stop(&mut self, status: SideStatus) {
        (self.side.status, self.done) = (status, true);
    }
}

/// The reply of a side to a run.
struct RunReply {
    seconds: f64,
    kernel: Option<f64>,
    memory: Option<RunMemory>,
}

/// All sides of one workload.
struct Sides<'a> {
    redpoll: Client,
    peers: &'a mut BTreeMap<&'static str, Client>,
    budget: Budget,
}

impl Sides<'_> {
    fn client(&mut self, peer: &str) -> Result<&mut Client> {
        match self.peers.get_mut(peer) {
            Some(client) => Ok(client),
            None if peer == "redpoll" => Ok(&mut self.redpoll),
            None => bail!("peer `{peer}` is not running"),
        }
    }

    fn peak_memory(&mut self, peer: &str) -> u64 {
        self.client(peer).map_or(0, |client| peak_memory(client.id()))
    }

    /// Waits until all sides are idle, then runs one side.
    fn run(&mut self, side: &SideOutcome, repeat: u32) -> Result<RunReply> {
        self.wait_until_idle();
        let limit = self.budget.request_timeout;
        match self.client(&side.peer)?.request(&ServerRequest::Run { mode: side.mode.clone(), repeat }, limit)? {
            ServerReply::Ran { seconds, kernel, memory } => Ok(RunReply { seconds, kernel, memory }),
            reply => bail!("unexpected reply {reply:?}"),
        }
    }

    fn sums(&mut self, side: &SideOutcome) -> Result<Vec<Sums>> {
        let limit = self.budget.request_timeout.max(Duration::from_secs(60));
        match self.client(&side.peer)?.request(&ServerRequest::Check, limit)? {
            ServerReply::Checked { sums } => Ok(sums),
            reply => bail!("unexpected reply {reply:?}"),
        }
    }

    /// Runs every side, and compares its results with the results of the first side that ran.
    /// Except in cold modes, runs the side again to choose the number of calls per measurement.
    fn warm_up(&mut self, task: &WorkloadTask, runs: &mut [RunningSide]) {
        let mut expected: Option<Vec<Sums>> = None;
        for run in runs.iter_mut().filter(|run| run.is_active()) {
            if !self.client(&run.side.peer).is_ok_and(Client::is_alive) {
                run.stop(SideStatus::Unsupported("its process has ended".into()));
                continue;
            }
            let checked = self.run(&run.side, 1).and_then(|ran| {
                run.side.first = ran.seconds;
                self.sums(&run.side)
            });
            let sums = match checked {
                Ok(sums) => sums,
                Err(error) => {
                    run.fail(&error);
                    continue;
                }
            };
            let expected = expected.get_or_insert_with(|| sums.clone());
            if let Some(difference) = difference(&sums, expected, task.tolerance) {
                run.stop(SideStatus::Mismatch(difference));
                continue;
            }
            if run.side.mode.starts_with("cold") {
                continue;
            }
            // The first run may include compilation, so the second run estimates the time of a
            // call.
            match self.run(&run.side, 1) {
                Ok(again) if again.seconds > self.budget.round_time.as_secs_f64() => {
                    run.side.seconds.push(again.seconds);
                    run.side.memory = again.memory;
                    run.done = true;
                }
                Ok(again) => {
                    let calls = |time: Duration| (time.as_secs_f64() / again.seconds).min(1e5) as u32;
                    (run.repeat, run.warm_up_calls) = (calls(self.budget.min_measurement).max(1), calls(WARM_UP_TIME));
                }
                Err(error) => run.fail(&error),
            }
        }
    }

    /// Waits until the threads of all sides are idle.
    fn wait_until_idle(&self) {
        for client in self.peers.values().chain([&self.redpoll]) {
            wait_until_idle(client.id(), MAX_IDLE_WAIT);
        }
    }

    /// Runs all sides in turns. Successive rounds start with different sides.
    fn run_rounds(&mut self, runs: &mut [RunningSide]) {
        let start = Instant::now();
        for round in 0..self.budget.max_rounds {
            if round >= self.budget.min_rounds && start.elapsed() > self.budget.round_time {
                break;
            }
            let sides = runs.len();
            for k in 0..sides {
                let run = &mut runs[(k + round) % sides];
                if !run.is_active() {
                    continue;
                }
                let warm_up = match run.warm_up_calls {
                    0 => Ok(()),
                    calls => self.run(&run.side, calls).map(drop),
                };
                match warm_up.and_then(|()| self.run(&run.side, run.repeat)) {
                    Ok(ran) => {
                        run.side.seconds.push(ran.seconds);
                        run.side.kernel.extend(ran.kernel);
                        run.side.memory = ran.memory;
                        run.spent += ran.seconds * f64::from(run.repeat);
                        run.done = run.spent > self.budget.round_time.as_secs_f64() / 2.0;
                    }
                    Err(error) => run.fail(&error),
                }
            }
        }
    }
}

/// Describes the first difference between the results of two sides, or returns `None`.
fn difference(found: &[Sums], expected: &[Sums], tolerance: f64) -> Option<String> {
    if found.len() != expected.len() {
        return Some(format!("{} results, expected {}", found.len(), expected.len()));
    }
    let mut pairs = found.iter().zip(expected).enumerate();
    pairs.find_map(|(k, (a, b))| Some(format!("result {}: {}", k + 1, a.difference(b, tolerance)?)))
}
