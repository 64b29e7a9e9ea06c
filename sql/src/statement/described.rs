//! `DESCRIBE` of a function that reads a file, such as `DESCRIBE read_csv('data.txt')`.

use super::named_files::FUNCTIONS;

/// Rewrites `DESCRIBE read_csv(..)` at the start of a text to
/// `DESCRIBE SELECT * FROM read_csv(..)`, because the parser expects a name or a query after
/// `DESCRIBE`. `DESC`, and the other functions that read a file, are treated in the same way.
/// Returns `None` for other texts.
pub(crate) fn describe_as_query(text: &str) -> Option<String> {
    let statement = text.trim_start();
    let (word, call) = statement.split_once(char::is_whitespace)?;
    let (function, _) = call.split_once('(')?;
    let is_description = ["DESCRIBE", "DESC"].iter().any(|known| known.eq_ignore_ascii_case(word));
    let is_reader = FUNCTIONS.iter().any(|(known, _)| known.eq_ignore_ascii_case(function.trim()));
    let blanks = &text[..text.len() - statement.len()];
    (is_description && is_reader).then(|| format!("{blanks}{word} SELECT * FROM {call}"))
}
