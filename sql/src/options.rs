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
        /// Who answers the first call of a region, before its rows are encoded and its program is compiled: `auto` for who is
        /// done first, `claim` for redpoll, `prepare` for DataFusion, after which redpoll prepares the region.
        pub first: First, default = First::Auto
    }
}

impl ConfigExtension for RedpollOptions {
    const PREFIX: &'static str = "redpoll";
}

/// Who answers the first call of a region.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum First {
    /// DataFusion, while redpoll prepares the region, or redpoll, if it is done sooner, or is estimated to take no longer for
    /// all of it. Where everything is claimed whether it pays or not, redpoll.
    #[default]
    Auto,
    /// Redpoll.
    Claim,
    /// DataFusion; redpoll prepares the region afterwards.
    Prepare,
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

/// An option that is one of a few words.
macro_rules! words {
    ($option:ident, $name:literal, $($word:literal => $variant:ident),+) => {
        impl fmt::Display for $option {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(match self {
                    $($option::$variant => $word,)+
                })
            }
        }

        impl FromStr for $option {
            type Err = DataFusionError;

            fn from_str(text: &str) -> Result<$option> {
                match text.to_ascii_lowercase().as_str() {
                    $($word => Ok($option::$variant),)+
                    _ => {
                        let words = [$(concat!("`", $word, "`")),+].join(" or ");
                        Err(DataFusionError::Configuration(format!("{} is {words}, found `{text}`", $name)))
                    }
                }
            }
        }

        impl ConfigField for $option {
            fn visit<V: Visit>(&self, visitor: &mut V, key: &str, description: &'static str) {
                visitor.some(key, self, description);
            }

            fn set(&mut self, _: &str, value: &str) -> Result<()> {
                *self = value.parse()?;
                Ok(())
            }
        }
    };
}

words!(Policy, "redpoll.claim", "cost" => Cost, "always" => Always);
words!(First, "redpoll.first", "auto" => Auto, "claim" => Claim, "prepare" => Prepare);
