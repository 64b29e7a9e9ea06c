//! What runs Logic plans: the boundary to the session of the crate `redpoll`.

use redpoll_logic::{Alias, Plan};
use redpoll_physical::kernel::Processor;
use redpoll_physical::run::Account;
use redpoll_physical::storage::Tensor;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// Runs Logic plans over tensors.
pub trait Engine: fmt::Debug + Send + Sync {
    /// Computes what a plan produces, over the tensors bound to the names of its tables.
    ///
    /// # Errors
    /// When the plan is refused, a limit is met, or the run is stopped.
    fn run(&self, plan: Plan, bindings: Vec<(Alias, Tensor)>, stop: &Stop) -> Result<Outcome, RunError>;

    /// What becomes of a plan: the text of each phase, for `EXPLAIN`.
    ///
    /// # Errors
    /// When the plan is refused.
    fn explain(&self, plan: Plan, bindings: Vec<(Alias, Tensor)>) -> Result<Vec<(String, String)>, RunError>;

    /// What does the same on a processor, for `SET redpoll.engine`.
    ///
    /// # Errors
    /// When the processor is not there, or the engine has but its own, as it has where this is left as it is.
    fn on(&self, processor: Processor) -> Result<Arc<dyn Engine>, RunError> {
        let what =
            format!("the engine of this session cannot be moved to `{processor}`; `SET redpoll.engine = 'session'`");
        Err(RunError::Failed(what.into()))
    }
}

/// What a run gave.
#[derive(Debug)]
pub struct Outcome {
    /// The results, in the order in which the plan produces them.
    pub outputs: Vec<Tensor>,
    /// How long it took to optimize and compile; about nothing when a plan alike was run before.
    pub compile: Duration,
    /// How long the kernels ran.
    pub run: Duration,
    /// Whether kernels of an earlier plan served.
    pub cached: bool,
}

/// Asks a run to stop, and how much memory it may take.
#[derive(Clone, Debug, Default)]
pub struct Stop {
    /// Once it is set, the run ends at its next chance.
    pub cancelled: Arc<AtomicBool>,
    /// What results and intermediates are charged to while they live.
    pub memory: Option<Arc<dyn Account>>,
}

/// Why a run has no results.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// It was asked to stop.
    #[error("the query was cancelled")]
    Cancelled,
    /// It would have held more memory than it may.
    #[error(
        "the results and intermediates of a claimed region exceed the memory limit; raise \
         `datafusion.runtime.memory_limit`, ask for less, or `SET redpoll.enabled = false`, which lets DataFusion spill"
    )]
    Memory,
    /// The plan was refused, or a kernel failed.
    #[error(transparent)]
    Failed(Box<dyn std::error::Error + Send + Sync>),
}
