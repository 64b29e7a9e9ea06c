//! The commands of the REPL, which start with a dot or a backslash.

use super::super::failure::CommandFailure;
use super::output::OutputMode;
use super::statements::{OutputOptions, run_text};
use crate::sql::Database;
use std::io::Write;
use std::path::Path;

/// A command.
struct Command {
    /// The names; the help lists the first name with the arguments, then the other names.
    names: &'static [&'static str],
    /// The arguments as the help shows them: in brackets if they are optional, empty if the command
    /// takes none.
    args: &'static str,
    /// The effect, as the help describes it.
    help: &'static str,
    action: Action,
}

impl Command {
    /// Returns the first name with the arguments.
    fn synopsis(&self) -> String {
        format!("{} {}", self.names[0], self.args).trim_end().to_owned()
    }
}

/// The action of a command. Commands with one argument take the rest of the line, without a final
/// `;`, as the argument.
enum Action {
    Help,
    End,
    Tables,
    Schema,
    Open,
    Read,
    Mode,
    NullValue,
    MaxRows,
    Timer,
}

const COMMANDS: [Command; 10] = [
    Command { names: &[".help", "\\?", "\\h"], args: "", help: "show this help", action: Action::Help },
    Command { names: &[".tables", "\\dt"], args: "", help: "list the tables", action: Action::Tables },
    Command {
        names: &[".schema", "\\d"],
        args: "[NAME]",
        help: "show the columns of a table, or of all tables",
        action: Action::Schema,
    },
    Command {
        names: &[".open"],
        args: "NAME FILE",
        help: "register a file as a table: .rpt, .mtx, .tns, .npz, .csv, .tsv, .tab, .psv, .txt, .ndjson, .jsonl, \
               .json, .parquet, .arrow",
        action: Action::Open,
    },
    Command { names: &[".read", "\\i"], args: "FILE", help: "run the statements of a file", action: Action::Read },
    Command { names: &[".mode"], args: "table|csv|json", help: "set the format of printed rows", action: Action::Mode },
    Command {
        names: &[".nullvalue"],
        args: "[TEXT]",
        help: "set the text of NULL in tables; empty without TEXT",
        action: Action::NullValue,
    },
    Command {
        names: &[".maxrows"],
        args: "N",
        help: "print at most N rows of a table, the first and the last; 0 for all rows",
        action: Action::MaxRows,
    },
    Command {
        names: &[".timer"],
        args: "on|off",
        help: "show or hide the time of each statement",
        action: Action::Timer,
    },
    Command { names: &[".quit", ".exit", "\\q"], args: "", help: "end the session", action: Action::End },
];

/// The next step of the session after a command.
pub(super) enum Continuation {
    Continue,
    End,
}

/// Returns the names of all commands.
pub(super) fn command_names() -> impl Iterator<Item = &'static str> {
    COMMANDS.iter().flat_map(|command| command.names).copied()
}

/// Runs a command.
///
/// # Errors
/// Fails if the command is unknown, has invalid arguments, or fails.
pub(super) async fn run_command(
    database: &Database,
    line: &str,
    options: &mut OutputOptions,
    out: &mut impl Write,
) -> Result<Continuation, CommandFailure> {
    let (name, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    let arg = rest.trim().trim_end_matches(';').trim_end();
    let Some(command) = COMMANDS.iter().find(|command| command.names.contains(&name)) else {
        return Err(CommandFailure::new(format!("unknown command `{line}`"), "`.help` lists the commands"));
    };
    let usage = || {
        let what = match arg {
            "" => format!("`{name}` needs arguments"),
            _ => format!("invalid arguments `{arg}` of `{name}`"),
        };
        CommandFailure::new(what, format!("write `{}`", command.synopsis()))
    };
    match command.action {
        _ if command.args.is_empty() && !arg.is_empty() => return Err(usage()),
        _ if !command.args.starts_with('[') && !command.args.is_empty() && arg.is_empty() => return Err(usage()),
        Action::Help => write_help(out)?,
        Action::End => return Ok(Continuation::End),
        Action::Tables => run_text(database, TABLES, options, out).await?,
        Action::Schema if arg.is_empty() => run_text(database, ALL_COLUMNS, options, out).await?,
        Action::Schema => run_text(database, &format!("DESCRIBE {arg}"), options, out).await?,
        Action::Open => match arg.split_once(char::is_whitespace) {
            Some((table, file)) => database.register_file(table, Path::new(file.trim_start())).await?,
            None => return Err(usage()),
        },
        Action::Read => {
            let text = std::fs::read_to_string(arg)
                .map_err(|e| CommandFailure::new(format!("{arg}: {e}"), "`.read` needs a file of SQL statements"))?;
            run_text(database, &text, options, out).await?;
        }
        Action::Mode => options.rows.mode = OutputMode::of_name(arg).ok_or_else(usage)?,
        Action::NullValue => options.rows.null = arg.to_owned(),
        Action::MaxRows => {
            let rows: usize = arg.parse().map_err(|_| usage())?;
            options.rows.max_rows = (rows > 0).then_some(rows);
        }
        Action::Timer => {
            options.timing = match arg {
                "on" => true,
                "off" => false,
                _ => return Err(usage()),
            }
        }
    }
    Ok(Continuation::Continue)
}

/// The query for the tables of the user.
const TABLES: &str = "SELECT table_schema, table_name, table_type FROM information_schema.tables \
                      WHERE table_schema <> 'information_schema' ORDER BY 1, 2";

/// The query for the columns of all tables.
const ALL_COLUMNS: &str = "SELECT table_name, column_name, data_type, is_nullable FROM information_schema.columns
    WHERE table_schema <> 'information_schema' ORDER BY table_name, ordinal_position";

fn write_help(out: &mut impl Write) -> std::io::Result<()> {
    writeln!(
        out,
        "Statements end with `;` and may span several lines. Ctrl-C cancels the statement that is running or being \
         printed, or\ndiscards an unfinished one; Ctrl-D and `quit` end the session. Tab completes names and files."
    )?;
    for command in &COMMANDS {
        let others = match &command.names[1..] {
            [] => String::new(),
            others => format!(" (also {})", others.join(", ")),
        };
        writeln!(out, "  {:<22} {}{others}", command.synopsis(), command.help)?;
    }
    writeln!(
        out,
        "`FROM 'FILE'` and `FROM read_csv('FILE', header = false, delim = ';')` read a file; `SUMMARIZE NAME` shows \
         the values of its\ncolumns. `SET redpoll.enabled = false;` leaves queries to DataFusion; `EXPLAIN` says why \
         a query was not claimed."
    )
}
