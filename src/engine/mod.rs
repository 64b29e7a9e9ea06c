//! The ways to run plans and programs: kernels, and the interpreters of Notation and Logic. Also
//! the choices between a device and the CPU, and between the tiers.

mod block_inputs;
mod dense;
mod kernels;
mod logic;
mod notation;
mod optimizing;
mod placement;
mod stage;
mod trial;

pub(crate) use kernels::{run_in_tiers, run_kernel};
pub(crate) use logic::run_logic;
pub(crate) use notation::run_notation;
pub(crate) use optimizing::{OptimizingTier, compile_error};
pub(crate) use placement::{DeviceState, RunEstimate, choose_target};
pub use placement::{Placement, Reason};
pub(crate) use stage::{KernelOptions, Layouts, Stage, StageLoops, StageWork};
pub use trial::TierChoice;
pub(crate) use trial::TierTrial;
