//! The node types of grids.

use crate::assembly::{BinaryOp, Buffer, Expr, Function, LaneFold, Local, Status, Stmt as Serial};
use crate::lower::int;
use redpoll_logic::Scalar;

/// A function spread over a grid of teams.
///
/// Each team takes chunks of the outermost loop, one after the other. All lanes of a team run the body of the grid over a
/// chunk, each with locals of its own; between two chunks stands a barrier. Teams do not wait for each other.
#[derive(Clone, PartialEq, Debug)]
pub struct Grid {
    /// What it computes: its tables are those of the grid, its body is what the grid does when read in order.
    pub function: Function,
    /// The lanes of a team, a power of two up to 256. A team of more than a warp is a block.
    pub lanes: u32,
    /// Where each buffer lives, in the order of the function's table.
    pub places: Vec<Place>,
    /// Loops along lists, by their variables, and the arrays of the coordinates there: within a loop no two are equal.
    pub distinct: Vec<(Local, Buffer)>,
    /// The code.
    pub body: Vec<Stmt>,
}

/// Where a buffer lives.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Place {
    /// An array of an input, which all teams read.
    Input,
    /// One array that all chunks write, each elements of its own or by atomic operations. It has all its elements from the
    /// start, whatever growth asks for.
    Shared,
    /// For each chunk the elements that belong to its rounds of the outermost loop, under the positions that they have in
    /// the whole array. They are there from the start.
    Rounds,
    /// A window for each chunk, which grows within its room.
    Chunk,
    /// A window for each team, which grows within its room. What a chunk leaves in it the team's next one finds. It may begin in
    /// the memory of a block; growth past its share there moves it, by all lanes of the team, with a barrier before and behind
    /// the copy.
    Team,
    /// No memory: growth is noted, for later windows.
    Measured,
}

/// Who does something once for a team.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Writer {
    /// The first lane, for all; the others do not even look at what is read for it.
    Lead,
    /// Each lane for itself.
    Each,
}

/// A local that the rounds of a loop do nothing with but fold values into it.
#[derive(Clone, PartialEq, Debug)]
pub struct Folded {
    /// The local.
    pub acc: Local,
    /// The operator: associative and commutative as far as the mode of floats says.
    pub op: BinaryOp,
    /// Its identity.
    pub identity: Scalar,
}

/// A bound of the positions that a chunk keeps within, of the list that its rounds go through.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Side {
    /// The first position.
    First,
    /// One past the last.
    Last,
}

/// A statement of a grid. Outside of [`Stmt::Spread`] all lanes go the same way, with the same values of locals.
#[derive(Clone, PartialEq, Debug)]
pub enum Stmt {
    /// `local = value`
    Assign(Local, Expr),
    /// `local = ` a bound of the section that the chunk is; where it is whole rounds, one that keeps nothing out.
    Section(Local, Side),
    /// `buffer[at] = value`
    Store {
        /// Which lanes store.
        by: Writer,
        /// An owned buffer.
        buffer: Buffer,
        /// The element.
        at: Expr,
        /// The value.
        value: Expr,
    },
    /// `buffer[at] = op(buffer[at], value)`, as one step that no other atomic operation comes into.
    Atomic {
        /// Which lanes do it.
        by: Writer,
        /// An owned buffer of integers of 32 or 64 bits.
        buffer: Buffer,
        /// The element.
        at: Expr,
        /// An operator whose order does not matter.
        op: BinaryOp,
        /// The other operand.
        value: Expr,
    },
    /// `if cond { then } else { other }`
    If {
        /// A `bool`.
        cond: Expr,
        /// Runs when it holds.
        then: Vec<Stmt>,
        /// Runs when it does not.
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
    /// `for var in lo..hi { body }`, every round by one lane: lane `l` of `n` takes `lo + l`, `lo + l + n`, .. in that
    /// order. Rounds touch nothing that another one stores, and leave no locals that are read behind the loop, but for what
    /// they fold: each lane folds from the identity on, lanes are combined in halves, `lane[l] = op(lane[l], lane[l + half])`
    /// for `half = n / 2, .., 1`, and all lanes go on with `acc = op(acc, lane[0])`.
    Spread {
        /// The variable.
        var: Local,
        /// The first value.
        lo: Expr,
        /// One past the last.
        hi: Expr,
        /// What rounds fold, each local by one operator.
        folds: Vec<Folded>,
        /// The body.
        body: Vec<Stmt>,
    },
    /// Asks, every so many times that it is come to, whether the launch is to end. The first lane asks for all, which end the
    /// chunk together. In a spread loop, where it begins a round, each lane asks for itself and leaves the loop; behind
    /// that the chunk ends when some lane has left it so.
    Ask(Writer),
    /// Leaves the innermost loop.
    Break,
    /// The fold of Assembly. Outside of spread loops its elements are spread: lane `l` of the team folds for the lanes `l`,
    /// `l + n`, .. of the fold, and all combine them as the fold says. All lanes of the team get the result.
    Lanes(Box<LaneFold>),
    /// No lane goes on before all lanes of the team have come, and what they did before is seen behind it.
    Barrier,
    /// Makes an owned buffer at least `len` elements long, each with the fill of its declaration. A window without the room
    /// for them ends the chunk, with a note of what it needs.
    Grow {
        /// The buffer.
        buffer: Buffer,
        /// The number of elements.
        len: Expr,
    },
    /// Sorts `buffer[lo..hi]`: the work of the whole team, with a barrier before and behind it.
    Sort {
        /// The buffer of indices.
        buffer: Buffer,
        /// The first element.
        lo: Expr,
        /// One past the last.
        hi: Expr,
    },
    /// Sorts the numbers `k` in `perm[lo..hi]` by `(major[k], minor[k], k)`, as [`Stmt::Sort`].
    SortBy {
        /// The numbers.
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
    /// Two windows of one type and place exchange their memory.
    Swap(Buffer, Buffer),
    /// Ends the chunk.
    Return(Status),
}

impl Stmt {
    /// The bodies of the statement: two for an `If`, one for a loop.
    pub fn bodies(&self) -> [&[Stmt]; 2] {
        match self {
            Stmt::If { then, other, .. } => [then, other],
            Stmt::While { body, .. } | Stmt::For { body, .. } | Stmt::Spread { body, .. } => [body, &[]],
            _ => [&[], &[]],
        }
    }

    /// The bodies of the statement, to be changed.
    pub fn bodies_mut(&mut self) -> [Option<&mut Vec<Stmt>>; 2] {
        match self {
            Stmt::If { then, other, .. } => [Some(then), Some(other)],
            Stmt::While { body, .. } | Stmt::For { body, .. } | Stmt::Spread { body, .. } => [Some(body), None],
            _ => [None, None],
        }
    }

    /// Whether `test` holds for the statement or any statement in it.
    pub fn any(&self, test: &mut dyn FnMut(&Stmt) -> bool) -> bool {
        test(self) || self.bodies().into_iter().flatten().any(|s| s.any(test))
    }

    /// The statement of Assembly that it is when one lane does all; none for a barrier, nor where it is asked whether to go on.
    pub fn serial(&self) -> Option<Serial> {
        Some(match self {
            Stmt::Barrier | Stmt::Ask(_) => return None,
            Stmt::Assign(local, value) => Serial::Assign(*local, value.clone()),
            Stmt::Section(local, Side::First) => Serial::Assign(*local, int(i64::MIN)),
            Stmt::Section(local, Side::Last) => Serial::Assign(*local, int(i64::MAX)),
            Stmt::Store { buffer, at, value, .. } => {
                Serial::Store { buffer: *buffer, at: at.clone(), value: value.clone() }
            }
            Stmt::Atomic { buffer, at, op, value, .. } => {
                let old = Expr::Load { buffer: *buffer, at: Box::new(at.clone()) };
                let value = Expr::Binary(*op, Box::new(old), Box::new(value.clone()));
                Serial::Store { buffer: *buffer, at: at.clone(), value }
            }
            Stmt::If { cond, then, other } => {
                Serial::If { cond: cond.clone(), then: serial(then), other: serial(other) }
            }
            Stmt::While { cond, body } => Serial::While { cond: cond.clone(), body: serial(body) },
            Stmt::For { var, lo, hi, body } | Stmt::Spread { var, lo, hi, body, .. } => {
                Serial::For { var: *var, lo: lo.clone(), hi: hi.clone(), body: serial(body) }
            }
            Stmt::Break => Serial::Break,
            Stmt::Lanes(fold) => Serial::Lanes(fold.clone()),
            Stmt::Grow { buffer, len } => Serial::Grow { buffer: *buffer, len: len.clone() },
            Stmt::Sort { buffer, lo, hi } => Serial::Sort { buffer: *buffer, lo: lo.clone(), hi: hi.clone() },
            Stmt::SortBy { perm, major, minor, lo, hi } => {
                Serial::SortBy { perm: *perm, major: *major, minor: *minor, lo: lo.clone(), hi: hi.clone() }
            }
            Stmt::Swap(a, b) => Serial::Swap(*a, *b),
            Stmt::Return(status) => Serial::Return(*status),
        })
    }
}

/// Statements as one lane does them all.
pub fn serial(body: &[Stmt]) -> Vec<Serial> {
    body.iter().filter_map(Stmt::serial).collect()
}
