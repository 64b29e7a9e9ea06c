//! The engine of `redpoll-sql`: sessions run the regions that `redpoll-sql` claims.

use crate::bindings::Bindings;
use crate::error::Error;
use crate::explain::Detail;
use crate::session::Session;
use crate::target::Target;
use crate::timings::Phase;
use redpoll_kernels::run::Limits;
use redpoll_logic::{Alias, FloatMode, Plan};
use redpoll_sql::{Engine, Outcome, RunError, RunLimits, TargetCheck};
use redpoll_storage::{MemoryBudget, Status, Tensor};
use std::sync::Arc;
use std::sync::atomic::Ordering;

impl Engine for Session {
    fn run(&self, plan: Plan, bindings: Vec<(Alias, Tensor)>, run_limits: &RunLimits) -> Result<Outcome, RunError> {
        let own = &self.limits().memory;
        let memory = match &run_limits.memory {
            None => own.clone(),
            Some(account) => Arc::new(MemoryBudget::with_accounts(own.limit(), vec![own.clone(), account.clone()])),
        };
        let limits = Limits { memory, cancel: run_limits.cancelled.clone(), ..self.limits().clone() };
        let session = self.with_limits(limits);
        let start = std::time::Instant::now();
        let prepared = session.prepare_plan(plan, &bind_columns(bindings)).map_err(run_error)?;
        let compile = start.elapsed();
        let cached = prepared.timings().of(Phase::Optimize).is_zero();
        if run_limits.cancelled.load(Ordering::Relaxed) {
            return Err(RunError::Cancelled);
        }
        let run = prepared.run().map_err(run_error)?;
        let outputs: Vec<Tensor> = run.outputs.into_iter().map(|(_, tensor)| tensor).collect();
        // Outputs are fetched now, because rows are built from them next.
        outputs.iter().try_for_each(|tensor| tensor.fetch().map_err(|e| run_error(e.into())))?;
        Ok(Outcome { outputs, compile, run: run.time, cached })
    }

    fn explain(&self, plan: Plan, bindings: Vec<(Alias, Tensor)>) -> Result<Vec<(String, String)>, RunError> {
        let prepared = self.prepare_plan(plan, &bind_columns(bindings)).map_err(run_error)?;
        let sections = prepared.explain(Detail::Notation).map_err(run_error)?;
        Ok(sections.into_iter().map(|s| (s.title, s.text)).collect())
    }

    fn target_check(&self) -> TargetCheck {
        |name| name.parse::<Target>().map(|target| target.to_string()).map_err(|error| error.to_string())
    }

    fn with_target(&self, name: &str) -> Result<Arc<dyn Engine>, RunError> {
        let target: Target = name.parse().map_err(|e| RunError::Failed(Box::new(e)))?;
        if target.is_device() {
            // A missing device is reported at once.
            let found = target.backend(self.config()).and_then(|backend| backend.check());
            found.map_err(|e| RunError::Failed(Box::new(e)))?;
        }
        Ok(Arc::new(if target == self.config().target { self.clone() } else { self.on_target(target) }))
    }

    fn float_mode(&self) -> FloatMode {
        self.config().optimizer.float_mode
    }

    fn with_float_mode(&self, mode: FloatMode) -> Result<Arc<dyn Engine>, RunError> {
        Ok(Arc::new(self.in_float_mode(mode)))
    }
}

pub(super) fn run_error(error: Error) -> RunError {
    match kernel_status(&error) {
        Some(Status::Cancelled) => RunError::Cancelled,
        Some(Status::OutOfMemory) => RunError::Memory,
        _ => RunError::Failed(Box::new(error)),
    }
}

/// Returns the status of a kernel that stopped early, if the error reports one.
fn kernel_status(error: &Error) -> Option<Status> {
    match error {
        Error::Query { source, .. } | Error::Storage(source) => source.status(),
        _ => None,
    }
}

/// Binds the columns of tables as tensors that are marked as having no special values. Kernels then
/// multiply by IEEE 754, like DataFusion: 0 times an infinity is NaN.
fn bind_columns(columns: Vec<(Alias, Tensor)>) -> Bindings {
    columns.into_iter().map(|(alias, tensor)| (alias, tensor.assume_regular())).collect()
}
