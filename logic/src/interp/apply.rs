//! Operators on values with error bounds.

use super::approx::{Approx, Pick, unit};
use super::value::{Cause, Datum, Value};
use crate::dtype::{DType, Prim};
use crate::mode::FloatMode;
use crate::op::{Builtin, Fault, Op, Signature, Simplified, cast_to};
use crate::scalar::Scalar;
use std::cell::Cell;

/// The arithmetic of an evaluation.
#[derive(Debug)]
pub(super) struct Arithmetic {
    /// Strict for exact values; relaxed for values with bounds on the results of engines.
    pub(super) mode: FloatMode,
    /// Float mode that defines the poles when values are exact.
    pub(super) poles: FloatMode,
    /// Set when an operator that can fault is applied to a don't-care value.
    pub(super) may_fault: Cell<bool>,
}

/// Applies an operator to arguments of any dtypes, after casting them to the signature.
pub(super) fn apply(op: &Op, signature: &Signature, args: &[Value], by: &Arithmetic) -> Result<Value, Fault> {
    if by.mode == FloatMode::StrictIeee {
        let args: Vec<Scalar> = args.iter().zip(&signature.args).map(|(a, t)| cast_to(&a.scalar(), t)).collect();
        return op.eval_in(&args, by.poles).map(|value| Value::given(&value, by.mode));
    }
    let args = args.iter().zip(&signature.args).map(|(a, t)| cast(a, t)).collect::<Result<Vec<_>, _>>()?;
    if args.iter().any(Value::dont_care) && op.can_fault() {
        by.may_fault.set(true);
    }
    relaxed(op, signature, &args)
}

fn cast(value: &Value, to: &DType) -> Result<Value, Fault> {
    match to {
        DType::Prim(p) if value.dtype() != *to => {
            let signature = Signature { args: vec![value.dtype()], result: to.clone() };
            relaxed(&Op::Builtin(Builtin::Cast(*p)), &signature, std::slice::from_ref(value))
        }
        _ => Ok(value.clone()),
    }
}

fn relaxed(op: &Op, signature: &Signature, args: &[Value]) -> Result<Value, Fault> {
    if let Op::Builtin(b) = op {
        if let Some(chosen) = select(*b, args) {
            return Ok(chosen);
        }
        if let Some(value) = structural(*b, args) {
            return Ok(value);
        }
    }
    if args.iter().any(Value::dont_care) {
        return dont_care(op, signature, args);
    }
    if let (Op::Builtin(b), Some(approx)) = (op, args.iter().map(Value::approx).collect::<Option<Vec<_>>>())
        && let Some(value) = polynomial(*b, &approx)
    {
        return match value {
            Some(approx) => Ok(Value::float(approx)),
            None => {
                let pole =
                    matches!(b, Builtin::Div | Builtin::Reciprocal) || approx.iter().any(|a| a.may_be_infinite());
                not_determined(op, args, if pole { Cause::Pole } else { Cause::Other })
            }
        };
    }
    sampled(op, args)
}

/// Evaluates an application whose result is don't-care; the value is one of several possible ones.
fn not_determined(op: &Op, args: &[Value], cause: Cause) -> Result<Value, Fault> {
    op.eval_in(&scalars(args), FloatMode::Relaxed).map(|value| Value::dont_care_about(value, cause))
}

fn scalars(args: &[Value]) -> Vec<Scalar> {
    args.iter().map(Value::scalar).collect()
}

/// Applies operators that return one of their arguments unchanged. Returns `None` for other
/// operators, and if rounding or a don't-care value may decide the choice.
fn select(b: Builtin, args: &[Value]) -> Option<Value> {
    let certain = |v: &Value| !v.dont_care();
    match (b, args) {
        (Builtin::IfElse, [c, x, y]) if certain(c) => {
            Some(if c.scalar() == Scalar::Bool(true) { x } else { y }.clone())
        }
        (Builtin::Choose, [first @ .., last]) => {
            for arg in first {
                let zero = |s: &Scalar| s.flatten().iter().all(|v| v.to_f64() == Some(0.0));
                match arg.approx() {
                    _ if !certain(arg) => return None,
                    Some(a) if a.bound() > 0.0 && a.value().hi.abs() <= a.bound() => return None,
                    None if arg.error() > 0.0 => return None,
                    _ if !zero(&arg.scalar()) => return Some(arg.clone()),
                    _ => {}
                }
            }
            Some(last.clone())
        }
        // NaN values are don't-care, so a certain first argument is not NaN and is the result.
        (Builtin::Coalesce, [first, ..]) if certain(first) => Some(first.clone()),
        (Builtin::MinBy | Builtin::MaxBy, [first, rest @ ..]) if args.iter().all(certain) => {
            rest.iter().try_fold(first.clone(), |best, next| pick_pair(b, best, next))
        }
        _ => None,
    }
}

/// Returns the pair that comes first, unless a rounding error may decide.
fn pick_pair(b: Builtin, best: Value, next: &Value) -> Option<Value> {
    let (Datum::Struct(_, p), Datum::Struct(_, q)) = (&best.0, &next.0) else { return None };
    if let (Some(x), Some(y)) = (p[0].approx(), q[0].approx()) {
        let bound = x.bound() + y.bound();
        if bound > 0.0 && (x.value() + -y.value()).hi.abs() <= bound {
            return None;
        }
    }
    let winner = Op::Builtin(b).eval(&[best.scalar(), next.scalar()]).ok()?;
    Some(if winner == best.scalar() { best } else { next.clone() })
}

/// Applies operators that build structs or extract their members.
fn structural(b: Builtin, args: &[Value]) -> Option<Value> {
    match (b, args) {
        (Builtin::Pair, [value, coordinate]) => {
            let DType::Struct(ty) = crate::op::pair_type(value.dtype().prim()?) else { return None };
            Some(Value(Datum::Struct(ty, vec![value.clone(), coordinate.clone()])))
        }
        (Builtin::First, [Value(Datum::Struct(_, members))]) => members.first().cloned(),
        (Builtin::Second, [Value(Datum::Struct(_, members))]) => members.get(1).cloned(),
        _ => None,
    }
}

/// Applies an operator to arguments of which some are don't-care. The result is don't-care unless
/// the other arguments decide it. By the definitions of the mode, a float argument overrides NaN
/// and poles, but not an overflow.
fn dont_care(op: &Op, signature: &Signature, args: &[Value]) -> Result<Value, Fault> {
    let exact = |v: &Value| !v.dont_care() && v.error() == 0.0;
    let known: Vec<Option<Scalar>> = args.iter().map(|v| exact(v).then(|| v.scalar())).collect();
    let float = |v: &Value| v.dtype().prims().iter().any(|p| p.is_float());
    let cause = args.iter().filter_map(Value::cause).max().unwrap_or(Cause::Other);
    if let Op::Builtin(b) = op
        && let Some(value) = decided(*b, args, cause)
    {
        return Ok(value);
    }
    if !args.iter().any(|v| v.dont_care() && float(v)) {
        match op.simplify(signature, &known, FloatMode::Relaxed) {
            Some(Simplified::Value(value)) => return Ok(Value::given(&value, FloatMode::Relaxed)),
            Some(Simplified::Arg(k)) if !args[k].dont_care() => return Ok(args[k].clone()),
            _ => {}
        }
    }
    not_determined(op, args, cause.max(Cause::Pole))
}

/// Returns the result that a float argument decides while the others are NaN or result from a pole.
fn decided(b: Builtin, args: &[Value], cause: Cause) -> Option<Value> {
    use Builtin::*;
    let prim = args[0].dtype().prim().filter(|p| p.is_float())?;
    let zero = |v: &Value| v.approx().is_some_and(Approx::is_zero);
    let infinite = |v: &Value| v.approx().is_some_and(|a| !a.value().is_finite());
    let annihilated = cause < Cause::Other
        && match (b, args) {
            (Mul | MulSat | MulChecked, _) => args.iter().any(zero),
            (Div, [x, y]) => zero(x) || infinite(y),
            (FloorDiv | Rem | Fmod, [x, _]) => zero(x),
            _ => false,
        };
    if annihilated {
        return Some(Value::float(Approx::exact(prim, 0.0)));
    }
    // Two infinities may be opposite, so an infinity is sure to absorb only NaN.
    let absorbs = matches!(b, Add | AddSat | AddChecked | Sub | SubSat | SubChecked | Min | Max);
    if !absorbs || cause > Cause::Nan || args.len() != 2 || !args.iter().any(infinite) {
        return None;
    }
    let value = Op::Builtin(b).eval_in(&scalars(args), FloatMode::Relaxed).ok()?;
    (!value.is_nan()).then(|| Value::given(&value, FloatMode::Relaxed))
}

/// Applies polynomials and related operators. Returns `None` for other operators, and `Some(None)`
/// for a result that is not determined.
fn polynomial(b: Builtin, args: &[&Approx]) -> Option<Option<Approx>> {
    use Builtin::*;
    let fold =
        |f: &dyn Fn(&Approx, &Approx) -> Option<Approx>| args[1..].iter().try_fold(*args[0], |acc, x| f(&acc, x));
    Some(match b {
        Add | AddSat | AddChecked => fold(&|a, b| a.add(b)),
        Sub | SubSat | SubChecked => fold(&|a, b| a.add(&b.neg())),
        Mul | MulSat | MulChecked => fold(&|a, b| a.mul(b)),
        Div => fold(&|a, b| a.div(b)),
        Reciprocal => args[0].reciprocal(),
        Neg => Some(args[0].neg()),
        Abs => Some(args[0].abs()),
        Square => args[0].mul(args[0]),
        Min => fold(&|a, b| Some(a.pick(b, Pick::Min))),
        Max => fold(&|a, b| Some(a.pick(b, Pick::Max))),
        _ => return None,
    })
}

/// Applies any operator by sampling. If arguments are inexact, evaluates the operator at the
/// corners of the box given by their bounds; the deviation bounds the error. A result that is no
/// float must be equal at all corners.
fn sampled(op: &Op, args: &[Value]) -> Result<Value, Fault> {
    let center = scalars(args);
    let value = op.eval_in(&center, FloatMode::Relaxed)?;
    let leaves = {
        let mut leaves = Vec::new();
        args.iter().for_each(|a| a.leaves(&mut leaves));
        leaves
    };
    let reach: Vec<f64> = leaves.iter().map(|leaf| reach(leaf)).collect();
    let other = |value: Scalar| Ok(Value::dont_care_about(value, Cause::Other));
    if tells_zeros_apart(op, &center, &value) {
        let finite = value.flatten().iter().all(|v| v.to_f64().is_none_or(f64::is_finite));
        return Ok(Value::dont_care_about(value, if finite { Cause::Other } else { Cause::Pole }));
    }
    if reach.iter().all(|r| *r == 0.0) {
        // Every engine has the same arguments, and so the same result.
        return Ok(Value::given(&value, FloatMode::Relaxed));
    }
    let mut deviation: f64 = 0.0;
    for corner in corners(&reach) {
        let moved = moved(&center, &reach, &corner);
        let Ok(there) = op.eval_in(&moved, FloatMode::Relaxed) else { return other(value) };
        match (value.prim(), value.to_f64(), there.to_f64()) {
            (Some(p), Some(here), Some(there)) if p.is_float() => {
                let apart = (here - there).abs();
                deviation = deviation.max(if here == there { 0.0 } else { apart });
            }
            _ if value == there => {}
            _ => return other(value),
        }
    }
    let (Some(prim), Some(x)) = (value.prim().filter(|p| p.is_float()), value.to_f64()) else {
        return Ok(Value::given(&value, FloatMode::Relaxed));
    };
    // A steep function has a step or pole nearby.
    let furthest = reach.iter().copied().fold(0.0, f64::max);
    let steep = deviation > 1e6 * furthest && deviation > 1e-3 * x.abs();
    if !x.is_finite() || !deviation.is_finite() || steep {
        return other(value);
    }
    let error = 1.25 * deviation + 4.0 * unit(prim) * x.abs();
    Ok(Value::float(Approx::leaf(prim, x.into(), error)))
}

/// Returns whether the value depends on the sign of a zero argument, which may differ between
/// engines.
fn tells_zeros_apart(op: &Op, args: &[Scalar], value: &Scalar) -> bool {
    let leaves: Vec<Scalar> = args.iter().flat_map(Scalar::flatten).collect();
    let zero = |s: &Scalar| s.prim().is_some_and(Prim::is_float) && s.to_f64() == Some(0.0);
    (0..leaves.len()).filter(|&k| zero(&leaves[k])).any(|flipped| {
        let mut other = leaves.clone();
        other[flipped] = match other[flipped] {
            Scalar::F32(v) => Scalar::F32(-v),
            Scalar::F64(v) => Scalar::F64(-v),
            ref other => other.clone(),
        };
        let mut other = other.into_iter();
        let other: Option<Vec<Scalar>> = args.iter().map(|a| Scalar::unflatten(&a.dtype(), &mut other)).collect();
        let there = op.eval_in(&other.expect("the leaves of the arguments"), FloatMode::Relaxed);
        there.is_ok_and(|there| there != *value && !(zero(&there) && zero(value)))
    })
}

/// Returns the maximal distance between the rounded value and the value of a legal engine.
fn reach(leaf: &Value) -> f64 {
    match leaf.approx() {
        Some(a) if a.bound() > 0.0 => {
            let rounded = a.scalar().to_f64().expect("a float");
            (a.bound() + a.value().distance(rounded)) * 1.0001
        }
        _ => 0.0,
    }
}

/// Returns the directions in which to move the inexact leaves: all corners for up to 4 leaves,
/// otherwise each leaf alone and all together.
fn corners(reach: &[f64]) -> Vec<Vec<f64>> {
    let inexact: Vec<usize> = (0..reach.len()).filter(|&k| reach[k] > 0.0).collect();
    let direction = |signs: &dyn Fn(usize) -> f64| {
        let mut d = vec![0.0; reach.len()];
        inexact.iter().enumerate().for_each(|(n, &k)| d[k] = signs(n));
        d
    };
    if inexact.len() <= 4 {
        return (0..1u32 << inexact.len()).map(|c| direction(&|n| if c >> n & 1 == 1 { 1.0 } else { -1.0 })).collect();
    }
    let alone = (0..inexact.len()).flat_map(|m| [1.0, -1.0].map(|s| direction(&|n| if n == m { s } else { 0.0 })));
    alone.chain([direction(&|_| 1.0), direction(&|_| -1.0)]).collect()
}

/// Returns the arguments with every leaf moved in the given direction.
fn moved(center: &[Scalar], reach: &[f64], direction: &[f64]) -> Vec<Scalar> {
    let mut moves = reach.iter().zip(direction).map(|(r, d)| r * d);
    center
        .iter()
        .map(|value| {
            let leaves: Vec<Scalar> = value.flatten();
            let mut leaves = leaves.into_iter().map(|leaf| match (moves.next(), &leaf) {
                (Some(by), Scalar::F64(v)) if by != 0.0 => Scalar::F64(v + by),
                (Some(by), Scalar::F32(v)) if by != 0.0 => Scalar::F32(outward(f64::from(*v) + by, by)),
                _ => leaf,
            });
            let dtype = value.dtype();
            Scalar::unflatten(&dtype, &mut leaves).expect("the leaves of a value of that dtype")
        })
        .collect()
}

/// Rounds `x` to `f32` in the direction of `by`.
fn outward(x: f64, by: f64) -> f32 {
    let rounded = x as f32;
    match f64::from(rounded) {
        r if by > 0.0 && r < x => rounded.next_up(),
        r if by < 0.0 && r > x => rounded.next_down(),
        _ => rounded,
    }
}
