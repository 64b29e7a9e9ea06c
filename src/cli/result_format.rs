//! Formats of results that options set: `--format NAME=FORMAT` of `explain`, and `--out
//! NAME=FILE:FORMAT` of `run`. A plan computes its results in these formats.

use super::bind::storage_format;
use super::failure::CommandFailure;
use crate::Error;
use crate::logic::Plan;

/// The format of a result.
#[derive(Clone, Debug)]
pub(super) struct ResultFormat {
    /// The name of the result.
    pub(super) name: String,
    /// The format as text.
    pub(super) format: String,
    /// The option and its value, for messages.
    pub(super) option: String,
    /// The treatment of a format that the plan cannot have.
    pub(super) unsettable: Unsettable,
}

/// The treatment of a format that the plan cannot have, because it has no result of this name, or
/// because another query reads the result.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Unsettable {
    /// The format is an error.
    Reject,
    /// The format is ignored.
    Ignore,
}

/// Returns a plan whose results are stored in the given formats.
pub(super) fn with_result_formats(mut plan: Plan, formats: &[ResultFormat]) -> Result<Plan, CommandFailure> {
    for ResultFormat { name, format, option, unsettable } in formats {
        let is_read = plan.queries.iter().any(|query| query.expr.tables().iter().any(|table| table.as_str() == name));
        let query = plan.queries.iter_mut().find(|query| query.alias.as_str() == name);
        match (query, is_read, unsettable) {
            (Some(query), false, _) => {
                let rank = query.expr.info().fields.len();
                let format = storage_format(format, rank, || option.clone())?;
                query.expr = query.expr.clone().reformat(format).map_err(Error::Verify)?;
            }
            (_, _, Unsettable::Ignore) => {}
            (None, _, Unsettable::Reject) => {
                let message = format!("{option}: no table without a file and no result has the name `{name}`");
                return Err(CommandFailure::usage(message));
            }
            (Some(_), true, Unsettable::Reject) => {
                let message =
                    format!("{option}: the format of `{name}` cannot be set, because another query reads `{name}`");
                return Err(CommandFailure::usage_with_hint(message, "write (reformat FORMAT EXPR) in the plan"));
            }
        }
    }
    Ok(plan)
}
