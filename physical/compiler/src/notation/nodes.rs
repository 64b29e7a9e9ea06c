//! The node types of Notation.

use redpoll_logic::cursor::TextPosition;
use redpoll_logic::op::Op;
use redpoll_logic::physical::{Loop, Protocol};
use redpoll_logic::{Alias, DType, Format, Scalar, TensorType};
use redpoll_storage::{BlockPartition, StoredBlocks};
use std::sync::Arc;

macro_rules! define_id {
    ($name:ident, $doc:literal) => {
        #[doc = $doc]
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
        pub struct $name(pub u32);

        impl $name {
            /// Returns the index of the entry in the program's table.
            pub fn index(self) -> usize {
                self.0 as usize
            }
        }
    };
}

define_id!(Index, "A loop index of a program; in the normal form, one loop binds it.");
define_id!(Var, "A variable of a program, bound by a `let`.");
define_id!(TensorId, "A tensor of a program: input, output or local.");

/// A placeholder for a dimension of an output or local whose size the writes determine. The pass
/// `dimensionalize` replaces the placeholder by the inferred size.
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
    /// The statement that computes the outputs.
    pub body: Stmt,
    /// The transformations of the loops, in order; [`apply_schedule`](super::apply_schedule)
    /// applies them.
    pub schedule: Vec<Transformation>,
    /// The inputs whose values are computed from other inputs, not given by users.
    pub block_inputs: Vec<BlockInputs>,
}

impl Program {
    /// Returns the least and the greatest possible value of an input that holds the first rounds of
    /// blocks or the numbers of blocks; `None` for other tensors, and if the rounds cannot be
    /// counted.
    pub fn block_input_range(&self, input: TensorId) -> Option<(i64, i64)> {
        let inputs = self.block_inputs.iter().find(|b| b.inputs().any(|t| t == input))?;
        let rounds = inputs.stored.rounds(&self.tensors[inputs.of.index()].ty)? as i64;
        // A fiber without rounds has one block.
        Some(if input == inputs.begins { (0, rounds) } else { (1, rounds.max(1)) })
    }

    /// Returns the outputs, in the order of the tensors.
    pub fn outputs(&self) -> impl Iterator<Item = TensorId> {
        let outputs = (0..).zip(&self.tensors).filter(|(_, decl)| decl.role == Role::Output);
        outputs.map(|(k, _)| TensorId(k))
    }

    /// Returns the element of `inputs` that belongs to the input whose pattern the output has;
    /// `None` if the output has levels of its own. `inputs` has an element for each input, in the
    /// order of the program's tensors.
    pub fn pattern_input<T: Copy>(&self, output: TensorId, inputs: &[T]) -> Option<T> {
        let of = self.tensors[output.index()].pattern?;
        let before = self.tensors[..of.index()].iter().filter(|t| t.role == Role::Input).count();
        inputs.get(before).copied()
    }
}

/// The role of a tensor in a program.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Role {
    /// A tensor that the program only reads; it is always frozen.
    Input,
    /// A tensor that the program writes. It is frozen at the end, and returned.
    Output,
    /// A tensor that the program writes and reads itself: a workspace, or a scalar temporary
    /// (rank 0).
    Local,
}

/// A transformation of loops, which are named by their indices.
/// [`TRANSFORMATIONS`](super::TRANSFORMATIONS) describes the effect and the precondition of each
/// transformation.
#[derive(Clone, PartialEq, Debug)]
pub enum Transformation {
    /// Reorders nested loops; the new order, outermost first.
    Reorder(Vec<String>),
    /// Splits a loop into a loop over blocks of its rounds and a loop over the rounds of a block.
    Split {
        /// The loop.
        index: String,
        /// The index that counts blocks.
        outer: String,
        /// The new name of the index within a block.
        inner: String,
        /// The partition into blocks.
        blocks: BlockPartition,
        /// The name of the input whose stored entries are cut into blocks; `None` to cut the rounds
        /// of the loop.
        stored: Option<String>,
    },
    /// Names the product of two directly nested loops, so that a split can cut the product into
    /// blocks.
    Collapse {
        /// The outer loop.
        outer: String,
        /// The inner loop.
        inner: String,
        /// The name of the product.
        product: String,
    },
    /// States that a loop has exactly, or at most, the given number of rounds. If the number is
    /// computed at run time, rounds beyond the maximum move to a second loop.
    Bound {
        /// The loop.
        index: String,
        /// The number of rounds.
        rounds: RoundBound,
    },
    /// Computes a part of an assignment's value in advance, into a workspace.
    Precompute {
        /// The name of the workspace.
        workspace: String,
        /// The tensor that the assignment writes.
        target: String,
        /// The tensors that the part reads; if empty, the whole value is computed in advance.
        of: Vec<String>,
        /// The loops over which the part is computed, each as its index, its new name where the
        /// workspace is read, and its new name where the workspace is written.
        over: Vec<[String; 3]>,
        /// The format of the workspace; dense if `None`.
        format: Option<Format>,
    },
    /// Marks a loop whose chunks may run in parallel.
    Parallel(String),
    /// Folds the rounds of a loop in a number of lanes.
    Lanes {
        /// The loop.
        index: String,
        /// The number of lanes.
        lanes: u64,
    },
    /// Repeats the body of a loop within a round.
    Unroll {
        /// The loop.
        index: String,
        /// The number of copies; one for each round of the loop if `None`.
        copies: Option<u64>,
    },
}

/// Transformations of the loops of a query or program, stated apart from the computation.
///
/// The text form begins with the name of the query: `C: split(i, io, ii, 32) parallel(io)`. The
/// name may be left out if the plan has a single result, which this query computes. A
/// transformation is written as a call, or as in the text of a program: `(parallel io)`.
#[derive(Clone, PartialEq, Debug)]
pub struct Schedule {
    /// An output of the query; `None` for the query that computes the result of a plan with a
    /// single result.
    pub query: Option<Alias>,
    /// The transformations, in order.
    pub transformations: Vec<Transformation>,
}

/// Inputs that describe how the stored entries of another input are cut into blocks.
/// `Tensor::block_bounds` computes their values.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BlockInputs {
    /// The input that is cut.
    pub of: TensorId,
    /// The storage modes that are cut, and the partition.
    pub stored: StoredBlocks,
    /// The input with the first round of each block.
    pub begins: TensorId,
    /// The input with the number of blocks of each fiber, if the partition does not fix this
    /// number.
    pub counts: Option<TensorId>,
}

impl BlockInputs {
    /// The maximum `n` of a partition `BlockPartition::Into(n)`.
    pub const MAX_BLOCKS: u64 = 1 << 20;

    /// Returns `begins`, and `counts` if there is one.
    pub fn inputs(&self) -> impl Iterator<Item = TensorId> {
        [self.begins].into_iter().chain(self.counts)
    }
}

/// A bound of the number of rounds of a loop.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RoundBound {
    /// The exact number.
    Exactly(u64),
    /// The maximum number.
    AtMost(u64),
}

/// A tensor of a program.
#[derive(Clone, PartialEq, Debug)]
pub struct TensorDecl {
    /// The name.
    pub name: String,
    /// Shape, dtype, fill value and format. Accesses have one subscript per *storage* mode.
    pub ty: Arc<TensorType>,
    /// Input, output or local.
    pub role: Role,
    /// The input whose pattern an output has: the output stores a value for each stored entry of
    /// that input, and shares the level arrays of the input.
    pub pattern: Option<TensorId>,
}

impl TensorDecl {
    /// Makes a tensor with levels of its own.
    pub fn new(name: impl Into<String>, ty: Arc<TensorType>, role: Role) -> TensorDecl {
        TensorDecl { name: name.into(), ty, role, pattern: None }
    }

    /// Returns whether some level of the tensor is not dense. A fiber of such a level is looked up
    /// where the loop over the fiber begins; the positions of dense levels are computed.
    pub(crate) fn is_looked_up(&self) -> bool {
        !self.ty.format.is_dense()
    }

    /// Returns the number of levels that are written in order: all levels from the outermost level
    /// to the last appended level. Returns 0 for a tensor with the pattern of an input, which
    /// writes no levels.
    pub(crate) fn appended_levels(&self) -> usize {
        let levels = if self.pattern.is_some() { &[][..] } else { &self.ty.format.levels };
        levels.iter().rposition(|l| !l.kind.traits().writes.is_random()).map_or(0, |last| last + 1)
    }
}

/// A statement.
#[derive(Clone, PartialEq, Debug)]
pub enum Stmt {
    /// Statements in sequence; an empty block does nothing.
    Block(Vec<Stmt>),
    /// `for index in extent`: runs the body for each value, ascending.
    For {
        /// The index that the loop binds.
        index: Index,
        /// The half-open bounds; `None` if the accesses imply them.
        extent: Option<(Expr, Expr)>,
        /// The execution mode of the rounds of the loop.
        rounds: Rounds,
        /// The body.
        body: Box<Stmt>,
    },
    /// Runs the body if the condition is true.
    If {
        /// The condition, a `bool`.
        cond: Expr,
        /// The body.
        body: Box<Stmt>,
    },
    /// Runs the body with a variable bound to a value.
    Let {
        /// The variable.
        var: Var,
        /// The value of the variable.
        value: Expr,
        /// The scope of the variable.
        body: Box<Stmt>,
    },
    /// Runs the body while the condition is true. The condition reads scalars, at least one of
    /// which the body writes.
    While {
        /// The condition, a `bool`.
        cond: Expr,
        /// The body.
        body: Box<Stmt>,
    },
    /// Runs the producer, then the consumer, which reads the tensors that the producer writes.
    Where {
        /// The consumer; runs second.
        consumer: Box<Stmt>,
        /// The producer; runs first.
        producer: Box<Stmt>,
    },
    /// Starts the life of an output or local: all its elements have the fill value, and it can be
    /// written.
    Declare(TensorId),
    /// Ends writing, so that the tensor can be read.
    Freeze(TensorId),
    /// Resumes writing after a freeze.
    Thaw(TensorId),
    /// Exchanges the contents of two frozen locals of one type without a copy, for double buffers.
    Swap(TensorId, TensorId),
    /// Writes a value.
    Assign {
        /// The target.
        lhs: Access,
        /// The kind of write.
        write: Write,
        /// The value.
        rhs: Expr,
    },
}

/// The execution mode of a loop's rounds.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Rounds {
    /// Rounds in order, or in another order with the same results.
    #[default]
    Ordered,
    /// Chunks that may run in parallel. `verify_parallel` reports the obstacle if they cannot.
    Parallel,
    /// This many lanes, a power of two. Applies to loops that only fold one value.
    Lanes(u8),
    /// This many copies of the body in each round of the generated loop. Applies to loops over
    /// stored entries.
    Unrolled(u8),
}

impl Rounds {
    /// Returns the mode with the given number of lanes; `None` if the number is not supported.
    pub fn with_lanes(count: u64) -> Option<Rounds> {
        let fits = count.is_power_of_two() && (2..=u64::from(Loop::MAX_LANES)).contains(&count);
        fits.then_some(Rounds::Lanes(count as u8))
    }

    /// Returns the mode with the given number of copies; `None` for a number outside of `2..=64`.
    pub fn with_copies(copies: u64) -> Option<Rounds> {
        (2..=Rounds::MAX_COPIES).contains(&copies).then_some(Rounds::Unrolled(copies as u8))
    }

    /// The maximum number of copies of a body, which bounds the length of code.
    pub(crate) const MAX_COPIES: u64 = 64;

    /// Returns the modes of the two loops into which a loop of this mode is split: the loop over
    /// blocks, and the loop within a block.
    pub(crate) fn split_modes(self) -> (Rounds, Rounds) {
        match self {
            Rounds::Lanes(_) | Rounds::Unrolled(_) => (Rounds::Ordered, self),
            Rounds::Ordered | Rounds::Parallel => (self, Rounds::Ordered),
        }
    }
}

/// The effect of an assignment on the old value.
#[derive(Clone, PartialEq, Debug)]
pub enum Write {
    /// Sets an element that has had the fill value since the declaration, so that writing the fill
    /// value changes nothing.
    Init,
    /// Replaces the old value.
    Overwrite,
    /// `new = op(old, value)`
    Fold(Op),
}

/// A read or write of one value of a tensor.
#[derive(Clone, PartialEq, Debug)]
pub struct Access {
    /// The tensor.
    pub tensor: TensorId,
    /// The subscripts, one per storage mode, outermost first.
    pub subscripts: Vec<AccessSubscript>,
}

/// A subscript of an access at one storage mode.
#[derive(Clone, PartialEq, Debug)]
pub struct AccessSubscript {
    /// The coordinate: an `i64` expression; in the normal form, a linear form of indices and
    /// variables.
    pub at: Expr,
    /// The protocol by which a read iterates over the level; not used by writes.
    pub protocol: Protocol,
    /// The value of a read out of bounds; `None` if reads must be in bounds.
    pub outside: Option<Scalar>,
    /// The proof or check that the coordinate is in bounds, used if `outside` is `None`.
    pub bounds: Bounds,
}

impl AccessSubscript {
    /// Makes a subscript whose coordinate is always in bounds.
    pub fn in_bounds(at: Expr) -> AccessSubscript {
        AccessSubscript { at, protocol: Protocol::Walk, outside: None, bounds: Bounds::Proved }
    }
}

/// The proof or check that a coordinate is in bounds; the pass `prove_bounds` determines it.
#[derive(Clone, Debug)]
pub enum Bounds {
    /// A coordinate in bounds in every round of the enclosing loops.
    Proved,
    /// A coordinate in bounds where the enclosing conditions are true.
    Guarded,
    /// A coordinate checked at run time: the run ends with an error at this site if the coordinate
    /// is out of bounds.
    Checked(Arc<Site>),
}

/// All `Bounds` compare equal, since the proof that an access is in bounds does not affect the
/// value that the access reads.
impl PartialEq for Bounds {
    fn eq(&self, _: &Bounds) -> bool {
        true
    }
}

/// A subscript in the text of a program.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Site {
    /// The position of the access in the text.
    pub at: TextPosition,
    /// The name of the tensor.
    pub tensor: String,
    /// The text of the access.
    pub access: String,
    /// The text of the subscript.
    pub subscript: String,
}

/// An expression at one point of the iteration space.
#[derive(Clone, PartialEq, Debug)]
pub enum Expr {
    /// A constant.
    Literal(Scalar),
    /// The value of a loop index, an `i64`.
    Index(Index),
    /// The value of a variable.
    Var(Var),
    /// The value of a tensor at the given subscripts.
    Access(Access),
    /// A call of an operator; the arguments have the dtypes of its signature.
    Call(Op, Vec<Expr>),
}
