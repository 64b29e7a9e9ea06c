//! The interface to the engine that runs Logic plans, such as a session of the crate `redpoll`.

use crate::options::TargetCheck;
use redpoll_logic::{Alias, FloatMode, Plan};
use redpoll_storage::{Account, Tensor};
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// A runner of Logic plans over tensors.
///
/// `redpoll::Session` implements this trait. The example wraps a session and counts its runs:
///
/// ```
/// use redpoll::Session;
/// use redpoll_logic::{Alias, Plan};
/// use redpoll_storage::Tensor;
/// use redpoll_sql::{Database, Engine, Outcome, RunError, RunLimits};
/// use std::sync::Arc;
/// use std::sync::atomic::{AtomicUsize, Ordering};
///
/// #[derive(Debug)]
/// struct CountingEngine(Session, Arc<AtomicUsize>);
///
/// impl Engine for CountingEngine {
///     fn run(&self, plan: Plan, bindings: Vec<(Alias, Tensor)>, limits: &RunLimits) -> Result<Outcome, RunError> {
///         self.1.fetch_add(1, Ordering::Relaxed);
///         self.0.run(plan, bindings, limits)
///     }
///
///     fn explain(&self, plan: Plan, bindings: Vec<(Alias, Tensor)>) -> Result<Vec<(String, String)>, RunError> {
///         self.0.explain(plan, bindings)
///     }
/// }
///
/// # #[tokio::main]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let runs = Arc::new(AtomicUsize::new(0));
/// let database = Database::new(Arc::new(CountingEngine(Session::default(), runs.clone())));
/// for statement in [
///     "SET redpoll.claim = 'always'",
///     "CREATE TABLE t (k BIGINT) AS VALUES (1), (2), (2)",
///     "SELECT count(*) FROM t a JOIN t b ON a.k = b.k",
/// ] {
///     database.sql(statement).await?.collect().await?;
/// }
/// assert_eq!(runs.load(Ordering::Relaxed), 1);
/// # Ok(())
/// # }
/// ```
pub trait Engine: fmt::Debug + Send + Sync {
    /// Computes the outputs of `plan`; `bindings` has the names of the tables of `plan`, each with
    /// its tensor.
    ///
    /// # Errors
    /// If the plan is refused, a kernel fails, a limit is exceeded, or the run is cancelled.
    fn run(&self, plan: Plan, bindings: Vec<(Alias, Tensor)>, limits: &RunLimits) -> Result<Outcome, RunError>;

    /// Returns the title and text of each phase of the plan, for `EXPLAIN`.
    ///
    /// # Errors
    /// If the plan is refused.
    fn explain(&self, plan: Plan, bindings: Vec<(Alias, Tensor)>) -> Result<Vec<(String, String)>, RunError>;

    /// Returns the function that checks the names of targets, for `SET redpoll.engine`. The default
    /// refuses every name.
    fn target_check(&self) -> TargetCheck {
        |name| Err(format!("the engine of this session has no target but its own, found `{name}`"))
    }

    /// Returns the same engine on the target with this name, for `SET redpoll.engine`.
    ///
    /// # Errors
    /// If the target does not exist, or the engine cannot run on another target. The default
    /// implementation always fails.
    fn with_target(&self, name: &str) -> Result<Arc<dyn Engine>, RunError> {
        let message = format!(
            "the engine of this session cannot run on `{name}`; use its own target by `SET redpoll.engine = 'session'`"
        );
        Err(RunError::Failed(message.into()))
    }

    /// Returns the float mode of the engine. The default implementation returns the default mode.
    fn float_mode(&self) -> FloatMode {
        FloatMode::default()
    }

    /// Returns the same engine in another float mode, for the workers of a cluster whose
    /// coordinator has this mode.
    ///
    /// # Errors
    /// If the engine has no other float mode. The default implementation always fails.
    fn with_float_mode(&self, mode: FloatMode) -> Result<Arc<dyn Engine>, RunError> {
        Err(RunError::Failed(format!("the engine of this session cannot compute in the float mode {mode:?}").into()))
    }
}

/// The results of a run, and its times.
#[derive(Debug)]
pub struct Outcome {
    /// The results, in the order in which the plan produces them.
    pub outputs: Vec<Tensor>,
    /// Time to optimize and compile; close to zero if a congruent plan was run before.
    pub compile: Duration,
    /// Time in the kernels.
    pub run: Duration,
    /// True if kernels of an earlier plan were used.
    pub cached: bool,
}

/// The cancellation flag and the memory account of a run.
#[derive(Clone, Debug, Default)]
pub struct RunLimits {
    /// The flag whose value `true` ends the run at its next check.
    pub cancelled: Arc<AtomicBool>,
    /// The account that is charged for live results and intermediates; `None` if only the limits of
    /// the engine apply.
    pub memory: Option<Arc<dyn Account>>,
}

/// The reason why a run has no results.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// The run was cancelled.
    #[error("the query was cancelled")]
    Cancelled,
    /// The run would have exceeded its memory limit.
    #[error(
        "the results and intermediates of a claimed region exceed the memory limit; raise \
         `datafusion.runtime.memory_limit`, request fewer rows, or `SET redpoll.enabled = false`, so that DataFusion \
         runs the query and spills to disk"
    )]
    Memory,
    /// The target or the plan was refused, or a kernel failed.
    #[error(transparent)]
    Failed(Box<dyn std::error::Error + Send + Sync>),
}
