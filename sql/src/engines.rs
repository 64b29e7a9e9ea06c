//! The engines of a session, one per target that the user has chosen.

use crate::engine::{Engine, RunError};
use crate::options::TargetChoice;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

/// The session's own engine, and an engine for each other target that was chosen. Each engine keeps
/// the kernels that it has compiled.
#[derive(Debug)]
pub(crate) struct Engines {
    session_engine: Arc<dyn Engine>,
    by_target: Mutex<HashMap<String, Arc<dyn Engine>>>,
}

impl Engines {
    pub(crate) fn new(session_engine: Arc<dyn Engine>) -> Engines {
        Engines { session_engine, by_target: Mutex::default() }
    }

    /// Returns the engine on the target that the session has set.
    ///
    /// # Errors
    /// The errors of [`Engine::with_target`].
    pub(crate) fn select(&self, target_choice: &TargetChoice) -> Result<Arc<dyn Engine>, RunError> {
        self.named(target_choice.name())
    }

    /// Returns the engine on the target of the given name, or the session's own engine.
    ///
    /// # Errors
    /// The errors of [`Engine::with_target`].
    pub(crate) fn named(&self, target: Option<&str>) -> Result<Arc<dyn Engine>, RunError> {
        let Some(target) = target else { return Ok(self.session_engine.clone()) };
        let mut engines = self.by_target.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(engine) = engines.get(target) {
            return Ok(engine.clone());
        }
        let engine = self.session_engine.with_target(target)?;
        engines.insert(target.to_owned(), engine.clone());
        Ok(engine)
    }
}
