//! What a user sets: `SET redpoll.enabled = false`.

use datafusion::common::extensions_options;
use datafusion::config::{ConfigExtension, ConfigField, Visit};
use datafusion::error::{DataFusionError, Result};
use std::fmt;
use std::str::FromStr;

extensions_options! {
    /// The options of redpoll in a DataFusion session.
    pub struct RedpollOptions {
        /// Whether regions of queries are claimed; `false` leaves everything to DataFusion.
        pub enabled: bool, default = true
        /// Which of the regions that can be claimed are: `cost` for those that it pays for, `always` for all.
        pub claim: Policy, default = Policy::Cost
    }
}

impl ConfigExtension for RedpollOptions {
    const PREFIX: &'static str = "redpoll";
}

/// Which of the regions that can be claimed are claimed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Policy {
    /// Those that it is estimated to pay for.
    #[default]
    Cost,
    /// All.
    Always,
}

impl fmt::Display for Policy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Policy::Cost => "cost",
            Policy::Always => "always",
        })
    }
}

impl FromStr for Policy {
    type Err = DataFusionError;

    fn from_str(text: &str) -> Result<Policy> {
        match text.to_ascii_lowercase().as_str() {
            "cost" => Ok(Policy::Cost),
            "always" => Ok(Policy::Always),
            _ => Err(DataFusionError::Configuration(format!("redpoll.claim is `cost` or `always`, found `{text}`"))),
        }
    }
}

impl ConfigField for Policy {
    fn visit<V: Visit>(&self, visitor: &mut V, key: &str, description: &'static str) {
        visitor.some(key, self, description);
    }

    fn set(&mut self, _: &str, value: &str) -> Result<()> {
        *self = value.parse()?;
        Ok(())
    }
}
