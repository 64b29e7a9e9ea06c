//! The derivatives of built-in operators, one row per operator.
//!
//! A row of an operator whose results may be floats has a text for each argument: the product of
//! `g` and the partial derivative of the operator with respect to this argument. `g` is the
//! cotangent of the result, or the tangent of the argument; `x` and `y` are the arguments, and `r`
//! is the result. At points without a derivative, such as 0 for the absolute value, the row has the
//! derivative of one side or the mean of both sides.

use super::Ties;
use crate::error::Error;
use crate::op::{Builtin, Op};

/// Returns the texts of the derivatives of an operator with respect to its arguments, in order. The
/// text is `0` for arguments that do not change the result, or change it only in jumps. Operators
/// whose results are never floats have no texts.
pub(super) fn row(op: Builtin, ties: Ties) -> Result<&'static [&'static str], Error> {
    use Builtin::*;
    Ok(match op {
        Add | AddSat | AddChecked => &["g", "g"],
        Sub | SubSat | SubChecked => &["g", "(neg g)"],
        Mul | MulSat | MulChecked => &["(* g y)", "(* g x)"],
        Div => &["(/ g y)", "(neg (/ (* g r) y))"],
        Neg => &["(neg g)"],
        Abs => &["(* g (sign x))"],
        Square => &["(* 2 (* g x))"],
        Reciprocal => &["(neg (* g (square r)))"],
        Min => match ties {
            Ties::Shared => &[
                "(ifelse (lt x y) g (ifelse (eq x y) (* 0.5 g) 0))",
                "(ifelse (lt y x) g (ifelse (eq x y) (* 0.5 g) 0))",
            ],
            Ties::First => &["(ifelse (le x y) g 0)", "(ifelse (lt y x) g 0)"],
        },
        Max => match ties {
            Ties::Shared => &[
                "(ifelse (gt x y) g (ifelse (eq x y) (* 0.5 g) 0))",
                "(ifelse (gt y x) g (ifelse (eq x y) (* 0.5 g) 0))",
            ],
            Ties::First => &["(ifelse (ge x y) g 0)", "(ifelse (gt y x) g 0)"],
        },
        Pow => &["(ifelse (eq y 0) 0 (* g (* y (pow x (- y 1)))))", "(ifelse (gt x 0) (* g (* r (log x))) 0)"],
        Rem => &["g", "(neg (* g (floordiv x y)))"],
        Fmod => &["g", "(neg (* g (trunc (/ x y))))"],
        FloorDiv => &["0", "0"],
        Nextafter => &["g", "0"],
        Sign | Floor | Ceil | Trunc | Round => &["0"],
        IfElse => &["0", "(ifelse x g 0)", "(ifelse x 0 g)"],
        Choose => &["(ifelse (ne x 0) g 0)", "(ifelse (ne x 0) 0 g)"],
        Coalesce => &["(ifelse (isnan x) 0 g)", "(ifelse (isnan x) g 0)"],
        Ldexp => &["(ldexp g y)", "0"],
        Sqrt => &["(/ g (* 2 r))"],
        Cbrt => &["(/ g (* 3 (square r)))"],
        Exp => &["(* g r)"],
        Exp2 => &["(* 0.6931471805599453 (* g r))"],
        Expm1 => &["(* g (+ r 1))"],
        Log => &["(/ g x)"],
        Log2 => &["(/ g (* 0.6931471805599453 x))"],
        Log10 => &["(/ g (* 2.302585092994046 x))"],
        Log1p => &["(/ g (+ x 1))"],
        Sin => &["(* g (cos x))"],
        Cos => &["(neg (* g (sin x)))"],
        Tan => &["(* g (+ 1 (square r)))"],
        Asin => &["(/ g (sqrt (- 1 (square x))))"],
        Acos => &["(neg (/ g (sqrt (- 1 (square x)))))"],
        Atan => &["(/ g (+ 1 (square x)))"],
        Sinh => &["(* g (cosh x))"],
        Cosh => &["(* g (sinh x))"],
        Tanh => &["(* g (- 1 (square r)))"],
        Asinh => &["(/ g (sqrt (+ (square x) 1)))"],
        Acosh => &["(/ g (sqrt (- (square x) 1)))"],
        Atanh => &["(/ g (- 1 (square x)))"],
        Erf => &["(* 1.1283791670955126 (* g (exp (neg (square x)))))"],
        Atan2 => &["(/ (* g y) (+ (square x) (square y)))", "(neg (/ (* g x) (+ (square x) (square y))))"],
        Hypot => &["(ifelse (eq r 0) 0 (/ (* g x) r))", "(ifelse (eq r 0) 0 (/ (* g y) r))"],
        Copysign => &["(* g (* (copysign 1 x) (copysign 1 y)))", "0"],
        Cast(_) => &["g"],
        And | Or | Xor | Not | BitAnd | BitOr | BitXor | BitNot | Shl | Shr | Eq | Ne | Lt | Le | Gt | Ge | IsNan
        | IsFinite | IsInf | SignBit => &[],
        Tgamma | Lgamma => return Err(missing(op, "the digamma function is not an operator")),
        MinBy | MaxBy | Pair | First | Second => return Err(missing(op, "structs have no derivative")),
    })
}

fn missing(op: Builtin, reason: &'static str) -> Error {
    Error::NoDerivative { name: format!("operator `{op}`"), reason: reason.to_owned() }
}

/// Returns a function from the number of an argument to the text of the derivative with respect to
/// this argument; `None` if the derivative is 0 everywhere.
///
/// # Errors
/// Returns [`Error::NoDerivative`] if the operator has no derivative.
pub(super) fn derivatives(op: &Op, ties: Ties) -> Result<impl Fn(usize) -> Option<&'static str>, Error> {
    let Op::Builtin(builtin) = op else { unreachable!("user-defined operators were expanded") };
    let (row, is_sum) = (row(*builtin, ties)?, is_sum(op));
    let text = move |k: usize| if is_sum { row.first() } else { row.get(k) };
    Ok(move |k| text(k).copied().filter(|text| *text != "0"))
}

/// Returns whether an operator is a sum of any number of arguments.
pub(super) fn is_sum(op: &Op) -> bool {
    matches!(op, Op::Builtin(Builtin::Add | Builtin::AddSat | Builtin::AddChecked))
}
