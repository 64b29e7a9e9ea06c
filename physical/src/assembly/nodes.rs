//! The node types of Assembly.

use redpoll_logic::{Prim, Scalar};

macro_rules! define_id {
    ($name:ident, $doc:literal) => {
        #[doc = $doc]
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
        pub struct $name(pub u32);

        impl $name {
            /// Its place in the function's table.
            pub fn index(self) -> usize {
                self.0 as usize
            }
        }
    };
}

define_id!(Local, "A local variable of a function.");
define_id!(Buffer, "A buffer of a function: one array of a tensor or of a workspace.");
define_id!(Param, "A run-time parameter of a function, an `i64` such as a dimension.");

/// What the elements of a buffer are for.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum BufferClass {
    /// Values: loads and stores have the element's own type.
    Value,
    /// Positions or coordinates: loads give and stores take an `i64`, whatever the width of the element.
    Index,
}

/// Who owns a buffer and whether it may change.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum BufferRole {
    /// An array of an input: read only.
    Input,
    /// An array of an output or a workspace: read, written and grown; starts empty.
    Owned,
}

/// A buffer of a function.
#[derive(Clone, PartialEq, Debug)]
pub struct BufferDecl {
    /// A name for readers, such as `A.idx1`.
    pub name: String,
    /// The type of an element in memory.
    pub prim: Prim,
    /// Values or indices.
    pub class: BufferClass,
    /// Input or owned.
    pub role: BufferRole,
    /// What new elements of an owned buffer hold after growth.
    pub fill: Scalar,
}

impl BufferDecl {
    /// The type of a loaded or stored element as a value.
    pub fn value_prim(&self) -> Prim {
        match self.class {
            BufferClass::Value => self.prim,
            BufferClass::Index => Prim::I64,
        }
    }
}

/// A local of a function.
#[derive(Clone, PartialEq, Debug)]
pub struct LocalDecl {
    /// A name for readers; uniqueness is not required, the text form adds the number.
    pub name: String,
    /// Its type.
    pub prim: Prim,
}

/// A function: what a kernel is made from.
///
/// The entry takes the buffers, the parameters and a chunk `[chunk.0, chunk.1)` of the outermost loop, and returns a
/// [`Status`].
#[derive(Clone, PartialEq, Debug)]
pub struct Function {
    /// A name for readers and symbols.
    pub name: String,
    /// The buffers.
    pub buffers: Vec<BufferDecl>,
    /// Names of the `i64` parameters.
    pub params: Vec<String>,
    /// The locals.
    pub locals: Vec<LocalDecl>,
    /// The bounds of the chunk, set on entry.
    pub chunk: (Local, Local),
    /// The code; falling off its end returns [`Status::Done`].
    pub body: Vec<Stmt>,
}

/// How a call of a kernel ended.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[repr(i32)]
pub enum Status {
    /// All work is done.
    Done = 0,
    /// Growth met the memory limit.
    OutOfMemory = 1,
    /// The caller asked to stop.
    Cancelled = 2,
    /// A position or coordinate does not fit the width of its array.
    PositionOverflow = 3,
    /// A checked operator overflowed.
    CheckedOverflow = 4,
    /// An interval level was to store a second run in a fiber.
    SecondRun = 5,
    /// A pinpoint level was to store a second coordinate in a fiber.
    SecondEntry = 6,
    /// A coordinate is out of bounds.
    OutOfBounds = 7,
}

impl Status {
    /// The status of that number.
    pub fn from_code(code: i32) -> Option<Status> {
        Status::ALL.iter().copied().find(|s| *s as i32 == code)
    }
}

/// An expression; pure, and total but for loads out of bounds. Both sides of everything are always evaluated.
#[derive(Clone, PartialEq, Debug)]
pub enum Expr {
    /// A primitive constant.
    Const(Scalar),
    /// The value of a local.
    Local(Local),
    /// The value of a parameter, an `i64`.
    Param(Param),
    /// `buffer[at]`, `at` an `i64`.
    Load {
        /// The buffer.
        buffer: Buffer,
        /// The element, an `i64`.
        at: Box<Expr>,
    },
    /// An operator on one argument.
    Unary(UnaryOp, Box<Expr>),
    /// An operator on two arguments of one type, giving that type.
    Binary(BinaryOp, Box<Expr>, Box<Expr>),
    /// A comparison of two arguments of one type, giving a `bool`.
    Compare(CompareOp, Box<Expr>, Box<Expr>),
    /// `cond ? then : other`, both evaluated.
    Select(Box<Expr>, Box<Expr>, Box<Expr>),
    /// The total cast of `Scalar::cast`.
    Cast(Prim, Box<Expr>),
    /// A function of the mathematical library on `f64` or `f32` (both arguments and result of that type).
    Math(MathFn, Vec<Expr>),
}

/// Operators on one argument, giving its type.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum UnaryOp {
    /// Wrapping negation of integers; sign flip of floats.
    Neg,
    /// Wrapping absolute value (`abs(MIN) = MIN`; identity on unsigned); clears the sign of floats.
    Abs,
    /// Complement of every bit of an integer; negation of a `bool`.
    Not,
    /// Square root of a float.
    Sqrt,
    /// Rounds a float towards negative infinity.
    Floor,
    /// Rounds a float towards positive infinity.
    Ceil,
    /// Rounds a float towards zero.
    Trunc,
    /// Rounds a float to the nearest integer, ties to even.
    Round,
    /// The number of zeros behind the last one bit of an integer; its width if there is none.
    TrailingZeros,
    /// The number of zeros before the first one bit of an integer; its width if there is none.
    LeadingZeros,
}

/// Operators on two arguments of one type, giving that type.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum BinaryOp {
    /// Wrapping sum of integers, sum of floats.
    Add,
    /// Wrapping difference of integers, difference of floats.
    Sub,
    /// Wrapping product of integers, product of floats.
    Mul,
    /// Quotient of floats; of integers truncated towards zero, `x / 0 = 0`, `MIN / -1 = MIN`.
    Div,
    /// Remainder of integers with the sign of the dividend, `x rem 0 = 0`, `MIN rem -1 = 0`. Not for floats.
    Rem,
    /// The smaller; of floats NaN if either is, and `-0 < 0`. On `bool`, and.
    Min,
    /// The larger; of floats NaN if either is, and `-0 < 0`. On `bool`, or.
    Max,
    /// Bits and; of `bool` too.
    And,
    /// Bits or; of `bool` too.
    Or,
    /// Bits exclusive or; of `bool` too.
    Xor,
    /// Shift of an integer to the left by an unsigned reading of the second argument; 0 when that is the width or more.
    Shl,
    /// Shift of an integer to the right, copies of the sign entering on the left for signed types; by an unsigned
    /// reading of the second argument; all sign (or 0 if unsigned) when that is the width or more.
    Shr,
}

/// Comparisons; of floats as in IEEE 754 (`NaN` differs from everything, `-0 == 0`); `false < true`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum CompareOp {
    /// `a == b`
    Eq,
    /// `a != b`
    Ne,
    /// `a < b`
    Lt,
    /// `a <= b`
    Le,
}

/// Functions of the mathematical library; every engine calls the same Rust implementation (crate `libm`).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum MathFn {
    /// e^x
    Exp,
    /// 2^x
    Exp2,
    /// e^x - 1
    Expm1,
    /// Natural logarithm.
    Log,
    /// Logarithm to base 2.
    Log2,
    /// Logarithm to base 10.
    Log10,
    /// ln(1 + x)
    Log1p,
    /// Sine.
    Sin,
    /// Cosine.
    Cos,
    /// Tangent.
    Tan,
    /// Arc sine.
    Asin,
    /// Arc cosine.
    Acos,
    /// Arc tangent.
    Atan,
    /// Hyperbolic sine.
    Sinh,
    /// Hyperbolic cosine.
    Cosh,
    /// Hyperbolic tangent.
    Tanh,
    /// Inverse hyperbolic sine.
    Asinh,
    /// Inverse hyperbolic cosine.
    Acosh,
    /// Inverse hyperbolic tangent.
    Atanh,
    /// Cube root.
    Cbrt,
    /// x^y
    Pow,
    /// atan2(y, x)
    Atan2,
    /// sqrt(x^2 + y^2)
    Hypot,
    /// x - y * trunc(x / y), exactly.
    Fmod,
    /// x * 2^y, rounded once; y a whole number between -5000 and 5000.
    Ldexp,
    /// The error function.
    Erf,
    /// The gamma function.
    Tgamma,
    /// The logarithm of the gamma function.
    Lgamma,
    /// 1 where the sign bit is set, that of NaN too, else 0.
    SignBit,
}

/// A statement.
#[derive(Clone, PartialEq, Debug)]
pub enum Stmt {
    /// `local = value`
    Assign(Local, Expr),
    /// `buffer[at] = value`; an index fits the width of its buffer (the interpreter says so when it does not, machine
    /// code would cut it off), else lowering returns [`Status::PositionOverflow`] before.
    Store {
        /// An owned buffer.
        buffer: Buffer,
        /// The element, an `i64`.
        at: Expr,
        /// The value; an `i64` for a buffer of indices.
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
        /// A `bool`, evaluated before each round.
        cond: Expr,
        /// The body.
        body: Vec<Stmt>,
    },
    /// `for var in lo..hi { body }`; both bounds are evaluated once; the body does not assign `var`; after the loop
    /// `var` is unspecified.
    For {
        /// An `i64` local.
        var: Local,
        /// The first value.
        lo: Expr,
        /// One past the last value; no round when it is not above `lo`.
        hi: Expr,
        /// The body.
        body: Vec<Stmt>,
    },
    /// Leaves the innermost loop.
    Break,
    /// A fold with a fixed number of lanes and one order in every engine.
    Lanes(Box<LaneFold>),
    /// Makes an owned buffer at least `len` elements long; new elements hold the fill of its declaration; others keep
    /// their values. Returns [`Status::OutOfMemory`] from the function when it may not.
    Grow {
        /// An owned buffer.
        buffer: Buffer,
        /// The number of elements, an `i64`.
        len: Expr,
    },
    /// Sorts `buffer[lo..hi]` of an owned buffer of indices in ascending order.
    Sort {
        /// An owned buffer of indices.
        buffer: Buffer,
        /// The first element.
        lo: Expr,
        /// One past the last element.
        hi: Expr,
    },
    /// Sorts the numbers `k` in `perm[lo..hi]` by `(major[k], minor[k], k)`, all owned buffers of indices.
    SortBy {
        /// The numbers to be sorted.
        perm: Buffer,
        /// The first key.
        major: Buffer,
        /// The second key.
        minor: Buffer,
        /// The first element of `perm`.
        lo: Expr,
        /// One past the last element of `perm`.
        hi: Expr,
    },
    /// Two owned buffers of one type exchange their memory: each holds the elements, and has the length, of the other.
    Swap(Buffer, Buffer),
    /// Ends the function.
    Return(Status),
}

/// `acc = op(acc, fold of op over value(var) for var in lo..hi)`, in this order: lane `l` of `lanes` starts at
/// `identity` and folds the elements `lo + l`, `lo + l + lanes`, ..; then lanes are combined in halves,
/// `lane[l] = op(lane[l], lane[l + half])` for `half = lanes / 2, .., 1`; then `acc = op(acc, lane[0])`.
#[derive(Clone, PartialEq, Debug)]
pub struct LaneFold {
    /// The accumulator.
    pub acc: Local,
    /// The operator: associative and commutative for the accumulator's type.
    pub op: BinaryOp,
    /// Its identity.
    pub identity: Scalar,
    /// The number of lanes, a power of two.
    pub lanes: u16,
    /// The element, an `i64` local.
    pub var: Local,
    /// The first element.
    pub lo: Expr,
    /// One past the last element.
    pub hi: Expr,
    /// The value of an element.
    pub value: Expr,
}
