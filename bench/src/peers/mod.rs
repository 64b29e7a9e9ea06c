//! The peers, which are the engines that redpoll is compared with, and the start of their servers.

#[cfg(any(feature = "duckdb", feature = "sql"))]
mod columns;
#[cfg(feature = "duckdb")]
pub mod duckdb;
mod python;
#[cfg(feature = "duckdb")]
mod queries;
#[cfg(feature = "sql")]
pub mod sql;

use crate::protocol::{Client, ServerReply, ServerRequest};
use anyhow::{Context, Result, bail};
use std::process::Command;
use std::time::Duration;

/// An engine to compare redpoll with.
pub struct Peer {
    /// The name, by which the command line selects the peer.
    pub name: &'static str,
    /// The function that starts the server of the peer with the given number of threads.
    pub start: fn(&Peer, usize) -> Result<Client>,
}

/// All peers, in the order of reports.
pub const PEERS: &[Peer] = &[
    Peer { name: "scipy", start: python::start },
    Peer { name: "mkl", start: python::start },
    Peer { name: "graphblas", start: python::start },
    Peer { name: "sparse", start: python::start },
    Peer { name: "finch", start: python::start },
    Peer { name: "polars", start: python::start },
    Peer { name: "opencv", start: python::start },
    Peer { name: "duckdb", start: start_duckdb },
    Peer { name: "taco", start: start_taco },
    Peer { name: "datafusion", start: start_datafusion },
];

/// Sets the environment variables that limit a process to `threads` threads, for the libraries that
/// redpoll and the peers use.
pub fn limit_threads(command: &mut Command, threads: usize) {
    const NAMES: [&str; 10] = [
        "OMP_NUM_THREADS",
        "MKL_NUM_THREADS",
        "OPENBLAS_NUM_THREADS",
        "NUMBA_NUM_THREADS",
        "POLARS_MAX_THREADS",
        "RAYON_NUM_THREADS",
        "NUMEXPR_NUM_THREADS",
        "VECLIB_MAXIMUM_THREADS",
        "REDPOLL_THREADS",
        "BENCH_THREADS",
    ];
    command.envs(NAMES.map(|name| (name, threads.to_string())));
}

/// Starts this program as the server of redpoll or of an engine linked into it.
///
/// # Errors
/// If the process cannot be started.
pub fn start_server(engine: &str, threads: usize) -> Result<Client> {
    let mut command = Command::new(std::env::current_exe().context("cannot find the path of this program")?);
    command.args(["serve", engine]);
    limit_threads(&mut command, threads);
    Client::start(&mut command)
}

impl Peer {
    /// Starts the peer and asks for its version.
    ///
    /// # Errors
    /// If the peer is not available, with the reason.
    pub fn start(&self, threads: usize) -> Result<(Client, String)> {
        let mut client = (self.start)(self, threads)?;
        match client.request(&ServerRequest::Hello { threads }, Duration::from_secs(120))? {
            ServerReply::Hello { version, .. } => Ok((client, version)),
            reply => bail!("expected the reply `hello`, found {reply:?}"),
        }
    }
}

fn start_duckdb(_: &Peer, threads: usize) -> Result<Client> {
    if !cfg!(feature = "duckdb") {
        bail!("not built in; build with `--features duckdb`, see bench/README.md");
    }
    start_server("duckdb", threads)
}

fn start_datafusion(_: &Peer, threads: usize) -> Result<Client> {
    if !cfg!(feature = "sql") {
        bail!("not built in; build with `--features sql`, see bench/README.md");
    }
    start_server("datafusion", threads)
}

fn start_taco(peer: &Peer, threads: usize) -> Result<Client> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    if !std::env::split_paths(&path).any(|folder| folder.join("taco").is_file()) {
        bail!("no program `taco` on the PATH");
    }
    python::start(peer, threads)
}
