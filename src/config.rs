//! Configuration of sessions.

use crate::error::Error;
use redpoll_physical::emit::c::Toolchain;
use redpoll_physical::kernel;
use redpoll_physical::run::Workers;
use std::path::PathBuf;
use std::sync::Arc;

/// Options of planning and running.
#[derive(Clone, Debug)]
pub struct Config {
    /// Options of the optimizer. The float mode applies to every phase.
    pub optimizer: redpoll_optimizer::OptimizerConfig,
    /// Engine of runs that name no engine.
    pub engine: Engine,
    /// Maximum number of bytes allocated at one time for outputs, intermediates and workspaces,
    /// including live results of finished runs. `None` means no limit.
    pub memory_limit: Option<usize>,
    /// Maximum number of bytes of CUDA device memory allocated at one time for inputs, results and
    /// workspaces. `None` means three quarters of the device memory, shared by all sessions of the
    /// process.
    pub device_memory_limit: Option<usize>,
    /// Worker threads of kernels; by default those of the process. The environment variable
    /// `REDPOLL_THREADS` sets their number, which defaults to the parallelism of the machine.
    /// Results do not depend on the number of threads.
    pub workers: Arc<Workers>,
    /// Compiler of the optimizing tier; by default the C compiler and the caches of the process.
    pub toolchain: Arc<Toolchain>,
    /// Folder to which every phase of every plan is dumped, one subfolder per plan; by default that
    /// of the environment variable `REDPOLL_DUMP`.
    pub dump: Option<PathBuf>,
    /// Folder of an earlier dump, whose C text (possibly edited) replaces the output of the
    /// optimizing tier; by default that of the environment variable `REDPOLL_LOAD`.
    pub load: Option<PathBuf>,
}

impl Default for Config {
    fn default() -> Config {
        let folder = |name| std::env::var_os(name).filter(|f| !f.is_empty()).map(PathBuf::from);
        Config {
            optimizer: redpoll_optimizer::OptimizerConfig::default(),
            engine: Engine::default(),
            memory_limit: None,
            device_memory_limit: None,
            workers: Workers::host().clone(),
            toolchain: Toolchain::host().clone(),
            dump: folder("REDPOLL_DUMP"),
            load: folder("REDPOLL_LOAD"),
        }
    }
}

impl Config {
    /// Checks the environment variable for the number of threads, if the workers are those of the
    /// process.
    pub(crate) fn check_environment(&self) -> Result<(), Error> {
        match Arc::ptr_eq(&self.workers, Workers::host()) {
            true => Workers::from_environment().map(drop).map_err(Error::Environment),
            false => Ok(()),
        }
    }
}

/// The engine that runs a prepared plan. All engines agree on the results; the interpreters are
/// meant for tests and small data.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Engine {
    /// The reference interpreter of Logic: dense and naive, before optimization.
    LogicInterpreter,
    /// The interpreter of Notation: the loops chosen by the optimizer, over dense tensors.
    NotationInterpreter,
    /// The bounds-checked interpreter of Assembly: the code of the kernels, over stored tensors. It
    /// counts the work.
    AssemblyInterpreter,
    /// The interpreter of grids: the code of the kernels on emulated lanes, in random orders. It
    /// reports races.
    GridInterpreter,
    /// Machine code by Cranelift: the instant tier.
    Instant,
    /// Machine code by the C compiler of the machine: the optimizing tier.
    Optimizing,
    /// The CUDA device of the given number. Preparing a plan fails if the device, its driver or the
    /// run-time compiler is missing, or if the plan calls functions that exist only on the host.
    Cuda(u32),
    /// The CPU in two tiers. Runs begin on the instant tier. Once a plan has run long enough, the
    /// optimizing tier is compiled in the background and replaces the instant tier between two
    /// runs, with bit-identical results. Without a C compiler, the instant tier remains.
    Cpu,
    /// The first CUDA device if it is expected to be faster, including transfers and compilation,
    /// otherwise the same as [`Engine::Cpu`].
    /// [`PreparedPlan::placement`](crate::PreparedPlan::placement) reports the choice and its
    /// reason. Queries that the device does not support run on the CPU.
    #[default]
    Auto,
}

impl Engine {
    /// All engines that exist on every machine, from the highest level to the lowest. `Cpu` chooses
    /// between the last two.
    pub const ALL: [Engine; 6] = [
        Engine::LogicInterpreter,
        Engine::NotationInterpreter,
        Engine::AssemblyInterpreter,
        Engine::GridInterpreter,
        Engine::Instant,
        Engine::Optimizing,
    ];

    /// Returns the name used in messages.
    pub fn name(self) -> &'static str {
        match self {
            Engine::LogicInterpreter => "logic interpreter",
            Engine::NotationInterpreter => "notation interpreter",
            Engine::AssemblyInterpreter => "assembly interpreter",
            Engine::GridInterpreter => "grid interpreter",
            Engine::Instant => "instant",
            Engine::Optimizing => "optimizing",
            Engine::Cuda(_) => "cuda",
            Engine::Cpu => "cpu",
            Engine::Auto => "auto",
        }
    }

    /// Returns the engine of the kernels at the start of a run, or `None` for the interpreters
    /// above Assembly.
    pub(crate) fn kernel_engine(self) -> Option<kernel::KernelEngine> {
        match self {
            Engine::LogicInterpreter | Engine::NotationInterpreter => None,
            Engine::AssemblyInterpreter => Some(kernel::KernelEngine::Interpreter),
            Engine::GridInterpreter => Some(kernel::KernelEngine::Grid),
            Engine::Instant | Engine::Cpu | Engine::Auto => Some(kernel::KernelEngine::Instant),
            Engine::Optimizing => Some(kernel::KernelEngine::Optimizing),
            Engine::Cuda(ordinal) => Some(kernel::KernelEngine::Cuda(ordinal)),
        }
    }
}
