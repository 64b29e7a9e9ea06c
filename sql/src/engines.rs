//! The engines of a session, one per target that the user has chosen, and on the workers of a
//! cluster one per float mode of a coordinator.

use crate::engine::{Engine, RunError};
use crate::options::TargetChoice;
use redpoll_logic::FloatMode;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

/// The session's own engine, and an engine for each other target and float mode that was chosen.
/// Each engine keeps the kernels that it has compiled.
#[derive(Debug)]
pub(crate) struct Engines {
    session_engine: Arc<dyn Engine>,
    others: Mutex<HashMap<EngineKey, Arc<dyn Engine>>>,
}

/// The name of a target, or `None` for the session's own target, and a float mode.
type EngineKey = (Option<String>, FloatMode);

impl Engines {
    pub(crate) fn new(session_engine: Arc<dyn Engine>) -> Engines {
        Engines { session_engine, others: Mutex::default() }
    }

    /// Returns the float mode of the session's own engine.
    #[cfg(feature = "cluster")]
    pub(crate) fn float_mode(&self) -> FloatMode {
        self.session_engine.float_mode()
    }

    /// Returns the engine on the target that the session has set.
    ///
    /// # Errors
    /// The errors of [`Engine::with_target`].
    pub(crate) fn select(&self, target_choice: &TargetChoice) -> Result<Arc<dyn Engine>, RunError> {
        self.named(target_choice.name(), self.session_engine.float_mode())
    }

    /// Returns the engine in a float mode, on the target of the given name or on the session's own
    /// target.
    ///
    /// # Errors
    /// The errors of [`Engine::with_target`] and [`Engine::with_float_mode`].
    pub(crate) fn named(&self, target: Option<&str>, mode: FloatMode) -> Result<Arc<dyn Engine>, RunError> {
        if target.is_none() && mode == self.session_engine.float_mode() {
            return Ok(self.session_engine.clone());
        }
        let key = (target.map(str::to_owned), mode);
        let mut others = self.others.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(engine) = others.get(&key) {
            return Ok(engine.clone());
        }
        let mut engine = match target {
            None => self.session_engine.clone(),
            Some(target) => self.session_engine.with_target(target)?,
        };
        if engine.float_mode() != mode {
            engine = engine.with_float_mode(mode)?;
        }
        others.insert(key, engine.clone());
        Ok(engine)
    }
}
