//! The optimizing tier of a plan: all kernels in one translation unit, compiled in the foreground
//! or in the background.

use super::stage::query_error;
use super::{Stage, StageLoops};
use crate::error::Error;
use crate::target::Target;
use crate::timings::Phase;
use redpoll_compiler::lower::Draft;
use redpoll_kernels::backend::{Backend, OptimizingBackend};
use redpoll_kernels::c::Toolchain;
use redpoll_kernels::kernel::Kernel;
use redpoll_logic::FloatMode;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

/// Total time of the runs on the instant tier after which compilation starts. A compilation takes
/// about as long, so that runs and compilation together take at most about twice the least possible
/// time.
const MIN_TIME: Duration = Duration::from_millis(50);
/// Number of runs after which a plan is assumed to run repeatedly, however fast it is.
const MIN_RUNS: u64 = 200;

/// The state of the optimizing tier of a plan.
pub(crate) struct OptimizingTier {
    pub(crate) toolchain: Arc<Toolchain>,
    pub(crate) mode: FloatMode,
    /// Edited C text, which replaces the generated text.
    pub(crate) edited_text: Option<String>,
    runs: AtomicU64,
    nanos: AtomicU64,
    background: Mutex<Option<JoinHandle<()>>>,
    started: OnceLock<()>,
    failure: OnceLock<String>,
}

impl OptimizingTier {
    pub(crate) fn new(toolchain: &Arc<Toolchain>, mode: FloatMode, edited_text: Option<String>) -> OptimizingTier {
        OptimizingTier {
            toolchain: toolchain.clone(),
            mode,
            edited_text,
            runs: AtomicU64::new(0),
            nanos: AtomicU64::new(0),
            background: Mutex::default(),
            started: OnceLock::new(),
            failure: OnceLock::new(),
        }
    }

    /// Returns the C text of the stages; the edited text, if there is one.
    pub(crate) fn text(&self, stages: &[Stage]) -> Result<String, Error> {
        if let Some(edited_text) = &self.edited_text {
            return Ok(edited_text.clone());
        }
        let drafts: Vec<&Draft> = loops(stages).map(|l| l.draft(self.mode)).collect();
        OptimizingBackend::new(&self.toolchain).text(&drafts).map_err(|source| compile_error(stages, source))
    }

    /// Compiles the missing kernels of all stages. With edited text, compiles all kernels unless
    /// all are compiled already.
    pub(crate) fn compile(&self, stages: &[Stage]) -> Result<(), Error> {
        if self.is_ready(stages) {
            return Ok(());
        }
        let is_missing = |l: &&StageLoops| self.edited_text.is_some() || !l.is_compiled(Target::OPTIMIZING);
        let missing: Vec<&StageLoops> = loops(stages).filter(is_missing).collect();
        let drafts: Vec<&Draft> = missing.iter().map(|l| l.draft(self.mode)).collect();
        let backend = OptimizingBackend::new(&self.toolchain);
        let kernels = match &self.edited_text {
            Some(text) => backend.compile_edited(text, &drafts),
            None => Kernel::compile_all(&drafts, &(Arc::new(backend) as Arc<dyn Backend>)),
        };
        for (loops, kernel) in missing.into_iter().zip(kernels.map_err(|source| compile_error(stages, source))?) {
            loops.store_kernel(Target::OPTIMIZING, kernel);
        }
        Ok(())
    }

    /// Returns whether the kernels of all stages are compiled.
    pub(crate) fn is_ready(&self, stages: &[Stage]) -> bool {
        loops(stages).all(|l| l.is_compiled(Target::OPTIMIZING))
    }

    /// Counts a run of the instant tier, and adds its time to the time of all such runs.
    pub(crate) fn count_run(&self, time: Duration) {
        self.runs.fetch_add(1, Ordering::Relaxed);
        self.nanos.fetch_add(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX), Ordering::Relaxed);
    }

    /// Starts the compilation in the background, once, if earlier runs have reached a threshold and
    /// this build can compile C. The check precedes a run, so a plan that does not run again is not
    /// compiled.
    pub(crate) fn start_if_due(self: &Arc<Self>, stages: &Arc<Vec<Stage>>) {
        let spent = Duration::from_nanos(self.nanos.load(Ordering::Relaxed));
        let due = Toolchain::AVAILABLE && (spent >= MIN_TIME || self.runs.load(Ordering::Relaxed) >= MIN_RUNS);
        if due && self.started.set(()).is_ok() {
            self.start(stages);
        }
    }

    fn start(self: &Arc<Self>, stages: &Arc<Vec<Stage>>) {
        let (tier, stages) = (self.clone(), stages.clone());
        let compile = move || {
            if let Err(error) = tier.compile(&stages) {
                tier.fail(&error.to_string());
            }
        };
        match std::thread::Builder::new().name("redpoll-compile".into()).spawn(compile) {
            Ok(thread) => *self.background.lock().unwrap_or_else(PoisonError::into_inner) = Some(thread),
            Err(error) => self.fail(&error.to_string()),
        }
    }

    fn fail(&self, reason: &str) {
        self.failure.get_or_init(|| {
            format!("the optimizing tier failed to compile, so the instant tier remains in use: {reason}")
        });
    }

    /// Waits for the compilation in the background, if there is one.
    pub(crate) fn wait(&self) {
        let thread = self.background.lock().unwrap_or_else(PoisonError::into_inner).take();
        if thread.is_some_and(|thread| thread.join().is_err()) {
            self.fail("the compiler thread panicked");
        }
    }

    /// Returns the reason why the optimizing tier failed, if it did.
    pub(crate) fn failure(&self) -> Option<&str> {
        self.failure.get().map(String::as_str)
    }
}

fn loops(stages: &[Stage]) -> impl Iterator<Item = &StageLoops> {
    stages.iter().filter_map(Stage::loops)
}

/// Returns the error of compiling all queries together.
pub(crate) fn compile_error(stages: &[Stage], source: redpoll_kernels::Error) -> Error {
    let names: Vec<&str> = stages.iter().filter(|s| s.loops().is_some()).map(|s| s.name.as_str()).collect();
    query_error(Phase::Compile, &names.join(", "), source)
}
