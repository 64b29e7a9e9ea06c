//! The kinds of random cases: the share of each kind, and the functions that run and shrink a case.

use clap::ValueEnum;
use redpoll_datasets::testing::{check_seed, mutated_file};
use redpoll_testing::arrays::{self, RecordedChoices};
use redpoll_testing::engines::PhaseFailure;
use redpoll_testing::optimizing::{self, KernelSelection};
use redpoll_testing::programs::{self, ProgramConfig, random_case, redraw_formats};
use redpoll_testing::random;
#[cfg(feature = "sql")]
use redpoll_testing::sql;

/// A kind of random cases.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum CaseKind {
    /// Random plans, run by every engine.
    Plans,
    /// Random programs in Notation, run by every engine.
    Programs,
    /// Random programs of operations on lazy arrays, compared with plain arithmetic.
    Arrays,
    /// Random SQL, compared with plain DataFusion.
    #[cfg(feature = "sql")]
    Sql,
    /// Damaged files, read by every reader.
    Files,
}

impl CaseKind {
    pub(crate) const ALL: &[CaseKind] = &[
        CaseKind::Plans,
        CaseKind::Programs,
        CaseKind::Arrays,
        #[cfg(feature = "sql")]
        CaseKind::Sql,
        CaseKind::Files,
    ];

    /// Returns the name that `--only` takes.
    pub(crate) fn name(self) -> &'static str {
        match self {
            CaseKind::Plans => "plans",
            CaseKind::Programs => "programs",
            CaseKind::Arrays => "arrays",
            #[cfg(feature = "sql")]
            CaseKind::Sql => "sql",
            CaseKind::Files => "files",
        }
    }

    /// Returns the weight of this kind in the choice of cases.
    pub(crate) fn share(self) -> u64 {
        match self {
            CaseKind::Plans | CaseKind::Programs => 300,
            CaseKind::Arrays => 200,
            #[cfg(feature = "sql")]
            CaseKind::Sql => 100,
            CaseKind::Files => 100,
        }
    }

    /// Runs the case of a seed.
    pub(crate) fn run(self, seed: u64) -> Verdict {
        match self {
            CaseKind::Plans => plan(seed),
            CaseKind::Programs => program(seed),
            CaseKind::Arrays => array(seed),
            #[cfg(feature = "sql")]
            CaseKind::Sql => query(seed),
            CaseKind::Files => file(seed),
        }
    }

    /// Returns the case of a seed as a text.
    pub(crate) fn text(self, seed: u64) -> String {
        match self {
            CaseKind::Plans => random::describe(&random::draw_case(seed, random::case_parameters(seed)).1),
            CaseKind::Programs => draw_program(seed).to_string(),
            CaseKind::Arrays => arrays::program_text(RecordedChoices::from_seed(seed)),
            #[cfg(feature = "sql")]
            CaseKind::Sql => sql::SqlCase::of(seed).to_string(),
            CaseKind::Files => {
                let (name, bytes) = mutated_file(seed);
                format!("{name}: \"{}\"", bytes.escape_ascii())
            }
        }
    }
}

/// The outcome of a case.
pub(crate) enum Verdict {
    Agreed,
    /// The case is rejected, its result is not defined, or redpoll claims no region of its query.
    Skipped,
    Failed(CaseFailure),
}

/// A case that fails.
pub(crate) struct CaseFailure {
    /// The part of the engine that fails. Failures of one kind of cases in the same phase are
    /// treated as the same failure.
    pub(crate) phase: &'static str,
    /// Description of the failure.
    pub(crate) message: String,
    /// Function that finds a smaller case that fails in the same phase, and returns it as a text.
    pub(crate) shrink: Box<dyn FnOnce() -> String>,
}

fn plan(seed: u64) -> Verdict {
    let (_, case) = random::draw_case(seed, random::case_parameters(seed));
    let PhaseFailure { phase, message } = match random::run(seed, &case, |_| {}) {
        random::PlanOutcome::Passed(_) => return Verdict::Agreed,
        random::PlanOutcome::Rejected => return Verdict::Skipped,
        random::PlanOutcome::Failed(failure) => failure,
    };
    let shrink = move || {
        select_kernels_for(phase);
        let (case, failure) = random::smallest_failure(seed, case, phase);
        format!("{}\n{}: {}", random::describe(&case), failure.phase, failure.message)
    };
    Verdict::Failed(CaseFailure { phase, message, shrink: Box::new(shrink) })
}

fn program(seed: u64) -> Verdict {
    let case = draw_program(seed);
    let failure = match programs::run(&case) {
        programs::ProgramOutcome::Passed(_) => return Verdict::Agreed,
        programs::ProgramOutcome::Rejected(_) | programs::ProgramOutcome::Undefined(_) => return Verdict::Skipped,
        programs::ProgramOutcome::Failed(failure) => failure,
    };
    let (phase, message) = (failure.phase, failure.message.clone());
    let shrink = move || {
        select_kernels_for(phase);
        let (case, failure) = programs::smallest_failure(&case, failure);
        format!("{case}{}: {}", failure.phase, failure.message)
    };
    Verdict::Failed(CaseFailure { phase, message, shrink: Box::new(shrink) })
}

/// Returns the program of a seed. For odd seeds, the formats are drawn again.
fn draw_program(seed: u64) -> programs::ProgramCase {
    let case = random_case(seed, &ProgramConfig::default());
    if seed.is_multiple_of(2) { case } else { redraw_formats(seed, &case) }
}

fn array(seed: u64) -> Verdict {
    let result = arrays::run(RecordedChoices::from_seed(seed));
    let PhaseFailure { phase, message } = match result.outcome {
        arrays::ArrayOutcome::Agrees => return Verdict::Agreed,
        arrays::ArrayOutcome::Rejected => return Verdict::Skipped,
        arrays::ArrayOutcome::Failed(failure) => failure,
    };
    let shrink = {
        let message = message.clone();
        move || match arrays::smallest_failure(&result.choices, phase).map(|smaller| (smaller.text, smaller.outcome)) {
            Some((text, arrays::ArrayOutcome::Failed(failure))) => {
                format!("{text}\n{}: {}", failure.phase, failure.message)
            }
            _ => format!("the failure does not occur again\n{}\n{phase}: {message}", result.text),
        }
    };
    Verdict::Failed(CaseFailure { phase, message, shrink: Box::new(shrink) })
}

#[cfg(feature = "sql")]
fn query(seed: u64) -> Verdict {
    thread_local! {
        static RUNNER: std::cell::RefCell<sql::CaseRunner> = std::cell::RefCell::default();
    }
    let PhaseFailure { phase, message } = match RUNNER.with_borrow_mut(|runner| runner.run(seed)) {
        sql::SqlOutcome::Agrees(0) | sql::SqlOutcome::Rejected => return Verdict::Skipped,
        sql::SqlOutcome::Agrees(_) => return Verdict::Agreed,
        sql::SqlOutcome::Failed(failure) => failure,
    };
    let shrink = {
        let message = message.clone();
        move || {
            let original = sql::SqlCase::of(seed);
            let smaller = sql::smallest_failure(&original, phase);
            let note = if smaller.is_some() { "" } else { "the failure does not occur again\n" };
            let (case, failure) = smaller.unwrap_or((original, PhaseFailure { phase, message }));
            format!("{note}{case}{}: {}", failure.phase, failure.message)
        }
    };
    Verdict::Failed(CaseFailure { phase, message, shrink: Box::new(shrink) })
}

/// Reads the damaged file of a seed. [`check_seed`] has already shrunk the file that it reports.
fn file(seed: u64) -> Verdict {
    match check_seed(seed) {
        Ok(_) => Verdict::Agreed,
        Err(failure) => {
            let message = failure.to_string();
            Verdict::Failed(CaseFailure { phase: "reader", message: failure.problem, shrink: Box::new(|| message) })
        }
    }
}

/// Selects the kernels that this thread runs in the C tier while a case shrinks: each kernel if the
/// phase that fails is the optimizing tier, otherwise none.
fn select_kernels_for(phase: &str) {
    optimizing::select_kernels(if phase == "optimizing tier" { KernelSelection::Each } else { KernelSelection::None });
}
