//! Application of operators to values with error bounds.

use super::approx::{Approx, ExtremumKind, unit};
use super::value::{BoundedValue, Datum, DontCareCause};
use crate::dtype::{DType, Prim};
use crate::mode::FloatMode;
use crate::op::{Builtin, Fault, Op, Signature, Simplification, cast_to};
use crate::scalar::Scalar;
use std::cell::Cell;

/// The arithmetic of an evaluation.
#[derive(Debug)]
pub(super) struct Arithmetic {
    /// Strict for exact values; relaxed for values with bounds on the results of engines.
    pub(super) mode: FloatMode,
    /// Float mode in which operators are evaluated if `mode` is strict. This mode defines the
    /// values at poles, such as `0 / 0`.
    pub(super) poles: FloatMode,
    /// Set when an operator that can fault is applied to a don't-care value.
    pub(super) may_fault: Cell<bool>,
}

/// Applies an operator to arguments of any dtypes, after casting them to the signature.
pub(super) fn apply(
    op: &Op,
    signature: &Signature,
    args: &[BoundedValue],
    arithmetic: &Arithmetic,
) -> Result<BoundedValue, Fault> {
    if arithmetic.mode == FloatMode::StrictIeee {
        return apply_strict(op, signature, args, arithmetic);
    }
    let args = args.iter().zip(&signature.args).map(|(a, t)| cast(a, t)).collect::<Result<Vec<_>, _>>()?;
    if args.iter().any(BoundedValue::is_dont_care) && op.can_fault() {
        arithmetic.may_fault.set(true);
    }
    apply_relaxed(op, signature, &args)
}

/// Applies an operator in the strict mode. Only the sign of a computed NaN is unspecified: it
/// depends on the machine. So the sign bit of a NaN is don't-care, and so are values computed from
/// it.
fn apply_strict(
    op: &Op,
    signature: &Signature,
    args: &[BoundedValue],
    arithmetic: &Arithmetic,
) -> Result<BoundedValue, Fault> {
    let scalars: Vec<Scalar> = args.iter().zip(&signature.args).map(|(a, t)| cast_to(&a.scalar(), t)).collect();
    let value = op.eval_in(&scalars, arithmetic.poles)?;
    let is_dont_care = args.iter().any(BoundedValue::is_dont_care);
    if is_dont_care && op.can_fault() {
        arithmetic.may_fault.set(true);
    }
    if is_dont_care || (*op == Op::Builtin(Builtin::SignBit) && scalars[0].is_nan()) {
        return Ok(BoundedValue::mark_dont_care(value, DontCareCause::Other));
    }
    Ok(BoundedValue::from_scalar(&value, arithmetic.mode))
}

fn cast(value: &BoundedValue, to: &DType) -> Result<BoundedValue, Fault> {
    match to {
        DType::Prim(p) if value.dtype() != *to => {
            let signature = Signature { args: vec![value.dtype()], result: to.clone() };
            apply_relaxed(&Op::Builtin(Builtin::Cast(*p)), &signature, std::slice::from_ref(value))
        }
        _ => Ok(value.clone()),
    }
}

fn apply_relaxed(op: &Op, signature: &Signature, args: &[BoundedValue]) -> Result<BoundedValue, Fault> {
    if let Op::Builtin(b) = op {
        if let Some(chosen) = select(*b, args) {
            return Ok(chosen);
        }
        if let Some(value) = apply_structural(*b, args) {
            return Ok(value);
        }
    }
    if args.iter().any(BoundedValue::is_dont_care) {
        return apply_dont_care(op, signature, args);
    }
    if let (Op::Builtin(b), Some(approx)) = (op, args.iter().map(BoundedValue::approx).collect::<Option<Vec<_>>>())
        && let Some(value) = apply_polynomial(*b, &approx)
    {
        return match value {
            Some(approx) => Ok(BoundedValue::float(approx)),
            None => {
                let pole =
                    matches!(b, Builtin::Div | Builtin::Reciprocal) || approx.iter().any(|a| a.may_be_infinite());
                undetermined(op, args, if pole { DontCareCause::Pole } else { DontCareCause::Other })
            }
        };
    }
    apply_by_sampling(op, args)
}

/// Evaluates an application whose result is don't-care. The returned value is one of several
/// possible results.
fn undetermined(op: &Op, args: &[BoundedValue], cause: DontCareCause) -> Result<BoundedValue, Fault> {
    op.eval_in(&scalars(args), FloatMode::Relaxed).map(|value| BoundedValue::mark_dont_care(value, cause))
}

fn scalars(args: &[BoundedValue]) -> Vec<Scalar> {
    args.iter().map(BoundedValue::scalar).collect()
}

/// Applies `ifelse`, `choose`, `coalesce`, `minby` and `maxby`, which return one of their arguments
/// unchanged. Returns `None` for other operators, and if rounding or a don't-care value may decide
/// the choice.
fn select(b: Builtin, args: &[BoundedValue]) -> Option<BoundedValue> {
    let certain = |v: &BoundedValue| !v.is_dont_care();
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
            rest.iter().try_fold(first.clone(), |best, next| select_pair(b, best, next))
        }
        _ => None,
    }
}

/// Returns the pair that the operator selects; `None` if a rounding error may decide the selection.
fn select_pair(b: Builtin, best: BoundedValue, next: &BoundedValue) -> Option<BoundedValue> {
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

/// Applies operators that build structs or extract their members. Returns `None` for other
/// operators.
fn apply_structural(b: Builtin, args: &[BoundedValue]) -> Option<BoundedValue> {
    match (b, args) {
        (Builtin::Pair, [value, coordinate]) => {
            let DType::Struct(ty) = crate::op::pair_type(value.dtype().prim()?) else { return None };
            Some(BoundedValue(Datum::Struct(ty, vec![value.clone(), coordinate.clone()])))
        }
        (Builtin::First, [BoundedValue(Datum::Struct(_, members))]) => members.first().cloned(),
        (Builtin::Second, [BoundedValue(Datum::Struct(_, members))]) => members.get(1).cloned(),
        _ => None,
    }
}

/// Applies an operator to arguments of which some are don't-care. The result is don't-care unless
/// the other arguments decide it. By the definitions of the relaxed mode, some float arguments,
/// such as a factor of 0, override NaN and poles, but not an overflow.
fn apply_dont_care(op: &Op, signature: &Signature, args: &[BoundedValue]) -> Result<BoundedValue, Fault> {
    let exact = |v: &BoundedValue| !v.is_dont_care() && v.error() == 0.0;
    let constants: Vec<Option<Scalar>> = args.iter().map(|v| exact(v).then(|| v.scalar())).collect();
    let float = |v: &BoundedValue| v.dtype().prims().iter().any(|p| p.is_float());
    let cause = args.iter().filter_map(BoundedValue::cause).max().unwrap_or(DontCareCause::Other);
    if let Op::Builtin(b) = op
        && let Some(value) = dominated_result(*b, args, cause)
    {
        return Ok(value);
    }
    if !args.iter().any(|v| v.is_dont_care() && float(v)) {
        match op.simplify(signature, &constants, FloatMode::Relaxed) {
            Some(Simplification::Value(value)) => return Ok(BoundedValue::from_scalar(&value, FloatMode::Relaxed)),
            Some(Simplification::Arg(k)) if !args[k].is_dont_care() => return Ok(args[k].clone()),
            _ => {}
        }
    }
    undetermined(op, args, cause.max(DontCareCause::Pole))
}

/// Returns the result if a float argument decides it, although other arguments are NaN or result
/// from a pole.
fn dominated_result(b: Builtin, args: &[BoundedValue], cause: DontCareCause) -> Option<BoundedValue> {
    use Builtin::*;
    let prim = args[0].dtype().prim().filter(|p| p.is_float())?;
    let zero = |v: &BoundedValue| v.approx().is_some_and(Approx::is_zero);
    let infinite = |v: &BoundedValue| v.approx().is_some_and(|a| !a.value().is_finite());
    let annihilated = cause < DontCareCause::Other
        && match (b, args) {
            (Mul | MulSat | MulChecked, _) => args.iter().any(zero),
            (Div, [x, y]) => zero(x) || infinite(y),
            (FloorDiv | Rem | Fmod, [x, _]) => zero(x),
            _ => false,
        };
    if annihilated {
        return Some(BoundedValue::float(Approx::exact(prim, 0.0)));
    }
    // An infinity absorbs a NaN, but not the result of a pole, which may be the opposite infinity.
    let absorbs = matches!(b, Add | AddSat | AddChecked | Sub | SubSat | SubChecked | Min | Max);
    if !absorbs || cause > DontCareCause::Nan || args.len() != 2 || !args.iter().any(infinite) {
        return None;
    }
    let value = Op::Builtin(b).eval_in(&scalars(args), FloatMode::Relaxed).ok()?;
    (!value.is_nan()).then(|| BoundedValue::from_scalar(&value, FloatMode::Relaxed))
}

/// Applies polynomials and related operators. Returns `None` for other operators, and `Some(None)`
/// for a result that is not determined.
fn apply_polynomial(b: Builtin, args: &[&Approx]) -> Option<Option<Approx>> {
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
        Min => fold(&|a, b| Some(a.extremum(b, ExtremumKind::Min))),
        Max => fold(&|a, b| Some(a.extremum(b, ExtremumKind::Max))),
        _ => return None,
    })
}

/// Applies any operator by sampling. The error bounds of inexact arguments span a box. Evaluates
/// the operator at points on the surface of the box ([`corners`]), and with 0 in place of arguments
/// that may be 0 ([`zeroed`]). The bound on the error is the largest deviation, with a margin.
///
/// The result is don't-care if it depends on the sign of a zero. For inexact arguments, the result
/// is also don't-care if the operator faults at one of the points, if the result is infinite or
/// changes steeply, or if a result that is no float may differ.
fn apply_by_sampling(op: &Op, args: &[BoundedValue]) -> Result<BoundedValue, Fault> {
    let center = scalars(args);
    let value = op.eval_in(&center, FloatMode::Relaxed)?;
    let leaves = {
        let mut leaves = Vec::new();
        args.iter().for_each(|a| a.leaves(&mut leaves));
        leaves
    };
    let reach: Vec<f64> = leaves.iter().map(|leaf| reach(leaf)).collect();
    let other = |value: Scalar| Ok(BoundedValue::mark_dont_care(value, DontCareCause::Other));
    if depends_on_zero_sign(op, &center, &value) {
        let finite = value.flatten().iter().all(|v| v.to_f64().is_none_or(f64::is_finite));
        return Ok(BoundedValue::mark_dont_care(
            value,
            if finite { DontCareCause::Other } else { DontCareCause::Pole },
        ));
    }
    if reach.iter().all(|r| *r == 0.0) {
        // Every engine has the same arguments, and so the same result.
        return Ok(BoundedValue::from_scalar(&value, FloatMode::Relaxed));
    }
    if matches!(op, Op::Builtin(Builtin::Eq | Builtin::Ne)) && may_be_equal(&center, &reach) {
        return other(value);
    }
    let mut deviation: f64 = 0.0;
    let points = corners(&reach).into_iter().map(|corner| perturb(&center, &reach, &corner));
    for point in points.chain(zeroed(&center, &reach)) {
        let Ok(moved) = op.eval_in(&point, FloatMode::Relaxed) else { return other(value) };
        match (value.prim(), value.to_f64(), moved.to_f64()) {
            (Some(p), Some(x), Some(y)) if p.is_float() => {
                deviation = deviation.max(if x == y { 0.0 } else { (x - y).abs() });
            }
            _ if value == moved => {}
            _ => return other(value),
        }
    }
    let (Some(prim), Some(x)) = (value.prim().filter(|p| p.is_float()), value.to_f64()) else {
        return Ok(BoundedValue::from_scalar(&value, FloatMode::Relaxed));
    };
    // A steep slope indicates a step or a pole nearby.
    let furthest = reach.iter().copied().fold(0.0, f64::max);
    let steep = deviation > 1e6 * furthest && deviation > 1e-3 * x.abs();
    if !x.is_finite() || !deviation.is_finite() || steep {
        return other(value);
    }
    let error = 1.25 * deviation + 4.0 * unit(prim) * x.abs();
    Ok(BoundedValue::float(Approx::leaf(prim, x.into(), error)))
}

/// Returns whether the value depends on the sign of a zero argument, which may differ between
/// engines.
fn depends_on_zero_sign(op: &Op, args: &[Scalar], value: &Scalar) -> bool {
    let leaves: Vec<Scalar> = args.iter().flat_map(Scalar::flatten).collect();
    let zero = |s: &Scalar| s.prim().is_some_and(Prim::is_float) && s.to_f64() == Some(0.0);
    (0..leaves.len()).filter(|&k| zero(&leaves[k])).any(|k| {
        let mut other = leaves.clone();
        other[k] = match other[k] {
            Scalar::F32(v) => Scalar::F32(-v),
            Scalar::F64(v) => Scalar::F64(-v),
            ref other => other.clone(),
        };
        let mut other = other.into_iter();
        let other: Option<Vec<Scalar>> = args.iter().map(|a| Scalar::unflatten(&a.dtype(), &mut other)).collect();
        let flipped = op.eval_in(&other.expect("the leaves are those of the arguments"), FloatMode::Relaxed);
        flipped.is_ok_and(|flipped| flipped != *value && !(zero(&flipped) && zero(value)))
    })
}

/// Returns the maximal distance between the rounded value and the value of a legal engine; 0 for a
/// leaf without an error bound.
fn reach(leaf: &BoundedValue) -> f64 {
    match leaf.approx() {
        Some(a) if a.bound() > 0.0 => {
            let rounded = a.scalar().to_f64().expect("an approximated value is a float");
            (a.bound() + a.value().distance(rounded)) * 1.0001
        }
        _ => 0.0,
    }
}

/// Returns the directions in which to move the inexact leaves: all corners of the box for up to 4
/// leaves; otherwise each leaf alone, and all leaves together.
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

/// Returns the arguments with every leaf moved by its reach in the given direction.
fn perturb(center: &[Scalar], reach: &[f64], direction: &[f64]) -> Vec<Scalar> {
    let mut moves = reach.iter().zip(direction).map(|(r, d)| r * d);
    map_leaves(center, |leaf| match (moves.next(), &leaf) {
        (Some(by), Scalar::F64(v)) if by != 0.0 => Scalar::F64(v + by),
        (Some(by), Scalar::F32(v)) if by != 0.0 => Scalar::F32(outward(f64::from(*v) + by, by)),
        _ => leaf,
    })
}

/// Returns whether two arguments, of which some leaves are inexact, may be equal in some engine.
fn may_be_equal(args: &[Scalar], reach: &[f64]) -> bool {
    let leaves: Vec<f64> = args.iter().flat_map(Scalar::flatten).filter_map(|leaf| leaf.to_f64()).collect();
    let (first, second) = leaves.split_at(leaves.len() / 2);
    leaves.len() == reach.len()
        && first
            .iter()
            .zip(second)
            .zip(reach.iter().zip(&reach[first.len()..]))
            .all(|((x, y), (x_reach, y_reach))| (x - y).abs() <= x_reach + y_reach)
}

/// Returns the arguments with 0 in place of every inexact leaf that may be 0; `None` if there is no
/// such leaf.
fn zeroed(center: &[Scalar], reach: &[f64]) -> Option<Vec<Scalar>> {
    let (mut reach, mut found) = (reach.iter(), false);
    let zeroed = map_leaves(center, |leaf| {
        let may_be_zero = reach.next().is_some_and(|&r| r > 0.0 && leaf.to_f64().is_some_and(|x| x.abs() <= r));
        found |= may_be_zero;
        match leaf.prim() {
            Some(prim) if may_be_zero => Scalar::zero(prim),
            _ => leaf,
        }
    });
    found.then_some(zeroed)
}

/// Replaces every leaf of the arguments.
fn map_leaves(args: &[Scalar], mut replace: impl FnMut(Scalar) -> Scalar) -> Vec<Scalar> {
    let map_value = |value: &Scalar| {
        let mut leaves = value.flatten().into_iter().map(&mut replace);
        Scalar::unflatten(&value.dtype(), &mut leaves).expect("the leaves are those of a value of this dtype")
    };
    args.iter().map(map_value).collect()
}

/// Rounds `x` to `f32`: up if `by` is positive, down if `by` is negative.
fn outward(x: f64, by: f64) -> f32 {
    let rounded = x as f32;
    match f64::from(rounded) {
        r if by > 0.0 && r < x => rounded.next_up(),
        r if by < 0.0 && r > x => rounded.next_down(),
        _ => rounded,
    }
}
