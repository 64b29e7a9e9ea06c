//! Reports: tables of all measurements, and figures.

mod plot;
mod sql;
mod structure;
mod summary;
pub mod table;

use crate::results::Results;
use anyhow::{Context, Result};
use std::fs;
use std::path::Path;

/// Writes the report to a folder, creating the folder if necessary.
///
/// # Errors
/// If a file cannot be written.
pub fn write(folder: &Path, results: &Results) -> Result<()> {
    fs::create_dir_all(folder).with_context(|| format!("cannot create {}", folder.display()))?;
    let figures = plot::write(folder, results)?;
    let file = folder.join("README.md");
    fs::write(&file, table::document(results, &figures)).with_context(|| format!("cannot write {}", file.display()))
}
