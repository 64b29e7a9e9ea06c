//! S-expressions with source positions: the syntax of plans, physical plans, operators and
//! Notation. Index notation and Assembly have syntaxes of their own.
//!
//! An atom is a sequence of characters other than whitespace, parentheses, quotes and semicolons;
//! `"..."` is a string with the escapes `\\`, `\"` and `\n`; `;` starts a comment that ends at the
//! end of the line.

use crate::cursor::{QuoteFault, TextCursor, TextPosition};
use crate::error::Error;
use std::fmt;

/// Maximal depth of nested lists in a text, so that no reader overflows the stack.
const MAX_DEPTH: usize = 512;

/// An s-expression and its position.
#[derive(Clone, Debug)]
pub struct Sexpr {
    /// Position of the first character.
    pub position: TextPosition,
    /// The atom, string or list.
    pub kind: SexprKind,
}

/// The content of an s-expression.
#[derive(Clone, PartialEq, Debug)]
pub enum SexprKind {
    /// A word or number.
    Atom(String),
    /// A quoted string.
    Text(String),
    /// A list.
    List(Vec<Sexpr>),
}

impl PartialEq for Sexpr {
    /// Compares contents and ignores positions.
    fn eq(&self, other: &Sexpr) -> bool {
        self.kind == other.kind
    }
}

impl Sexpr {
    /// Creates an atom.
    pub fn atom(word: impl Into<String>) -> Sexpr {
        Sexpr { position: TextPosition::default(), kind: SexprKind::Atom(word.into()) }
    }

    /// Creates a string.
    pub fn text(text: impl Into<String>) -> Sexpr {
        Sexpr { position: TextPosition::default(), kind: SexprKind::Text(text.into()) }
    }

    /// Creates a list.
    pub fn list(items: impl IntoIterator<Item = Sexpr>) -> Sexpr {
        Sexpr { position: TextPosition::default(), kind: SexprKind::List(items.into_iter().collect()) }
    }

    /// Creates a list that starts with a word.
    pub fn form(head: &str, items: impl IntoIterator<Item = Sexpr>) -> Sexpr {
        Sexpr::list(std::iter::once(Sexpr::atom(head)).chain(items))
    }

    /// Returns the word of an atom.
    pub fn as_atom(&self) -> Option<&str> {
        match &self.kind {
            SexprKind::Atom(word) => Some(word),
            _ => None,
        }
    }

    /// Returns the items of a list.
    pub fn as_list(&self) -> Option<&[Sexpr]> {
        match &self.kind {
            SexprKind::List(items) => Some(items),
            _ => None,
        }
    }

    /// Returns the first word and the other items of a list that starts with a word.
    pub fn as_form(&self) -> Option<(&str, &[Sexpr])> {
        let (head, rest) = self.as_list()?.split_first()?;
        Some((head.as_atom()?, rest))
    }

    /// Returns the word of an atom.
    ///
    /// # Errors
    /// Returns the error `expected .., found ..` if the expression is no atom.
    pub fn word(&self, expected: &str) -> Result<&str, Error> {
        self.as_atom().ok_or_else(|| self.error(format!("expected {expected}, found {self}")))
    }

    /// Returns the items of a list.
    ///
    /// # Errors
    /// Returns the error `expected .., found ..` if the expression is no list.
    pub fn items(&self, expected: &str) -> Result<&[Sexpr], Error> {
        self.as_list().ok_or_else(|| self.error(format!("expected {expected}, found {self}")))
    }

    /// Parses the number in an atom.
    ///
    /// # Errors
    /// Returns the error `expected .., found ..` if the expression is not a number of type `T`.
    pub fn number<T: std::str::FromStr>(&self, expected: &str) -> Result<T, Error> {
        self.word(expected)?.parse().map_err(|_| self.error(format!("expected {expected}, found {self}")))
    }

    /// Creates a syntax error at the position of this expression.
    pub fn error(&self, message: impl Into<String>) -> Error {
        self.locate(Error::Syntax(message.into()))
    }

    /// Adds the position of this expression to an error that has no position. An expression that
    /// was not read from a text has no position to add.
    pub fn locate(&self, error: Error) -> Error {
        if self.position.line == 0 { error } else { error.with_position(self.position.line, self.position.column) }
    }

    /// Formats the expression over several lines. If a list does not fit on one line, each item is
    /// on an indented line of its own, except the words and strings directly after the head.
    pub fn pretty(&self) -> String {
        let mut out = String::new();
        self.write_pretty(0, &mut out);
        out
    }

    fn write_pretty(&self, indent: usize, out: &mut String) {
        const WIDTH: usize = 100;
        let flat = self.to_string();
        let items = match &self.kind {
            SexprKind::List(items) if indent + flat.len() > WIDTH && items.len() > 1 => items,
            _ => return out.push_str(&flat),
        };
        out.push('(');
        let mut flat_prefix = true;
        for (k, item) in items.iter().enumerate() {
            // Items before the first list stay on the line of the head.
            flat_prefix &= k == 0 || item.as_list().is_none();
            if k > 0 && flat_prefix {
                out.push(' ');
            } else if k > 0 {
                out.push('\n');
                out.extend(std::iter::repeat_n(' ', indent + 2));
            }
            item.write_pretty(indent + 2, out);
        }
        out.push(')');
    }
}

impl fmt::Display for Sexpr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.kind {
            SexprKind::Atom(word) => f.write_str(word),
            SexprKind::Text(text) => {
                write!(f, "\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n"))
            }
            SexprKind::List(items) => {
                f.write_str("(")?;
                for (k, item) in items.iter().enumerate() {
                    if k > 0 {
                        f.write_str(" ")?;
                    }
                    item.fmt(f)?;
                }
                f.write_str(")")
            }
        }
    }
}

/// The byte order mark that some editors write at the start of UTF-8 text.
const BYTE_ORDER_MARK: char = '\u{feff}';

/// Strips a leading byte order mark.
pub fn strip_byte_order_mark(text: &str) -> &str {
    text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(text)
}

/// A list whose end is not read yet.
struct OpenList {
    /// Position of the opening parenthesis.
    start: TextPosition,
    /// `true` if the parenthesis is the first token on its line.
    starts_line: bool,
    /// The items so far.
    items: Vec<Sexpr>,
}

/// Reads all s-expressions of a text.
///
/// # Errors
/// Returns an error for an unbalanced parenthesis, a malformed string, or lists nested too deeply.
pub fn read(text: &str) -> Result<Vec<Sexpr>, Error> {
    // The open lists, outermost first.
    let mut open: Vec<OpenList> = Vec::new();
    let mut done: Vec<Sexpr> = Vec::new();
    // The line of the last item or parenthesis.
    let mut last_line = 0;
    // The start of an open list, and the number of the first later line that begins with `(` at the
    // column of the list or left of this column. The `)` of the list is probably missing before
    // that line.
    let mut unindented: Option<(TextPosition, usize)> = None;
    let mut cursor = TextCursor::new(strip_byte_order_mark(text));
    while let Some(c) = cursor.peek() {
        let position = cursor.position();
        let item = match c {
            _ if c.is_whitespace() => {
                cursor.advance();
                continue;
            }
            ';' => {
                cursor.take_while(|c| c != '\n');
                continue;
            }
            '(' => {
                cursor.advance();
                let starts_line = last_line < position.line;
                last_line = position.line;
                let outer = open.iter().rev().find(|list| list.starts_line).filter(|_| starts_line);
                if let Some(outer) = outer.filter(|outer| position.column <= outer.start.column) {
                    unindented.get_or_insert((outer.start, position.line));
                }
                open.push(OpenList { start: position, starts_line, items: Vec::new() });
                if open.len() > MAX_DEPTH {
                    return Err(syntax_error(position, format!("more than {MAX_DEPTH} nested lists")));
                }
                continue;
            }
            ')' => {
                cursor.advance();
                let Some(OpenList { start, items, .. }) = open.pop() else {
                    return Err(syntax_error(position, "`)` closes no list".to_owned()));
                };
                Sexpr { position: start, kind: SexprKind::List(items) }
            }
            '"' => Sexpr { position, kind: SexprKind::Text(read_string(&mut cursor)?) },
            _ => {
                let word = cursor.take_while(|c| !c.is_whitespace() && !matches!(c, '(' | ')' | '"' | ';'));
                Sexpr { position, kind: SexprKind::Atom(word.to_owned()) }
            }
        };
        last_line = cursor.position().line;
        open.last_mut().map_or(&mut done, |list| &mut list.items).push(item);
    }
    match (open.last(), unindented) {
        (None, _) => Ok(done),
        (_, Some((start, line))) => {
            Err(syntax_error(start, format!("`(` is not closed; write `)` before line {line}")))
        }
        (Some(list), None) => {
            Err(syntax_error(list.start, "`(` is not closed; write `)` after its last item".to_owned()))
        }
    }
}

/// Reads a text that is a single s-expression.
///
/// # Errors
/// Returns the errors of [`read`], and an error if there is no expression or more than one.
pub fn read_one(text: &str) -> Result<Sexpr, Error> {
    let (first, _) = read_with_rest(text, |_| false)?;
    Ok(first)
}

/// Reads an s-expression and the expressions after it; `follows` says which of these are allowed.
///
/// # Errors
/// Returns the errors of [`read`], and an error if there is no expression, or if `follows` rejects
/// an expression after the first.
pub(crate) fn read_with_rest(text: &str, follows: impl Fn(&Sexpr) -> bool) -> Result<(Sexpr, Vec<Sexpr>), Error> {
    let mut all = read(text)?.into_iter();
    let first = all.next().ok_or_else(|| Error::Syntax("the text is empty, or has only comments".to_owned()))?;
    let rest: Vec<Sexpr> = all.collect();
    match rest.iter().find(|other| !follows(other)) {
        Some(other) => Err(other.error(format!("expected the end of the text, found {other}"))),
        None => Ok((first, rest)),
    }
}

/// Reads a string, from its opening quote.
fn read_string(cursor: &mut TextCursor<'_>) -> Result<String, Error> {
    let start = cursor.position();
    let escape = |cursor: &mut TextCursor<'_>| match cursor.advance()? {
        'n' => Some('\n'),
        c @ ('\\' | '"') => Some(c),
        _ => None,
    };
    let message = |fault| match fault {
        QuoteFault::Open => "a string is not closed",
        QuoteFault::Escape => "a `\\` in a string must be followed by `\\`, `\"` or `n`",
    };
    cursor.quoted(escape).map_err(|fault| syntax_error(start, message(fault).to_owned()))
}

fn syntax_error(position: TextPosition, message: String) -> Error {
    Error::Syntax(message).with_position(position.line, position.column)
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};

    #[expect(clippy::needless_pass_by_value, reason = "an inline snapshot is written where it is passed")]
    fn check(text: &str, expected: Expect) {
        expected.assert_eq(&match read(text) {
            Ok(all) => all.iter().map(Sexpr::to_string).collect::<Vec<_>>().join("\n"),
            Err(e) => format!("error: {e}"),
        });
    }

    #[test]
    fn reads_and_prints() {
        check(
            "(a (b -1.5)\n ; comment (\n \"x \\\" y\") c",
            expect![[r#"
            (a (b -1.5) "x \" y")
            c"#]],
        );
        check("(a\n  (b c", expect!["error: line 2, column 3: `(` is not closed; write `)` after its last item"]);
        check(
            "(a\n  (b (c)\n  (d (e))\n  (f))",
            expect!["error: line 2, column 3: `(` is not closed; write `)` before line 3"],
        );
        check("a)", expect!["error: line 1, column 2: `)` closes no list"]);
        check("\n \"abc", expect!["error: line 2, column 2: a string is not closed"]);
        assert!(read(&"(".repeat(100_000)).is_err());
    }

    #[test]
    fn pretty_reads_back() {
        let text = format!("(plan (query C {}) (produces C))", "(mapjoin + (table A i j) (table B i j)) ".repeat(5));
        let one = read_one(&text).unwrap();
        assert_eq!(read_one(&one.pretty()).unwrap(), one);
        assert!(one.pretty().lines().count() > 5);
    }
}
