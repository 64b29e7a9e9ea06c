//! A rule that splits a fold in two: one part folds the values that differ from the fill, the other
//! combines the fills.
//!
//! If the fill changes the result of a fold, the loops visit the fills, or at least runs of fills.
//! The rule folds only the values that differ from the fill, and counts these values. The loops of
//! both folds visit only the stored entries, in any loop order. The fills are at the remaining
//! coordinates, so the count determines their number. For example, the maximum of each column of a
//! CSR matrix profits: the matrix is stored by rows, so the fills of a column form no runs.

use super::{MatchSite, RewriteRule, Round, ScopedNode, Subject, TermDraft, select_value};
use crate::algebra::language::{ClassUse, SlotIndex};
use crate::term::{Term, is_regroupable};
use redpoll_logic::op::{Builtin, Op, RepeatMethod};
use redpoll_logic::{DType, FloatMode, Prim, Scalar};

pub(super) const RULES: &[RewriteRule] = &[
    RewriteRule {
        name: "count-fills",
        subject: Subject::Aggregates,
        round: Some(Round::Spread),
        equation: "max(i, x) = max(max(i, x where x != f), f if count(i, x != f) < n)    f the fill of x",
        drafts: count_fills,
    },
    RewriteRule {
        name: "count-absent",
        subject: Subject::Aggregates,
        round: Some(Round::Spread),
        equation: "sum(i, g(x, y)) = sum(i, g(x, y) where x != f) + (n - count(i, x != f)) * g(f, y)    \
                   f the fill of x, i not in y",
        drafts: count_absent,
    },
];

/// Number of nested calls within which `count-absent` looks for arguments with fills.
const MAX_DEPTH: usize = 6;

fn count_fills(site: &mut MatchSite<'_>, node: &ScopedNode) {
    let ScopedNode::Fold { op, init, arg, bound } = node else { return };
    let (fill, dtype, mode) = (site.fill(arg).clone(), site.dtype(arg).clone(), site.mode());
    let depends_on_all = !bound.is_empty() && bound.iter().all(|slot| arg.has(*slot));
    let is_split = depends_on_all && !site.is_full(arg) && init.dtype() == dtype;
    if !is_split || op.skips(&fill, init, &dtype, mode) || is_nan(&fill) {
        return;
    }
    // A `bool` has only one value other than the fill. If the fold skips that value, the fills
    // alone determine the result.
    let skips_others = other_bool(&fill).is_some_and(|other| op.skips(&other, init, &dtype, mode));
    let is_stable = op.eval_in(&[fill.clone(), fill.clone()], mode).as_ref() == Ok(&fill);
    let condition = differs(arg, &fill, mode);
    let fills = Fills { value: TermDraft::Literal(fill), condition, is_stable };
    let Some((values, fills)) = split_fold(site, node, fills) else { return };
    match (skips_others, op.is_identity(init, &dtype, 0, mode)) {
        (false, _) => site.propose(TermDraft::Call(op.clone(), vec![values, fills])),
        (true, true) => site.propose(fills),
        (true, false) => site.propose(TermDraft::Call(op.clone(), vec![TermDraft::Literal(init.clone()), fills])),
    }
}

fn count_absent(site: &mut MatchSite<'_>, node: &ScopedNode) {
    let ScopedNode::Fold { op, init, arg, bound } = node else { return };
    let (dtype, mode) = (site.dtype(arg).clone(), site.mode());
    if bound.is_empty() || init.dtype() != dtype {
        return;
    }
    let mut absent = AbsentValue { site, bound, leaves: Vec::new() };
    // If the value is a constant, `count-fills` applies, or the fold skips the value.
    let Some(value) = absent.value(arg, MAX_DEPTH).filter(|value| !matches!(value, TermDraft::Literal(_))) else {
        return;
    };
    let leaves = absent.leaves;
    let conditions = leaves.iter().map(|leaf| differs(leaf, site.fill(leaf), mode));
    let either = |a, b| TermDraft::Call(Builtin::Or.into(), vec![a, b]);
    let Some(condition) = conditions.reduce(either) else { return };
    let fills = Fills { value, condition, is_stable: false };
    if let Some((values, fills)) = split_fold(site, node, fills) {
        site.propose(TermDraft::Call(op.clone(), vec![values, fills]));
    }
}

/// The value of an argument at the coordinates at which all arguments that depend on the reduced
/// slots have their fills.
struct AbsentValue<'s, 'g> {
    site: &'s MatchSite<'g>,
    bound: &'s [SlotIndex],
    /// The arguments that depend on the reduced slots.
    leaves: Vec<ClassUse>,
}

impl AbsentValue<'_, '_> {
    /// Drafts the value of a class. `None` if it depends on the reduced slots otherwise, or if some
    /// argument that depends on them depends on only some of them, or has no fill.
    fn value(&mut self, of: &ClassUse, depth: usize) -> Option<TermDraft> {
        if !self.bound.iter().any(|slot| of.has(*slot)) {
            let literal = self.site.leaf(of).and_then(Term::as_literal);
            return Some(
                literal.map_or_else(|| TermDraft::Class(of.clone()), |value| TermDraft::Literal(value.clone())),
            );
        }
        let calls = self.site.calls(of);
        let (op, args) = match calls.into_iter().next() {
            Some(call) if depth > 0 => call,
            Some(_) => return None,
            None => {
                let is_sparse = !self.site.is_full(of) && self.bound.iter().all(|slot| of.has(*slot));
                let fill = self.site.fill(of).clone();
                if !is_sparse || is_nan(&fill) || self.site.leaf(of).is_none() {
                    return None;
                }
                if !self.leaves.contains(of) {
                    self.leaves.push(of.clone());
                }
                return Some(TermDraft::Literal(fill));
            }
        };
        let dtypes: Vec<DType> = args.iter().map(|arg| self.site.dtype(arg).clone()).collect();
        let args: Vec<TermDraft> = args.iter().map(|arg| self.value(arg, depth - 1)).collect::<Option<_>>()?;
        Some(simplified(op, args, &dtypes, self.site.mode()))
    }
}

/// Drafts a call, or its value if literals among the arguments determine it.
fn simplified(op: Op, mut args: Vec<TermDraft>, dtypes: &[DType], mode: FloatMode) -> TermDraft {
    let literal = |arg: &TermDraft| if let TermDraft::Literal(value) = arg { Some(value.clone()) } else { None };
    let literals: Vec<Option<Scalar>> = args.iter().map(literal).collect();
    if let (true, Some(Scalar::Bool(condition))) = (op == Builtin::IfElse.into(), &literals[0]) {
        return args.swap_remove(if *condition { 1 } else { 2 });
    }
    let all: Option<Vec<Scalar>> = literals.iter().cloned().collect();
    let constant = all.and_then(|values| op.eval_in(&values, mode).ok());
    let annihilates = |(k, value): (usize, &Option<Scalar>)| {
        value.clone().filter(|value| op.annihilator(&dtypes[k], k, mode).as_ref() == Some(value))
    };
    match constant.or_else(|| literals.iter().enumerate().find_map(annihilates)) {
        Some(value) => TermDraft::Literal(value),
        None => TermDraft::Call(op, args),
    }
}

/// The coordinates at which a fold meets values that do not depend on the reduced slots.
struct Fills {
    /// The value at these coordinates.
    value: TermDraft,
    /// Whether a coordinate is another one.
    condition: TermDraft,
    /// Whether the fold of two of these values is the value.
    is_stable: bool,
}

/// Splits a fold into the fold of the values where the condition holds, and the fold of the others.
/// `None` if the fold may not be regrouped, or the fold of a repeated value has no short form.
fn split_fold(site: &MatchSite<'_>, node: &ScopedNode, fills: Fills) -> Option<(TermDraft, TermDraft)> {
    let ScopedNode::Fold { op, init, arg, bound } = node else { return None };
    let (dtype, mode) = (site.dtype(arg).clone(), site.mode());
    let identity = op.fold_identity(&dtype, mode).filter(|_| is_regroupable(op, &dtype, mode))?;
    let size = |n: i64, slot| n.checked_mul(i64::try_from(site.size(slot)).ok()?);
    let all = bound.iter().try_fold(1i64, |n, slot| size(n, *slot))?;
    let count = TermDraft::Call(Builtin::Cast(Prim::I64).into(), vec![fills.condition.clone()]);
    let count = TermDraft::Fold(Builtin::Add.into(), Scalar::I64(0), Box::new(count), bound.clone());
    let (value, condition) = (TermDraft::Class(arg.clone()), fills.condition.clone());
    let repeated = repeated_fill((op, &dtype, mode), fills, &identity, (count, all))?;
    let value = TermDraft::Call(Builtin::IfElse.into(), vec![condition, value, TermDraft::Literal(identity)]);
    Some((TermDraft::Fold(op.clone(), init.clone(), Box::new(value), bound.clone()), repeated))
}

/// Drafts the condition that a class differs from its fill; in strict mode also by the sign of
/// zero.
fn differs(arg: &ClassUse, fill: &Scalar, mode: FloatMode) -> TermDraft {
    let call = |op: Builtin, args: Vec<TermDraft>| TermDraft::Call(op.into(), args);
    let class = || TermDraft::Class(arg.clone());
    let value = call(Builtin::Ne, vec![class(), TermDraft::Literal(fill.clone())]);
    match as_float(fill).filter(|x| *x == 0.0 && mode == FloatMode::StrictIeee) {
        Some(zero) => {
            let sign = TermDraft::Literal(Scalar::Bool(zero.is_sign_negative()));
            let sign = call(Builtin::Ne, vec![call(Builtin::SignBit, vec![class()]), sign]);
            call(Builtin::Or, vec![value, sign])
        }
        None => value,
    }
}

/// Drafts the fold of the fills among `all` values; `count` of these values are others. `None` if
/// the fold of a repeated value has no short form for the fill.
fn repeated_fill(
    (op, dtype, mode): (&Op, &DType, FloatMode),
    fills: Fills,
    identity: &Scalar,
    (count, all): (TermDraft, i64),
) -> Option<TermDraft> {
    let Fills { value: fill, is_stable, .. } = fills;
    let number = |n: i64| TermDraft::Literal(Scalar::I64(n));
    let call = |op: Builtin, args: Vec<TermDraft>| TermDraft::Call(op.into(), args);
    let select = |condition, fill| match fill {
        TermDraft::Literal(fill) => select_value(condition, [identity.clone(), fill]),
        fill => call(Builtin::IfElse, vec![condition, TermDraft::Literal(identity.clone()), fill]),
    };
    let method = op.repeat_method(dtype, mode)?;
    if method == RepeatMethod::Idempotent || is_stable {
        let is_none = call(Builtin::Eq, vec![count, number(all)]);
        return Some(select(is_none, fill));
    }
    let repeats = call(Builtin::Sub, vec![number(all), count]);
    let in_dtype = |n: TermDraft| match dtype {
        DType::Prim(Prim::I64) => Some(n),
        DType::Prim(prim) => Some(call(Builtin::Cast(*prim), vec![n])),
        _ => None,
    };
    let is_float = dtype.prim().is_some_and(Prim::is_float);
    match method {
        RepeatMethod::Multiply => Some(call(Builtin::Mul, vec![fill, in_dtype(repeats)?])),
        RepeatMethod::Power if is_float => Some(call(Builtin::Pow, vec![fill, in_dtype(repeats)?])),
        RepeatMethod::Parity => {
            let parity = call(Builtin::BitAnd, vec![repeats, number(1)]);
            Some(select(call(Builtin::Eq, vec![parity, number(0)]), fill))
        }
        _ => None,
    }
}

/// Returns the `bool` that differs from the given one; `None` for values of other dtypes.
fn other_bool(of: &Scalar) -> Option<Scalar> {
    if let Scalar::Bool(value) = of { Some(Scalar::Bool(!value)) } else { None }
}

fn as_float(value: &Scalar) -> Option<f64> {
    match value {
        Scalar::F32(x) => Some(f64::from(*x)),
        Scalar::F64(x) => Some(*x),
        _ => None,
    }
}

fn is_nan(value: &Scalar) -> bool {
    as_float(value).is_some_and(f64::is_nan)
}
