//! Whether a plan runs on the CPU or on a device, where its user leaves that open: a function of facts.
//!
//! A device does the work of many threads at once, but data has to go there, results have to come back, and kernels are
//! compiled anew for it. That pays over some runs; a plan is taken to run as often again as it has run, as for the optimizing
//! tier. What is little work is not worth a question to the driver.

use redpoll_physical::kernel::Processor;
use std::fmt;
use std::time::Duration;

/// Seconds of a step of estimated costs on one thread, as `optimizer/src/cost.rs` says.
const STEP: f64 = 0.45e-9;
/// Seconds on the CPU from which on a device is asked for.
const LEAST: f64 = 2e-3;
/// How many threads a device stands for. Not measured: the ratio of the bandwidths of memory that the makers tell.
const THREADS_OF_DEVICE: f64 = 50.0;
/// Bytes a second from memory that is not pinned to a device and back. Not measured: half of what a link of 16 lanes of the
/// fourth generation does.
const LINK: f64 = 12e9;
/// Seconds that a query takes on a device beside its work: tables of windows, launches and waits. Not measured.
const LAUNCH: f64 = 2e-4;
/// Seconds that the run-time compiler takes for a query. Not measured.
const COMPILE: f64 = 0.2;

/// What is known of a run before a device is asked.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Expected {
    /// The estimated cost of its queries, in steps; infinite where nothing is estimated.
    pub(crate) cost: f64,
    /// The number of queries that run loops.
    pub(crate) queries: usize,
    /// The threads of the CPU.
    pub(crate) threads: usize,
    /// The estimated bytes of its results.
    pub(crate) results: f64,
}

/// What is known of a device that is there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Device {
    /// The bytes of inputs that it does not have.
    pub(crate) missing: u64,
    /// Whether kernels for it are compiled.
    pub(crate) compiled: bool,
    /// How often the plan has run.
    pub(crate) runs: u64,
}

/// Where a plan runs, and why.
#[derive(Clone, PartialEq, Debug)]
pub struct Placement {
    /// The processor: the CPU or a device.
    pub processor: Processor,
    /// Why.
    pub reason: Reason,
}

/// Why a plan runs where it does.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub enum Reason {
    /// Its user has asked for that.
    Asked,
    /// Nobody knows how much work it is.
    Unknown,
    /// It is so little work that no device is asked for.
    Little {
        /// The estimated time on the CPU.
        cpu: Duration,
    },
    /// There is no device, or the device does not run the plan; the words say why.
    NoDevice(String),
    /// The times of the two were weighed.
    Weighed {
        /// The estimated time of a run on the CPU.
        cpu: Duration,
        /// The estimated time of a run on the device, once inputs and kernels are there.
        device: Duration,
        /// The estimated time until they are.
        before: Duration,
        /// The bytes of inputs that have to go there.
        missing: u64,
        /// The runs for which it was weighed.
        runs: u64,
    },
}

/// Where a plan runs that its user leaves to the engine; `device` is asked where its answer may matter.
pub(crate) fn place(expected: Expected, device: impl FnOnce() -> Result<Device, String>) -> Placement {
    let on_cpu = |reason| Placement { processor: Processor::Cpu, reason };
    if !expected.cost.is_finite() {
        return on_cpu(Reason::Unknown);
    }
    let seconds = expected.cost * STEP;
    let cpu = seconds / expected.threads.max(1) as f64;
    if cpu < LEAST {
        return on_cpu(Reason::Little { cpu: duration(cpu) });
    }
    let Device { missing, compiled, runs } = match device() {
        Ok(device) => device,
        Err(why) => return on_cpu(Reason::NoDevice(why)),
    };
    let queries = expected.queries as f64;
    let on_device = seconds / THREADS_OF_DEVICE + queries * LAUNCH + expected.results / LINK;
    let before = missing as f64 / LINK + if compiled { 0.0 } else { queries * COMPILE };
    let runs = runs.saturating_add(1);
    let pays = (cpu - on_device) * runs as f64 > before;
    let [cpu, device, before] = [cpu, on_device, before].map(duration);
    let processor = if pays { Processor::Cuda(0) } else { Processor::Cpu };
    Placement { processor, reason: Reason::Weighed { cpu, device, before, missing, runs } }
}

fn duration(seconds: f64) -> Duration {
    Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX)
}

impl fmt::Display for Placement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.processor, self.reason)
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Reason::Asked => f.write_str("as was asked for"),
            Reason::Unknown => f.write_str("how much work it is is not known; ask for a device by its name"),
            Reason::Little { cpu } => {
                write!(f, "{cpu:.1?} of estimated work, a device is asked for from {:.1?} on", duration(LEAST))
            }
            Reason::NoDevice(why) => write!(f, "no device: {why}"),
            Reason::Weighed { cpu, device, before, missing, runs } => {
                let times = if *runs == 1 { "1 run".to_owned() } else { format!("{runs} runs") };
                write!(
                    f,
                    "estimated {cpu:.1?} a run on the CPU, {device:.1?} on the device once {missing} bytes are there and kernels \
                     compiled, which takes {before:.1?}; weighed for {times}"
                )
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const THERE: Device = Device { missing: 0, compiled: true, runs: 0 };

    /// A run of so many seconds on one of so many threads.
    fn work(seconds: f64, threads: usize) -> Expected {
        Expected { cost: seconds / STEP, queries: 1, threads, results: 0.0 }
    }

    fn processor(work: Expected, device: Device) -> Processor {
        place(work, || Ok(device)).processor
    }

    /// Protects small queries from the driver, and users from waits for it.
    #[test]
    fn what_is_little_or_unknown_asks_no_device() {
        let asked = || -> Result<Device, String> { panic!("the device was asked") };
        let little = place(work(1e-3, 1), asked);
        assert_eq!(little.reason, Reason::Little { cpu: Duration::from_millis(1) });
        assert_eq!(little.to_string(), "cpu: 1.0ms of estimated work, a device is asked for from 2.0ms on");
        assert_eq!(place(work(15e-3, 8), asked).processor, Processor::Cpu, "threads share the work");
        let unknown = place(Expected { cost: f64::INFINITY, ..work(0.0, 1) }, asked);
        assert_eq!(unknown.reason, Reason::Unknown);
    }

    #[test]
    fn without_a_device_the_reason_is_told() {
        let placement = place(work(1.0, 1), || Err("the driver (libcuda) is not installed".into()));
        assert_eq!(placement.to_string(), "cpu: no device: the driver (libcuda) is not installed");
    }

    /// Protects from transfers that take longer than the work, and from a CPU that goes on where a device has everything.
    #[test]
    fn work_is_weighed_against_transfers_and_compilation() {
        assert_eq!(processor(work(0.1, 1), THERE), Processor::Cuda(0));
        assert_eq!(processor(work(0.1, 1), Device { missing: 2_000_000_000, ..THERE }), Processor::Cpu);
        assert_eq!(processor(Expected { results: 2e9, ..work(0.1, 1) }, THERE), Processor::Cpu);
        assert_eq!(processor(work(0.1, 1), Device { compiled: false, ..THERE }), Processor::Cpu);
        assert_eq!(processor(work(1.0, 1), Device { compiled: false, ..THERE }), Processor::Cuda(0));
        assert_eq!(processor(work(0.1, 64), THERE), Processor::Cpu, "as many threads as the device stands for");
        assert_eq!(
            processor(Expected { queries: 1000, ..work(0.1, 1) }, THERE),
            Processor::Cpu,
            "launches take time, too"
        );
    }

    /// Protects plans that run again and again: what is done once pays over the runs.
    #[test]
    fn what_is_done_once_pays_over_the_runs() {
        let there = |runs| Device { missing: 1_200_000_000, compiled: false, runs };
        let placements = [0, 1, 2, 3, 100].map(|runs| processor(work(0.1, 1), there(runs)) == Processor::Cuda(0));
        assert_eq!(placements, [false, false, false, true, true]);
        let placement = place(work(0.1, 1), || Ok(there(3)));
        expect_test::expect![[r#"cuda:0: estimated 100.0ms a run on the CPU, 2.2ms on the device once 1200000000 bytes are there and kernels compiled, which takes 300.0ms; weighed for 4 runs"#]]
            .assert_eq(&placement.to_string());
    }
}
