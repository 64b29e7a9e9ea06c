//! Guards of float operators, and the special values that operators return.
//!
//! In the default float mode, some arguments decide a result that IEEE 754 makes NaN: a zero
//! factor, a zero dividend, an infinite divisor, an infinity in a sum, `-inf` in `min` and `inf` in
//! `max` (see [`FloatMode::Relaxed`](redpoll_logic::FloatMode::Relaxed)). Machine arithmetic obeys
//! none of these laws.
//!
//! Kernels guard quotients and remainders where the first argument may be zero, and quotients also
//! where an argument may be infinite. Quotients and remainders need no guard if the second argument
//! is a finite constant other than zero. Kernels guard other operators only where special values
//! may reach them. To find these operators, the values of inputs are scanned once, and the sets of
//! special values found are propagated through the operators of the program. Overflow of finite
//! numbers in arithmetic is ignored, since its result is unspecified.

use redpoll_logic::op::{Body, Builtin, Definition, Op};
use redpoll_logic::{DType, Prim, Scalar, Special};

/// Static knowledge of an argument: its special values, and its value if it is a constant.
#[derive(Clone, Copy)]
pub(crate) struct ArgumentFacts<'a> {
    /// The special values that the argument may have.
    pub(crate) special: Special,
    /// The value of the argument, if the argument is a constant.
    pub(crate) constant: Option<&'a Scalar>,
}

/// The check that code must add to the machine's arithmetic so that an operator obeys the laws of
/// the default mode.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum OperatorGuard {
    /// No check.
    None,
    /// A check whether the first argument is zero.
    Zero,
    /// A check for arguments that are zero, infinite or NaN.
    Special,
}

/// Returns the guard of a float operator on two arguments.
pub(crate) fn guard(b: Builtin, x: &ArgumentFacts<'_>, y: &ArgumentFacts<'_>) -> OperatorGuard {
    use Builtin::*;
    let guard_if = |values: Special| {
        let one = |a: Special, b: Special| a.intersects(values) && b.intersects(Special::NAN);
        if one(x.special, y.special) || one(y.special, x.special) {
            OperatorGuard::Special
        } else {
            OperatorGuard::None
        }
    };
    let any = x.special.union(y.special) != Special::NONE;
    match b {
        Mul | MulSat | MulChecked if any && !x.is_regular() && !y.is_regular() => OperatorGuard::Special,
        Div if x.is_regular() && !y.special.intersects(Special::INFINITE) => OperatorGuard::None,
        Div if y.is_regular() => OperatorGuard::None,
        Div if x.special.union(y.special).intersects(Special::INFINITE) => OperatorGuard::Special,
        Div => OperatorGuard::Zero,
        FloorDiv | Rem | Fmod if !x.is_regular() && !y.is_regular() => OperatorGuard::Zero,
        Add | AddSat | AddChecked | Sub | SubSat | SubChecked => guard_if(Special::INFINITE),
        Min => guard_if(Special::NEG_INFINITY),
        Max => guard_if(Special::INFINITY),
        _ => OperatorGuard::None,
    }
}

impl ArgumentFacts<'_> {
    /// Returns whether the argument is a finite constant other than zero.
    pub(crate) fn is_regular(&self) -> bool {
        self.constant.and_then(Scalar::to_f64).is_some_and(|v| v != 0.0 && v.is_finite())
    }

    /// Returns the special values that the product of the arguments may have.
    fn of_product(&self, other: &ArgumentFacts<'_>) -> Special {
        match (self.constant.and_then(Scalar::to_f64), other.constant.and_then(Scalar::to_f64)) {
            (Some(v), None) if v != 0.0 && v.is_finite() => signed(other.special, v),
            (None, Some(v)) if v != 0.0 && v.is_finite() => signed(self.special, v),
            _ => self.special.union(other.special).with_both_infinities(),
        }
    }
}

fn signed(of: Special, by: f64) -> Special {
    if by < 0.0 { of.negated() } else { of }
}

/// Returns the special values that an operator may return, given those of its arguments. `dtypes`
/// has the dtypes of the arguments; only operators on one argument depend on them, so the list may
/// be empty for others. Overflow of finite arguments is ignored in arithmetic, but not in
/// exponentials and in casts to `f32`.
pub(crate) fn of_call(op: &Op, args: &[ArgumentFacts<'_>], dtypes: &[DType], result: &DType) -> Special {
    if !result.prims().iter().any(|p| p.is_float()) {
        return Special::NONE;
    }
    match op {
        Op::Builtin(b) => match args {
            [x] => of_unary(*b, x, &dtypes[0]),
            [first, rest @ ..] if *b != Builtin::IfElse => {
                rest.iter()
                    .fold(*first, |acc, y| ArgumentFacts { special: of_binary(*b, &acc, y), constant: None })
                    .special
            }
            _ => args.iter().skip(1).fold(Special::NONE, |set, arg| set.union(arg.special)),
        },
        Op::User(user) => {
            let Definition::Body(body) = user.definition();
            let given = args.iter().any(|arg| arg.special != Special::NONE);
            if given || can_generate(body) { Special::ALL } else { Special::NONE }
        }
    }
}

/// Returns whether a body has a constant with special values, or an operator that may return
/// special values for finite arguments.
pub(crate) fn can_generate(body: &Body) -> bool {
    match body {
        Body::Arg(_) | Body::Var(_) => false,
        Body::Lit(value) => Special::of_scalar(value) != Special::NONE,
        Body::Call(op, args) => {
            let finite = ArgumentFacts { special: Special::NONE, constant: None };
            let facts: Vec<ArgumentFacts<'_>> = args
                .iter()
                .map(|arg| match arg {
                    Body::Lit(value) => ArgumentFacts { special: Special::of_scalar(value), constant: Some(value) },
                    _ => finite,
                })
                .collect();
            // The dtypes of arguments are unknown here. All operators are treated as operators on
            // `f64`.
            let dtypes = vec![DType::F64; args.len()];
            args.iter().any(can_generate) || of_call(op, &facts, &dtypes, &DType::F64) != Special::NONE
        }
        Body::If(cond, then, other) => [cond, then, other].into_iter().any(|b| can_generate(b)),
        Body::Let(_, value, rest) => can_generate(value) || can_generate(rest),
        Body::While(w) => {
            let inits = w.vars.iter().map(|(_, init)| init);
            inits.chain(&w.steps).chain([&w.cond, &w.result]).any(can_generate)
        }
        Body::Struct(members) => members.iter().any(|(_, m)| can_generate(m)),
        Body::Member(of, _) => can_generate(of),
    }
}

fn of_unary(b: Builtin, x: &ArgumentFacts<'_>, dtype: &DType) -> Special {
    use Builtin::*;
    let special = x.special;
    match b {
        Neg => special.negated(),
        Abs if special.intersects(Special::INFINITE) => special.intersection(Special::NAN).union(Special::INFINITY),
        Square if special.intersects(Special::INFINITE) => special.intersection(Special::NAN).union(Special::INFINITY),
        Abs | Square | Floor | Ceil | Trunc | Round | Cbrt | Asinh | First | Second => special,
        Sign | Atan | Tanh | Erf => special.intersection(Special::NAN),
        Sin | Cos if special == Special::NONE => Special::NONE,
        Sin | Cos => Special::NAN,
        Exp | Exp2 | Expm1 | Cosh => special.intersection(Special::NAN).union(Special::INFINITY),
        Cast(Prim::F32) if *dtype == DType::F64 => special.union(Special::INFINITE),
        Cast(_) if dtype.prim().is_some_and(Prim::is_float) => special,
        Cast(_) => Special::NONE,
        _ => Special::ALL,
    }
}

fn of_binary(b: Builtin, x: &ArgumentFacts<'_>, y: &ArgumentFacts<'_>) -> Special {
    use Builtin::*;
    match b {
        Add | AddSat | AddChecked => x.special.of_sum(y.special),
        Sub | SubSat | SubChecked => x.special.of_sum(y.special.negated()),
        Mul | MulSat | MulChecked => x.of_product(y),
        Div => match y.constant.and_then(Scalar::to_f64) {
            Some(by) if y.is_regular() => signed(x.special, by),
            _ => Special::ALL,
        },
        Min | Max | Choose | Coalesce | MinBy | MaxBy | Pair => x.special.union(y.special),
        Copysign => x.special.with_both_infinities(),
        _ => Special::ALL,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// For sample arguments of dtype `f64`, `guard` asks for a check wherever the operator table
    /// and machine arithmetic differ by more than the sign of a zero. No result has a special value
    /// that `of_call` excludes, apart from squares that overflow.
    #[test]
    fn guards_exist_wherever_the_laws_differ_from_machine_arithmetic() {
        use redpoll_logic::FloatMode::{Relaxed, StrictIeee};
        let (inf, nan) = (f64::INFINITY, f64::NAN);
        let values = [-inf, -2.0, 0.0, 0.5, 3.0, inf, nan].map(Scalar::F64);
        let dtypes = [DType::F64, DType::F64];
        for b in Builtin::ALL {
            let op = Op::Builtin(*b);
            let Ok(signature) = op.signature(&dtypes) else { continue };
            if signature.args != dtypes {
                continue;
            }
            for (x, y) in values.iter().flat_map(|x| values.iter().map(move |y| (x, y))) {
                let args = [x.clone(), y.clone()];
                let (value, machine) = (op.eval_in(&args, Relaxed).unwrap(), op.eval_in(&args, StrictIeee).unwrap());
                for constants in 0..4u8 {
                    let facts = |k: u8, v| ArgumentFacts {
                        special: Special::of_scalar(v),
                        constant: (constants >> k & 1 == 1).then_some(v),
                    };
                    let (x, y) = (facts(0, x), facts(1, y));
                    let same = value == machine || value.to_f64() == Some(0.0) && machine.to_f64() == Some(0.0);
                    assert!(
                        same || guard(*b, &x, &y) != OperatorGuard::None,
                        "{b} of {args:?}: {value}, not {machine}"
                    );
                    let predicted = of_call(&op, &[x, y], &dtypes, &signature.result);
                    assert!(Special::of_scalar(&value).is_subset(predicted), "{b} of {args:?} is {value}");
                }
            }
        }
        for b in Builtin::ALL {
            let op = Op::Builtin(*b);
            let Ok(signature) = op.signature(&[DType::F64]) else { continue };
            for x in values.iter().chain(&[-1e300, 1e300, 1.0, -1.0].map(Scalar::F64)) {
                let value = op.eval(std::slice::from_ref(x)).unwrap();
                let overflows = *b == Builtin::Square && x.to_f64().is_some_and(f64::is_finite);
                let facts = ArgumentFacts { special: Special::of_scalar(x), constant: None };
                let predicted = of_call(&op, &[facts], &[DType::F64], &signature.result);
                assert!(overflows || Special::of_scalar(&value).is_subset(predicted), "{b} of {x} is {value}");
            }
        }
    }
}
