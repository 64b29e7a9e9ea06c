//! The options that a user sets, as in `SET redpoll.enabled = false`.

use datafusion::common::config_namespace;
use datafusion::config::{ConfigEntry, ConfigExtension, ConfigField, ConfigOptions, ExtensionOptions, Visit};
use datafusion::error::{DataFusionError, Result};
use std::any::Any;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

config_namespace! {
    /// The options of redpoll in a DataFusion session, which statements set and show.
    ///
    /// ```
    /// use redpoll_sql::RedpollOptions;
    /// use redpoll_sql::datafusion::arrow::util::display::array_value_to_string;
    ///
    /// # #[tokio::main]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// assert!(RedpollOptions::default().enabled);
    /// let database = redpoll::Session::default().database();
    /// database.sql("SET redpoll.claim = 'always'").await?.collect().await?;
    /// let rows = database.sql("SHOW redpoll.claim").await?.collect().await?;
    /// assert_eq!(array_value_to_string(rows[0].column(1), 0)?, "always");
    /// # Ok(())
    /// # }
    /// ```
    pub struct RedpollOptions {
        /// Whether redpoll claims regions of queries; `false` leaves all of them to DataFusion.
        pub enabled: bool, default = true
        /// The regions that redpoll claims: `cost` for the regions that are estimated to pay or
        /// that DataFusion cannot run, `always` for all regions that can be claimed.
        pub claim: Policy, default = Policy::Cost
        /// The engine that answers the first call of a region: `auto` for redpoll if it is
        /// estimated to be faster or `redpoll.claim` is `always`, otherwise for the engine that
        /// finishes first; `claim` for redpoll; `prepare` for DataFusion, after which redpoll
        /// prepares the region.
        pub first: FirstAnswer, default = FirstAnswer::Auto
        /// The target that runs the kernels of regions: `session` for the target of the session,
        /// `auto` for a device if it is expected to pay, `cpu`, a CUDA device (`cuda`, `cuda:1`,
        /// ..), or another target of the engine.
        pub engine: TargetChoice, default = TargetChoice::default()
        /// The division of the rows of regions: `whole` for one part, `keyed` for partitions by the
        /// hash of a key, `cells` for cells of several fields. A region that cannot be divided into
        /// cells is divided by a key, and a region that cannot be divided at all runs as a whole.
        /// `auto` is `whole`, which is faster on one machine once a region is cached; on a cluster,
        /// it is the cheapest division. `datafusion.execution.target_partitions` is the number of
        /// partitions.
        pub spread: Spread, default = Spread::Auto
        /// The number of times that a query on a cluster is planned again on the remaining workers,
        /// if a worker is lost before the query has returned rows.
        pub retry: usize, default = 0
    }
}

impl RedpollOptions {
    /// Returns the options of redpoll in a configuration, or the defaults if the configuration has
    /// no such options.
    pub(crate) fn of(config: &ConfigOptions) -> RedpollOptions {
        config.extensions.get::<RedpollOptions>().cloned().unwrap_or_default()
    }
}

impl ConfigExtension for RedpollOptions {
    const PREFIX: &'static str = "redpoll";
}

// DataFusion's own macro for extensions omits the prefix from the entries, so `SHOW` would not find
// them.
impl ExtensionOptions for RedpollOptions {
    fn as_any(&self) -> &dyn Any {
        self
    }

    fn as_any_mut(&mut self) -> &mut dyn Any {
        self
    }

    fn cloned(&self) -> Box<dyn ExtensionOptions> {
        Box::new(self.clone())
    }

    fn set(&mut self, key: &str, value: &str) -> Result<()> {
        ConfigField::set(self, key, value)
    }

    fn entries(&self) -> Vec<ConfigEntry> {
        let mut entries = EntryCollector(Vec::new());
        self.visit(&mut entries, Self::PREFIX, "");
        entries.0
    }
}

/// A visitor that collects the entries of options.
struct EntryCollector(Vec<ConfigEntry>);

impl Visit for EntryCollector {
    fn some<V: fmt::Display>(&mut self, key: &str, value: V, description: &'static str) {
        self.0.push(ConfigEntry { key: key.to_owned(), value: Some(value.to_string()), description });
    }

    fn none(&mut self, key: &str, description: &'static str) {
        self.0.push(ConfigEntry { key: key.to_owned(), value: None, description });
    }
}

/// The engine that answers the first call of a region. This option has no effect on a region that
/// cannot be cached, or that DataFusion cannot run: redpoll answers every call of such a region.
/// The text of a value is the word that `SET redpoll.first` expects.
///
/// ```
/// use redpoll_sql::FirstAnswer;
///
/// assert_eq!("prepare".parse::<FirstAnswer>().unwrap(), FirstAnswer::Prepare);
/// assert!("later".parse::<FirstAnswer>().is_err());
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum FirstAnswer {
    /// Redpoll, if it is estimated to be faster than DataFusion, preparation included, or if
    /// [`Policy`] is `Always`. Otherwise DataFusion runs while redpoll prepares the region, and the
    /// engine that finishes first answers.
    #[default]
    Auto,
    /// Redpoll.
    Claim,
    /// DataFusion; redpoll prepares the region afterwards.
    Prepare,
}

/// The regions that are claimed, among the regions that can be claimed. A region that an earlier
/// run left to DataFusion is not claimed until its tables or the target of its kernels change. The
/// text of a value is the word that `SET redpoll.claim` expects.
///
/// ```
/// use redpoll_sql::Policy;
///
/// assert_eq!("always".parse::<Policy>().unwrap(), Policy::Always);
/// assert_eq!(Policy::default().to_string(), "cost");
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Policy {
    /// Regions that are estimated to pay, and regions that DataFusion cannot run.
    #[default]
    Cost,
    /// All regions.
    Always,
}

/// The division of the rows of a region. Each call of a region in partitions computes the region;
/// nothing is cached. The text of a value is the word that `SET redpoll.spread` expects.
///
/// ```
/// use redpoll_sql::Spread;
///
/// assert_eq!("keyed".parse::<Spread>().unwrap(), Spread::Keyed);
/// assert_eq!(Spread::default().to_string(), "auto");
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Spread {
    /// Like `Whole`, which is faster on one machine once a region is cached. On a cluster, the
    /// cheapest division.
    #[default]
    Auto,
    /// In one part.
    Whole,
    /// In partitions by the hash of a key, if the region can be divided.
    Keyed,
    /// In cells of several fields, if the region can be divided so; otherwise like `Keyed`.
    Cells,
}

/// A function that checks the name of a target. It returns the canonical name, or the message of an
/// error.
pub type TargetCheck = fn(&str) -> std::result::Result<String, String>;

/// The target that runs the kernels of regions: the target of the session, or another target by its
/// name.
///
/// ```
/// use redpoll_sql::TargetChoice;
/// use redpoll_sql::datafusion::config::ConfigField;
///
/// let mut choice = TargetChoice::session(|name| match name {
///     "cpu" => Ok("cpu".into()),
///     other => Err(format!("expected `cpu`, found `{other}`")),
/// });
/// assert_eq!(choice.to_string(), "session");
/// choice.set("engine", "CPU")?;
/// assert_eq!(choice.name(), Some("cpu"));
/// assert!(choice.set("engine", "gpu").is_err());
/// # Ok::<(), redpoll_sql::datafusion::error::DataFusionError>(())
/// ```
#[derive(Clone)]
pub struct TargetChoice {
    /// The canonical name; `None` for the target with which the session was created.
    name: Option<Arc<str>>,
    check: TargetCheck,
}

impl TargetChoice {
    /// Returns the choice of the session's own target. A later setting is `session` or a name that
    /// passes `check`.
    pub fn session(check: TargetCheck) -> TargetChoice {
        TargetChoice { name: None, check }
    }

    /// Returns the name of the chosen target; `None` for the target of the session.
    pub fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }
}

impl Default for TargetChoice {
    fn default() -> TargetChoice {
        TargetChoice::session(|name| Err(format!("this session has no engine, found `{name}`")))
    }
}

impl PartialEq for TargetChoice {
    fn eq(&self, other: &TargetChoice) -> bool {
        self.name == other.name
    }
}

impl Eq for TargetChoice {}

impl fmt::Debug for TargetChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for TargetChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name().unwrap_or("session"))
    }
}

impl ConfigField for TargetChoice {
    fn visit<V: Visit>(&self, visitor: &mut V, key: &str, description: &'static str) {
        visitor.some(key, self, description);
    }

    fn set(&mut self, _: &str, value: &str) -> Result<()> {
        let text = value.to_ascii_lowercase();
        self.name = match text.as_str() {
            "session" => None,
            text => Some((self.check)(text).map(Arc::from).map_err(|message| {
                DataFusionError::Configuration(format!(
                    "redpoll.engine must be `session` or the name of a target: {message}"
                ))
            })?),
        };
        Ok(())
    }
}

/// Implements [`ConfigField`] for an option that is read from text.
macro_rules! config_field {
    ($option:ident) => {
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

/// Implements the text form of an option, in which each value is one word.
macro_rules! word_option {
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
                        Err(DataFusionError::Configuration(format!("{} must be {words}, found `{text}`", $name)))
                    }
                }
            }
        }

        config_field!($option);
    };
}

word_option!(Policy, "redpoll.claim", "cost" => Cost, "always" => Always);
word_option!(Spread, "redpoll.spread", "auto" => Auto, "whole" => Whole, "keyed" => Keyed, "cells" => Cells);
word_option!(FirstAnswer, "redpoll.first", "auto" => Auto, "claim" => Claim, "prepare" => Prepare);
