//! The node types of grids.

use crate::assembly::{BinaryOp, Buffer, Expr, Function, LaneFold, Local, Status, Stmt as SerialStmt};
use crate::lower::int;
use redpoll_logic::Scalar;

/// A function spread over a grid of teams.
///
/// Each team takes chunks of the outermost loop, one after the other. All lanes of a team run the
/// body of the grid over a chunk, each with its own locals; a barrier separates two chunks. Teams
/// do not wait for each other.
#[derive(Clone, PartialEq, Debug)]
pub struct Grid {
    /// The function that the grid computes. Its tables serve the grid, and its body is the body of
    /// the grid read in order.
    pub function: Function,
    /// Number of lanes of a team, a power of two up to 256. A team of more than one warp is a
    /// block.
    pub lanes: u32,
    /// Memory space of each buffer, in the order of the function's table.
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
    /// One array that all chunks write, each at its own elements or by atomic operations. It is
    /// allocated in full before the launch, so growth has no effect.
    Shared,
    /// For each chunk, the elements that belong to its rounds of the outermost loop, at their
    /// positions in the whole array. They are allocated before the launch.
    Rounds,
    /// A window for each chunk, which grows up to its capacity.
    Chunk,
    /// A window for each team, which grows up to its capacity and carries its contents from one
    /// chunk to the team's next. The window may begin in the memory of a block; once it outgrows
    /// its share there, all lanes of the team move it, with a barrier before and after the copy.
    Team,
    /// No memory. Growth is recorded, to size the windows of the next launch.
    Measured,
}

/// The lanes that perform an operation.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ActiveLanes {
    /// The first lane, for all. The other lanes do not read the operands either.
    Lead,
    /// Each lane for itself.
    Each,
}

/// A local that the rounds of a loop only fold values into.
#[derive(Clone, PartialEq, Debug)]
pub struct RoundFold {
    /// The local.
    pub acc: Local,
    /// The operator, associative and commutative as far as the mode of floats allows.
    pub op: BinaryOp,
    /// The identity of the operator.
    pub identity: Scalar,
}

/// A bound of the positions that a chunk covers, in the list that its rounds iterate over.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum SectionBound {
    /// The first position.
    First,
    /// One past the last.
    Last,
}

/// A statement of a grid. Outside [`Stmt::Spread`] the control flow and the locals of all lanes are
/// equal.
#[derive(Clone, PartialEq, Debug)]
pub enum Stmt {
    /// `local = value`
    Assign(Local, Expr),
    /// `local = ` a bound of the section of the chunk; a bound that excludes nothing if the chunk
    /// is whole rounds.
    Section(Local, SectionBound),
    /// `buffer[at] = value`
    Store {
        /// The lanes that store.
        active: ActiveLanes,
        /// An owned buffer.
        buffer: Buffer,
        /// The element.
        at: Expr,
        /// The value.
        value: Expr,
    },
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
    /// `if cond { then } else { other }`
    If {
        /// A `bool`.
        cond: Expr,
        /// Runs if `cond` is true.
        then: Vec<Stmt>,
        /// Runs if `cond` is false.
        other: Vec<Stmt>,
    },
    /// `while cond { body }`
    While {
        /// A `bool`.
        cond: Expr,
        /// The body.
        body: Vec<Stmt>,
    },
    /// `for var in lo..hi { body }`, every round by each lane.
    For {
        /// The variable.
        var: Local,
        /// The first value.
        lo: Expr,
        /// One past the last.
        hi: Expr,
        /// The body.
        body: Vec<Stmt>,
    },
    /// `for var in lo..hi { body }`, every round by one lane: lane `l` of `n` takes
    /// `lo + l`, `lo + l + n`, .. in that order. A round touches nothing that another round stores,
    /// and no local that it assigns is read after the loop, except for the folds. Each lane folds
    /// from the identity. Lanes are then combined in halves,
    /// `lane[l] = op(lane[l], lane[l + half])` for `half = n / 2, .., 1`, and all lanes continue
    /// with `acc = op(acc, lane[0])`.
    Spread {
        /// The variable.
        var: Local,
        /// The first value.
        lo: Expr,
        /// One past the last.
        hi: Expr,
        /// The folds of the rounds, one operator for each local.
        folds: Vec<RoundFold>,
        /// The body.
        body: Vec<Stmt>,
    },
    /// Polls for cancellation of the launch, once in a number of executions. Outside spread loops
    /// the first lane polls for all, and all lanes end the chunk together. At the start of a round
    /// of a spread loop each lane polls for itself and leaves the loop if cancelled; the chunk then
    /// ends after the loop.
    Poll(ActiveLanes),
    /// Leaves the innermost loop.
    Break,
    /// The fold of Assembly. Outside spread loops its elements are spread: lane `l` of the team
    /// folds for the lanes `l`, `l + n`, .. of the fold, and the team combines them as the fold
    /// prescribes. All lanes of the team get the result.
    Lanes(Box<LaneFold>),
    /// Waits until all lanes of the team arrive; accesses before the barrier are visible after it.
    Barrier,
    /// Makes an owned buffer at least `len` elements long; new elements have the declared fill
    /// value. A window whose capacity is too small ends the chunk and records the length needed.
    Grow {
        /// The buffer.
        buffer: Buffer,
        /// The number of elements.
        len: Expr,
    },
    /// Sorts `buffer[lo..hi]` with the whole team, with a barrier before and after.
    Sort {
        /// The buffer of indices.
        buffer: Buffer,
        /// The first element.
        lo: Expr,
        /// One past the last.
        hi: Expr,
    },
    /// Sorts the indices `k` in `perm[lo..hi]` by `(major[k], minor[k], k)`, as [`Stmt::Sort`]
    /// does.
    SortBy {
        /// The buffer of indices.
        perm: Buffer,
        /// The first key.
        major: Buffer,
        /// The second key.
        minor: Buffer,
        /// The first element of `perm`.
        lo: Expr,
        /// One past the last.
        hi: Expr,
    },
    /// Exchanges the memory of two windows of one type and one memory space.
    Swap(Buffer, Buffer),
    /// Ends the chunk.
    Return(Status),
}

impl Stmt {
    /// Returns the bodies of the statement: two for an `If`, one for a loop.
    pub fn bodies(&self) -> [&[Stmt]; 2] {
        match self {
            Stmt::If { then, other, .. } => [then, other],
            Stmt::While { body, .. } | Stmt::For { body, .. } | Stmt::Spread { body, .. } => [body, &[]],
            _ => [&[], &[]],
        }
    }

    /// Returns the bodies of the statement, mutably.
    pub fn bodies_mut(&mut self) -> [Option<&mut Vec<Stmt>>; 2] {
        match self {
            Stmt::If { then, other, .. } => [Some(then), Some(other)],
            Stmt::While { body, .. } | Stmt::For { body, .. } | Stmt::Spread { body, .. } => [Some(body), None],
            _ => [None, None],
        }
    }

    /// Returns whether `test` is true of the statement or of any statement in it.
    pub fn any(&self, test: &mut dyn FnMut(&Stmt) -> bool) -> bool {
        test(self) || self.bodies().into_iter().flatten().any(|s| s.any(test))
    }

    /// Returns the Assembly statement that one lane runs for this statement; `None` for barriers
    /// and polls.
    pub fn to_serial(&self) -> Option<SerialStmt> {
        Some(match self {
            Stmt::Barrier | Stmt::Poll(_) => return None,
            Stmt::Assign(local, value) => SerialStmt::Assign(*local, value.clone()),
            Stmt::Section(local, SectionBound::First) => SerialStmt::Assign(*local, int(i64::MIN)),
            Stmt::Section(local, SectionBound::Last) => SerialStmt::Assign(*local, int(i64::MAX)),
            Stmt::Store { buffer, at, value, .. } => {
                SerialStmt::Store { buffer: *buffer, at: at.clone(), value: value.clone() }
            }
            Stmt::Atomic { buffer, at, op, value, .. } => {
                let old = Expr::Load { buffer: *buffer, at: Box::new(at.clone()) };
                let value = Expr::Binary(*op, Box::new(old), Box::new(value.clone()));
                SerialStmt::Store { buffer: *buffer, at: at.clone(), value }
            }
            Stmt::If { cond, then, other } => {
                SerialStmt::If { cond: cond.clone(), then: to_serial(then), other: to_serial(other) }
            }
            Stmt::While { cond, body } => SerialStmt::While { cond: cond.clone(), body: to_serial(body) },
            Stmt::For { var, lo, hi, body } | Stmt::Spread { var, lo, hi, body, .. } => {
                SerialStmt::For { var: *var, lo: lo.clone(), hi: hi.clone(), body: to_serial(body) }
            }
            Stmt::Break => SerialStmt::Break,
            Stmt::Lanes(fold) => SerialStmt::Lanes(fold.clone()),
            Stmt::Grow { buffer, len } => SerialStmt::Grow { buffer: *buffer, len: len.clone() },
            Stmt::Sort { buffer, lo, hi } => SerialStmt::Sort { buffer: *buffer, lo: lo.clone(), hi: hi.clone() },
            Stmt::SortBy { perm, major, minor, lo, hi } => {
                SerialStmt::SortBy { perm: *perm, major: *major, minor: *minor, lo: lo.clone(), hi: hi.clone() }
            }
            Stmt::Swap(a, b) => SerialStmt::Swap(*a, *b),
            Stmt::Return(status) => SerialStmt::Return(*status),
        })
    }
}

/// Converts grid statements to the Assembly statements that a single lane runs.
pub fn to_serial(body: &[Stmt]) -> Vec<SerialStmt> {
    body.iter().filter_map(Stmt::to_serial).collect()
}
