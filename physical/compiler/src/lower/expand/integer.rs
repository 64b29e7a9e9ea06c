//! Expansion of integer operators into machine operators.

use super::{LoweredValue, StmtSink, bin, bind_part, block, cast, cmp, negative, nonzero, number, select};
use crate::assembly::{BinaryOp, CompareOp, Expr, Status, Stmt};
use redpoll_logic::op::Builtin;
use redpoll_logic::{Prim, Scalar};

pub(super) fn sign(scope: &mut dyn StmtSink, prim: Prim, x: Expr) -> Expr {
    match prim {
        Prim::Bool => x,
        _ if !prim.is_signed() => cast(prim, nonzero(prim, x)),
        _ => {
            let x = bind_part(scope, prim, x);
            let positive = cmp(CompareOp::Lt, number(prim, 0), x.clone());
            bin(BinaryOp::Sub, cast(prim, positive), cast(prim, negative(prim, x)))
        }
    }
}

pub(super) fn binary(scope: &mut dyn StmtSink, b: Builtin, prim: Prim, x: Expr, y: Expr) -> Expr {
    use Builtin::*;
    match b {
        Fmod => bin(BinaryOp::Rem, x, y),
        FloorDiv if !prim.is_signed() => bin(BinaryOp::Div, x, y),
        Rem if !prim.is_signed() => bin(BinaryOp::Rem, x, y),
        FloorDiv | Rem => floor_division(scope, b, prim, x, y),
        Pow => pow(scope, prim, x, prim, y),
        AddSat | SubSat | MulSat | AddChecked | SubChecked | MulChecked => saturating_or_checked(scope, b, prim, x, y),
        _ => unreachable!("binary operator `{b}` on {prim}"),
    }
}

/// Returns the quotient or the remainder of floored division: the result of truncating division,
/// corrected if the remainder is not 0 and its sign differs from that of the divisor. Division by 0
/// and `MIN / -1` have remainder 0, which needs no correction.
fn floor_division(scope: &mut dyn StmtSink, b: Builtin, prim: Prim, x: Expr, y: Expr) -> Expr {
    let (x, y) = (bind_part(scope, prim, x), bind_part(scope, prim, y));
    let r = bind_part(scope, prim, bin(BinaryOp::Rem, x.clone(), y.clone()));
    let differ = cmp(CompareOp::Ne, negative(prim, r.clone()), negative(prim, y.clone()));
    let correct = bin(BinaryOp::And, nonzero(prim, r.clone()), differ);
    match b {
        Builtin::FloorDiv => bin(BinaryOp::Sub, bin(BinaryOp::Div, x, y), cast(prim, correct)),
        _ => bin(BinaryOp::Add, r, select(correct, y, number(prim, 0))),
    }
}

/// Returns a shift by a count of any integer dtype, which is read as unsigned. A count that is
/// constant or of another dtype is clamped to the width, so that it fits the shifted dtype.
pub(super) fn shift(b: Builtin, prim: Prim, x: Expr, count: &LoweredValue) -> Expr {
    let from = count.dtype.prim().expect("a count is an integer");
    let op = if b == Builtin::Shl { BinaryOp::Shl } else { BinaryOp::Shr };
    let width = u64::from(prim.bits());
    let count = match count.single() {
        Expr::Const(value) => {
            let n = value.to_bits().expect("a count is an integer");
            cast(prim, Expr::Const(Scalar::U64(n.min(width))))
        }
        part if from == prim => part.clone(),
        // A negative count of any width becomes a huge count.
        part => {
            let wide = if from == Prim::U64 { part.clone() } else { cast(Prim::U64, part.clone()) };
            cast(prim, bin(BinaryOp::Min, wide, Expr::Const(Scalar::U64(width))))
        }
    };
    bin(op, x, count)
}

/// Returns `base ^ exponent`, computed by squaring. A small constant exponent needs no loop; other
/// exponents need a loop with one round for each bit. With a negative exponent, the power is exact
/// for the bases 1 and -1, and 0 for all others.
pub(super) fn pow(scope: &mut dyn StmtSink, prim: Prim, base: Expr, exponent_prim: Prim, exponent: Expr) -> Expr {
    let base = bind_part(scope, prim, base);
    if let Expr::Const(value) = &exponent
        && let Some(n) = value.to_i128().filter(|n| (0..=64).contains(n))
    {
        return unrolled_pow(scope, prim, base, n as u32);
    }
    let exponent = bind_part(scope, exponent_prim, exponent);
    let (b, e, p) = (scope.local("base", prim), scope.local("exponent", exponent_prim), scope.local("power", prim));
    scope.push(Stmt::Assign(b, base.clone()));
    scope.push(Stmt::Assign(e, bin(BinaryOp::Max, exponent.clone(), number(exponent_prim, 0))));
    scope.push(Stmt::Assign(p, number(prim, 1)));
    let odd = |e: Expr| nonzero(exponent_prim, bin(BinaryOp::And, e, number(exponent_prim, 1)));
    let factor = select(odd(Expr::Local(e)), Expr::Local(b), number(prim, 1));
    let body = vec![
        Stmt::Assign(p, bin(BinaryOp::Mul, Expr::Local(p), factor)),
        Stmt::Assign(b, bin(BinaryOp::Mul, Expr::Local(b), Expr::Local(b))),
        Stmt::Assign(e, bin(BinaryOp::Shr, Expr::Local(e), number(exponent_prim, 1))),
    ];
    scope.push(Stmt::While { cond: nonzero(exponent_prim, Expr::Local(e)), body });
    if !exponent_prim.is_signed() {
        return Expr::Local(p);
    }
    let is_base = |v: i8| cmp(CompareOp::Eq, base.clone(), number(prim, v));
    let power_of_minus_one = select(odd(exponent.clone()), number(prim, -1), number(prim, 1));
    let mut inverse = select(is_base(1), number(prim, 1), number(prim, 0));
    if prim.is_signed() {
        inverse = select(is_base(-1), power_of_minus_one, inverse);
    }
    select(negative(exponent_prim, exponent), inverse, Expr::Local(p))
}

fn unrolled_pow(scope: &mut dyn StmtSink, prim: Prim, base: Expr, n: u32) -> Expr {
    let (mut square, mut product) = (base, None);
    for bit in 0..=n.checked_ilog2().unwrap_or(0) {
        if bit > 0 {
            square = bind_part(scope, prim, bin(BinaryOp::Mul, square.clone(), square));
        }
        if n >> bit & 1 == 1 {
            product = Some(match product {
                None => square.clone(),
                Some(p) => bin(BinaryOp::Mul, p, square.clone()),
            });
        }
    }
    product.unwrap_or_else(|| number(prim, 1))
}

/// Returns a saturating or checked sum, difference or product.
fn saturating_or_checked(scope: &mut dyn StmtSink, b: Builtin, prim: Prim, x: Expr, y: Expr) -> Expr {
    use Builtin::*;
    if matches!(b, MulSat | MulChecked) && prim.bits() <= 32 {
        return wide_product(scope, b, prim, x, y);
    }
    let (x, y) = (bind_part(scope, prim, x), bind_part(scope, prim, y));
    let op = match b {
        AddSat | AddChecked => BinaryOp::Add,
        SubSat | SubChecked => BinaryOp::Sub,
        _ => BinaryOp::Mul,
    };
    let r = bind_part(scope, prim, bin(op, x.clone(), y.clone()));
    let xor = |a: &Expr, b: &Expr| bin(BinaryOp::Xor, a.clone(), b.clone());
    let overflow = match (op, prim.is_signed()) {
        (BinaryOp::Add, false) => cmp(CompareOp::Lt, r.clone(), x.clone()),
        (BinaryOp::Sub, false) => cmp(CompareOp::Lt, x.clone(), y.clone()),
        (BinaryOp::Add, true) => negative(prim, bin(BinaryOp::And, xor(&x, &r), xor(&y, &r))),
        (BinaryOp::Sub, true) => negative(prim, bin(BinaryOp::And, xor(&x, &y), xor(&x, &r))),
        (_, signed) => {
            let back = cmp(CompareOp::Ne, bin(BinaryOp::Div, r.clone(), x.clone()), y.clone());
            let is_inexact = bin(BinaryOp::And, nonzero(prim, x.clone()), back);
            // `-1 * MIN` wraps to `MIN`, which the division does not detect.
            let minus_one = || cmp(CompareOp::Eq, x.clone(), number(prim, -1));
            let least = || cmp(CompareOp::Eq, y.clone(), Expr::Const(smallest(prim)));
            if signed { bin(BinaryOp::Or, is_inexact, bin(BinaryOp::And, minus_one(), least())) } else { is_inexact }
        }
    };
    match b {
        AddChecked | SubChecked | MulChecked => {
            fault(scope, overflow);
            r
        }
        _ => {
            let top = Expr::Const(largest(prim));
            let bottom = Expr::Const(smallest(prim));
            let nearest = match (op, prim.is_signed()) {
                (BinaryOp::Sub, false) => bottom,
                (_, false) => top,
                (BinaryOp::Mul, true) => select(negative(prim, xor(&x, &y)), bottom, top),
                (_, true) => select(negative(prim, x), bottom, top),
            };
            select(overflow, nearest, r)
        }
    }
}

/// Returns a saturating or checked product of factors of at most 32 bits. Computes it in 64 bits,
/// where it cannot overflow.
fn wide_product(scope: &mut dyn StmtSink, b: Builtin, prim: Prim, x: Expr, y: Expr) -> Expr {
    let wide = if prim.is_signed() { Prim::I64 } else { Prim::U64 };
    let widened = |bound: Scalar| Expr::Const(bound.cast(wide).expect("an integer casts"));
    let product = bin(BinaryOp::Mul, cast(wide, x), cast(wide, y));
    if b == Builtin::MulSat {
        let product = bin(BinaryOp::Min, product, widened(largest(prim)));
        let product = if prim.is_signed() { bin(BinaryOp::Max, product, widened(smallest(prim))) } else { product };
        return cast(prim, product);
    }
    let product = bind_part(scope, wide, product);
    let above = cmp(CompareOp::Lt, widened(largest(prim)), product.clone());
    let below = cmp(CompareOp::Lt, product.clone(), widened(smallest(prim)));
    fault(scope, bin(BinaryOp::Or, above, below));
    cast(prim, product)
}

fn fault(scope: &mut dyn StmtSink, overflow: Expr) {
    let (then, ()) = block(scope, |scope| scope.push(Stmt::Return(Status::CheckedOverflow)));
    scope.push(Stmt::If { cond: overflow, then, other: Vec::new() });
}

/// Returns the largest value of an integer dtype.
fn largest(prim: Prim) -> Scalar {
    Scalar::from_bits(prim, if prim.is_signed() { (1u64 << (prim.bits() - 1)) - 1 } else { u64::MAX })
}

/// Returns the smallest value of an integer dtype.
fn smallest(prim: Prim) -> Scalar {
    if prim.is_signed() { Scalar::from_bits(prim, 1u64 << (prim.bits() - 1)) } else { Scalar::zero(prim) }
}
