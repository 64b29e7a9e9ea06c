//! Values of operators: the total definition that all engines obey.
//!
//! [`Op::eval`] evaluates in the strict mode, with the floats of IEEE 754. [`Op::eval_in`] takes
//! the float mode; [`FloatMode::Relaxed`] describes the differences of the default mode.
//!
//! | case | result |
//! |---|---|
//! | integer `+ - * neg abs square pow` | wraps to the width |
//! | `add-sat`, `sub-sat`, `mul-sat` of integers, on overflow | nearest value of the dtype |
//! | `add-checked`, `sub-checked`, `mul-checked` of integers, on overflow | [`Fault::Overflow`] |
//! | saturating and checked operators of floats | like `+`, `-`, `*` |
//! | integer `floordiv`, `rem`, `fmod` by 0 | 0 |
//! | integer `MIN floordiv -1`, for the least value `MIN` of the dtype | `MIN` |
//! | integer `MIN rem -1`, `MIN fmod -1` | 0 |
//! | float `rem` | `fmod`, plus the divisor if `fmod` is not 0 and its sign differs from that of the divisor; a zero has the sign of the divisor |
//! | float `floordiv` | `(x - fmod(x, y)) / y`, minus 1 if `fmod(x, y)` is not 0 and its sign differs from that of `y`, rounded to the nearest integer; a quotient of 0 has the sign of `x / y`; `x / y` if `y` is 0 |
//! | integer `pow` to a negative exponent | 0; 1 for base 1; 1 or -1 for base -1 |
//! | `shl`, `shr` by a count (read as unsigned) of the width or more | 0; copies of the sign bit for `shr` of signed integers |
//! | float to integer cast | truncates, saturates at the ends, maps NaN to 0; to `bool`: `x != 0`, true for NaN |
//! | integer to integer cast | wraps |
//! | `min`, `max` | NaN if any argument is; `-0 < 0` |
//! | `minby`, `maxby` | NaN is chosen over all numbers, consistent with `min` and `max`; ties go to the smallest second member, then to `-0` (`maxby`: to `0`) |
//! | `sign` | NaN for NaN, 0 for both zeros |
//! | `copysign(x, NaN)` | `abs(x)` |
//! | `signbit(NaN)` | the sign bit of the NaN; for a computed NaN it depends on the machine |
//! | `choose(x, y)` | `y` if `x` is zero, else `x`; `0` and `-0` count as zero, NaN does not; a struct is zero if all its members are zero |
//! | `eq ne lt le gt ge` | IEEE 754: NaN differs from every value, `-0 == 0`; `false < true` |
//! | `ldexp(x, n)` | `n` clamped to `i32`, then `libm::ldexp` |
//! | `round` | ties to even |
//! | mathematical functions | those of [`elementary`](super::elementary), the others of crate `libm`; NaN for an argument outside of the domain |
//!
//! The payload of a NaN does not matter: all NaNs of a dtype are equal as [`Scalar`]s.

use super::builtin::Builtin;
use super::error::OpError;
use super::{Op, float, integer};
use crate::dtype::{DType, Prim};
use crate::mode::FloatMode;
use crate::scalar::Scalar;
use std::cmp::Ordering;

/// The reason why an evaluation has no value.
#[derive(Clone, PartialEq, Eq, Hash, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Fault {
    /// The result of a checked operator overflowed its dtype.
    #[error("operator `{op}` overflowed {prim}; use a wider dtype, or the wrapping or saturating operator")]
    Overflow {
        /// The operator.
        op: Builtin,
        /// Dtype of the operation.
        prim: Prim,
    },
    /// The loops of a user-defined operator exceeded the step limit, which they share.
    #[error("the loops of operator `{op}` did not end within {limit} iterations together")]
    StepLimit {
        /// The operator.
        op: String,
        /// Maximal number of iterations.
        limit: u64,
    },
}

impl Op {
    /// Returns the value in the strict mode, for arguments that have the dtypes of a
    /// [`signature`](Op::signature).
    ///
    /// # Errors
    /// Returns a fault on overflow of a checked operator, or if the loops of a user-defined
    /// operator together exceed [`STEP_LIMIT`](super::STEP_LIMIT).
    ///
    /// # Panics
    /// May panic if an argument has another dtype.
    pub fn eval(&self, args: &[Scalar]) -> Result<Scalar, Fault> {
        self.eval_in(args, FloatMode::StrictIeee)
    }

    /// Returns the value in a float mode, for arguments that have the dtypes of a
    /// [`signature`](Op::signature).
    ///
    /// # Errors
    /// Returns the faults of [`Op::eval`].
    ///
    /// # Panics
    /// May panic if an argument has another dtype.
    pub fn eval_in(&self, args: &[Scalar], mode: FloatMode) -> Result<Scalar, Fault> {
        match self {
            Op::Builtin(b) => eval(*b, args, mode),
            Op::User(u) => u.eval(args, mode),
        }
    }

    /// Returns the value in the strict mode for arguments of any dtypes that the operator accepts,
    /// after casting them to the signature.
    ///
    /// # Errors
    /// Returns the errors of [`Op::signature`] and [`Op::eval`].
    pub fn apply(&self, args: &[Scalar]) -> Result<Scalar, OpError> {
        let signature = self.signature(&args.iter().map(Scalar::dtype).collect::<Vec<_>>())?;
        let args: Vec<Scalar> = args.iter().zip(&signature.args).map(|(a, t)| cast_to(a, t)).collect();
        Ok(self.eval(&args)?)
    }
}

/// Casts `value` to `to`, its dtype in a signature: primitives are cast, structs already have that
/// dtype.
pub fn cast_to(value: &Scalar, to: &DType) -> Scalar {
    match to {
        DType::Prim(p) => value.cast(*p).expect("a signature never casts a struct to a primitive"),
        DType::Struct(_) => value.clone(),
    }
}

fn eval(b: Builtin, args: &[Scalar], mode: FloatMode) -> Result<Scalar, Fault> {
    use Builtin::*;
    Ok(match (b, args) {
        (IfElse, [c, x, y]) => if truth(c) { x } else { y }.clone(),
        (Cast(to), [x]) => x.cast(to).expect("the argument of a cast is a primitive"),
        (Pair, [value, coordinate]) => {
            let dtype = super::pair_type(value.prim().expect("the value of a pair is a primitive"));
            let DType::Struct(ty) = dtype else { unreachable!("a pair is a struct") };
            Scalar::Struct(ty, [value.clone(), coordinate.clone()].into())
        }
        (First, [Scalar::Struct(_, members)]) => members[0].clone(),
        (Second, [Scalar::Struct(_, members)]) => members[1].clone(),
        (_, [x]) => unary(b, x),
        (_, [x, y]) => binary(b, x, y, mode)?,
        (_, [x, y, rest @ ..]) => rest.iter().try_fold(binary(b, x, y, mode)?, |acc, z| binary(b, &acc, z, mode))?,
        (_, []) => unreachable!("operator `{}` without arguments", b.name()),
    })
}

fn unary(b: Builtin, x: &Scalar) -> Scalar {
    use Builtin::*;
    match (b, x) {
        (Not, _) => Scalar::Bool(!truth(x)),
        (IsNan, _) => Scalar::Bool(x.is_nan()),
        (IsFinite, _) => Scalar::Bool(x.to_f64().is_some_and(f64::is_finite)),
        (SignBit, _) => Scalar::Bool(x.to_f64().is_some_and(f64::is_sign_negative)),
        (IsInf, _) => Scalar::Bool(x.to_f64().is_some_and(f64::is_infinite)),
        (BitNot, Scalar::Bool(v)) => Scalar::Bool(!v),
        (Abs | Sign | Floor | Ceil | Trunc | Round, Scalar::Bool(_)) => x.clone(),
        (_, Scalar::F32(v)) => Scalar::F32(float::unary32(b, *v)),
        (_, Scalar::F64(v)) => Scalar::F64(float::unary64(b, *v)),
        _ => integer::unary(b, x),
    }
}

fn binary(b: Builtin, x: &Scalar, y: &Scalar, mode: FloatMode) -> Result<Scalar, Fault> {
    use Builtin::*;
    Ok(match (b, x, y) {
        (And, ..) => Scalar::Bool(truth(x) && truth(y)),
        (Or, ..) => Scalar::Bool(truth(x) || truth(y)),
        (Xor, ..) => Scalar::Bool(truth(x) != truth(y)),
        (Eq, ..) => Scalar::Bool(equal(x, y)),
        (Ne, ..) => Scalar::Bool(!equal(x, y)),
        (Lt, ..) => Scalar::Bool(order(x, y) == Some(Ordering::Less)),
        (Gt, ..) => Scalar::Bool(order(x, y) == Some(Ordering::Greater)),
        (Le, ..) => Scalar::Bool(matches!(order(x, y), Some(Ordering::Less | Ordering::Equal))),
        (Ge, ..) => Scalar::Bool(matches!(order(x, y), Some(Ordering::Greater | Ordering::Equal))),
        (Choose, ..) => if is_zero(x) { y } else { x }.clone(),
        (Coalesce, ..) => if x.is_nan() { y } else { x }.clone(),
        (MinBy | MaxBy, Scalar::Struct(_, p), Scalar::Struct(_, q)) => if precedes(b, p, q) { x } else { y }.clone(),
        (Ldexp, Scalar::F32(v), n) => Scalar::F32(libm::ldexpf(*v, exponent(n))),
        (Ldexp, Scalar::F64(v), n) => Scalar::F64(libm::ldexp(*v, exponent(n))),
        (Min | Mul | BitAnd, Scalar::Bool(u), Scalar::Bool(v)) => Scalar::Bool(u & v),
        (Max | BitOr, Scalar::Bool(u), Scalar::Bool(v)) => Scalar::Bool(u | v),
        (BitXor, Scalar::Bool(u), Scalar::Bool(v)) => Scalar::Bool(u ^ v),
        (_, Scalar::F32(u), Scalar::F32(v)) if mode == FloatMode::Relaxed => Scalar::F32(float::relaxed32(b, *u, *v)),
        (_, Scalar::F64(u), Scalar::F64(v)) if mode == FloatMode::Relaxed => Scalar::F64(float::relaxed64(b, *u, *v)),
        (_, Scalar::F32(u), Scalar::F32(v)) => Scalar::F32(float::binary32(b, *u, *v)),
        (_, Scalar::F64(u), Scalar::F64(v)) => Scalar::F64(float::binary64(b, *u, *v)),
        _ => integer::binary(b, x, y)?,
    })
}

fn truth(x: &Scalar) -> bool {
    matches!(x.cast(Prim::Bool), Some(Scalar::Bool(true)))
}

/// Returns whether the value equals the zero of its dtype; for a struct, returns whether all
/// members are zero.
pub(super) fn is_zero(x: &Scalar) -> bool {
    x.flatten().iter().all(|v| v.to_f64() == Some(0.0))
}

/// Compares two values of one dtype, floats by IEEE 754; `None` if they are unordered.
pub(super) fn order(x: &Scalar, y: &Scalar) -> Option<Ordering> {
    match (x.to_i128(), y.to_i128()) {
        (Some(a), Some(b)) => Some(a.cmp(&b)),
        // Both values have the same float dtype, whose values `f64` represents exactly.
        _ => x.to_f64()?.partial_cmp(&y.to_f64()?),
    }
}

fn equal(x: &Scalar, y: &Scalar) -> bool {
    let (x, y) = (x.flatten(), y.flatten());
    x.len() == y.len() && x.iter().zip(&y).all(|(a, b)| order(a, b) == Some(Ordering::Equal))
}

/// Returns whether pair `p` precedes `q` in the total order of `minby` or `maxby`, which selects
/// the first pair.
fn precedes(b: Builtin, p: &[Scalar], q: &[Scalar]) -> bool {
    let better = if b == Builtin::MinBy { Ordering::Less } else { Ordering::Greater };
    let negative = |s: &Scalar| s.to_f64().is_some_and(f64::is_sign_negative);
    match (p[0].is_nan(), q[0].is_nan()) {
        (true, false) => return true,
        (false, true) => return false,
        (true, true) => {}
        (false, false) => match order(&p[0], &q[0]) {
            Some(Ordering::Equal) | None => {}
            Some(o) => return o == better,
        },
    }
    match order(&p[1], &q[1]) {
        Some(Ordering::Equal) | None => negative(&p[0]) == (b == Builtin::MinBy),
        Some(o) => o == Ordering::Less,
    }
}

fn exponent(n: &Scalar) -> i32 {
    let n = n.to_i128().expect("an exponent is an integer");
    n.clamp(i128::from(i32::MIN), i128::from(i32::MAX)) as i32
}
