//! The workloads, one file for each family; [`all`] lists them.

mod arrays;
mod dispatch;
mod elementwise;
mod graphs;
mod images;
mod linear;
mod matrices;
mod pictures;
mod scale;
mod sql;
mod structure;
mod tensors;

pub use scale::factor;

use crate::runner::WorkloadRunner;
use crate::workload::Workload;
use anyhow::{Context, Result};
use redpoll_storage::Tensor;

/// The families except those of the suite `structure`, in the order of reports.
const FAMILIES: &[&[Workload]] = &[
    graphs::PAPER,
    elementwise::PAPER,
    linear::WORKLOADS,
    elementwise::LINEAR,
    tensors::WORKLOADS,
    arrays::WORKLOADS,
    graphs::WORKLOADS,
    images::WORKLOADS,
    dispatch::WORKLOADS,
    scale::WORKLOADS,
    sql::WORKLOADS,
];

/// Returns all pairs of a workload and the name of one of its data sets.
pub fn all() -> impl Iterator<Item = (&'static Workload, &'static str)> {
    FAMILIES
        .iter()
        .chain(structure::FAMILIES)
        .copied()
        .flatten()
        .flat_map(|workload| workload.data.iter().map(move |data| (workload, *data)))
}

/// Finds the workload with the given id, and the name of the data.
///
/// # Errors
/// If there is no such workload.
pub fn find(id: &str) -> Result<(&'static Workload, &'static str)> {
    all().find(|(workload, data)| workload.id(data) == id).with_context(|| format!("unknown workload `{id}`"))
}

/// Returns a program that runs the text of a plan or program, and returns only the first result.
fn first_result(text: &'static str) -> impl Fn(&mut WorkloadRunner) -> Result<Vec<Tensor>> {
    move |runner| {
        let mut all = runner.run_text(text)?;
        all.truncate(1);
        Ok(all)
    }
}

/// Includes the text of a plan or program of the repository.
macro_rules! text {
    ($path:literal) => {
        include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../", $path))
    };
}
use text;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_unique() {
        let mut ids: Vec<String> = all().map(|(workload, data)| workload.id(data)).collect();
        let count = ids.len();
        ids.sort();
        ids.dedup();
        assert_eq!(ids.len(), count);
    }
}
