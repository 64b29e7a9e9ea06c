//! The harness: runs redpoll and other engines in turns on the same data, and checks their results.
#![allow(clippy::print_stdout, reason = "the binary prints tables")]

use anyhow::{Context, Result, bail};
use clap::{Args, Parser, Subcommand};
use indicatif::{ProgressBar, ProgressStyle};
use redpoll_bench::harness::{Budget, Harness};
use redpoll_bench::peers::{PEERS, Peer};
use redpoll_bench::protocol::{Server, serve};
use redpoll_bench::redpoll_server::RedpollServer;
use redpoll_bench::report::{self, table};
use redpoll_bench::results::{Results, RunSettings};
use redpoll_bench::workload::{DataSize, Suite, Workload};
use redpoll_bench::{machine, workloads};
use regex::Regex;
use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// The same allocator as in the program `redpoll`.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Compares redpoll with other engines.
#[derive(Parser)]
#[command(name = "redpoll-bench", version, about, args_conflicts_with_subcommands = true)]
struct Cli {
    #[command(flatten)]
    run: RunArgs,
    #[command(subcommand)]
    command: Option<BenchCommand>,
}

#[derive(Args)]
struct RunArgs {
    /// The suite to run; without it, all suites
    suite: Option<Suite>,
    /// Run only workloads whose name `suite/workload/data` matches
    #[arg(long, value_name = "REGEX")]
    only: Option<Regex>,
    /// The peers, separated by commas: names, `all` or `none`
    #[arg(long, value_name = "LIST", default_value = "all", value_delimiter = ',')]
    peers: Vec<String>,
    /// Write all measurements to a file
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// The folder of the report, which has a table and figures
    #[arg(long, value_name = "FOLDER")]
    out: Option<PathBuf>,
    /// Use small data and few rounds
    #[arg(long)]
    quick: bool,
    /// Number of threads for each side
    #[arg(long, value_name = "N", default_value_t = 1)]
    threads: usize,
    /// List the workloads that would run
    #[arg(long)]
    list: bool,
}

#[derive(Subcommand)]
enum BenchCommand {
    /// Handle requests from the standard input; the harness starts this command
    #[command(hide = true)]
    Serve {
        /// `redpoll`, or an engine linked into this program
        engine: String,
    },
    /// Measure gains and costs of claiming, over queries of the SQL tests, TPC-H and real tables
    #[cfg(feature = "sql")]
    Claims(ClaimsArgs),
    /// Measure whole sessions: the sums of first and of second calls, compared with other engines
    #[cfg(feature = "sql")]
    Session(SessionArgs),
    /// Write the report of earlier measurements
    Report {
        /// A file written with `--json`
        json: PathBuf,
        /// The folder of the report
        out: PathBuf,
    },
}

#[cfg(feature = "sql")]
#[derive(Args)]
struct ClaimsArgs {
    /// Run only queries whose name `group/query` matches
    #[arg(long, value_name = "REGEX")]
    only: Option<Regex>,
    /// The regions to claim
    #[arg(long, value_enum, default_value = "cost")]
    claim: redpoll_bench::claims::ClaimPolicy,
    /// Write all measurements to a file
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// The file of the report
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Number of copies of the tables of TPC-H
    #[arg(long, value_name = "N", default_value_t = 10)]
    copies: usize,
    /// Number of threads for each side
    #[arg(long, value_name = "N", default_value_t = 1)]
    threads: usize,
}

#[cfg(feature = "sql")]
#[derive(Args)]
struct SessionArgs {
    /// Number of queries of the session of join counts
    #[arg(long, value_name = "N", default_value_t = 300)]
    queries: usize,
    /// The size of the tables of the session of join counts, in percent of 90,000 rows
    #[arg(long, value_name = "N", default_value_t = 100)]
    percent: u64,
    /// Number of copies of the tables of TPC-H at scale factor 0.01; 0 for no session of TPC-H
    #[arg(long, value_name = "N", default_value_t = 10)]
    copies: usize,
    /// Number of times that each session runs
    #[arg(long, value_name = "N", default_value_t = 3)]
    rounds: usize,
    /// Number of threads for each side
    #[arg(long, value_name = "N", default_value_t = 1)]
    threads: usize,
    /// Write all measurements to a file
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    let outcome = match cli.command {
        Some(BenchCommand::Serve { engine }) => serve_engine(&engine).map(|()| true),
        #[cfg(feature = "sql")]
        Some(BenchCommand::Claims(claims)) => measure_claims(claims),
        #[cfg(feature = "sql")]
        Some(BenchCommand::Session(session)) => measure_sessions(session),
        Some(BenchCommand::Report { json, out }) => write_report(&json, &out).map(|()| true),
        None => run_workloads(&cli.run),
    };
    match outcome {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn serve_engine(engine: &str) -> Result<()> {
    let mut server: Box<dyn Server> = match engine {
        "redpoll" => Box::new(RedpollServer::default()),
        #[cfg(feature = "duckdb")]
        "duckdb" => Box::new(redpoll_bench::peers::duckdb::DuckDb::new()?),
        #[cfg(feature = "sql")]
        "datafusion" => Box::new(redpoll_bench::peers::sql::QueryServer::datafusion()),
        engine => bail!("this program is built without the engine `{engine}`"),
    };
    serve(&mut *server, io::stdin().lock(), io::stdout().lock())
}

/// Runs this command again in a process with a limited number of threads, and returns whether that
/// process succeeded. Returns `None` if this process is the limited one. A new process is needed,
/// because redpoll reads the environment variable for its number of threads only once.
#[cfg(feature = "sql")]
fn run_limited(threads: usize) -> Result<Option<bool>> {
    const THREADS_VARIABLE: &str = "BENCH_THREADS";
    if std::env::var_os(THREADS_VARIABLE).is_some() {
        return Ok(None);
    }
    let mut command = std::process::Command::new(std::env::current_exe()?);
    redpoll_bench::peers::limit_threads(command.args(std::env::args_os().skip(1)), threads);
    Ok(Some(command.status()?.success()))
}

/// Measures sessions and prints their report. Returns whether all results agree.
#[cfg(feature = "sql")]
fn measure_sessions(args: SessionArgs) -> Result<bool> {
    use redpoll_bench::session;
    if let Some(success) = run_limited(args.threads)? {
        return Ok(success);
    }
    let SessionArgs { queries, percent, copies, rounds, threads, json } = args;
    let settings = session::SessionSettings { queries, percent, copies, rounds, threads };
    let measured = session::measure(&settings, |_| {})?;
    if let Some(file) = json {
        std::fs::write(&file, serde_json::to_string_pretty(&measured)?)?;
    }
    println!("{}", session::report(&measured));
    Ok(measured.iter().all(|session| session.fault.is_none()))
}

/// Measures the gains and costs of claiming, and prints or writes the report. Returns whether all
/// results agree.
#[cfg(feature = "sql")]
fn measure_claims(args: ClaimsArgs) -> Result<bool> {
    use redpoll_bench::claims;
    if let Some(success) = run_limited(args.threads)? {
        return Ok(success);
    }
    let ClaimsArgs { only, claim, json, out, copies, threads } = args;
    let settings = claims::ClaimSettings { only, policy: claim, threads, copies };
    let measured = claims::measure(&settings, |measured| println!("{}", claims::line(measured)))?;
    if let Some(file) = json {
        std::fs::write(&file, serde_json::to_string_pretty(&measured)?)?;
    }
    let text = claims::report(&measured);
    match out {
        Some(file) => std::fs::write(&file, text)?,
        None => println!("\n{text}"),
    }
    Ok(measured.iter().all(|m| m.fault.is_none()))
}

fn write_report(json: &Path, out: &Path) -> Result<()> {
    let text = std::fs::read_to_string(json).with_context(|| format!("cannot read {}", json.display()))?;
    report::write(out, &serde_json::from_str(&text)?)
}

/// Runs or lists the selected workloads, and writes the files that the arguments name. Returns
/// `false` if a workload failed.
fn run_workloads(args: &RunArgs) -> Result<bool> {
    let selected: Vec<(&Workload, &str)> = workloads::all()
        .filter(|(workload, _)| args.suite.is_none_or(|suite| workload.suite == suite))
        .filter(|(workload, data)| args.only.as_ref().is_none_or(|only| only.is_match(&workload.id(data))))
        .collect();
    if args.list {
        selected.iter().for_each(|(workload, data)| println!("{:40} {}", workload.id(data), workload.equation));
        return Ok(true);
    }
    if selected.is_empty() {
        bail!("no workload matches; `--list` shows all workloads");
    }
    let size = if args.quick { DataSize::Quick } else { DataSize::Full };
    let machine = machine::describe();
    let mut harness = Harness::new(Budget::new(size, args.threads), select_peers(&args.peers)?);
    for state in harness.states() {
        match state.version {
            Ok(version) => println!("{}: {version}", state.name),
            Err(reason) => println!("{}: skipped, {reason}", state.name),
        }
    }
    let bar = progress_bar(selected.len());
    let settings = RunSettings { quick: args.quick, threads: args.threads };
    let mut results = Results { machine, settings, peers: harness.states(), outcomes: Vec::new() };
    for (workload, data) in selected {
        bar.set_message(workload.id(data));
        let outcome = harness.measure(workload, data);
        bar.suspend(|| println!("{}", table::line(&outcome)));
        bar.inc(1);
        results.outcomes.push(outcome);
        // Saves the measurements so far, in case a later workload ends this process.
        if let Some(file) = &args.json {
            let text = serde_json::to_string_pretty(&results)?;
            std::fs::write(file, text).with_context(|| format!("cannot write {}", file.display()))?;
        }
    }
    bar.finish_and_clear();
    if let Some(folder) = &args.out {
        report::write(folder, &results)?;
    }
    let mut success = true;
    for outcome in &results.outcomes {
        for failure in &outcome.failures {
            eprintln!("failure: {}: {failure}", outcome.id);
            success = false;
        }
    }
    Ok(success)
}

fn select_peers(names: &[String]) -> Result<Vec<&'static Peer>> {
    let find =
        |name: &String| PEERS.iter().find(|peer| peer.name == name).with_context(|| format!("unknown peer `{name}`"));
    match names {
        [name] if name == "all" => Ok(PEERS.iter().collect()),
        [name] if name == "none" => Ok(Vec::new()),
        names => names.iter().map(find).collect(),
    }
}

fn progress_bar(workloads: usize) -> ProgressBar {
    if !io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let style =
        ProgressStyle::with_template("{bar:30} {pos}/{len} {msg}").unwrap_or_else(|_| ProgressStyle::default_bar());
    ProgressBar::new(workloads as u64).with_style(style)
}
