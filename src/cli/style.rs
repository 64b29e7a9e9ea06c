//! Colours for terminals, unless they are disabled.

use std::io::IsTerminal;

/// Style of a stream, with or without colours.
#[derive(Clone, Copy)]
pub(super) struct TerminalStyle {
    coloured: bool,
}

impl TerminalStyle {
    /// Returns the style of a stream. Colours are enabled if the stream is a terminal, `NO_COLOR`
    /// is unset or empty (<https://no-color.org>), and `TERM` is not `dumb`.
    pub(super) fn of(stream: &impl IsTerminal) -> TerminalStyle {
        let is_disabled = std::env::var_os("NO_COLOR").is_some_and(|v| !v.is_empty());
        let is_dumb = std::env::var_os("TERM").is_some_and(|v| v == "dumb");
        TerminalStyle { coloured: stream.is_terminal() && !is_disabled && !is_dumb }
    }

    pub(super) fn error(self, text: &str) -> String {
        self.paint("1;31", text)
    }

    pub(super) fn hint(self, text: &str) -> String {
        self.paint("1;36", text)
    }

    pub(super) fn title(self, text: &str) -> String {
        self.paint("1", text)
    }

    fn paint(self, code: &str, text: &str) -> String {
        if self.coloured { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_owned() }
    }
}
