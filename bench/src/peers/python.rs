//! Peers in Python: one file for each in `bench/peers`, run by the Python environment that
//! `setup.sh` makes.

use super::{Peer, limit_threads};
use crate::protocol::Client;
use anyhow::{Context, Result, ensure};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Starts the server of a peer.
///
/// # Errors
/// If there is no environment.
pub(super) fn start(peer: &Peer, threads: usize) -> Result<Client> {
    let environment = environment()?;
    let python = environment.join("bin/python");
    let how = "run bench/peers/setup.sh";
    ensure!(python.exists(), "there is no Python environment in {}; {how}", environment.display());
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("peers");
    let mut command = Command::new(python);
    command.arg(folder.join("serve.py")).arg(peer.name);
    limit_threads(&mut command, threads);
    Client::start(&mut command)
}

/// Returns the folder in `REDPOLL_PEERS`, or else `peers` in the target folder of this program.
fn environment() -> Result<PathBuf> {
    if let Some(folder) = std::env::var_os("REDPOLL_PEERS").filter(|folder| !folder.is_empty()) {
        return Ok(folder.into());
    }
    let program = std::env::current_exe().context("where this program is")?;
    let target = program.ancestors().nth(2).context("programs lie in a folder of the target folder")?;
    Ok(target.join("peers"))
}
