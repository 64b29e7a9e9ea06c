//! Names in text: words, or strings if they are not plain words.

use crate::error::Error;
use crate::literal::read_bare;
use crate::sexpr::{Sexpr, SexprKind};

/// Reads a name: a string, or a word that is not a number or constant.
///
/// # Errors
/// Returns the error `expected .., found ..` if the expression is no name.
pub fn parse_name<'a>(s: &'a Sexpr, expected: &str) -> Result<&'a str, Error> {
    match &s.kind {
        SexprKind::Text(text) => Ok(text),
        SexprKind::Atom(word) if read_bare(word).is_none() => Ok(word),
        _ => Err(s.error(format!("expected {expected}, found {s}"))),
    }
}

/// Writes a name: as a word, or as a string if it is not a plain word.
pub fn name_to_sexpr(name: &str) -> Sexpr {
    let plain = !name.is_empty()
        && !name.contains(|c: char| c.is_whitespace() || matches!(c, '(' | ')' | '"' | ';'))
        && read_bare(name).is_none();
    if plain { Sexpr::atom(name) } else { Sexpr::text(name) }
}
