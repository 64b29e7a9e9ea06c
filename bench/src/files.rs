//! Files that benchmarks read: the collection of real data sets, when there is one, and the plans of the tests.

use std::path::{Path, PathBuf};

/// The folder of this crate's workspace.
pub(crate) fn workspace() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the crate is a folder of the workspace")
}

/// A file of the collection in the folder that the environment variable `REDPOLL_DATASETS` names, or else in
/// `shared/datasets` beside or above the checkout; `None` where there is none.
pub fn dataset(name: &str) -> Option<PathBuf> {
    let named = std::env::var_os("REDPOLL_DATASETS").map(PathBuf::from);
    let above = workspace().ancestors().skip(1).map(|folder| folder.join("shared/datasets"));
    named.into_iter().chain(above).map(|folder| folder.join(name)).find(|path| path.exists())
}

/// The plan files of a folder, or else of the tests, by name.
pub fn plans(folder: Option<PathBuf>) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder.unwrap_or_else(|| workspace().join("tests/files")));
    let paths = entries.into_iter().flatten().filter_map(|entry| Some(entry.ok()?.path()));
    let mut plans: Vec<PathBuf> = paths.filter(|path| path.extension().is_some_and(|e| e == "rp")).collect();
    plans.sort();
    plans
}
