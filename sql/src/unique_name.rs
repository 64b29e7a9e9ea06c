//! Unique names of columns.

use std::collections::BTreeSet;

/// Returns a name that is not among `taken`, and adds it to `taken`. A taken name gets a number, as
/// in DuckDB: the second `a` becomes `a_1`.
pub(crate) fn unique_name(name: &str, taken: &mut BTreeSet<String>) -> String {
    let numbered = (1..).map(|number| format!("{name}_{number}"));
    let mut names = std::iter::once(name.to_owned()).chain(numbered);
    names.find(|name| taken.insert(name.clone())).expect("there are more numbers than names")
}
