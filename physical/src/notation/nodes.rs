//! The node types of Notation.

use redpoll_logic::op::Op;
use redpoll_logic::physical::{Loop, Protocol};
use redpoll_logic::sexpr::Position;
use redpoll_logic::{DType, Format, LevelKind, Scalar, TensorType, Writes};
use std::sync::Arc;

macro_rules! define_id {
    ($name:ident, $doc:literal) => {
        #[doc = $doc]
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
        pub struct $name(pub u32);

        impl $name {
            /// Its place in the program's table.
            pub fn index(self) -> usize {
                self.0 as usize
            }
        }
    };
}

define_id!(Index, "A loop index of a program; bound by one loop.");
define_id!(Var, "A variable of a program, bound by a `let`.");
define_id!(TensorId, "A tensor of a program: input, output or local.");

/// A dimension in the shape of an output or local that its writes determine; `dimensionalize` puts in its size.
pub const OPEN_DIMENSION: u64 = u64::MAX;

/// A Notation program: tensors and a statement.
#[derive(Clone, PartialEq, Debug)]
pub struct Program {
    /// The tensors.
    pub tensors: Vec<TensorDecl>,
    /// The names of the loop indices.
    pub indices: Vec<String>,
    /// The names and dtypes of the `let` variables.
    pub vars: Vec<(String, DType)>,
    /// What to do.
    pub body: Stmt,
    /// How loops are to be transformed before they are lowered, in order; `scheduled` does it.
    pub schedule: Vec<Transformation>,
    /// The inputs that are not bound but read off others.
    pub shares: Vec<Shares>,
}

impl Program {
    /// The outputs, in order.
    pub fn outputs(&self) -> impl Iterator<Item = TensorId> {
        let outputs = (0..).zip(&self.tensors).filter(|(_, decl)| decl.role == Role::Output);
        outputs.map(|(k, _)| TensorId(k))
    }

    /// Of inputs, in the order of the tensors, the one whose pattern an output has, if it has one's.
    pub(crate) fn pattern<T: Copy>(&self, output: TensorId, inputs: &[T]) -> Option<T> {
        let of = self.tensors[output.index()].pattern?;
        let before = self.tensors[..of.index()].iter().filter(|t| t.role == Role::Input).count();
        inputs.get(before).copied()
    }
}

/// What a tensor is to a program.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Role {
    /// Read only, frozen.
    Input,
    /// Written by the program and handed out, frozen, at the end.
    Output,
    /// Written and read inside the program: a workspace, or a scalar temporary (rank 0).
    Local,
}

/// A transformation of loops, each named by its index. What each does and asks for is said in the module `schedule`.
#[derive(Clone, PartialEq, Debug)]
pub enum Transformation {
    /// Nested loops in another order, the outermost first.
    Reorder(Vec<String>),
    /// A loop becomes a loop over blocks of its rounds, and one over the rounds of a block.
    Split {
        /// The loop.
        index: String,
        /// The index that counts blocks.
        outer: String,
        /// The new name of the index inside of a block.
        inner: String,
        /// How blocks are cut.
        blocks: Blocks,
    },
    /// Two loops, one directly inside of the other, are split as one loop over their product.
    Collapse {
        /// The outer loop.
        outer: String,
        /// The inner loop.
        inner: String,
        /// The name of the product.
        product: String,
    },
    /// A loop must have so many rounds.
    Bound {
        /// The loop.
        index: String,
        /// Its rounds.
        rounds: u64,
    },
    /// A part of what an assignment computes is computed before it, into a workspace.
    Precompute {
        /// The name of the workspace.
        workspace: String,
        /// The tensor that the assignment writes.
        target: String,
        /// The tensors that the part reads; all that the assignment does where there are none.
        of: Vec<String>,
        /// The loops that the part is computed over, with the names that they get where the workspace is read and where it
        /// is written.
        over: Vec<[String; 3]>,
        /// The format of the workspace; dense where there is none.
        format: Option<Format>,
    },
    /// Chunks of a loop can run at once.
    Parallel(String),
    /// The rounds of a loop are folded in so many lanes.
    Lanes {
        /// The loop.
        index: String,
        /// How many.
        lanes: u64,
    },
    /// The body of a loop stands so many times in a round, all of them where no number is given.
    Unroll {
        /// The loop.
        index: String,
        /// How often.
        copies: Option<u64>,
    },
}

/// An input that says where the stored places of another one are cut into equal shares, as
/// `storage::Tensor::equal_shares` does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Shares {
    /// A dense vector of bounds, one more than there are blocks.
    pub input: TensorId,
    /// The input that is cut.
    pub of: TensorId,
    /// How many of its storage modes are cut as one.
    pub modes: usize,
    /// How many blocks there are.
    pub blocks: u64,
}

impl Shares {
    /// More blocks are not made.
    pub const MOST_BLOCKS: u64 = 1 << 20;
}

/// How rounds are cut into blocks.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Blocks {
    /// Blocks of so many rounds, the last one of fewer.
    Of(u64),
    /// So many blocks, as equal as can be.
    Into(u64),
    /// So many blocks, of which each has an equal share of what an input stores.
    Stored(u64, String),
}

/// A tensor of a program.
#[derive(Clone, PartialEq, Debug)]
pub struct TensorDecl {
    /// Its name.
    pub name: String,
    /// Shape, dtype, fill value and format. Accesses have one subscript a *storage* mode.
    pub ty: Arc<TensorType>,
    /// Input, output or local.
    pub role: Role,
    /// An input whose levels an output has: the output stores a value wherever it does, and shares the arrays of its levels.
    pub pattern: Option<TensorId>,
}

impl TensorDecl {
    /// A tensor with levels of its own.
    pub fn new(name: impl Into<String>, ty: Arc<TensorType>, role: Role) -> TensorDecl {
        TensorDecl { name: name.into(), ty, role, pattern: None }
    }

    /// Whether some fiber is looked up where the loop begins that goes through it; positions of dense levels are computed.
    pub(crate) fn is_looked_up(&self) -> bool {
        self.ty.format.levels.iter().any(|level| level.kind != LevelKind::Dense)
    }

    /// Returns the number of levels, from the outermost one on, that are written in order: all up to the last one that is
    /// appended to. A tensor with the pattern of an input writes no levels.
    pub(crate) fn appended_levels(&self) -> usize {
        let levels = if self.pattern.is_some() { &[][..] } else { &self.ty.format.levels };
        levels.iter().rposition(|l| l.kind.traits().writes == Writes::Append).map_or(0, |last| last + 1)
    }
}

/// A statement.
#[derive(Clone, PartialEq, Debug)]
pub enum Stmt {
    /// One after the other; empty: nothing.
    Block(Vec<Stmt>),
    /// `for index in extent`: the body at every value, ascending.
    For {
        /// The index that it binds.
        index: Index,
        /// Half-open bounds, or `None` for the dimension that the accesses imply.
        extent: Option<(Expr, Expr)>,
        /// What is asked of its rounds.
        rounds: Rounds,
        /// The body.
        body: Box<Stmt>,
    },
    /// The body where the condition holds.
    If {
        /// A `bool`.
        cond: Expr,
        /// The body.
        body: Box<Stmt>,
    },
    /// The body with a variable bound.
    Let {
        /// The variable.
        var: Var,
        /// Its value.
        value: Expr,
        /// Its scope.
        body: Box<Stmt>,
    },
    /// The body as long as the condition, over scalars that the body writes, holds.
    While {
        /// A `bool`.
        cond: Expr,
        /// The body.
        body: Box<Stmt>,
    },
    /// The producer, then the consumer that reads what the producer wrote.
    Where {
        /// Reads.
        consumer: Box<Stmt>,
        /// Writes; runs first.
        producer: Box<Stmt>,
    },
    /// Starts the life of an output or local: every place holds its fill value; it can be written.
    Declare(TensorId),
    /// Ends writing: it can be read.
    Freeze(TensorId),
    /// Takes up writing again.
    Thaw(TensorId),
    /// Two frozen locals of one type exchange what they hold, without a copy: double buffers.
    Swap(TensorId, TensorId),
    /// A write.
    Assign {
        /// Where.
        lhs: Access,
        /// How.
        write: Write,
        /// What.
        rhs: Expr,
    },
}

/// What is asked of the rounds of a loop.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Rounds {
    /// In order, as far as results show.
    #[default]
    Ordered,
    /// In chunks that can run at once; where they cannot, `verify_parallel` says why.
    Parallel,
    /// Folded in so many lanes, side by side, where they do nothing but fold one value; a power of two.
    Lanes(u8),
    /// Where they go from one stored entry to the next, that many of them in one round of the code.
    Unrolled(u8),
}

impl Rounds {
    /// The rounds in so many lanes; `None` for a number that lanes do not have.
    pub fn in_lanes(count: u64) -> Option<Rounds> {
        let fits = count.is_power_of_two() && (2..=u64::from(Loop::MOST_LANES)).contains(&count);
        fits.then_some(Rounds::Lanes(count as u8))
    }

    /// The rounds with that many copies of the body; `None` for a number out of `2..=64`.
    pub fn unrolled(copies: u64) -> Option<Rounds> {
        (2..=Rounds::MOST_COPIES).contains(&copies).then_some(Rounds::Unrolled(copies as u8))
    }

    /// More copies of a body than this are not made: code grows with them.
    pub(crate) const MOST_COPIES: u64 = 64;

    /// What is asked of a loop over blocks of rounds, and of the loop over the rounds of a block.
    pub(crate) fn of_blocks(self) -> (Rounds, Rounds) {
        match self {
            Rounds::Lanes(_) | Rounds::Unrolled(_) => (Rounds::Ordered, self),
            Rounds::Ordered | Rounds::Parallel => (self, Rounds::Ordered),
        }
    }
}

/// How an assignment treats what is there.
#[derive(Clone, PartialEq, Debug)]
pub enum Write {
    /// Sets a place that has held the fill value since the declaration; so setting the fill value is nothing.
    Init,
    /// Sets a place, whatever is there.
    Overwrite,
    /// `place = op(place, value)`
    Fold(Op),
}

/// A read or write of one place of a tensor.
#[derive(Clone, PartialEq, Debug)]
pub struct Access {
    /// The tensor.
    pub tensor: TensorId,
    /// One subscript a storage mode, outermost first.
    pub subscripts: Vec<Subscript>,
}

/// How an access meets a storage mode.
#[derive(Clone, PartialEq, Debug)]
pub struct Subscript {
    /// The coordinate: an `i64` expression of indices, variables and literals.
    pub at: Expr,
    /// How a read goes through the level; not used by writes.
    pub protocol: Protocol,
    /// What a read out of bounds gives; `None`: reads are in bounds.
    pub outside: Option<Scalar>,
    /// How it is known that the coordinate is in bounds, where nothing is given outside.
    pub bounds: Bounds,
}

impl Subscript {
    /// A subscript whose coordinate is in bounds wherever it is met.
    pub fn inside(at: Expr) -> Subscript {
        Subscript { at, protocol: Protocol::Walk, outside: None, bounds: Bounds::Proved }
    }
}

/// How it is known that a coordinate is in bounds; the module `bounds` decides it.
#[derive(Clone, Debug)]
pub enum Bounds {
    /// In bounds in every round of the loops around.
    Proved,
    /// In bounds where the conditions around hold.
    Guarded,
    /// Checked when the program runs: the run ends with an error at that site if the coordinate is out of bounds.
    Checked(Arc<Site>),
}

/// All are equal: how an access is known to be in bounds says nothing of what it reads.
impl PartialEq for Bounds {
    fn eq(&self, _: &Bounds) -> bool {
        true
    }
}

/// A subscript in the text of a program.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Site {
    /// Where the access begins.
    pub at: Position,
    /// The tensor.
    pub tensor: String,
    /// The text of the access.
    pub access: String,
    /// The text of the subscript.
    pub subscript: String,
}

/// An expression at one place of the loops.
#[derive(Clone, PartialEq, Debug)]
pub enum Expr {
    /// A constant.
    Literal(Scalar),
    /// The value of a loop index, an `i64`.
    Index(Index),
    /// The value of a variable.
    Var(Var),
    /// The value of a tensor at a place.
    Access(Access),
    /// An operator; the arguments have the dtypes of its signature.
    Call(Op, Vec<Expr>),
}
