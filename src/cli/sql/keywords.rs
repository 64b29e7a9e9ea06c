//! The keywords of SQL that are completed, and hints on misspelled and missing keywords.

use crate::logic;
use crate::sql::datafusion::sql::sqlparser::dialect::GenericDialect;
use crate::sql::datafusion::sql::sqlparser::keywords::Keyword;
use crate::sql::datafusion::sql::sqlparser::tokenizer::{Location, Token, Tokenizer};

/// The keywords that are completed.
pub(super) const KEYWORDS: [&str; 53] = [
    "ALL",
    "ANALYZE",
    "AND",
    "AS",
    "ASC",
    "AVG",
    "BETWEEN",
    "BY",
    "CASE",
    "CAST",
    "COALESCE",
    "COPY",
    "COUNT",
    "CREATE",
    "CROSS",
    "DESC",
    "DESCRIBE",
    "DISTINCT",
    "DROP",
    "ELSE",
    "END",
    "EXISTS",
    "EXPLAIN",
    "EXTERNAL",
    "FILTER",
    "FROM",
    "FULL",
    "GROUP",
    "HAVING",
    "IN",
    "INNER",
    "INSERT",
    "IS",
    "JOIN",
    "LEFT",
    "LIKE",
    "LIMIT",
    "LOCATION",
    "NOT",
    "NULL",
    "OFFSET",
    "ORDER",
    "RIGHT",
    "SELECT",
    "SUMMARIZE",
    "TABLE",
    "THEN",
    "UNION",
    "USING",
    "VALUES",
    "WHEN",
    "WHERE",
    "WITH",
];

/// Returns a hint on a syntax error. If the text begins with `FROM` and the error is at `WHERE`,
/// the hint is on the missing `SELECT`. Otherwise the hint is on a misspelled keyword at the
/// position of the error, or one token before the position. In `FROM t WERE x`, the parser accepts
/// `WERE` as an alias of `t`, so the error is at `x`.
pub(super) fn keyword_hint(text: &str, message: &str) -> Option<String> {
    let position = error_position(message)?;
    if message.contains("found: WHERE") && text.trim_start().to_uppercase().starts_with("FROM") {
        return Some("a query that begins with `FROM` needs a `SELECT`: `FROM t SELECT * WHERE ..`".to_owned());
    }
    let tokens = Tokenizer::new(&GenericDialect, text).tokenize_with_location().ok()?;
    let before = tokens.iter().filter(|token| token.span.start <= position);
    let tokens = before.filter(|token| !matches!(token.token, Token::Whitespace(_)));
    let tokens: Vec<&Token> = tokens.map(|token| &token.token).collect();
    tokens.into_iter().rev().take(2).find_map(|token| match token {
        Token::Word(word) if word.keyword == Keyword::NoKeyword && word.quote_style.is_none() => {
            let keyword = similar_keyword(&word.value)?;
            Some(format!("did you mean `{keyword}` in place of `{}`?", word.value))
        }
        _ => None,
    })
}

/// Returns the position in the message of a syntax error, which ends with `at Line: 1, Column: 10`.
fn error_position(message: &str) -> Option<Location> {
    let (_, position) = message.rsplit_once("at Line: ")?;
    let (line, column) = position.split_once(", Column: ")?;
    Some(Location { line: line.parse().ok()?, column: column.parse().ok()? })
}

/// Returns the keyword that is most similar to a word. Words of fewer than three bytes have no
/// similar keyword.
fn similar_keyword(word: &str) -> Option<String> {
    let unknown = logic::Error::unknown("keyword", &word.to_uppercase(), KEYWORDS);
    match unknown {
        logic::Error::Unknown { similar, .. } if word.len() > 2 => similar.into_iter().next(),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Asserts the hints on misspelled keywords at and before the position of an error.
    #[test]
    fn misspelled_keywords_are_corrected() {
        for (text, found, expected) in [
            ("SELECT * FORM t", "FORM at Line: 1, Column: 10", Some("did you mean `FROM` in place of `FORM`?")),
            ("SELECT a FROM t\nwere x", "x at Line: 2, Column: 6", Some("did you mean `WHERE` in place of `were`?")),
            ("SELECT a FROM t LIMT 5", "5 at Line: 1, Column: 22", Some("did you mean `LIMIT` in place of `LIMT`?")),
            ("SELEC 1", "SELEC at Line: 1, Column: 1", Some("did you mean `SELECT` in place of `SELEC`?")),
            ("SELECT \"form\" 1", "1 at Line: 1, Column: 15", None),
            ("SELECT a FROM t )", ") at Line: 1, Column: 17", None),
            ("SELECT a FROM t x y", "y at Line: 1, Column: 19", None),
            ("SELECT a FROM", "EOF", None),
        ] {
            let message = format!("sql parser error: Expected: end of statement, found: {found}");
            assert_eq!(keyword_hint(text, &message).as_deref(), expected, "{text}");
        }
    }
}
