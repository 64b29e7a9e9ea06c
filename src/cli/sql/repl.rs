//! The REPL: multi-line statements that end with `;`, a history, and commands that start with a
//! dot.

use super::super::failure::Failure;
use super::output::Mode;
use super::pieces::{Written, written};
use super::statements::{Shown, run_text};
use super::{database, runtime};
use crate::sql::Database;
use rustyline::DefaultEditor;
use rustyline::error::ReadlineError;
use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};

const HELP: &str = "\
Statements end with `;` and may take several lines. Ctrl-C ends the one that runs or is printed, or drops the one
that is not finished; Ctrl-D and `quit` end the session.
  .help               this
  .tables             the tables
  .open NAME FILE     a table of a file: .mtx, .tns, .npz, .csv, .tsv, .txt, .ndjson, .parquet, .arrow
  .mode table|csv|json   how rows are printed
  .timer on|off       whether a line tells how long it took
  .read FILE          run the statements of a file
  .quit               the end
`SET redpoll.enabled = false;` leaves queries to DataFusion; `EXPLAIN VERBOSE` says what was not claimed, and why.";

/// Continuation after a command.
enum Next {
    Continue,
    End,
}

/// Reads statements from standard input and runs them until its end.
pub(crate) fn repl(memory_limit: Option<usize>, out: &mut impl Write) -> Result<(), Failure> {
    let runtime = runtime(None)?;
    let database = database(memory_limit);
    let mut shown = Shown { mode: Mode::Table, repeat: 0, timing: true };
    let failed =
        |e: ReadlineError| Failure::new(format!("standard input: {e}"), "`redpoll sql` takes statements as text");
    let mut editor = DefaultEditor::new().map_err(failed)?;
    let history = history_file();
    if let Some(file) = &history {
        // The history does not exist in the first session.
        let _ = editor.load_history(file);
    }
    writeln!(out, "redpoll {}; `.help` has more", env!("CARGO_PKG_VERSION"))?;
    out.flush()?;
    let terminal = std::io::stdin().is_terminal();
    let mut statement = String::new();
    loop {
        let line = match editor.readline(if statement.is_empty() { "redpoll> " } else { "    ...> " }) {
            Ok(line) => line,
            Err(ReadlineError::Interrupted) => {
                statement.clear();
                continue;
            }
            Err(ReadlineError::Eof) => match at_end(&statement, terminal) {
                AtEnd::End => break,
                AtEnd::Run => ";".to_owned(),
                AtEnd::Drop => {
                    statement.clear();
                    say("the statement had no `;` and was not run");
                    continue;
                }
            },
            Err(e) => return Err(failed(e)),
        };
        let text = match take_line(&mut statement, &line) {
            Line::Nothing => continue,
            Line::Hint => {
                say("Ctrl-C drops the unfinished statement; `quit` or Ctrl-D ends the session then");
                continue;
            }
            Line::End => break,
            Line::Command(text) | Line::Statements(text) => text,
        };
        // Errors of the history are ignored.
        let _ = editor.add_history_entry(text.trim_end());
        let done = match text.trim_start().starts_with(['.', '\\']) {
            true => runtime.block_on(dot_command(&database, text.trim(), &mut shown, out)),
            false => runtime.block_on(run_text(&database, &text, shown, out)).map(|()| Next::Continue),
        };
        out.flush()?;
        match done {
            Ok(Next::Continue) => {}
            Ok(Next::End) => break,
            Err(Failure::Gone) => return Err(Failure::Gone),
            Err(failure) => {
                failure.report();
            }
        }
    }
    if let Some(file) = &history {
        let _ = file.parent().map(std::fs::create_dir_all);
        let _ = editor.save_history(file);
    }
    Ok(())
}

/// Action on an unfinished statement at the end of the input.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum AtEnd {
    /// The end of the session: there is no statement.
    End,
    /// Execution: the end of a script ends its last statement. The next line read is the end again.
    Run,
    /// Removal: Ctrl-D does not finish a statement.
    Drop,
}

fn at_end(statement: &str, terminal: bool) -> AtEnd {
    match (statement.is_empty(), terminal) {
        (true, _) => AtEnd::End,
        (false, true) => AtEnd::Drop,
        (false, false) => AtEnd::Run,
    }
}

/// Action of a line.
#[derive(PartialEq, Eq, Debug)]
enum Line {
    /// Nothing until more lines are read.
    Nothing,
    /// A hint how to leave an unfinished statement.
    Hint,
    /// The end of the session.
    End,
    Command(String),
    Statements(String),
}

/// Adds a line to the current statement, and takes the statement if it is complete.
fn take_line(statement: &mut String, line: &str) -> Line {
    let word = line.trim().trim_end_matches(';').to_ascii_lowercase();
    let is_end = matches!(word.as_str(), "quit" | "exit");
    if statement.is_empty() {
        match line.trim_start() {
            "" => return Line::Nothing,
            _ if is_end => return Line::End,
            _ if word == "help" => return Line::Command(".help".to_owned()),
            command if command.starts_with(['.', '\\']) => return Line::Command(line.to_owned()),
            _ => {}
        }
    } else if is_end && written(statement) != Written::OpenText {
        return Line::Hint;
    }
    statement.push_str(line);
    match written(statement) {
        Written::Nothing => {
            statement.clear();
            Line::Nothing
        }
        Written::Part | Written::OpenText => {
            statement.push('\n');
            // The end of a script adds a line `;`.
            if line == ";" { Line::Statements(std::mem::take(statement)) } else { Line::Nothing }
        }
        Written::Whole => Line::Statements(std::mem::take(statement)),
    }
}

/// Writes a line to standard error.
fn say(text: &str) {
    // Errors of standard error are ignored.
    let _ = writeln!(std::io::stderr(), "{text}");
}

async fn dot_command(
    database: &Database,
    command: &str,
    shown: &mut Shown,
    out: &mut impl Write,
) -> Result<Next, Failure> {
    let words: Vec<&str> = command.split_whitespace().collect();
    let known = || Failure::new(format!("`{command}` is no command"), "`.help` lists them");
    match words[..] {
        [".help" | "\\?" | "\\h"] => writeln!(out, "{HELP}")?,
        [".quit" | ".exit" | "\\q"] => return Ok(Next::End),
        [".tables" | "\\d"] => run_text(database, "SHOW TABLES", *shown, out).await?,
        [".mode", name] => shown.mode = Mode::of_name(name).ok_or_else(known)?,
        [".timer", "on"] => shown.timing = true,
        [".timer", "off"] => shown.timing = false,
        [".open", name, file] => database.register_file(name, Path::new(file)).await?,
        [".read" | "\\i", file] => {
            let text = std::fs::read_to_string(file)
                .map_err(|e| Failure::new(format!("{file}: {e}"), "`.read` takes a file of statements"))?;
            run_text(database, &text, *shown, out).await?;
        }
        _ => return Err(known()),
    }
    Ok(Next::Continue)
}

/// Returns the path of the history.
fn history_file() -> Option<PathBuf> {
    use etcetera::BaseStrategy;
    let base = etcetera::choose_base_strategy().ok()?;
    Some(base.state_dir().unwrap_or_else(|| base.data_dir()).join("redpoll").join("history"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Asserts that Ctrl-D never runs an unfinished statement.
    #[test]
    fn ctrl_d_runs_no_unfinished_statement() {
        assert_eq!(at_end("DELETE FROM t", true), AtEnd::Drop);
        assert_eq!(at_end("", true), AtEnd::End);
        assert_eq!(at_end("SELECT 1", false), AtEnd::Run);
    }

    /// Asserts the actions of lines inside and outside of statements.
    #[test]
    fn lines_are_taken_as_they_are_meant() {
        let mut statement = String::new();
        let whole = |text: &str| Line::Statements(text.to_owned());
        for (line, expected) in [
            ("", Line::Nothing),
            ("-- nothing", Line::Nothing),
            ("quit", Line::End),
            ("EXIT;", Line::End),
            ("help", Line::Command(".help".into())),
            (".tables", Line::Command(".tables".into())),
            ("SELECT 1; -- x", whole("SELECT 1; -- x")),
            ("SELECT 'a;", Line::Nothing),
            ("quit", Line::Nothing),
            ("b';", whole("SELECT 'a;\nquit\nb';")),
            ("SELECT 2", Line::Nothing),
            ("quit", Line::Hint),
            (".tables", Line::Nothing),
            (";", whole("SELECT 2\n.tables\n;")),
        ] {
            assert_eq!(take_line(&mut statement, line), expected, "{line}");
        }
        assert_eq!(statement, "");
    }
}
