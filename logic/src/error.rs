//! What can be wrong with an expression, a plan or its text.

use crate::dtype::DType;
use crate::field::{Alias, Field};
use crate::format_check::FormatError;
use crate::op::{Fault, OpError};

/// Why an expression or plan is not accepted, or could not be evaluated: an error of the plan's author, unless a
/// variant says otherwise.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A place in a text, and what is wrong there.
    #[error("line {line}, column {column}: {cause}")]
    At {
        /// The line, from 1.
        line: usize,
        /// The column in characters, from 1.
        column: usize,
        /// What is wrong.
        cause: Box<Error>,
    },
    /// The text is not of the expected form.
    #[error("{0}")]
    Syntax(String),
    /// A name that is not bound.
    #[error("unknown {kind} `{name}`{}", suggestion(.known))]
    Unknown {
        /// Operator, field, table, ...
        kind: &'static str,
        /// The name.
        name: String,
        /// The closest names that are known; may be empty.
        known: Vec<String>,
    },
    /// An operator does not fit its arguments.
    #[error(transparent)]
    Op(#[from] OpError),
    /// An operator faulted where a constant was computed.
    #[error("in {place}: {fault}")]
    Fault {
        /// Where.
        place: String,
        /// The fault.
        fault: Fault,
    },
    /// A field denotes two sizes.
    #[error(
        "field `{field}` has size {} in {} but {} in {}; rename it in one of them, or take a window",
        .left.0, .left.1, .right.0, .right.1
    )]
    Dimensions {
        /// The field.
        field: Field,
        /// A size and the tensors that it comes from.
        left: (u64, String),
        /// The other.
        right: (u64, String),
    },
    /// The size of a field is not known, since just coordinates mention it.
    #[error("the size of field `{field}` is not known in {place}: join with a table that has it")]
    Unsized {
        /// The field.
        field: Field,
        /// Where the size is needed.
        place: String,
    },
    /// A field that an expression does not have.
    #[error("{node} over field `{field}`, but its argument has the fields ({})", list(.fields))]
    NoField {
        /// The node.
        node: &'static str,
        /// The field.
        field: Field,
        /// The fields that there are.
        fields: Vec<Field>,
    },
    /// The fields given do not fit.
    #[error("{node} with fields ({}), expected {expected}", list(.found))]
    Fields {
        /// The node.
        node: &'static str,
        /// The fields given.
        found: Vec<Field>,
        /// What would fit.
        expected: String,
    },
    /// A value that a dtype cannot hold.
    #[error("{what} {value} does not fit dtype {dtype}; {advice}")]
    Value {
        /// What the value is for.
        what: &'static str,
        /// The value.
        value: String,
        /// The dtype.
        dtype: DType,
        /// What to do.
        advice: &'static str,
    },
    /// An operator that cannot fold.
    #[error("operator `{op}` cannot {node} values of dtype {dtype}: {why}")]
    Fold {
        /// The operator.
        op: String,
        /// Fold or scan.
        node: &'static str,
        /// The dtype.
        dtype: DType,
        /// The reason and a way out.
        why: String,
    },
    /// A read that is not known to be in bounds.
    #[error(
        "field `{field}` of size {size} is read at {at}, which ranges over {low}..={high}; give a value for reads outside, or a smaller window"
    )]
    OutOfBounds {
        /// The field.
        field: Field,
        /// Its size.
        size: u64,
        /// The coordinate.
        at: String,
        /// The smallest coordinate.
        low: i64,
        /// The largest coordinate.
        high: i64,
    },
    /// An index map that is not well formed.
    #[error("index map: {0}")]
    Index(String),
    /// A format that makes no sense, or does not fit its tensor.
    #[error(transparent)]
    Format(#[from] FormatError),
    /// A plan that breaks a rule of the verifier.
    #[error("{place}: {what}")]
    Plan {
        /// The query, or the plan.
        place: String,
        /// The rule that is broken.
        what: String,
    },
    /// An input that a plan needs and that was not given, or not as its type says.
    #[error("input `{alias}`: {what}")]
    Input {
        /// The input.
        alias: Alias,
        /// What is wrong.
        what: String,
    },
    /// More than an engine that computes densely can hold.
    #[error("{what} has {places} places, more than the {limit} of the dense interpreter")]
    TooLarge {
        /// What.
        what: String,
        /// Its size.
        places: u128,
        /// The limit.
        limit: u64,
    },
}

impl Error {
    /// The error at a place of a text; a place that is known already is kept, being closer to the cause.
    pub fn at(self, line: usize, column: usize) -> Error {
        match self {
            Error::At { .. } => self,
            cause => Error::At { line, column, cause: Box::new(cause) },
        }
    }

    /// An unknown name, with the known ones that are close to it.
    pub fn unknown<'a>(kind: &'static str, name: &str, known: impl IntoIterator<Item = &'a str>) -> Error {
        let limit = name.chars().count().div_ceil(3).max(1);
        let mut close: Vec<(usize, &str)> = known
            .into_iter()
            .map(|k| (distance(name, k), k))
            .filter(|(d, k)| *d <= limit && *d < k.chars().count().max(2))
            .collect();
        close.sort_unstable();
        close.dedup();
        let known = close.into_iter().take(3).map(|(_, k)| k.to_owned()).collect();
        Error::Unknown { kind, name: name.to_owned(), known }
    }
}

/// Names in a list, separated by blanks.
fn list(fields: &[Field]) -> String {
    fields.iter().map(Field::as_str).collect::<Vec<_>>().join(" ")
}

fn suggestion(known: &[String]) -> String {
    match known {
        [] => String::new(),
        _ => format!("; did you mean {}?", known.iter().map(|k| format!("`{k}`")).collect::<Vec<_>>().join(" or ")),
    }
}

/// The edit distance (Levenshtein) of two names.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let substituted = diagonal + usize::from(x != *y);
            diagonal = row[j + 1];
            row[j + 1] = substituted.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}
