//! Locations of files that statements read and write.

use datafusion::datasource::listing::ListingTableUrl;
use datafusion::error::{DataFusionError, Result};
use datafusion::execution::SessionState;
use std::path::PathBuf;

/// The location of files, parsed from its text in a statement.
pub(super) enum Place {
    /// A file or folder of this machine, which may not exist.
    Local(PathBuf),
    /// A pattern of paths on this machine.
    Pattern,
    /// An object store that is registered with the session.
    Remote,
}

impl Place {
    /// Parses the text of a location as DataFusion does.
    ///
    /// # Errors
    /// If the location is malformed, or in an object store that is not registered.
    pub(super) fn of(state: &SessionState, location: &str) -> Result<Place> {
        let url = ListingTableUrl::parse(location)?;
        if url.scheme() != "file" {
            return match state.runtime_env().object_store(&url) {
                Ok(_) => Ok(Place::Remote),
                Err(_) => Err(DataFusionError::Plan(format!(
                    "{location} is no local file, and the session has no object store for it; download the file"
                ))),
            };
        }
        if url.get_glob().is_some() {
            return Ok(Place::Pattern);
        }
        let path = location.starts_with("file:").then(|| url.get_url().to_file_path().ok()).flatten();
        Ok(Place::Local(path.unwrap_or_else(|| location.into())))
    }
}
