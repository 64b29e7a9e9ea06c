//! Float operators as machine operators and functions of the mathematical library.

use super::{LoweredValue, StmtSink, bin, bind_part, cast, cmp, math, negative, nonzero, number, select, un};
use crate::assembly::{BinaryOp, CompareOp, Expr, MathFn, UnaryOp};
use crate::lower::guards::OperatorGuard;
use redpoll_logic::op::Builtin;
use redpoll_logic::{Prim, Scalar};

pub(super) fn unary(scope: &mut dyn StmtSink, b: Builtin, prim: Prim, x: Expr) -> Expr {
    use Builtin::*;
    let infinity = || Expr::Const(Scalar::F64(f64::INFINITY).cast(prim).expect("a float casts"));
    match b {
        Sqrt => un(UnaryOp::Sqrt, x),
        Floor => un(UnaryOp::Floor, x),
        Ceil => un(UnaryOp::Ceil, x),
        Trunc => un(UnaryOp::Trunc, x),
        Round => un(UnaryOp::Round, x),
        Reciprocal => bin(BinaryOp::Div, number(prim, 1), x),
        SignBit => nonzero(prim, math(MathFn::SignBit, vec![x])),
        IsFinite => cmp(CompareOp::Lt, un(UnaryOp::Abs, x), infinity()),
        IsInf => cmp(CompareOp::Eq, un(UnaryOp::Abs, x), infinity()),
        IsNan => {
            let x = bind_part(scope, prim, x);
            cmp(CompareOp::Ne, x.clone(), x)
        }
        Sign => {
            let x = bind_part(scope, prim, x);
            let positive = cmp(CompareOp::Lt, number(prim, 0), x.clone());
            // The absolute value turns -0 into 0 and preserves NaN.
            let rest = select(negative(prim, x.clone()), number(prim, -1), un(UnaryOp::Abs, x));
            select(positive, number(prim, 1), rest)
        }
        _ => math(math_function(b), vec![x]),
    }
}

pub(super) fn binary(scope: &mut dyn StmtSink, b: Builtin, prim: Prim, x: Expr, y: Expr) -> Expr {
    use Builtin::*;
    match b {
        AddSat | AddChecked => bin(BinaryOp::Add, x, y),
        SubSat | SubChecked => bin(BinaryOp::Sub, x, y),
        MulSat | MulChecked => bin(BinaryOp::Mul, x, y),
        Div => bin(BinaryOp::Div, x, y),
        Copysign => {
            let (x, y) = (bind_part(scope, prim, x), bind_part(scope, prim, y));
            copysign(prim, x, y)
        }
        Rem => {
            let y = bind_part(scope, prim, y);
            let r = bind_part(scope, prim, math(MathFn::Fmod, vec![x, y.clone()]));
            let differ = cmp(CompareOp::Ne, negative(prim, r.clone()), negative(prim, y.clone()));
            let floored = select(differ, bin(BinaryOp::Add, r.clone(), y.clone()), r.clone());
            select(nonzero(prim, r), floored, copysign(prim, number(prim, 0), y))
        }
        FloorDiv => {
            let (x, y) = (bind_part(scope, prim, x), bind_part(scope, prim, y));
            let plain = bind_part(scope, prim, bin(BinaryOp::Div, x.clone(), y.clone()));
            let r = bind_part(scope, prim, math(MathFn::Fmod, vec![x.clone(), y.clone()]));
            let q = bin(BinaryOp::Div, bin(BinaryOp::Sub, x, r.clone()), y.clone());
            let q = bind_part(scope, prim, q);
            let differ = cmp(CompareOp::Ne, negative(prim, r.clone()), negative(prim, y.clone()));
            let correct = bin(BinaryOp::And, nonzero(prim, r), differ);
            let less = bin(BinaryOp::Sub, q.clone(), number(prim, 1));
            let q = bind_part(scope, prim, select(correct, less, q));
            let zero = copysign(prim, number(prim, 0), plain.clone());
            let q = select(nonzero(prim, q.clone()), un(UnaryOp::Round, q), zero);
            select(nonzero(prim, y), q, plain)
        }
        _ => math(math_function(b), vec![x, y]),
    }
}

/// Returns the value of an operator as `Op::eval_in` defines it in the default mode. `guard` is the
/// check that the arguments need; it is never [`OperatorGuard::None`].
pub(super) fn guarded_binary(
    scope: &mut dyn StmtSink,
    (b, guard): (Builtin, OperatorGuard),
    prim: Prim,
    mut x: Expr,
    mut y: Expr,
) -> Expr {
    use Builtin::*;
    let constant = |v: f64| Expr::Const(Scalar::F64(v).cast(prim).expect("a float casts"));
    let zero = |e: &Expr| cmp(CompareOp::Eq, e.clone(), number(prim, 0));
    let infinite = |e: &Expr| cmp(CompareOp::Eq, un(UnaryOp::Abs, e.clone()), constant(f64::INFINITY));
    let nan = |e: &Expr| cmp(CompareOp::Ne, e.clone(), e.clone());
    let or = |a, b| bin(BinaryOp::Or, a, b);
    let and = |a, b| bin(BinaryOp::And, a, b);
    if b == Div {
        // A fold in lanes takes one expression, so short expressions are not assigned to locals.
        if !is_short(&x) {
            x = bind_part(scope, prim, x);
        }
        if guard == OperatorGuard::Special {
            y = bind_part(scope, prim, y);
        }
        let quotient = bin(BinaryOp::Div, x.clone(), y.clone());
        let quotient = match guard {
            OperatorGuard::Special => select(infinite(&y), number(prim, 0), quotient),
            _ => quotient,
        };
        return select(zero(&x), x, quotient);
    }
    let (x, y) = (bind_part(scope, prim, x), bind_part(scope, prim, y));
    let plain = super::numeric(scope, b, prim, x.clone(), y.clone());
    let plain = bind_part(scope, prim, plain);
    let decides = |cond: Expr, value: Expr| select(and(nan(&plain), cond), value, plain.clone());
    let is = |e: &Expr, v: f64| cmp(CompareOp::Eq, e.clone(), constant(v));
    match b {
        Mul | MulSat | MulChecked => decides(or(zero(&x), zero(&y)), number(prim, 0)),
        FloorDiv | Rem | Fmod => decides(zero(&x), number(prim, 0)),
        Min => decides(or(is(&x, f64::NEG_INFINITY), is(&y, f64::NEG_INFINITY)), constant(f64::NEG_INFINITY)),
        Max => decides(or(is(&x, f64::INFINITY), is(&y, f64::INFINITY)), constant(f64::INFINITY)),
        _ => {
            let second = if matches!(b, Sub | SubSat | SubChecked) { un(UnaryOp::Neg, y.clone()) } else { y.clone() };
            let second = select(and(nan(&x), infinite(&y)), second, plain.clone());
            select(and(infinite(&x), nan(&y)), x, second)
        }
    }
}

/// Returns whether an expression is short enough to be repeated in the code.
fn is_short(e: &Expr) -> bool {
    match e {
        Expr::Const(_) | Expr::Local(_) | Expr::Param(_) => true,
        Expr::Load { at, .. } => is_short(at),
        Expr::Binary(BinaryOp::Add, a, b) => is_short(a) && is_short(b),
        _ => false,
    }
}

/// Returns `x` with the sign of `y`, where a NaN `y` counts as positive. The sign of a zero shows
/// in its reciprocal.
fn copysign(prim: Prim, x: Expr, y: Expr) -> Expr {
    let reciprocal = bin(BinaryOp::Div, number(prim, 1), y.clone());
    let zero = cmp(CompareOp::Eq, y.clone(), number(prim, 0));
    let minus_zero = bin(BinaryOp::And, zero, negative(prim, reciprocal));
    let minus = bin(BinaryOp::Or, negative(prim, y), minus_zero);
    select(minus, un(UnaryOp::Neg, un(UnaryOp::Abs, x.clone())), un(UnaryOp::Abs, x))
}

/// Magnitude of an exponent `n` beyond which `x * 2^n` is 0 or infinity for every nonzero finite
/// `x`, in both float widths.
const MAX_EXPONENT: i64 = 5000;

/// Returns `x * 2^n`. Clamps the magnitude of the exponent to [`MAX_EXPONENT`], which does not
/// change the result, so that the exponent is exact as a float.
pub(super) fn ldexp(prim: Prim, x: Expr, n: &LoweredValue) -> Expr {
    let from = n.dtype.prim().expect("an exponent is an integer");
    let n = n.single().clone();
    let exponent = if from.is_signed() {
        let wide = if from == Prim::I64 { n } else { cast(Prim::I64, n) };
        let above = bin(BinaryOp::Max, wide, Expr::Const(Scalar::I64(-MAX_EXPONENT)));
        bin(BinaryOp::Min, above, Expr::Const(Scalar::I64(MAX_EXPONENT)))
    } else {
        let wide = if from == Prim::U64 { n } else { cast(Prim::U64, n) };
        bin(BinaryOp::Min, wide, Expr::Const(Scalar::U64(MAX_EXPONENT as u64)))
    };
    math(MathFn::Ldexp, vec![x, cast(prim, exponent)])
}

fn math_function(b: Builtin) -> MathFn {
    use Builtin as B;
    match b {
        B::Cbrt => MathFn::Cbrt,
        B::Exp => MathFn::Exp,
        B::Exp2 => MathFn::Exp2,
        B::Expm1 => MathFn::Expm1,
        B::Log => MathFn::Log,
        B::Log2 => MathFn::Log2,
        B::Log10 => MathFn::Log10,
        B::Log1p => MathFn::Log1p,
        B::Sin => MathFn::Sin,
        B::Cos => MathFn::Cos,
        B::Tan => MathFn::Tan,
        B::Asin => MathFn::Asin,
        B::Acos => MathFn::Acos,
        B::Atan => MathFn::Atan,
        B::Sinh => MathFn::Sinh,
        B::Cosh => MathFn::Cosh,
        B::Tanh => MathFn::Tanh,
        B::Asinh => MathFn::Asinh,
        B::Acosh => MathFn::Acosh,
        B::Atanh => MathFn::Atanh,
        B::Erf => MathFn::Erf,
        B::Tgamma => MathFn::Tgamma,
        B::Lgamma => MathFn::Lgamma,
        B::Pow => MathFn::Pow,
        B::Atan2 => MathFn::Atan2,
        B::Hypot => MathFn::Hypot,
        B::Nextafter => MathFn::Nextafter,
        B::Fmod => MathFn::Fmod,
        _ => unreachable!("operator `{b}` is not a mathematical function"),
    }
}
