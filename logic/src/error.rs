//! Errors in expressions, plans and their text, and [`plural`] for messages.

use crate::dtype::DType;
use crate::field::{Alias, Field};
use crate::format_check::FormatError;
use crate::op::{Fault, OpError};

/// The reason why an expression or plan is rejected, or could not be evaluated. The author of the
/// plan or the caller that gives the inputs is at fault.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// An error at a position in a text.
    #[error("line {line}, column {column}: {cause}")]
    InText {
        /// Line, from 1.
        line: usize,
        /// Column in characters, from 1.
        column: usize,
        /// The error.
        cause: Box<Error>,
    },
    /// A text that does not have the expected form.
    #[error("{0}")]
    Syntax(String),
    /// A name that is not bound.
    #[error("unknown {kind} `{name}`{}", suggestion(.similar))]
    Unknown {
        /// Kind of the name: operator, field, table, ...
        kind: &'static str,
        /// The name.
        name: String,
        /// Up to three known names that are similar to the name; may be empty.
        similar: Vec<String>,
    },
    /// An operator that does not fit its arguments, has an invalid definition, or faulted.
    #[error(transparent)]
    Op(#[from] OpError),
    /// An operator that faulted on fill values, or in the reference interpreter.
    #[error("in {location}: {fault}")]
    Fault {
        /// Description of the location.
        location: String,
        /// The fault.
        fault: Fault,
    },
    /// A node or value without a derivative.
    #[error("no derivative of {name}: {reason}")]
    NoDerivative {
        /// Name of the node, operator or tensor.
        name: String,
        /// The reason.
        reason: String,
    },
    /// A field with two different sizes.
    #[error(
        "field `{field}` has size {} in {} but {} in {}; rename it in one of them, or take a window",
        .first.0, .first.1, .second.0, .second.1
    )]
    Dimensions {
        /// The field.
        field: Field,
        /// One size and the tensors that have it.
        first: (u64, String),
        /// The other size and its tensors.
        second: (u64, String),
    },
    /// A field whose size is unknown, because only coordinates mention it.
    #[error("the size of field `{field}` is unknown in {location}; join with a table that has the field")]
    UnknownSize {
        /// The field.
        field: Field,
        /// Location where the size is needed.
        location: String,
    },
    /// A field that the argument of a node does not have.
    #[error("{node} over field `{field}`, but its argument has the fields ({})", list(.fields))]
    MissingField {
        /// Name of the node.
        node: &'static str,
        /// The field.
        field: Field,
        /// Fields of the argument.
        fields: Vec<Field>,
    },
    /// A list of fields that does not fit a node.
    #[error("{node} has the fields ({}), expected {expected}", list(.found))]
    Fields {
        /// Name of the node.
        node: &'static str,
        /// Given fields.
        found: Vec<Field>,
        /// Description of the expected fields.
        expected: String,
    },
    /// A value that a dtype cannot represent.
    #[error("{role} {value} does not fit dtype {dtype}; {advice}")]
    Value {
        /// Role of the value.
        role: &'static str,
        /// The value.
        value: String,
        /// The dtype.
        dtype: DType,
        /// Advice to the author.
        advice: &'static str,
    },
    /// An operator that cannot fold values.
    #[error("operator `{op}` cannot {node} values of dtype {dtype}: {reason}")]
    Fold {
        /// The operator.
        op: String,
        /// Verb of the node: fold, aggregate or scan.
        node: &'static str,
        /// Dtype of the values.
        dtype: DType,
        /// The reason, with advice to the author if there is any.
        reason: String,
    },
    /// A read that may be out of bounds.
    #[error(
        "field `{field}` of size {size} is read at {subscript}, which ranges over {low}..={high}; \
         give a value for reads out of bounds, or a smaller window"
    )]
    OutOfBounds {
        /// The field.
        field: Field,
        /// Size of the field.
        size: u64,
        /// Subscript of the read.
        subscript: String,
        /// Smallest coordinate.
        low: i64,
        /// Largest coordinate.
        high: i64,
    },
    /// An index map that is not well-formed.
    #[error("index map: {0}")]
    Index(String),
    /// A format that is invalid, or does not fit its tensor.
    #[error(transparent)]
    Format(#[from] FormatError),
    /// A plan that breaks a rule of the verifier.
    #[error("{location}: {problem}")]
    Plan {
        /// The query, or the plan.
        location: String,
        /// Description of the broken rule.
        problem: String,
    },
    /// An input of a plan that is missing, does not match its type or the range of its parameter,
    /// or has a mode whose size exceeds `i64::MAX`.
    #[error("input `{alias}`: {problem}")]
    Input {
        /// The input.
        alias: Alias,
        /// Description of the problem.
        problem: String,
    },
    /// A tensor, or the extent of a fold, that is too large for the dense interpreter.
    #[error("{tensor} has {entries} entries, above the limit of the dense interpreter, {limit}")]
    TooLarge {
        /// Description of the tensor.
        tensor: String,
        /// Number of its entries.
        entries: u128,
        /// The limit.
        limit: u64,
    },
}

impl Error {
    /// Adds a position in a text to the error. An error that already has a position keeps that
    /// position, which is closer to the cause.
    pub fn with_position(self, line: usize, column: usize) -> Error {
        match self {
            Error::InText { .. } => self,
            cause => Error::InText { line, column, cause: Box::new(cause) },
        }
    }

    /// Creates the error for an unknown name, with up to three known names that are similar to it.
    /// If some known names differ from the name only in upper and lower case, only they are
    /// suggested. A word is never suggested for a symbol such as `+`, nor a symbol for a word.
    pub fn unknown<'a>(kind: &'static str, name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Error {
        let limit = name.chars().count().div_ceil(3).max(1);
        let steps = |k: &str| if k.eq_ignore_ascii_case(name) { 0 } else { strsim::osa_distance(name, k) };
        let is_word = |text: &str| text.starts_with(|c: char| c.is_alphanumeric() || c == '_');
        let mut similar: Vec<(usize, &str)> = candidates
            .into_iter()
            .filter(|k| is_word(k) == is_word(name))
            .map(|k| (steps(k), k))
            .filter(|(d, k)| *d <= limit && *d < k.chars().count().max(2))
            .collect();
        similar.sort_unstable();
        similar.dedup();
        if similar.iter().any(|(d, _)| *d == 0) {
            similar.retain(|(d, _)| *d == 0);
        }
        let similar = similar.into_iter().take(3).map(|(_, k)| k.to_owned()).collect();
        Error::Unknown { kind, name: name.to_owned(), similar }
    }
}

/// Joins names with spaces.
fn list(fields: &[Field]) -> String {
    fields.iter().map(Field::as_str).collect::<Vec<_>>().join(" ")
}

fn suggestion(similar: &[String]) -> String {
    let names: Vec<String> = similar.iter().map(|name| format!("`{name}`")).collect();
    match &names[..] {
        [] => String::new(),
        [name] => format!("; did you mean {name}?"),
        [others @ .., last] => format!("; did you mean {} or {last}?", others.join(", ")),
    }
}

/// Returns the word for a count: `one` for 1, `many` for other counts.
pub fn plural(count: u64, one: &'static str, many: &'static str) -> &'static str {
    if count == 1 { one } else { many }
}
