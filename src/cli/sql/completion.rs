//! Completion of names in the REPL: keywords, tables, columns, commands and files.

use super::commands::command_names;
use super::keywords::KEYWORDS;
use crate::sql::Database;
use crate::sql::datafusion::sql::sqlparser::keywords::{RESERVED_FOR_COLUMN_ALIAS, RESERVED_FOR_IDENTIFIER};
use rustyline::completion::{Completer, FilenameCompleter, Pair};
use rustyline::highlight::Highlighter;
use rustyline::hint::Hinter;
use rustyline::validate::Validator;
use rustyline::{Context, Helper};
use std::collections::BTreeSet;

/// The names that the line editor completes.
#[derive(Default)]
pub(super) struct NameCompleter {
    /// The tables and columns of the session.
    names: BTreeSet<String>,
    files: FilenameCompleter,
}

impl NameCompleter {
    /// Returns the completer of the names of all tables and columns of a session, except those of
    /// `information_schema`.
    pub(super) async fn of(database: &Database) -> NameCompleter {
        let mut names = BTreeSet::new();
        let context = database.context();
        for catalog in context.catalog_names().iter().filter_map(|name| context.catalog(name)) {
            for schema in catalog.schema_names().iter().filter(|name| *name != "information_schema") {
                let Some(schema) = catalog.schema(schema) else { continue };
                for name in schema.table_names() {
                    if let Ok(Some(table)) = schema.table(&name).await {
                        names.extend(table.schema().fields().iter().map(|field| field.name().clone()));
                    }
                    names.insert(name);
                }
            }
        }
        NameCompleter { names, ..NameCompleter::default() }
    }

    /// Returns the start of the word before `end`, and the names and keywords that begin with the
    /// word, regardless of case. Returns no names or keywords if the word is empty.
    fn words(&self, line: &str, end: usize) -> (usize, Vec<Pair>) {
        let is_part = |c: char| c.is_alphanumeric() || c == '_';
        let start = line[..end].char_indices().rev().take_while(|(_, c)| is_part(*c)).last().map_or(end, |(at, _)| at);
        let word = &line[start..end];
        if word.is_empty() {
            return (start, Vec::new());
        }
        let continues = |name: &str| {
            let prefix: String = name.chars().take(word.chars().count()).collect();
            prefix.to_lowercase() == word.to_lowercase()
        };
        let is_lower = word.chars().all(|c| !c.is_uppercase());
        let keyword = |name: &&str| if is_lower { name.to_lowercase() } else { (*name).to_owned() };
        let pair = |text: String| Pair { display: text.clone(), replacement: text };
        let names = self.names.iter().filter(|name| continues(name)).map(|name| Pair {
            display: name.clone(),
            replacement: if needs_quotes(name) { format!("\"{}\"", name.replace('"', "\"\"")) } else { name.clone() },
        });
        let keywords = KEYWORDS.iter().filter(|name| continues(name)).map(|name| pair(keyword(name)));
        (start, names.chain(keywords).collect())
    }
}

/// Returns whether a name requires quotes in SQL, because of its characters or as a keyword.
fn needs_quotes(name: &str) -> bool {
    !name.starts_with(|c: char| c.is_ascii_lowercase() || c == '_')
        || name.contains(|c: char| !(c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_'))
        || is_reserved(&name.to_ascii_uppercase())
}

/// Returns whether a name in upper case is in [`KEYWORDS`], or is a keyword that the parser does
/// not accept as an identifier or as an alias of a column.
fn is_reserved(name: &str) -> bool {
    let mut reserved = RESERVED_FOR_IDENTIFIER.iter().chain(RESERVED_FOR_COLUMN_ALIAS);
    KEYWORDS.contains(&name) || reserved.any(|keyword| keyword.to_string() == name)
}

impl Completer for NameCompleter {
    type Candidate = Pair;

    fn complete(&self, line: &str, end: usize, context: &Context<'_>) -> rustyline::Result<(usize, Vec<Pair>)> {
        let before = &line[..end];
        let is_command = line.starts_with(['.', '\\']);
        match before.split_once(char::is_whitespace) {
            None if is_command => {
                let names = command_names().filter(|name| name.starts_with(before));
                Ok((0, names.map(|name| Pair { display: name.to_owned(), replacement: name.to_owned() }).collect()))
            }
            Some((".open" | ".read" | "\\i", _)) => self.files.complete(line, end, context),
            // The text is within single quotes.
            _ if !is_command && before.matches('\'').count() % 2 == 1 => self.files.complete(line, end, context),
            _ => Ok(self.words(line, end)),
        }
    }
}

impl Helper for NameCompleter {}

impl Highlighter for NameCompleter {}

impl Hinter for NameCompleter {
    type Hint = String;
}

impl Validator for NameCompleter {}

#[cfg(test)]
mod tests {
    use super::*;
    use rustyline::history::MemHistory;

    /// Asserts that a new completer has the tables and columns of its session.
    #[tokio::test]
    async fn tables_of_the_session_are_completed() {
        let database = crate::Session::default().database();
        database.sql("CREATE TABLE orders (price BIGINT) AS VALUES (1)").await.unwrap();
        let completer = NameCompleter::of(&database).await;
        assert_eq!(completer.names.iter().map(String::as_str).collect::<Vec<_>>(), ["orders", "price"]);
    }

    /// Asserts the completions of names, keywords, commands and files.
    #[test]
    fn names_keywords_commands_and_files_are_completed() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("data.csv"), "a\n1\n").unwrap();
        let names = ["order", "orders", "order_id", "UserId", "größe"].map(String::from).into_iter().collect();
        let completer = NameCompleter { names, ..NameCompleter::default() };
        let history = MemHistory::new();
        let complete = |line: &str| {
            let (start, pairs) = completer.complete(line, line.len(), &Context::new(&history)).unwrap();
            let replacements = pairs.into_iter().map(|pair| pair.replacement).collect::<Vec<_>>().join(" ");
            format!("{}[{replacements}]", &line[..start])
        };
        assert_eq!(complete("SELECT ord"), "SELECT [\"order\" order_id orders order]");
        assert_eq!(complete("SELECT o.ORD"), "SELECT o.[\"order\" order_id orders ORDER]");
        assert_eq!(complete("select use"), "select [\"UserId\"]");
        assert_eq!(complete("select grö"), "select [\"größe\"]");
        assert_eq!(complete("sel"), "[select]");
        assert_eq!(complete("SELECT "), "SELECT []");
        assert_eq!(complete(".ma"), "[.maxrows]");
        let path = folder.path().join("da").display().to_string();
        assert!(complete(&format!("SELECT * FROM '{path}")).contains("data.csv"));
        assert!(complete(&format!(".read {path}")).contains("data.csv"));
    }
}
