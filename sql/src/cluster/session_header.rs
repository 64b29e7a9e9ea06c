//! The settings and the semirings of a coordinator's session, which travel to workers in a header.

use super::codec::malformed;
use crate::options::RedpollOptions;
use crate::semiring::{Semiring, SemiringFunction};
use datafusion::config::ConfigOptions;
use datafusion::error::Result;
use datafusion::execution::{FunctionRegistry, SessionState, SessionStateBuilder, TaskContext};
use datafusion::logical_expr::AggregateUDF;
use http::{HeaderMap, HeaderValue};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The header with the settings.
const SESSION: &str = "x-redpoll-session";

/// The parts of a session on which the rows of a task depend.
#[derive(Serialize, Deserialize)]
struct SessionText {
    /// The options of DataFusion that differ from their defaults.
    options: BTreeMap<String, String>,
    semirings: Vec<Semiring>,
}

/// Adds the settings and semirings of a session to the headers of a request.
///
/// # Errors
/// If an operator of a semiring is not built in.
pub(super) fn add_session(headers: &mut HeaderMap, context: &TaskContext) -> Result<()> {
    let defaults: BTreeMap<String, Option<String>> =
        ConfigOptions::default().entries().into_iter().map(|entry| (entry.key, entry.value)).collect();
    let entries = context.session_config().options().entries().into_iter();
    let changed = entries.filter(|entry| defaults.get(&entry.key).is_some_and(|value| *value != entry.value));
    let options = changed.filter_map(|entry| Some((entry.key, entry.value?))).collect();
    let functions = context.aggregate_functions().values();
    let semirings = functions.filter_map(|function| function.inner().downcast_ref::<SemiringFunction>());
    let semirings = semirings.map(|function| function.semiring.clone()).collect();
    let text = serde_json::to_vec(&SessionText { options, semirings }).map_err(malformed)?;
    headers.insert(SESSION, HeaderValue::from_bytes(&text).map_err(malformed)?);
    Ok(())
}

/// Returns the session of a task, with the settings and semirings in the headers of its request.
///
/// # Errors
/// If the header is malformed, or this version of DataFusion refuses an option.
pub(super) fn session_of(mut builder: SessionStateBuilder, headers: &HeaderMap) -> Result<SessionState> {
    let text: Option<SessionText> = match headers.get(SESSION) {
        None => None,
        Some(value) => Some(serde_json::from_slice(value.as_bytes()).map_err(malformed)?),
    };
    let options = builder.config().get_or_insert_default().options_mut();
    options.extensions.insert(RedpollOptions::default());
    for (key, value) in text.iter().flat_map(|text| &text.options) {
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
    for semiring in text.into_iter().flat_map(|text| text.semirings) {
        state.register_udaf(Arc::new(AggregateUDF::from(SemiringFunction::new(semiring))))?;
    }
    Ok(state)
}
