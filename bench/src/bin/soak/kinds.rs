//! The kinds of random cases: the share of each kind, and running and shrinking a case.

use clap::ValueEnum;
use redpoll_datasets::testing::{check_seed, mutated};
use redpoll_testing::arrays::{self, Choices};
use redpoll_testing::engines::Failure;
use redpoll_testing::optimizing::{self, Taken};
use redpoll_testing::programs::{self, Config, random_case, redraw_formats};
use redpoll_testing::random;
#[cfg(feature = "sql")]
use redpoll_testing::sql;

/// A kind of random cases.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum Kind {
    /// Random plans through every engine.
    Plans,
    /// Random programs in Notation through every engine.
    Programs,
    /// Random programs of operations on lazy arrays beside plain arithmetic.
    Arrays,
    /// Random SQL beside plain DataFusion.
    #[cfg(feature = "sql")]
    Sql,
    /// Damaged files through every reader.
    Files,
}

impl Kind {
    pub(crate) const ALL: &[Kind] = &[
        Kind::Plans,
        Kind::Programs,
        Kind::Arrays,
        #[cfg(feature = "sql")]
        Kind::Sql,
        Kind::Files,
    ];

    /// The name that `--only` takes.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Kind::Plans => "plans",
            Kind::Programs => "programs",
            Kind::Arrays => "arrays",
            #[cfg(feature = "sql")]
            Kind::Sql => "sql",
            Kind::Files => "files",
        }
    }

    /// Share of this kind in all cases.
    pub(crate) fn share(self) -> u64 {
        match self {
            Kind::Plans | Kind::Programs => 300,
            Kind::Arrays => 200,
            #[cfg(feature = "sql")]
            Kind::Sql => 100,
            Kind::Files => 100,
        }
    }

    /// Runs the case of a seed.
    pub(crate) fn run(self, seed: u64) -> Verdict {
        match self {
            Kind::Plans => plan(seed),
            Kind::Programs => program(seed),
            Kind::Arrays => array(seed),
            #[cfg(feature = "sql")]
            Kind::Sql => query(seed),
            Kind::Files => file(seed),
        }
    }

    /// Returns the case of a seed as a text.
    pub(crate) fn text(self, seed: u64) -> String {
        match self {
            Kind::Plans => random::describe(&random::case(seed, random::flavour(seed)).1),
            Kind::Programs => drawn_program(seed).to_string(),
            Kind::Arrays => arrays::text(Choices::of_seed(seed)),
            #[cfg(feature = "sql")]
            Kind::Sql => sql::Case::of(seed).to_string(),
            Kind::Files => {
                let (name, bytes) = mutated(seed);
                format!("{name}: \"{}\"", bytes.escape_ascii())
            }
        }
    }
}

/// Outcome of a case.
pub(crate) enum Verdict {
    Sound,
    /// The case is refused, or its result is not defined.
    Passed,
    Wrong(Wrong),
}

/// A case that fails.
pub(crate) struct Wrong {
    /// The part of the engine that fails; cases that fail in the same one count as alike.
    pub(crate) phase: &'static str,
    /// Description of the failure.
    pub(crate) what: String,
    /// Finds a smaller case that fails in the same phase, and returns it as a text.
    pub(crate) shrink: Box<dyn FnOnce() -> String>,
}

fn plan(seed: u64) -> Verdict {
    let (_, case) = random::case(seed, random::flavour(seed));
    let Failure { phase, what } = match random::run(seed, &case, |_| {}) {
        random::Outcome::Done(_) => return Verdict::Sound,
        random::Outcome::Refused => return Verdict::Passed,
        random::Outcome::Failed(failure) => failure,
    };
    let shrink = move || {
        compile_each_of(phase);
        let (case, failure) = random::smallest_failure(seed, case, phase);
        format!("{}\n{}: {}", random::describe(&case), failure.phase, failure.what)
    };
    Verdict::Wrong(Wrong { phase, what, shrink: Box::new(shrink) })
}

fn program(seed: u64) -> Verdict {
    let case = drawn_program(seed);
    let failure = match programs::run(&case) {
        programs::Outcome::Done(_) => return Verdict::Sound,
        programs::Outcome::Refused(_) | programs::Outcome::Undefined(_) => return Verdict::Passed,
        programs::Outcome::Failed(failure) => failure,
    };
    let (phase, what) = (failure.phase, failure.what.clone());
    let shrink = move || {
        compile_each_of(phase);
        let (case, failure) = programs::smallest_failure(&case, failure);
        format!("{case}{}: {}", failure.phase, failure.what)
    };
    Verdict::Wrong(Wrong { phase, what, shrink: Box::new(shrink) })
}

/// Returns the program of a seed; odd seeds get other formats.
fn drawn_program(seed: u64) -> programs::Case {
    let case = random_case(seed, &Config::default());
    if seed.is_multiple_of(2) { case } else { redraw_formats(seed, &case) }
}

fn array(seed: u64) -> Verdict {
    let checked = arrays::run(Choices::of_seed(seed));
    let Failure { phase, what } = match checked.outcome {
        arrays::Outcome::Agrees => return Verdict::Sound,
        arrays::Outcome::Refused => return Verdict::Passed,
        arrays::Outcome::Failed(failure) => failure,
    };
    let shrink = {
        let what = what.clone();
        move || match arrays::smallest_failure(&checked.choices, phase).map(|smaller| (smaller.text, smaller.outcome)) {
            Some((text, arrays::Outcome::Failed(failure))) => format!("{text}\n{}: {}", failure.phase, failure.what),
            _ => format!("it does not fail again\n{}\n{phase}: {what}", checked.text),
        }
    };
    Verdict::Wrong(Wrong { phase, what, shrink: Box::new(shrink) })
}

#[cfg(feature = "sql")]
fn query(seed: u64) -> Verdict {
    thread_local! {
        static RUNNER: std::cell::RefCell<sql::Runner> = std::cell::RefCell::default();
    }
    let Failure { phase, what } = match RUNNER.with_borrow_mut(|runner| runner.run(seed)) {
        sql::Outcome::Agrees(0) | sql::Outcome::Refused => return Verdict::Passed,
        sql::Outcome::Agrees(_) => return Verdict::Sound,
        sql::Outcome::Failed(failure) => failure,
    };
    let shrink = {
        let what = what.clone();
        move || {
            let whole = sql::Case::of(seed);
            let smaller = sql::smallest_failure(&whole, phase);
            let again = if smaller.is_some() { "" } else { "it does not fail again\n" };
            let (case, failure) = smaller.unwrap_or((whole, Failure { phase, what }));
            format!("{again}{case}{}: {}", failure.phase, failure.what)
        }
    };
    Verdict::Wrong(Wrong { phase, what, shrink: Box::new(shrink) })
}

/// Reads the damaged file of a seed. The reported file is shrunk already.
fn file(seed: u64) -> Verdict {
    match check_seed(seed) {
        Ok(_) => Verdict::Sound,
        Err(failure) => {
            let what = failure.to_string();
            Verdict::Wrong(Wrong { phase: "reader", what: failure.what, shrink: Box::new(|| what) })
        }
    }
}

/// Compiles each kernel of this thread by the C tier if that phase fails, and none otherwise.
fn compile_each_of(phase: &str) {
    optimizing::take(if phase == "optimizing tier" { Taken::Each } else { Taken::None });
}
