//! The lowering of each kind of statement. Loops go to the rules of [`super::looplets`].

use super::cx::Cx;
use super::expand::expand_in;
use super::looplets::{LoopExtent, LoopletNest, lower_loop};
use super::seeded_fault::SeededFault;
use super::simplify::dtype_of;
use super::special::TermFacts;
use super::state::{AccessCursor, Accumulator, LoweringState};
use super::tree::{AccessId, Tree, TreeTerm};
use super::value::LoweredValue;
use super::{assign, short_circuit, sparse_scalars, unfurl, unguarded};
use crate::assembly::build::{as_int, local, max, min, not, plus, split, truth};
use crate::assembly::{Expr, Local, Stmt};
use crate::notation::{Index, TensorId, Write};
use redpoll_logic::op::{Builtin, Op};
use redpoll_logic::{DType, LeafKind, Prim, Scalar};
use std::rc::Rc;

/// Lowers a statement. A next subscript whose coordinate can already be computed is resolved first,
/// by a loop over one coordinate.
pub(crate) fn lower_resolved(cx: &mut Cx<'_>, state: LoweringState, tree: &Tree) {
    let Some((head, at)) = unfurl::computable_head(cx, &state, tree) else { return lower(cx, &state, tree) };
    let extent = LoopExtent { index: None, hi: plus(&at, 1), lo: at };
    lower_loop(cx, LoopletNest { extent, heads: vec![head], body: Rc::new(tree.clone()), state, early_exit: None });
}

/// Lowers a statement by its kind, without resolving computable subscripts first as
/// [`lower_resolved`] does.
pub(crate) fn lower(cx: &mut Cx<'_>, state: &LoweringState, tree: &Tree) {
    match tree {
        Tree::Block(items) => items.iter().for_each(|t| lower_resolved(cx, state.clone(), t)),
        Tree::Loop { .. } => lower_for(cx, state, tree),
        Tree::If { cond, body } => lower_if(cx, state, cond, |cx| lower_resolved(cx, state.clone(), body)),
        Tree::Let { var, value: term, body } => {
            // Conditions may read the variable, too.
            let bound = cx.with_guards(|cx| bind(cx, state, term));
            // The statement may be lowered again elsewhere, where the variable must not be bound
            // yet.
            let outer = cx.bind_var(*var, Some(bound));
            lower_resolved(cx, state.clone(), body);
            if !SeededFault::VariableScope.is_active() {
                cx.bind_var(*var, outer);
            }
        }
        Tree::While { cond, body } => {
            let body = cx.loop_block(|cx| {
                let holds = value(cx, state, cond).single().clone();
                cx.push_if(not(&holds), vec![Stmt::Break], Vec::new());
                lower_resolved(cx, state.clone(), body);
                if SeededFault::WhileOnce.is_active() {
                    cx.push(Stmt::Break);
                }
            });
            cx.push(Stmt::While { cond: truth(true), body });
        }
        Tree::Where { consumer, producer } => {
            let (consumer, producer) = match SeededFault::ConsumerFirst.is_active() {
                true => (producer, consumer),
                false => (consumer, producer),
            };
            lower_resolved(cx, state.clone(), producer);
            let written = sparse_scalars::condition(cx, state, consumer);
            let consumer = cx.block(|cx| lower_resolved(cx, state.clone(), consumer));
            cx.push_if(written, consumer, Vec::new());
        }
        Tree::Declare(t) => cx.declare(*t),
        Tree::Freeze(t) => cx.freeze(*t),
        Tree::Thaw(_) => {}
        Tree::Swap(t, u) => cx.swap(*t, *u),
        Tree::Assign(a) => assign::lower(cx, state, a),
    }
}

/// Emits an `if` with a condition that can be computed, around the code that `then` emits.
pub(crate) fn lower_if<'p>(cx: &mut Cx<'p>, state: &LoweringState, cond: &TreeTerm, then: impl FnOnce(&mut Cx<'p>)) {
    let facts = facts(cx, state, cond);
    let cond = value(cx, state, cond);
    let cond = cx.simplify_condition(cond.single());
    let then = cx.block(|cx| {
        facts.iter().for_each(|fact| cx.prover.assume(fact));
        then(cx);
    });
    cx.push_if(cond, then, Vec::new());
}

/// Returns the order comparisons (`<`, `<=`, `>`, `>=`) that a condition implies between values
/// that do not change: indices, variables and literals of type `i64`. Leaves out comparisons of
/// sums.
fn facts(cx: &mut Cx<'_>, state: &LoweringState, cond: &TreeTerm) -> Vec<Expr> {
    let TreeTerm::Call(Op::Builtin(op), args) = cond else { return Vec::new() };
    let fixed = |t: &TreeTerm| {
        matches!(t, TreeTerm::Index(_) | TreeTerm::Var(_) | TreeTerm::Lit(_)) && dtype_of(cx, state, t) == DType::I64
    };
    match op {
        Builtin::And => args.iter().flat_map(|a| facts(cx, state, a)).collect(),
        Builtin::Lt | Builtin::Le | Builtin::Gt | Builtin::Ge if args.iter().all(fixed) => {
            let fact = value(cx, state, cond).single().clone();
            // A sum may wrap around, so nothing follows for its summands.
            let plain = |e: &Expr| split(e).1 == 0 || split(e).0.is_none();
            let Expr::Compare(op, a, b) = &fact else { return Vec::new() };
            if !plain(a) || !plain(b) {
                return Vec::new();
            }
            // The prover knows a size as a parameter, so a comparison with a literal that equals a
            // size also becomes a fact about that parameter.
            let size = |e: &Expr| as_int(e).and_then(|n| cx.size(n)).map(Box::new);
            let with_sizes =
                [size(a).map(|a| Expr::Compare(*op, a, b.clone())), size(b).map(|b| Expr::Compare(*op, a.clone(), b))];
            with_sizes.into_iter().flatten().chain([fact.clone()]).collect()
        }
        _ => Vec::new(),
    }
}

fn lower_for(cx: &mut Cx<'_>, state: &LoweringState, tree: &Tree) {
    let Tree::Loop { index, lo, hi, body } = tree else { unreachable!("the statement is a loop") };
    let mut bounds = [lo, hi].map(|t| {
        let bound = value(cx, state, t);
        cx.name("bound", bound.single())
    });
    if let Some((first, last)) = cx.take_chunk() {
        bounds = [max(&bounds[0], &first), min(&bounds[1], &last)].map(|b| cx.name("chunk", &b));
        cx.set_chunk_end(bounds[1].clone());
    }
    let [lo, hi] = bounds;
    cx.unbind_index(*index);
    cx.if_below(&lo.clone(), &hi.clone(), |cx| {
        let mut state = state.clone();
        let promoted = promote_accumulators(cx, &mut state, body, *index);
        let extent = LoopExtent { index: Some(*index), lo, hi };
        unguarded::lower_twice(cx, &state, body, |cx| lower_rounds(cx, &state, body, extent.clone()));
        for (leaf, accumulator) in promoted.into_iter().filter(|_| !SeededFault::PromotedStore.is_active()) {
            assign::store(cx, &leaf, &accumulator.parts.iter().map(|l| local(*l)).collect::<Vec<_>>());
        }
    });
}

/// Lowers the rounds of a loop. If one fold may be decided before the other writes, the loop ends
/// when the fold is decided, and a second loop runs the remaining rounds without the fold.
fn lower_rounds(cx: &mut Cx<'_>, state: &LoweringState, body: &Tree, extent: LoopExtent) {
    let index = extent.index.expect("a loop binds an index");
    // A fold that is decided before the other writes needs a second loop, a copy of the first, so
    // it is not checked if the body must not be copied further.
    let (early_exit, decided) = match short_circuit::plan(cx, state, body) {
        (_, Some(_)) if cx.is_copy_limited(body) => (None, None),
        planned => planned,
    };
    let hi = extent.hi.clone();
    if let Some(decided) = &decided {
        cx.assign(decided.done, truth(false));
        cx.assign(decided.reached, hi.clone());
    }
    let mut inner = state.clone();
    let (masked, mut heads) = unfurl::masks(cx, &mut inner, body, index);
    heads.extend(unfurl::heads(cx, &inner, &masked, (index, &extent)));
    let parts = 1 + u32::from(decided.is_some());
    let nest = LoopletNest { extent: extent.clone(), heads, body: Rc::new(masked), state: inner, early_exit };
    cx.with_copies(parts, |cx| lower_loop(cx, nest));
    cx.unbind_index(index);
    if let Some(decided) = decided.filter(|_| !SeededFault::RestOfLoop.is_active()) {
        let rest = decided.body_without_fold(body);
        let lo = local(decided.reached);
        let remaining = cx.block(|cx| {
            cx.prover.assume_le(&extent.lo, &lo);
            let rest = |cx: &mut Cx<'_>| lower_rounds(cx, state, &rest, LoopExtent { lo: lo.clone(), ..extent });
            cx.if_below(&lo, &hi, |cx| cx.with_copies(parts, rest));
        });
        cx.push_if(local(decided.done), remaining, Vec::new());
    }
}

/// The memory of an accumulator: a position of a tensor's leaf.
pub(crate) struct LeafPosition {
    pub(crate) tensor: TensorId,
    pub(crate) position: Expr,
}

/// Moves accumulators whose position does not change in the loop into locals, so that the loop
/// works on registers in place of memory. An accumulator moves only if all writes of the tensor in
/// the loop fold into this accumulator, and the loop does not declare, freeze, thaw or swap the
/// tensor. Returns these accumulators, each with the memory to which the caller must store it after
/// the loop.
fn promote_accumulators(
    cx: &mut Cx<'_>,
    state: &mut LoweringState,
    body: &Tree,
    index: Index,
) -> Vec<(LeafPosition, Accumulator)> {
    let mut folds: Vec<(AccessId, TensorId)> = Vec::new();
    let mut mixed: Vec<TensorId> = Vec::new();
    body.for_each_assign(&mut |a| {
        if matches!(a.write, Write::Fold(_)) && !folds.contains(&(a.lhs, a.tensor)) {
            folds.push((a.lhs, a.tensor));
        } else if !matches!(a.write, Write::Fold(_)) {
            mixed.push(a.tensor);
        }
    });
    // Statements that declare, freeze, thaw or swap the tensor would not see the value in the
    // registers.
    body.for_each_lifecycle(&mut |tensor| mixed.push(tensor));
    let mut promoted = Vec::new();
    for &(id, tensor) in &folds {
        let alone = folds.iter().filter(|(_, t)| *t == tensor).count() == 1 || SeededFault::PromotedTwice.is_active();
        let alone = alone && (!mixed.contains(&tensor) || SeededFault::PromotedOverwrite.is_active());
        let format = &cx.program.tensors[tensor.index()].ty.format;
        let AccessCursor::Fiber(fiber) = &state.access(id).cursor else { continue };
        let is_leaf = fiber.level == format.levels.len() && fiber.present.is_none();
        if !alone || !is_leaf || format.leaf == LeafKind::Pattern {
            continue;
        }
        let (position, dirty) = (fiber.lo.clone(), fiber.dirty.clone());
        let leaf = LeafPosition { tensor, position };
        let current = match cx.tensor(tensor).fold_loop == Some(index) {
            true => LoweredValue::constant(&cx.program.tensors[tensor.index()].ty.fill),
            false => assign::load_leaf(cx, tensor, &leaf.position),
        };
        let parts = current.parts.into_iter().zip(current.dtype.prims()).map(|(part, prim)| {
            let register = cx.new_local("acc", prim);
            cx.assign(register, part);
            register
        });
        let accumulator = Accumulator { parts: Rc::new(parts.collect()), dirty };
        state.set(id, AccessCursor::Locals(accumulator.clone()));
        promoted.push((leaf, accumulator));
    }
    promoted
}

/// Returns whether the value of a term can be computed: its indices and variables are bound, and
/// each of its accesses reads a tensor, is resolved, and is not out of bounds.
pub(crate) fn is_computable(cx: &Cx<'_>, state: &LoweringState, t: &TreeTerm) -> bool {
    !t.any(&mut |part| match part {
        TreeTerm::Index(i) => cx.index(*i).is_none(),
        TreeTerm::Var(v) => cx.var(*v).is_none(),
        TreeTerm::Access(id) => {
            let acc = state.access(*id);
            acc.tensor.is_none() || acc.next_subscript().is_some() || matches!(acc.cursor, AccessCursor::Violation(_))
        }
        TreeTerm::Lit(_) | TreeTerm::Value(_) | TreeTerm::Call(..) => false,
    })
}

/// Returns the value of a term.
pub(crate) fn value(cx: &mut Cx<'_>, state: &LoweringState, t: &TreeTerm) -> LoweredValue {
    match t {
        TreeTerm::Lit(scalar) => LoweredValue::constant(scalar),
        TreeTerm::Index(i) => {
            let i = cx.index(*i).expect("indices are bound before they are used").clone();
            LoweredValue::prim(Prim::I64, i)
        }
        TreeTerm::Var(v) => cx.var(*v).expect("variables are bound before they are used").clone(),
        TreeTerm::Value(value) => value.clone(),
        TreeTerm::Access(id) => read(cx, state, *id),
        TreeTerm::Call(op, args) => {
            let facts = TermFacts::of(cx, state, t);
            call(cx, state, (op, args), &facts)
        }
    }
}

/// Returns the value of a call. `facts` are the facts of the call and of its arguments.
fn call(cx: &mut Cx<'_>, state: &LoweringState, (op, args): (&Op, &[TreeTerm]), facts: &TermFacts<'_>) -> LoweredValue {
    let guarded = cx.guard_facts(op, facts.args.iter().map(|arg| arg.facts).collect());
    let laws = cx.laws(&guarded);
    let each = |(k, (arg, facts)): (usize, (&TreeTerm, &TermFacts<'_>))| {
        cx.in_argument(op, k, |cx| match arg {
            TreeTerm::Call(op, args) => call(cx, state, (op, args), facts),
            arg => value(cx, state, arg),
        })
    };
    let args: Vec<LoweredValue> = args.iter().zip(&facts.args).enumerate().map(each).collect();
    expand_in(cx, op, &args, laws)
}

/// Returns the value of a term as a constant or in locals, which later writes to memory do not
/// change.
fn bind(cx: &mut Cx<'_>, state: &LoweringState, t: &TreeTerm) -> LoweredValue {
    let v = value(cx, state, t);
    if v.as_constant().is_some() || SeededFault::LateBinding.is_active() {
        return v;
    }
    let parts = v.parts.iter().zip(v.dtype.prims()).map(|(part, prim)| {
        let named = cx.new_local("v", prim);
        cx.assign(named, part.clone());
        cx.assume_range(named, part);
        local(named)
    });
    LoweredValue { parts: parts.collect(), dtype: v.dtype }
}

/// Returns the value of a resolved access. If the access is out of bounds and must not be, emits
/// the code that stops the kernel.
fn read(cx: &mut Cx<'_>, state: &LoweringState, id: AccessId) -> LoweredValue {
    let acc = state.access(id);
    let fiber = match &acc.cursor {
        AccessCursor::Fill(scalar) | AccessCursor::OutOfBounds(scalar) => return LoweredValue::constant(scalar),
        AccessCursor::Locals(accumulator) => {
            let dtype = match acc.tensor {
                Some(tensor) => cx.program.tensors[tensor.index()].ty.dtype.clone(),
                None => DType::BOOL,
            };
            return LoweredValue { dtype, parts: accumulator.parts.iter().map(|l| local(*l)).collect() };
        }
        AccessCursor::Fiber(fiber) => fiber.clone(),
        AccessCursor::Violation(violation) => {
            let tensor = acc.tensor.expect("a mask has no bounds");
            cx.fail(violation);
            return LoweredValue::constant(&cx.program.tensors[tensor.index()].ty.fill);
        }
        AccessCursor::Null => unreachable!("only a write has the null cursor"),
    };
    assert!(acc.unresolved().is_empty(), "all subscripts are resolved before a value is read");
    let tensor = acc.tensor.expect("a mask is resolved to a literal");
    let stored = assign::load_leaf(cx, tensor, &fiber.lo);
    if fiber.present.is_none() && fiber.replacements.is_empty() {
        return stored;
    }
    let dtype = stored.dtype;
    let prims = dtype.prims();
    let value: Vec<Local> = prims.iter().map(|prim| cx.new_local("v", *prim)).collect();
    let assign = |parts: Vec<Expr>| value.iter().zip(parts).map(|(v, part)| Stmt::Assign(*v, part)).collect();
    let literal = |scalar: &Scalar| -> Vec<Stmt> { assign(LoweredValue::constant(scalar).parts) };
    cx.extend(literal(&cx.program.tensors[tensor.index()].ty.fill));
    cx.push_if(fiber.present.unwrap_or_else(|| truth(true)), assign(stored.parts), Vec::new());
    // The first replacement that applies takes precedence, so it is assigned last.
    for replacement in fiber.replacements.iter().rev() {
        cx.push_if(not(&replacement.in_bounds), literal(&replacement.value), Vec::new());
    }
    LoweredValue { dtype, parts: value.into_iter().map(local).collect() }
}
