//! Gains and costs of claiming. Every query of the SQL tests, of TPC-H and over real tables runs in
//! turns with claimed regions and by DataFusion alone, warm and cold.
//!
//! `queries` lists the queries, `measure` runs them, and `report` compares the times with their
//! targets.

mod compare;
mod measure;
mod queries;
mod report;

pub use measure::{ClaimPolicy, Phases, QueryTimes};
pub(crate) use queries::{GroupStep, tpch_steps};
pub use report::{line, report};

use anyhow::Result;
use measure::GroupSessions;
use regex::Regex;
use tokio::runtime::Builder;

/// The queries to measure, and the settings.
#[derive(Clone, Debug)]
pub struct ClaimSettings {
    /// A pattern for the names `group/query` of the queries to measure; `None` for all queries.
    pub only: Option<Regex>,
    /// The regions to claim.
    pub policy: ClaimPolicy,
    /// Number of partitions in DataFusion's plans.
    pub threads: usize,
    /// Number of copies of the TPC-H tables at scale factor 0.01, each with its own keys.
    pub copies: usize,
}

/// Measures queries, and calls `done` with each result as soon as it is available.
///
/// # Errors
/// If a file of queries cannot be read, a table of a group cannot be created, or the threads or the
/// temporary folder for tables cannot be created.
pub fn measure(settings: &ClaimSettings, mut done: impl FnMut(&QueryTimes)) -> Result<Vec<QueryTimes>> {
    let runtime = Builder::new_multi_thread().enable_all().build()?;
    let folder = tempfile::tempdir()?;
    let mut all = Vec::new();
    for group in queries::groups(settings.copies)? {
        let is_selected =
            |name: &str| settings.only.as_ref().is_none_or(|only| only.is_match(&format!("{}/{name}", group.name)));
        if !group.queries().any(is_selected) {
            continue;
        }
        let mut sessions = GroupSessions::new(settings, &runtime);
        for step in &group.steps {
            match step {
                queries::GroupStep::Statement(sql) => sessions.prepare(&group.expand_paths(sql, folder.path()))?,
                queries::GroupStep::File(table, file) => sessions.open(table, file)?,
                queries::GroupStep::Query(name, sql) if is_selected(name) => {
                    let times = sessions.query(&group.name, name, &group.expand_paths(sql, folder.path()));
                    done(&times);
                    all.push(times);
                }
                queries::GroupStep::Query(..) => {}
            }
        }
    }
    Ok(all)
}
