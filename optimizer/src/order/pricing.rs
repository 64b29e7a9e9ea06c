//! Counts the work of a loop order: the work of binding each loop, and the remaining work of the
//! complete order (inner folds, values, writes). The file also has the work of converting a tensor,
//! the depth at which a fold is computed in place, and the fraction of iterations that an output
//! needs.
//!
//! An access takes a step along a list or looks up a coordinate in each round of the loop that
//! binds one of its levels. `intersection` counts the steps of lists that one loop binds together.
//! If the loops outside of a level are not exactly the loops that bind its outer levels, the access
//! returns to the same positions later. A repeated access misses if the caches do not hold the
//! bytes accessed in between; `lines` counts these misses for arrays.

use crate::access::fit::{AccessLevels, DenseExtent, LevelUse};
use crate::access::intersection::{
    FiberWorkspace, ListLevel, LoopRounds, cheapest_protocols, is_searchable, shortest_walked_length,
};
use crate::facts::Facts;
use crate::facts::estimate::{BoundFields, SupportProfile, either};
use crate::order::lines::aliased_fraction;
use crate::order::search::{
    FormatAssumption, InnerFold, LoopBody, OrderSearch, PricedAccess, inline_work, stored_work,
};
use crate::term::sizes::Sizes;
use crate::term::{Fold, ModeCoordinate, NestKind, Node, Read, Target, Term};
use crate::work::caches::miss_fraction;
use crate::work::{Event, Work, cost};
use redpoll_logic::op::Op;
use redpoll_logic::statistics::Question;
use redpoll_logic::{Field, FloatMode, LevelKind, Lookup, Scalar};
use smallvec::SmallVec;
use std::rc::Rc;

/// The levels that one loop binds.
#[derive(Clone, Default)]
pub(crate) struct BoundLevels {
    /// Levels that store some of the coordinates and determine which coordinates the loop visits.
    walked: Vec<ListLevel>,
    /// Levels that are looked up in every round.
    followed: Vec<LookupLevel>,
    /// Dense levels that are read along a loop over every coordinate.
    along: Vec<LookupLevel>,
    /// For each walked level, the bytes accessed between two accesses to the start of the same
    /// fiber.
    fiber_spans: Vec<f64>,
    /// Bytes of an entry and of all entries, for each tensor that is read in order.
    streams: Vec<(f64, f64)>,
    /// Work of the copies that the accesses need.
    copies: Vec<Work>,
}

/// A level that is looked up in every round, or read along the loop.
#[derive(Clone)]
struct LookupLevel {
    kind: LevelKind,
    /// Bytes accessed between two accesses to the same position.
    span: f64,
    /// The extents of all levels of the access, if all are dense.
    extents: Option<Rc<[DenseExtent]>>,
}

impl BoundLevels {
    fn append(&mut self, other: &BoundLevels) {
        self.walked.extend(&other.walked);
        self.followed.extend_from_slice(&other.followed);
        self.along.extend_from_slice(&other.along);
        self.fiber_spans.extend(&other.fiber_spans);
        self.streams.extend(&other.streams);
        self.copies.extend(&other.copies);
    }
}

impl OrderSearch<'_> {
    /// Returns the work of binding the last loop of `order`.
    pub(crate) fn count_binding_work(&self, order: &[usize]) -> Work {
        let last = order[order.len() - 1];
        let (rounds, fibers) = (self.rounds(order), self.rounds(&order[..order.len() - 1]));
        let (mut bound_levels, mut lists) = (BoundLevels::default(), Vec::new());
        for access in &self.accesses {
            // Accesses that are discordant in every order are priced with the first loop.
            if order.len() == 1 || access.loops.contains(&last) {
                bound_levels.append(&self.bound_levels(order, access));
                lists.resize(bound_levels.walked.len(), access);
            }
        }
        // For a single list, the rounds already give its length.
        if lists.len() > 1 && self.facts.may_measure() {
            let bound = |f: &Field| self.position(&order[..order.len() - 1], f).is_some();
            let (outside, field) = (self.outside_profile(&bound), &self.loops[last]);
            for (list, access) in bound_levels.walked.iter_mut().zip(&lists) {
                let length =
                    self.facts.reached_fiber_length(access.read, &outside, self.problem.sizes, (&bound, field));
                list.fiber_length = length.unwrap_or(list.fiber_length);
            }
        }
        let BoundLevels { mut walked, mut followed, along, fiber_spans, streams, copies } = bound_levels;
        let mut work = copies.into_iter().fold(Work::NONE, |all, copy| all + copy);
        fiber_spans.into_iter().for_each(|span| work.add_misses(fibers, span));
        move_tables(&mut walked, &mut followed);
        if let Some(fixed_depth) = walked.iter().map(|list| list.fixed_depth).max() {
            let new_fibers = self.rounds_outside(order, fixed_depth).min(fibers);
            work.add(Event::Enter, new_fibers);
            work.add(Event::EnterAgain, fibers - new_fibers);
            let ends = walked.iter().map(|list| list.fiber_count).fold(0.0, f64::max);
            work.add(Event::End, fibers * miss_fraction(cost::PREDICTED_ENDS, ends));
        } else if self.problem.sizes.split(&self.loops[last]).is_none() {
            // Loops inside a block are short and of constant length; compilers unroll them.
            work.add(Event::EnterDense, fibers);
        }
        let steps = if walked.is_empty() {
            let steps = rounds.max(fibers * self.problem.sizes.of(&self.loops[last]) as f64);
            // Rounds of outer loops are priced as starts of the loops inside.
            if order.len() == self.loops.len() {
                let strided = followed.iter().any(|level| level.kind == LevelKind::Dense);
                work.add(if strided { Event::StridedRound } else { Event::DenseRound }, steps);
                let misses = along.iter().map(|level| miss_fraction(cost::NEAR_CACHE, level.span)).sum::<f64>();
                work.add(Event::StreamNear, steps * misses);
            }
            steps
        } else {
            work.add(Event::Round, rounds);
            followed.extend(along);
            work += self.restrict_to_window(order, fibers, &mut walked);
            let of = |depth: usize| self.rounds_outside(order, depth);
            let (protocols, steps) = cheapest_protocols(&walked, &LoopRounds { own: rounds, outside: fibers, of: &of });
            work += steps;
            rounds.max(fibers * shortest_walked_length(&walked, &protocols))
        };
        for LookupLevel { kind, span, extents } in followed {
            work.add(cost::follow(kind), steps);
            match extents {
                Some(extents) => {
                    work.add(
                        Event::AliasedRead,
                        steps * aliased_fraction(&extents, self.problem.prefix.len() + order.len() - 1),
                    );
                    self.add_line_misses(&mut work, (order, steps), (&extents, span));
                }
                None => work.add_misses(steps, span),
            }
        }
        for (entry_bytes, all_bytes) in streams {
            work.add(Event::Stream, steps * entry_bytes / 8.0 * miss_fraction(cost::FAR_CACHE, all_bytes));
        }
        work
    }

    /// Returns the profile of the coordinates over the bound fields that loops reach. The conjunct
    /// accesses and the enclosing loops limit these coordinates.
    fn outside_profile(&self, bound: &BoundFields) -> SupportProfile {
        let conjuncts: Vec<&Read> =
            self.accesses.iter().filter(|access| access.is_conjunct).map(|access| access.read).collect();
        let own = self.facts.joint_profile(&conjuncts, self.problem.sizes, bound);
        self.facts.intersection([&own, self.problem.outside])
    }

    /// Returns the levels of an access that the last loop of `order` binds; computed once.
    fn bound_levels(&self, order: &[usize], access: &PricedAccess<'_>) -> Rc<BoundLevels> {
        let position = |k: &usize| order.iter().position(|l| l == k).map_or(u8::MAX, |at| at as u8);
        let key: SmallVec<[u8; 8]> = access.loops.iter().map(position).chain([order.len() as u8]).collect();
        if let Some(cached) = access.bound_levels.borrow().get(&key) {
            return cached.clone();
        }
        let mut bound_levels = BoundLevels::default();
        self.collect_bound_levels(order, access, &mut bound_levels);
        let bound_levels = Rc::new(bound_levels);
        access.bound_levels.borrow_mut().insert(key, bound_levels.clone());
        bound_levels
    }

    fn collect_bound_levels(&self, order: &[usize], access: &PricedAccess<'_>, bound_levels: &mut BoundLevels) {
        let PricedAccess { read, levels, is_conjunct, .. } = access;
        let shorter = &order[..order.len() - 1];
        let loop_depth = self.problem.prefix.len() + shorter.len();
        let positions = |f: &Field| self.position(order, f);
        let before = |f: &Field| self.position(shorter, f);
        let uses = levels.fit(&positions, self.problem.kind);
        if uses.contains(&LevelUse::Discordant) {
            if shorter.is_empty() || !levels.fit(&before, self.problem.kind).contains(&LevelUse::Discordant) {
                bound_levels.copies.push(self.copy_work(read));
            }
            self.collect_copy_levels(order, access, bound_levels);
            return;
        }
        let aligned = levels.aligned_levels(&positions);
        let extents = levels.dense_extents(positions, self.problem.sizes);
        let mut outside = Some(0);
        for (depth, ((kind, binding_depth), level_use)) in levels.binding_depths(&positions).zip(uses).enumerate() {
            let fixed_depth = std::mem::replace(&mut outside, binding_depth);
            if binding_depth != Some(loop_depth + 1) {
                continue;
            }
            let span = if depth < aligned { 0.0 } else { self.bytes_below(read, aligned) };
            match level_use {
                LevelUse::Walk if kind == LevelKind::Dense => {
                    bound_levels.along.push(LookupLevel { kind, span, extents: extents.clone() });
                }
                LevelUse::Walk => {
                    let fixed_depth = fixed_depth.unwrap_or(loop_depth);
                    let workspace = match is_conjunct {
                        true => FiberWorkspace::of(read, depth, fixed_depth, loop_depth),
                        false => None,
                    };
                    let fiber_length = self.fanout(read, depth);
                    bound_levels.walked.push(ListLevel {
                        kind,
                        fiber_count: self.positions(read, depth),
                        fiber_length,
                        average_length: fiber_length,
                        fixed_depth,
                        is_conjunct: *is_conjunct,
                        workspace,
                        is_searchable: is_searchable(read, depth),
                    });
                    bound_levels.fiber_spans.push(span);
                }
                LevelUse::Follow => bound_levels.followed.push(LookupLevel { kind, span, extents: extents.clone() }),
                LevelUse::Discordant => unreachable!("discordant accesses are priced as copies"),
            }
            if depth < aligned && depth + 1 == read.ty.format.levels.len() {
                bound_levels.streams.push((entry_bytes(read), self.bytes_below(read, 0)));
            }
        }
    }

    /// Adds the levels that the last loop of `order` binds in a copy with concordant levels.
    fn collect_copy_levels(&self, order: &[usize], access: &PricedAccess<'_>, bound_levels: &mut BoundLevels) {
        let read = access.read;
        let (last, shorter) = order.split_last().expect("a loop is bound");
        let binds = |k: usize| read.coordinates.iter().any(|at| at.has(&self.loops[k]));
        if !binds(*last) {
            return;
        }
        let whole = Term::access(read.clone());
        let distinct = |order: &[usize]| {
            let bound = |f: &Field| self.position(order, f).is_some();
            let dimensions = read.coordinates.iter().zip(&read.ty.shape).filter(|(at, _)| at.all_fields(bound));
            let coordinate_count: f64 = dimensions.map(|(_, &n)| n as f64).product();
            coordinate_count * self.facts.support(&whole, self.problem.sizes, &bound)
        };
        let stored = self.positions(read, read.ty.format.levels.len());
        let is_reread = !self.problem.prefix.is_empty() || order.iter().any(|k| !binds(*k));
        let span = if is_reread { 12.0 * stored } else { 0.0 };
        let is_dense = read.ty.format.is_dense();
        // The loops around a fold may bind some levels of the read.
        let prefix = self.problem.prefix.iter().any(|f| read.coordinates.iter().any(|at| at.has(f)));
        let outermost = !prefix && !shorter.iter().any(|k| binds(*k));
        let own = |at: &&ModeCoordinate| at.has(&self.loops[*last]);
        if !read.coordinates.iter().filter(own).any(|at| at.as_affine().is_some()) {
            // Quotients, remainders and values are looked up in the copy, whatever its storage
            // order.
            let kind = if is_dense { LevelKind::Dense } else { LevelKind::SparseList };
            bound_levels.followed.push(LookupLevel { kind, span, extents: None });
        } else if is_dense || outermost && self.problem.sizes.of(&self.loops[*last]) as f64 <= 4.0 * stored + 16.0 {
            bound_levels.along.push(LookupLevel { kind: LevelKind::Dense, span, extents: None });
        } else {
            let fiber_length = distinct(order) / distinct(shorter).max(1.0);
            let prefix = self.problem.prefix;
            let outside =
                prefix.iter().rposition(|f| read.coordinates.iter().any(|at| at.has(f))).map_or(0, |at| at + 1);
            let fixed_depth = shorter.iter().rposition(|k| binds(*k)).map_or(outside, |at| prefix.len() + at + 1);
            bound_levels.walked.push(ListLevel {
                kind: LevelKind::SparseList,
                fiber_count: distinct(shorter),
                fiber_length,
                average_length: fiber_length,
                fixed_depth,
                is_conjunct: access.is_conjunct,
                workspace: None,
                is_searchable: true,
            });
            bound_levels.fiber_spans.push(span);
        }
    }

    /// Returns the position of a field in the bound loops, or `None` if it is not bound.
    pub(crate) fn position(&self, order: &[usize], field: &Field) -> Option<usize> {
        if let Some(outside) = self.problem.prefix.iter().position(|f| f == field) {
            return Some(outside);
        }
        order.iter().position(|&k| self.loops[k] == *field).map(|k| self.problem.prefix.len() + k)
    }

    fn positions(&self, read: &Read, levels: usize) -> f64 {
        self.facts.ask(&read.tensor, &read.ty, Question::Positions(levels)).estimate
    }

    /// Returns the average length of the fibers of a level of an access.
    fn fanout(&self, read: &Read, level: usize) -> f64 {
        self.positions(read, level + 1) / self.positions(read, level).max(1.0)
    }

    /// Returns the average bytes of a fiber below the first `levels` levels.
    fn bytes_below(&self, read: &Read, levels: usize) -> f64 {
        let all = self.positions(read, read.ty.format.levels.len());
        entry_bytes(read) * all / self.positions(read, levels).max(1.0)
    }

    fn copy_work(&self, read: &Read) -> Work {
        match (self.problem.kind, self.problem.formats) {
            (NestKind::Copy, _) => Work::IMPOSSIBLE,
            (NestKind::Query, FormatAssumption::Best) => Work::NONE,
            (NestKind::Query, FormatAssumption::Given) => conversion_work(self.facts, read),
        }
    }

    /// Returns the remaining work of a complete order, after the work of binding its loops: inner
    /// folds and values, and for a query the call and, in given formats, the writes.
    pub(crate) fn completion_work(&self, order: &[usize]) -> Work {
        let own = order.iter().map(|&k| self.loops[k].clone());
        let full: Vec<Field> = self.problem.prefix.iter().cloned().chain(own).collect();
        let rounds = self.rounds(order);
        let mut work = Work::NONE;
        for InnerFold { fold, free, equal_folds } in &self.folds {
            let stored = || {
                stored_work(self.facts, fold, self.problem.sizes, self.problem.pins).times(1.0 / *equal_folds as f64)
            };
            work += match inline_depth(&full, fold, free) {
                Some(depth) if fold.is_scan() => {
                    self.inline_fold_work(fold, &full[..depth]) + self.accumulator_work(fold, &full[..depth])
                }
                Some(depth) => (self.inline_fold_work(fold, &full[..depth])
                    + self.outer_step_work(fold, &full[..depth]))
                .cheaper(stored()),
                None => stored(),
            };
        }
        match self.body {
            LoopBody::Outputs(targets) => {
                work.add(Event::Query, 1.0);
                let volumes = self.volumes.get_or_init(|| targets.iter().map(|t| self.volume(t)).collect());
                let priced = targets.iter().zip(volumes).filter(|_| self.problem.formats == FormatAssumption::Given);
                for (target, volume) in priced {
                    work += self.write_work(target, volume, order, &full).0;
                }
            }
            LoopBody::Fold(fold) => {
                work.add(Event::Fold, rounds);
                work.add(Event::Compute, rounds * self.extra_operators(&fold.arg, order));
            }
        }
        work
    }

    /// Returns the number of operators that each round of the last loop computes, minus one. The
    /// event for the fold or the computation of the value already counts one operator.
    pub(crate) fn extra_operators(&self, value: &Term, order: &[usize]) -> f64 {
        order.last().map_or(0, |last| operators(value, &self.loops[*last]).saturating_sub(1)) as f64
    }

    /// Returns the work of allocating and clearing the accumulators of a scan, if it has several.
    /// Inside the outermost loop that the scan runs along, the scan has one accumulator for each
    /// round of the other loops.
    fn accumulator_work(&self, scan: &Fold, loops: &[Field]) -> Work {
        let inside = loops.iter().skip_while(|f| !scan.along.contains(f)).filter(|f| !scan.along.contains(f));
        let (mut work, count) = (Work::NONE, inside.map(|f| self.problem.sizes.of(f) as f64).product::<f64>());
        if count > 1.0 {
            work.allocate(count);
        }
        work
    }

    fn inline_fold_work(&self, fold: &Fold, prefix: &[Field]) -> Work {
        let problem = &self.problem;
        let coordinate_count: f64 = prefix.iter().map(|f| problem.sizes.of(f) as f64).product();
        let reach = if coordinate_count == 0.0 {
            0.0
        } else {
            (self.rounds(&self.own_loops(prefix)) / coordinate_count).min(problem.outside.fraction)
        };
        let marginals = match self.facts.may_measure() {
            true => self.outside_profile(&|f| prefix.contains(f)).marginals,
            false => Default::default(),
        };
        let outside = SupportProfile { fraction: reach, marginals };
        inline_work(self.facts, fold, problem.sizes, problem.pins, (prefix, &outside))
    }

    /// Returns the work of the steps that the enclosing loops take along levels of accesses inside
    /// a fold. The loops take these steps even where the fold is not needed.
    fn outer_step_work(&self, fold: &Fold, prefix: &[Field]) -> Work {
        let mut work = Work::NONE;
        let mut counted: Vec<&Read> = self.accesses.iter().map(|access| access.read).collect();
        let positions = |f: &Field| prefix.iter().position(|g| g == f);
        fold.arg.each_access(&mut |read| {
            if counted.contains(&read) {
                return;
            }
            counted.push(read);
            let levels = AccessLevels::new(read, self.problem.sizes, self.facts.mode());
            let uses = levels.fit(&positions, self.problem.kind);
            for (depth, ((kind, at), level_use)) in levels.binding_depths(&positions).zip(uses).enumerate() {
                let Some(at) = at.filter(|at| *at > 0 && level_use == LevelUse::Walk && !kind.traits().full) else {
                    continue;
                };
                let fibers = self.rounds(&self.own_loops(&prefix[..at - 1]));
                work.add(Event::Merge, fibers * self.fanout(read, depth));
            }
        });
        work
    }

    /// Returns the loops of `fields` that this search orders, in the order of the fields.
    fn own_loops(&self, fields: &[Field]) -> Vec<usize> {
        fields.iter().filter_map(|f| self.loops.iter().position(|g| g == f)).collect()
    }

    /// Returns the bit mask of loops.
    pub(crate) fn mask_of(&self, loops: &[usize]) -> u64 {
        loops.iter().fold(0, |mask, k| mask | 1 << k)
    }

    /// Returns the bit mask of the loops whose fields satisfy the predicate.
    pub(crate) fn mask(&self, is_in: impl Fn(&Field) -> bool) -> u64 {
        (0..self.loops.len()).filter(|&l| is_in(&self.loops[l])).fold(0, |m, l| m | 1 << l)
    }
}

/// Returns the number of loops outside of a fold that is computed in place: the loops of its free
/// fields, if exactly these are outermost. `None` in three cases: other loops are outermost, the
/// fields along which a scan runs are not in their order, or the fold only stores its argument.
/// Other free fields may be between the fields of the scan.
pub(crate) fn inline_depth(order: &[Field], fold: &Fold, free: &[Field]) -> Option<usize> {
    if fold.is_stored() {
        return None;
    }
    let outermost = order.get(..free.len())?;
    let along = outermost.iter().filter(|f| fold.along.contains(f));
    (outermost.iter().all(|f| free.contains(f)) && along.eq(&fold.along)).then_some(free.len())
}

/// Returns the work of converting a tensor into another storage order.
pub(crate) fn conversion_work(facts: &Facts, read: &Read) -> Work {
    let levels = &read.ty.format.levels;
    // A copy stores every coordinate of a run.
    let question = match levels.iter().any(|l| l.kind.traits().runs) {
        true => Question::Distinct((0..levels.len()).collect()),
        false => Question::Positions(levels.len()),
    };
    let stored = facts.ask(&read.tensor, &read.ty, question).estimate;
    let mut work = Work::NONE;
    work.add(Event::Query, 1.0);
    // Every level but the outermost one is sorted; the only level of a vector counts once.
    work.add(Event::Reorder, stored * levels.len().saturating_sub(1).max(1) as f64);
    work
}

/// Returns the number of operators that each round of a loop evaluates. Loop-invariant leading
/// arguments are evaluated outside of the loop.
fn operators(term: &Term, field: &Field) -> usize {
    let Node::Call(_, args) = term.node() else { return 0 };
    let fixed = args.iter().take_while(|arg| !arg.fields().contains(field)).count();
    let own = args.len().saturating_sub(fixed.max(1));
    own + args.iter().map(|arg| operators(arg, field)).sum::<usize>()
}

/// Returns the fraction of the iterations over the bound fields that run for an output.
pub(crate) fn visited_fraction(facts: &Facts, target: &Target, sizes: &Sizes, bound: &BoundFields) -> f64 {
    if facts.skips_fill(target) { evaluated_fraction(facts, &target.value, sizes, bound) } else { 1.0 }
}

/// Returns the fraction of iterations in which a term is evaluated. A fold is evaluated even where
/// its result is its fill. The exception is a fold that [`settles_on_fill`]: it is skipped where
/// all of its values are fills.
fn evaluated_fraction(facts: &Facts, term: &Term, sizes: &Sizes, bound: &BoundFields) -> f64 {
    let folds = term.has_fold();
    match term.node() {
        Node::Call(Op::User(_), _) => facts.support(term, sizes, bound),
        Node::Call(op, args) if folds => {
            if let ("ifelse", [condition, x, y]) = (op.name(), &args[..]) {
                let changed = evaluated_fraction(facts, condition, sizes, bound);
                let [is_true, is_false] = match condition.has_fold() {
                    true if *condition.fill() == Scalar::Bool(true) => [1.0, changed],
                    true => [changed, 1.0],
                    false => facts.truth_fractions(condition, sizes, bound),
                };
                let branch = |branch: &Term, reached: f64| match branch.fill() == term.fill() {
                    true => reached * evaluated_fraction(facts, branch, sizes, bound),
                    false => reached,
                };
                return either([branch(x, is_true), branch(y, is_false)]);
            }
            let parts = || args.iter().map(|a| evaluated_fraction(facts, a, sizes, bound));
            match &facts.deciding_args(term)[..] {
                [] => either(parts()),
                deciding => deciding.iter().map(|&k| evaluated_fraction(facts, &args[k], sizes, bound)).product(),
            }
        }
        Node::Fold(fold) if settles_on_fill(fold, facts.mode()) => {
            evaluated_fraction(facts, fold.fill_source(), sizes, bound)
        }
        Node::Fold(_) | Node::Temporary(..) => 1.0,
        _ => facts.support(term, sizes, bound),
    }
}

/// Returns whether the first fill may change the value of a fold, and further fills do not. Folds
/// whose identity is the fill are priced as evaluated everywhere, as in `algebra::extract`.
fn settles_on_fill(fold: &Fold, mode: FloatMode) -> bool {
    let (fill, dtype) = (fold.arg.fill(), fold.arg.dtype());
    !fold.is_scan() && fold.op.is_idempotent(&dtype, mode) && !fold.op.is_identity(fill, &dtype, 1, mode)
}

/// Moves levels with direct lookup to the followed levels if the loop also walks a list.
fn move_tables(walked: &mut Vec<ListLevel>, followed: &mut Vec<LookupLevel>) {
    let is_table = |list: &ListLevel| list.kind.traits().lookup == Lookup::Direct;
    if walked.iter().any(|list| !is_table(list)) {
        let tables = walked.iter().filter(|list| is_table(list));
        followed.extend(tables.map(|list| LookupLevel { kind: list.kind, span: 0.0, extents: None }));
        walked.retain(|list| !is_table(list));
    }
}

/// Returns the bytes of a stored entry.
fn entry_bytes(read: &Read) -> f64 {
    if read.ty.format.is_dense() { 8.0 } else { 12.0 }
}
