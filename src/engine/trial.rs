//! The trial of a kernel: alternating runs of both tiers, whose times decide which tier runs the
//! kernel afterwards.
//!
//! The tiers give the same bits, so the choice affects nothing but times. A trial compares the
//! least times per unit of work, because disturbances, such as a cold cache in the first run, only
//! make runs take longer. Work is the number of stored values of the inputs. Tiers alternate in the
//! order of the Thue-Morse sequence, so that neither tier is favoured if the inputs change
//! periodically.

use crate::target::Target;
use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Minimum number of runs of each tier in a trial.
const MIN_RUNS: u32 = 2;
/// Number of runs of each tier in a trial whose runs take less than [`TRIAL_TIME`] together.
const MAX_RUNS: u32 = 16;
/// Least total time of the runs of a trial at which [`MIN_RUNS`] runs of each tier suffice.
const TRIAL_TIME: Duration = Duration::from_millis(50);
/// Factor between the work of a run and the work of the trial: a run with this many times the work
/// begins a new trial, and a run with less than the work of the trial divided by the factor is not
/// measured.
const INCOMPARABLE: u64 = 8;

/// The trial of a kernel, or its outcome.
#[derive(Default)]
pub(crate) struct TierTrial(Mutex<TrialState>);

#[derive(Default)]
struct TrialState {
    /// The work of the run that began the trial.
    work: u64,
    /// Number of runs that have been assigned to tiers.
    assigned: u32,
    instant: TierTimes,
    optimizing: TierTimes,
    /// The chosen tier, once the trial has ended.
    chosen: Option<Target>,
}

/// The recorded runs of one tier.
#[derive(Clone, Copy)]
struct TierTimes {
    runs: u32,
    /// The time of all runs.
    total: Duration,
    /// The least number of seconds per unit of work.
    least: f64,
}

/// The tier of a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct TierAssignment {
    pub(crate) tier: Target,
    /// Set if the trial needs the time of the run.
    pub(crate) is_measured: bool,
}

/// The tier that runs a kernel on [`Target::CPU`] after a trial of both tiers.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub struct TierChoice {
    /// The names of the outputs of the kernel.
    pub kernel: String,
    /// The faster tier.
    pub tier: Target,
    /// The least time per unit of work in the instant tier, times the work of the first run of the
    /// trial.
    pub instant: Duration,
    /// The least time per unit of work in the optimizing tier, times the work of the first run of
    /// the trial.
    pub optimizing: Duration,
    /// The number of compared runs of each tier; if the numbers differ, the smaller number.
    pub runs: u32,
}

impl TierTrial {
    /// Returns the tier of a run with this much work. The run belongs to the trial unless the trial
    /// has ended, or the run has far less work than the trial. A run with far more work begins a
    /// new trial.
    pub(crate) fn assign(&self, work: u64) -> TierAssignment {
        let mut state = self.state();
        let work = work.max(1);
        if work / INCOMPARABLE >= state.work {
            *state = TrialState { work, ..TrialState::default() };
        }
        if let Some(tier) = state.chosen {
            return TierAssignment { tier, is_measured: false };
        }
        if work < state.work / INCOMPARABLE {
            return TierAssignment { tier: Target::OPTIMIZING, is_measured: false };
        }
        let tier = if state.assigned.count_ones().is_multiple_of(2) { Target::OPTIMIZING } else { Target::INSTANT };
        state.assigned = state.assigned.wrapping_add(1);
        TierAssignment { tier, is_measured: true }
    }

    /// Records the time of a measured run of a tier, and ends the trial after enough runs.
    pub(crate) fn record(&self, tier: Target, work: u64, time: Duration) {
        let mut state = self.state();
        // A run that began before a newer trial does not count.
        if state.chosen.is_some() || work < state.work / INCOMPARABLE {
            return;
        }
        let times = if tier == Target::INSTANT { &mut state.instant } else { &mut state.optimizing };
        times.runs += 1;
        times.total += time;
        times.least = times.least.min(time.as_secs_f64() / work.max(1) as f64);
        let TrialState { instant, optimizing, .. } = &*state;
        let needed = if instant.total + optimizing.total < TRIAL_TIME { MAX_RUNS } else { MIN_RUNS };
        if instant.runs.min(optimizing.runs) >= needed {
            let is_slower = optimizing.least > instant.least;
            state.chosen = Some(if is_slower { Target::INSTANT } else { Target::OPTIMIZING });
        }
    }

    /// Returns the chosen tier, if the trial has ended.
    pub(crate) fn chosen(&self) -> Option<Target> {
        self.state().chosen
    }

    /// Returns the choice for the kernel with this name, if the trial has ended.
    pub(crate) fn choice(&self, kernel: &str) -> Option<TierChoice> {
        let state = self.state();
        let least = |times: TierTimes| Duration::try_from_secs_f64(times.least * state.work as f64).unwrap_or_default();
        Some(TierChoice {
            kernel: kernel.to_owned(),
            tier: state.chosen?,
            instant: least(state.instant),
            optimizing: least(state.optimizing),
            runs: state.instant.runs.min(state.optimizing.runs),
        })
    }

    fn state(&self) -> MutexGuard<'_, TrialState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Default for TierTimes {
    fn default() -> TierTimes {
        TierTimes { runs: 0, total: Duration::ZERO, least: f64::INFINITY }
    }
}

impl fmt::Display for TierChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let TierChoice { kernel, tier, instant, optimizing, runs } = self;
        write!(
            f,
            "{kernel}: {tier} tier; the least times are {instant:.1?} (instant) and {optimizing:.1?} (optimizing), \
             over {runs} runs each"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MICROSECOND: f64 = 1e-6;

    /// Makes runs with the given amounts of work. `time` returns the time of a run from its tier,
    /// work and number. Returns the number of measured runs.
    fn measure(
        trial: &TierTrial,
        works: impl IntoIterator<Item = u64>,
        time: impl Fn(Target, u64, usize) -> f64,
    ) -> u32 {
        let mut measured = 0;
        for (number, work) in works.into_iter().enumerate() {
            let run = trial.assign(work);
            if run.is_measured {
                trial.record(run.tier, work, Duration::from_secs_f64(time(run.tier, work, number)));
                measured += 1;
            }
        }
        measured
    }

    fn by_tier(instant: f64, optimizing: f64) -> impl Fn(Target, u64, usize) -> f64 {
        move |tier, _, _| if tier == Target::INSTANT { instant } else { optimizing }
    }

    /// Returns the tier that a trial of 200 runs of equal work chooses.
    fn chosen(time: impl Fn(Target, u64, usize) -> f64) -> Option<Target> {
        let trial = TierTrial::default();
        measure(&trial, [1000; 200], time);
        trial.chosen()
    }

    #[test]
    fn the_faster_tier_is_kept() {
        for scale in [MICROSECOND, 1e3 * MICROSECOND, 1e6 * MICROSECOND] {
            assert_eq!(chosen(by_tier(10.0 * scale, 12.0 * scale)), Some(Target::INSTANT));
            assert_eq!(chosen(by_tier(12.0 * scale, 10.0 * scale)), Some(Target::OPTIMIZING));
            assert_eq!(chosen(by_tier(10.0 * scale, 10.0 * scale)), Some(Target::OPTIMIZING));
        }
    }

    /// Asserts that disturbed runs, such as the first run of a kernel, do not decide.
    #[test]
    fn disturbed_runs_do_not_decide() {
        let first_is_cold = |tier, _, number| by_tier(10.0, 9.0)(tier, 0, 0) * if number < 2 { 50.0 } else { 1.0 };
        assert_eq!(
            chosen(move |tier, work, number| MICROSECOND * first_is_cold(tier, work, number)),
            Some(Target::OPTIMIZING)
        );
        for period in 2..9 {
            let disturbed = move |tier, _: u64, number: usize| {
                MICROSECOND * by_tier(10.0, 11.0)(tier, 0, 0) * if number.is_multiple_of(period) { 3.0 } else { 1.0 }
            };
            assert_eq!(chosen(disturbed), Some(Target::INSTANT), "every {period}th run is disturbed");
        }
    }

    /// Asserts that a trial of long runs ends after four runs, and a trial of short runs after 32.
    /// Later runs are not measured.
    #[test]
    fn trials_are_short() {
        let measured = |time| measure(&TierTrial::default(), [1000; 1000], by_tier(time, 1.1 * time));
        assert_eq!([1.0, 30e-3, 1e-3, MICROSECOND].map(measured), [4, 4, 32, 32]);
    }

    /// Asserts that runs of different work are compared by time per unit of work, in any order.
    #[test]
    fn runs_of_unequal_work_are_compared_by_work() {
        let overhead = 2.0 * MICROSECOND;
        for (faster, rates) in [(Target::INSTANT, (1.0, 1.2)), (Target::OPTIMIZING, (1.2, 1.0))] {
            for period in 1..9 {
                let works = (0..400).map(|k| 10_000 * (1 + k % period));
                let trial = TierTrial::default();
                let rate = by_tier(rates.0 * 1e-9, rates.1 * 1e-9);
                measure(&trial, works, |tier, work, _| overhead + work as f64 * rate(tier, 0, 0));
                assert_eq!(trial.chosen(), Some(faster), "period {period}");
            }
        }
    }

    /// Asserts that a run with far more work begins a new trial, and that a run with far less work
    /// is not measured.
    #[test]
    fn the_choice_is_made_for_the_most_work() {
        let trial = TierTrial::default();
        assert_eq!(measure(&trial, [100; 100], by_tier(MICROSECOND, 2.0 * MICROSECOND)), 32);
        assert_eq!(trial.chosen(), Some(Target::INSTANT));
        assert_eq!(measure(&trial, [700, 10], by_tier(1.0, 1.0)), 0, "no new trial begins");
        let small_and_large = [100_000, 10].into_iter().cycle().take(100);
        let time = |tier, work, _: usize| work as f64 * MICROSECOND * by_tier(2.0, 1.0)(tier, 0, 0);
        assert_eq!(measure(&trial, small_and_large, time), 4, "runs on 10 values are not measured");
        assert_eq!(trial.chosen(), Some(Target::OPTIMIZING));
        assert_eq!(measure(&trial, [100; 100], by_tier(1.0, 1.0)), 0, "the choice for more work stays");
        let late = TierTrial::default();
        late.assign(10);
        late.assign(1000);
        late.record(Target::OPTIMIZING, 10, Duration::ZERO);
        assert_eq!(late.state().optimizing.runs, 0, "the run belongs to the earlier trial");
    }

    #[test]
    fn choices_are_explained() {
        let trial = TierTrial::default();
        assert_eq!(trial.choice("y"), None);
        measure(&trial, [1000; 100], by_tier(10.0 * MICROSECOND, 12.5 * MICROSECOND));
        let text = trial.choice("y").unwrap().to_string();
        expect_test::expect![
            "y: instant tier; the least times are 10.0µs (instant) and 12.5µs (optimizing), over 16 runs each"
        ]
        .assert_eq(&text);
    }
}
