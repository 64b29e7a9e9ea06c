//! The file that lists the workers of a cluster.

use super::CommandFailure;
use crate::sql::{Cluster, message};
use serde::Deserialize;
use std::num::NonZero;
use std::path::Path;
use std::time::Duration;

/// The contents of the file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ClusterFile {
    /// The URLs of the workers.
    workers: Vec<String>,
    /// The secret that the workers ask for.
    secret: Option<String>,
    /// The time in seconds after which a worker that does not answer counts as lost.
    timeout: Option<NonZero<u32>>,
    /// The number of times that a query is planned again after the loss of a worker.
    #[serde(default)]
    retry: usize,
}

/// The form of the file.
const FORM: &str = "a cluster file has a line such as `workers = [\"http://127.0.0.1:7400\", \"http://127.0.0.1:7401\"]` \
    and, if the workers need a secret, `secret = \"SECRET\"`; `timeout = 10` is the time in seconds after which a worker \
    that does not answer counts as lost, and `retry = 1` runs a query again without a lost worker";

/// Reads the workers of a cluster.
///
/// # Errors
/// If the file cannot be read or is malformed, or a worker is not a URL.
pub(super) fn read(file: &Path) -> Result<Cluster, CommandFailure> {
    let fault = |error: &dyn std::fmt::Display| {
        CommandFailure::new(format!("{}: {}", file.display(), error.to_string().trim_end()), FORM)
    };
    let text = std::fs::read_to_string(file).map_err(|error| fault(&error))?;
    let ClusterFile { workers, secret, timeout, retry } = toml::from_str(&text).map_err(|error| fault(&error))?;
    let cluster = Cluster::new(workers, secret.as_deref()).map_err(|error| fault(&message(&error)))?;
    let cluster = cluster.with_retries(retry);
    Ok(match timeout {
        None => cluster,
        Some(seconds) => cluster.with_timeout(Duration::from_secs(seconds.get().into())),
    })
}
