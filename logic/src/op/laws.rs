//! The laws of built-in operators, as rows of tables.
//!
//! A row states that the listed operators obey the law on the listed kinds of dtypes. The dtype is
//! the dtype of the arguments after promotion. A law that fails for one value of a dtype has no row
//! for the dtype. `law_tests.rs` tests every row against [`Op::eval_in`](super::Op::eval_in).
//!
//! Laws on [`RELAXED`] floats are valid up to rounding and the sign of zero. Laws that decide a
//! result are valid for all values, infinities and NaN included, because
//! [`FloatMode::Relaxed`](crate::FloatMode::Relaxed) defines the values accordingly. The exception
//! is a sum of two opposite infinities.

use super::builtin::Builtin::{self, *};

/// A method to fold n equal values x, with n at least 1, in fewer than n steps.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum RepeatMethod {
    /// `n * x`, with n wrapped to the width of an integer, or rounded to a float.
    Multiply,
    /// `x ^ n`; for integers wrapping, for floats by `pow` in `f64`.
    Power,
    /// The value `x`.
    Idempotent,
    /// The value `x` if n is odd, else the operator's identity.
    Parity,
    /// Repeated doubling: the fold of 2k values combines the fold of k values with itself.
    Doubling,
}

/// A set of kinds of dtypes, as bits.
pub(super) type DtypeKinds = u8;
/// The dtype `bool`.
pub(super) const BOOL: DtypeKinds = 1;
/// Signed integers.
pub(super) const SIGNED: DtypeKinds = 2;
/// Unsigned integers.
pub(super) const UNSIGNED: DtypeKinds = 4;
/// Floats in the relaxed mode.
pub(super) const RELAXED: DtypeKinds = 8;
/// Floats in the strict mode.
pub(super) const STRICT: DtypeKinds = 16;
/// Structs that `minby` accepts.
pub(super) const PAIR: DtypeKinds = 32;
/// Other structs.
pub(super) const STRUCT: DtypeKinds = 64;

const INT: DtypeKinds = SIGNED | UNSIGNED;
const FLOAT: DtypeKinds = RELAXED | STRICT;
const NUMBER: DtypeKinds = INT | FLOAT;
const PRIM: DtypeKinds = NUMBER | BOOL;
const ANY_STRUCT: DtypeKinds = PAIR | STRUCT;

/// A set of argument positions, as bits.
pub(super) type ArgPositions = u8;
/// The first argument.
pub(super) const FIRST: ArgPositions = 1;
/// All arguments except the first.
pub(super) const REST: ArgPositions = 2;
const EACH: ArgPositions = FIRST | REST;

/// A constant that every dtype represents in its own way.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Constant {
    /// `false`, 0, 0.0, or a struct of zeros.
    Zero,
    /// Negative zero, -0.0.
    NegZero,
    /// `true`, 1 or 1.0.
    One,
    /// All bits set.
    Ones,
    /// The largest value; infinity.
    Top,
    /// The smallest value; minus infinity.
    Bottom,
    /// NaN.
    NaN,
    /// The identity of `minby`: the largest value at the largest coordinate.
    MinByIdentity,
    /// The identity of `maxby`: the smallest value at the largest coordinate.
    MaxByIdentity,
}
use Constant::*;

/// Operators that act on `bool` like `and`.
const AND: &[Builtin] = &[And, Mul, Min, BitAnd];
/// Operators that act on `bool` like `or`.
const OR: &[Builtin] = &[Or, Max, BitOr];
/// Operators that act on `bool` like `xor`.
const XOR: &[Builtin] = &[Xor, BitXor];

/// Operators with `f(a, b) = f(b, a)`.
pub(super) const COMMUTATIVE: &[(&[Builtin], DtypeKinds)] = &[
    (&[Add, AddSat, AddChecked, MulSat, MulChecked], NUMBER),
    (&[Mul, Min, Max], PRIM),
    (&[And, Or, Xor], BOOL),
    (&[BitAnd, BitOr, BitXor], INT | BOOL),
    (&[Eq, Ne], PRIM | ANY_STRUCT),
    (&[MinBy, MaxBy], PAIR),
    (&[Hypot], FLOAT),
];

/// Operators with `f(f(a, b), c) = f(a, f(b, c))`. Saturating and checked sums and products of
/// signed integers have no row, because the order decides whether a partial result overflows.
/// Checked products of unsigned integers have no row, because a product may overflow before it is
/// multiplied by 0.
pub(super) const ASSOCIATIVE: &[(&[Builtin], DtypeKinds)] = &[
    (&[Add], INT | RELAXED),
    (&[Mul], INT | RELAXED | BOOL),
    (&[AddSat, AddChecked, MulSat], UNSIGNED | RELAXED),
    (&[MulChecked], RELAXED),
    (&[Min, Max], PRIM),
    (&[And, Or, Xor], BOOL),
    (&[BitAnd, BitOr, BitXor], INT | BOOL),
    (&[MinBy, MaxBy], PAIR),
    (&[Choose], PRIM | ANY_STRUCT),
    (&[Coalesce], PRIM),
];

/// Operators with `f(a, a) = a`.
pub(super) const IDEMPOTENT: &[(&[Builtin], DtypeKinds)] = &[
    (&[Min, Max, Coalesce], PRIM),
    (&[And, Or, Mul], BOOL),
    (&[BitAnd, BitOr], INT | BOOL),
    (&[MinBy, MaxBy], PAIR),
    (&[Choose], PRIM | ANY_STRUCT),
];

/// Identities e: `f(a, e) = a` for positions after the first, `f(e, a) = a` for the first.
pub(super) const IDENTITY: &[(&[Builtin], ArgPositions, Constant, DtypeKinds)] = &[
    (&[Add, AddSat, AddChecked], EACH, Zero, INT | RELAXED),
    (&[Add, AddSat, AddChecked], EACH, NegZero, STRICT),
    (&[Sub, SubSat, SubChecked], REST, Zero, NUMBER),
    (&[Mul], EACH, One, PRIM),
    (&[MulSat, MulChecked], EACH, One, NUMBER),
    (&[Div], REST, One, FLOAT),
    (&[Pow], REST, One, NUMBER),
    (&[FloorDiv], REST, One, INT),
    (&[Min], EACH, Top, PRIM),
    (&[Max], EACH, Bottom, PRIM),
    (&[And, Eq], EACH, One, BOOL),
    (&[Or, Xor, Ne], EACH, Zero, BOOL),
    (&[BitAnd], EACH, Ones, INT | BOOL),
    (&[BitOr, BitXor], EACH, Zero, INT | BOOL),
    (&[Shl, Shr], REST, Zero, INT),
    (&[Ldexp], REST, Zero, FLOAT),
    (&[Choose], FIRST, Zero, PRIM | ANY_STRUCT),
    (&[Choose], REST, Zero, INT | BOOL | RELAXED),
    (&[Coalesce], EACH, NaN, FLOAT),
    (&[MinBy], EACH, MinByIdentity, PAIR),
    (&[MaxBy], EACH, MaxByIdentity, PAIR),
];

/// Arguments that decide the result: if the argument at the position is the first constant, the
/// result is the second constant. If the constants are equal, they are an annihilator. In the
/// default mode, zeros and infinities decide the results of arithmetic, so NaN decides only
/// comparisons.
pub(super) const CONSTANT_RESULTS: &[(&[Builtin], ArgPositions, Constant, Constant, DtypeKinds)] = &[
    (&[Mul, MulSat, MulChecked], EACH, Zero, Zero, INT | RELAXED),
    (AND, EACH, Zero, Zero, BOOL),
    (OR, EACH, One, One, BOOL),
    (&[BitAnd], EACH, Zero, Zero, INT),
    (&[BitOr], EACH, Ones, Ones, INT),
    (&[Min], EACH, Bottom, Bottom, INT | RELAXED),
    (&[Max], EACH, Top, Top, INT | RELAXED),
    (&[Min, Max], EACH, NaN, NaN, STRICT),
    (&[Add, AddSat, AddChecked], EACH, Top, Top, RELAXED),
    (&[Add, AddSat, AddChecked], EACH, Bottom, Bottom, RELAXED),
    (&[AddSat], EACH, Top, Top, UNSIGNED),
    (&[Sub, SubSat, SubChecked], FIRST, Top, Top, RELAXED),
    (&[Sub, SubSat, SubChecked], FIRST, Bottom, Bottom, RELAXED),
    (&[Sub, SubSat, SubChecked], REST, Top, Bottom, RELAXED),
    (&[Sub, SubSat, SubChecked], REST, Bottom, Top, RELAXED),
    (&[SubSat], FIRST, Zero, Zero, UNSIGNED),
    (&[SubSat], REST, Top, Zero, UNSIGNED),
    (&[Add, Sub, Mul, Div, AddSat, SubSat, MulSat, AddChecked, SubChecked, MulChecked], EACH, NaN, NaN, STRICT),
    (&[Div, FloorDiv, Rem, Fmod, Ldexp], FIRST, Zero, Zero, RELAXED),
    (&[Div], REST, Top, Zero, RELAXED),
    (&[Div], REST, Bottom, Zero, RELAXED),
    (&[FloorDiv, Rem, Fmod, Shl, Shr], FIRST, Zero, Zero, INT),
    (&[FloorDiv, Rem, Fmod], REST, Zero, Zero, INT),
    (&[Rem, Fmod], REST, One, Zero, INT),
    (&[Shr], FIRST, Ones, Ones, SIGNED),
    (&[Ldexp], FIRST, Top, Top, FLOAT),
    (&[Ldexp], FIRST, Bottom, Bottom, FLOAT),
    (&[Pow], FIRST, One, One, NUMBER),
    (&[Pow], REST, Zero, One, NUMBER),
    (&[Hypot], EACH, Top, Top, FLOAT),
    (&[Hypot], EACH, Bottom, Top, FLOAT),
    (&[Lt], FIRST, Top, Zero, INT | FLOAT | BOOL),
    (&[Lt], REST, Bottom, Zero, INT | FLOAT | BOOL),
    (&[Gt], FIRST, Bottom, Zero, INT | FLOAT | BOOL),
    (&[Gt], REST, Top, Zero, INT | FLOAT | BOOL),
    (&[Le], FIRST, Bottom, One, INT | BOOL),
    (&[Le], REST, Top, One, INT | BOOL),
    (&[Ge], FIRST, Top, One, INT | BOOL),
    (&[Ge], REST, Bottom, One, INT | BOOL),
    (&[Lt, Le, Gt, Ge, Eq], EACH, NaN, Zero, FLOAT),
    (&[Ne], EACH, NaN, One, FLOAT),
];

/// Pairs of operators `f` and `g` with `f(.., g(b, c), ..) = g(f(.., b, ..), f(.., c, ..))`. A sum
/// distributes over minimum and maximum only if it cannot wrap. A product also needs nonnegative
/// values, which only unsigned dtypes guarantee.
pub(super) const DISTRIBUTIVE: &[(&[Builtin], ArgPositions, &[Builtin], DtypeKinds)] = &[
    (&[Mul], EACH, &[Add, Sub], INT | RELAXED),
    (&[Mul], EACH, &[Choose], RELAXED),
    (&[Div], FIRST, &[Add, Sub, Choose], RELAXED),
    (&[Neg], FIRST, &[Add, Sub], INT | RELAXED),
    (&[Add], EACH, &[Min, Max], RELAXED),
    (&[Sub], FIRST, &[Min, Max], RELAXED),
    (&[AddSat], EACH, &[Min, Max], INT | RELAXED),
    (&[SubSat], FIRST, &[Min, Max], INT | RELAXED),
    (&[MulSat], EACH, &[Min, Max, AddSat], UNSIGNED),
    (&[Min, Max], EACH, &[Min, Max], PRIM),
    (AND, EACH, AND, BOOL),
    (AND, EACH, OR, BOOL),
    (AND, EACH, XOR, BOOL),
    (OR, EACH, AND, BOOL),
    (OR, EACH, OR, BOOL),
    (&[BitAnd], EACH, &[BitAnd, BitOr, BitXor], INT),
    (&[BitOr], EACH, &[BitAnd, BitOr], INT),
    (&[Shl], FIRST, &[Add, Sub, BitAnd, BitOr, BitXor], INT),
    (&[Shr], FIRST, &[BitAnd, BitOr, BitXor, Min, Max], INT),
    (&[Ldexp], FIRST, &[Add, Sub], RELAXED),
    (&[Ldexp], FIRST, &[Min, Max], FLOAT),
    (&[Floor, Ceil, Trunc, Round, Sign], FIRST, &[Min, Max], PRIM),
];

/// Methods that fold n equal values in fewer than n steps, for operators that are not idempotent.
/// Saturating and checked operators are not associative in general, but are associative on equal
/// values.
pub(super) const REPEAT: &[(&[Builtin], RepeatMethod, DtypeKinds)] = &[
    (&[Add], RepeatMethod::Multiply, INT | RELAXED),
    (&[Mul], RepeatMethod::Power, INT | RELAXED),
    (&[AddSat, AddChecked], RepeatMethod::Multiply, RELAXED),
    (&[MulSat, MulChecked], RepeatMethod::Power, RELAXED),
    (&[AddSat, AddChecked, MulSat, MulChecked], RepeatMethod::Doubling, INT),
    (&[Xor], RepeatMethod::Parity, BOOL),
    (&[BitXor], RepeatMethod::Parity, BOOL | INT),
];

/// Inverses: `inverse(f(a, b), b) = a`. A quotient does not invert a product, because `a * 0 / 0`
/// is 0.
pub(super) const INVERSE: &[(&[Builtin], Builtin, DtypeKinds)] =
    &[(&[Add], Sub, INT | RELAXED), (&[Sub], Add, INT | RELAXED), (&[Xor], Xor, BOOL), (&[BitXor], BitXor, INT | BOOL)];

/// Tails of operators that are not associative: `f(f(s, a), b) = f(s, tail(a, b))`. Quotients have
/// no tail: in the default mode `s / inf / 0` is 0, but `s / (inf * 0)` is not.
pub(super) const TAIL: &[(&[Builtin], Builtin, DtypeKinds)] =
    &[(&[Sub], Add, INT | RELAXED), (&[SubSat], AddSat, UNSIGNED | RELAXED)];

/// Accumulators that end a fold early. If the flag is `true`, an accumulator equal to the constant
/// ends the fold; if it is `false`, any other accumulator does. Products of numbers have no row,
/// because they seldom reach 0, and the test in each iteration would cost more than it saves.
pub(super) const SHORT_CIRCUITS: &[(&[Builtin], bool, Constant, DtypeKinds)] = &[
    (AND, true, Zero, BOOL),
    (OR, true, One, BOOL),
    (&[BitAnd], true, Zero, INT),
    (&[BitOr], true, Ones, INT),
    (&[Min], true, Bottom, INT | RELAXED),
    (&[Max], true, Top, INT | RELAXED),
    (&[Choose], false, Zero, PRIM | ANY_STRUCT),
    (&[Coalesce], false, NaN, FLOAT),
];
