//! The text cursor of the parsers, which tracks lines and columns.

/// A position in a text.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct TextPosition {
    /// Line, from 1; 0 if the position is not in a text.
    pub line: usize,
    /// Column in characters, from 1; 0 if the position is not in a text.
    pub column: usize,
}

/// A cursor that reads a text from its start to its end.
#[derive(Clone, Debug)]
pub struct TextCursor<'t> {
    rest: &'t str,
    position: TextPosition,
}

/// The fault of a quoted string.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum QuoteFault {
    /// A missing closing quote.
    Open,
    /// A `\` without a valid escape after it.
    Escape,
}

impl<'t> TextCursor<'t> {
    /// Returns a cursor at the start of a text.
    pub fn new(text: &'t str) -> TextCursor<'t> {
        TextCursor { rest: text, position: TextPosition { line: 1, column: 1 } }
    }

    /// Returns the position of the next character.
    pub fn position(&self) -> TextPosition {
        self.position
    }

    /// Returns the text that is left.
    pub fn rest(&self) -> &'t str {
        self.rest
    }

    /// Returns the next character; `None` at the end.
    pub fn peek(&self) -> Option<char> {
        self.rest.chars().next()
    }

    /// Reads a character; `None` at the end.
    pub fn advance(&mut self) -> Option<char> {
        let c = self.peek()?;
        self.rest = &self.rest[c.len_utf8()..];
        self.position = match c {
            '\n' => TextPosition { line: self.position.line + 1, column: 1 },
            _ => TextPosition { column: self.position.column + 1, ..self.position },
        };
        Some(c)
    }

    /// Reads the next `len` bytes, which must end at a character boundary.
    pub fn take(&mut self, len: usize) -> &'t str {
        let (taken, rest) = self.rest.split_at(len);
        self.rest = rest;
        let last_line = match taken.rfind('\n') {
            Some(end) => {
                self.position.line += taken.matches('\n').count();
                self.position.column = 1;
                &taken[end + 1..]
            }
            None => taken,
        };
        self.position.column += last_line.chars().count();
        taken
    }

    /// Reads characters as long as they pass a test.
    pub fn take_while(&mut self, test: impl Fn(char) -> bool) -> &'t str {
        self.take(self.rest.find(|c| !test(c)).unwrap_or(self.rest.len()))
    }

    /// Reads a string in quotes; the next character is the opening quote. `escape` reads the text
    /// after a `\` and returns the character that the escape stands for, or `None` if the escape is
    /// invalid.
    ///
    /// # Errors
    /// Returns the fault if the string has no closing quote or an invalid escape.
    pub fn quoted(&mut self, escape: impl Fn(&mut TextCursor<'t>) -> Option<char>) -> Result<String, QuoteFault> {
        self.advance();
        let mut text = String::new();
        loop {
            match self.advance().ok_or(QuoteFault::Open)? {
                '"' => return Ok(text),
                '\\' => text.push(escape(self).ok_or(QuoteFault::Escape)?),
                c => text.push(c),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_count_lines_and_characters() {
        let mut cursor = TextCursor::new("äb\n  \"x\\n\"!");
        assert_eq!(cursor.take_while(char::is_alphabetic), "äb");
        assert_eq!(cursor.position(), TextPosition { line: 1, column: 3 });
        assert_eq!(cursor.take_while(char::is_whitespace), "\n  ");
        assert_eq!(cursor.position(), TextPosition { line: 2, column: 3 });
        let newline = |c: &mut TextCursor<'_>| c.advance().filter(|c| *c == 'n').map(|_| '\n');
        assert_eq!(cursor.clone().quoted(newline), Ok("x\n".to_owned()));
        assert_eq!(cursor.clone().quoted(|_| None), Err(QuoteFault::Escape));
        assert_eq!(TextCursor::new("\"x").quoted(newline), Err(QuoteFault::Open));
        assert_eq!(cursor.quoted(newline).map(|_| cursor.rest()), Ok("!"));
        assert_eq!((cursor.advance(), cursor.advance(), cursor.peek()), (Some('!'), None, None));
    }
}
