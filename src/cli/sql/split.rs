//! Splitting of a text into statements by the tokenizer of DataFusion, which recognizes strings and
//! comments.

use crate::sql::datafusion::sql::sqlparser::dialect::GenericDialect;
use crate::sql::datafusion::sql::sqlparser::tokenizer::{Location, Token, TokenWithSpan, Tokenizer};

/// A statement of a text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct StatementText {
    /// The first line of the statement, counted from 1.
    pub(super) line: u64,
    /// The column at which the statement starts, counted from 1.
    pub(super) column: u64,
    /// The text of the statement, without the semicolon, and without the blanks and comments around
    /// the statement.
    pub(super) text: String,
}

/// State of a text that may be incomplete.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Completeness {
    /// Only blanks and comments.
    Empty,
    /// The last statement does not end with a semicolon.
    Incomplete,
    /// A string, a quoted name or a comment is not closed.
    OpenToken,
    /// The last statement ends with a semicolon.
    Complete,
}

/// Returns the state of a text.
pub(super) fn completeness(text: &str) -> Completeness {
    let tokens = match Tokenizer::new(&GenericDialect, text).tokenize() {
        Ok(tokens) => tokens,
        Err(e) if e.message.contains("nterminated") || e.message.contains("EOF") => return Completeness::OpenToken,
        // No later text repairs an invalid token, so no lines are read after the `;`.
        Err(_) if text.trim_end().ends_with(';') => return Completeness::Complete,
        Err(_) => return Completeness::Incomplete,
    };
    match tokens.iter().rfind(|token| !matches!(token, Token::Whitespace(_))) {
        None => Completeness::Empty,
        Some(Token::SemiColon) => Completeness::Complete,
        Some(_) => Completeness::Incomplete,
    }
}

/// Returns the statements of a text, or no statements if the text cannot be tokenized.
pub(super) fn split_statements(text: &str) -> Vec<StatementText> {
    let tokens = Tokenizer::new(&GenericDialect, text).tokenize_with_location().unwrap_or_default();
    let starts: Vec<usize> = [0].into_iter().chain(text.match_indices('\n').map(|(at, _)| at + 1)).collect();
    let offset = |location: Location| {
        let start = starts.get(location.line.saturating_sub(1) as usize).copied().unwrap_or(text.len());
        let before = location.column.saturating_sub(1) as usize;
        text[start..].char_indices().nth(before).map_or(text.len(), |(at, _)| start + at)
    };
    let mut found = Vec::new();
    for statement in tokens.split(|token| token.token == Token::SemiColon) {
        let is_word = |token: &&TokenWithSpan| !matches!(token.token, Token::Whitespace(_) | Token::EOF);
        let mut words = statement.iter().filter(is_word);
        let Some(first) = words.next() else { continue };
        let last = words.next_back().unwrap_or(first);
        let (start, end) = (offset(first.span.start), offset(last.span.end));
        let Location { line, column } = first.span.start;
        found.push(StatementText { line, column, text: text[start..end.max(start)].to_owned() });
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Asserts that a text is complete only if its last statement ends with a semicolon outside of
    /// strings and comments.
    #[test]
    fn only_complete_statements_run() {
        for (text, expected) in [
            ("", Completeness::Empty),
            ("  -- nothing;\n", Completeness::Empty),
            ("SELECT 1", Completeness::Incomplete),
            ("SELECT 1;", Completeness::Complete),
            ("SELECT 1; -- x", Completeness::Complete),
            ("SELECT 1; /* x */ ", Completeness::Complete),
            ("SELECT 1; SELECT 2", Completeness::Incomplete),
            ("SELECT 1 -- x;", Completeness::Incomplete),
            ("DELETE FROM t -- all;\n", Completeness::Incomplete),
            ("SELECT 'a;", Completeness::OpenToken),
            ("SELECT 'a;\nb';", Completeness::Complete),
            ("SELECT \"a;", Completeness::OpenToken),
            ("SELECT 1 /* ;", Completeness::OpenToken),
            ("SELECT ';'", Completeness::Incomplete),
        ] {
            assert_eq!(completeness(text), expected, "{text}");
        }
    }

    /// Asserts the lines and texts of statements.
    #[test]
    fn statements_have_lines_and_texts() {
        let text = "-- first;\nSELECT 'ä;b' AS s;\n\n  SELECT\n 2 ; ;\nSELECT 3 -- end;\n";
        let found: Vec<(u64, String)> =
            split_statements(text).into_iter().map(|statement| (statement.line, statement.text)).collect();
        let expected = [(2, "SELECT 'ä;b' AS s"), (4, "SELECT\n 2"), (6, "SELECT 3")];
        assert_eq!(found, expected.map(|(line, text)| (line, text.to_owned())));
        assert!(split_statements("SELECT 'a").is_empty());
    }
}
