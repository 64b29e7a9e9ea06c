//! The file that lists the workers of a cluster.

use super::CommandFailure;
use crate::sql::{Cluster, message};
use serde::Deserialize;
use std::path::Path;

/// The contents of the file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ClusterFile {
    /// The URLs of the workers.
    workers: Vec<String>,
    /// The secret that the workers ask for.
    secret: Option<String>,
}

/// The form of the file.
const FORM: &str = "a cluster file has a line such as `workers = [\"http://127.0.0.1:7400\", \"http://127.0.0.1:7401\"]` \
    and, if the workers need a secret, `secret = \"SECRET\"`";

/// Reads the workers of a cluster.
///
/// # Errors
/// If the file cannot be read or is malformed, or a worker is not a URL.
pub(super) fn read(file: &Path) -> Result<Cluster, CommandFailure> {
    let fault = |error: &dyn std::fmt::Display| {
        CommandFailure::new(format!("{}: {}", file.display(), error.to_string().trim_end()), FORM)
    };
    let text = std::fs::read_to_string(file).map_err(|error| fault(&error))?;
    let ClusterFile { workers, secret } = toml::from_str(&text).map_err(|error| fault(&error))?;
    Cluster::new(workers, secret.as_deref()).map_err(|error| fault(&message(&error)))
}
