//! The engines of a session, one per processor that the user has asked for.

use crate::engine::{Engine, RunError};
use crate::options::RunsOn;
use redpoll_physical::kernel::Processor;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

/// The session's own engine, and the engines on other processors, with the kernels that they have
/// compiled.
#[derive(Debug)]
pub(crate) struct Engines {
    own: Arc<dyn Engine>,
    others: Mutex<HashMap<Processor, Arc<dyn Engine>>>,
}

impl Engines {
    pub(crate) fn new(own: Arc<dyn Engine>) -> Engines {
        Engines { own, others: Mutex::default() }
    }

    /// Returns the engine on the processor that the session has set.
    ///
    /// # Errors
    /// If there is no such processor.
    pub(crate) fn on(&self, runs_on: RunsOn) -> Result<Arc<dyn Engine>, RunError> {
        let RunsOn::Processor(processor) = runs_on else { return Ok(self.own.clone()) };
        let mut others = self.others.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(engine) = others.get(&processor) {
            return Ok(engine.clone());
        }
        let engine = self.own.on(processor)?;
        others.insert(processor, engine.clone());
        Ok(engine)
    }
}
