//! The choice between the CPU and a device for [`Engine::Auto`](crate::Engine::Auto), as a function
//! of estimates.
//!
//! A device has the throughput of many threads, but inputs and results must be transferred, and
//! kernels must be compiled for it. These costs are amortized over runs: a plan is expected to run
//! as often again as it has run, as for the optimizing tier. For little work, the driver is not
//! queried.

use redpoll_physical::kernel::Processor;
use std::fmt;
use std::time::Duration;

/// Seconds per unit of estimated cost on one thread, as in `optimizer/src/cost.rs`.
const STEP: f64 = 0.45e-9;
/// Minimum number of estimated seconds on the CPU for which a device is considered.
const LEAST: f64 = 2e-3;
/// Number of CPU threads that a device equals. Not measured: the ratio of memory bandwidths in data
/// sheets.
const THREADS_OF_DEVICE: f64 = 50.0;
/// Bytes per second between pageable memory and a device. Not measured: half of the bandwidth of a
/// PCIe 4.0 link with 16 lanes.
const LINK: f64 = 12e9;
/// Seconds per query on a device besides its work: tables of windows, launches and waits. Not
/// measured.
const LAUNCH: f64 = 2e-4;
/// Seconds per query in the run-time compiler. Not measured.
const COMPILE: f64 = 0.2;

/// Estimates of a run before a device is queried.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Expected {
    /// The estimated cost of the queries, in steps; infinite if there is no estimate.
    pub(crate) cost: f64,
    /// The number of queries that run loops.
    pub(crate) queries: usize,
    /// The number of CPU threads.
    pub(crate) threads: usize,
    /// The estimated bytes of the results.
    pub(crate) results: f64,
}

/// The state of an available device.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Device {
    /// The bytes of inputs that are not on the device.
    pub(crate) missing: u64,
    /// Set when the kernels for the device are compiled.
    pub(crate) compiled: bool,
    /// Number of completed runs of the plan.
    pub(crate) runs: u64,
}

/// The processor that runs a plan, and the reason.
#[derive(Clone, PartialEq, Debug)]
pub struct Placement {
    /// The processor: the CPU or a device.
    pub processor: Processor,
    /// The reason.
    pub reason: Reason,
}

/// Reason of a placement.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub enum Reason {
    /// The user requested the processor.
    Asked,
    /// The amount of work is unknown.
    Unknown,
    /// The estimated work is too little to consider a device.
    Little {
        /// The estimated time on the CPU.
        cpu: Duration,
    },
    /// There is no device, or the device cannot run the plan; the text says why.
    NoDevice(String),
    /// The estimated times of CPU and device were compared.
    Weighed {
        /// The estimated time of a run on the CPU.
        cpu: Duration,
        /// The estimated time of a run on the device, after transfers of inputs and compilation.
        device: Duration,
        /// The estimated time of these transfers and the compilation.
        before: Duration,
        /// The bytes of inputs that must be transferred.
        missing: u64,
        /// The number of runs over which the costs are amortized.
        runs: u64,
    },
}

/// Chooses the processor of a plan. `device` is called only if its answer may matter.
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

    /// Returns a run of the given seconds on one thread, on a CPU with `threads` threads.
    fn work(seconds: f64, threads: usize) -> Expected {
        Expected { cost: seconds / STEP, queries: 1, threads, results: 0.0 }
    }

    fn processor(work: Expected, device: Device) -> Processor {
        place(work, || Ok(device)).processor
    }

    /// Asserts that the driver is not queried for small queries or unknown work.
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

    /// Asserts that transfers and compilation count, and that a device with data and kernels is
    /// used.
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

    /// Asserts that one-time costs are amortized over repeated runs.
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
