//! Options in `SET`, `RESET` and `SHOW`: errors that name the option or similar options, and
//! `RESET` of the options of redpoll.

use crate::database::Database;
use crate::error::message;
use crate::options::RedpollOptions;
use datafusion::config::ExtensionOptions;
use datafusion::error::DataFusionError;
use datafusion::logical_expr::{LogicalPlan, SetVariable, Statement};

/// The end of DataFusion's message on an option that `SHOW` does not find.
const NOT_SHOWN: &str = "' is not a variable which can be viewed with 'SHOW'";

impl Database {
    /// Adds the name of an option to the error of a statement that sets or shows the option. If the
    /// option does not exist, the error names similar options, or the statement that lists all
    /// options.
    pub(crate) fn with_option(&self, option: &str, error: &DataFusionError) -> DataFusionError {
        let state = self.context().state();
        let entries = state.config_options().entries().into_iter().chain(state.runtime_env().config_entries());
        let names: Vec<String> = entries.map(|entry| entry.key).collect();
        if names.iter().any(|name| name == option) {
            let text = message(error);
            let text = if text.contains(option) { text } else { format!("option `{option}`: {text}") };
            return DataFusionError::Plan(text);
        }
        // A user of `batch_size` probably means the only option whose name ends with `.batch_size`.
        let suffix = format!(".{option}");
        let completed: Vec<&str> = names.iter().map(String::as_str).filter(|name| name.ends_with(&suffix)).collect();
        let unknown = match completed[..] {
            [name] => format!("unknown option `{option}`; did you mean `{name}`?"),
            _ => redpoll_logic::Error::unknown("option", option, names.iter().map(String::as_str)).to_string(),
        };
        let advice = if unknown.ends_with('?') { "" } else { "; `SHOW ALL` lists the options" };
        DataFusionError::Plan(unknown + advice)
    }

    /// Adds the options with similar names to the error for an option that `SHOW` does not find.
    pub(super) fn with_similar_options(&self, error: DataFusionError) -> DataFusionError {
        let DataFusionError::Plan(text) = error.find_root() else { return error };
        match text.strip_prefix('\'').and_then(|rest| rest.strip_suffix(NOT_SHOWN)).map(str::to_owned) {
            Some(option) => self.with_option(&option, &error),
            None => error,
        }
    }
}

/// Returns the option that a plan sets or resets.
pub(crate) fn changed_option(plan: &LogicalPlan) -> Option<String> {
    match plan {
        LogicalPlan::Statement(Statement::SetVariable(set)) => Some(set.variable.clone()),
        LogicalPlan::Statement(Statement::ResetVariable(reset)) => Some(reset.variable.clone()),
        _ => None,
    }
}

/// Replaces `RESET` of an option of redpoll by `SET` to its default, because DataFusion resets only
/// its own options.
pub(super) fn set_to_default(plan: LogicalPlan) -> LogicalPlan {
    let LogicalPlan::Statement(Statement::ResetVariable(reset)) = &plan else { return plan };
    let defaults = RedpollOptions::default().entries();
    let default = defaults.into_iter().find(|entry| entry.key == reset.variable).and_then(|entry| entry.value);
    match default {
        Some(value) => {
            let variable = reset.variable.clone();
            LogicalPlan::Statement(Statement::SetVariable(SetVariable { variable, value }))
        }
        None => plan,
    }
}
