//! `redpoll worker`: a worker of a cluster.

use super::failure::CommandFailure;
use super::sql::runtime;
use super::values::threads;
use crate::kernels::run::Workers;
use crate::sql::Worker;
use crate::{Config, Session};
use std::future::pending;
use std::io::Write;
use std::net::SocketAddr;
use std::num::NonZero;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpListener;

/// Run tasks of queries for `redpoll sql --cluster`, until Ctrl-C
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  redpoll worker
  redpoll worker --listen 0.0.0.0:7400 --secret-file secret.txt --memory-limit 32G

The first line of output is the address of the worker. A worker reads the files of queries from its own disk, under
the paths that the query names.")]
pub(super) struct Args {
    /// The address and port; port 0 for any free port
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:7400")]
    listen: SocketAddr,

    /// The file with the secret that requests must have; only a worker that listens on this machine
    /// alone needs none
    #[arg(long, value_name = "FILE")]
    secret_file: Option<PathBuf>,

    /// The time in seconds after which another worker that does not answer counts as lost
    #[arg(long, value_name = "SECONDS", default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..))]
    timeout: u64,

    /// The number of threads of kernels
    #[arg(long, value_name = "N", value_parser = threads)]
    threads: Option<NonZero<usize>>,
}

/// Serves requests until the process ends.
pub(super) fn worker(args: &Args, memory_limit: Option<usize>, out: &mut impl Write) -> Result<(), CommandFailure> {
    let secret = match &args.secret_file {
        None => None,
        Some(file) => {
            let hint = "--secret-file needs a file with one line of text";
            let fault =
                |error: &dyn std::fmt::Display| CommandFailure::new(format!("{}: {error}", file.display()), hint);
            let text = std::fs::read_to_string(file).map_err(|error| fault(&error))?;
            let secret = text.trim();
            if secret.is_empty() || secret.lines().count() > 1 {
                return Err(fault(&"expected one line"));
            }
            Some(secret.to_owned())
        }
    };
    if secret.is_none() && !args.listen.ip().is_loopback() {
        let message =
            format!("a worker at {} can be reached from other machines, so it needs --secret-file", args.listen);
        return Err(CommandFailure::usage(message));
    }
    let mut config = Config { memory_limit, ..Config::default() };
    if let Some(threads) = args.threads {
        config.workers = Arc::new(Workers::new(threads));
    }
    let database = Session::new(config).database();
    runtime(args.threads)?.block_on(async {
        let listener = TcpListener::bind(args.listen).await.map_err(|error| {
            CommandFailure::new(format!("{}: {error}", args.listen), "choose another port by --listen ADDRESS:PORT")
        })?;
        writeln!(out, "http://{}", listener.local_addr()?)?;
        out.flush()?;
        let worker = Worker::new(&database, secret.as_deref(), Duration::from_secs(args.timeout))?;
        Ok(worker.serve(listener, pending()).await?)
    })
}
