//! Runs the cases of seeds: those of a group in one database, whose tables are declared repeatedly.

use super::compare::{check, database};
use super::draw::{GROUP, declarations, query};
use super::query::Query;
use super::table::Declaration;
use crate::engines::{Failure, phase};
use redpoll::sql::Database;
use std::fmt;
use tempfile::TempDir;
use tokio::runtime::{Builder, Runtime};

/// A step of a case.
#[derive(Clone, Debug)]
pub enum Step {
    Declare(Declaration),
    Query(Query),
}

/// Declarations and queries in one database; the last step is the query that is checked.
#[derive(Clone, Debug, Default)]
pub struct Case {
    pub steps: Vec<Step>,
}

impl fmt::Display for Case {
    /// Writes the statements.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for step in &self.steps {
            let statements = match step {
                Step::Declare(declaration) => declaration.statements("t.csv"),
                Step::Query(query) => vec![query.to_string()],
            };
            for statement in statements {
                writeln!(f, "{statement}{}", if statement.starts_with("--") { "" } else { ";" })?;
            }
        }
        Ok(())
    }
}

impl Case {
    /// Returns the case of a seed, with all earlier steps of its group.
    pub fn of(seed: u64) -> Case {
        let mut case = Case::default();
        for seed in seed - seed % GROUP..=seed {
            case.add(seed);
        }
        case
    }

    /// Adds the steps of a seed.
    fn add(&mut self, seed: u64) {
        self.steps.extend(declarations(seed).into_iter().map(Step::Declare));
        self.steps.push(Step::Query(query(seed)));
    }

    /// Runs all steps in a new database; returns the failure of the last query, if it fails.
    pub fn failure(&self) -> Option<Failure> {
        let mut place = Place::new();
        let (last, before) = self.steps.split_last()?;
        before.iter().for_each(|step| drop(place.run(step)));
        place.run(last).err()
    }
}

/// The outcome of a case.
#[derive(Debug)]
pub enum Outcome {
    /// Both runs agree; the field is the number of claimed regions.
    Agrees(usize),
    /// The query fails both ways.
    Refused,
    Failed(Failure),
}

/// A database with its own folder of files.
struct Place {
    runtime: Runtime,
    database: Database,
    folder: TempDir,
}

impl Place {
    fn new() -> Place {
        let runtime = Builder::new_current_thread().enable_all().build().expect("a runtime starts");
        let database = runtime.block_on(database());
        Place { runtime, database, folder: TempDir::new().expect("a folder for files") }
    }

    /// Runs a step; a query returns the number of claimed regions, or `None` if it fails both ways.
    fn run(&mut self, step: &Step) -> Result<Option<usize>, Failure> {
        match step {
            Step::Declare(declaration) => {
                let declared = || {
                    let declare = declaration.declare(&self.database, self.folder.path());
                    self.runtime.block_on(declare).map_err(|e| e.to_string())
                };
                phase("declaration", declared).map(|()| None)
            }
            Step::Query(query) => {
                let sql = query.to_string();
                phase("panic", || Ok(self.runtime.block_on(check(&self.database, &sql))))?
            }
        }
    }
}

/// A runner of seeds, which keeps the database of the current group.
#[derive(Default)]
pub struct Runner {
    place: Option<Place>,
    /// The seed after the last one that ran.
    next: u64,
}

impl Runner {
    /// Runs the case of a seed. Unless the seed follows the last one, its group runs from the
    /// start.
    pub fn run(&mut self, seed: u64) -> Outcome {
        if self.next != seed || seed.is_multiple_of(GROUP) {
            self.place = None;
        }
        let first = if self.place.is_none() { seed - seed % GROUP } else { seed };
        let place = self.place.get_or_insert_with(Place::new);
        let mut outcome = Outcome::Refused;
        for seed in first..=seed {
            let mut case = Case::default();
            case.add(seed);
            outcome = Outcome::Refused;
            for step in &case.steps {
                match place.run(step) {
                    Ok(Some(claimed)) => outcome = Outcome::Agrees(claimed),
                    Ok(None) => {}
                    Err(failure) => outcome = Outcome::Failed(failure),
                }
            }
        }
        self.next = seed + 1;
        if matches!(outcome, Outcome::Failed(_)) {
            // A panic may have left the database in any state.
            self.place = None;
        }
        outcome
    }
}
