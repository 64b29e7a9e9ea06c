//! The interpreter of grids: runs teams and lanes in a random order, and reports what must not happen in any.
//!
//! - A race: two lanes touch one element, one of them by a store, and no barrier stands between.
//! - A load of an element that was never there: it was neither there from the start nor grown, or holds anything until it is
//!   stored. A result that holds it at the end.
//! - An access outside of a window, an index that does not fit, a `bool` that is none: as the interpreter of Assembly.
//! - Lanes of a team that wait at different places, or of which one is done, or that end with different statuses.
//!
//! What is found depends on the order for the last kind only: races are found by who has passed which barriers, not by what
//! happened to come first.

mod fold;
mod machine;
mod memory;
mod ops;
#[cfg(test)]
mod tests;

use super::{Grid, verify};
use crate::Error;
use crate::assembly::{Buffer, BufferDecl, InterpError, Status};
use crate::run::{Invocation, Limits, Signature, charged};
use crate::storage::Array;
use arrow::buffer::MutableBuffer;
use machine::Machine;
use ops::{Code, steps};
use std::any::Any;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

pub(crate) use memory::stored;

/// A fault of a grid, which a machine would not notice. The fault of the mapping, never the user's.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Fault {
    /// What the interpreter of Assembly would report.
    #[error(transparent)]
    Access(#[from] InterpError),
    /// Two lanes meet at an element.
    #[error(
        "a race for element {index} of buffer `{buffer}` between lane {} of team {} and lane {} of team {}", 
        one.1, one.0, other.1, other.0
    )]
    Race {
        /// The buffer's name.
        buffer: String,
        /// The element.
        index: i64,
        /// Team and lane of one.
        one: (u32, u32),
        /// Team and lane of the other.
        other: (u32, u32),
    },
    /// An element was loaded that nobody has made.
    #[error("load of element {index} of buffer `{buffer}`, which was not written")]
    Unwritten {
        /// The buffer's name.
        buffer: String,
        /// The element.
        index: i64,
    },
    /// An element of a result was left as nobody has made it.
    #[error("element {index} of buffer `{buffer}`, which is a result, was not written")]
    Left {
        /// The buffer's name.
        buffer: String,
        /// The element.
        index: i64,
    },
    /// Lanes of a team went different ways.
    #[error("lanes of team {0} went different ways")]
    Apart(u32),
}

/// What runs a grid.
pub(crate) trait Runner: Send + Sync {
    /// The grid.
    fn grid(&self) -> &Grid;

    /// How many teams there are at most.
    fn teams(&self) -> usize;

    /// The bytes that windows may take under limits.
    fn memory(&self, _limits: &Limits) -> usize {
        usize::MAX
    }

    /// Runs all chunks.
    ///
    /// # Errors
    /// What the grid did that it must not; [`Error::InvalidInvocation`] for inputs of another function.
    fn run(&self, launch: &Launch<'_>) -> Result<Launched, Error>;

    /// Whether launches run in another memory, where inputs may be and results stay.
    fn is_elsewhere(&self) -> bool {
        false
    }

    /// An array of what a launch has left.
    ///
    /// # Errors
    /// [`Error::KernelStopped`] when there is no memory for it; what a device says.
    fn gather(&self, gather: &Gather<'_>, limits: &Limits) -> Result<Array, Error> {
        let size = gather.decl.prim.bytes();
        let mut bytes = MutableBuffer::with_capacity(gather.len() * size);
        let mut push = |bits: u64| bytes.extend_from_slice(&bits.to_le_bytes()[..size]);
        gather.head.iter().for_each(|bits| push(*bits));
        for Piece { window, from, len, shift } in gather.pieces {
            let elements = &gather.windows[*window].elements()[*from..from + len];
            elements.iter().for_each(|bits| push(bits.wrapping_add_signed(*shift)));
        }
        let memory = charged(bytes.into(), &limits.memory);
        let memory = memory.ok_or(Error::KernelStopped(Status::OutOfMemory))?;
        Array::new(gather.decl.prim, memory, gather.len())
            .ok_or_else(|| Error::InvalidInvocation("buffers of Arrow are aligned".into()))
    }

    /// An array as what a launch has left: one that lies where launches run.
    ///
    /// # Errors
    /// What a device says.
    fn left(&self, array: &Array, _limits: &Limits) -> Result<Left, Error> {
        let elements = (0..array.len()).map(|k| array.bits(k)).collect::<Vec<u64>>();
        Ok(Left { first: 0, asked: elements.len(), len: elements.len(), contents: Contents::Here(elements) })
    }

    /// The elements of windows of a buffer, as values of loads.
    ///
    /// # Errors
    /// What a device says.
    fn elements(&self, _decl: &BufferDecl, windows: &[Left]) -> Result<Vec<Vec<u64>>, Error> {
        Ok(windows.iter().map(|window| window.elements().to_vec()).collect())
    }

    /// Stops launches after so many steps, where these are counted.
    fn limit_steps(&mut self, _limit: u64) {}
}

/// The teams of kernels that are interpreted.
const TEAMS: usize = 3;
/// The bytes that a team may have of the memory of its block, by the seed: some that windows soon outgrow, many, none.
const BLOCK_BYTES: [usize; 4] = [200, 72, 1 << 14, 0];

/// A grid made ready for interpretation.
pub struct Program {
    grid: Grid,
    code: Code,
    signature: Arc<Signature>,
    step_limit: u64,
    /// The steps of a launch after which it is to end.
    cancelled_at: u64,
}

/// What a grid is run on.
pub(crate) struct Launch<'a> {
    /// Input buffers and parameters.
    pub(crate) inputs: &'a Invocation,
    /// The chunks.
    pub(crate) chunks: &'a [Range<i64>],
    /// For each chunk the positions of the list that its rounds keep within, where grids ask for them.
    pub(crate) sections: &'a [Range<i64>],
    /// For each buffer its windows: of a shared one, of the chunks or of the teams; none of inputs.
    pub(crate) windows: Vec<Vec<Extent>>,
    /// The buffers whose elements are all written before they are read: what they hold at first does not matter.
    pub(crate) unfilled: &'a [Buffer],
    /// The teams.
    pub(crate) teams: usize,
    /// Decides about the order.
    pub(crate) seed: u64,
}

/// A window before the start.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Extent {
    /// The position of its first element.
    pub(crate) first: i64,
    /// The elements that are there from the start.
    pub(crate) len: usize,
    /// The elements that it may grow to.
    pub(crate) room: usize,
}

/// How a launch ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum End {
    /// A status of a chunk.
    Status(Status),
    /// A window needs more room.
    NoRoom,
}

impl End {
    /// How a launch ended whose chunks ended so: cancelled; or for want of room, whatever else is said by chunks that are run
    /// again; or by the first status that is not `Done`.
    pub(crate) fn of_all(ends: &[End]) -> End {
        let cancelled = End::Status(Status::Cancelled);
        let first = |end: End| ends.contains(&end).then_some(end);
        let stopped = || ends.iter().find(|end| **end != End::Status(Status::Done)).copied();
        first(cancelled).or_else(|| first(End::NoRoom)).or_else(stopped).unwrap_or(End::Status(Status::Done))
    }
}

/// What a launch leaves.
pub(crate) struct Launched {
    pub(crate) end: End,
    /// For each buffer its windows.
    pub(crate) windows: Vec<Vec<Left>>,
    /// How long it took by the clock of a device, if one has run it.
    pub(crate) time: Option<Duration>,
    /// For each lane the rounds of shared loops that it has taken, where they are counted.
    #[cfg(test)]
    pub(crate) rounds: Vec<u64>,
}

/// Elements of a window that become some of an array.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Piece {
    /// The number of the window.
    pub(crate) window: usize,
    /// The first of its elements, from its beginning on.
    pub(crate) from: usize,
    /// How many.
    pub(crate) len: usize,
    /// What is added to each.
    pub(crate) shift: i64,
}

/// An array that is put together of windows of a buffer.
pub(crate) struct Gather<'a> {
    /// The buffer's declaration.
    pub(crate) decl: &'a BufferDecl,
    /// Its windows.
    pub(crate) windows: &'a [&'a Left],
    /// Elements in front of the pieces.
    pub(crate) head: &'a [u64],
    /// The pieces, one behind the other.
    pub(crate) pieces: &'a [Piece],
}

impl Gather<'_> {
    /// The number of elements.
    pub(crate) fn len(&self) -> usize {
        self.head.len() + self.pieces.iter().map(|piece| piece.len).sum::<usize>()
    }
}

/// A window as a launch has left it.
pub(crate) struct Left {
    /// The position of its first element.
    pub(crate) first: i64,
    /// How far it was to grow.
    pub(crate) asked: usize,
    /// The elements that it has.
    pub(crate) len: usize,
    pub(crate) contents: Contents,
}

/// Where the elements of a window are.
pub(crate) enum Contents {
    /// Here, as values of loads.
    Here(Vec<u64>),
    /// In the memory of who ran the launch, so many bytes behind its beginning.
    There(Arc<dyn Any + Send + Sync>, usize),
}

impl Left {
    /// The elements of a window that is here.
    ///
    /// # Panics
    /// When it is not.
    pub(crate) fn elements(&self) -> &[u64] {
        match &self.contents {
            Contents::Here(elements) => elements,
            Contents::There(..) => unreachable!("who runs launches elsewhere gathers what they leave"),
        }
    }
}

impl Program {
    /// Verifies a grid and resolves its types.
    ///
    /// # Errors
    /// [`Error::InvalidAssembly`] when the verifier rejects it.
    pub fn new(grid: Grid) -> Result<Program, Error> {
        let faults = verify(&grid);
        if !faults.is_empty() {
            return Err(Error::invalid_assembly(&grid.function.name, &faults));
        }
        Ok(Program::trusting(grid))
    }

    /// A grid that was not verified: its function is right, but how it is spread may be wrong.
    pub(crate) fn trusting(grid: Grid) -> Program {
        let (code, signature) = (steps(&grid), Signature::of(&grid.function));
        Program { grid, code, signature, step_limit: u64::MAX, cancelled_at: u64::MAX }
    }

    /// Stops with [`InterpError::TooManyIterations`] after so many steps of all lanes in one launch.
    pub fn with_step_limit(mut self, limit: u64) -> Program {
        self.step_limit = limit;
        self
    }

    /// Has launches cancelled after so many steps of all lanes.
    #[cfg(test)]
    pub(crate) fn cancelled_at(mut self, step: u64) -> Program {
        self.cancelled_at = step;
        self
    }

    /// The grid.
    pub fn grid(&self) -> &Grid {
        &self.grid
    }
}

impl Runner for Program {
    fn grid(&self) -> &Grid {
        &self.grid
    }

    fn teams(&self) -> usize {
        TEAMS
    }

    /// Runs all chunks.
    ///
    /// # Errors
    /// [`Error::Grid`] with the first fault; [`Error::InvalidInvocation`] for inputs of another function.
    fn run(&self, launch: &Launch<'_>) -> Result<Launched, Error> {
        launch.inputs.check(&self.signature)?;
        Ok(Machine::new(self, launch).run()?)
    }

    fn limit_steps(&mut self, limit: u64) {
        self.step_limit = limit;
    }
}
