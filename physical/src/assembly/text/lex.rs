//! The lexer of the text form.

use crate::Error;

/// A token of the text.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Token {
    /// A name or keyword.
    Word(String),
    /// A name in quotes, unescaped.
    Quoted(String),
    /// The text of a number, optionally with a type after `_`: `1.5e3`, `3_u32`.
    Number(String),
    /// A punctuation mark or operator.
    Mark(&'static str),
    /// The end of the text.
    End,
}

/// Marks, the longer ones before their prefixes.
const MARKS: &[&str] = &[
    "..", "<<", ">>", "==", "!=", "<=", "<", "=", "(", ")", "[", "]", "{", "}", ",", ":", "+", "-", "*", "/", "%", "&",
    "|", "^", "#", "$",
];

/// Splits a text into tokens, each with its line, from 1.
pub(super) fn lex(text: &str) -> Result<Vec<(Token, usize)>, Error> {
    let mut tokens = vec![];
    let mut line = 1;
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let error = |message: String| Error::AssemblyText { line, message };
        let len = if first == '\n' {
            line += 1;
            1
        } else if first.is_whitespace() {
            first.len_utf8()
        } else if first.is_ascii_digit() {
            let len = number_len(rest);
            tokens.push((Token::Number(rest[..len].into()), line));
            len
        } else if is_word(first) {
            let len = word_len(rest);
            tokens.push((Token::Word(rest[..len].into()), line));
            len
        } else if first == '"' {
            let (name, len) =
                quoted(rest).ok_or_else(|| error("a quoted name does not end or has a bad escape".into()))?;
            tokens.push((Token::Quoted(name), line));
            len
        } else if let Some(mark) = MARKS.iter().find(|m| rest.starts_with(**m)) {
            tokens.push((Token::Mark(mark), line));
            mark.len()
        } else {
            return Err(error(format!("unexpected character `{first}`")));
        };
        rest = &rest[len..];
    }
    tokens.push((Token::End, line));
    Ok(tokens)
}

fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_' || c == '\''
}

/// Returns the length of letters and digits with single dots inside, so that `lo..hi` is three
/// tokens.
fn word_len(text: &str) -> usize {
    let bytes = text.as_bytes();
    let word = |at: usize| bytes.get(at).is_some_and(|b| is_word(*b as char));
    let mut at = 0;
    while word(at) || (bytes.get(at) == Some(&b'.') && word(at + 1)) {
        at += 1;
    }
    at
}

/// Returns the length of digits with a fraction, an exponent with a sign, and a type after `_`.
fn number_len(text: &str) -> usize {
    let bytes = text.as_bytes();
    let digit = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_digit);
    let mut at = 0;
    while bytes.get(at).is_some_and(|b| is_word(*b as char))
        || (bytes.get(at) == Some(&b'.') && digit(at + 1))
        || (matches!(bytes.get(at), Some(b'-' | b'+')) && bytes[at - 1] == b'e' && digit(at + 1))
    {
        at += 1;
    }
    at
}

/// Reads a name with the quotes and escapes of Rust; returns it with the length of its text.
fn quoted(text: &str) -> Option<(String, usize)> {
    let mut name = String::new();
    let mut chars = text.char_indices().skip(1);
    while let Some((at, c)) = chars.next() {
        match c {
            '"' => return Some((name, at + 1)),
            '\\' => match chars.next()?.1 {
                'n' => name.push('\n'),
                'r' => name.push('\r'),
                't' => name.push('\t'),
                '0' => name.push('\0'),
                'u' => {
                    let digits: String = chars.by_ref().map(|(_, c)| c).skip(1).take_while(|c| *c != '}').collect();
                    name.push(char::from_u32(u32::from_str_radix(&digits, 16).ok()?)?);
                }
                plain => name.push(plain),
            },
            _ => name.push(c),
        }
    }
    None
}
