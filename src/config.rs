//! What a session is configured with.

use crate::error::Error;
use redpoll_physical::emit::c::Toolchain;
use redpoll_physical::kernel;
use redpoll_physical::run::Workers;
use std::path::PathBuf;
use std::sync::Arc;

/// How plans are optimized and run.
#[derive(Clone, Debug)]
pub struct Config {
    /// What the optimizer is told; its float mode holds for every phase.
    pub optimizer: redpoll_optimizer::Config,
    /// What runs prepared plans when nothing else is asked for.
    pub engine: Engine,
    /// The most bytes that outputs, intermediates and workspaces may hold at one time, those of finished runs that are
    /// still alive included; `None` for no limit.
    pub memory_limit: Option<usize>,
    /// The most bytes of a CUDA device that inputs, results and workspaces may take at one time; `None` for three quarters of
    /// what the device has, which is the limit for all sessions of the process together.
    pub device_memory_limit: Option<usize>,
    /// The threads that kernels run on; by default those of this process, as many as the environment variable
    /// `REDPOLL_THREADS` says or the machine runs at once. Results do not depend on their number.
    pub workers: Arc<Workers>,
    /// What compiles for the optimizing tier; by default the C compiler and the caches of this process.
    pub toolchain: Arc<Toolchain>,
    /// A folder into which every phase of every plan is written, one folder a plan; by default the one that the environment
    /// variable `REDPOLL_DUMP` names.
    pub dump: Option<PathBuf>,
    /// A folder of an earlier dump whose C text, which may have been edited, takes the place of what the optimizing tier
    /// would emit; by default the one that the environment variable `REDPOLL_LOAD` names.
    pub load: Option<PathBuf>,
}

impl Default for Config {
    fn default() -> Config {
        let folder = |name| std::env::var_os(name).filter(|f| !f.is_empty()).map(PathBuf::from);
        Config {
            optimizer: redpoll_optimizer::Config::default(),
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
    /// Checks what the environment says of the threads, where it is asked.
    pub(crate) fn check_environment(&self) -> Result<(), Error> {
        match Arc::ptr_eq(&self.workers, Workers::host()) {
            true => Workers::from_environment().map(drop).map_err(Error::Environment),
            false => Ok(()),
        }
    }
}

/// What runs a prepared plan. All engines agree on the results; the interpreters are made for tests and small data.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Engine {
    /// The reference interpreter of Logic: dense and naive, before any optimization.
    LogicInterpreter,
    /// The interpreter of Notation: the loops as the optimizer has chosen them, over dense tensors.
    NotationInterpreter,
    /// The bounds-checked interpreter of Assembly: the code of the kernels, over stored tensors; it counts the work.
    AssemblyInterpreter,
    /// The interpreter of grids: the code of the kernels as machines of many threads would run it, in random orders; it
    /// reports races.
    GridInterpreter,
    /// Machine code by Cranelift, the instant tier.
    Instant,
    /// Machine code by the C compiler of this machine, the optimizing tier.
    Optimizing,
    /// The CUDA device of that number. Without it, or without its driver and run-time compiler, preparing a plan is an error
    /// that says what is missing; so is a plan with functions that the host alone has.
    Cuda(u32),
    /// The CPU, never a device: the instant tier first; the optimizing tier is compiled in the background when a plan has
    /// proved worth it, and takes over between two runs, with the same bits. Where there is no C compiler, the instant tier
    /// goes on.
    Cpu,
    /// The first CUDA device where that is expected to pay, transfers and compilation included, else as [`Engine::Cpu`];
    /// [`Prepared::placement`](crate::Prepared::placement) says which, and why. What the device does not do runs on the CPU.
    #[default]
    Auto,
}

impl Engine {
    /// Every engine that all machines have, from the one furthest from the machine to the nearest; `Cpu` chooses between the
    /// last two.
    pub const ALL: [Engine; 6] = [
        Engine::LogicInterpreter,
        Engine::NotationInterpreter,
        Engine::AssemblyInterpreter,
        Engine::GridInterpreter,
        Engine::Instant,
        Engine::Optimizing,
    ];

    /// The name in messages.
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

    /// What runs the kernels, at first; the engines above Assembly have none.
    pub(crate) fn of_kernels(self) -> Option<kernel::Engine> {
        match self {
            Engine::LogicInterpreter | Engine::NotationInterpreter => None,
            Engine::AssemblyInterpreter => Some(kernel::Engine::Interpreter),
            Engine::GridInterpreter => Some(kernel::Engine::Grid),
            Engine::Instant | Engine::Cpu | Engine::Auto => Some(kernel::Engine::Instant),
            Engine::Optimizing => Some(kernel::Engine::Optimizing),
            Engine::Cuda(ordinal) => Some(kernel::Engine::Cuda(ordinal)),
        }
    }
}
