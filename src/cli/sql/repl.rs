//! The REPL: statements until `;`, over several lines, with a history, and commands that start with a dot.

use super::super::failure::Failure;
use super::output::Mode;
use super::statements::{Shown, run_text};
use super::{database, runtime};
use crate::sql::Database;
use rustyline::DefaultEditor;
use rustyline::error::ReadlineError;
use std::io::Write;
use std::path::{Path, PathBuf};

const HELP: &str = "\
Statements end with `;` and may take several lines. Ctrl-C ends the one that runs, Ctrl-D the session.
  .help               this
  .tables             the tables
  .open NAME FILE     a table of a file: .mtx, .tns, .npz, .csv, .parquet, .arrow
  .mode table|csv|json   how rows are printed
  .timer on|off       whether a line tells how long it took
  .read FILE          run the statements of a file
  .quit               the end
`SET redpoll.enabled = false;` leaves queries to DataFusion; `EXPLAIN VERBOSE` says what was not claimed, and why.";

/// What a line asks for.
enum Next {
    Continue,
    End,
}

/// Reads statements from standard input and runs them until its end.
pub(crate) fn repl(out: &mut impl Write) -> Result<(), Failure> {
    let runtime = runtime(None)?;
    let database = database();
    let mut shown = Shown { mode: Mode::Table, repeat: 0, timing: true };
    let failed =
        |e: ReadlineError| Failure::new(format!("standard input: {e}"), "`redpoll sql` takes statements as text");
    let mut editor = DefaultEditor::new().map_err(failed)?;
    let history = history_file();
    if let Some(file) = &history {
        // There is none at the first time.
        let _ = editor.load_history(file);
    }
    writeln!(out, "redpoll {}; `.help` has more", env!("CARGO_PKG_VERSION"))?;
    out.flush()?;
    let mut statement = String::new();
    loop {
        let line = match editor.readline(if statement.is_empty() { "redpoll> " } else { "    ...> " }) {
            Ok(line) => line,
            Err(ReadlineError::Interrupted) => {
                statement.clear();
                continue;
            }
            Err(ReadlineError::Eof) if statement.is_empty() => break,
            // The end of the input ends the statement, too; the next line is the end again.
            Err(ReadlineError::Eof) => ";".to_owned(),
            Err(e) => return Err(failed(e)),
        };
        let command =
            statement.is_empty() && (line.trim_start().starts_with('.') || line.trim_start().starts_with('\\'));
        if statement.is_empty() && line.trim().is_empty() {
            continue;
        }
        statement.push_str(&line);
        if !command && !line.trim_end().ends_with(';') {
            statement.push('\n');
            continue;
        }
        // A history that cannot be kept is no reason to stop.
        let _ = editor.add_history_entry(statement.trim_end());
        let text = std::mem::take(&mut statement);
        let done = match command {
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

/// Where the history is kept.
fn history_file() -> Option<PathBuf> {
    use etcetera::BaseStrategy;
    let base = etcetera::choose_base_strategy().ok()?;
    Some(base.state_dir().unwrap_or_else(|| base.data_dir()).join("redpoll").join("history"))
}
