//! Runs the cases of seeds. The cases of a group run in one database, whose tables are declared
//! repeatedly.

use super::compare::{check, database};
use super::draw::{GROUP, SEMIRINGS, declarations, query};
use super::query::RandomQuery;
use super::table::Declaration;
use crate::engines::{PhaseFailure, run_phase};
use redpoll::sql::{Database, Semiring};
use std::fmt;
use tempfile::TempDir;
use tokio::runtime::{Builder, Runtime};

/// A step of a case.
#[derive(Clone, Debug)]
pub enum CaseStep {
    Declare(Declaration),
    Query(RandomQuery),
}

/// Declarations and queries in one database; the last step is the query that is checked.
#[derive(Clone, Debug, Default)]
pub struct SqlCase {
    pub steps: Vec<CaseStep>,
}

impl fmt::Display for SqlCase {
    /// Writes the statements.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for step in &self.steps {
            let statements = match step {
                CaseStep::Declare(declaration) => declaration.statements("t.csv"),
                CaseStep::Query(query) => vec![query.to_string()],
            };
            for statement in statements {
                writeln!(f, "{statement}{}", if statement.starts_with("--") { "" } else { ";" })?;
            }
        }
        Ok(())
    }
}

impl SqlCase {
    /// Returns the case of a seed, with all earlier steps of its group.
    pub fn of(seed: u64) -> SqlCase {
        let mut case = SqlCase::default();
        for seed in seed - seed % GROUP..=seed {
            case.add(seed);
        }
        case
    }

    /// Adds the steps of a seed.
    fn add(&mut self, seed: u64) {
        self.steps.extend(declarations(seed).into_iter().map(CaseStep::Declare));
        self.steps.push(CaseStep::Query(query(seed)));
    }

    /// Runs all steps in a new database; returns the first failure, in the given phase, of a
    /// declaration or of the last query.
    pub fn failure(&self, phase: &str) -> Option<PhaseFailure> {
        let mut database = TestDatabase::new();
        self.steps.iter().enumerate().find_map(|(at, step)| {
            let failure = database.run(step).err()?;
            let is_checked = at + 1 == self.steps.len() || matches!(step, CaseStep::Declare(_));
            (is_checked && failure.phase == phase).then_some(failure)
        })
    }
}

/// The outcome of a case.
#[derive(Debug)]
pub enum SqlOutcome {
    /// Both runs agree; the field is the number of claimed regions.
    Agrees(usize),
    /// The query fails claimed and unclaimed.
    Rejected,
    /// The first failure of a declaration or of the query.
    Failed(PhaseFailure),
}

/// A database with its own folder of files.
struct TestDatabase {
    runtime: Runtime,
    database: Database,
    folder: TempDir,
}

impl TestDatabase {
    fn new() -> TestDatabase {
        let runtime = Builder::new_current_thread().enable_all().build().expect("a runtime starts");
        let database = runtime.block_on(database());
        for (name, plus, times, number) in SEMIRINGS {
            database.register_semiring(Semiring::new(name, plus, times, number).expect("a semiring"));
        }
        TestDatabase { runtime, database, folder: TempDir::new().expect("a folder for files") }
    }

    /// Runs a step; a query returns the number of claimed regions, or `None` if the query fails
    /// claimed and unclaimed.
    fn run(&mut self, step: &CaseStep) -> Result<Option<usize>, PhaseFailure> {
        match step {
            CaseStep::Declare(declaration) => {
                let declared = || {
                    let declare = declaration.declare(&self.database, self.folder.path());
                    self.runtime.block_on(declare).map_err(|e| e.to_string())
                };
                run_phase("declaration", declared).map(|()| None)
            }
            CaseStep::Query(query) => {
                let sql = query.to_string();
                run_phase("panic", || Ok(self.runtime.block_on(check(&self.database, &sql))))?
            }
        }
    }
}

/// A runner of seeds, which keeps the database of the current group.
#[derive(Default)]
pub struct CaseRunner {
    database: Option<TestDatabase>,
    /// The seed after the last seed that ran.
    next: u64,
}

impl CaseRunner {
    /// Runs the case of a seed. If the seed does not follow the last seed that ran, or the last
    /// case failed, all earlier cases of the seed's group run first.
    pub fn run(&mut self, seed: u64) -> SqlOutcome {
        if self.next != seed || seed.is_multiple_of(GROUP) {
            self.database = None;
        }
        let first = if self.database.is_none() { seed - seed % GROUP } else { seed };
        let database = self.database.get_or_insert_with(TestDatabase::new);
        let mut outcome = SqlOutcome::Rejected;
        for seed in first..=seed {
            let mut case = SqlCase::default();
            case.add(seed);
            outcome = SqlOutcome::Rejected;
            for step in &case.steps {
                let result = database.run(step);
                if matches!(outcome, SqlOutcome::Failed(_)) {
                    continue;
                }
                match result {
                    Ok(Some(claimed)) => outcome = SqlOutcome::Agrees(claimed),
                    Ok(None) => {}
                    Err(failure) => outcome = SqlOutcome::Failed(failure),
                }
            }
        }
        self.next = seed + 1;
        if matches!(outcome, SqlOutcome::Failed(_)) {
            // A panic may have left the database in any state.
            self.database = None;
        }
        outcome
    }
}
