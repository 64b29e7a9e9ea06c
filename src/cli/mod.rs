//! The command line: `redpoll run`, `explain`, `info`, `generate`, `convert` and `formats`, one file a command.
//!
//! Results go to standard output, errors and notes to standard error. The exit code is 0 for success, 1 for a failure,
//! 2 for a wrong command line.

mod bar;
mod bind;
mod convert;
mod explain;
mod failure;
mod formats;
mod generate;
mod info;
mod json;
mod out;
mod plan;
mod run;
mod runnable;
#[cfg(feature = "sql")]
mod sql;
mod structure;
mod style;
mod summary;

use clap::{Parser, Subcommand};
use std::io::{self, Write};
use std::process::ExitCode;

/// A lazy engine for sparse and structured arrays.
#[derive(Parser)]
#[command(name = "redpoll", version, about, after_help = EXAMPLES)]
#[cfg_attr(not(feature = "sql"), command(arg_required_else_help = true))]
struct Cli {
    #[command(subcommand)]
    command: Option<Command>,
}

const EXAMPLES: &str = "\
Examples:
  redpoll run plans/triangles.rp --bind E=datasets/data/karate.mtx
  redpoll explain plans/triangles.rp --bind E=datasets/data/karate.mtx
  redpoll info datasets/data/davis.mtx
  redpoll generate rmat --scale 16 --edges 1000000 --out graph.mtx.zst
  redpoll convert graph.mtx.zst graph.npz
  redpoll formats

`redpoll COMMAND --help` has more.";

#[derive(Subcommand)]
enum Command {
    Run(run::Args),
    Explain(explain::Args),
    Info(info::Args),
    Generate(generate::Args),
    Convert(convert::Args),
    Formats(formats::Args),
    #[cfg(feature = "sql")]
    Sql(sql::Args),
}

/// Runs the command that the process was called with.
pub fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(help_or_error) => {
            // Nobody is left to tell when the terminal is gone.
            let _ = help_or_error.print();
            return ExitCode::from(u8::try_from(help_or_error.exit_code()).unwrap_or(2));
        }
    };
    let mut out = io::BufWriter::new(io::stdout().lock());
    let done = match cli.command {
        Some(Command::Run(args)) => run::run(&args, &mut out),
        Some(Command::Explain(args)) => explain::explain(&args, &mut out),
        Some(Command::Info(args)) => info::info(&args, &mut out),
        Some(Command::Generate(args)) => generate::generate(&args, &mut out),
        Some(Command::Convert(args)) => convert::convert(&args, &mut out),
        Some(Command::Formats(args)) => formats::formats(&args, &mut out),
        #[cfg(feature = "sql")]
        Some(Command::Sql(args)) => sql::sql(&args, &mut out),
        #[cfg(feature = "sql")]
        None => sql::repl(&mut out),
        #[cfg(not(feature = "sql"))]
        None => unreachable!("help was shown where there is no command"),
    };
    match done.and_then(|()| Ok(out.flush()?)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(),
    }
}
