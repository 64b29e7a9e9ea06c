//! The engines of a session, one per processor that the user has chosen.

use crate::engine::{Engine, RunError};
use crate::options::EngineChoice;
use redpoll_physical::kernel::Processor;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

/// The session's own engine, and the engines on other processors, with the kernels that they have
/// compiled.
#[derive(Debug)]
pub(crate) struct Engines {
    session_engine: Arc<dyn Engine>,
    by_processor: Mutex<HashMap<Processor, Arc<dyn Engine>>>,
}

impl Engines {
    pub(crate) fn new(session_engine: Arc<dyn Engine>) -> Engines {
        Engines { session_engine, by_processor: Mutex::default() }
    }

    /// Returns the engine on the processor that the session has set.
    ///
    /// # Errors
    /// If there is no such processor.
    pub(crate) fn select(&self, engine_choice: EngineChoice) -> Result<Arc<dyn Engine>, RunError> {
        let EngineChoice::Processor(processor) = engine_choice else { return Ok(self.session_engine.clone()) };
        let mut engines = self.by_processor.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(engine) = engines.get(&processor) {
            return Ok(engine.clone());
        }
        let engine = self.session_engine.with_processor(processor)?;
        engines.insert(processor, engine.clone());
        Ok(engine)
    }
}
