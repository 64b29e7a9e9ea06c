//! Integer arithmetic of operators, computed in `i128`, then wrapped, saturated or checked.
//!
//! Every sum, difference, quotient and remainder of 64-bit integers fits `i128`. A product, a power
//! or a left shift may overflow `i128`. Overflow keeps the low 64 bits, which wrapping operators
//! return. A saturating or checked product that overflows `i128` becomes the least or greatest
//! `i128`, which is still outside the range of the dtype.

use super::builtin::Builtin;
use super::eval::Fault;
use crate::dtype::Prim;
use crate::scalar::Scalar;

/// Returns the smallest and the largest value of an integer dtype.
pub(super) fn bounds(prim: Prim) -> (i128, i128) {
    let bits = prim.bits();
    if prim.is_signed() { (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) } else { (0, (1 << bits) - 1) }
}

/// Returns `v` wrapped to the width of the dtype.
pub(super) fn wrap(prim: Prim, v: i128) -> Scalar {
    Scalar::from_bits(prim, v as u64)
}

fn parts(x: &Scalar) -> (Prim, i128) {
    match (x.prim(), x.to_i128()) {
        (Some(p), Some(v)) => (p, v),
        _ => unreachable!("an integer operator on {}", x.dtype()),
    }
}

pub(super) fn unary(b: Builtin, x: &Scalar) -> Scalar {
    use Builtin::*;
    let (prim, v) = parts(x);
    match b {
        Neg => wrap(prim, -v),
        Abs => wrap(prim, v.abs()),
        Sign => wrap(prim, v.signum()),
        BitNot => wrap(prim, !v),
        Square => wrap(prim, v.wrapping_mul(v)),
        Floor | Ceil | Trunc | Round => x.clone(),
        _ => unreachable!("unary operator `{}` on {prim}", b.name()),
    }
}

pub(super) fn binary(b: Builtin, x: &Scalar, y: &Scalar) -> Result<Scalar, Fault> {
    use Builtin::*;
    let ((prim, u), (_, v)) = (parts(x), parts(y));
    let exact = match b {
        AddSat | AddChecked => u + v,
        SubSat | SubChecked => u - v,
        // A product of two `u64` may overflow `i128`; only the sign of the excess matters.
        MulSat | MulChecked => u.saturating_mul(v),
        _ => return Ok(total(b, prim, u, y)),
    };
    let (lo, hi) = bounds(prim);
    match b {
        _ if (lo..=hi).contains(&exact) => Ok(wrap(prim, exact)),
        AddSat | SubSat | MulSat => Ok(wrap(prim, exact.clamp(lo, hi))),
        _ => Err(Fault::Overflow { op: b, prim }),
    }
}

fn total(b: Builtin, prim: Prim, u: i128, y: &Scalar) -> Scalar {
    use Builtin::*;
    let v = y.to_i128().expect("an integer operator has integer arguments");
    wrap(
        prim,
        match b {
            Add => u + v,
            Sub => u - v,
            Mul => u.wrapping_mul(v),
            Min => u.min(v),
            Max => u.max(v),
            Pow => pow(u, v),
            FloorDiv | Rem | Fmod if v == 0 => 0,
            FloorDiv => u.div_euclid(v) - i128::from(v < 0 && u.rem_euclid(v) != 0),
            Rem => ((u % v) + v) % v,
            Fmod => u % v,
            BitAnd => u & v,
            BitOr => u | v,
            BitXor => u ^ v,
            Shl => match count(y) {
                n if n < prim.bits() => u << n,
                _ => 0,
            },
            Shr => u >> count(y).min(prim.bits()),
            _ => unreachable!("binary operator `{}` on {prim}", b.name()),
        },
    )
}

/// Reads a shift count as unsigned, clamped to 64.
fn count(y: &Scalar) -> u32 {
    y.to_bits().map_or(64, |n| n.min(64) as u32)
}

pub(super) fn pow(mut base: i128, mut exponent: i128) -> i128 {
    if exponent < 0 {
        return match base {
            1 => 1,
            -1 => 1 - 2 * (exponent & 1),
            _ => 0,
        };
    }
    let mut result: i128 = 1;
    while exponent > 0 {
        if exponent & 1 == 1 {
            result = result.wrapping_mul(base);
        }
        base = base.wrapping_mul(base);
        exponent >>= 1;
    }
    result
}
