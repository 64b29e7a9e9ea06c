//! Nests as text, for the report.

use crate::term::{Fold, ModeCoordinate, Nest, Node, Target, Term};
use redpoll_logic::Field;
use std::fmt;

impl fmt::Display for Nest {
    /// Writes one line per output, inside `(nest ..)` if there are several.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [first, rest @ ..] = &self.outputs[..] else { return Ok(()) };
        if rest.is_empty() {
            return write!(f, "{first}");
        }
        write!(f, "(nest\n  {first}")?;
        rest.iter().try_for_each(|t| write!(f, "\n  {t}"))?;
        f.write_str(")")
    }
}

impl fmt::Display for Target {
    /// Writes `(write NAME (COORDINATES) VALUE)`, with `(fold OP (FIELDS) VALUE)` as the value if
    /// the output folds.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let coordinates: Vec<String> = self.coordinates.iter().map(ModeCoordinate::to_string).collect();
        write!(f, "(write {} ({}) ", self.alias, coordinates.join(" "))?;
        match &self.fold {
            Some((op, fields)) => write!(f, "(fold {op} ({}) {}))", format_fields(fields), self.value),
            None => write!(f, "{})", self.value),
        }
    }
}

impl fmt::Display for ModeCoordinate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ModeCoordinate::Subscript(s) => s.fmt(f),
            ModeCoordinate::Value(t) => write!(f, "(value {t})"),
        }
    }
}

impl fmt::Display for Term {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.node() {
            Node::Literal => self.fill().fmt(f),
            Node::Coordinate(form) => write!(f, "(coordinate {form})"),
            Node::Temporary(name, _) => name.fmt(f),
            Node::Access(read) => {
                write!(f, "(at {}", read.tensor)?;
                read.coordinates.iter().try_for_each(|at| write!(f, " {at}"))?;
                match &read.outside {
                    Some(value) => write!(f, " (outside {value}))"),
                    None => f.write_str(")"),
                }
            }
            Node::Call(op, args) => {
                write!(f, "({op}")?;
                args.iter().try_for_each(|a| write!(f, " {a}"))?;
                f.write_str(")")
            }
            Node::Fold(Fold { op, init, arg, fields, along }) => match along.is_empty() {
                true => write!(f, "(aggregate {op} {init} {arg} {})", format_fields(fields)),
                false => write!(f, "(scan {op} {init} {arg} ({}) {})", format_fields(along), format_fields(fields)),
            },
        }
    }
}

fn format_fields(fields: &[Field]) -> String {
    fields.iter().map(Field::as_str).collect::<Vec<_>>().join(" ")
}
