//! Unfurling: at a loop, every access whose next subscript the loop resolves becomes the looplet of
//! its fiber. A few comparisons between the index and a computed value become masks: tensors
//! without storage that unfurl to phases.

use super::build::{add, and, as_int, ceil_div, int, le, lt, max, min, mul, not, plus, split, sub};
use super::cx::Cx;
use super::level::{LevelId, lowering};
use super::looplets::mirror::mirror;
use super::looplets::shift::{OutOfBoundsEffect, Shift, permissive_lookup};
use super::looplets::{Head, LookupFn, LoopExtent, Looplet, SequencePhase};
use super::seeded_fault::SeededFault;
use super::simplify::{dtype_of, simplify};
use super::state::{AccessCursor, AccessState, Coordinate, Fiber, LoweredSubscript, LoweringState, SubscriptCheck};
use super::stmt;
use super::tree::{AccessId, Tree, TreeTerm};
use crate::assembly::Expr;
use crate::notation::Index;
use redpoll_logic::op::{Builtin, Op};
use redpoll_logic::physical::Protocol;
use redpoll_logic::{DType, Scalar};
use std::rc::Rc;

/// Limit on the number of comparisons of a loop that become masks, because the phases of masks
/// multiply. All other comparisons are evaluated at each coordinate.
const MAX_MASKS: usize = 3;

/// Bound on numbers in comparisons: sums and differences of a few coordinates and numbers up to
/// this bound do not overflow.
const MAX_COMPARISON_OPERAND: i64 = 1 << 60;

/// Limit on the stride of a subscript. If the stride is larger, each coordinate is looked up, since
/// sums might overflow.
const MAX_SCALE: u64 = 1 << 40;

/// `scale * index + offset`, where the offset is computed before the loop.
#[derive(PartialEq)]
struct LinearForm {
    scale: i64,
    offset: Expr,
}

/// Returns the accesses whose tensors the body does not declare: these can be unfurled before the
/// body runs.
fn accesses(state: &LoweringState, body: &Tree) -> Vec<AccessId> {
    let own = body.declared_tensors();
    let mut ids = body.accesses();
    ids.retain(|id| state.access(*id).tensor.is_none_or(|t| !own.contains(&t)));
    ids
}

/// Returns the heads of the accesses of `body` that a loop over `index` resolves, for an extent
/// that is not empty.
pub(crate) fn heads(
    cx: &mut Cx<'_>,
    state: &LoweringState,
    body: &Tree,
    (index, extent): (Index, &LoopExtent),
) -> Vec<Head> {
    let mut forms: Vec<(AccessId, LinearForm)> = Vec::new();
    for id in accesses(state, body) {
        let Some((sub, _)) = state.access(id).next_subscript() else { continue };
        let at = sub.at.clone();
        match linear(cx, state, &at, Some(index)) {
            // A write that appends, with a scale other than 1, waits until its coordinate is
            // computed.
            Some(form) if form.scale == 1 || (form.scale != 0 && !is_append(cx, state.access(id))) => {
                forms.push((id, form));
            }
            _ => {}
        }
    }
    group_heads(cx, state, forms, LoopContext { extent, body, phases: Vec::new() })
}

/// The loop at which accesses are unfurled.
struct LoopContext<'a> {
    extent: &'a LoopExtent,
    body: &'a Tree,
    /// The accesses whose bounds cut the loop into phases, in groups with one scale and one base of
    /// the offset. Each group has the constant terms of the offsets of its accesses. The numbers of
    /// phases add up within a group, and multiply across groups.
    phases: Vec<(LinearForm, Vec<i64>)>,
}

impl LoopContext<'_> {
    /// Returns whether the body must not be copied further.
    fn is_copy_limited(&self, cx: &Cx<'_>) -> bool {
        cx.is_copy_limited(self.body)
    }

    /// Returns whether the body may also be copied for the phases of one more access, and adds
    /// these phases if so. The phases of a single group, such as a stencil, are always few enough.
    fn add_phases(&mut self, cx: &Cx<'_>, form: &LinearForm) -> bool {
        let (base, constant) = split(&form.offset);
        let base = LinearForm { scale: form.scale, offset: base.cloned().unwrap_or_else(|| int(0)) };
        let list = match self.phases.iter().position(|(other, _)| *other == base) {
            Some(at) => at,
            None => {
                self.phases.push((base, Vec::new()));
                self.phases.len() - 1
            }
        };
        let ends = &mut self.phases[list].1;
        if ends.contains(&constant) {
            return true;
        }
        ends.push(constant);
        let parts = self.phases.iter().fold(1, |parts: u32, (_, ends)| parts.saturating_mul(2 + ends.len() as u32));
        let fits = self.phases.len() == 1 || !cx.is_limited_after(parts, self.body);
        if !fits {
            self.phases[list].1.pop();
            self.phases.retain(|(_, ends)| !ends.is_empty());
        }
        fits
    }
}

/// Returns one head for the first access whose next subscript can be computed and for all accesses
/// equal to it, with the coordinate of that subscript; `None` if there is no such access.
pub(crate) fn computable_head(cx: &mut Cx<'_>, state: &LoweringState, body: &Tree) -> Option<(Head, Expr)> {
    let ids = accesses(state, body);
    for &id in &ids {
        let Some((sub, _)) = state.access(id).next_subscript() else { continue };
        let at = sub.at.clone();
        if !stmt::is_computable(cx, state, &at) {
            continue;
        }
        let coordinate = cx.coordinate_value(state, &at);
        let identity = || LinearForm { scale: 1, offset: int(0) };
        let equal: Vec<(AccessId, LinearForm)> = ids
            .iter()
            .filter(|other| have_same_next(cx, state.access(id), state.access(**other)))
            .map(|other| (*other, identity()))
            .collect();
        let extent = LoopExtent { index: None, hi: plus(&coordinate, 1), lo: coordinate.clone() };
        let context = LoopContext { extent: &extent, body, phases: Vec::new() };
        let mut head = group_heads(cx, state, equal, context).pop().expect("equal accesses share one head");
        head.looplet = guard_bounds(cx, state.access(id), head.looplet, &coordinate);
        return Some((head, coordinate));
    }
    None
}

/// Guards the looplet at a coordinate that is in bounds in every round of the enclosing loops, but
/// may be out of bounds if these loops have no rounds. The code runs in that case too, and must
/// then load nothing.
fn guard_bounds(cx: &Cx<'_>, acc: &AccessState, looplet: Looplet, at: &Expr) -> Looplet {
    let (sub, fiber) = acc.next_subscript().expect("the access has an unresolved subscript");
    let tensor = acc.tensor.expect("a mask has no subscripts");
    let dimension = &cx.level(LevelId { tensor: cx.levels_of(tensor), level: fiber.level }).dimension;
    let proved = cx.prover.le(&int(0), at) && cx.prover.lt(at, dimension);
    if proved || sub.outside.is_some() || sub.check != SubscriptCheck::Proved {
        return looplet;
    }
    let no_effect = if acc.writes { Looplet::Null } else { Looplet::Run(cx.fill(tensor)) };
    Looplet::Switch {
        cond: and(&le(&int(0), at), &lt(at, dimension)),
        then: Rc::new(looplet),
        other: Rc::new(no_effect),
    }
}

/// Returns whether an access writes into levels of its own tensor, not into the pattern of an
/// input.
fn is_append(cx: &Cx<'_>, acc: &AccessState) -> bool {
    acc.writes && acc.tensor.is_some_and(|t| cx.levels_of(t) == t)
}

/// Returns whether two accesses select from the same fiber by the same subscript. Writes into the
/// pattern of an input match reads of that input by any protocol.
fn have_same_next(cx: &Cx<'_>, a: &AccessState, b: &AccessState) -> bool {
    let levels = |acc: &AccessState| acc.tensor.map(|t| cx.levels_of(t));
    levels(a) == levels(b) && is_append(cx, a) == is_append(cx, b) && a.cursor == b.cursor && {
        match (a.next_subscript(), b.next_subscript()) {
            (Some((x, _)), Some((y, _))) if a.writes == b.writes => x == y,
            (Some((x, _)), Some((y, _))) => x.at == y.at && x.outside == y.outside && x.check == y.check,
            _ => false,
        }
    }
}

/// Returns one head for each set of equal accesses.
fn group_heads(
    cx: &mut Cx<'_>,
    state: &LoweringState,
    forms: Vec<(AccessId, LinearForm)>,
    mut context: LoopContext<'_>,
) -> Vec<Head> {
    let mut heads: Vec<Head> = Vec::new();
    for (id, form) in forms {
        let acc = state.access(id).clone();
        if let Some(head) = heads.iter_mut().find(|h| have_same_next(cx, state.access(h.members[0]), &acc)) {
            head.members.push(id);
            continue;
        }
        let looplet = unfurl(cx, &acc, &form, &mut context);
        heads.push(Head { looplet, members: vec![id] });
    }
    heads
}

/// Returns the looplet of an access in terms of the loop's index. If the body must not be copied
/// further, reads out of bounds are detected at each lookup, not by copies of the body.
fn unfurl(cx: &mut Cx<'_>, acc: &AccessState, form: &LinearForm, context: &mut LoopContext<'_>) -> Looplet {
    let (sub, fiber) = acc.next_subscript().expect("the access has an unresolved subscript");
    let at = LevelId { tensor: cx.levels_of(acc.tensor.expect("a mask has no subscripts")), level: fiber.level };
    let writes = is_append(cx, acc);
    let kind = lowering(cx.level(at).format.kind);
    let dimension = cx.level(at).dimension.clone();
    let absent = fiber.present == Some(super::build::truth(false));
    let far = form.scale.unsigned_abs() > MAX_SCALE;
    let protocol = if far { Protocol::Follow } else { sub.protocol };
    let outside =
        out_of_bounds_effect(cx, acc, sub, fiber).filter(|_| !is_in_bounds(cx, form, context.extent, &dimension));
    // There are no entries out of bounds. If coordinates out of bounds read as the fill value, as
    // gaps do, the level's looplet needs no bounds.
    let is_gap = |cx: &Cx<'_>, outside: &OutOfBoundsEffect| match outside {
        OutOfBoundsEffect::Read(value) => protocol != Protocol::Follow && cx.fill(at.tensor) == *value,
        OutOfBoundsEffect::None | OutOfBoundsEffect::Violation { .. } => false,
    };
    let guarded_lookup = |cx: &mut Cx<'_>, outside: &OutOfBoundsEffect| {
        let lookup = lookup(cx, at, fiber);
        permissive_lookup(lookup, outside.clone(), form.scale, form.offset.clone(), dimension.clone())
    };
    let point = context.extent.is_point(cx) && sub.outside.is_none();
    match &outside {
        Some(outside) if !acc.writes && !point && (far || context.is_copy_limited(cx) && !is_gap(cx, outside)) => {
            return guarded_lookup(cx, outside);
        }
        _ => {}
    }
    let looplet = match (writes, absent) {
        (false, true) => Looplet::Run(cx.fill(at.tensor)),
        (true, _) if form.scale > 0 => kind.write(cx, at, fiber),
        (false, _) if form.scale > 0 => kind.read(cx, at, fiber, protocol),
        _ => backward(cx, at, fiber, (!writes).then_some(protocol)),
    };
    // With a negative scale, coordinates and their bounds are negated.
    let bounds = match form.scale {
        0.. => (int(0), dimension.clone()),
        _ => (super::build::sub(&int(1), &dimension), int(1)),
    };
    let scale = form.scale.saturating_abs();
    let offset = if form.scale > 0 { form.offset.clone() } else { super::build::sub(&int(0), &form.offset) };
    let shift = Shift { scale, offset };
    let shifted = shift.apply(cx, &looplet, &bounds.1);
    match &outside {
        None => shifted,
        Some(OutOfBoundsEffect::Read(value)) if !acc.writes && shifted.has_gaps_of(value) => shifted,
        Some(outside) if point => {
            let coordinate = cx.name("i", &add(&mul(&int(form.scale), &context.extent.lo), &form.offset));
            let inside = and(&le(&int(0), &coordinate), &lt(&coordinate, &dimension));
            outside.unless(&inside, shifted, &coordinate)
        }
        Some(outside) if !acc.writes && (context.is_copy_limited(cx) || !context.add_phases(cx, form)) => {
            guarded_lookup(cx, outside)
        }
        Some(outside) => {
            let LoopExtent { index, lo, .. } = context.extent;
            let along = |first: &Expr| {
                let (scale, offset) = (form.scale, form.offset.clone());
                outside.looplet(&|| Coordinate::Affine {
                    index: *index,
                    scale,
                    offset: offset.clone(),
                    first: first.clone(),
                })
            };
            // If the ends of the phases wrap around, the inner phase is empty or has exactly the
            // coordinates in bounds.
            shift.restrict(shifted, &along, (&bounds.0, &bounds.1), lo)
        }
    }
}

/// Returns the effect of an access out of the bounds of a level; `None` if the access is proved to
/// be in bounds.
fn out_of_bounds_effect(
    cx: &Cx<'_>,
    acc: &AccessState,
    sub: &LoweredSubscript,
    fiber: &Fiber,
) -> Option<OutOfBoundsEffect> {
    let tensor = acc.tensor.expect("a mask has no subscripts");
    let fill = &cx.program.tensors[tensor.index()].ty.fill;
    let is_fill = |value: &Scalar| value == fill && !acc.can_differ_outside(fiber.level + 1, fill);
    let is_outer = fiber.level + 1 < acc.subscripts.len();
    let reads = |value: &Scalar| match is_fill(value) || (is_outer && SeededFault::OutsideIsFill.is_active()) {
        true => OutOfBoundsEffect::Read(AccessCursor::Fill(fill.clone())),
        false => OutOfBoundsEffect::Read(AccessCursor::OutOfBounds(value.clone())),
    };
    match (&sub.outside, sub.check) {
        (Some(_), _) if acc.writes => Some(OutOfBoundsEffect::None),
        (Some(value), _) => Some(reads(value)),
        (None, SubscriptCheck::Proved) => None,
        (None, SubscriptCheck::Guarded) if acc.writes => Some(OutOfBoundsEffect::None),
        (None, SubscriptCheck::Guarded) => Some(reads(fill)),
        (None, SubscriptCheck::Checked(site)) => {
            let absent = fiber.present.as_ref().map(|present| (not(present), cx.fill(tensor)));
            Some(OutOfBoundsEffect::Violation { site, absent })
        }
    }
}

/// Returns whether coordinates with the scale 1 are proved to be in bounds over an extent that is
/// not empty; false for other scales.
fn is_in_bounds(cx: &Cx<'_>, form: &LinearForm, extent: &LoopExtent, dimension: &Expr) -> bool {
    let first = add(&extent.lo, &form.offset);
    let end = add(&extent.hi, &form.offset);
    form.scale == 1 && cx.prover.le(&int(0), &first) && cx.prover.le(&end, dimension)
}

/// Returns the looplet of a read or a write in negated coordinates. A read is a lookup if the level
/// cannot be read from the end and its looplet cannot be mirrored.
fn backward(cx: &mut Cx<'_>, at: LevelId, fiber: &Fiber, reads: Option<Protocol>) -> Looplet {
    let kind = lowering(cx.level(at).format.kind);
    let dimension = cx.level(at).dimension.clone();
    let Some(protocol) = reads else {
        return mirror(&kind.write(cx, at, fiber), &dimension).expect("writes do not step");
    };
    if protocol != Protocol::Follow
        && let Some(looplet) = kind.read_backward(cx, at, fiber, protocol)
    {
        return looplet;
    }
    mirror(&kind.read(cx, at, fiber, protocol), &dimension).unwrap_or_else(|| {
        let lookup = Looplet::Lookup(lookup(cx, at, fiber));
        mirror(&lookup, &dimension).expect("a lookup does not step")
    })
}

/// Returns the lookup of single coordinates in a fiber.
fn lookup(cx: &mut Cx<'_>, at: LevelId, fiber: &Fiber) -> LookupFn {
    if fiber.present == Some(super::build::truth(false)) {
        let fill = cx.fill(at.tensor);
        return Rc::new(move |_: &mut Cx<'_>, _: &Expr| Looplet::Run(fill.clone()));
    }
    match lowering(cx.level(at).format.kind).read(cx, at, fiber, Protocol::Follow).strip_thunks(cx) {
        Looplet::Lookup(lookup) => lookup,
        _ => unreachable!("every level supports lookups"),
    }
}

impl Looplet {
    /// Returns whether the looplet lists entries, with only `cursor` before, between and after
    /// them.
    fn has_gaps_of(&self, cursor: &AccessCursor) -> bool {
        match self {
            Looplet::Thunk { body, .. } => body.has_gaps_of(cursor),
            Looplet::Stepper(s) | Looplet::Jumper(s) => {
                s.rest == *cursor
                    && match &s.chunk {
                        Looplet::Spike { body, .. } => body == cursor,
                        gap_and_block => gap_and_block.has_gaps_of(cursor),
                    }
            }
            // A gap and a block, possibly followed by another gap.
            Looplet::Sequence(phases) => {
                let gap = |p: &SequencePhase| matches!(&p.body, Looplet::Run(run) if run == cursor);
                phases.len() <= 3 && gap(&phases[0]) && phases.iter().skip(2).all(gap)
            }
            _ => false,
        }
    }

    /// Returns the looplet inside thunks, and emits their preambles. The thunks must have no
    /// epilogues, which would be lost.
    fn strip_thunks(self, cx: &mut Cx<'_>) -> Looplet {
        match self {
            Looplet::Thunk { preamble, body, .. } => {
                cx.extend(preamble);
                (*body).clone().strip_thunks(cx)
            }
            other => other,
        }
    }
}

/// Turns the first [`MAX_MASKS`] comparisons of the index into masks, if [`mask`] finds their
/// phases and no round changes a value that they read. Returns the body with an access in place of
/// each comparison that became a mask, and a head for each such access. If the body must not be
/// copied further, a comparison becomes a mask only if the body has no effect where the comparison
/// is true, or none where it is false.
pub(crate) fn masks(cx: &mut Cx<'_>, state: &mut LoweringState, body: &Tree, index: Index) -> (Tree, Vec<Head>) {
    let mut comparisons: Vec<TreeTerm> = Vec::new();
    body.for_each_term(&mut |t| collect_comparisons(t, index, &mut comparisons));
    // Comparisons of values that the rounds change are evaluated in each round.
    let written = body.written_tensors();
    comparisons.retain(|c| {
        SeededFault::ChangedMask.is_active()
            || !c.any(&mut |t| matches!(t, TreeTerm::Access(id) if state.is_access_of(*id, &written)))
    });
    let mut replaced: Vec<(TreeTerm, AccessId)> = Vec::new();
    let mut heads = Vec::new();
    comparisons.truncate(MAX_MASKS);
    for comparison in comparisons {
        if cx.is_copy_limited(body) && !is_decisive(cx, state, body, &comparison) {
            continue;
        }
        let Some(looplet) = mask(cx, state, &comparison, index) else { continue };
        let id = state.push(AccessState {
            tensor: None,
            subscripts: Rc::new(Vec::new()),
            writes: false,
            cursor: unresolved_mask(),
        });
        heads.push(Head { looplet, members: vec![id] });
        replaced.push((comparison, id));
    }
    if replaced.is_empty() {
        return (body.clone(), heads);
    }
    let find = |t: &TreeTerm| replaced.iter().find(|(c, _)| c == t).map(|(_, id)| TreeTerm::Access(*id));
    (body.map(&mut |t| t.replace(&mut |part| find(part)), &mut Tree::Assign), heads)
}

/// Returns whether the body has no effect where a comparison is true, or none where it is false.
fn is_decisive(cx: &Cx<'_>, state: &LoweringState, body: &Tree, comparison: &TreeTerm) -> bool {
    [true, false].into_iter().any(|value| {
        let literal = TreeTerm::Lit(Scalar::Bool(value));
        let part = body.map(&mut |t| t.replace(&mut |p| (p == comparison).then(|| literal.clone())), &mut Tree::Assign);
        simplify(cx, state, &part).is_empty()
    })
}

/// Returns the cursor of a mask before it is resolved.
fn unresolved_mask() -> AccessCursor {
    AccessCursor::Fiber(Fiber::root())
}

fn collect_comparisons(t: &TreeTerm, index: Index, comparisons: &mut Vec<TreeTerm>) {
    let TreeTerm::Call(op, args) = t else { return };
    let is_comparison =
        matches!(op, Op::Builtin(Builtin::Lt | Builtin::Le | Builtin::Gt | Builtin::Ge | Builtin::Eq | Builtin::Ne));
    if is_comparison && t.any(&mut |part| *part == TreeTerm::Index(index)) {
        if !comparisons.contains(t) {
            comparisons.push(t.clone());
        }
        return;
    }
    args.iter().for_each(|a| collect_comparisons(a, index, comparisons));
}

/// Returns the phases of a comparison between linear forms of the index, or between
/// `floordiv(form, width)` and a value that does not depend on the index. Returns `None` in three
/// cases: the comparison has another form, the index cancels out, or a side with the index may
/// overflow.
fn mask(cx: &mut Cx<'_>, state: &LoweringState, comparison: &TreeTerm, index: Index) -> Option<Looplet> {
    let TreeTerm::Call(Op::Builtin(op), args) = comparison else { return None };
    let is_index = |cx: &Cx<'_>, t: &TreeTerm| dtype_of(cx, state, t) == DType::I64;
    if !args.iter().all(|a| is_index(cx, a)) {
        return None;
    }
    let [(left_term, left_width), (right_term, right_width)] = [0, 1].map(|k| quotient(cx, state, &args[k]));
    let mut left = linear(cx, state, left_term, Some(index))?;
    let mut right = linear(cx, state, right_term, Some(index))?;
    // A quotient can be compared only with a value that does not depend on the index.
    let width = left_width.max(right_width);
    if left_width > 1 && right.scale != 0 || right_width > 1 && left.scale != 0 {
        return None;
    }
    // Sums wrap around, so terms may change sides only if both sides are small. A side without the
    // index may be large and is clamped: coordinates are small, so the result does not change.
    let most = MAX_COMPARISON_OPERAND / width;
    for (side, term) in [(&mut left, left_term), (&mut right, right_term)] {
        match side.scale {
            0 if width > 1 => {
                side.offset = mul(&int(width), &max(&min(&side.offset, &int(most)), &int(-most)));
            }
            _ if is_small(term) => {}
            0 => side.offset = max(&min(&side.offset, &int(most)), &int(-most)),
            _ => return None,
        }
    }
    // Solves (left scale - right scale) * i + left offset  op  right offset. From the threshold on,
    // `width` values are equal to the threshold or have the same quotient.
    let (op, scale, threshold) = match left.scale - right.scale {
        0 => return None,
        scale if scale > 0 => (*op, scale, sub(&right.offset, &left.offset)),
        scale => (exchange_sides(*op), -scale, sub(&left.offset, &right.offset)),
    };
    let is_exchanged = left.scale - right.scale < 0;
    let descends = width > 1 && is_exchanged == (left_width > 1);
    let threshold = if descends { plus(&threshold, 1 - width) } else { threshold };
    let threshold = cx.name("t", &threshold);
    // The first index at or after the threshold, and the first after the equal values.
    let t = cx.name("t", &ceil_div(&threshold, scale));
    let (start, end) = (t, cx.name("t", &ceil_div(&plus(&threshold, width), scale)));
    let phase = |stop: Option<Expr>, value: bool| SequencePhase {
        stop,
        body: Looplet::Run(AccessCursor::Fill(Scalar::Bool(value))),
    };
    Some(Looplet::Sequence(match op {
        Builtin::Lt => vec![phase(Some(start), true), phase(None, false)],
        Builtin::Le => vec![phase(Some(end), true), phase(None, false)],
        Builtin::Gt => vec![phase(Some(end), false), phase(None, true)],
        Builtin::Ge if SeededFault::MaskEqual.is_active() => vec![phase(Some(end), false), phase(None, true)],
        Builtin::Ge => vec![phase(Some(start), false), phase(None, true)],
        Builtin::Eq => vec![phase(Some(start), false), phase(Some(end), true), phase(None, false)],
        _ => vec![phase(Some(start), true), phase(Some(end), false), phase(None, true)],
    }))
}

/// Returns the numerator and the denominator of a term that is a `floordiv` by a small literal and
/// cannot be computed yet. Other terms have the denominator 1.
fn quotient<'t>(cx: &Cx<'_>, state: &LoweringState, t: &'t TreeTerm) -> (&'t TreeTerm, i64) {
    match t {
        TreeTerm::Call(Op::Builtin(Builtin::FloorDiv), args) if !stmt::is_computable(cx, state, t) => match &args[..] {
            [of, TreeTerm::Lit(Scalar::I64(by))] if (2..=1 << 20).contains(by) => (of, *by),
            _ => (t, 1),
        },
        _ => (t, 1),
    }
}

/// Returns the comparison that holds if and only if `op` holds with its sides exchanged.
fn exchange_sides(op: Builtin) -> Builtin {
    match op {
        Builtin::Lt => Builtin::Gt,
        Builtin::Le => Builtin::Ge,
        Builtin::Gt => Builtin::Lt,
        Builtin::Ge => Builtin::Le,
        same => same,
    }
}

/// Returns whether an `i64` term is made of indices and small numbers by sums, differences, and
/// products with a small number.
fn is_small(t: &TreeTerm) -> bool {
    let small = |t: &TreeTerm| matches!(t, TreeTerm::Lit(Scalar::I64(v)) if v.unsigned_abs() <= 1 << 20);
    match t {
        TreeTerm::Index(_) => true,
        TreeTerm::Call(Op::Builtin(Builtin::Add | Builtin::Sub | Builtin::Neg), args) => args.iter().all(is_small),
        TreeTerm::Call(Op::Builtin(Builtin::Mul), args) => args.iter().all(is_small) && args.iter().any(small),
        t => small(t),
    }
}

/// Returns the term as a linear form of the index whose offset can be computed; `None` for other
/// terms, and if the scale overflows.
fn linear(cx: &mut Cx<'_>, state: &LoweringState, t: &TreeTerm, index: Option<Index>) -> Option<LinearForm> {
    if let (TreeTerm::Index(i), Some(index)) = (t, index)
        && *i == index
    {
        return Some(LinearForm { scale: 1, offset: int(0) });
    }
    if stmt::is_computable(cx, state, t) {
        return Some(LinearForm { scale: 0, offset: cx.coordinate_value(state, t) });
    }
    let TreeTerm::Call(Op::Builtin(op @ (Builtin::Add | Builtin::Sub | Builtin::Neg | Builtin::Mul)), args) = t else {
        return None;
    };
    let mut forms = Vec::new();
    for a in args {
        let is_index = dtype_of(cx, state, a) == DType::I64;
        forms.push(is_index.then(|| linear(cx, state, a, index))??);
    }
    let form = |scale: Option<i64>, offset: Expr| Some(LinearForm { scale: scale?, offset });
    // A form whose scale overflows is not linear.
    match (op, &forms[..]) {
        (Builtin::Add, all) => all.iter().try_fold(LinearForm { scale: 0, offset: int(0) }, |a, b| {
            form(a.scale.checked_add(b.scale), add(&a.offset, &b.offset))
        }),
        (Builtin::Sub, [a, b]) => form(a.scale.checked_sub(b.scale), sub(&a.offset, &b.offset)),
        (Builtin::Neg, [a]) => form(a.scale.checked_neg(), sub(&int(0), &a.offset)),
        (Builtin::Mul, [a, b]) => {
            let (factor, other) = if a.scale == 0 { (a, b) } else { (b, a) };
            let by = as_int(&factor.offset).filter(|_| factor.scale == 0)?;
            form(other.scale.checked_mul(by), mul(&int(by), &other.offset))
        }
        _ => None,
    }
}

impl Cx<'_> {
    /// Returns the value of an `i64` term that can be computed, as an expression that is cheap to
    /// repeat.
    fn coordinate_value(&mut self, state: &LoweringState, t: &TreeTerm) -> Expr {
        let value = stmt::value(self, state, t);
        self.name("i", value.single())
    }
}
