//! The interpreter of grids: runs teams and lanes in a random order, and reports faults that must
//! not occur in any order:
//!
//! - A race: two lanes access one element, at least one of them changes it, not both accesses are
//!   atomic, and no barrier separates them.
//! - A load of, or an atomic operation on, an uninitialized element into which no lane has stored;
//!   or a load of an element to which the window has not grown.
//! - A result that was allocated in full before the launch and still has an uninitialized element
//!   when the launch ends.
//! - An access outside a window, an index that does not fit its type, or an invalid `bool`. The
//!   interpreter of Assembly reports these faults too.
//! - Divergence: lanes of a team wait at different statements, wait for a lane that has ended, or
//!   end with different statuses.
//!
//! Whether other faults than races are detected may depend on the order. Races are found by
//! comparing the barriers that lanes have passed, not the order in which accesses happen to run.

mod batches;
mod fold;
mod machine;
mod memory;
mod ops;
#[cfg(test)]
mod tests;

use super::{Grid, verify};
use crate::Error;
use arrow_buffer::MutableBuffer;
use machine::GridMachine;
use ops::{StepList, to_steps};
use redpoll_compiler::assembly::{Buffer, BufferDecl, Buffers, InterpFault, Signature, Status};
use redpoll_kernels::Error as KernelError;
use redpoll_kernels::run::{Invocation, Limits};
use redpoll_storage::{Array, charge_buffer};
use std::any::Any;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

/// A fault of a grid that a machine would not notice. The mapping is at fault, never the user.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum GridFault {
    /// A fault that the interpreter of Assembly reports as well.
    #[error(transparent)]
    Interp(#[from] InterpFault),
    /// Two lanes access an element without a barrier between the accesses, at least one of the
    /// accesses changes the element, and not both are atomic.
    #[error(
        "data race on element {index} of buffer `{buffer}`, between lane {} of team {} and lane {} of team {}",
        first.1, first.0, second.1, second.0
    )]
    Race {
        /// The buffer's name.
        buffer: String,
        /// The element.
        index: i64,
        /// Team and lane of one access.
        first: (u32, u32),
        /// Team and lane of the other access.
        second: (u32, u32),
    },
    /// A load of, or an atomic operation on, an element that is not initialized.
    #[error("element {index} of buffer `{buffer}` is read before it is initialized")]
    Unwritten {
        /// The buffer's name.
        buffer: String,
        /// The element.
        index: i64,
    },
    /// An uninitialized element of a result at the end of a launch.
    #[error("element {index} of the result `{buffer}` was not written")]
    UnwrittenResult {
        /// The buffer's name.
        buffer: String,
        /// The element.
        index: i64,
    },
    /// Divergence of the lanes of the team with this number.
    #[error("the lanes of team {0} diverged")]
    Divergence(u32),
}

/// A runner of a grid: the interpreter or a device.
pub(crate) trait GridRunner: Send + Sync {
    /// Returns the grid.
    fn grid(&self) -> &Grid;

    /// Returns the largest number of teams.
    fn teams(&self) -> usize;

    /// Returns the number of bytes that windows may take under `limits`.
    fn window_bytes(&self, _limits: &Limits) -> usize {
        usize::MAX
    }

    /// Runs all chunks.
    ///
    /// # Errors
    /// The fault of the grid, if the runner detects one; [`KernelError::InvalidInvocation`] for
    /// inputs of another function; errors of the device.
    fn run(&self, launch: &Launch<'_>) -> Result<LaunchResult, Error>;

    /// Returns whether the runner has its own memory, in which inputs may reside and results stay.
    fn has_own_memory(&self) -> bool {
        false
    }

    /// Builds an array from the windows of a launch.
    ///
    /// # Errors
    /// [`KernelError::KernelStopped`] if the memory for the array is exhausted; errors of the
    /// device.
    fn gather(&self, gather: &Gather<'_>, limits: &Limits) -> Result<Array, Error> {
        let size = gather.decl.prim.bytes();
        let mut bytes = MutableBuffer::with_capacity(gather.len() * size);
        let mut push = |bits: u64| bytes.extend_from_slice(&bits.to_le_bytes()[..size]);
        gather.head.iter().for_each(|bits| push(*bits));
        for GatherPiece { window, from, len, shift } in gather.pieces {
            let elements = &gather.windows[*window].elements()[*from..from + len];
            elements.iter().for_each(|bits| push(bits.wrapping_add_signed(*shift)));
        }
        let memory = charge_buffer(bytes.into(), &limits.memory);
        let memory = memory.ok_or(Error::Kernels(KernelError::KernelStopped(Status::OutOfMemory)))?;
        Array::new(gather.decl.prim, memory, gather.len())
            .ok_or_else(|| Error::Kernels(KernelError::InvalidInvocation("buffers of Arrow are aligned".into())))
    }

    /// Converts an array to a window in the memory in which launches run.
    ///
    /// # Errors
    /// Errors of the device.
    fn to_window(&self, array: &Array, _limits: &Limits) -> Result<ResultWindow, Error> {
        let elements = (0..array.len()).map(|k| array.bits(k)).collect::<Vec<u64>>();
        Ok(ResultWindow {
            first: 0,
            requested: elements.len(),
            len: elements.len(),
            contents: Contents::Host(elements),
        })
    }

    /// Returns the elements of the windows of a buffer, in the representation of loads.
    ///
    /// # Errors
    /// Errors of the device.
    fn elements(&self, _decl: &BufferDecl, windows: &[ResultWindow]) -> Result<Vec<Vec<u64>>, Error> {
        Ok(windows.iter().map(|window| window.elements().to_vec()).collect())
    }

    /// Limits launches to `_limit` steps, on runners that count steps.
    fn limit_steps(&mut self, _limit: u64) {}
}

/// Number of teams of interpreted grids.
const TEAMS: usize = 3;
/// Sizes in bytes of a team's part of the memory of a block; the seed of a launch chooses a size.
/// Windows soon outgrow the small sizes.
const BLOCK_BYTES: [usize; 4] = [200, 72, 1 << 14, 0];

/// A grid prepared for interpretation.
pub struct GridProgram {
    grid: Grid,
    code: StepList,
    signature: Arc<Signature>,
    step_limit: u64,
    /// Number of steps after which the launch is cancelled.
    cancelled_at: u64,
}

/// The inputs of a launch.
pub(crate) struct Launch<'a> {
    /// Input buffers and parameters.
    pub(crate) inputs: &'a Invocation,
    /// The chunks.
    pub(crate) chunks: &'a [Range<i64>],
    /// For each chunk, the positions of the list that its rounds are limited to, if the grid has
    /// sections.
    pub(crate) sections: &'a [Range<i64>],
    /// The windows of each buffer: one window if all chunks share the buffer, else one for each
    /// chunk or team; none for inputs and unused buffers.
    pub(crate) windows: Vec<Vec<WindowExtent>>,
    /// Buffers whose elements are all written before they are read; their memory may be
    /// uninitialized.
    pub(crate) unfilled: &'a [Buffer],
    /// Number of teams.
    pub(crate) teams: usize,
    /// The seed of the random order.
    pub(crate) seed: u64,
}

/// The extent of a window before the launch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct WindowExtent {
    /// Position of the first element.
    pub(crate) first: i64,
    /// Number of elements that exist from the start.
    pub(crate) len: usize,
    /// Number of elements that the window may grow to.
    pub(crate) capacity: usize,
}

/// The outcome of a chunk or of a launch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum LaunchOutcome {
    /// The chunk ended with a status.
    Status(Status),
    /// A window needs more capacity.
    OutOfCapacity,
}

impl LaunchOutcome {
    /// Combines the outcomes of chunks. A cancelled chunk takes precedence. Next comes a chunk that
    /// is out of capacity, since the launch is then repeated whatever other chunks report.
    /// Otherwise, returns the first status other than `Done`, if any.
    pub(crate) fn combine(outcomes: &[LaunchOutcome]) -> LaunchOutcome {
        let cancelled = LaunchOutcome::Status(Status::Cancelled);
        let first = |outcome: LaunchOutcome| outcomes.contains(&outcome).then_some(outcome);
        let stopped = || outcomes.iter().find(|outcome| **outcome != LaunchOutcome::Status(Status::Done)).copied();
        first(cancelled)
            .or_else(|| first(LaunchOutcome::OutOfCapacity))
            .or_else(stopped)
            .unwrap_or(LaunchOutcome::Status(Status::Done))
    }
}

/// The result of a launch.
pub(crate) struct LaunchResult {
    pub(crate) outcome: LaunchOutcome,
    /// The windows of each buffer.
    pub(crate) windows: Vec<Vec<ResultWindow>>,
    /// Execution time by the clock of the device, if a device ran the launch.
    pub(crate) time: Option<Duration>,
    /// Number of rounds of spread loops that each lane has run.
    #[cfg(test)]
    pub(crate) rounds: Vec<u64>,
}

/// Elements of a window that become part of an array.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct GatherPiece {
    /// Number of the window.
    pub(crate) window: usize,
    /// Index of the first element, from the start of the window.
    pub(crate) from: usize,
    /// Number of elements.
    pub(crate) len: usize,
    /// Value added to each element.
    pub(crate) shift: i64,
}

/// An array gathered from windows of a buffer.
pub(crate) struct Gather<'a> {
    /// The declaration of the buffer.
    pub(crate) decl: &'a BufferDecl,
    /// The windows of the buffer.
    pub(crate) windows: &'a [&'a ResultWindow],
    /// Elements before the pieces.
    pub(crate) head: &'a [u64],
    /// The pieces, one after the other.
    pub(crate) pieces: &'a [GatherPiece],
}

impl Gather<'_> {
    /// Returns the number of elements.
    pub(crate) fn len(&self) -> usize {
        self.head.len() + self.pieces.iter().map(|piece| piece.len).sum::<usize>()
    }
}

/// A window after a launch.
pub(crate) struct ResultWindow {
    /// Position of the first element.
    pub(crate) first: i64,
    /// Number of elements that growth requested.
    pub(crate) requested: usize,
    /// Number of elements that the window has.
    pub(crate) len: usize,
    pub(crate) contents: Contents,
}

/// The memory that has the elements of a window.
pub(crate) enum Contents {
    /// Main memory, with elements in the representation of loads.
    Host(Vec<u64>),
    /// The memory of the device that ran the launch, with the offset in bytes.
    Device(Arc<dyn Any + Send + Sync>, usize),
}

impl ResultWindow {
    /// Returns the elements of a window in main memory.
    ///
    /// # Panics
    /// If the window is not in main memory.
    pub(crate) fn elements(&self) -> &[u64] {
        match &self.contents {
            Contents::Host(elements) => elements,
            Contents::Device(..) => unreachable!("the device that ran the launch gathers the windows in its memory"),
        }
    }
}

impl GridProgram {
    /// Verifies a grid and translates it to steps.
    ///
    /// # Errors
    /// [`InvalidAssembly`](redpoll_compiler::Error::InvalidAssembly) if the verifier rejects the
    /// grid.
    pub fn new(grid: Grid) -> Result<GridProgram, Error> {
        let faults = verify(&grid);
        if !faults.is_empty() {
            return Err(redpoll_compiler::Error::invalid_assembly(&grid.function.name, &faults).into());
        }
        Ok(GridProgram::new_unchecked(grid))
    }

    /// Prepares a grid without verifying it: its function must be valid, but its mapping may be
    /// broken.
    pub(crate) fn new_unchecked(grid: Grid) -> GridProgram {
        let (code, signature) = (to_steps(&grid), Signature::of(&grid.function));
        GridProgram { grid, code, signature, step_limit: u64::MAX, cancelled_at: u64::MAX }
    }

    /// Limits launches to `limit` steps of all lanes together. A launch that exceeds the limit
    /// fails with [`InterpFault::TooManyIterations`].
    pub fn with_step_limit(mut self, limit: u64) -> GridProgram {
        self.step_limit = limit;
        self
    }

    /// Cancels launches after `step` steps of all lanes together.
    #[cfg(test)]
    pub(crate) fn with_cancellation_at(mut self, step: u64) -> GridProgram {
        self.cancelled_at = step;
        self
    }

    /// Returns the grid.
    pub fn grid(&self) -> &Grid {
        &self.grid
    }
}

impl GridRunner for GridProgram {
    fn grid(&self) -> &Grid {
        &self.grid
    }

    fn teams(&self) -> usize {
        TEAMS
    }

    /// Runs all chunks.
    ///
    /// # Errors
    /// [`Error::Grid`] with the first fault; [`KernelError::InvalidInvocation`] for inputs of
    /// another function.
    fn run(&self, launch: &Launch<'_>) -> Result<LaunchResult, Error> {
        launch.inputs.signature().check(&self.signature)?;
        Ok(GridMachine::new(self, launch).run()?)
    }

    fn limit_steps(&mut self, limit: u64) {
        self.step_limit = limit;
    }
}
