//! The choice between the CPU and a device for [`Target::AUTO`](crate::Target::AUTO), as a function
//! of estimates.
//!
//! A device has the throughput of many threads, but inputs and results must be transferred, and
//! kernels must be compiled for the device. The transfer of inputs and the compilation are
//! amortized over the expected runs: the pending run, and as many further runs as the plan has
//! already completed. If there is little or unknown work, the driver is not queried.

use crate::target::Target;
use std::fmt;
use std::time::Duration;

/// Seconds per unit of estimated cost on one thread: one step of the model in
/// `optimizer/src/work/cost.rs`.
const SECONDS_PER_STEP: f64 = 0.45e-9;
/// Least estimated seconds on the CPU for which a device is considered.
const MIN_SECONDS: f64 = 2e-3;
/// Number of CPU threads with the throughput of one device. Not measured: derived from the memory
/// bandwidths of devices and CPUs in data sheets.
const DEVICE_THREADS: f64 = 50.0;
/// Bytes per second between pageable memory and a device. Not measured: about half of the bandwidth
/// that a PCIe 4.0 link with 16 lanes reaches in practice.
const LINK_BYTES_PER_SECOND: f64 = 12e9;
/// Overhead of a query on a device, in seconds: tables of windows, launches and waits. Not
/// measured.
const SECONDS_PER_LAUNCH: f64 = 2e-4;
/// Seconds to compile the kernels of a query for a device. Not measured.
const SECONDS_PER_COMPILATION: f64 = 0.2;

/// Estimates of a run before a device is queried.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct RunEstimate {
    /// The estimated cost of the queries, in steps; infinite if there is no estimate.
    pub(crate) cost: f64,
    /// The number of queries that run loops.
    pub(crate) queries: usize,
    /// The number of CPU threads.
    pub(crate) threads: usize,
    /// The estimated size of the results, in bytes.
    pub(crate) result_bytes: f64,
}

/// The state of an available device.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct DeviceState {
    /// The bytes of inputs that are not on the device.
    pub(crate) missing_bytes: u64,
    /// Whether the kernels for the device are compiled.
    pub(crate) compiled: bool,
    /// Number of completed runs of the plan.
    pub(crate) runs: u64,
}

/// The target that runs a plan, and the reason.
#[derive(Clone, PartialEq, Debug)]
pub struct Placement {
    /// The requested target; for [`Target::AUTO`], the CPU or a device.
    pub target: Target,
    /// The reason.
    pub reason: Reason,
}

/// Reason of a placement.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub enum Reason {
    /// The user requested the target.
    Requested,
    /// The amount of work is unknown.
    UnknownWork,
    /// The estimated work is too little to consider a device.
    LittleWork {
        /// The estimated time on the CPU.
        cpu: Duration,
    },
    /// There is no device, or the device cannot run the plan; the text says why.
    NoDevice(String),
    /// The estimated times of CPU and device were compared.
    Compared {
        /// The estimated time of a run on the CPU.
        cpu: Duration,
        /// The estimated time of a run on the device, without `setup`.
        device: Duration,
        /// The estimated time to transfer the missing inputs and compile the missing kernels.
        setup: Duration,
        /// The bytes of inputs that must be transferred.
        missing_bytes: u64,
        /// The number of runs over which `setup` is amortized.
        runs: u64,
    },
}

/// Chooses the target of a plan. Calls `device` only if the estimate alone does not decide for
/// the CPU.
pub(crate) fn choose_target(estimate: RunEstimate, device: impl FnOnce() -> Result<DeviceState, String>) -> Placement {
    let on_cpu = |reason| Placement { target: Target::CPU, reason };
    if !estimate.cost.is_finite() {
        return on_cpu(Reason::UnknownWork);
    }
    let seconds = estimate.cost * SECONDS_PER_STEP;
    let cpu = seconds / estimate.threads.max(1) as f64;
    if cpu < MIN_SECONDS {
        return on_cpu(Reason::LittleWork { cpu: duration(cpu) });
    }
    let DeviceState { missing_bytes, compiled, runs } = match device() {
        Ok(device) => device,
        Err(why) => return on_cpu(Reason::NoDevice(why)),
    };
    let queries = estimate.queries as f64;
    let on_device =
        seconds / DEVICE_THREADS + queries * SECONDS_PER_LAUNCH + estimate.result_bytes / LINK_BYTES_PER_SECOND;
    let setup =
        missing_bytes as f64 / LINK_BYTES_PER_SECOND + if compiled { 0.0 } else { queries * SECONDS_PER_COMPILATION };
    let runs = runs.saturating_add(1);
    let pays = (cpu - on_device) * runs as f64 > setup;
    let [cpu, device, setup] = [cpu, on_device, setup].map(duration);
    let target = if pays { Target::first_device() } else { Target::CPU };
    Placement { target, reason: Reason::Compared { cpu, device, setup, missing_bytes, runs } }
}

fn duration(seconds: f64) -> Duration {
    Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX)
}

impl fmt::Display for Placement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.target, self.reason)
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Reason::Requested => f.write_str("as requested"),
            Reason::UnknownWork => f.write_str("the amount of work is unknown; request a device by name to use it"),
            Reason::LittleWork { cpu } => {
                let least = duration(MIN_SECONDS);
                write!(
                    f,
                    "{cpu:.1?} of estimated work; a device is considered for at least {least:.1?} of estimated work"
                )
            }
            Reason::NoDevice(why) => write!(f, "no device is used: {why}"),
            Reason::Compared { cpu, device, setup, missing_bytes, runs } => {
                let times = if *runs == 1 { "1 run".to_owned() } else { format!("{runs} runs") };
                write!(
                    f,
                    "estimated {cpu:.1?} per run on the CPU and {device:.1?} on the device, after {setup:.1?} to transfer \
                     {missing_bytes} bytes and compile missing kernels; compared over {times}"
                )
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const READY: DeviceState = DeviceState { missing_bytes: 0, compiled: true, runs: 0 };

    /// Returns the estimate of a run that takes this number of seconds on one thread, for a CPU
    /// with `threads` threads.
    fn work(seconds: f64, threads: usize) -> RunEstimate {
        RunEstimate { cost: seconds / SECONDS_PER_STEP, queries: 1, threads, result_bytes: 0.0 }
    }

    fn target(work: RunEstimate, device: DeviceState) -> Target {
        choose_target(work, || Ok(device)).target
    }

    /// Asserts that the driver is not queried for little or unknown work.
    #[test]
    fn little_or_unknown_work_queries_no_device() {
        let device = || -> Result<DeviceState, String> { panic!("the device was queried") };
        let little = choose_target(work(1e-3, 1), device);
        assert_eq!(little.reason, Reason::LittleWork { cpu: Duration::from_millis(1) });
        assert_eq!(
            little.to_string(),
            "cpu: 1.0ms of estimated work; a device is considered for at least 2.0ms of estimated work"
        );
        assert_eq!(choose_target(work(15e-3, 8), device).target, Target::CPU, "threads share the work");
        let unknown = choose_target(RunEstimate { cost: f64::INFINITY, ..work(0.0, 1) }, device);
        assert_eq!(unknown.reason, Reason::UnknownWork);
    }

    #[test]
    fn without_a_device_the_reason_is_reported() {
        let placement = choose_target(work(1.0, 1), || Err("the driver (libcuda) is not installed".into()));
        assert_eq!(placement.to_string(), "cpu: no device is used: the driver (libcuda) is not installed");
    }

    /// Asserts that the choice accounts for transfers, launches and compilation, and that a device
    /// that already has the inputs and the kernels is used.
    #[test]
    fn work_is_compared_with_transfers_and_compilation() {
        assert_eq!(target(work(0.1, 1), READY), Target::cuda(0));
        assert_eq!(target(work(0.1, 1), DeviceState { missing_bytes: 2_000_000_000, ..READY }), Target::CPU);
        assert_eq!(target(RunEstimate { result_bytes: 2e9, ..work(0.1, 1) }, READY), Target::CPU);
        assert_eq!(target(work(0.1, 1), DeviceState { compiled: false, ..READY }), Target::CPU);
        assert_eq!(target(work(1.0, 1), DeviceState { compiled: false, ..READY }), Target::cuda(0));
        assert_eq!(target(work(0.1, 64), READY), Target::CPU, "64 threads are faster than the device");
        assert_eq!(target(RunEstimate { queries: 1000, ..work(0.1, 1) }, READY), Target::CPU, "launches take time");
    }

    /// Asserts that one-time costs are amortized over repeated runs.
    #[test]
    fn one_time_costs_are_amortized_over_runs() {
        let state = |runs| DeviceState { missing_bytes: 1_200_000_000, compiled: false, runs };
        let placements = [0, 1, 2, 3, 100].map(|runs| target(work(0.1, 1), state(runs)) == Target::cuda(0));
        assert_eq!(placements, [false, false, false, true, true]);
        let placement = choose_target(work(0.1, 1), || Ok(state(3)));
        expect_test::expect![[r#"cuda:0: estimated 100.0ms per run on the CPU and 2.2ms on the device, after 300.0ms to transfer 1200000000 bytes and compile missing kernels; compared over 4 runs"#]]
            .assert_eq(&placement.to_string());
    }
}
