//! The text form of plans: s-expressions that parse and print back. A text that does not begin with
//! `(` or `;` is read as index notation instead, such as `y(i) = A(i,j) * x(j)`; see
//! `index_notation/mod.rs`.
//!
//! ```text
//! PLAN      := (plan ITEM..)
//! ITEM      := (query NAME EXPR) | (produces NAME..) | PLAN | (define-op ..)
//! EXPR      := NUMBER | true | false | inf | -inf | nan         weak: the context decides the dtype
//!            | (lit DTYPE CONST)                                strong: has DTYPE
//!            | (literal VALUE)                                  strong: has the dtype of VALUE
//!            | (table NAME FIELD..) | NAME                      NAME alone: an earlier query, with its own fields
//!            | (coordinate FIELD)
//!            | (mapjoin OP EXPR..)
//!            | (aggregate OP CONST EXPR FIELD..)
//!            | (scan OP EXPR FIELD)
//!            | (reorder EXPR FIELD..) | (relabel EXPR FIELD..)
//!            | (index MAP.. EXPR)                               the first map is applied first
//!            | (reformat FORMAT EXPR)
//!            | (refill FILL EXPR) | (refill FILL drop EXPR)     the same values, stored with another fill value;
//!                                                               drop: computed fill values are not stored
//! VALUE     := NUMBER | true | false | inf | -inf | nan         bare: i64, u64, f64 or bool
//!            | (lit DTYPE CONST) | (literal VALUE)
//! FILL      := CONST | same                                     same: the fill value of the expression
//! CONST     := VALUE | min | max | (CONST..) | (pair CONST CONST)
//! DTYPE     := bool | i8 .. i64 | u8 .. u64 | f32 | f64 | (struct (NAME DTYPE)..)
//! MAP       := (window FIELD LOW HIGH) | (permissive FIELD LOW HIGH CONST) | (offset FIELD BY CONST)
//!            | (stride FIELD STEP) | (reverse FIELD) | (toeplitz FIELD I J KERNEL)
//!            | (split FIELD OUTER INNER BLOCK [CONST]) | (merge I J FIELD) | (diagonal I J FIELD)
//!            | (map ((FIELD SUBSCRIPT)..) ((FIELD SIZE)..) [CONST])
//! SUBSCRIPT := FORM | (quot FORM BLOCK) | (mod FORM BLOCK)
//! FORM      := FIELD | INTEGER | (parameter INPUT SIZE) | (+ FORM..) | (- FORM FORM) | (* INTEGER FORM)
//! FORMAT    := dense | csr | csc | dcsr | dcsc | coo | csf | dia | ell | vbl | band | rle | bcsr | csb | mode-generic
//!            | (bcsr ROWS COLUMNS) | (csb ROWS COLUMNS) | (mode-generic SIZE..) | LEVELS | (modes MODE.. LEVELS)
//! LEVELS    := (KIND FLAG.. INNER) | (element) | (pattern)
//! INNER     := LEVELS | element | pattern
//! KIND      := dense | sparse-list | singleton | hash | byte-map | bit-map | block-list | band | fixed-width | pinpoint
//!            | run-length | sparse-run-length | interval
//! FLAG      := non-unique | unordered
//! MODE      := INTEGER | (outer INTEGER BLOCK) | (inner INTEGER BLOCK) | (skew INTEGER BY)
//! ```
//! `min` and `max` are the smallest and the largest value of the expected dtype. `(CONST..)` is a
//! struct, with members by position. Names that are not plain words are written as strings. Nested
//! plans are flattened: their queries become queries of the outer plan, and their results are the
//! results of the outer plan if that plan has no `produces`. Forms `(schedule ..)` may follow the
//! plan ([`PlanText::schedules`]). `;` starts a comment.

mod constant;
pub(crate) mod format;
mod index;
mod index_notation;
mod name;
mod operators;
mod parse;
mod print;
#[cfg(test)]
mod tests;

pub use format::{block_shorthands, format_from_sexpr, format_to_sexpr, parse_format, shorthands};
pub use name::{name_to_sexpr, parse_name};
pub use operators::Operators;
pub use parse::{PlanText, free_tables, parse};

pub(crate) use index::{parse_field, parse_subscript, subscript_to_sexpr};

use crate::error::Error;
use crate::field::Alias;
use crate::format::TensorType;
use crate::sexpr::Sexpr;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The types of the inputs that a text may read, by name.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Catalog {
    tables: BTreeMap<Alias, Arc<TensorType>>,
}

impl Catalog {
    /// Adds or replaces an input.
    pub fn insert(&mut self, alias: impl Into<Alias>, ty: impl Into<Arc<TensorType>>) {
        self.tables.insert(alias.into(), ty.into());
    }

    /// Returns the type of an input.
    pub fn get(&self, alias: &str) -> Option<&Arc<TensorType>> {
        self.tables.get(alias)
    }

    /// Iterates over all inputs, by name.
    pub fn iter(&self) -> impl Iterator<Item = (&Alias, &Arc<TensorType>)> {
        self.tables.iter()
    }
}

impl<A: Into<Alias>, T: Into<Arc<TensorType>>> FromIterator<(A, T)> for Catalog {
    fn from_iter<I: IntoIterator<Item = (A, T)>>(tables: I) -> Catalog {
        Catalog { tables: tables.into_iter().map(|(a, t)| (a.into(), t.into())).collect() }
    }
}

/// Returns the error for a form with an unknown head. The error lists the similar heads, or all
/// heads if none is similar. `known` contains pairs of a head and its syntax.
fn unknown_form(form: &Sexpr, kind: &'static str, head: &str, known: &[(&str, &str)]) -> Error {
    let names = || known.iter().map(|(name, _)| *name);
    match Error::unknown(kind, head, names()) {
        Error::Unknown { similar, .. } if similar.is_empty() => {
            form.error(format!("unknown {kind} `{head}`; expected one of {}", names().collect::<Vec<_>>().join(", ")))
        }
        unknown => form.locate(unknown),
    }
}

/// Returns the arguments of a form, if their number matches.
pub(crate) fn form_args<'a, const N: usize>(form: &'a Sexpr, expected: &str) -> Result<&'a [Sexpr; N], Error> {
    let rest = form.as_list().and_then(|items| items.get(1..)).unwrap_or(&[]);
    rest.try_into().map_err(|_| form.error(format!("expected {expected}, found {form}")))
}
