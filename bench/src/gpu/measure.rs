//! Runs, checks and times a problem on a device.

use super::KernelProblem;
use anyhow::{Context, Result, ensure};
use redpoll::{Config, Session, Target};
use redpoll_devices::cuda::Cuda;
use redpoll_storage::Tensor;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Time after which no further round starts.
const MAX_TIME: Duration = Duration::from_secs(10);

/// The measurements of a problem.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct ProblemTimes {
    /// Bytes of inputs and results, each once.
    pub bytes: u64,
    /// Median time of the kernels, by the device's clock, or of the whole run if the target has no
    /// such clock.
    pub kernels: Duration,
    /// Median time of a run whose inputs are already on the device and whose results stay there.
    pub run: Duration,
    /// Median time of a run on the CPU.
    pub cpu: Duration,
}

/// Runs problems with the same plan over different data on a target, and compares each result with
/// the result of the CPU. On a device, new memory is filled with a poison pattern for this
/// comparison. Then times the first problem without poison over `rounds` rounds, or fewer if they
/// take long.
///
/// # Errors
/// If there is no problem, the device cannot be used, a plan is rejected or stops, or a result
/// differs.
pub fn measure(problems: &[KernelProblem], target: Target, rounds: usize) -> Result<ProblemTimes> {
    let sessions = [Target::CPU, target].map(|target| Session::new(Config { target, ..Config::default() }));
    let poison = PoisonGuard::new(target)?;
    for problem in problems.iter().rev() {
        let [expected, found] = sessions.each_ref().map(|session| results(session, problem));
        compare(&expected?, &found?)?;
    }
    drop(poison);
    let first = problems.first().context("no problem to measure")?;
    let [cpu, device] = sessions.map(|session| session.prepare(first.plan, &first.bindings()));
    let (cpu, device) = (cpu?, device?);
    let mut times = [Vec::new(), Vec::new(), Vec::new()];
    let mut results = 0;
    let begin = Instant::now();
    for round in 0..rounds.max(1) {
        if round > 0 && begin.elapsed() > MAX_TIME {
            break;
        }
        let run = device.run()?;
        results = run.outputs.iter().map(|(_, tensor)| tensor.bytes()).sum();
        times[0].push(run.device_time.unwrap_or(run.time));
        times[1].push(run.time);
        drop(run);
        let start = Instant::now();
        cpu.run()?;
        times[2].push(start.elapsed());
    }
    let [kernels, run, cpu] = times.map(|mut times| {
        times.sort_unstable();
        times[times.len() / 2]
    });
    Ok(ProblemTimes { bytes: first.bytes() + results, kernels, run, cpu })
}

/// A guard that has a device fill new memory with a poison pattern, until the guard is dropped.
struct PoisonGuard(Option<Arc<Cuda>>);

impl PoisonGuard {
    /// Turns poison on if the target is a device.
    fn new(target: Target) -> Result<PoisonGuard> {
        if !target.is_device() {
            return Ok(PoisonGuard(None));
        }
        let cuda = Cuda::open(target.number())?;
        cuda.set_poison(true);
        Ok(PoisonGuard(Some(cuda)))
    }
}

impl Drop for PoisonGuard {
    fn drop(&mut self) {
        if let Some(cuda) = &self.0 {
            cuda.set_poison(false);
        }
    }
}

/// Runs a problem and returns its results, copied from the device if necessary.
///
/// # Errors
/// If the plan is rejected or stops, or a result cannot be copied.
pub fn results(session: &Session, problem: &KernelProblem) -> Result<Vec<Tensor>> {
    let run = session.prepare(problem.plan, &problem.bindings())?.run()?;
    run.outputs.into_iter().map(|(_, tensor)| tensor.fetch().map(|()| tensor).map_err(Into::into)).collect()
}

/// Compares results array by array. Values are integers, so the order of additions does not matter.
///
/// # Errors
/// If the results differ.
pub fn compare(expected: &[Tensor], found: &[Tensor]) -> Result<()> {
    ensure!(expected.len() == found.len(), "{} results, expected {}", found.len(), expected.len());
    for (number, (expected, found)) in expected.iter().zip(found).enumerate() {
        ensure!(expected.ty() == found.ty(), "result {number} has a different type");
        let arrays =
            |tensor: &Tensor| -> Vec<_> { tensor.levels().iter().flatten().chain(tensor.leaf()).cloned().collect() };
        for (k, (a, b)) in arrays(expected).iter().zip(&arrays(found)).enumerate() {
            ensure!(a.len() == b.len(), "array {k} of result {number} has {} elements, expected {}", b.len(), a.len());
            // Scalars are equal if their bits are equal, or if both are NaN.
            let difference = (0..a.len()).find(|k| a.scalar(*k) != b.scalar(*k));
            if let Some(element) = difference {
                let [a, b] = [a, b].map(|array| array.scalar(element));
                anyhow::bail!("element {element} of array {k} of result {number} is {b}, expected {a}");
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::{GpuData, KERNELS, STRUCTURES};
    use super::*;

    /// Every problem runs without a device, on the interpreter of grids.
    #[test]
    fn every_problem_is_checked_and_timed() {
        let mut count = 0;
        for (kernel, _) in KERNELS {
            for (structure, name) in STRUCTURES {
                let problem = |seed| GpuData::new(structure, 256, seed).problem(kernel).unwrap();
                let problems: Option<Vec<_>> = [1, 2].into_iter().map(problem).collect();
                let Some(problems) = problems else { continue };
                let times = measure(&problems, Target::GRID, 1).unwrap_or_else(|e| panic!("{kernel}/{name}: {e}"));
                assert!(times.bytes > 100 && times.cpu > Duration::ZERO, "{kernel}/{name}: {times:?}");
                count += 1;
            }
        }
        assert_eq!(count, 19);
    }

    /// Different results are reported.
    #[test]
    fn different_results_are_reported() {
        let results = [1, 2].map(|seed| {
            let problem = GpuData::new(STRUCTURES[0].0, 256, seed).problem("spmv").unwrap().unwrap();
            results(&Session::default(), &problem).unwrap()
        });
        compare(&results[0], &results[0]).unwrap();
        let error = compare(&results[0], &results[1]).unwrap_err().to_string();
        assert!(error.contains("element") && error.contains("expected"), "{error}");
    }
}
