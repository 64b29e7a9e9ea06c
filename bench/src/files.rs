//! Files that benchmarks read: the collection of real data sets, if available, and the plans of the
//! tests.

use std::path::{Path, PathBuf};

/// Returns the root folder of the workspace.
pub(crate) fn workspace() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the crate is a folder of the workspace")
}

/// Returns the path of a file of the collection, or `None` if it is missing. The collection is the
/// folder in the environment variable `REDPOLL_DATASETS`, or else `shared/datasets` in a folder
/// above the checkout.
pub fn dataset(name: &str) -> Option<PathBuf> {
    let named = std::env::var_os("REDPOLL_DATASETS").map(PathBuf::from);
    let above = workspace().ancestors().skip(1).map(|folder| folder.join("shared/datasets"));
    named.into_iter().chain(above).map(|folder| folder.join(name)).find(|path| path.exists())
}

/// Returns the sorted plan files of a folder, by default the folder of the tests.
pub fn plan_files(folder: Option<PathBuf>) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder.unwrap_or_else(|| workspace().join("tests/files")));
    let paths = entries.into_iter().flatten().filter_map(|entry| Some(entry.ok()?.path()));
    let mut plans: Vec<PathBuf> = paths.filter(|path| path.extension().is_some_and(|e| e == "rp")).collect();
    plans.sort();
    plans
}
