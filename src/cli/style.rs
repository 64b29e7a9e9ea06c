//! Colours for terminals, unless they are disabled.

use std::io::IsTerminal;

/// Style of a stream, with or without colours.
#[derive(Clone, Copy)]
pub(super) struct Style {
    coloured: bool,
}

impl Style {
    /// Enables colours if the stream is a terminal and `NO_COLOR` is unset or empty
    /// (<https://no-color.org>).
    pub(super) fn of(stream: &impl IsTerminal) -> Style {
        let refused = std::env::var_os("NO_COLOR").is_some_and(|v| !v.is_empty());
        let dumb = std::env::var_os("TERM").is_some_and(|v| v == "dumb");
        Style { coloured: stream.is_terminal() && !refused && !dumb }
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
