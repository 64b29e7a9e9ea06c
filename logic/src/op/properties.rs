//! Algebraic properties of operators, for a dtype and a float mode.
//!
//! The dtype is the dtype of the arguments after promotion. If the arguments of an operator still
//! differ in dtype (shifts, `ldexp`), the dtype is that of the first argument. The properties of
//! built-in operators come from the tables of `laws.rs`. The properties of user-defined operators
//! come from their declarations. [`Op::simplify`], [`Op::skips`] and [`Op::is_disjunction`] also
//! evaluate their bodies.

use super::builtin::{Arity, Builtin, DtypeRule};
use super::eval::{Fault, cast_to, is_zero};
use super::integer::bounds;
use super::laws::{self, Constant, DtypeKinds, FIRST, REST, RepeatMethod};
use super::partial_eval::{is_call_tree, partial_eval};
use super::signature::pair_members;
use super::user::{Body, Definition, UserOp};
use super::{Op, Signature};
use crate::dtype::{DType, Prim};
use crate::mode::FloatMode;
use crate::scalar::Scalar;

/// The condition under which a fold may stop early, because its result is decided.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum ShortCircuit {
    /// The accumulator equals the value.
    Equal(Scalar),
    /// The accumulator differs from the value.
    NotEqual(Scalar),
}

/// The simplified form of an application with constant arguments.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Simplification {
    /// This value, whatever the values of the other arguments are.
    Value(Scalar),
    /// The argument at this position. The argument is cast to its dtype in the signature, which
    /// equals the dtype of the result.
    Arg(usize),
    /// The operator applied to the arguments at these positions. There are at least two positions.
    Args(Vec<usize>),
    /// An expression over the arguments, from the body or a special case of a user-defined
    /// operator.
    Body(Body),
}

impl Op {
    /// Returns whether the operator, applied to two `bool`s, computes their `or`. The operator
    /// `max` does so, too.
    pub fn is_disjunction(&self) -> bool {
        [(false, false), (false, true), (true, false), (true, true)].into_iter().all(|(a, b)| {
            self.eval(&[Scalar::Bool(a), Scalar::Bool(b)]).is_ok_and(|value| value == Scalar::Bool(a || b))
        })
    }

    /// Returns whether `f(a, b) = f(b, a)`. Three or more arguments of a built-in operator commute
    /// only if the operator is also associative.
    pub fn is_commutative(&self, dtype: &DType, mode: FloatMode) -> bool {
        match self {
            Op::Builtin(b) => has_law(laws::COMMUTATIVE, *b, dtype_kind(*b, dtype, mode)),
            Op::User(u) => u.properties().commutative && params_have_dtype(u, dtype),
        }
    }

    /// Returns whether `f(f(a, b), c) = f(a, f(b, c))`. An associative operator takes two or more
    /// arguments.
    pub fn is_associative(&self, dtype: &DType, mode: FloatMode) -> bool {
        match self {
            Op::Builtin(b) => has_law(laws::ASSOCIATIVE, *b, dtype_kind(*b, dtype, mode)),
            Op::User(u) => u.properties().associative && params_have_dtype(u, dtype),
        }
    }

    /// Returns whether `f(a, a) = a`.
    pub fn is_idempotent(&self, dtype: &DType, mode: FloatMode) -> bool {
        match self {
            Op::Builtin(b) => has_law(laws::IDEMPOTENT, *b, dtype_kind(*b, dtype, mode)),
            Op::User(u) => u.properties().idempotent && params_have_dtype(u, dtype),
        }
    }

    /// Returns a value that can be dropped as the argument at `position`, if there is one. The
    /// value has the dtype `dtype`, even if the argument at `position` has another dtype (the count
    /// of a shift). For logical operators, the value is a `bool`.
    pub fn identity(&self, dtype: &DType, position: usize, mode: FloatMode) -> Option<Scalar> {
        match self {
            Op::Builtin(b) => {
                let kind = dtype_kind(*b, dtype, mode);
                let row = laws::IDENTITY.iter().find(|(ops, at, _, kinds)| {
                    ops.contains(b) && at & position_bit(position) != 0 && kinds & kind != 0
                })?;
                Some(constant(row.2, &computation_dtype(*b, dtype)))
            }
            Op::User(u) => declared_value(u, &u.properties().identity, dtype, position),
        }
    }

    /// Returns whether `value` can be dropped as the argument at `position`. For built-in
    /// operators, `value` may have any dtype; in the relaxed mode, either zero matches a zero
    /// identity.
    pub fn is_identity(&self, value: &Scalar, dtype: &DType, position: usize, mode: FloatMode) -> bool {
        match self {
            Op::Builtin(b) => {
                let kind = dtype_kind(*b, dtype, mode);
                laws::IDENTITY.iter().any(|(ops, at, c, kinds)| {
                    ops.contains(b)
                        && at & position_bit(position) != 0
                        && kinds & kind != 0
                        && is_constant(value, *c, mode)
                })
            }
            Op::User(_) => self.identity(dtype, position, mode).as_ref() == Some(value),
        }
    }

    /// Returns whether a fold that starts with `init` has the same result without `value`: the
    /// value is an identity, or `init` absorbs the value.
    ///
    /// ```text
    /// op(op(init, x), value) = op(op(init, value), x) = op(init, x)
    /// ```
    pub fn skips(&self, value: &Scalar, init: &Scalar, dtype: &DType, mode: FloatMode) -> bool {
        let is_absorbed = || {
            // Other operators may round away a value that matters if it is folded many times.
            let regroups =
                self.is_idempotent(dtype, mode) && self.is_commutative(dtype, mode) && self.is_associative(dtype, mode);
            let fits = [value, init].iter().all(|v| v.dtype() == *dtype);
            regroups && fits && self.eval_in(&[init.clone(), value.clone()], mode).as_ref() == Ok(init)
        };
        self.is_identity(value, dtype, 1, mode) || is_absorbed()
    }

    /// Returns the value that can be dropped at every position, if there is one. A fold can start
    /// with this value.
    pub fn fold_identity(&self, dtype: &DType, mode: FloatMode) -> Option<Scalar> {
        let first = self.identity(dtype, 0, mode)?;
        (self.identity(dtype, 1, mode)? == first).then_some(first)
    }

    /// Returns an annihilator: if the argument at `position` is this value, the result is this
    /// value. An operator may have several annihilators, and [`Op::simplify`] uses all of them.
    pub fn annihilator(&self, dtype: &DType, position: usize, mode: FloatMode) -> Option<Scalar> {
        match self {
            Op::Builtin(b) => {
                let kind = dtype_kind(*b, dtype, mode);
                let row = laws::CONSTANT_RESULTS.iter().find(|(ops, at, when, then, kinds)| {
                    ops.contains(b) && at & position_bit(position) != 0 && kinds & kind != 0 && when == then
                })?;
                Some(constant(row.2, &computation_dtype(*b, dtype)))
            }
            Op::User(u) => declared_value(u, &u.properties().annihilator, dtype, position),
        }
    }

    /// Returns the result if the constant arguments alone determine the result. Constants are cast
    /// to the dtypes of the signature.
    pub fn constant_result(
        &self,
        signature: &Signature,
        constants: &[Option<Scalar>],
        mode: FloatMode,
    ) -> Option<Scalar> {
        match self.simplify(signature, constants, mode)? {
            Simplification::Value(value) => Some(value),
            Simplification::Arg(k) => constants[k].as_ref().map(|v| cast_to(v, &signature.args[k])),
            Simplification::Args(_) | Simplification::Body(_) => None,
        }
    }

    /// Returns a simpler form of an application with constant arguments, if there is one: evaluates
    /// calls whose arguments are all constant, applies annihilators and special cases, takes the
    /// branches that constant conditions select, and drops identities. Constants are cast to the
    /// dtypes of the signature. An application that faults is not simplified.
    pub fn simplify(
        &self,
        signature: &Signature,
        constants: &[Option<Scalar>],
        mode: FloatMode,
    ) -> Option<Simplification> {
        let cast = |(value, to): (&Option<Scalar>, &DType)| value.as_ref().map(|v| cast_to(v, to));
        let constants: Vec<Option<Scalar>> = constants.iter().zip(&signature.args).map(cast).collect();
        let constants = &constants[..];
        if let Some(args) = constants.iter().cloned().collect::<Option<Vec<_>>>() {
            return self.eval_in(&args, mode).ok().map(Simplification::Value);
        }
        let dtype = signature.args.first()?;
        let simplified = match self {
            Op::Builtin(b) => simplify_builtin(*b, signature, constants, mode),
            Op::User(u) => simplify_user(u, constants, mode),
        };
        simplified.or_else(|| {
            let mut remaining: Vec<usize> = Vec::new();
            for (k, value) in constants.iter().enumerate() {
                // If all arguments before this one are dropped, this argument becomes the first.
                // Then its value must be an identity at the first position, because a value may be
                // an identity only at later positions.
                let droppable = match value {
                    Some(v) if remaining.is_empty() && k > 0 => self.is_identity(v, dtype, 0, mode),
                    Some(v) => self.is_identity(v, dtype, k, mode),
                    None => false,
                };
                if !droppable {
                    remaining.push(k);
                }
            }
            let unchanged = |k: &usize| signature.args[*k] == signature.result;
            match remaining.len() {
                n if n == constants.len() => None,
                1 => remaining.first().filter(|k| unchanged(k)).map(|k| Simplification::Arg(*k)),
                0 => None,
                _ => Some(Simplification::Args(remaining)),
            }
        })
    }

    /// Returns whether `f(.., g(b, c), ..) = g(f(.., b, ..), f(.., c, ..))`, with `g` at
    /// `position`.
    pub fn distributes_over(&self, other: &Op, dtype: &DType, position: usize, mode: FloatMode) -> bool {
        match (self, other) {
            (Op::Builtin(b), Op::Builtin(g)) => {
                let kind = dtype_kind(*b, dtype, mode) & dtype_kind(*g, dtype, mode);
                laws::DISTRIBUTIVE.iter().any(|(ops, at, others, kinds)| {
                    ops.contains(b) && others.contains(g) && at & position_bit(position) != 0 && kinds & kind != 0
                })
            }
            (Op::Builtin(_), Op::User(_)) => false,
            (Op::User(u), _) => {
                params_have_dtype(u, dtype) && u.properties().distributes_over.iter().any(|name| name == other.name())
            }
        }
    }

    /// Returns a method to fold n equal values in fewer than n steps, if there is one.
    pub fn repeat_method(&self, dtype: &DType, mode: FloatMode) -> Option<RepeatMethod> {
        if self.is_idempotent(dtype, mode) {
            return Some(RepeatMethod::Idempotent);
        }
        match self {
            Op::Builtin(b) => {
                let kind = dtype_kind(*b, dtype, mode);
                let row = laws::REPEAT.iter().find(|(ops, _, kinds)| ops.contains(b) && kinds & kind != 0)?;
                Some(row.1)
            }
            Op::User(_) => self.is_associative(dtype, mode).then_some(RepeatMethod::Doubling),
        }
    }

    /// Returns the operator that undoes this operator, if there is one: `inverse(f(a, b), b) = a`.
    pub fn inverse(&self, dtype: &DType, mode: FloatMode) -> Option<Op> {
        self.partner(laws::INVERSE, dtype, mode)
    }

    /// Returns the operator g with `f(f(s, a), b) = f(s, g(a, b))`. If f is associative, g is f.
    /// For `-`, for example, g is `+`. A run of values can be folded with g first; f then combines
    /// the accumulator with the result of that fold.
    pub fn tail(&self, dtype: &DType, mode: FloatMode) -> Option<Op> {
        if self.is_associative(dtype, mode) { Some(self.clone()) } else { self.partner(laws::TAIL, dtype, mode) }
    }

    /// Returns the condition under which a fold from the left may stop early, if there is one.
    pub fn short_circuit(&self, dtype: &DType, mode: FloatMode) -> Option<ShortCircuit> {
        match self {
            Op::Builtin(b) => {
                let kind = dtype_kind(*b, dtype, mode);
                let row =
                    laws::SHORT_CIRCUITS.iter().find(|(ops, _, _, kinds)| ops.contains(b) && kinds & kind != 0)?;
                let value = constant(row.2, &computation_dtype(*b, dtype));
                Some(if row.1 { ShortCircuit::Equal(value) } else { ShortCircuit::NotEqual(value) })
            }
            Op::User(_) => self.annihilator(dtype, 0, mode).map(ShortCircuit::Equal),
        }
    }

    fn partner(&self, table: &[(&[Builtin], Builtin, DtypeKinds)], dtype: &DType, mode: FloatMode) -> Option<Op> {
        let Op::Builtin(b) = self else { return None };
        let kind = dtype_kind(*b, dtype, mode);
        let row = table.iter().find(|(ops, _, kinds)| ops.contains(b) && kinds & kind != 0)?;
        Some(Op::Builtin(row.1))
    }
}

impl ShortCircuit {
    /// Returns whether a fold with this accumulator may stop.
    pub fn can_stop(&self, accumulator: &Scalar) -> bool {
        match self {
            ShortCircuit::Equal(value) => accumulator == value,
            // `choose` treats 0.0 and -0.0 alike, but the two scalars are not equal.
            ShortCircuit::NotEqual(value) if is_zero(value) => !is_zero(accumulator),
            ShortCircuit::NotEqual(value) if value.is_nan() => !accumulator.is_nan(),
            ShortCircuit::NotEqual(value) => accumulator != value,
        }
    }
}

/// Maximum number of steps that [`eval_repeat`] takes for an operator without a repeat method.
const MAX_FOLD_STEPS: u64 = 1 << 16;

/// Folds `n` copies of `x` from the left. Uses the operator's [`Op::repeat_method`]; without a
/// method, folds step by step until the accumulator stops changing. Returns `None` if n is 0, or if
/// the step-by-step fold exceeds `MAX_FOLD_STEPS`.
pub fn eval_repeat(op: &Op, x: &Scalar, n: u64, mode: FloatMode) -> Option<Result<Scalar, Fault>> {
    if n <= 1 {
        return (n == 1).then(|| Ok(x.clone()));
    }
    Some(match op.repeat_method(&x.dtype(), mode) {
        Some(RepeatMethod::Idempotent) => Ok(x.clone()),
        Some(RepeatMethod::Parity) if n % 2 == 1 => Ok(x.clone()),
        Some(RepeatMethod::Parity) => Ok(op.identity(&x.dtype(), 0, mode)?),
        Some(RepeatMethod::Multiply) => Ok(match x {
            Scalar::F32(v) => Scalar::F32(v * n as f32),
            Scalar::F64(v) => Scalar::F64(v * n as f64),
            _ => super::integer::wrap(x.prim()?, x.to_i128()?.wrapping_mul(i128::from(n))),
        }),
        Some(RepeatMethod::Power) => Ok(match x {
            Scalar::F32(v) => Scalar::F32(libm::pow(f64::from(*v), n as f64) as f32),
            Scalar::F64(v) => Scalar::F64(libm::pow(*v, n as f64)),
            _ => super::integer::wrap(x.prim()?, super::integer::pow(x.to_i128()?, i128::from(n))),
        }),
        Some(RepeatMethod::Doubling) => fold_by_doubling(op, x, n, mode),
        None => return fold_until_stable(op, x, n, mode),
    })
}

/// Folds n copies of x by repeated doubling: the highest bit of n is the first copy, and each lower
/// bit, in descending order, is one step. In this order, no intermediate value folds more than n
/// copies.
fn fold_by_doubling(op: &Op, x: &Scalar, n: u64, mode: FloatMode) -> Result<Scalar, Fault> {
    let mut acc = x.clone();
    for bit in (0..n.ilog2()).rev() {
        acc = op.eval_in(&[acc.clone(), acc], mode)?;
        if n >> bit & 1 == 1 {
            acc = op.eval_in(&[acc, x.clone()], mode)?;
        }
    }
    Ok(acc)
}

fn fold_until_stable(op: &Op, x: &Scalar, n: u64, mode: FloatMode) -> Option<Result<Scalar, Fault>> {
    let mut acc = x.clone();
    for step in 1..n {
        if step > MAX_FOLD_STEPS {
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

fn simplify_builtin(
    b: Builtin,
    signature: &Signature,
    constants: &[Option<Scalar>],
    mode: FloatMode,
) -> Option<Simplification> {
    match (b, constants) {
        (Builtin::IfElse, [Some(cond), ..]) => return Some(Simplification::Arg(if is_zero(cond) { 2 } else { 1 })),
        (Builtin::IfElse, [None, Some(x), Some(y)]) if x == y => return Some(Simplification::Arg(1)),
        (Builtin::Choose, [Some(first), ..]) if !is_zero(first) => return Some(Simplification::Arg(0)),
        (Builtin::Coalesce, [Some(first), ..]) if !first.is_nan() => return Some(Simplification::Arg(0)),
        (Builtin::Coalesce, [..]) if !signature.result.prim()?.is_float() => return Some(Simplification::Arg(0)),
        (Builtin::Shl | Builtin::Shr, [None, Some(count)])
            if count.to_bits()? >= u64::from(signature.result.prim()?.bits()) =>
        {
            let signed = signature.result.prim()?.is_signed();
            return (b == Builtin::Shl || !signed)
                .then(|| Simplification::Value(constant(Constant::Zero, &signature.result)));
        }
        _ => {}
    }
    let kind = dtype_kind(b, &signature.args[0], mode);
    constants.iter().enumerate().find_map(|(k, value)| {
        let value = value.as_ref()?;
        let row = laws::CONSTANT_RESULTS.iter().find(|(ops, at, when, _, kinds)| {
            ops.contains(&b) && at & position_bit(k) != 0 && kinds & kind != 0 && is_constant(value, *when, mode)
        })?;
        Some(Simplification::Value(constant(row.3, &signature.result)))
    })
}

fn simplify_user(u: &UserOp, constants: &[Option<Scalar>], mode: FloatMode) -> Option<Simplification> {
    let annihilator = constants.iter().enumerate().find_map(|(k, value)| {
        let value = value.as_ref()?;
        let position = declared_position(u, k);
        u.properties().annihilator.iter().any(|(p, v)| *p == position && v == value).then(|| value.clone())
    });
    if let Some(value) = annihilator {
        return Some(Simplification::Value(value));
    }
    if constants.len() != u.params().len() || constants.iter().all(Option::is_none) || u.has_cases() {
        return None;
    }
    let simplified = |body: &Body| match body {
        Body::Arg(k) => Simplification::Arg(*k),
        Body::Lit(value) => Simplification::Value(value.clone()),
        body => Simplification::Body(body.clone()),
    };
    let special = u.specializations().iter().find(|s| constants[s.position].as_ref() == Some(&s.value));
    if let Some(special) = special {
        return Some(simplified(&special.result));
    }
    let Definition::Body(body) = u.definition();
    let (residual, _) = partial_eval(u.params(), constants, mode, body);
    is_call_tree(&residual).then(|| simplified(&residual)).filter(|s| *s != simplified(body))
}

fn has_law(table: &[(&[Builtin], DtypeKinds)], b: Builtin, kind: DtypeKinds) -> bool {
    table.iter().any(|(ops, kinds)| ops.contains(&b) && kinds & kind != 0)
}

pub(super) fn position_bit(position: usize) -> laws::ArgPositions {
    if position == 0 { FIRST } else { REST }
}

/// Returns the dtype of the operator's computation; logical operators always compute in `bool`.
fn computation_dtype(b: Builtin, dtype: &DType) -> DType {
    if b.dtype_rule() == DtypeRule::Logical { DType::BOOL } else { dtype.clone() }
}

pub(super) fn dtype_kind(b: Builtin, dtype: &DType, mode: FloatMode) -> DtypeKinds {
    match computation_dtype(b, dtype) {
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
    let largest = |p: Prim| match p {
        Prim::Bool => Scalar::Bool(true),
        Prim::F32 => Scalar::F32(f32::INFINITY),
        Prim::F64 => Scalar::F64(f64::INFINITY),
        _ => super::integer::wrap(p, bounds(p).1),
    };
    let smallest = |p: Prim| match p {
        Prim::Bool => Scalar::Bool(false),
        Prim::F32 => Scalar::F32(f32::NEG_INFINITY),
        Prim::F64 => Scalar::F64(f64::NEG_INFINITY),
        _ => super::integer::wrap(p, bounds(p).0),
    };
    let cast = |v: f64, p: Prim| Scalar::F64(v).cast(p).expect("a primitive casts to a primitive");
    match (c, dtype) {
        (Constant::MinByIdentity | Constant::MaxByIdentity, DType::Struct(ty)) => {
            let (value, coordinate) = pair_members(dtype).expect("a law of pairs applies to a pair dtype");
            let worst = if c == Constant::MinByIdentity { largest(value) } else { smallest(value) };
            Scalar::Struct(ty.clone(), [worst, largest(coordinate)].into())
        }
        (_, DType::Struct(_)) => Scalar::unflatten(dtype, &mut dtype.prims().into_iter().map(Scalar::zero))
            .expect("zeros of its primitives form a struct"),
        (Constant::Zero, DType::Prim(p)) => Scalar::zero(*p),
        (Constant::NegZero, DType::Prim(p)) => cast(-0.0, *p),
        (Constant::One, DType::Prim(p)) => Scalar::one(*p),
        (Constant::Ones, DType::Prim(p)) => Scalar::from_bits(*p, u64::MAX),
        (Constant::Top | Constant::MinByIdentity, DType::Prim(p)) => largest(*p),
        (Constant::Bottom | Constant::MaxByIdentity, DType::Prim(p)) => smallest(*p),
        (Constant::NaN, DType::Prim(p)) => cast(f64::NAN, *p),
    }
}

/// Returns whether a value is the constant in the dtype of the value. In the relaxed mode, 0.0 and
/// -0.0 both match `Constant::Zero`.
fn is_constant(value: &Scalar, c: Constant, mode: FloatMode) -> bool {
    let float = value.prim().is_some_and(Prim::is_float);
    match c {
        Constant::NaN => value.is_nan(),
        Constant::Zero if mode == FloatMode::Relaxed => is_zero(value),
        Constant::NegZero if !float => false,
        _ => *value == constant(c, &value.dtype()),
    }
}

/// Returns whether all parameters have the given dtype.
fn params_have_dtype(u: &UserOp, dtype: &DType) -> bool {
    u.params().iter().all(|(_, t)| t == dtype)
}

fn declared_value(u: &UserOp, values: &[(usize, Scalar)], dtype: &DType, position: usize) -> Option<Scalar> {
    let position = declared_position(u, position);
    let (_, t) = u.params().get(position)?;
    values.iter().find(|(p, _)| *p == position && t == dtype).map(|(_, v)| v.clone())
}

/// Returns the parameter for the argument at `position`. Arguments after the last parameter of an
/// associative operator belong to the last parameter.
fn declared_position(u: &UserOp, position: usize) -> usize {
    match u.arity() {
        Arity::AtLeast(_) => position.min(u.params().len() - 1),
        Arity::Exact(_) => position,
    }
}
