//! Measures workloads: all sides on the same data, in turns.

use crate::checks::Sums;
use crate::ours::{Way, compare_halves};
use crate::peers::{PEERS, Peer, start_own};
use crate::process::{peak, reset_peak, wait_for_rest};
use crate::protocol::{Choice, Client, Memory, NoAnswer, Reply, Request, Task};
use crate::results::{Outcome, PeerState, Side, Status};
use crate::workload::{Size, Workload};
use anyhow::{Result, bail};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// Longest wait for the threads of other sides to become idle, longer than any known runtime spins.
const LONGEST_REST: Duration = Duration::from_millis(500);

/// Length of the unmeasured calls before each measurement. The calls give the processor time to
/// reach its full speed, and refill caches with the data of this side.
const RUN_UP: Duration = Duration::from_millis(20);

/// Limits on the measurements of a workload.
#[derive(Clone, Copy, Debug)]
pub struct Budget {
    /// The size of the data.
    pub size: Size,
    /// Number of threads for each side.
    pub threads: usize,
    /// Time for the rounds of a workload; a side stops early after half of it.
    pub rounds: Duration,
    /// Number of rounds that are measured even if the time is exceeded.
    pub fewest: usize,
    /// Largest number of rounds.
    pub most: usize,
    /// Time limit of a single request.
    pub answer: Duration,
    /// Calls that are shorter than this are repeated within a measurement.
    pub shortest: Duration,
}

impl Budget {
    /// Returns the budget for data of the given size.
    pub fn new(size: Size, threads: usize) -> Budget {
        let seconds = Duration::from_secs;
        Budget {
            size,
            threads,
            rounds: size.pick(seconds(4), seconds(2), Duration::from_millis(50)),
            fewest: size.pick(7, 3, 2),
            most: size.pick(41, 15, 3),
            answer: size.pick(seconds(30), seconds(15), seconds(15)),
            shortest: size.pick(Duration::from_millis(2), Duration::from_millis(2), Duration::from_micros(100)),
        }
    }
}

/// A function that starts the server of redpoll with the given number of threads.
pub type Start = dyn Fn(usize) -> Result<Client>;

/// A harness that measures workloads within a budget. Its peers live from one workload to the next.
pub struct Harness {
    budget: Budget,
    start: Box<Start>,
    peers: Vec<&'static Peer>,
    clients: BTreeMap<&'static str, Client>,
    states: Vec<PeerState>,
}

impl Harness {
    /// Creates a harness with the given peers, starting each to ask for its version.
    pub fn new(budget: Budget, peers: Vec<&'static Peer>) -> Harness {
        let mut harness = Harness {
            budget,
            start: Box::new(|threads| start_own("redpoll", threads)),
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
    pub fn starting(mut self, start: impl Fn(usize) -> Result<Client> + 'static) -> Harness {
        self.start = Box::new(start);
        self
    }

    /// Returns every peer with its version, or the reason why it is missing. Includes peers that
    /// were not asked for.
    pub fn states(&self) -> Vec<PeerState> {
        let left_out = |peer: &&Peer| !self.states.iter().any(|state| state.name == peer.name);
        let unasked = |peer: &Peer| PeerState { name: peer.name.into(), version: Err("not asked for".into()) };
        self.states.iter().cloned().chain(PEERS.iter().filter(left_out).map(unasked)).collect()
    }

    /// Measures a workload over data. Errors are recorded in the outcome.
    pub fn measure(&mut self, workload: &Workload, data: &str) -> Outcome {
        let mut outcome = Outcome {
            id: workload.id(data),
            suite: workload.suite,
            name: workload.name.into(),
            data: data.into(),
            equation: workload.equation.into(),
            words: String::new(),
            bytes: 0.0,
            operations: 0.0,
            compared: Vec::new(),
            skipped: None,
            failures: Vec::new(),
            sides: Vec::new(),
        };
        if let Err(error) = self.measure_into(&mut outcome) {
            outcome.failures.push(format!("{error:#}"));
        }
        outcome
    }

    fn measure_into(&mut self, outcome: &mut Outcome) -> Result<()> {
        let budget = self.budget;
        let folder = tempfile::tempdir()?;
        let choice = Choice { id: outcome.id.clone(), size: budget.size, folder: folder.path().into() };
        let mut ours = (self.start)(budget.threads)?;
        match ours.ask(&Request::Verify(choice.clone()), Duration::from_secs(120))? {
            Reply::Checked { sums } => {
                if let Err(difference) = compare_halves(&sums, crate::checks::ROUNDED) {
                    outcome.failures.push(format!("kernels against the interpreter on tiny data: {difference}"));
                }
            }
            Reply::Unsupported { reason } => {
                outcome.skipped = Some(reason);
                return Ok(());
            }
            reply => bail!("unexpected {reply:?}"),
        }
        let task = match ours.ask(&Request::Make(choice), Duration::from_secs(600))? {
            Reply::Made { task, data, bytes, operations, compared, .. } => {
                (outcome.words, outcome.bytes, outcome.operations) = (data, bytes, operations);
                outcome.compared = compared;
                task
            }
            // Real data may be missing here, whereas tiny data are always generated.
            Reply::Unsupported { reason } => {
                outcome.skipped = Some(reason);
                return Ok(());
            }
            reply => bail!("unexpected {reply:?}"),
        };
        let mut runs = vec![];
        let (load, build) = loaded(&mut ours, &task, budget)?;
        for way in &outcome.compared {
            runs.push(RunningSide::new("redpoll", &way.name, (load, build)));
        }
        if outcome.compared.is_empty() {
            runs.extend(Way::of(&task).iter().map(|way| RunningSide::new("redpoll", way.name(), (load, build))));
            self.load_peers(&task, &mut runs);
        }
        let mut table = Table { ours, peers: &mut self.clients, budget };
        table.warm_up(&task, &mut runs);
        table.rounds(&mut runs);
        for run in &mut runs {
            run.side.peak = table.peak(&run.side.peer);
        }
        for RunningSide { side, .. } in runs {
            // A failure of a peer is reported in its status, but is not a failure of the run.
            let failure = match &side.status {
                Status::Mismatch(what) => Some(what),
                Status::Failed(what) | Status::Slow(what) if side.is_ours() => Some(what),
                _ => None,
            };
            if let Some(what) = failure {
                outcome.failures.push(format!("{} {}: {what}", side.peer, side.way).replace(" : ", ": "));
            }
            outcome.sides.push(side);
        }
        Ok(())
    }

    /// Loads the task into every peer, restarting peers that have ended.
    fn load_peers(&mut self, task: &Task, runs: &mut Vec<RunningSide>) {
        for peer in &self.peers {
            let mut run = RunningSide::new(peer.name, "", (0.0, 0.0));
            if !self.clients.get_mut(peer.name).is_some_and(Client::is_alive) {
                match peer.start(self.budget.threads) {
                    Ok((client, _)) => drop(self.clients.insert(peer.name, client)),
                    Err(error) => run.leave(Status::Failed(format!("{error:#}"))),
                }
            }
            if let Some(client) = self.clients.get_mut(peer.name).filter(|_| run.is_in()) {
                match client.ask(&Request::Load(task.clone()), self.budget.answer) {
                    Ok(Reply::Loaded { load, build }) => {
                        (run.side.load, run.side.build) = (load, build);
                        reset_peak(client.id());
                    }
                    Ok(Reply::Unsupported { reason }) => run.leave(Status::Unsupported(reason)),
                    Ok(reply) => run.leave(Status::Failed(format!("unexpected {reply:?}"))),
                    Err(error) => run.fail(&error.context("loading")),
                }
            }
            runs.push(run);
        }
    }
}

fn loaded(ours: &mut Client, task: &Task, budget: Budget) -> Result<(f64, f64)> {
    match ours.ask(&Request::Load(task.clone()), budget.answer.max(Duration::from_secs(60)))? {
        Reply::Loaded { load, build } => {
            reset_peak(ours.id());
            Ok((load, build))
        }
        reply => bail!("unexpected {reply:?}"),
    }
}

/// The state of a side during the rounds.
struct RunningSide {
    side: Side,
    /// Number of calls in one measurement.
    repeat: u32,
    /// Number of unmeasured calls before each measurement.
    run_up: u32,
    spent: f64,
    done: bool,
}

impl RunningSide {
    fn new(peer: &str, way: &str, (load, build): (f64, f64)) -> RunningSide {
        let (peer, way) = (peer.to_owned(), way.to_owned());
        let (seconds, kernel) = (Vec::new(), Vec::new());
        let side =
            Side { peer, way, status: Status::Ran, first: 0.0, seconds, kernel, load, build, peak: 0, memory: None };
        RunningSide { side, repeat: 1, run_up: 0, spent: 0.0, done: false }
    }

    fn is_in(&self) -> bool {
        !self.done
    }

    fn fail(&mut self, error: &anyhow::Error) {
        let (what, slow) = (format!("{error:#}"), error.is::<NoAnswer>());
        self.leave(if slow { Status::Slow(what) } else { Status::Failed(what) });
    }

    fn leave(&mut self, status: Status) {
        (self.side.status, self.done) = (status, true);
    }
}

/// The reply of a side to a run.
struct Ran {
    seconds: f64,
    kernel: Option<f64>,
    memory: Option<Memory>,
}

/// All sides of one workload.
struct Table<'a> {
    ours: Client,
    peers: &'a mut BTreeMap<&'static str, Client>,
    budget: Budget,
}

impl Table<'_> {
    fn client(&mut self, peer: &str) -> Result<&mut Client> {
        match self.peers.get_mut(peer) {
            Some(client) => Ok(client),
            None if peer == "redpoll" => Ok(&mut self.ours),
            None => bail!("{peer} is not there"),
        }
    }

    fn peak(&mut self, peer: &str) -> u64 {
        self.client(peer).map_or(0, |client| peak(client.id()))
    }

    /// Waits until other processes are idle, then runs a side.
    fn run(&mut self, side: &Side, repeat: u32) -> Result<Ran> {
        self.wait_for_rest();
        let limit = self.budget.answer;
        match self.client(&side.peer)?.ask(&Request::Run { way: side.way.clone(), repeat }, limit)? {
            Reply::Ran { seconds, kernel, memory } => Ok(Ran { seconds, kernel, memory }),
            reply => bail!("unexpected {reply:?}"),
        }
    }

    fn sums(&mut self, side: &Side) -> Result<Vec<Sums>> {
        let limit = self.budget.answer.max(Duration::from_secs(60));
        match self.client(&side.peer)?.ask(&Request::Check, limit)? {
            Reply::Checked { sums } => Ok(sums),
            reply => bail!("unexpected {reply:?}"),
        }
    }

    /// Runs every side once, compares its results with those of the first side that ran, and
    /// chooses how often short calls are repeated.
    fn warm_up(&mut self, task: &Task, runs: &mut [RunningSide]) {
        let mut expected: Option<Vec<Sums>> = None;
        for run in runs.iter_mut().filter(|run| run.is_in()) {
            if !self.client(&run.side.peer).is_ok_and(Client::is_alive) {
                run.leave(Status::Unsupported("its process was ended before".into()));
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
                run.leave(Status::Mismatch(difference));
                continue;
            }
            if run.side.way.starts_with("cold") {
                continue;
            }
            // The first run may have compiled something, so the second one estimates the time of a
            // run.
            match self.run(&run.side, 1) {
                Ok(again) if again.seconds > self.budget.rounds.as_secs_f64() => {
                    run.side.seconds.push(again.seconds);
                    run.side.memory = again.memory;
                    run.done = true;
                }
                Ok(again) => {
                    let calls = |time: Duration| (time.as_secs_f64() / again.seconds).min(1e5) as u32;
                    (run.repeat, run.run_up) = (calls(self.budget.shortest).max(1), calls(RUN_UP));
                }
                Err(error) => run.fail(&error),
            }
        }
    }

    /// Waits until the threads of all sides are idle.
    fn wait_for_rest(&self) {
        for client in self.peers.values().chain([&self.ours]) {
            wait_for_rest(client.id(), LONGEST_REST);
        }
    }

    /// Runs all sides in turns, starting each round with another side.
    fn rounds(&mut self, runs: &mut [RunningSide]) {
        let start = Instant::now();
        for round in 0..self.budget.most {
            if round >= self.budget.fewest && start.elapsed() > self.budget.rounds {
                break;
            }
            let sides = runs.len();
            for k in 0..sides {
                let run = &mut runs[(k + round) % sides];
                if !run.is_in() {
                    continue;
                }
                let run_up = match run.run_up {
                    0 => Ok(()),
                    calls => self.run(&run.side, calls).map(drop),
                };
                match run_up.and_then(|()| self.run(&run.side, run.repeat)) {
                    Ok(ran) => {
                        run.side.seconds.push(ran.seconds);
                        run.side.kernel.extend(ran.kernel);
                        run.side.memory = ran.memory;
                        run.spent += ran.seconds * f64::from(run.repeat);
                        run.done = run.spent > self.budget.rounds.as_secs_f64() / 2.0;
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
        return Some(format!("{} results against {}", found.len(), expected.len()));
    }
    let differences = found.iter().zip(expected).enumerate();
    differences.into_iter().find_map(|(k, (a, b))| Some(format!("result {}: {}", k + 1, a.difference(b, tolerance)?)))
}
