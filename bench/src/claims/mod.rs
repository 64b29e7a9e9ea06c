//! What claiming gains and costs: every query of the SQL tests, of TPC-H and of real tables, claimed beside DataFusion
//! alone, warm and cold, in turns.
//!
//! `queries` lists them, `measure` runs them, `report` tells of them, with the aims that they are held to.

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

/// What is measured.
#[derive(Clone, Debug)]
pub struct Choice {
    /// Only queries whose name `group/query` matches.
    pub only: Option<Regex>,
    /// Which regions are claimed.
    pub claiming: Claiming,
    /// Partitions of DataFusion's plans.
    pub threads: usize,
    /// How many times the tables of TPC-H at scale factor 0.01 stand beside each other, with keys of their own.
    pub copies: usize,
}

/// Measures queries, and hands each over as soon as it is done.
///
/// # Errors
/// When a group of queries has no tables, or the place for them cannot be made.
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
