//! `redpoll sql`: statements over files, and the REPL, which also starts if `redpoll` has no
//! command.

#[cfg(feature = "cluster")]
mod cluster;
mod commands;
mod completion;
mod hints;
mod keywords;
mod output;
mod repl;
mod split;
mod statements;

use super::bind::named_file;
use super::failure::CommandFailure;
use super::values::{count, threads};
use crate::logic::FloatMode;
use crate::sql::datafusion::error::DataFusionError;
use crate::sql::{STACK_SIZE, silence_guarded_panics, with_deep_stack};
use crate::{Config, Session};
use output::{OutputMode, RowStyle};
use redpoll_kernels::run::Workers;
use statements::{OutputOptions, run_text};
use std::io::Write;
use std::num::NonZero;
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::Arc;
use tokio::runtime::Runtime;

/// Run SQL statements over files, or start an interactive session
#[derive(clap::Args, Default)]
#[command(after_help = "\
Examples:
  redpoll sql \"SELECT count(*) FROM e a, e b, e c WHERE a.i1 = b.i0 AND b.i1 = c.i0 AND c.i1 = a.i0\" --table e=datasets/data/karate.mtx
  redpoll sql \"EXPLAIN SELECT i0, sum(value) FROM m GROUP BY i0\" --table m=matrix.npz --format json
  redpoll sql -f queries.sql --table orders=orders.parquet --repeat 10
  redpoll sql --table orders=orders.parquet

`FROM 'FILE'` reads a file without `--table`; `SUMMARIZE NAME` shows the values of the columns of a table.
Tables of tensors have the columns i0, i1, .. and value. `SET redpoll.enabled = false` leaves queries to DataFusion.")]
pub(super) struct Args {
    /// The statements, separated by `;`; without them, start an interactive session
    statements: Option<String>,

    /// Read the statements from FILE, `-` for standard input
    #[arg(short, long, value_name = "FILE", conflicts_with = "statements")]
    file: Option<PathBuf>,

    /// The file of a table: .rpt, .mtx, .tns, .npz, .csv, .tsv, .tab, .psv, .txt, .ndjson, .jsonl,
    /// .json, .parquet or .arrow, or a folder or a pattern of such files; a tensor is read from a
    /// single file
    #[arg(long, value_name = "NAME=FILE")]
    table: Vec<TableFile>,

    /// The format of printed rows
    #[arg(long, value_enum, default_value_t = OutputMode::Table)]
    format: OutputMode,

    /// Print at most N rows of a table, the first and the last; 0 for all rows; 40 by default in a
    /// terminal
    #[arg(long, value_name = "N")]
    max_rows: Option<usize>,

    /// Run each query N more times after the first, to measure the time of a warm run
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = count)]
    repeat: u32,

    /// Compute floats exactly as IEEE 754 in queries run by redpoll: sums keep their order
    #[arg(long)]
    strict: bool,

    /// Run queries on the workers of a cluster, which FILE lists: `workers = ["http://10.0.0.1:7400"]`
    /// and `secret = "SECRET"` if the workers need one
    #[cfg(feature = "cluster")]
    #[arg(long, value_name = "FILE")]
    cluster: Option<PathBuf>,

    /// The number of threads of kernels and DataFusion
    #[arg(long, value_name = "N", value_parser = threads)]
    threads: Option<NonZero<usize>>,
}

/// The file of a table.
#[derive(Clone, Debug)]
struct TableFile {
    name: String,
    file: PathBuf,
}

impl FromStr for TableFile {
    type Err = String;

    fn from_str(text: &str) -> Result<TableFile, String> {
        let (name, file) = named_file(text, "NAME=FILE")?;
        Ok(TableFile { name: name.to_owned(), file: file.into() })
    }
}

pub(super) fn sql(args: &Args, memory_limit: Option<usize>, out: &mut impl Write) -> Result<(), CommandFailure> {
    let names: Vec<&str> = args.table.iter().map(|table| table.name.as_str()).collect();
    if let Some(k) = (1..names.len()).find(|k| names[..*k].contains(&names[*k])) {
        return Err(CommandFailure::usage(format!("--table names `{}` twice", names[k])));
    }
    let text = match (&args.statements, &args.file) {
        (Some(text), _) => Some(text.clone()),
        (None, Some(file)) if file.as_os_str() == "-" => {
            Some(std::io::read_to_string(std::io::stdin()).map_err(|e| {
                CommandFailure::new(format!("standard input: {e}"), "`-f -` reads statements as UTF-8 text")
            })?)
        }
        (None, Some(file)) => Some(std::fs::read_to_string(file).map_err(|e| {
            CommandFailure::new(format!("{}: {e}", file.display()), "-f needs a file of SQL statements")
        })?),
        (None, None) => None,
    };
    let runtime = runtime(args.threads)?;
    let mut config = Config { memory_limit, ..Config::default() };
    if args.strict {
        config.optimizer.float_mode = FloatMode::StrictIeee;
    }
    if let Some(threads) = args.threads {
        config.workers = Arc::new(Workers::new(threads));
    }
    let session = Session::new(config);
    #[cfg(feature = "cluster")]
    let session = match &args.cluster {
        None => session,
        Some(file) => session.on_cluster(&cluster::read(file)?),
    };
    let database = session.database();
    runtime.block_on(async {
        if let Some(threads) = args.threads {
            database.sql(&format!("SET datafusion.execution.target_partitions = {threads}")).await?.collect().await?;
        }
        for table in &args.table {
            database.register_file(&table.name, &table.file).await?;
        }
        Ok::<_, DataFusionError>(())
    })?;
    let mut rows = RowStyle::new(args.format);
    if let Some(max_rows) = args.max_rows {
        rows.max_rows = (max_rows > 0).then_some(max_rows);
    }
    let timing = args.repeat > 0 || text.is_none();
    let options = OutputOptions { rows, repeat: args.repeat, timing };
    match text {
        Some(text) => runtime.block_on(run_text(&database, &text, &options, out)),
        None => repl::repl(&runtime, &database, options, out),
    }
}

/// Starts an interactive session with the default options of `redpoll sql`.
pub(super) fn session(memory_limit: Option<usize>, out: &mut impl Write) -> Result<(), CommandFailure> {
    sql(&Args::default(), memory_limit, out)
}

/// The tokio runtime that runs statements. Dropping it does not wait for cancelled statements.
pub(super) struct StatementRuntime(Option<Runtime>);

impl StatementRuntime {
    /// Runs a future to completion on a deep stack.
    pub(super) fn block_on<T>(&self, work: impl Future<Output = T>) -> T {
        self.0.as_ref().expect("the runtime exists until drop").block_on(with_deep_stack(work))
    }
}

impl Drop for StatementRuntime {
    fn drop(&mut self) {
        if let Some(runtime) = self.0.take() {
            runtime.shutdown_background();
        }
    }
}

/// Starts the runtime with the given number of threads. The default is the parallelism of the
/// machine.
pub(super) fn runtime(threads: Option<NonZero<usize>>) -> Result<StatementRuntime, CommandFailure> {
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    if let Some(threads) = threads {
        builder.worker_threads(threads.get());
    }
    silence_guarded_panics();
    let runtime = builder.thread_stack_size(STACK_SIZE).enable_all().build().map_err(|e| {
        CommandFailure::new(format!("cannot start the SQL runtime: {e}"), "the system is out of threads or memory")
    })?;
    Ok(StatementRuntime(Some(runtime)))
}
