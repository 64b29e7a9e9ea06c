//! The node types of grids.

use redpoll_compiler::assembly::{self, BinaryOp, Buffer, Expr, Function, Local, Stmt as SerialStmt};
use redpoll_compiler::lower::int;
use redpoll_logic::Scalar;

/// A function spread over a grid of teams.
///
/// Each team takes chunks of the outermost loop, one after the other. All lanes of a team run the
/// body of the grid over a chunk, each with its own locals; a barrier separates two chunks. Teams
/// do not wait for each other.
#[derive(Clone, PartialEq, Debug)]
pub struct Grid {
    /// The function that the grid computes. The grid uses the buffers, parameters and locals of the
    /// function. [`to_serial`] converts the body of the grid to the body of the function.
    pub function: Function,
    /// Number of lanes of a team, a power of two up to 256. A team of more than one warp is a
    /// block.
    pub lanes: u32,
    /// Memory space of each buffer, in the order of the function's buffers.
    pub spaces: Vec<MemorySpace>,
    /// Variables of loops along lists, each with the list's array of coordinates. No coordinate
    /// occurs twice within a loop.
    pub list_coordinates: Vec<(Local, Buffer)>,
    /// The code.
    pub body: Vec<Stmt>,
}

/// The memory that a buffer lives in.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum MemorySpace {
    /// An array of an input, which all teams read.
    Input,
    /// One array that all chunks write, each at its own elements or by atomic operations. The array
    /// is allocated in full before the launch, so growth has no effect.
    Shared,
    /// For each chunk, the elements that belong to its rounds of the outermost loop, at their
    /// positions in the whole array. The elements are allocated before the launch.
    Rounds,
    /// One array if no round is cut into sections, otherwise as [`MemorySpace::Rounds`].
    Sections,
    /// A window for each chunk, which grows up to its capacity.
    Chunk,
    /// A window for each team, which grows up to its capacity and carries its contents from one
    /// chunk to the team's next. The window may begin in the memory of a block; once it outgrows
    /// its share there, all lanes of the team move it, with a barrier before and after the copy.
    Team,
    /// No memory. Growth is recorded, to size the windows of the next launch.
    Measured,
    /// No memory. No statement accesses the buffer.
    Unused,
}

impl MemorySpace {
    /// Returns whether buffers in this space have elements.
    pub(crate) fn has_memory(self) -> bool {
        !matches!(self, MemorySpace::Measured | MemorySpace::Unused)
    }
}

/// The lanes that perform an operation.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ActiveLanes {
    /// The first lane, on behalf of its team. The other lanes do not even read the operands.
    Lead,
    /// Each lane for itself.
    Each,
}

/// A local that the rounds of a loop only fold values into.
#[derive(Clone, PartialEq, Debug)]
pub struct RoundFold {
    /// The local.
    pub acc: Local,
    /// The operator. It is associative and commutative; for floats, the float mode assumes this.
    pub op: BinaryOp,
    /// The identity of the operator.
    pub identity: Scalar,
}

/// A counter that each round of a loop increases at most once. A round that increases the counter
/// stores at the counter's old value plus an offset below `by`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RoundCounter {
    /// The local.
    pub local: Local,
    /// The constant that a round adds, which is positive.
    pub by: i64,
}

/// A bound of the positions that a chunk covers, in the list that its rounds iterate over.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum SectionBound {
    /// The first position.
    First,
    /// One past the last position.
    Last,
}

/// A statement of a grid. Outside [`TeamStmt::Spread`] the control flow and the locals of all lanes
/// are equal. The statements of Assembly run as follows:
///
/// - A store specifies the lanes that store.
/// - Every lane runs each round of a `for`.
/// - Outside spread loops the elements of a fold in lanes are spread: lane `l` of a team of `n`
///   lanes folds for the lanes `l`, `l + n`, .. of the fold, and the team combines the lanes of the
///   fold as the fold prescribes. All lanes of the team get the result.
/// - Growth of a window whose capacity is too small ends the chunk and records the length needed.
/// - The whole team sorts, with a barrier before and after.
/// - A swap exchanges two windows of one type and one memory space.
/// - A return ends the chunk.
pub type Stmt = assembly::Stmt<TeamStmt>;

/// The statements that a grid adds to those of Assembly.
#[derive(Clone, PartialEq, Debug)]
pub enum TeamStmt {
    /// Assigns a bound of the chunk's section to a local; if the chunk consists of whole rounds,
    /// the bound excludes no position.
    Section(Local, SectionBound),
    /// `buffer[at] = op(buffer[at], value)`, atomically.
    Atomic {
        /// The lanes that perform the operation.
        active: ActiveLanes,
        /// An owned buffer of integers of 32 or 64 bits.
        buffer: Buffer,
        /// The element.
        at: Expr,
        /// An operator for which the order of operations does not matter.
        op: BinaryOp,
        /// The other operand.
        value: Expr,
    },
    /// `for var in lo..hi { body }`, in which one lane runs each round: lane `l` of `n` runs the
    /// rounds `lo + l`, `lo + l + n`, .. in that order. Except by atomic operations, a round
    /// accesses no element that another round stores. No local that a round assigns is read after
    /// the loop, except for the folds and the counters. Each lane folds from the identity. Lanes
    /// are then combined in halves, `lane[l] = op(lane[l], lane[l + half])` for
    /// `half = n / 2, .., 1`, and all lanes continue with `acc = op(acc, lane[0])`.
    ///
    /// If rounds increase counters, the team takes the rounds in batches of at most one round for
    /// each lane. Every lane runs its round up to the block that increases the counters, or to a
    /// condition that excludes the block. The lanes then count the rounds that reach this block. If
    /// there are any, all lanes together run the growth in the block once, with the counters of the
    /// last such round. Each lane then sets its counters to their values before the batch plus
    /// `rank * by`, where `rank` is the number of such rounds before the lane's round in the batch,
    /// and continues its round. So the counters have the values that they have if the rounds run in
    /// order. After the batch the counters of all lanes are equal again.
    Spread {
        /// The variable.
        var: Local,
        /// The first value.
        lo: Expr,
        /// One past the last value.
        hi: Expr,
        /// The folds of the rounds, one operator for each local.
        folds: Vec<RoundFold>,
        /// The counters that rounds increase, all in one block.
        counters: Vec<RoundCounter>,
        /// The body.
        body: Vec<Stmt>,
    },
    /// Polls for cancellation of the launch. A backend may skip most executions; the CUDA backend
    /// polls in one of 256 executions. Outside spread loops the first lane polls for all, and all
    /// lanes end the chunk together. At the start of a round of a spread loop each lane polls for
    /// itself and leaves the loop if cancelled; the chunk then ends after the loop. If the rounds
    /// increase counters, the first lane polls for all before each batch.
    Poll(ActiveLanes),
    /// Waits until all lanes of the team arrive; accesses before the barrier are visible after it.
    Barrier,
}

impl TeamStmt {
    /// Returns the Assembly statement that one lane runs for this statement; `None` for barriers
    /// and polls.
    fn to_serial(&self) -> Option<SerialStmt> {
        Some(match self {
            TeamStmt::Barrier | TeamStmt::Poll(_) => return None,
            TeamStmt::Section(local, SectionBound::First) => SerialStmt::Assign(*local, int(i64::MIN)),
            TeamStmt::Section(local, SectionBound::Last) => SerialStmt::Assign(*local, int(i64::MAX)),
            TeamStmt::Atomic { buffer, at, op, value, .. } => {
                let old = Expr::Load { buffer: *buffer, at: Box::new(at.clone()) };
                let value = Expr::Binary(*op, Box::new(old), Box::new(value.clone()));
                SerialStmt::store(*buffer, at.clone(), value)
            }
            TeamStmt::Spread { var, lo, hi, body, .. } => {
                SerialStmt::For { var: *var, lo: lo.clone(), hi: hi.clone(), body: to_serial(body) }
            }
        })
    }
}

/// Converts grid statements to the Assembly statements that a single lane runs.
pub fn to_serial(body: &[Stmt]) -> Vec<SerialStmt> {
    let convert = |stmt: &Stmt| stmt.convert(|_| (), to_serial).map_or_else(TeamStmt::to_serial, Some);
    body.iter().filter_map(convert).collect()
}
