//! What a session is configured with.

use redpoll_physical::kernel;

/// How plans are optimized and run.
#[derive(Clone, Debug, Default)]
pub struct Config {
    /// What the optimizer is told; its float mode holds for every phase.
    pub optimizer: redpoll_optimizer::Config,
    /// What runs prepared plans when nothing else is asked for.
    pub engine: Engine,
    /// The most bytes that outputs, intermediates and workspaces may hold at one time, those of finished runs that are
    /// still alive included; `None` for no limit.
    pub memory_limit: Option<usize>,
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
    /// Machine code by Cranelift, the instant tier.
    #[default]
    Instant,
}

impl Engine {
    /// Every engine, from the one furthest from the machine to the nearest.
    pub const ALL: [Engine; 4] =
        [Engine::LogicInterpreter, Engine::NotationInterpreter, Engine::AssemblyInterpreter, Engine::Instant];

    /// The name in messages.
    pub fn name(self) -> &'static str {
        match self {
            Engine::LogicInterpreter => "logic interpreter",
            Engine::NotationInterpreter => "notation interpreter",
            Engine::AssemblyInterpreter => "assembly interpreter",
            Engine::Instant => "instant",
        }
    }

    /// What runs the kernels; the engines above Assembly have none.
    pub(crate) fn of_kernels(self) -> Option<kernel::Engine> {
        match self {
            Engine::LogicInterpreter | Engine::NotationInterpreter => None,
            Engine::AssemblyInterpreter => Some(kernel::Engine::Interpreter),
            Engine::Instant => Some(kernel::Engine::Instant),
        }
    }
}
