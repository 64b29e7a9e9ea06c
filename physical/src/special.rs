//! Sets of special values that a float may have: infinity, minus infinity and NaN.
//!
//! In the default float mode zero absorbs infinities and NaN in a product, and an infinity absorbs
//! NaN in a sum (see [`FloatMode::Relaxed`](redpoll_logic::FloatMode::Relaxed)). Machine arithmetic
//! obeys neither law. Kernels guard an operator only where special values may reach it: the values
//! of inputs are scanned once, and the sets are propagated through the operators of the program.
//! Overflow of finite numbers is ignored, since its result is unspecified.

use redpoll_logic::op::{Body, Builtin, Definition, Op};
use redpoll_logic::{DType, Prim, Scalar};

/// A set of special values.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Special(u8);

/// Static knowledge of an argument: its special values, and its value if it is a constant.
#[derive(Clone, Copy)]
pub(crate) struct Known<'a> {
    pub(crate) special: Special,
    pub(crate) constant: Option<&'a Scalar>,
}

impl Special {
    /// No special value.
    pub const NONE: Special = Special(0);
    pub(crate) const INFINITY: Special = Special(1);
    pub(crate) const NEGATIVE: Special = Special(2);
    pub(crate) const INFINITE: Special = Special(3);
    pub(crate) const NAN: Special = Special(4);
    pub(crate) const ALL: Special = Special(7);

    /// Returns the set with the value if it is special; for a struct, the set of its members'
    /// special values.
    pub(crate) fn of(value: &Scalar) -> Special {
        value.flatten().iter().fold(Special::NONE, |set, part| {
            set.and(match part {
                Scalar::F32(v) => Special::of_f64(f64::from(*v)),
                Scalar::F64(v) => Special::of_f64(*v),
                _ => Special::NONE,
            })
        })
    }

    /// Returns the special values among the given floats.
    pub(crate) fn among<T: Copy + Into<f64>>(values: &[T]) -> Special {
        // Branch-free, so that the compiler vectorizes it.
        let block = |values: &[T]| {
            values.iter().fold(Special::NONE, |set, v| {
                let v: f64 = (*v).into();
                let bit = |holds: bool, of: Special| u8::from(holds) * of.0;
                let own = bit(v == f64::INFINITY, Special::INFINITY) | bit(v == f64::NEG_INFINITY, Special::NEGATIVE);
                Special(set.0 | own | bit(v.is_nan(), Special::NAN))
            })
        };
        // One comparison per value shows that a block is finite, as most blocks are.
        values.chunks(BLOCK).fold(Special::NONE, |set, values| {
            let finite = |v: T| -> bool { Into::<f64>::into(v).is_finite() };
            let regular = values.iter().fold(true, |all, v| all & finite(*v));
            if regular { set } else { set.and(block(values)) }
        })
    }

    fn of_f64(v: f64) -> Special {
        match v {
            _ if v.is_nan() => Special::NAN,
            f64::INFINITY => Special::INFINITY,
            f64::NEG_INFINITY => Special::NEGATIVE,
            _ => Special::NONE,
        }
    }

    /// Returns the union of both sets.
    pub(crate) fn and(self, other: Special) -> Special {
        Special(self.0 | other.0)
    }

    /// Returns whether the sets intersect.
    pub(crate) fn has(self, values: Special) -> bool {
        self.0 & values.0 != 0
    }

    /// Returns whether this set is a subset of the other one.
    pub fn is_within(self, other: Special) -> bool {
        self.0 & !other.0 == 0
    }

    fn only(self, values: Special) -> Special {
        Special(self.0 & values.0)
    }

    fn negated(self) -> Special {
        Special(self.0 & 4 | self.0 >> 1 & 1 | self.0 << 1 & 2)
    }

    /// Adds the infinity of the other sign if the set has one.
    fn of_any_sign(self) -> Special {
        if self.has(Special::INFINITE) { self.and(Special::INFINITE) } else { self }
    }

    /// Returns the special values of the sum.
    fn plus(self, other: Special) -> Special {
        let opposite = |a: Special, b: Special| a.has(Special::INFINITY) && b.has(Special::NEGATIVE);
        let nan = opposite(self, other) || opposite(other, self);
        self.and(other).and(if nan { Special::NAN } else { Special::NONE })
    }
}

/// Number of values per block of the scan.
const BLOCK: usize = 256;

impl Known<'_> {
    /// Returns whether the argument is a finite constant other than zero.
    pub(crate) fn is_regular(&self) -> bool {
        self.constant.and_then(Scalar::to_f64).is_some_and(|v| v != 0.0 && v.is_finite())
    }

    /// Returns the special values of the product.
    fn times(&self, other: &Known<'_>) -> Special {
        match (self.constant.and_then(Scalar::to_f64), other.constant.and_then(Scalar::to_f64)) {
            (Some(v), None) if v != 0.0 && v.is_finite() => signed(other.special, v),
            (None, Some(v)) if v != 0.0 && v.is_finite() => signed(self.special, v),
            _ => self.special.and(other.special).of_any_sign(),
        }
    }
}

fn signed(of: Special, by: f64) -> Special {
    if by < 0.0 { of.negated() } else { of }
}

/// Returns the special values that an operator may return, given those of its arguments. `dtypes`
/// has the dtypes of the arguments. Overflow of finite arguments is ignored.
pub(crate) fn of_call(op: &Op, args: &[Known<'_>], dtypes: &[DType], result: &DType) -> Special {
    if !result.prims().iter().any(|p| p.is_float()) {
        return Special::NONE;
    }
    match op {
        Op::Builtin(b) => match args {
            [x] => of_unary(*b, x, &dtypes[0]),
            [first, rest @ ..] if *b != Builtin::IfElse => {
                rest.iter().fold(*first, |acc, y| Known { special: of_binary(*b, &acc, y), constant: None }).special
            }
            _ => args.iter().skip(1).fold(Special::NONE, |set, arg| set.and(arg.special)),
        },
        Op::User(user) => {
            let Definition::Body(body) = user.definition();
            let given = args.iter().any(|arg| arg.special != Special::NONE);
            if given || makes(body) { Special::ALL } else { Special::NONE }
        }
    }
}

/// Returns whether a body has an operator or a constant that yields special values from finite
/// arguments.
pub(crate) fn makes(body: &Body) -> bool {
    match body {
        Body::Arg(_) | Body::Var(_) => false,
        Body::Lit(value) => Special::of(value) != Special::NONE,
        Body::Call(op, args) => {
            let finite = Known { special: Special::NONE, constant: None };
            let known: Vec<Known<'_>> = args
                .iter()
                .map(|arg| match arg {
                    Body::Lit(value) => Known { special: Special::of(value), constant: Some(value) },
                    _ => finite,
                })
                .collect();
            // The dtypes of arguments are unknown here. All operators but casts are treated as
            // operators on floats.
            let dtypes = vec![DType::F64; args.len()];
            args.iter().any(makes) || of_call(op, &known, &dtypes, &DType::F64) != Special::NONE
        }
        Body::If(cond, then, other) => [cond, then, other].into_iter().any(|b| makes(b)),
        Body::Let(_, value, rest) => makes(value) || makes(rest),
        Body::While(w) => {
            let inits = w.vars.iter().map(|(_, init)| init);
            inits.chain(&w.steps).chain([&w.cond, &w.result]).any(makes)
        }
        Body::Struct(members) => members.iter().any(|(_, m)| makes(m)),
        Body::Member(of, _) => makes(of),
    }
}

fn of_unary(b: Builtin, x: &Known<'_>, dtype: &DType) -> Special {
    use Builtin::*;
    let special = x.special;
    match b {
        Neg => special.negated(),
        Abs if special.has(Special::INFINITE) => special.only(Special::NAN).and(Special::INFINITY),
        Square if special.has(Special::INFINITE) => special.only(Special::NAN).and(Special::INFINITY),
        Abs | Square | Floor | Ceil | Trunc | Round | Cbrt | Asinh | First | Second => special,
        Sign | Atan | Tanh | Erf => special.only(Special::NAN),
        Sin | Cos if special == Special::NONE => Special::NONE,
        Sin | Cos => Special::NAN,
        Exp | Exp2 | Expm1 | Cosh => special.only(Special::NAN).and(Special::INFINITY),
        Cast(Prim::F32) if *dtype == DType::F64 => special.and(Special::INFINITE),
        Cast(_) if dtype.prim().is_some_and(Prim::is_float) => special,
        Cast(_) => Special::NONE,
        _ => Special::ALL,
    }
}

fn of_binary(b: Builtin, x: &Known<'_>, y: &Known<'_>) -> Special {
    use Builtin::*;
    match b {
        Add | AddSat | AddChecked => x.special.plus(y.special),
        Sub | SubSat | SubChecked => x.special.plus(y.special.negated()),
        Mul | MulSat | MulChecked => x.times(y),
        Div => match y.constant.and_then(Scalar::to_f64) {
            Some(by) if y.is_regular() => signed(x.special, by),
            _ => Special::ALL,
        },
        Min | Max | Choose | Coalesce | MinBy | MaxBy | Pair => x.special.and(y.special),
        Copysign => x.special.of_any_sign(),
        _ => Special::ALL,
    }
}

/// The check that code must add to the machine's arithmetic so that an operator obeys the laws of
/// the default mode.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Guard {
    /// No check.
    None,
    /// A check whether the first argument is zero.
    Zero,
    /// A check whether an argument is zero or infinite.
    Special,
}

/// Returns the guard of a float operator on two arguments.
pub(crate) fn guard(b: Builtin, x: &Known<'_>, y: &Known<'_>) -> Guard {
    use Builtin::*;
    let meets = |values: Special| {
        let one = |a: Special, b: Special| a.has(values) && b.has(Special::NAN);
        if one(x.special, y.special) || one(y.special, x.special) { Guard::Special } else { Guard::None }
    };
    let any = x.special.and(y.special) != Special::NONE;
    match b {
        Mul | MulSat | MulChecked if any && !x.is_regular() && !y.is_regular() => Guard::Special,
        Div if x.is_regular() && !y.special.has(Special::INFINITE) => Guard::None,
        Div if y.is_regular() => Guard::None,
        Div if x.special.and(y.special).has(Special::INFINITE) => Guard::Special,
        Div => Guard::Zero,
        FloorDiv | Rem | Fmod if !x.is_regular() && !y.is_regular() => Guard::Zero,
        Add | AddSat | AddChecked | Sub | SubSat | SubChecked => meets(Special::INFINITE),
        Min => meets(Special::NEGATIVE),
        Max => meets(Special::INFINITY),
        _ => Guard::None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn special_values_are_found_wherever_they_stand() {
        assert_eq!(Special::among(&vec![1.5f64; 1000]), Special::NONE);
        for (value, expected) in [
            (f64::INFINITY, Special::INFINITY),
            (f64::NEG_INFINITY, Special::NEGATIVE),
            (f64::NAN, Special::NAN),
            (f64::MAX, Special::NONE),
        ] {
            for at in [0, 255, 256, 999] {
                let mut values = vec![-2.0; 1000];
                values[at] = value;
                assert_eq!(Special::among(&values), expected, "{value} at {at}");
            }
        }
        let both = Special::among(&[f32::INFINITY, 1.0, f32::NEG_INFINITY]);
        assert_eq!(both, Special::INFINITE);
    }

    /// Wherever the operator table and machine arithmetic differ, `guard` asks for a check; and no
    /// result has a special value that `of_call` excludes.
    #[test]
    fn guards_stand_wherever_the_laws_differ_from_machine_arithmetic() {
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
                    let known =
                        |k: u8, v| Known { special: Special::of(v), constant: (constants >> k & 1 == 1).then_some(v) };
                    let (x, y) = (known(0, x), known(1, y));
                    let same = value == machine || value.to_f64() == Some(0.0) && machine.to_f64() == Some(0.0);
                    assert!(same || guard(*b, &x, &y) != Guard::None, "{b} of {args:?}: {value}, not {machine}");
                    let said = of_call(&op, &[x, y], &dtypes, &signature.result);
                    assert!(Special::of(&value).is_within(said), "{b} of {args:?} is {value}");
                }
            }
        }
        for b in Builtin::ALL {
            let op = Op::Builtin(*b);
            let Ok(signature) = op.signature(&[DType::F64]) else { continue };
            for x in values.iter().chain(&[-1e300, 1e300, 1.0, -1.0].map(Scalar::F64)) {
                let value = op.eval(std::slice::from_ref(x)).unwrap();
                let overflows = *b == Builtin::Square && x.to_f64().is_some_and(f64::is_finite);
                let known = Known { special: Special::of(x), constant: None };
                let said = of_call(&op, &[known], &[DType::F64], &signature.result);
                assert!(overflows || Special::of(&value).is_within(said), "{b} of {x} is {value}");
            }
        }
    }
}
