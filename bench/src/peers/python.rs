//! Peers in Python: one file for each in `bench/peers`, run in the Python environment that
//! `setup.sh` creates.

use super::{Peer, limit_threads};
use crate::protocol::Client;
use anyhow::{Context, Result, ensure};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Starts the server of a peer.
///
/// # Errors
/// If there is no environment, or the process cannot be started.
pub(super) fn start(peer: &Peer, threads: usize) -> Result<Client> {
    let environment = environment()?;
    let python = environment.join("bin/python");
    ensure!(python.exists(), "no Python environment in {}; run bench/peers/setup.sh", environment.display());
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("peers");
    let mut command = Command::new(python);
    command.arg(folder.join("serve.py")).arg(peer.name);
    limit_threads(&mut command, threads);
    Client::start(&mut command)
}

/// Returns the folder that `REDPOLL_PEERS` names, by default `peers` in the target folder of this
/// program.
fn environment() -> Result<PathBuf> {
    if let Some(folder) = std::env::var_os("REDPOLL_PEERS").filter(|folder| !folder.is_empty()) {
        return Ok(folder.into());
    }
    let program = std::env::current_exe().context("cannot find the path of this program")?;
    let target = program.ancestors().nth(2).context("this program is not in a target folder")?;
    Ok(target.join("peers"))
}
