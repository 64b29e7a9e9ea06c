//! The REPL: multi-line statements that end with `;`, a history, and commands that start with a dot
//! or a backslash.

use super::super::failure::CommandFailure;
use super::StatementRuntime;
use super::commands::{Continuation, run_command};
use super::completion::NameCompleter;
use super::split::{Completeness, completeness};
use super::statements::{OutputOptions, ScriptPosition, run_part, run_text};
use crate::sql::Database;
use rustyline::Editor;
use rustyline::error::ReadlineError;
use rustyline::history::FileHistory;
use std::io::{IsTerminal, Write};
use std::path::PathBuf;

/// Reads statements and commands from standard input and runs them until the input or the session
/// ends. Without a terminal, the failure of a statement names the statement and its line, and
/// `redpoll sql` fails at the end if a statement or a command has failed.
pub(super) fn repl(
    runtime: &StatementRuntime,
    database: &Database,
    mut options: OutputOptions,
    out: &mut impl Write,
) -> Result<(), CommandFailure> {
    let failed = |e: ReadlineError| {
        CommandFailure::new(
            format!("standard input: {e}"),
            "pass the statements to `redpoll sql` as an argument instead",
        )
    };
    let mut editor = Editor::<NameCompleter, FileHistory>::new().map_err(failed)?;
    let terminal = std::io::stdin().is_terminal();
    let completer = match terminal {
        true => runtime.block_on(NameCompleter::of(database)),
        false => NameCompleter::default(),
    };
    editor.set_helper(Some(completer));
    let history = history_file();
    if let Some(file) = &history {
        let _ = file.parent().map(std::fs::create_dir_all);
        // The history does not exist in the first session.
        let _ = editor.load_history(file);
    }
    if terminal {
        writeln!(out, "redpoll {}; `.help` lists the commands", env!("CARGO_PKG_VERSION"))?;
        out.flush()?;
    }
    let (mut statement, mut failures) = (String::new(), 0);
    let (mut position, mut line_count) = (ScriptPosition::default(), 0);
    loop {
        let action = match editor.readline(if statement.is_empty() { "redpoll> " } else { "    ...> " }) {
            Ok(line) => {
                if statement.is_empty() {
                    position.lines = line_count;
                }
                line_count += 1;
                take_line(&mut statement, &line)
            }
            Err(ReadlineError::Interrupted) => {
                statement.clear();
                continue;
            }
            Err(ReadlineError::Eof) => match end_action(&statement, terminal) {
                EndAction::End => break,
                EndAction::Run => LineAction::Statements(std::mem::take(&mut statement) + ";"),
                EndAction::Drop => {
                    statement.clear();
                    print_note("the statement does not end with `;` and was not run");
                    continue;
                }
            },
            Err(e) => return Err(failed(e)),
        };
        let text = match action {
            LineAction::Wait => continue,
            LineAction::Hint => {
                print_note(
                    "the statement is unfinished: press Ctrl-C to discard it, then `quit` or Ctrl-D to end the session",
                );
                continue;
            }
            LineAction::End => break,
            LineAction::Command(text) | LineAction::Statements(text) => text,
        };
        // Errors of the history are ignored.
        let _ = editor.add_history_entry(text.trim_end());
        let _ = history.as_ref().map(|file| editor.append_history(file));
        let done = match text.trim_start().starts_with(['.', '\\']) {
            true => runtime.block_on(run_command(database, text.trim(), &mut options, out)),
            false => {
                let done = match terminal {
                    true => runtime.block_on(run_text(database, &text, &options, out)),
                    false => runtime.block_on(run_part(database, &text, &mut position, &options, out)),
                };
                done.map(|()| Continuation::Continue)
            }
        };
        out.flush()?;
        match done {
            Ok(Continuation::Continue) => {}
            Ok(Continuation::End) => break,
            Err(CommandFailure::ClosedPipe) => return Err(CommandFailure::ClosedPipe),
            Err(failure) => {
                failures += 1;
                failure.report();
            }
        }
        if terminal {
            editor.set_helper(Some(runtime.block_on(NameCompleter::of(database))));
        }
    }
    if failures > 0 && !terminal { Err(CommandFailure::Reported) } else { Ok(()) }
}

/// Action at the end of the input, where a statement may be unfinished.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum EndAction {
    /// The end of the session, because no statement is unfinished.
    End,
    /// Execution of the statement, because the end of a script completes it. After the execution,
    /// the next read reports the end of the input again, and the session ends.
    Run,
    /// Removal of the statement, because Ctrl-D does not complete a statement.
    Drop,
}

fn end_action(statement: &str, terminal: bool) -> EndAction {
    match (statement.is_empty(), terminal) {
        (true, _) => EndAction::End,
        (false, true) => EndAction::Drop,
        (false, false) => EndAction::Run,
    }
}

/// Action that a line of input requests.
#[derive(PartialEq, Eq, Debug)]
enum LineAction {
    /// Nothing until more lines are read.
    Wait,
    /// A hint on how to leave an unfinished statement.
    Hint,
    /// The end of the session.
    End,
    Command(String),
    Statements(String),
}

/// Adds a line to the current statement, and takes the statement if it is complete. A command
/// between statements is not added. `quit` and `exit` are added only within a string, a quoted name
/// or a comment.
fn take_line(statement: &mut String, line: &str) -> LineAction {
    let word = line.trim().trim_end_matches(';').to_ascii_lowercase();
    let is_end = matches!(word.as_str(), "quit" | "exit");
    if statement.is_empty() {
        match line.trim_start() {
            "" => return LineAction::Wait,
            _ if is_end => return LineAction::End,
            _ if word == "help" => return LineAction::Command(".help".to_owned()),
            command if command.starts_with(['.', '\\']) => return LineAction::Command(line.to_owned()),
            _ => {}
        }
    } else if is_end && completeness(statement) != Completeness::OpenToken {
        return LineAction::Hint;
    }
    statement.push_str(line);
    match completeness(statement) {
        Completeness::Empty => {
            statement.clear();
            LineAction::Wait
        }
        Completeness::Incomplete | Completeness::OpenToken => {
            statement.push('\n');
            LineAction::Wait
        }
        Completeness::Complete => LineAction::Statements(std::mem::take(statement)),
    }
}

/// Writes a line to standard error.
fn print_note(text: &str) {
    // Errors in writing to standard error are ignored.
    let _ = writeln!(std::io::stderr(), "{text}");
}

/// Returns the path of the history, or `None` if the user has no home folder.
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
        assert_eq!(end_action("DELETE FROM t", true), EndAction::Drop);
        assert_eq!(end_action("", true), EndAction::End);
        assert_eq!(end_action("SELECT 1", false), EndAction::Run);
    }

    /// Asserts the actions of lines inside and outside of statements.
    #[test]
    fn lines_have_actions() {
        let mut statement = String::new();
        let statements = |text: &str| LineAction::Statements(text.to_owned());
        for (line, expected) in [
            ("", LineAction::Wait),
            ("-- nothing", LineAction::Wait),
            ("quit", LineAction::End),
            ("EXIT;", LineAction::End),
            ("help", LineAction::Command(".help".into())),
            (".tables", LineAction::Command(".tables".into())),
            ("SELECT 1; -- x", statements("SELECT 1; -- x")),
            ("SELECT 'a;", LineAction::Wait),
            ("quit", LineAction::Wait),
            (";", LineAction::Wait),
            ("b';", statements("SELECT 'a;\nquit\n;\nb';")),
            ("SELECT 2", LineAction::Wait),
            ("quit", LineAction::Hint),
            (".tables", LineAction::Wait),
            (";", statements("SELECT 2\n.tables\n;")),
        ] {
            assert_eq!(take_line(&mut statement, line), expected, "{line}");
        }
        assert_eq!(statement, "");
    }
}
