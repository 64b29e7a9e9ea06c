//! The command line: `redpoll run`, `explain`, `info`, `plot`, `generate`, `convert`, `formats`,
//! `operators`, `sql` and `worker`, one file or folder per command.
//!
//! Results go to standard output, errors and notes to standard error. `failure.rs` has the exit
//! codes.

mod bar;
mod bind;
mod convert;
mod edge_list;
mod explain;
mod failure;
mod formats;
mod generate;
mod html;
mod info;
mod interrupt;
mod json;
mod memory;
mod names;
mod operators;
mod out;
mod parse;
mod plan;
mod plot;
mod result_format;
mod run;
#[cfg(feature = "sql")]
mod sql;
mod stand_in;
mod structure;
mod style;
mod summary;
mod values;
#[cfg(feature = "cluster")]
mod worker;

use crate::kernels::run::Workers;
use clap::{Parser, Subcommand};
use failure::{CommandFailure, Exit};
use interrupt::{CtrlC, clean_up, clean_up_on_signals};
use std::io::{self, Write};
use std::process::ExitCode;

/// A lazy engine for sparse and structured arrays.
#[derive(Parser)]
#[command(name = "redpoll", version, about, after_help = EXAMPLES)]
#[cfg_attr(not(feature = "sql"), command(arg_required_else_help = true))]
struct Cli {
    #[command(subcommand)]
    command: Option<Command>,

    /// Maximum memory of files, derived data and results at one time, such as 512M or 2G; by
    /// default nine tenths of the machine's memory
    #[arg(long, global = true, value_name = "BYTES", value_parser = memory::bytes)]
    memory_limit: Option<usize>,
}

const EXAMPLES: &str = "\
Examples:
  redpoll run plans/triangles.rp --bind E=datasets/data/karate.mtx
  redpoll explain plans/triangles.rp --bind E=datasets/data/karate.mtx
  redpoll info datasets/data/davis.mtx
  redpoll plot datasets/data/davis.mtx
  redpoll generate rmat --scale 16 --edges 1000000 --out graph.mtx.zst
  redpoll convert graph.mtx.zst graph.npz
  redpoll formats

`redpoll COMMAND --help` describes a command.";

#[derive(Subcommand)]
enum Command {
    Run(run::Args),
    Explain(explain::Args),
    Info(info::Args),
    Plot(plot::Args),
    Generate(generate::Args),
    Convert(convert::Args),
    Formats(formats::Args),
    Operators(operators::Args),
    #[cfg(feature = "sql")]
    Sql(sql::Args),
    #[cfg(feature = "cluster")]
    Worker(worker::Args),
}

/// Runs the command that is given on the command line.
pub fn main() -> ExitCode {
    let cli = match parse::parse() {
        Ok(cli) => cli,
        Err(help_or_error) => {
            // Errors are ignored: the terminal may be gone.
            let _ = help_or_error.print();
            return if help_or_error.use_stderr() { Exit::Usage } else { Exit::Success }.into();
        }
    };
    let ctrl_c = match &cli.command {
        #[cfg(feature = "sql")]
        Some(Command::Sql(_)) | None => CtrlC::InterruptCommand,
        _ => CtrlC::EndProcess,
    };
    clean_up_on_signals(ctrl_c);
    let code = run(cli);
    clean_up();
    code
}

/// Runs a command.
fn run(cli: Cli) -> ExitCode {
    if let Err(fault) = Workers::from_environment() {
        return CommandFailure::usage(fault).report();
    }
    let limit = memory::limit(cli.memory_limit);
    let memory = memory::memory(limit);
    let mut out = io::BufWriter::new(io::stdout().lock());
    let done = match cli.command {
        Some(Command::Run(args)) => run::run(&args, limit, &mut out),
        Some(Command::Explain(args)) => explain::explain(&args, limit, &mut out),
        Some(Command::Info(args)) => info::info(&args, &memory, &mut out),
        Some(Command::Plot(args)) => plot::plot(&args, &memory, &mut out),
        Some(Command::Generate(args)) => generate::generate(&args, limit, &mut out),
        Some(Command::Convert(args)) => convert::convert(&args, &memory, &mut out),
        Some(Command::Formats(args)) => formats::formats(&args, &mut out),
        Some(Command::Operators(args)) => operators::operators(&args, &mut out),
        #[cfg(feature = "sql")]
        Some(Command::Sql(args)) => sql::sql(&args, limit, &mut out),
        #[cfg(feature = "cluster")]
        Some(Command::Worker(args)) => worker::worker(&args, limit, &mut out),
        #[cfg(feature = "sql")]
        None => sql::session(limit, &mut out),
        #[cfg(not(feature = "sql"))]
        None => unreachable!("clap shows the help if there is no command"),
    };
    match done.and_then(|()| Ok(out.flush()?)) {
        Ok(()) => Exit::Success.into(),
        Err(failure) => failure.report(),
    }
}
