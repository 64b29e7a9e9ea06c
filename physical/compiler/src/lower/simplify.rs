//! Simplification by operator properties, between any two steps of lowering.
//!
//! Accesses whose cursor is a fill value, or whose tensor has one known value, are literals. By the
//! operator table ([`redpoll_logic::op::Op::simplify`]), calls with such arguments become a
//! literal, one of their arguments, or a simpler call. Writes that change nothing are dropped, and
//! so are statements that become empty. Iteration spaces arise in this way: intersections, unions
//! and complements have no rules of their own.

use super::constants::Constants;
use super::cx::Cx;
use super::seeded_fault::SeededFault;
use super::state::{AccessCursor, LoweringState};
use super::tree::{AccessId, Assign, Tree, TreeTerm};
use crate::notation::{Role, TensorId, Write};
use redpoll_logic::op::{Body, Builtin, Op, Simplification};
use redpoll_logic::{DType, FloatMode, Scalar};
use std::rc::Rc;

/// Simplifies the loop body, given the cursors of its accesses; the result is empty if the body has
/// no visible effect.
pub(crate) fn simplify(cx: &Cx<'_>, state: &LoweringState, tree: &Tree) -> Tree {
    simplify_with_fills(cx, state, tree, true)
}

/// Returns whether a loop body has no visible effect, except that it may assign fill values to
/// outputs whose memory is not filled in advance (`TensorCode::fully_set`).
pub(crate) fn only_fills(cx: &Cx<'_>, state: &LoweringState, tree: &Tree) -> bool {
    simplify_with_fills(cx, state, tree, false).is_empty()
}

/// Simplifies like [`simplify`]; `fills` says whether to keep the assignments of fill values to
/// outputs whose memory is not filled in advance.
fn simplify_with_fills(cx: &Cx<'_>, state: &LoweringState, tree: &Tree, fills: bool) -> Tree {
    let mut simplified = body(&mut SimplifyPass { cx, state, fills, constants: Constants::default() }, tree);
    loop {
        let unread = unread_locals(cx, state, &simplified);
        if unread.is_empty() {
            return simplified;
        }
        let without = simplified.map(&mut Clone::clone, &mut |a| match unread.contains(&a.tensor) {
            true => Tree::empty(),
            false => Tree::Assign(a),
        });
        simplified = body(&mut SimplifyPass { cx, state, fills, constants: Constants::default() }, &without);
    }
}

/// Returns the locals that the body declares and assigns but never reads or swaps; their
/// assignments are dead.
fn unread_locals(cx: &Cx<'_>, state: &LoweringState, tree: &Tree) -> Vec<TensorId> {
    let mut unread: Vec<TensorId> = Vec::new();
    let own = tree.declared_tensors();
    tree.for_each_assign(&mut |a| {
        let local = cx.program.tensors[a.tensor.index()].role == Role::Local;
        if local && own.contains(&a.tensor) && !unread.contains(&a.tensor) {
            unread.push(a.tensor);
        }
    });
    let swapped = tree.swapped_tensors();
    unread.retain(|t| !swapped.contains(t));
    if !unread.is_empty() {
        tree.for_each_term(&mut |t| {
            t.for_each_access(&mut |id| unread.retain(|u| state.access(id).tensor != Some(*u)));
        });
    }
    unread
}

/// Limit on the number of arguments that are not literals, each of which may be stored or not.
/// Beyond this limit, an iteration algebra is not evaluated, because each such argument doubles the
/// number of cases.
const MAX_OPEN_ARGUMENTS: usize = 10;

/// One traversal of a statement, in the order of execution.
struct SimplifyPass<'a, 'p> {
    cx: &'a Cx<'p>,
    state: &'a LoweringState,
    /// True to keep the assignments of fill values to outputs whose memory is not filled in
    /// advance.
    fills: bool,
    /// The tensors whose elements all have one known value at this point.
    constants: Constants,
}

fn body(pass: &mut SimplifyPass<'_, '_>, tree: &Tree) -> Tree {
    let simplified = statement(pass, tree);
    if is_idle(pass.cx, &simplified) { Tree::empty() } else { simplified }
}

fn statement(pass: &mut SimplifyPass<'_, '_>, tree: &Tree) -> Tree {
    match tree {
        Tree::Block(items) => {
            let mut stmts = Vec::new();
            for item in items {
                match statement(pass, item) {
                    Tree::Block(inner) => stmts.extend(inner),
                    other => stmts.push(other),
                }
            }
            if stmts.len() == 1 { stmts.pop().expect("the length is 1") } else { Tree::Block(stmts) }
        }
        Tree::Loop { index, lo, hi, body: inner } => {
            let (lo, hi) = (term(pass, lo), term(pass, hi));
            let before = pass.constants.clone();
            let inner = loop_body(pass, inner);
            if inner.is_empty() {
                pass.constants = before;
                return inner;
            }
            let simplified = Tree::Loop { index: *index, lo, hi, body: Rc::new(inner) };
            pass.constants = before.after(pass.cx, &simplified);
            simplified
        }
        Tree::If { cond, body: inner } => match term(pass, cond) {
            TreeTerm::Lit(Scalar::Bool(true)) => statement(pass, inner),
            TreeTerm::Lit(Scalar::Bool(false)) => Tree::empty(),
            cond => {
                let before = pass.constants.clone();
                let inner = body(pass, inner);
                pass.constants.retain_shared(&before);
                if inner.is_empty() { inner } else { Tree::If { cond, body: Rc::new(inner) } }
            }
        },
        Tree::Let { var, value, body: inner } => {
            let value = term(pass, value);
            let is_literal = value.as_lit().is_some();
            let literal = |t: &TreeTerm| (is_literal && *t == TreeTerm::Var(*var)).then(|| value.clone());
            let inner = inner.map(&mut |t| t.replace(&mut |part| literal(part)), &mut Tree::Assign);
            let inner = body(pass, &inner);
            // Subscripts are part of the state, so the literal does not replace the variable in
            // them. An unresolved subscript still needs the variable.
            let is_bound_for = |id: AccessId| {
                pass.state.access(id).has_unresolved(&TreeTerm::Var(*var)) && !SeededFault::OpenSubscript.is_active()
            };
            if inner.is_empty() || is_literal && !inner.accesses().into_iter().any(is_bound_for) {
                return inner;
            }
            Tree::Let { var: *var, value, body: Rc::new(inner) }
        }
        Tree::While { cond, body: inner } => {
            let inner = loop_body(pass, inner);
            match term(pass, cond) {
                TreeTerm::Lit(Scalar::Bool(false)) => Tree::empty(),
                cond => Tree::While { cond, body: Rc::new(inner) },
            }
        }
        Tree::Where { consumer, producer } => {
            let producer = statement(pass, producer);
            let consumer = body(pass, consumer);
            if consumer.is_empty() && !has_outer_effects(pass.cx, &producer, &producer.declared_tensors()) {
                return Tree::empty();
            }
            Tree::Where { consumer: Rc::new(consumer), producer: Rc::new(producer) }
        }
        Tree::Declare(t) => {
            pass.constants.declare(pass.cx, *t);
            tree.clone()
        }
        Tree::Freeze(_) | Tree::Thaw(_) => tree.clone(),
        Tree::Swap(t, u) => {
            pass.constants.forget(&[*t, *u]);
            tree.clone()
        }
        Tree::Assign(a) => assign(pass, a),
    }
}

/// Simplifies the body of a loop, which may read assignments of an earlier round.
fn loop_body(pass: &mut SimplifyPass<'_, '_>, tree: &Tree) -> Tree {
    pass.constants.forget_assigned(tree);
    let outside = pass.constants.clone();
    let simplified = body(pass, tree);
    pass.constants = outside;
    simplified
}

/// Returns whether a statement has an effect outside of the enclosing statement that declares the
/// tensors in `own`: it writes, freezes, thaws or swaps another tensor, or declares an output.
fn has_outer_effects(cx: &Cx<'_>, tree: &Tree, own: &[TensorId]) -> bool {
    let in_part = |tree: &Tree| has_outer_effects(cx, tree, own);
    match tree {
        Tree::Block(items) => items.iter().any(in_part),
        Tree::Declare(t) => cx.program.tensors[t.index()].role == Role::Output,
        Tree::Freeze(t) | Tree::Thaw(t) => !own.contains(t),
        Tree::Swap(t, u) => !own.contains(t) || !own.contains(u),
        Tree::Assign(a) => !own.contains(&a.tensor),
        Tree::Loop { body, .. } | Tree::If { body, .. } | Tree::Let { body, .. } | Tree::While { body, .. } => {
            in_part(body)
        }
        Tree::Where { consumer, producer } => in_part(consumer) || in_part(producer),
    }
}

/// Returns whether the statement has no visible effect: it assigns and swaps nothing, has no
/// `while`, and declares, freezes and thaws only locals. A local is declared in the innermost
/// statement that contains all its uses, so no other statement depends on the local.
fn is_idle(cx: &Cx<'_>, tree: &Tree) -> bool {
    match tree {
        Tree::Block(items) => items.iter().all(|t| is_idle(cx, t)),
        Tree::Declare(t) | Tree::Freeze(t) | Tree::Thaw(t) => cx.program.tensors[t.index()].role == Role::Local,
        Tree::Loop { body, .. } | Tree::If { body, .. } | Tree::Let { body, .. } => is_idle(cx, body),
        Tree::Where { consumer, producer } => is_idle(cx, consumer) && is_idle(cx, producer),
        Tree::While { .. } | Tree::Swap(..) | Tree::Assign(_) => false,
    }
}

fn assign(pass: &mut SimplifyPass<'_, '_>, a: &Assign) -> Tree {
    let cx = pass.cx;
    if pass.state.access(a.lhs).cursor == AccessCursor::Null {
        return Tree::empty();
    }
    let rhs = term(pass, &a.rhs);
    let ty = &cx.program.tensors[a.tensor.index()].ty;
    if let TreeTerm::Lit(value) = &rhs {
        let idle = match &a.write {
            Write::Init => {
                !(pass.fills && cx.tensor(a.tensor).fully_set) && is_fill_equivalent(value, &ty.fill, cx.mode)
            }
            Write::Overwrite => false,
            Write::Fold(_) if SeededFault::FoldIdentity.is_active() => is_zero(value),
            Write::Fold(op) if cx.is_only_folded(a.tensor) => op.skips(value, &ty.fill, &ty.dtype, cx.mode),
            Write::Fold(op) => op.is_identity(value, &ty.dtype, 1, cx.mode),
        };
        if idle {
            return Tree::empty();
        }
    }
    let simplified = Assign { rhs, ..a.clone() };
    pass.constants.assign(cx, &simplified);
    Tree::Assign(simplified)
}

/// Returns whether storing the value is equivalent to leaving the fill value.
fn is_fill_equivalent(value: &Scalar, fill: &Scalar, mode: FloatMode) -> bool {
    value == fill || (mode == FloatMode::Relaxed && value.dtype() == fill.dtype() && is_zero(value) && is_zero(fill))
}

fn is_zero(value: &Scalar) -> bool {
    value.to_f64() == Some(0.0)
}

/// Simplifies a term, given the cursors of its accesses.
fn term(pass: &SimplifyPass<'_, '_>, t: &TreeTerm) -> TreeTerm {
    typed_term(pass, t).0
}

/// Simplifies a term, and returns its dtype, too.
fn typed_term(pass: &SimplifyPass<'_, '_>, t: &TreeTerm) -> (TreeTerm, DType) {
    let simplified = match t {
        TreeTerm::Call(op, args) => {
            let (args, dtypes) = args.iter().map(|a| typed_term(pass, a)).unzip();
            return call(pass, op, (args, dtypes));
        }
        TreeTerm::Access(id) => literal_of_access(pass, *id).map_or_else(|| t.clone(), TreeTerm::Lit),
        TreeTerm::Lit(_) | TreeTerm::Index(_) | TreeTerm::Var(_) | TreeTerm::Value(_) => t.clone(),
    };
    (simplified, dtype_of(pass.cx, pass.state, t))
}

/// Returns the value of an access if all of its possible values are equal.
fn literal_of_access(pass: &SimplifyPass<'_, '_>, id: AccessId) -> Option<Scalar> {
    let acc = pass.state.access(id);
    if let AccessCursor::Fill(value) = &acc.cursor {
        return Some(value.clone());
    }
    let value = pass.constants.value(acc.tensor?)?;
    let differs = match &acc.cursor {
        AccessCursor::Fiber(fiber) => !fiber.replacements.is_empty() || acc.can_differ_outside(fiber.level, value),
        _ => false,
    };
    (!differs || SeededFault::UnassignedOutside.is_active()).then(|| value.clone())
}

/// Simplifies a call with simplified arguments, which have the given dtypes. Returns the dtype of
/// the result, too.
fn call(pass: &SimplifyPass<'_, '_>, op: &Op, (args, dtypes): (Vec<TreeTerm>, Vec<DType>)) -> (TreeTerm, DType) {
    let mode = pass.cx.mode;
    let literal = |value: Scalar| {
        let dtype = value.dtype();
        (TreeTerm::Lit(value), dtype)
    };
    let arg = |k: usize| (args[k].clone(), dtypes[k].clone());
    if let Op::Builtin(Builtin::Cast(to)) = op
        && dtypes[0] == DType::Prim(*to)
    {
        return arg(0);
    }
    if let Some(value) = value_outside_iteration(op, &args, mode) {
        return literal(value);
    }
    let signature = op.signature(&dtypes).expect("the verifier has checked the operator's dtypes");
    let constants: Vec<Option<Scalar>> = args.iter().map(|a| a.as_lit().cloned()).collect();
    if constants.iter().any(Option::is_some) {
        match op.simplify(&signature, &constants, mode) {
            Some(Simplification::Value(value)) => return literal(value),
            Some(Simplification::Arg(k)) if dtypes[k] == signature.args[k] => return arg(k),
            Some(Simplification::Arg(k)) => {
                if let Some(to) = signature.args[k].prim() {
                    let cast = TreeTerm::Call(Op::Builtin(Builtin::Cast(to)), vec![args[k].clone()]);
                    return (cast, DType::Prim(to));
                }
            }
            Some(Simplification::Args(positions)) => {
                return call(pass, op, positions.into_iter().map(arg).unzip());
            }
            Some(Simplification::Body(body)) => {
                if let Some(t) = term_of_body(&body, &args) {
                    return typed_term(pass, &t);
                }
            }
            None => {}
        }
    }
    if let [_, then, other] = &args[..]
        && *op == Op::Builtin(Builtin::IfElse)
        && then == other
    {
        return arg(1);
    }
    if args.len() > 1 && args.iter().skip(1).all(|a| *a == args[0]) && op.is_idempotent(&dtypes[0], mode) {
        return arg(0);
    }
    (TreeTerm::Call(op.clone(), args), signature.result)
}

/// Returns the value of a user-defined operator whose arguments are outside of its declared
/// iteration algebra. Returns `None` in five cases: no algebra with a fill for each argument is
/// declared, the arguments may be inside of the algebra, no argument is a literal, more than
/// [`MAX_OPEN_ARGUMENTS`] arguments are not literals, or the operator faults on its fills. A
/// literal counts as stored unless it is the declared fill; for other arguments, both cases are
/// tried.
fn value_outside_iteration(op: &Op, args: &[TreeTerm], mode: FloatMode) -> Option<Scalar> {
    let Op::User(user) = op else { return None };
    let (iteration, fills) = (user.iteration()?, user.fills().filter(|fills| fills.len() == args.len())?);
    let constants: Vec<Option<bool>> = args.iter().zip(fills).map(|(a, fill)| a.as_lit().map(|v| v != fill)).collect();
    let open: Vec<usize> = (0..args.len()).filter(|k| constants[*k].is_none()).collect();
    if open.len() == args.len() || open.len() > MAX_OPEN_ARGUMENTS {
        return None;
    }
    let mut cases = 0..1u64 << open.len();
    let stored = |case: u64| -> Vec<bool> {
        let of = |k: usize| {
            constants[k].unwrap_or_else(|| open.iter().position(|o| *o == k).is_some_and(|b| case >> b & 1 == 1))
        };
        (0..args.len()).map(of).collect()
    };
    if cases.any(|case| iteration.contains(&stored(case))) {
        return None;
    }
    op.eval_in(fills, mode).ok()
}

/// Returns a special case of a user-defined operator as a term, if it consists of calls, arguments
/// and literals only.
fn term_of_body(body: &Body, args: &[TreeTerm]) -> Option<TreeTerm> {
    Some(match body {
        Body::Arg(k) => args.get(*k)?.clone(),
        Body::Lit(value) => TreeTerm::Lit(value.clone()),
        Body::Call(op, inner) => {
            TreeTerm::Call(op.clone(), inner.iter().map(|b| term_of_body(b, args)).collect::<Option<_>>()?)
        }
        _ => return None,
    })
}

/// Returns the dtype of a term.
pub(crate) fn dtype_of(cx: &Cx<'_>, state: &LoweringState, t: &TreeTerm) -> DType {
    match t {
        TreeTerm::Lit(value) => value.dtype(),
        TreeTerm::Index(_) => DType::I64,
        TreeTerm::Var(v) => cx.program.vars[v.index()].1.clone(),
        TreeTerm::Access(id) => match state.access(*id).tensor {
            Some(tensor) => cx.program.tensors[tensor.index()].ty.dtype.clone(),
            None => DType::BOOL,
        },
        TreeTerm::Value(value) => value.dtype.clone(),
        TreeTerm::Call(op, args) => {
            let dtypes: Vec<DType> = args.iter().map(|a| dtype_of(cx, state, a)).collect();
            op.signature(&dtypes).expect("the verifier has checked the operator's dtypes").result
        }
    }
}
