//! Weak literals: bare numbers that take their dtype from the other arguments of an operator.

use super::Expr;
use crate::dtype::{DType, Prim};
use crate::error::Error;
use crate::op::{Builtin, DtypeRule, Op, promote};
use crate::scalar::Scalar;

/// Gives every weak argument a dtype. The other arguments are called strong. A weak argument of a
/// user-defined operator takes the dtype of its parameter. A weak argument of a built-in operator
/// takes the dtype to which the strong arguments are promoted; in `ifelse`, only the strong choices
/// count. The weak argument keeps its own dtype in three cases: no argument is strong; the promoted
/// dtype is of a lower kind than the argument (`bool` < integers < floats); or the argument is a
/// condition, or belongs to a shift, to `ldexp` or to a pair. If the dtype cannot represent a weak
/// argument, a comparison is replaced by an equivalent one; any other application is an error.
pub(super) fn resolve(op: Op, mut args: Vec<Expr>) -> Result<(Op, Vec<Expr>), Error> {
    if args.iter().all(|a| !a.info().weak) {
        return Ok((op, args));
    }
    let strong: Vec<Option<DType>> = args.iter().map(|a| (!a.info().weak).then(|| a.info().dtype.clone())).collect();
    for k in (0..args.len()).filter(|k| strong[*k].is_none()) {
        let value = args[k].info().fill.clone();
        let dtype = weak_dtype(&op, &strong, k, &value);
        args[k] = match (fit(&value, &dtype, "number"), replace_comparison(&op, k, &value, &dtype)) {
            (Ok(fitting), _) => Expr::literal(fitting),
            (Err(_), Some(OutOfRangeComparison::WithEnd(other, end))) => {
                return Ok((other.into(), vec![args.swap_remove(1 - k), Expr::literal(end)]));
            }
            (Err(_), Some(OutOfRangeComparison::WithWider(value))) => Expr::literal(value),
            (Err(error), None) => return Err(error),
        };
    }
    Ok((op, args))
}

/// A replacement for a comparison with a number that a dtype cannot represent.
enum OutOfRangeComparison {
    /// For integers, a comparison of the other argument with the least or greatest value of its
    /// dtype. For every value of that dtype, the result is the same as in the original comparison.
    WithEnd(Builtin, Scalar),
    /// For floats, the number in a wider dtype, to which the other argument is cast.
    WithWider(Scalar),
}

/// Returns a comparison that is equivalent to `op` with argument `k` equal to `value`, which
/// `dtype` cannot represent; `None` if `op` is no comparison.
fn replace_comparison(op: &Op, k: usize, value: &Scalar, dtype: &DType) -> Option<OutOfRangeComparison> {
    use Builtin::{Eq, Ge, Gt, Le, Lt, Ne};
    let (Op::Builtin(op @ (Eq | Ne | Lt | Le | Gt | Ge)), DType::Prim(prim)) = (op, dtype) else { return None };
    if prim.is_float() {
        return Some(OutOfRangeComparison::WithWider(Scalar::F64(value.to_f64()?)));
    }
    let end = |infinity: f64| Scalar::F64(infinity).cast(*prim);
    let (least, greatest) = (end(f64::NEG_INFINITY)?, end(f64::INFINITY)?);
    let above = value.to_i128()? > greatest.to_i128()?;
    let holds = match op {
        Eq => false,
        Ne => true,
        // True for `x < number` with a number above all values, and for `number < x` with a number
        // below all values.
        Lt | Le => above == (k == 1),
        _ => above != (k == 1),
    };
    Some(match holds {
        true => OutOfRangeComparison::WithEnd(Ge, least),
        false => OutOfRangeComparison::WithEnd(Gt, greatest),
    })
}

/// Returns the dtype of the bare number `value` as argument `k`. `strong` has the dtypes of the
/// strong arguments, and `None` for weak ones.
pub(crate) fn weak_dtype(op: &Op, strong: &[Option<DType>], k: usize, value: &Scalar) -> DType {
    let promoted = match op {
        Op::User(u) => match u.params().get(k).or(u.params().last()) {
            Some((_, dtype)) => return dtype.clone(),
            None => 0..0,
        },
        Op::Builtin(b) => match b.dtype_rule() {
            DtypeRule::Condition if k > 0 => 1..strong.len(),
            DtypeRule::Condition | DtypeRule::Shift | DtypeRule::Scale | DtypeRule::Pair => 0..0,
            _ => 0..strong.len(),
        },
    };
    let dtypes = strong.get(promoted).unwrap_or_default().iter().flatten();
    match promote(dtypes.filter_map(DType::prim)) {
        Some(p) if kind_rank(Some(p)) >= kind_rank(value.prim()) => DType::Prim(p),
        _ => value.dtype(),
    }
}

fn kind_rank(prim: Option<Prim>) -> u8 {
    match prim {
        Some(Prim::Bool) => 0,
        Some(p) if p.is_int() => 1,
        _ => 2,
    }
}

/// Converts a value to a dtype, member by member for a struct. A conversion to an integer or `bool`
/// must be exact. A conversion to a float may round, but not turn a finite number into an infinity.
/// Any other conversion is an error.
pub(crate) fn fit(value: &Scalar, dtype: &DType, role: &'static str) -> Result<Scalar, Error> {
    let error = || Error::Value {
        role,
        value: value.to_string(),
        dtype: dtype.clone(),
        advice: "give a value of that dtype, or cast the argument",
    };
    match (value, dtype) {
        (Scalar::Struct(_, parts), DType::Struct(ty)) if parts.len() == ty.members.len() => {
            let members = parts.iter().zip(&ty.members).map(|(p, (_, t))| fit(p, t, role));
            Ok(Scalar::Struct(ty.clone(), members.collect::<Result<Vec<_>, _>>()?.into()))
        }
        (Scalar::Struct(..), _) | (_, DType::Struct(_)) => Err(error()),
        (_, DType::Prim(p)) => {
            let cast = value.cast(*p).expect("a primitive casts to a primitive");
            let fits = match (value.to_i128(), cast.to_i128()) {
                (Some(from), Some(to)) => from == to,
                // Outside the range of `i128`, `as` saturates, and the result differs from every
                // integer of 64 bits.
                (None, Some(to)) => value.to_f64().is_some_and(|from| from.fract() == 0.0 && from as i128 == to),
                _ => value.to_f64().map(f64::is_finite) == cast.to_f64().map(f64::is_finite),
            };
            if fits { Ok(cast) } else { Err(error()) }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Asserts that a float fits an integer dtype only if an integer of the dtype equals the float.
    /// The floats 2^63 and 2^64 saturate to the largest integers, which round to the same floats.
    #[test]
    fn floats_fit_integers_that_are_equal() {
        let fits = |value: f64, prim: Prim| fit(&Scalar::F64(value), &prim.into(), "number").is_ok();
        let (two_63, two_64) = (2f64.powi(63), 2f64.powi(64));
        for (value, prim, expected) in [
            (2f64.powi(60), Prim::I64, true),
            (-two_63, Prim::I64, true),
            (two_63, Prim::I64, false),
            (two_63, Prim::U64, true),
            (two_64, Prim::U64, false),
            (-1.0, Prim::U64, false),
            (0.5, Prim::I32, false),
            (f64::NAN, Prim::I64, false),
            (f64::INFINITY, Prim::U64, false),
            (1.0, Prim::Bool, true),
            (2.0, Prim::Bool, false),
        ] {
            assert_eq!(fits(value, prim), expected, "{value} as {prim}");
        }
    }
}
