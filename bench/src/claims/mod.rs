//! Gains and costs of claiming: every query of the SQL tests, of TPC-H and of real tables, with
//! claimed regions and by DataFusion alone, warm and cold, in turns.
//!
//! `queries` lists the queries, `measure` runs them, and `report` compares the times with their
//! targets.

mod compare;
mod measure;
mod queries;
mod report;

pub use measure::{Claiming, Measured, Phases};
pub use report::{line, report};

use anyhow::Result;
use measure::Measuring;
use regex::Regex;
use tokio::runtime::Builder;

/// The queries to measure, and the settings.
#[derive(Clone, Debug)]
pub struct Choice {
    /// Selects queries whose name `group/query` matches.
    pub only: Option<Regex>,
    /// The regions to claim.
    pub claiming: Claiming,
    /// Number of partitions in DataFusion's plans.
    pub threads: usize,
    /// Number of copies of the TPC-H tables at scale factor 0.01, each with its own keys.
    pub copies: usize,
}

/// Measures queries, and calls `done` with each result as soon as it is available.
///
/// # Errors
/// If a group of queries has no tables, or a temporary folder for them cannot be created.
pub fn measure(choice: &Choice, mut done: impl FnMut(&Measured)) -> Result<Vec<Measured>> {
    let runtime = Builder::new_multi_thread().enable_all().build()?;
    let folder = tempfile::tempdir()?;
    let mut all = Vec::new();
    for group in queries::groups(choice.copies)? {
        let wanted =
            |name: &str| choice.only.as_ref().is_none_or(|only| only.is_match(&format!("{}/{name}", group.name)));
        if !group.queries().any(wanted) {
            continue;
        }
        let mut measuring = Measuring::new(choice, &runtime);
        for step in &group.steps {
            match step {
                queries::Step::Statement(sql) => measuring.prepare(&group.in_folder(sql, folder.path()))?,
                queries::Step::File(table, file) => measuring.open(table, file)?,
                queries::Step::Query(name, sql) if wanted(name) => {
                    let measured = measuring.query(&group.name, name, &group.in_folder(sql, folder.path()));
                    done(&measured);
                    all.push(measured);
                }
                queries::Step::Query(..) => {}
            }
        }
    }
    Ok(all)
}
