//! Positions of the statements, tensors and transformations of a program in its text, so that
//! errors can be located in the file.

use super::print::label;
use crate::Error;
use crate::notation::{Program, Stmt};
use redpoll_logic::cursor::TextPosition;

/// The statements, tensors and transformations of a text, in the order of the text.
#[derive(Clone, Default, Debug)]
pub struct SourceMap(Vec<SourceEntry>);

#[derive(Clone, Debug)]
struct SourceEntry {
    /// The label, equal to the label in the locations of errors; `None` for a block.
    label: Option<String>,
    /// The number of enclosing statements.
    depth: usize,
    at: TextPosition,
}

impl SourceMap {
    /// Records the position of a statement before its parts are read; [`SourceMap::end`] adds its
    /// label.
    pub(super) fn begin(&mut self, depth: usize, at: TextPosition) -> usize {
        self.0.push(SourceEntry { label: None, depth, at });
        self.0.len() - 1
    }

    pub(super) fn end(&mut self, mark: usize, program: &Program, stmt: &Stmt) {
        self.0[mark].label = label(program, stmt);
    }

    pub(super) fn tensor(&mut self, name: &str, at: TextPosition) {
        self.0.push(SourceEntry { label: Some(format!("tensor {name}")), depth: 0, at });
    }

    pub(super) fn form(&mut self, label: String, at: TextPosition) {
        self.0.push(SourceEntry { label: Some(label), depth: 0, at });
    }

    /// Returns the position of an error's fault in the text; `None` if the position is unknown.
    pub fn position(&self, error: &Error) -> Option<TextPosition> {
        match error {
            Error::ProgramText(redpoll_logic::Error::InText { line, column, .. }) => {
                Some(TextPosition { line: *line, column: *column })
            }
            Error::InvalidProgram { at, what, .. } => self.path(at).or_else(|| self.named(what)),
            Error::DimensionMismatch { index, .. } => self.path(&format!("for {index}")),
            Error::UnknownDimension { what, .. } => self.named(what),
            Error::ProgramStopped { at, .. } => self.path(at.rsplit_once(", ").map_or(at.as_str(), |(_, last)| last)),
            _ => None,
        }
    }

    /// Returns the position of the last statement of a path of labels. If the text does not contain
    /// that statement, returns the position of the deepest enclosing statement that the text
    /// contains.
    fn path(&self, path: &str) -> Option<TextPosition> {
        let mut found: Option<&SourceEntry> = None;
        let mut rest = &self.0[..];
        for label in path.split(" > ") {
            let inside = |m: &SourceEntry| found.is_none_or(|f| m.depth > f.depth);
            let end = rest.iter().position(|m| !inside(m)).unwrap_or(rest.len());
            let Some(at) = rest[..end].iter().position(|m| m.label.as_deref() == Some(label)) else { continue };
            found = Some(&rest[at]);
            rest = &rest[at + 1..];
        }
        found.map(|m| m.at)
    }

    /// Returns the position of the loop or tensor that a message names first in backquotes.
    fn named(&self, what: &str) -> Option<TextPosition> {
        what.split('`').skip(1).step_by(2).find_map(|name| {
            let (index, tensor) = (format!("for {name}"), format!("tensor {name}"));
            let is = |m: &&SourceEntry| m.label.as_ref().is_some_and(|l| *l == index || *l == tensor);
            self.0.iter().find(is).map(|m| m.at)
        })
    }
}
