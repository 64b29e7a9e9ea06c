//! Errors on calls of functions that do not exist or that lack a window, with advice.

use super::choices::unknown_choice;
use super::foreign_functions::replacement;
use super::named_files::FUNCTIONS;
use crate::database::Database;
use datafusion::error::DataFusionError;

impl Database {
    /// Adds advice to the error for a function that does not exist: the expression that replaces a
    /// function of another database, or the functions with similar names, or else the statement
    /// that lists all functions. The error for a table function lists all table functions. The
    /// error for a window function without a window shows a correct call. Other errors are returned
    /// unchanged.
    pub(super) fn with_functions(&self, error: DataFusionError) -> DataFusionError {
        let DataFusionError::Plan(text) = error.find_root() else { return error };
        let state = self.context().state();
        if let Some(name) = quoted_name(text, "table function '", "' not found") {
            let readers = FUNCTIONS.iter().map(|(name, _)| (*name).to_owned());
            let mut known: Vec<String> = state.table_functions().keys().cloned().chain(readers).collect();
            known.sort_unstable();
            return DataFusionError::Plan(unknown_choice("table function", name, &known));
        }
        let Some(name) = quoted_name(text, "Invalid function '", "'.\n") else { return error };
        if state.window_functions().contains_key(&name.to_lowercase()) {
            return DataFusionError::Plan(format!("{name} needs a window: `{name}() OVER (ORDER BY ..)`"));
        }
        if let Some(replacement) = replacement(name) {
            return DataFusionError::Plan(format!("Invalid function '{name}'; write `{replacement}`"));
        }
        let known = state.scalar_functions().keys().chain(state.aggregate_functions().keys());
        let unknown = redpoll_logic::Error::unknown("function", name, known.map(String::as_str)).to_string();
        // DataFusion names only one of several functions that are equally similar.
        let advice = unknown.find("; ").map_or("; `SHOW FUNCTIONS` lists the functions", |at| &unknown[at..]);
        DataFusionError::Plan(format!("Invalid function '{name}'{advice}"))
    }
}

/// Returns the name between the start of a message, which must be `before`, and the text `after`.
fn quoted_name<'a>(text: &'a str, before: &str, after: &str) -> Option<&'a str> {
    text.strip_prefix(before)?.split_once(after).map(|(name, _)| name)
}
