//! Splitting of a text into statements by the tokenizer, aware of strings and comments.

use crate::sql::datafusion::sql::sqlparser::dialect::GenericDialect;
use crate::sql::datafusion::sql::sqlparser::tokenizer::{Location, Token, TokenWithSpan, Tokenizer};

/// A statement of a text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Piece {
    /// The first line of the statement, counted from 1.
    pub(super) line: u64,
    /// Its text, without the semicolon.
    pub(super) text: String,
}

/// State of a text that may be incomplete.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Written {
    /// Only blanks and comments.
    Nothing,
    /// The last statement is incomplete.
    Part,
    /// A string, a quoted name or a comment is not closed.
    OpenText,
    /// All statements are complete.
    Whole,
}

/// Returns the state of a text.
pub(super) fn written(text: &str) -> Written {
    let tokens = match Tokenizer::new(&GenericDialect, text).tokenize() {
        Ok(tokens) => tokens,
        Err(e) if e.message.contains("nterminated") || e.message.contains("EOF") => return Written::OpenText,
        // An invalid token is an error regardless of the rest.
        Err(_) if text.trim_end().ends_with(';') => return Written::Whole,
        Err(_) => return Written::Part,
    };
    match tokens.iter().rfind(|token| !matches!(token, Token::Whitespace(_))) {
        None => Written::Nothing,
        Some(Token::SemiColon) => Written::Whole,
        Some(_) => Written::Part,
    }
}

/// Returns the statements of a text, or none if it cannot be tokenized.
pub(super) fn pieces(text: &str) -> Vec<Piece> {
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
        found.push(Piece { line: first.span.start.line, text: text[start..end.max(start)].to_owned() });
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Asserts that only complete statements run.
    #[test]
    fn statements_end_where_the_parser_ends_them() {
        for (text, expected) in [
            ("", Written::Nothing),
            ("  -- nothing;\n", Written::Nothing),
            ("SELECT 1", Written::Part),
            ("SELECT 1;", Written::Whole),
            ("SELECT 1; -- x", Written::Whole),
            ("SELECT 1; /* x */ ", Written::Whole),
            ("SELECT 1; SELECT 2", Written::Part),
            ("SELECT 1 -- x;", Written::Part),
            ("DELETE FROM t -- all;\n", Written::Part),
            ("SELECT 'a;", Written::OpenText),
            ("SELECT 'a;\nb';", Written::Whole),
            ("SELECT \"a;", Written::OpenText),
            ("SELECT 1 /* ;", Written::OpenText),
            ("SELECT ';'", Written::Part),
        ] {
            assert_eq!(written(text), expected, "{text}");
        }
    }

    /// Asserts the lines and texts of statements.
    #[test]
    fn pieces_are_statements_with_their_lines() {
        let text = "-- first;\nSELECT 'ä;b' AS s;\n\n  SELECT\n 2 ; ;\nSELECT 3 -- end;\n";
        let found: Vec<(u64, String)> = pieces(text).into_iter().map(|piece| (piece.line, piece.text)).collect();
        let expected = [(2, "SELECT 'ä;b' AS s"), (4, "SELECT\n 2"), (6, "SELECT 3")];
        assert_eq!(found, expected.map(|(line, text)| (line, text.to_owned())));
        assert!(pieces("SELECT 'a").is_empty());
    }
}
