//! The node types of Assembly.

use super::{Extension, Serial};
use redpoll_logic::{Prim, Scalar};
use redpoll_storage::Status;
use std::hash::{Hash, Hasher};

macro_rules! define_id {
    ($name:ident, $doc:literal) => {
        #[doc = $doc]
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
        pub struct $name(pub u32);

        impl $name {
            /// Returns the index of the entry in the function's table.
            pub fn index(self) -> usize {
                self.0 as usize
            }
        }
    };
}

define_id!(Local, "A local variable of a function.");
define_id!(Buffer, "A buffer of a function: one array of a tensor or of a workspace.");
define_id!(Param, "A run-time parameter of a function, an `i64` such as a dimension.");

/// The kind of a buffer's elements.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum BufferClass {
    /// Values: loads and stores have the type of the element.
    Value,
    /// Positions or coordinates: loads return and stores take an `i64`, whatever the width of the
    /// element.
    Index,
}

/// The owner of a buffer, which determines whether the buffer may change.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum BufferRole {
    /// An array of an input: read-only.
    Input,
    /// An array of an output or a workspace: read, written and grown; starts empty.
    Owned,
}

/// A buffer of a function.
#[derive(Clone, PartialEq, Debug)]
pub struct BufferDecl {
    /// The name for readers, such as `A.idx1`.
    pub name: String,
    /// The type of an element in memory.
    pub prim: Prim,
    /// The kind of the elements: values or indices.
    pub class: BufferClass,
    /// The owner: an input or the invocation.
    pub role: BufferRole,
    /// The value of new elements of an owned buffer after growth.
    pub fill: Scalar,
}

impl BufferDecl {
    /// Returns the type of a loaded or stored element as a value.
    pub fn value_prim(&self) -> Prim {
        match self.class {
            BufferClass::Value => self.prim,
            BufferClass::Index => Prim::I64,
        }
    }

    /// Returns the value that an element has after a store of `bits`: the low bits, sign-extended
    /// to `i64` for a signed index and zero-extended otherwise.
    pub fn stored(&self, bits: u64) -> u64 {
        let unused = 64 - 8 * self.prim.bytes();
        let low = bits << unused;
        if self.class == BufferClass::Index && self.prim.is_signed() {
            (low as i64 >> unused) as u64
        } else {
            low >> unused
        }
    }
}

/// A local of a function.
#[derive(Clone, PartialEq, Debug)]
pub struct LocalDecl {
    /// The name for readers; it need not be unique, since the text form falls back to the number.
    pub name: String,
    /// The type.
    pub prim: Prim,
}

/// A function, from which kernels are made.
///
/// A call of the function takes the buffers, the parameters and a chunk `[chunk.0, chunk.1)` of the
/// outermost loop, and returns a [`Status`].
#[derive(Clone, PartialEq, Debug)]
pub struct Function {
    /// The name for readers and symbols.
    pub name: String,
    /// The buffers.
    pub buffers: Vec<BufferDecl>,
    /// The names of the `i64` parameters.
    pub params: Vec<String>,
    /// The locals.
    pub locals: Vec<LocalDecl>,
    /// The locals with the bounds of the chunk, set on entry.
    pub chunk: (Local, Local),
    /// The code; falling off its end returns [`Status::Done`].
    pub body: Vec<Stmt>,
}

impl Function {
    /// Feeds a hasher with everything that the machine code of the function depends on: all but
    /// names and the fills of buffers. The fills belong to the memory of a call, so functions that
    /// differ only in names and fills have the same code.
    pub fn hash_code(&self, state: &mut impl Hasher) {
        let Function { name: _, buffers, params, locals, chunk, body } = self;
        state.write_usize(buffers.len());
        for BufferDecl { name: _, prim, class, role, fill: _ } in buffers {
            (prim, class, role).hash(state);
        }
        state.write_usize(params.len());
        state.write_usize(locals.len());
        locals.iter().for_each(|local| local.prim.hash(state));
        (chunk, body).hash(state);
    }
}

/// An expression; pure, and total except for loads out of bounds. All operands are always
/// evaluated.
#[derive(Clone, PartialEq, Hash, Debug)]
pub enum Expr {
    /// A primitive constant.
    Const(Scalar),
    /// The value of a local.
    Local(Local),
    /// The value of a parameter, an `i64`.
    Param(Param),
    /// `buffer[at]`
    Load {
        /// The buffer.
        buffer: Buffer,
        /// The index of the element, an `i64`.
        at: Box<Expr>,
    },
    /// An operator on one argument.
    Unary(UnaryOp, Box<Expr>),
    /// An operator on two arguments of the same type, which is also the type of the result.
    Binary(BinaryOp, Box<Expr>, Box<Expr>),
    /// A comparison of two arguments of the same type; the result is a `bool`.
    Compare(CompareOp, Box<Expr>, Box<Expr>),
    /// `cond ? then : other`; both values are evaluated.
    Select(Box<Expr>, Box<Expr>, Box<Expr>),
    /// The total cast of `Scalar::cast`.
    Cast(Prim, Box<Expr>),
    /// A function of the mathematical library on `f64` or `f32`; arguments and result have that
    /// type.
    Math(MathFn, Vec<Expr>),
}

/// Operators on one argument; the result has the type of the argument.
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
    /// Number of zero bits below the lowest set bit of an integer; for 0, the width of the type.
    TrailingZeros,
    /// Number of zero bits above the highest set bit of an integer; for 0, the width of the type.
    LeadingZeros,
}

/// Operators on two arguments of the same type; the result has that type.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum BinaryOp {
    /// Wrapping sum of integers, sum of floats.
    Add,
    /// Wrapping difference of integers, difference of floats.
    Sub,
    /// Wrapping product of integers, product of floats.
    Mul,
    /// Quotient of floats. For integers, the quotient truncated towards zero, with `x / 0 = 0` and
    /// `MIN / -1 = MIN`.
    Div,
    /// Remainder of integers with the sign of the dividend, `x rem 0 = 0`, `MIN rem -1 = 0`. Not
    /// for floats.
    Rem,
    /// The smaller argument; for floats NaN if either is NaN, and `-0 < 0`. On `bool`, logical and.
    Min,
    /// The larger argument; for floats NaN if either is NaN, and `-0 < 0`. On `bool`, logical or.
    Max,
    /// Bitwise and; on `bool` too.
    And,
    /// Bitwise or; on `bool` too.
    Or,
    /// Bitwise exclusive or; on `bool` too.
    Xor,
    /// Left shift of an integer by the second argument, read as unsigned; 0 if the second argument
    /// is the width or more.
    Shl,
    /// Right shift of an integer by the second argument, read as unsigned; arithmetic for signed
    /// types, logical for unsigned ones. If the second argument is the width or more, all bits are
    /// the sign bit, or 0 for unsigned types.
    Shr,
}

/// Comparisons. Floats are compared as in IEEE 754 (`NaN` differs from everything, `-0 == 0`); for
/// `bool`, `false < true`.
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

/// Functions of the mathematical library; every backend that supports a function calls the same
/// Rust implementation.
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
    /// x - y * trunc(x / y), exact.
    Fmod,
    /// x * 2^y, rounded once; y is an integer between -5000 and 5000.
    Ldexp,
    /// The error function.
    Erf,
    /// The gamma function.
    Tgamma,
    /// The logarithm of the absolute value of the gamma function.
    Lgamma,
    /// 1 if the sign bit is set, also for NaN, else 0.
    SignBit,
    /// The next float after x in the direction of y.
    Nextafter,
}

/// A statement of Assembly, or of a machine that adds statements of its own. Without a parameter,
/// `Stmt` is a statement of Assembly.
#[derive(Clone, PartialEq, Hash, Debug)]
pub enum Stmt<X: Extension = Serial> {
    /// `local = value`
    Assign(Local, Expr),
    /// `buffer[at] = value`. An index must fit the width of its buffer. For an index that does not
    /// fit, the interpreter reports a fault, and machine code would truncate the index. So lowered
    /// functions check their numbers of positions, and return [`Status::PositionOverflow`] if a
    /// number is too large.
    Store {
        /// The lanes that store; `()` in Assembly.
        active: X::ActiveLanes,
        /// An owned buffer.
        buffer: Buffer,
        /// The index of the element, an `i64`.
        at: Expr,
        /// The value; an `i64` for a buffer of indices.
        value: Expr,
    },
    /// `if cond { then } else { other }`
    If {
        /// The condition, a `bool`.
        cond: Expr,
        /// The statements that run if the condition is true.
        then: Vec<Stmt<X>>,
        /// The statements that run if the condition is false.
        other: Vec<Stmt<X>>,
    },
    /// `while cond { body }`
    While {
        /// The condition, a `bool`, evaluated before each round.
        cond: Expr,
        /// The body.
        body: Vec<Stmt<X>>,
    },
    /// `for var in lo..hi { body }`. Both bounds are evaluated once; the body does not assign
    /// `var`; after the loop `var` is unspecified.
    For {
        /// The loop variable, an `i64` local.
        var: Local,
        /// The first value.
        lo: Expr,
        /// One past the last value; the loop has no rounds if `hi <= lo`.
        hi: Expr,
        /// The body.
        body: Vec<Stmt<X>>,
    },
    /// Leaves the innermost loop.
    Break,
    /// A fold with a fixed number of lanes, in the same order in every backend.
    Lanes(Box<LaneFold>),
    /// Makes an owned buffer at least `len` elements long. New elements have the fill of the
    /// buffer's declaration, unless the caller leaves the initial contents of the buffer unset;
    /// other elements are unchanged. Ends the function with [`Status::OutOfMemory`] if the growth
    /// would exceed the memory limit or the memory of the machine, or with [`Status::Cancelled`] if
    /// the run is cancelled.
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
    /// Sorts the numbers `k` in `perm[lo..hi]` by `(major[k], minor[k], k)`. The three buffers are
    /// owned buffers of indices.
    SortBy {
        /// The buffer of numbers to sort.
        perm: Buffer,
        /// The buffer of first keys.
        major: Buffer,
        /// The buffer of second keys.
        minor: Buffer,
        /// The first element of `perm`.
        lo: Expr,
        /// One past the last element of `perm`.
        hi: Expr,
    },
    /// Exchanges the memory, and so the elements and lengths, of two owned buffers of the same
    /// type, class and fill.
    Swap(Buffer, Buffer),
    /// Ends the function.
    Return(Status),
    /// A statement that the machine adds to those of Assembly.
    Extension(X),
}

impl Stmt {
    /// Returns the statement `buffer[at] = value`; see [`Stmt::Store`].
    pub fn store(buffer: Buffer, at: Expr, value: Expr) -> Stmt {
        Stmt::Store { active: (), buffer, at, value }
    }
}

/// The fold `acc = op(acc, fold of op over value(var) for var in lo..hi)`, in a fixed order. Lane
/// `l` of `lanes` starts at `identity` and folds the elements `lo + l`, `lo + l + lanes`, ... Then
/// lanes are combined in halves: `lane[l] = op(lane[l], lane[l + half])` for
/// `half = lanes / 2, .., 1`. Finally `acc = op(acc, lane[0])`.
#[derive(Clone, PartialEq, Hash, Debug)]
pub struct LaneFold {
    /// The accumulator.
    pub acc: Local,
    /// The operator: one of `+ * min max & | ^`, which must be defined on the accumulator's type.
    /// These operators are associative and commutative up to rounding, so lanes can fold by them.
    pub op: BinaryOp,
    /// The identity of the operator.
    pub identity: Scalar,
    /// The number of lanes, a power of two.
    pub lanes: u16,
    /// The loop variable with the index of an element, an `i64` local.
    pub var: Local,
    /// The first element.
    pub lo: Expr,
    /// One past the last element.
    pub hi: Expr,
    /// The value of an element; it does not read the accumulator.
    pub value: Expr,
}
