//! Sets of special values that a float may have: infinity, minus infinity and NaN.
//!
//! In the default float mode zero absorbs infinities and NaN in a product, and an infinity absorbs
//! NaN in a sum (see [`FloatMode::Relaxed`](crate::FloatMode::Relaxed)). Machine arithmetic
//! obeys neither law. Kernels guard an operator only where special values may reach it: the values
//! of inputs are scanned once, and the sets are propagated through the operators of the program.
//! Overflow of finite numbers is ignored, since its result is unspecified.

use crate::op::{Body, Builtin, Definition, Op};
use crate::{DType, Prim, Scalar};

/// A set of special values.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Special(u8);

/// Static knowledge of an argument: its special values, and its value if it is a constant.
#[derive(Clone, Copy)]
pub struct ArgumentFacts<'a> {
    /// The special values that it may have.
    pub special: Special,
    /// Its value, if it is a constant.
    pub constant: Option<&'a Scalar>,
}

impl Special {
    /// No special value.
    pub const NONE: Special = Special(0);
    /// Infinity.
    pub const INFINITY: Special = Special(1);
    /// Minus infinity.
    pub const NEG_INFINITY: Special = Special(2);
    /// Both infinities.
    pub const INFINITE: Special = Special(3);
    /// NaN.
    pub const NAN: Special = Special(4);
    /// All special values.
    pub const ALL: Special = Special(7);

    /// Returns the set with the value if it is special; for a struct, the set of its members'
    /// special values.
    pub fn of_scalar(value: &Scalar) -> Special {
        value.flatten().iter().fold(Special::NONE, |set, part| {
            set.union(match part {
                Scalar::F32(v) => Special::of_f64(f64::from(*v)),
                Scalar::F64(v) => Special::of_f64(*v),
                _ => Special::NONE,
            })
        })
    }

    /// Returns the special values among the given floats.
    pub fn of_values<T: Copy + Into<f64>>(values: &[T]) -> Special {
        // Branch-free, so that the compiler vectorizes it.
        let block = |values: &[T]| {
            values.iter().fold(Special::NONE, |set, v| {
                let v: f64 = (*v).into();
                let bit = |holds: bool, of: Special| u8::from(holds) * of.0;
                let own =
                    bit(v == f64::INFINITY, Special::INFINITY) | bit(v == f64::NEG_INFINITY, Special::NEG_INFINITY);
                Special(set.0 | own | bit(v.is_nan(), Special::NAN))
            })
        };
        // One comparison per value shows that a block is finite, as most blocks are.
        values.chunks(BLOCK).fold(Special::NONE, |set, values| {
            let finite = |v: T| -> bool { Into::<f64>::into(v).is_finite() };
            let regular = values.iter().fold(true, |all, v| all & finite(*v));
            if regular { set } else { set.union(block(values)) }
        })
    }

    fn of_f64(v: f64) -> Special {
        match v {
            _ if v.is_nan() => Special::NAN,
            f64::INFINITY => Special::INFINITY,
            f64::NEG_INFINITY => Special::NEG_INFINITY,
            _ => Special::NONE,
        }
    }

    /// Returns the union of both sets.
    pub fn union(self, other: Special) -> Special {
        Special(self.0 | other.0)
    }

    /// Returns whether the sets intersect.
    pub fn intersects(self, values: Special) -> bool {
        self.0 & values.0 != 0
    }

    /// Returns whether this set is a subset of the other one.
    pub fn is_subset(self, other: Special) -> bool {
        self.0 & !other.0 == 0
    }

    fn intersection(self, values: Special) -> Special {
        Special(self.0 & values.0)
    }

    fn negated(self) -> Special {
        Special(self.0 & 4 | self.0 >> 1 & 1 | self.0 << 1 & 2)
    }

    /// Adds the infinity of the other sign if the set has one.
    fn with_both_infinities(self) -> Special {
        if self.intersects(Special::INFINITE) { self.union(Special::INFINITE) } else { self }
    }

    /// Returns the special values of the sum.
    fn of_sum(self, other: Special) -> Special {
        let opposite = |a: Special, b: Special| a.intersects(Special::INFINITY) && b.intersects(Special::NEG_INFINITY);
        let nan = opposite(self, other) || opposite(other, self);
        self.union(other).union(if nan { Special::NAN } else { Special::NONE })
    }
}

/// Number of values per block of the scan.
const BLOCK: usize = 256;

impl ArgumentFacts<'_> {
    /// Returns whether the argument is a finite constant other than zero.
    pub fn is_regular(&self) -> bool {
        self.constant.and_then(Scalar::to_f64).is_some_and(|v| v != 0.0 && v.is_finite())
    }

    /// Returns the special values of the product.
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
/// has the dtypes of the arguments. Overflow of finite arguments is ignored.
pub fn of_call(op: &Op, args: &[ArgumentFacts<'_>], dtypes: &[DType], result: &DType) -> Special {
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

/// Returns whether a body has an operator or a constant that yields special values from finite
/// arguments.
pub fn can_generate(body: &Body) -> bool {
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
            // The dtypes of arguments are unknown here. All operators but casts are treated as
            // operators on floats.
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

/// The check that code must add to the machine's arithmetic so that an operator obeys the laws of
/// the default mode.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum OperatorGuard {
    /// No check.
    None,
    /// A check whether the first argument is zero.
    Zero,
    /// A check whether an argument is zero or infinite.
    Special,
}

/// Returns the guard of a float operator on two arguments.
pub fn guard(b: Builtin, x: &ArgumentFacts<'_>, y: &ArgumentFacts<'_>) -> OperatorGuard {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn special_values_are_found_at_any_position() {
        assert_eq!(Special::of_values(&vec![1.5f64; 1000]), Special::NONE);
        for (value, expected) in [
            (f64::INFINITY, Special::INFINITY),
            (f64::NEG_INFINITY, Special::NEG_INFINITY),
            (f64::NAN, Special::NAN),
            (f64::MAX, Special::NONE),
        ] {
            for at in [0, 255, 256, 999] {
                let mut values = vec![-2.0; 1000];
                values[at] = value;
                assert_eq!(Special::of_values(&values), expected, "{value} at {at}");
            }
        }
        let both = Special::of_values(&[f32::INFINITY, 1.0, f32::NEG_INFINITY]);
        assert_eq!(both, Special::INFINITE);
    }

    /// Wherever the operator table and machine arithmetic differ, `guard` asks for a check; and no
    /// result has a special value that `of_call` excludes.
    #[test]
    fn guards_exist_wherever_the_laws_differ_from_machine_arithmetic() {
        use crate::FloatMode::{Relaxed, StrictIeee};
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
