//! Run integration: a loop whose body does not depend on its index runs the body once and repeats
//! each write as often as the loop has rounds.
//!
//! ```text
//! for i in [lo, hi): s f= r   =   s = f(s, repeat(f, r, hi - lo))
//!                                i not in s, r; f associative; lo < hi
//! ```
//! A fold of (value, coordinate) pairs that prefers the smallest coordinate takes the first
//! coordinate of the run.
//!
//! A body that reads the tensor that it folds into (a scan) differs between rounds. The exception
//! is an idempotent fold whose reads come after it: every later round then reads the result of the
//! first.
//!
//! Several writes of one tensor may be repeated one after the other only if the result is that of
//! the rounds. This is so if all fold by one operator that is commutative or idempotent, or if all
//! overwrite.

use super::build::{plus, sub};
use super::cx::Cx;
use super::looplets::Nest;
use super::seeded::{self, Seeded};
use super::simplify::dtype_of;
use super::state::State;
use super::tree::{AccId, Assign, Step, Term, Tree};
use crate::assembly::Expr;
use crate::notation::{Index, TensorId, Write};
use redpoll_logic::op::{Builtin, Op, Repeat};

/// Returns the body to be run once in place of the loop, if the body does not depend on the index
/// and all its writes can be repeated. The caller ensures that the extent is not empty.
pub(crate) fn integrate(cx: &mut Cx<'_>, nest: &Nest) -> Option<Tree> {
    let lo = &nest.extent.lo;
    let first = if seeded::is(Seeded::LastOfRun) { plus(&nest.extent.hi, -1) } else { lo.clone() };
    let body = match nest.extent.index {
        Some(index) => first_coordinate(cx, &nest.state, &nest.body, index, &first),
        None => (*nest.body).clone(),
    };
    if needs_index(&nest.state, &body, nest.extent.index, &[]) {
        return None;
    }
    repeated(cx, nest, &body, &|_| false)
}

/// Returns the body, which does not depend on the index, with each write except those `apart`
/// repeated as often as the loop has rounds.
pub(crate) fn repeated(cx: &mut Cx<'_>, nest: &Nest, body: &Tree, apart: &dyn Fn(&Assign) -> bool) -> Option<Tree> {
    let own = body.declared();
    let mut possible = !contains_while(body) && !carries(cx, &nest.state, body) && !interferes(cx, nest, body, apart);
    body.for_each_assign(&mut |a| possible &= own.contains(&a.tensor) || apart(a) || can_repeat(cx, &nest.state, a));
    if !possible {
        return None;
    }
    let extra = i64::from(seeded::is(Seeded::RunLength));
    let rounds = cx.name("n", &plus(&sub(&nest.extent.hi, &nest.extent.lo), extra));
    Some(body.map(&mut Term::clone, &mut |a| {
        if own.contains(&a.tensor) || apart(&a) || is_once(cx, &a) {
            return Tree::Assign(a);
        }
        let times = a.times.iter().cloned().chain([rounds.clone()]).collect();
        Tree::Assign(Assign { times, ..a })
    }))
}

/// Returns whether a round reads a value written by an earlier one: the body reads a tensor from
/// outside before it writes it, or reads the target of a fold that each round changes.
fn carries(cx: &Cx<'_>, state: &State, body: &Tree) -> bool {
    let own = body.declared();
    let mut reads: Vec<TensorId> = Vec::new();
    body.for_each_term(&mut |t| t.for_each_access(&mut |id| reads.extend(state.acc(id).tensor)));
    let mut before: Vec<TensorId> = Vec::new();
    let mut carried = false;
    body.for_each_step(&mut |step| match step {
        Step::Term(t) => t.for_each_access(&mut |id| before.extend(state.acc(id).tensor)),
        Step::Assign(a) => {
            let seen = if is_once(cx, a) { &before } else { &reads };
            carried |= !own.contains(&a.tensor) && seen.contains(&a.tensor) && !seeded::is(Seeded::CarriedRead);
        }
    });
    carried
}

/// Returns whether repeating each of several writes of one outer tensor by itself changes the
/// result.
fn interferes(cx: &Cx<'_>, nest: &Nest, body: &Tree, apart: &dyn Fn(&Assign) -> bool) -> bool {
    let own = body.declared();
    let mut writes: Vec<&Assign> = Vec::new();
    body.for_each_step(&mut |step| match step {
        Step::Assign(a) if !own.contains(&a.tensor) => writes.push(a),
        _ => {}
    });
    let together = |group: &[&&Assign]| {
        let first = group[0];
        let same_place = |a: &&&Assign| nest.state.acc(a.lhs).subscripts == nest.state.acc(first.lhs).subscripts;
        if group.iter().all(|a| apart(a)) && group.iter().all(same_place) {
            return true;
        }
        let dtype = &cx.program.tensors[first.tensor.index()].ty.dtype;
        match &first.write {
            Write::Init | Write::Overwrite => group.iter().all(|a| !matches!(a.write, Write::Fold(_)) && !apart(a)),
            Write::Fold(op) => {
                let commutes = op.is_commutative(dtype, cx.mode);
                let once = group.iter().all(|a| is_once(cx, a) && !apart(a));
                group.iter().all(|a| a.write == first.write) && (commutes || once)
            }
        }
    };
    !seeded::is(Seeded::RepeatedApart)
        && writes.iter().any(|a| {
            let group: Vec<&&Assign> = writes.iter().filter(|b| b.tensor == a.tensor).collect();
            group.len() > 1 && !together(&group)
        })
}

/// Returns whether repeating the write does not change its result.
fn is_once(cx: &Cx<'_>, a: &Assign) -> bool {
    let dtype = &cx.program.tensors[a.tensor.index()].ty.dtype;
    match &a.write {
        Write::Init | Write::Overwrite => true,
        Write::Fold(op) => op.repeat(dtype, cx.mode) == Some(Repeat::Idempotent),
    }
}

fn can_repeat(cx: &Cx<'_>, state: &State, a: &Assign) -> bool {
    let dtype = &cx.program.tensors[a.tensor.index()].ty.dtype;
    let settled = state.acc(a.lhs).open().is_empty();
    match &a.write {
        Write::Init | Write::Overwrite => settled,
        Write::Fold(op) => repeat_operator(op, dtype, cx).is_some(),
    }
}

/// Returns the operator that folds a run of one value before the result is combined with the
/// accumulator: the fold's own, or its tail.
pub(crate) fn repeat_operator(op: &Op, dtype: &redpoll_logic::DType, cx: &Cx<'_>) -> Option<(Op, Repeat)> {
    let tail = op.tail(dtype, cx.mode)?;
    let repeat = tail.repeat(dtype, cx.mode)?;
    Some((tail, repeat))
}

fn contains_while(tree: &Tree) -> bool {
    match tree {
        Tree::While { .. } | Tree::Swap(..) => true,
        Tree::Block(items) => items.iter().any(contains_while),
        Tree::Loop { body, .. } | Tree::If { body, .. } | Tree::Let { body, .. } => contains_while(body),
        Tree::Where { consumer, producer } => contains_while(consumer) || contains_while(producer),
        Tree::Declare(_) | Tree::Freeze(_) | Tree::Thaw(_) | Tree::Assign(_) => false,
    }
}

/// Returns whether the body depends on the index: as a value, or in an unresolved subscript. For
/// accesses in `accepting`, the next subscript is ignored.
pub(crate) fn needs_index(state: &State, body: &Tree, index: Option<Index>, accepting: &[AccId]) -> bool {
    let Some(index) = index else { return false };
    let mut needed = false;
    let mut is_index = |t: &Term| *t == Term::Index(index);
    body.for_each_term(&mut |t| needed |= t.any(&mut is_index));
    needed
        || body.accesses().into_iter().any(|id| {
            let accepted = usize::from(accepting.contains(&id));
            state.acc(id).open().iter().skip(accepted).any(|sub| sub.at.any(&mut is_index))
        })
}

/// Returns the body in which `minby`/`maxby` folds of pairs take the first coordinate, if the
/// coordinate is the index and the value does not depend on it. Folds into tensors that the body
/// declares stay: each round has its own coordinate.
fn first_coordinate(cx: &Cx<'_>, state: &State, body: &Tree, index: Index, lo: &Expr) -> Tree {
    let own = body.declared();
    body.map(&mut Term::clone, &mut |a| {
        if own.contains(&a.tensor) {
            return Tree::Assign(a);
        }
        let Write::Fold(Op::Builtin(Builtin::MinBy | Builtin::MaxBy)) = a.write else { return Tree::Assign(a) };
        let Term::Call(Op::Builtin(Builtin::Pair), args) = &a.rhs else { return Tree::Assign(a) };
        let [value, Term::Index(at)] = &args[..] else { return Tree::Assign(a) };
        let depends = value.any(&mut |t| *t == Term::Index(index));
        if *at != index || depends {
            return Tree::Assign(a);
        }
        debug_assert_eq!(dtype_of(cx, state, &args[1]), redpoll_logic::DType::I64, "coordinates are i64");
        let first = Term::Call(Op::Builtin(Builtin::Pair), vec![value.clone(), super::tree::lowered(lo.clone())]);
        Tree::Assign(Assign { rhs: first, ..a })
    })
}
