//! Where the statements of a program stand in its text, so that what is said of a program can be found in its file.

use super::print::label;
use crate::Error;
use crate::notation::{Program, Stmt};
use redpoll_logic::sexpr::Position;

/// The statements and tensors of a text, in its order.
#[derive(Clone, Default, Debug)]
pub struct Marks(Vec<Mark>);

#[derive(Clone, Debug)]
struct Mark {
    /// As in the locations of errors; `None` of a block.
    label: Option<String>,
    /// How many statements are around.
    depth: usize,
    at: Position,
}

impl Marks {
    /// Takes note of a statement that begins here; [`Marks::end`] says which it was.
    pub(super) fn begin(&mut self, depth: usize, at: Position) -> usize {
        self.0.push(Mark { label: None, depth, at });
        self.0.len() - 1
    }

    pub(super) fn end(&mut self, mark: usize, program: &Program, stmt: &Stmt) {
        self.0[mark].label = label(program, stmt);
    }

    pub(super) fn tensor(&mut self, name: &str, at: Position) {
        self.0.push(Mark { label: Some(format!("tensor {name}")), depth: 0, at });
    }

    pub(super) fn form(&mut self, label: String, at: Position) {
        self.0.push(Mark { label: Some(label), depth: 0, at });
    }

    /// Where in the text the fault lies that an error tells of.
    pub fn position(&self, error: &Error) -> Option<Position> {
        match error {
            Error::ProgramText(redpoll_logic::Error::At { line, column, .. }) => {
                Some(Position { line: *line, column: *column })
            }
            Error::InvalidProgram { at, what, .. } => self.path(at).or_else(|| self.named(what)),
            Error::DimensionMismatch { index, .. } => self.path(&format!("for {index}")),
            Error::UnknownDimension { what, .. } => self.named(what),
            Error::ProgramStopped { at, .. } => self.path(at.rsplit_once(", ").map_or(at.as_str(), |(_, last)| last)),
            _ => None,
        }
    }

    /// The statement at the end of a path of labels, or the deepest one around it that the text has.
    fn path(&self, path: &str) -> Option<Position> {
        let mut found: Option<&Mark> = None;
        let mut rest = &self.0[..];
        for label in path.split(" > ") {
            let inside = |m: &Mark| found.is_none_or(|f| m.depth > f.depth);
            let end = rest.iter().position(|m| !inside(m)).unwrap_or(rest.len());
            let Some(at) = rest[..end].iter().position(|m| m.label.as_deref() == Some(label)) else { continue };
            found = Some(&rest[at]);
            rest = &rest[at + 1..];
        }
        found.map(|m| m.at)
    }

    /// The loop or tensor whose name stands in backquotes.
    fn named(&self, what: &str) -> Option<Position> {
        what.split('`').skip(1).step_by(2).find_map(|name| {
            let (index, tensor) = (format!("for {name}"), format!("tensor {name}"));
            let is = |m: &&Mark| m.label.as_ref().is_some_and(|l| *l == index || *l == tensor);
            self.0.iter().find(is).map(|m| m.at)
        })
    }
}
