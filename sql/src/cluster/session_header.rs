//! The settings, the float mode and the semirings of a coordinator's session, which travel to
//! workers in a header.

use super::message::{malformed, unsendable};
use crate::options::RedpollOptions;
use crate::semiring::{Semiring, SemiringFunction};
use datafusion::config::ConfigOptions;
use datafusion::error::Result;
use datafusion::execution::{FunctionRegistry, SessionState, SessionStateBuilder, TaskContext};
use datafusion::logical_expr::AggregateUDF;
use http::{HeaderMap, HeaderValue};
use redpoll_logic::FloatMode;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The header with the settings.
const SESSION: &str = "x-redpoll-session";

/// The parts of a session on which the rows of a task depend.
#[derive(Default, Serialize, Deserialize)]
pub(super) struct SessionText {
    /// The options of DataFusion that differ from their defaults.
    options: BTreeMap<String, String>,
    /// True for the float mode [`FloatMode::StrictIeee`].
    is_strict: bool,
    semirings: Vec<Semiring>,
}

/// Adds the settings, the float mode and the semirings of a session to the headers of a request.
///
/// # Errors
/// If an operator of a semiring is not built in.
pub(super) fn add_session(headers: &mut HeaderMap, context: &TaskContext, float_mode: FloatMode) -> Result<()> {
    let defaults: BTreeMap<String, Option<String>> =
        ConfigOptions::default().entries().into_iter().map(|entry| (entry.key, entry.value)).collect();
    let entries = context.session_config().options().entries().into_iter();
    let changed = entries.filter(|entry| defaults.get(&entry.key).is_some_and(|value| *value != entry.value));
    let options = changed.filter_map(|entry| Some((entry.key, entry.value?))).collect();
    let functions = context.aggregate_functions().values();
    let semirings = functions.filter_map(|function| function.inner().downcast_ref::<SemiringFunction>());
    let semirings = semirings.map(|function| function.semiring.clone()).collect();
    let is_strict = float_mode == FloatMode::StrictIeee;
    let text = serde_json::to_vec(&SessionText { options, is_strict, semirings }).map_err(unsendable)?;
    headers.insert(SESSION, HeaderValue::from_bytes(&text).map_err(unsendable)?);
    Ok(())
}

impl SessionText {
    /// Returns the parts of a session in the headers of a request; the defaults if there are none.
    ///
    /// # Errors
    /// If the header is malformed.
    pub(super) fn of(headers: &HeaderMap) -> Result<SessionText> {
        match headers.get(SESSION) {
            None => Ok(SessionText::default()),
            Some(value) => serde_json::from_slice(value.as_bytes()).map_err(malformed),
        }
    }

    /// Returns the float mode of the session.
    pub(super) fn float_mode(&self) -> FloatMode {
        if self.is_strict { FloatMode::StrictIeee } else { FloatMode::Relaxed }
    }

    /// Returns the session of a task, with these settings and semirings.
    ///
    /// # Errors
    /// If this version of DataFusion refuses an option.
    pub(super) fn session(self, mut builder: SessionStateBuilder) -> Result<SessionState> {
        let options = builder.config().get_or_insert_default().options_mut();
        options.extensions.insert(RedpollOptions::default());
        for (key, value) in &self.options {
            options.set(key, value)?;
        }
        let mut state = builder.build();
        let updated: Vec<_> = {
            let options = state.config_options();
            let functions = state.scalar_functions().values();
            functions.filter_map(|function| function.inner().with_updated_config(options)).collect()
        };
        for function in updated {
            state.register_udf(Arc::new(function))?;
        }
        for semiring in self.semirings {
            state.register_udaf(Arc::new(AggregateUDF::from(SemiringFunction::new(semiring))))?;
        }
        Ok(state)
    }
}
