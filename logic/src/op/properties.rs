//! Algebraic properties of operators, for a dtype and a float mode.
//!
//! The dtype is that of the arguments after promotion. For an operator whose arguments differ in
//! dtype (shifts, `ldexp`), it is that of the first argument. The properties of built-in operators
//! come from the tables of `laws.rs`, those of user-defined operators from their declarations.

use super::builtin::{Arity, Builtin, Rule};
use super::eval::{Fault, cast_to, is_zero};
use super::integer::bounds;
use super::laws::{self, Constant, FIRST, Fold, On, REST};
use super::reduce::{is_made_of_calls, reduce};
use super::signature::pair_members;
use super::user::{Body, Definition, UserOp};
use super::{Op, Signature};
use crate::dtype::{DType, Prim};
use crate::mode::FloatMode;
use crate::scalar::Scalar;

/// A method to fold n equal values x, with n at least 1, without n steps.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Repeat {
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

/// The condition under which a fold may stop early, because its result is decided.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum ShortCircuit {
    /// The accumulator equals the value.
    At(Scalar),
    /// The accumulator differs from the value.
    Unless(Scalar),
}

/// The simplified form of an application whose arguments are partly known.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Simplified {
    /// A value, for any values of the other arguments.
    Value(Scalar),
    /// The argument at this position, cast to its dtype in the signature, which is the dtype of the
    /// result.
    Arg(usize),
    /// The operator applied to the arguments at these positions, at least two.
    Args(Vec<usize>),
    /// An expression over the arguments, from the body or a special case of a user-defined
    /// operator.
    Body(Body),
}

impl Op {
    /// Returns whether the operator is `or` on two `bool`s, as `max` is, too.
    pub fn is_disjunction(&self) -> bool {
        [(false, false), (false, true), (true, false), (true, true)].into_iter().all(|(a, b)| {
            self.eval(&[Scalar::Bool(a), Scalar::Bool(b)]).is_ok_and(|value| value == Scalar::Bool(a || b))
        })
    }

    /// Returns whether `f(a, b) = f(b, a)`; more arguments then commute as well.
    pub fn is_commutative(&self, dtype: &DType, mode: FloatMode) -> bool {
        match self {
            Op::Builtin(b) => holds(laws::COMMUTATIVE, *b, kind(*b, dtype, mode)),
            Op::User(u) => u.properties().commutative && takes(u, dtype),
        }
    }

    /// Returns whether `f(f(a, b), c) = f(a, f(b, c))`. An associative operator takes two or more
    /// arguments.
    pub fn is_associative(&self, dtype: &DType, mode: FloatMode) -> bool {
        match self {
            Op::Builtin(b) => holds(laws::ASSOCIATIVE, *b, kind(*b, dtype, mode)),
            Op::User(u) => u.properties().associative && takes(u, dtype),
        }
    }

    /// Returns whether `f(a, a) = a`.
    pub fn is_idempotent(&self, dtype: &DType, mode: FloatMode) -> bool {
        match self {
            Op::Builtin(b) => holds(laws::IDEMPOTENT, *b, kind(*b, dtype, mode)),
            Op::User(u) => u.properties().idempotent && takes(u, dtype),
        }
    }

    /// Returns a value that can be dropped as the argument at `position`. The value has the given
    /// dtype, even if that argument has another one (the count of a shift).
    pub fn identity(&self, dtype: &DType, position: usize, mode: FloatMode) -> Option<Scalar> {
        match self {
            Op::Builtin(b) => {
                let on = kind(*b, dtype, mode);
                let row = laws::IDENTITY
                    .iter()
                    .find(|(ops, at, _, kinds)| ops.contains(b) && at & place(position) != 0 && kinds & on != 0)?;
                Some(constant(row.2, &of(*b, dtype)))
            }
            Op::User(u) => declared(u, &u.properties().identity, dtype, position),
        }
    }

    /// Returns whether `value` can be dropped as the argument at `position`. For built-in
    /// operators, `value` may have any dtype; in the relaxed mode, either zero matches a zero
    /// identity.
    pub fn is_identity(&self, value: &Scalar, dtype: &DType, position: usize, mode: FloatMode) -> bool {
        match self {
            Op::Builtin(b) => {
                let on = kind(*b, dtype, mode);
                laws::IDENTITY.iter().any(|(ops, at, c, kinds)| {
                    ops.contains(b) && at & place(position) != 0 && kinds & on != 0 && is(value, *c, mode)
                })
            }
            Op::User(_) => self.identity(dtype, position, mode).as_ref() == Some(value),
        }
    }

    /// Returns the value that can be dropped at every position, which is the initial value of a
    /// fold.
    pub fn fold_identity(&self, dtype: &DType, mode: FloatMode) -> Option<Scalar> {
        let first = self.identity(dtype, 0, mode)?;
        (self.identity(dtype, 1, mode)? == first).then_some(first)
    }

    /// Returns a value that, as the argument at `position`, is the result. There may be more such
    /// values, which [`Op::simplify`] uses.
    pub fn annihilator(&self, dtype: &DType, position: usize, mode: FloatMode) -> Option<Scalar> {
        match self {
            Op::Builtin(b) => {
                let on = kind(*b, dtype, mode);
                let row = laws::DECIDED.iter().find(|(ops, at, when, then, kinds)| {
                    ops.contains(b) && at & place(position) != 0 && kinds & on != 0 && when == then
                })?;
                Some(constant(row.2, &of(*b, dtype)))
            }
            Op::User(u) => declared(u, &u.properties().annihilator, dtype, position),
        }
    }

    /// Returns the result if the known arguments decide it. Known values are cast to the dtypes of
    /// the signature.
    pub fn annihilates(&self, signature: &Signature, known: &[Option<Scalar>], mode: FloatMode) -> Option<Scalar> {
        match self.simplify(signature, known, mode)? {
            Simplified::Value(value) => Some(value),
            Simplified::Arg(k) => known[k].as_ref().map(|v| cast_to(v, &signature.args[k])),
            Simplified::Args(_) | Simplified::Body(_) => None,
        }
    }

    /// Returns a simpler form of an application whose arguments are partly known, if there is one.
    /// Constants are folded, annihilators decide, identities are dropped, conditions choose and
    /// special cases apply. Known values are cast to the dtypes of the signature. An application
    /// that faults is not simplified.
    pub fn simplify(&self, signature: &Signature, known: &[Option<Scalar>], mode: FloatMode) -> Option<Simplified> {
        let cast = |(value, to): (&Option<Scalar>, &DType)| value.as_ref().map(|v| cast_to(v, to));
        let known: Vec<Option<Scalar>> = known.iter().zip(&signature.args).map(cast).collect();
        let known = &known[..];
        if let Some(args) = known.iter().cloned().collect::<Option<Vec<_>>>() {
            return self.eval_in(&args, mode).ok().map(Simplified::Value);
        }
        let dtype = signature.args.first()?;
        let decided = match self {
            Op::Builtin(b) => decide(*b, signature, known, mode),
            Op::User(u) => decide_user(u, known, mode),
        };
        decided.or_else(|| {
            let mut kept: Vec<usize> = Vec::new();
            for (k, value) in known.iter().enumerate() {
                // Counts positions among the kept arguments, so that `0 - 0 - x` does not become
                // `-x`.
                let droppable = match value {
                    Some(v) if kept.is_empty() && k > 0 => self.is_identity(v, dtype, 0, mode),
                    Some(v) => self.is_identity(v, dtype, k, mode),
                    None => false,
                };
                if !droppable {
                    kept.push(k);
                }
            }
            let unchanged = |k: &usize| signature.args[*k] == signature.result;
            match kept.len() {
                n if n == known.len() => None,
                1 => kept.first().filter(|k| unchanged(k)).map(|k| Simplified::Arg(*k)),
                0 => None,
                _ => Some(Simplified::Args(kept)),
            }
        })
    }

    /// Returns whether `f(.., g(b, c), ..) = g(f(.., b, ..), f(.., c, ..))`, with `g` at
    /// `position`.
    pub fn distributes_over(&self, other: &Op, dtype: &DType, position: usize, mode: FloatMode) -> bool {
        match (self, other) {
            (Op::Builtin(b), Op::Builtin(g)) => {
                let on = kind(*b, dtype, mode) & kind(*g, dtype, mode);
                laws::DISTRIBUTES.iter().any(|(ops, at, others, kinds)| {
                    ops.contains(b) && others.contains(g) && at & place(position) != 0 && kinds & on != 0
                })
            }
            (Op::Builtin(_), Op::User(_)) => false,
            (Op::User(u), _) => {
                takes(u, dtype) && u.properties().distributes_over.iter().any(|name| name == other.name())
            }
        }
    }

    /// Returns the method that folds equal values without a loop.
    pub fn repeat(&self, dtype: &DType, mode: FloatMode) -> Option<Repeat> {
        if self.is_idempotent(dtype, mode) {
            return Some(Repeat::Idempotent);
        }
        match self {
            Op::Builtin(b) => {
                let on = kind(*b, dtype, mode);
                let row = laws::FOLD.iter().find(|(ops, _, kinds)| ops.contains(b) && kinds & on != 0)?;
                Some(match row.1 {
                    Fold::Multiply => Repeat::Multiply,
                    Fold::Power => Repeat::Power,
                    Fold::Parity => Repeat::Parity,
                    Fold::Doubling => Repeat::Doubling,
                })
            }
            Op::User(_) => self.is_associative(dtype, mode).then_some(Repeat::Doubling),
        }
    }

    /// Returns the operator that undoes this one: `inverse(f(a, b), b) = a`.
    pub fn inverse(&self, dtype: &DType, mode: FloatMode) -> Option<Op> {
        self.partner(laws::INVERSE, dtype, mode)
    }

    /// Returns the operator g with `f(f(s, a), b) = f(s, g(a, b))`: f itself if it is associative,
    /// `+` for `-`. A run of values can be folded with g before the result is combined with the
    /// accumulator.
    pub fn tail(&self, dtype: &DType, mode: FloatMode) -> Option<Op> {
        if self.is_associative(dtype, mode) { Some(self.clone()) } else { self.partner(laws::TAIL, dtype, mode) }
    }

    /// Returns the condition under which a fold from the left may stop early.
    pub fn short_circuits(&self, dtype: &DType, mode: FloatMode) -> Option<ShortCircuit> {
        match self {
            Op::Builtin(b) => {
                let on = kind(*b, dtype, mode);
                let row = laws::STOPS.iter().find(|(ops, _, _, kinds)| ops.contains(b) && kinds & on != 0)?;
                let value = constant(row.2, &of(*b, dtype));
                Some(if row.1 { ShortCircuit::At(value) } else { ShortCircuit::Unless(value) })
            }
            Op::User(_) => self.annihilator(dtype, 0, mode).map(ShortCircuit::At),
        }
    }

    fn partner(&self, table: &[(&[Builtin], Builtin, On)], dtype: &DType, mode: FloatMode) -> Option<Op> {
        let Op::Builtin(b) = self else { return None };
        let on = kind(*b, dtype, mode);
        let row = table.iter().find(|(ops, _, kinds)| ops.contains(b) && kinds & on != 0)?;
        Some(Op::Builtin(row.1))
    }
}

impl ShortCircuit {
    /// Returns whether a fold with this accumulator may stop.
    pub fn stops(&self, accumulator: &Scalar) -> bool {
        match self {
            ShortCircuit::At(value) => accumulator == value,
            // Both zeros are the zero of `choose`.
            ShortCircuit::Unless(value) if is_zero(value) => !is_zero(accumulator),
            ShortCircuit::Unless(value) => accumulator != value,
        }
    }
}

/// Maximal number of steps of a plain fold in [`repeat_eval`].
const FOLD_LIMIT: u64 = 1 << 16;

/// Folds `n` values `x` from the left, with n at least 1, in fewer steps if [`Op::repeat`] has a
/// method or the accumulator stops changing. Returns `None` if n is 0, or if the fold takes too
/// many steps.
pub fn repeat_eval(op: &Op, x: &Scalar, n: u64, mode: FloatMode) -> Option<Result<Scalar, Fault>> {
    if n <= 1 {
        return (n == 1).then(|| Ok(x.clone()));
    }
    Some(match op.repeat(&x.dtype(), mode) {
        Some(Repeat::Idempotent) => Ok(x.clone()),
        Some(Repeat::Parity) if n % 2 == 1 => Ok(x.clone()),
        Some(Repeat::Parity) => Ok(op.identity(&x.dtype(), 0, mode)?),
        Some(Repeat::Multiply) => Ok(match x {
            Scalar::F32(v) => Scalar::F32(v * n as f32),
            Scalar::F64(v) => Scalar::F64(v * n as f64),
            _ => super::integer::wrap(x.prim()?, x.to_i128()?.wrapping_mul(i128::from(n))),
        }),
        Some(Repeat::Power) => Ok(match x {
            Scalar::F32(v) => Scalar::F32(libm::pow(f64::from(*v), n as f64) as f32),
            Scalar::F64(v) => Scalar::F64(libm::pow(*v, n as f64)),
            _ => super::integer::wrap(x.prim()?, super::integer::pow(x.to_i128()?, i128::from(n))),
        }),
        Some(Repeat::Doubling) => double(op, x, n, mode),
        None => return settle(op, x, n, mode),
    })
}

/// Folds by the bits of n, from the highest down, so that every intermediate value is part of the
/// result.
fn double(op: &Op, x: &Scalar, n: u64, mode: FloatMode) -> Result<Scalar, Fault> {
    let mut acc = x.clone();
    for bit in (0..n.ilog2()).rev() {
        acc = op.eval_in(&[acc.clone(), acc], mode)?;
        if n >> bit & 1 == 1 {
            acc = op.eval_in(&[acc, x.clone()], mode)?;
        }
    }
    Ok(acc)
}

fn settle(op: &Op, x: &Scalar, n: u64, mode: FloatMode) -> Option<Result<Scalar, Fault>> {
    let mut acc = x.clone();
    for step in 1..n {
        if step > FOLD_LIMIT {
            return None;
        }
        match op.eval_in(&[acc.clone(), x.clone()], mode) {
            Ok(next) if next == acc => return Some(Ok(acc)),
            Ok(next) => acc = next,
            Err(fault) => return Some(Err(fault)),
        }
    }
    Some(Ok(acc))
}

fn decide(b: Builtin, signature: &Signature, known: &[Option<Scalar>], mode: FloatMode) -> Option<Simplified> {
    match (b, known) {
        (Builtin::IfElse, [Some(cond), ..]) => return Some(Simplified::Arg(if is_zero(cond) { 2 } else { 1 })),
        (Builtin::IfElse, [None, Some(x), Some(y)]) if x == y => return Some(Simplified::Arg(1)),
        (Builtin::Choose, [Some(first), ..]) if !is_zero(first) => return Some(Simplified::Arg(0)),
        (Builtin::Coalesce, [Some(first), ..]) if !first.is_nan() => return Some(Simplified::Arg(0)),
        (Builtin::Coalesce, [..]) if !signature.result.prim()?.is_float() => return Some(Simplified::Arg(0)),
        (Builtin::Shl | Builtin::Shr, [None, Some(count)])
            if count.to_bits()? >= u64::from(signature.result.prim()?.bits()) =>
        {
            let signed = signature.result.prim()?.is_signed();
            return (b == Builtin::Shl || !signed)
                .then(|| Simplified::Value(constant(Constant::Zero, &signature.result)));
        }
        _ => {}
    }
    let on = kind(b, &signature.args[0], mode);
    known.iter().enumerate().find_map(|(k, value)| {
        let value = value.as_ref()?;
        let row = laws::DECIDED.iter().find(|(ops, at, when, _, kinds)| {
            ops.contains(&b) && at & place(k) != 0 && kinds & on != 0 && is(value, *when, mode)
        })?;
        Some(Simplified::Value(constant(row.3, &signature.result)))
    })
}

fn decide_user(u: &UserOp, known: &[Option<Scalar>], mode: FloatMode) -> Option<Simplified> {
    let annihilated = known.iter().enumerate().find_map(|(k, value)| {
        let value = value.as_ref()?;
        let position = declared_position(u, k);
        u.properties().annihilator.iter().any(|(p, v)| *p == position && v == value).then(|| value.clone())
    });
    if let Some(value) = annihilated {
        return Some(Simplified::Value(value));
    }
    if known.len() != u.params().len() || known.iter().all(Option::is_none) || u.has_cases() {
        return None;
    }
    let simplified = |body: &Body| match body {
        Body::Arg(k) => Simplified::Arg(*k),
        Body::Lit(value) => Simplified::Value(value.clone()),
        body => Simplified::Body(body.clone()),
    };
    let special = u.specializations().iter().find(|s| known[s.position].as_ref() == Some(&s.value));
    if let Some(special) = special {
        return Some(simplified(&special.result));
    }
    let Definition::Body(body) = u.definition();
    let (left, _) = reduce(u.params(), known, mode, body);
    is_made_of_calls(&left).then(|| simplified(&left)).filter(|s| *s != simplified(body))
}

fn holds(table: &[(&[Builtin], On)], b: Builtin, on: On) -> bool {
    table.iter().any(|(ops, kinds)| ops.contains(&b) && kinds & on != 0)
}

pub(super) fn place(position: usize) -> laws::At {
    if position == 0 { FIRST } else { REST }
}

/// Returns the dtype of the operator's computation; logical operators always compute in `bool`.
fn of(b: Builtin, dtype: &DType) -> DType {
    if b.rule() == Rule::Logical { DType::BOOL } else { dtype.clone() }
}

pub(super) fn kind(b: Builtin, dtype: &DType, mode: FloatMode) -> On {
    match of(b, dtype) {
        DType::Prim(Prim::Bool) => laws::BOOL,
        DType::Prim(p) if p.is_float() => match mode {
            FloatMode::Relaxed => laws::RELAXED,
            FloatMode::StrictIeee => laws::STRICT,
        },
        DType::Prim(p) if p.is_signed() => laws::SIGNED,
        DType::Prim(_) => laws::UNSIGNED,
        t if pair_members(&t).is_some() => laws::PAIR,
        DType::Struct(_) => laws::STRUCT,
    }
}

/// Returns the constant in the given dtype.
pub(super) fn constant(c: Constant, dtype: &DType) -> Scalar {
    let extreme = |p: Prim, top: bool| match p {
        Prim::Bool => Scalar::Bool(top),
        Prim::F32 => Scalar::F32(if top { f32::INFINITY } else { f32::NEG_INFINITY }),
        Prim::F64 => Scalar::F64(if top { f64::INFINITY } else { f64::NEG_INFINITY }),
        _ => {
            let (lo, hi) = bounds(p);
            super::integer::wrap(p, if top { hi } else { lo })
        }
    };
    let cast = |v: f64, p: Prim| Scalar::F64(v).cast(p).expect("a primitive casts to a primitive");
    match (c, dtype) {
        (Constant::NeverMin | Constant::NeverMax, DType::Struct(ty)) => {
            let (value, coordinate) = pair_members(dtype).expect("a law of pairs is asked of pairs");
            let worst = extreme(value, c == Constant::NeverMin);
            Scalar::Struct(ty.clone(), [worst, extreme(coordinate, true)].into())
        }
        (_, DType::Struct(_)) => Scalar::unflatten(dtype, &mut dtype.prims().into_iter().map(Scalar::zero))
            .expect("the zeros of its primitives make up a struct"),
        (Constant::Zero, DType::Prim(p)) => Scalar::zero(*p),
        (Constant::NegZero, DType::Prim(p)) => cast(-0.0, *p),
        (Constant::One, DType::Prim(p)) => Scalar::one(*p),
        (Constant::Ones, DType::Prim(p)) => Scalar::from_bits(*p, u64::MAX),
        (Constant::Top | Constant::NeverMin, DType::Prim(p)) => extreme(*p, true),
        (Constant::Bottom | Constant::NeverMax, DType::Prim(p)) => extreme(*p, false),
        (Constant::NaN, DType::Prim(p)) => cast(f64::NAN, *p),
    }
}

/// Returns whether a value is the constant in its dtype; in the relaxed mode both zeros match.
fn is(value: &Scalar, c: Constant, mode: FloatMode) -> bool {
    let float = value.prim().is_some_and(Prim::is_float);
    match c {
        Constant::NaN => value.is_nan(),
        Constant::Zero if mode == FloatMode::Relaxed => is_zero(value),
        Constant::NegZero if !float => false,
        _ => *value == constant(c, &value.dtype()),
    }
}

/// Returns whether all parameters have the given dtype.
fn takes(u: &UserOp, dtype: &DType) -> bool {
    u.params().iter().all(|(_, t)| t == dtype)
}

fn declared(u: &UserOp, of: &[(usize, Scalar)], dtype: &DType, position: usize) -> Option<Scalar> {
    let position = declared_position(u, position);
    let (_, t) = u.params().get(position)?;
    of.iter().find(|(p, _)| *p == position && t == dtype).map(|(_, v)| v.clone())
}

/// Maps arguments beyond the last parameter of an associative operator to that parameter.
fn declared_position(u: &UserOp, position: usize) -> usize {
    match u.arity() {
        Arity::AtLeast(_) => position.min(u.params().len() - 1),
        Arity::Exact(_) => position,
    }
}
