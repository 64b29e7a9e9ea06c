//! The engine of a session on each processor that its user has asked for.

use crate::engine::{Engine, RunError};
use crate::options::RunsOn;
use redpoll_physical::kernel::Processor;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

/// The engine of a session, and what it is on other processors, kept with the kernels that it has compiled there.
#[derive(Debug)]
pub(crate) struct Engines {
    own: Arc<dyn Engine>,
    others: Mutex<HashMap<Processor, Arc<dyn Engine>>>,
}

impl Engines {
    pub(crate) fn new(own: Arc<dyn Engine>) -> Engines {
        Engines { own, others: Mutex::default() }
    }

    /// The engine on what the session has set.
    ///
    /// # Errors
    /// When there is no such processor.
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
