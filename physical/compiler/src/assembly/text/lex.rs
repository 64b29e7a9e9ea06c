//! The lexer of the text form.

use crate::Error;
use redpoll_logic::cursor::{TextCursor, TextPosition};

/// A token of the text.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Token {
    /// A name, a keyword, or a constant that is a word, such as `true` or `inf_f32`.
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

/// The punctuation marks and operators. Each mark stands before the marks that are its prefixes, so
/// that the longest mark is found first.
const MARKS: &[&str] = &[
    "..", "<<", ">>", "==", "!=", "<=", "<", "=", "(", ")", "[", "]", "{", "}", ",", ":", "+", "-", "*", "/", "%", "&",
    "|", "^", "#", "$",
];

/// Splits a text into tokens, each with its position.
pub(super) fn lex(text: &str) -> Result<Vec<(Token, TextPosition)>, Error> {
    let mut tokens = vec![];
    let mut cursor = TextCursor::new(text);
    loop {
        cursor.take_while(char::is_whitespace);
        let at = cursor.position();
        let error = |message: String| Error::AssemblyText { at, message };
        let Some(first) = cursor.peek() else {
            tokens.push((Token::End, at));
            return Ok(tokens);
        };
        let token = if first.is_ascii_digit() {
            Token::Number(cursor.take(number_len(cursor.rest())).into())
        } else if is_word(first) {
            Token::Word(cursor.take(word_len(cursor.rest())).into())
        } else if first == '"' {
            let name = cursor.quoted(escape);
            Token::Quoted(name.map_err(|_| error("a quoted name does not end or has a bad escape".into()))?)
        } else if let Some(mark) = MARKS.iter().find(|m| cursor.rest().starts_with(**m)) {
            cursor.take(mark.len());
            Token::Mark(mark)
        } else {
            return Err(error(format!("unexpected character `{first}`")));
        };
        tokens.push((token, at));
    }
}

fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_' || c == '\''
}

/// Returns the length of the word at the start of a text: letters, digits, `_`, `'` and single dots
/// inside, so that `lo..hi` is three tokens.
fn word_len(text: &str) -> usize {
    let bytes = text.as_bytes();
    let word = |at: usize| bytes.get(at).is_some_and(|b| is_word(*b as char));
    let mut at = 0;
    while word(at) || (bytes.get(at) == Some(&b'.') && word(at + 1)) {
        at += 1;
    }
    at
}

/// Returns the length of the number at the start of a text: letters, digits, `_`, `'`, dots before
/// digits, and signs between `e` and a digit. The parser rejects malformed numbers.
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

/// Reads the rest of an escape sequence after its `\`: `n`, `r`, `t`, `0` and `u{..}` have the
/// meaning that they have in Rust, and any other character stands for itself. Returns `None` if the
/// text ends, or if the number of a `u{..}` is not that of a character.
fn escape(cursor: &mut TextCursor<'_>) -> Option<char> {
    Some(match cursor.advance()? {
        'n' => '\n',
        'r' => '\r',
        't' => '\t',
        '0' => '\0',
        'u' => {
            cursor.advance()?;
            let digits = cursor.take_while(|c| c != '}');
            cursor.advance();
            char::from_u32(u32::from_str_radix(digits, 16).ok()?)?
        }
        plain => plain,
    })
}
