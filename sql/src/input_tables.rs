//! The tables below a region, and their versions, which say whether the tables have changed.

use crate::columns::{FileTable, FileVersion};
use crate::table::TensorTable;
use datafusion::arrow::array::Array;
use datafusion::arrow::record_batch::RecordBatch;
use datafusion::catalog::TableProvider;
use datafusion::catalog::default_table_source::source_as_provider;
use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::datasource::MemTable;
use datafusion::datasource::listing::ListingTable;
use datafusion::logical_expr::{Expr, LogicalPlan};
use std::collections::HashSet;
use std::sync::Arc;

/// The tables below the inputs of a region.
#[derive(Clone, Debug)]
pub(crate) struct InputTables(Vec<Arc<dyn TableProvider>>);

/// The state of tables at one time.
#[derive(Clone, Debug)]
pub(crate) struct Version(Vec<Stamp>);

/// The state of one table.
#[derive(Clone, Debug)]
enum Stamp {
    /// Files, each with its size and modification time, and the table as it was declared. A
    /// declaration with other options may read other rows of the same files.
    Files { declared: Arc<dyn TableProvider>, files: FileVersion },
    /// Batches in memory. They are kept alive, so that their addresses are not reused.
    Batches(Vec<RecordBatch>),
    /// A tensor, which is immutable.
    Tensor(TensorTable),
}

impl InputTables {
    /// Returns the tables that plans scan, or `None` if the rows of the plans may depend on more
    /// than these tables, for example on random numbers or on a subquery.
    pub(crate) fn of(inputs: &[&LogicalPlan]) -> Option<InputTables> {
        let mut tables = Vec::new();
        let mut deterministic = true;
        for input in inputs {
            input
                .apply(|node| {
                    deterministic &= node.expressions().iter().all(is_deterministic);
                    if let LogicalPlan::TableScan(scan) = node {
                        match source_as_provider(&scan.source) {
                            Ok(table) => tables.push(table),
                            Err(_) => deterministic = false,
                        }
                    }
                    Ok(if deterministic { TreeNodeRecursion::Continue } else { TreeNodeRecursion::Stop })
                })
                .expect("visiting a plan cannot fail");
        }
        deterministic.then_some(InputTables(tables))
    }

    /// Returns the version of the tables, or `None` if a table has no version: the table is being
    /// written, its files have no [`FileVersion`], or it is neither a tensor nor in memory nor a
    /// table of files.
    pub(crate) fn version(&self) -> Option<Version> {
        self.0.iter().map(stamp).collect::<Option<_>>().map(Version)
    }

    /// Returns whether the tables are in the given version.
    pub(crate) fn have_version(&self, version: &Version) -> bool {
        self.0.len() == version.0.len() && self.0.iter().zip(&version.0).all(|(table, stamp)| stamp.matches(table))
    }
}

/// Returns whether the value of an expression depends on the row alone.
fn is_deterministic(expr: &Expr) -> bool {
    let mut deterministic = !expr.is_volatile();
    expr.apply(|e| {
        deterministic &= !matches!(e, Expr::ScalarSubquery(_) | Expr::Exists(_) | Expr::InSubquery(_));
        Ok(if deterministic { TreeNodeRecursion::Continue } else { TreeNodeRecursion::Stop })
    })
    .expect("visiting an expression cannot fail");
    deterministic
}

fn stamp(table: &Arc<dyn TableProvider>) -> Option<Stamp> {
    if let Some(tensor) = table.downcast_ref::<TensorTable>() {
        return Some(Stamp::Tensor(tensor.clone()));
    }
    if let Some(memory) = table.downcast_ref::<MemTable>() {
        let mut batches = Vec::new();
        for partition in &memory.batches {
            // A partition that is being written has no version.
            batches.extend(partition.try_read().ok()?.iter().cloned());
        }
        return Some(Stamp::Batches(batches));
    }
    let listing = match table.downcast_ref::<FileTable>() {
        Some(files) => files.listing(),
        None => table.downcast_ref::<ListingTable>()?,
    };
    let files = FileVersion::of(listing)?;
    Some(Stamp::Files { declared: table.clone(), files })
}

impl Stamp {
    /// Returns whether a table is in this state. Batches are compared without cloning them.
    fn matches(&self, table: &Arc<dyn TableProvider>) -> bool {
        match (self, table.downcast_ref::<MemTable>()) {
            (Stamp::Batches(stored), Some(memory)) => {
                let mut stored = stored.iter();
                let mut is_stored =
                    |batch: &RecordBatch| stored.next().is_some_and(|stored| share_memory(stored, batch));
                let mut parts = memory.batches.iter();
                parts.all(|part| part.try_read().is_ok_and(|part| part.iter().all(&mut is_stored)))
                    && stored.next().is_none()
            }
            _ => stamp(table).as_ref() == Some(self),
        }
    }
}

impl PartialEq for Stamp {
    fn eq(&self, other: &Stamp) -> bool {
        match (self, other) {
            (Stamp::Files { declared: a, files: b }, Stamp::Files { declared: c, files: d }) => {
                Arc::ptr_eq(a, c) && b == d
            }
            (Stamp::Tensor(a), Stamp::Tensor(b)) => a == b,
            (Stamp::Batches(a), Stamp::Batches(b)) => {
                a.len() == b.len() && a.iter().zip(b).all(|(a, b)| share_memory(a, b))
            }
            _ => false,
        }
    }
}

impl Version {
    /// Finds the table in memory to which the batches of `partitions` belong, and returns its
    /// batches in the order of the table; `None` if there is no such table.
    pub(crate) fn batches_of(&self, partitions: &[Vec<RecordBatch>]) -> Option<Vec<RecordBatch>> {
        let scanned: Vec<&RecordBatch> = partitions.iter().flatten().collect();
        let found = self.0.iter().find_map(|stamp| match stamp {
            Stamp::Batches(batches) if have_same_rows(batches.iter(), scanned.iter().copied()) => Some(batches),
            _ => None,
        });
        found.cloned()
    }
}

/// Returns whether two lists of batches have equally many rows in the same allocations; false if a
/// column has no buffer. The order of the batches may differ, and so may the division of the rows
/// into batches.
fn have_same_rows<'a>(
    a: impl Iterator<Item = &'a RecordBatch> + Clone,
    b: impl Iterator<Item = &'a RecordBatch> + Clone,
) -> bool {
    fn rows<'a>(batches: impl Iterator<Item = &'a RecordBatch>) -> usize {
        batches.map(RecordBatch::num_rows).sum()
    }
    // The allocations of the columns.
    fn memory<'a>(batches: impl Iterator<Item = &'a RecordBatch>) -> Option<HashSet<Vec<usize>>> {
        let filled = batches.filter(|batch| batch.num_rows() > 0);
        let of_batch = |batch: &RecordBatch| {
            let columns = batch
                .columns()
                .iter()
                .map(|column| Some(column.to_data().buffers().first()?.data_ptr().as_ptr() as usize));
            columns.collect::<Option<Vec<usize>>>()
        };
        filled.map(of_batch).collect()
    }
    rows(a.clone()) == rows(b.clone()) && memory(a).is_some_and(|a| memory(b).is_some_and(|b| a == b))
}

impl PartialEq for Version {
    fn eq(&self, other: &Version) -> bool {
        self.0 == other.0
    }
}

/// Returns whether two batches share their memory.
fn share_memory(a: &RecordBatch, b: &RecordBatch) -> bool {
    let mut pairs = a.columns().iter().zip(b.columns());
    a.num_rows() == b.num_rows()
        && a.num_columns() == b.num_columns()
        && pairs.all(|(a, b)| Arc::ptr_eq(a, b) || a.to_data().ptr_eq(&b.to_data()))
}
