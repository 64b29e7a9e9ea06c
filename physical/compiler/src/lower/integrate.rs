//! Run integration: a loop whose body does not depend on its index runs the body once and repeats
//! each write as often as the loop has rounds.
//!
//! ```text
//! for i in [lo, hi): s f= r   =   s = f(s, repeat(f, r, hi - lo))
//!                                i not in s, r; f associative; lo < hi
//! ```
//! Among (value, coordinate) pairs of equal values, a fold by `minby` or `maxby` prefers the
//! smallest coordinate. The fold takes the coordinate of the first round if coordinates ascend with
//! the index, and the coordinate of the last round if they descend:
//!
//! ```text
//! for i in [lo, hi): s maxby= (v, n*i + j)   =   s maxby= (v, n*lo + j)      i not in s, v; n > 0
//! ```
//!
//! A body that reads the tensor that it folds into (a scan) differs between rounds. The exception
//! is an idempotent fold into a tensor that the body reads only after the fold: every later round
//! then reads the result of the first.
//!
//! Several writes of one tensor may be repeated one after the other only if the result is the same
//! as after all rounds of the loop. The result is the same if all writes fold by one operator that
//! is commutative or idempotent, or if all of them overwrite.

use super::cx::Cx;
use super::looplets::LoopletNest;
use super::seeded_fault::SeededFault;
use super::state::LoweringState;
use super::tree::{AccessId, Assign, Tree, TreeAction, TreeTerm};
use crate::assembly::Expr;
use crate::assembly::build::{plus, sub};
use crate::notation::{Atom, Expr as Notation, Index, Linear, TensorId, Write};
use redpoll_logic::Scalar;
use redpoll_logic::op::{Builtin, Op, RepeatMethod};

/// A body that is run once in place of a loop.
pub(crate) struct IntegratedBody {
    pub(crate) body: Tree,
    /// The coordinate of the round that the body runs in, if the body depends on it.
    pub(crate) coordinate: Option<Expr>,
}

/// Returns the body to be run once in place of the loop. Returns `None` if [`repeat_writes`] does,
/// or if the rounds differ in anything except the coordinates of (value, coordinate) pairs. These
/// coordinates must all ascend or all descend. The caller ensures that the extent is not empty.
pub(crate) fn integrate(cx: &mut Cx<'_>, nest: &LoopletNest) -> Option<IntegratedBody> {
    let (mut round, mut without_pairs) = (None, None);
    if let Some(index) = nest.extent.index {
        let pairs = IndexedPairs::of(cx, &nest.body, index, &TreeTerm::Lit(Scalar::I64(0)));
        if !pairs.slopes.is_empty() {
            let (ascends, descends) = (pairs.slopes.iter().all(|c| *c > 0), pairs.slopes.iter().all(|c| *c < 0));
            if !ascends && !descends {
                return None;
            }
            let takes_first = ascends != SeededFault::LastOfRun.is_active();
            round = Some(if takes_first { nest.extent.lo.clone() } else { plus(&nest.extent.hi, -1) });
            without_pairs = Some(pairs.body);
        }
    }
    if needs_index(&nest.state, without_pairs.as_ref().unwrap_or(&nest.body), nest.extent.index, &[]) {
        return None;
    }
    Some(IntegratedBody { body: repeat_writes(cx, nest, &nest.body, &|_| false)?, coordinate: round })
}

/// Returns the body with each write repeated as often as the loop has rounds. Returns `None` in
/// four cases: a write cannot be repeated, writes of one tensor cannot be repeated separately, a
/// round reads a value that an earlier round wrote, or the body has a `while` or a swap. The body
/// must not depend on the index, except in the coordinates of pairs. Three sorts of writes stay as
/// they are: writes for which `excluded` is true, writes to tensors that the body declares, and
/// writes whose repetition changes nothing.
pub(crate) fn repeat_writes(
    cx: &mut Cx<'_>,
    nest: &LoopletNest,
    body: &Tree,
    excluded: &dyn Fn(&Assign) -> bool,
) -> Option<Tree> {
    let own = body.declared_tensors();
    let mut can_integrate = !has_while_or_swap(body)
        && !has_carried_reads(cx, &nest.state, body)
        && !has_interference(cx, nest, body, excluded);
    body.for_each_assign(&mut |a| {
        can_integrate &= own.contains(&a.tensor) || excluded(a) || can_repeat(cx, &nest.state, a);
    });
    if !can_integrate {
        return None;
    }
    let extra = i64::from(SeededFault::RunLength.is_active());
    let rounds = cx.name("n", &plus(&sub(&nest.extent.hi, &nest.extent.lo), extra));
    Some(body.map(&mut TreeTerm::clone, &mut |a| {
        if own.contains(&a.tensor) || excluded(&a) || is_repeat_invariant(cx, &a) {
            return Tree::Assign(a);
        }
        let repetitions = a.repetitions.iter().cloned().chain([rounds.clone()]).collect();
        Tree::Assign(Assign { repetitions, ..a })
    }))
}

/// Returns whether a round reads a value written by an earlier one: the body reads an outer tensor
/// before writing the tensor, or reads the target of a fold that each round changes.
fn has_carried_reads(cx: &Cx<'_>, state: &LoweringState, body: &Tree) -> bool {
    let own = body.declared_tensors();
    let mut reads: Vec<TensorId> = Vec::new();
    body.for_each_term(&mut |t| t.for_each_access(&mut |id| reads.extend(state.access(id).tensor)));
    let mut before: Vec<TensorId> = Vec::new();
    let mut carried = false;
    body.for_each_action(&mut |step| match step {
        TreeAction::Term(t) => t.for_each_access(&mut |id| before.extend(state.access(id).tensor)),
        TreeAction::Assign(a) => {
            let visible = if is_repeat_invariant(cx, a) { &before } else { &reads };
            carried |= !own.contains(&a.tensor) && visible.contains(&a.tensor) && !SeededFault::CarriedRead.is_active();
        }
    });
    carried
}

/// Returns whether the result may change if each of several writes of one outer tensor were
/// repeated separately.
fn has_interference(cx: &Cx<'_>, nest: &LoopletNest, body: &Tree, excluded: &dyn Fn(&Assign) -> bool) -> bool {
    let own = body.declared_tensors();
    let mut writes: Vec<&Assign> = Vec::new();
    body.for_each_action(&mut |step| match step {
        TreeAction::Assign(a) if !own.contains(&a.tensor) => writes.push(a),
        _ => {}
    });
    let together = |group: &[&&Assign]| {
        let first = group[0];
        let same_element =
            |a: &&&Assign| nest.state.access(a.lhs).subscripts == nest.state.access(first.lhs).subscripts;
        if group.iter().all(|a| excluded(a)) && group.iter().all(same_element) {
            return true;
        }
        let dtype = &cx.program.tensors[first.tensor.index()].ty.dtype;
        match &first.write {
            Write::Init | Write::Overwrite => group.iter().all(|a| !matches!(a.write, Write::Fold(_)) && !excluded(a)),
            Write::Fold(op) => {
                let commutes = op.is_commutative(dtype, cx.mode);
                let invariant = group.iter().all(|a| is_repeat_invariant(cx, a) && !excluded(a));
                group.iter().all(|a| a.write == first.write) && (commutes || invariant)
            }
        }
    };
    !SeededFault::RepeatedWrites.is_active()
        && writes.iter().any(|a| {
            let group: Vec<&&Assign> = writes.iter().filter(|b| b.tensor == a.tensor).collect();
            group.len() > 1 && !together(&group)
        })
}

/// Returns whether the write has the same result, however often it is repeated.
pub(crate) fn is_repeat_invariant(cx: &Cx<'_>, a: &Assign) -> bool {
    let dtype = &cx.program.tensors[a.tensor.index()].ty.dtype;
    match &a.write {
        Write::Init | Write::Overwrite => true,
        Write::Fold(op) => op.repeat_method(dtype, cx.mode) == Some(RepeatMethod::Idempotent),
    }
}

fn can_repeat(cx: &Cx<'_>, state: &LoweringState, a: &Assign) -> bool {
    let dtype = &cx.program.tensors[a.tensor.index()].ty.dtype;
    let is_resolved = state.access(a.lhs).unresolved().is_empty();
    match &a.write {
        Write::Init | Write::Overwrite => is_resolved,
        Write::Fold(op) => repeat_operator(op, dtype, cx).is_some(),
    }
}

/// Returns the operator that folds equal values in advance, with its method for equal values; `op`
/// then combines the accumulator with the result of that fold. The operator is the tail of `op`
/// (see [`Op::tail`]). Returns `None` if equal values cannot be folded in advance.
pub(crate) fn repeat_operator(op: &Op, dtype: &redpoll_logic::DType, cx: &Cx<'_>) -> Option<(Op, RepeatMethod)> {
    let tail = op.tail(dtype, cx.mode)?;
    let repeat = tail.repeat_method(dtype, cx.mode)?;
    Some((tail, repeat))
}

/// Returns whether the tree has a `while` loop or exchanges tensors.
pub(crate) fn has_while_or_swap(tree: &Tree) -> bool {
    match tree {
        Tree::While { .. } | Tree::Swap(..) => true,
        Tree::Block(items) => items.iter().any(has_while_or_swap),
        Tree::Loop { body, .. } | Tree::If { body, .. } | Tree::Let { body, .. } => has_while_or_swap(body),
        Tree::Where { consumer, producer } => has_while_or_swap(consumer) || has_while_or_swap(producer),
        Tree::Declare(_) | Tree::Freeze(_) | Tree::Thaw(_) | Tree::Assign(_) => false,
    }
}

/// Returns whether the body depends on the index: as a value, or in an unresolved subscript. For
/// accesses in `accepting`, the first unresolved subscript is ignored.
pub(crate) fn needs_index(state: &LoweringState, body: &Tree, index: Option<Index>, accepting: &[AccessId]) -> bool {
    let Some(index) = index else { return false };
    let mut needed = false;
    let mut is_index = |t: &TreeTerm| *t == TreeTerm::Index(index);
    body.for_each_term(&mut |t| needed |= t.any(&mut is_index));
    needed
        || body.accesses().into_iter().any(|id| {
            let accepted = usize::from(accepting.contains(&id));
            state.access(id).unresolved().iter().skip(accepted).any(|sub| sub.at.any(&mut is_index))
        })
}

/// The folds of (value, coordinate) pairs in which only the coordinate differs between rounds.
pub(crate) struct IndexedPairs {
    /// The coefficient of the index in each coordinate; not 0.
    pub(crate) slopes: Vec<i64>,
    /// The body with `at` in place of the index in these coordinates.
    pub(crate) body: Tree,
}

impl IndexedPairs {
    /// Finds the `minby` and `maxby` folds of pairs with a coordinate that is linear in the index,
    /// and a value that does not depend on it. Folds into tensors that the body declares are left
    /// out, because they start again in each round, with the coordinate of that round.
    pub(crate) fn of(cx: &Cx<'_>, body: &Tree, index: Index, at: &TreeTerm) -> IndexedPairs {
        let (own, mut slopes) = (body.declared_tensors(), Vec::new());
        let body = body.map(&mut TreeTerm::clone, &mut |a| {
            let by = matches!(a.write, Write::Fold(Op::Builtin(Builtin::MinBy | Builtin::MaxBy)));
            let TreeTerm::Call(Op::Builtin(Builtin::Pair), args) = &a.rhs else { return Tree::Assign(a) };
            let [value, coordinate] = &args[..] else { return Tree::Assign(a) };
            let depends = value.any(&mut |t| *t == TreeTerm::Index(index));
            if !by || own.contains(&a.tensor) || depends {
                return Tree::Assign(a);
            }
            let Some(slope) = slope(cx, coordinate, index).filter(|c| *c != 0) else { return Tree::Assign(a) };
            slopes.push(slope);
            let coordinate = coordinate.replace(&mut |t| (*t == TreeTerm::Index(index)).then(|| at.clone()));
            let pair = TreeTerm::Call(Builtin::Pair.into(), vec![value.clone(), coordinate]);
            Tree::Assign(Assign { rhs: pair, ..a })
        });
        IndexedPairs { slopes, body }
    }
}

/// Returns the coefficient of an index in a term that is linear in indices and provably never wraps
/// around; `None` for other terms.
fn slope(cx: &Cx<'_>, term: &TreeTerm, index: Index) -> Option<i64> {
    let form = Linear::of(&to_expr(term)?)?;
    let mut largest = i128::from(form.constant).abs();
    for (atom, coefficient) in &form.terms {
        let Atom::Index(i) = atom else { return None };
        let (first, last) = cx.index_range(*i)?;
        largest += i128::from(*coefficient).abs() * i128::from(first).abs().max(i128::from(last).abs());
    }
    (largest <= i128::from(i64::MAX)).then(|| form.coefficient(Atom::Index(index)))
}

/// Returns a term of indices, literals and operators as an expression of Notation; `None` for other
/// terms.
fn to_expr(term: &TreeTerm) -> Option<Notation> {
    match term {
        TreeTerm::Lit(value) => Some(Notation::Literal(value.clone())),
        TreeTerm::Index(i) => Some(Notation::Index(*i)),
        TreeTerm::Call(op, args) => Some(Notation::Call(op.clone(), args.iter().map(to_expr).collect::<Option<_>>()?)),
        TreeTerm::Var(_) | TreeTerm::Access(_) | TreeTerm::Value(_) => None,
    }
}
