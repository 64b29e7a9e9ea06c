//! Chooses a loop order by cost.
//!
//! The work of an order is the sum over its prefixes of the work of binding their last loop, plus
//! the remaining work of the complete order; `pricing` counts both. The number of rounds of a
//! prefix depends on its set of fields, not on their order, unless loops fold the gaps between
//! entries at once ([`OrderSearch::folded_gaps`]). Up to [`cost::EXHAUSTIVE_LOOPS`] loops, all
//! orders are searched by branch and bound; beyond this limit, one order is built greedily.
//!
//! Orders obey the pins of the plan. The field that counts blocks is outside of the field inside a
//! block. A field that several diagonals share is outside of the other fields of these diagonals.
//! The reduced fields of an operator that cannot be regrouped keep their order.

use crate::access::fit::AccessLevels;
use crate::facts::Facts;
use crate::facts::estimate::{BoundFields, SupportProfile, conjuncts, either};
use crate::normalize::folds::fold_nest;
use crate::order::pricing::{BoundLevels, visited_fraction};
use crate::order::writes::Volume;
use crate::output::structure::run_count;
use crate::report::{AppliedRule, Decision, Origin};
use crate::term::sizes::Sizes;
use crate::term::unify::match_folds;
use crate::term::{Fold, ModeCoordinate, Nest, NestKind, Read, Target, Term, compared_value, is_regroupable};
use crate::work::{Event, Work, cost};
use redpoll_logic::op::Op;
use redpoll_logic::{Alias, Field, FloatMode};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use std::cell::{OnceCell, RefCell};
use std::rc::Rc;

/// A loop order with its work.
#[derive(Clone, Debug)]
pub(crate) struct PricedOrder {
    pub(crate) order: Vec<Field>,
    pub(crate) work: Work,
    /// For each output, whether a dense format is chosen because it is cheaper.
    pub(crate) dense: Vec<bool>,
    /// Every order that was priced completely.
    pub(crate) priced_orders: Vec<(Vec<Field>, f64)>,
    /// Set when all folds inside of values are stored first.
    pub(crate) stores_folds: bool,
}

impl PricedOrder {
    /// Returns an order with its work, without dense outputs, other priced orders or stored folds.
    pub(crate) fn new(order: Vec<Field>, work: Work) -> PricedOrder {
        PricedOrder { order, work, dense: Vec::new(), priced_orders: Vec::new(), stores_folds: false }
    }

    /// Returns the decision for a query with this loop order, still without outputs.
    pub(crate) fn decision(self, origin: Origin, rules: Vec<AppliedRule>) -> Decision {
        let PricedOrder { order, work, priced_orders, .. } = self;
        let (cost, none, outputs) = (work.cost(), Vec::new(), Vec::new());
        let mut decision = Decision { origin, rules, order, cost, work, priced_orders: none, outputs };
        decision.set_priced_orders(priced_orders);
        decision
    }
}

/// Returns the best loop order of a nest, or `None` when no order satisfies all constraints.
pub(crate) fn order_loops(facts: &Facts, nest: &Nest) -> Option<PricedOrder> {
    order_loops_below(facts, nest, f64::INFINITY)
}

/// Returns the best loop order of a nest if it costs less than `limit` or `limit` is infinite; a
/// finite limit makes the search faster.
pub(crate) fn order_loops_below(facts: &Facts, nest: &Nest, limit: f64) -> Option<PricedOrder> {
    with_search(facts, nest, FormatAssumption::Given, |search| search.run_or_store_folds(limit))
}

/// Returns the cost of the greedy loop order of a nest, or 0 when no order satisfies all
/// constraints.
pub(crate) fn rough_cost(facts: &Facts, nest: &Nest) -> f64 {
    let greedy = with_search(facts, nest, FormatAssumption::Given, |search| search.greedy(f64::INFINITY));
    greedy.map_or(0.0, |ordered| ordered.work.cost())
}

fn with_search<T>(facts: &Facts, nest: &Nest, formats: FormatAssumption, run: impl FnOnce(&OrderSearch<'_>) -> T) -> T {
    let mut pins = nest.pins.clone();
    for target in &nest.outputs {
        if let Some((op, fields)) = &target.fold
            && !is_regroupable(op, &target.value.dtype(), facts.mode())
        {
            pins.push(fields.clone());
        }
    }
    let values: Vec<&Term> = nest.outputs.iter().map(|t| &t.value).collect();
    let coordinates = nest.outputs.iter().flat_map(|t| &t.coordinates);
    let coordinates: Vec<&Term> =
        coordinates.filter_map(|at| if let ModeCoordinate::Value(t) = at { Some(t) } else { None }).collect();
    let (sizes, outside) = (&nest.sizes, &SupportProfile::even(1.0));
    let problem = OrderProblem { sizes, prefix: &[], outside, pins: &pins, kind: nest.kind, formats };
    let search = OrderSearch::new(facts, problem, nest.loops(), LoopBody::Outputs(&nest.outputs));
    run(&search.with_terms(values.into_iter().chain(coordinates)))
}

/// Returns up to `count` loop orders of a nest, with their costs, that would be cheapest if each
/// tensor had its best format. Empty when there are too many loops for an exhaustive search.
pub(crate) fn orders_of_any_format(facts: &Facts, nest: &Nest, count: usize) -> Vec<(Vec<Field>, f64)> {
    with_search(facts, nest, FormatAssumption::Best, |search| search.cheapest(count))
}

/// Returns the best order of a fold's loops inside the loops `prefix`, whose iterations have the
/// profile `outside`; `None` when no order satisfies all constraints.
pub(crate) fn order_fold(
    facts: &Facts,
    fold: &Fold,
    sizes: &Sizes,
    pins: &[Vec<Field>],
    (prefix, outside): (&[Field], &SupportProfile),
) -> Option<PricedOrder> {
    let mut pins = pins.to_vec();
    if !is_regroupable(&fold.op, &fold.arg.dtype(), facts.mode()) {
        pins.push(fold.fields.clone());
    }
    let problem =
        OrderProblem { sizes, prefix, outside, pins: &pins, kind: NestKind::Query, formats: FormatAssumption::Given };
    OrderSearch::new(facts, problem, fold.fields.clone(), LoopBody::Fold(fold))
        .with_terms([&fold.arg])
        .run(f64::INFINITY)
}

/// Loops to order, and their context.
#[derive(Clone, Copy)]
pub(crate) struct OrderProblem<'t> {
    pub(crate) sizes: &'t Sizes,
    /// The loops around the loops to order, outermost first.
    pub(crate) prefix: &'t [Field],
    /// The profile of the iterations of `prefix` that run.
    pub(crate) outside: &'t SupportProfile,
    pub(crate) pins: &'t [Vec<Field>],
    pub(crate) kind: NestKind,
    pub(crate) formats: FormatAssumption,
}

/// The assumption about the formats of tensors.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum FormatAssumption {
    /// The given formats; discordant tensors are copied.
    Given,
    /// The best format for the loops, at no cost.
    Best,
}

/// The body of the loops.
#[derive(Clone, Copy)]
pub(crate) enum LoopBody<'t> {
    Outputs(&'t [Target]),
    Fold(&'t Fold),
}

/// The search for the order of some loops.
pub(crate) struct OrderSearch<'t> {
    pub(crate) facts: &'t Facts<'t>,
    pub(crate) problem: OrderProblem<'t>,
    pub(crate) loops: Vec<Field>,
    /// Pairs of loops in which the first is outside of the second.
    precedence: Vec<(usize, usize)>,
    pub(crate) body: LoopBody<'t>,
    pub(crate) accesses: Vec<PricedAccess<'t>>,
    pub(crate) folds: Vec<InnerFold<'t>>,
    rounds: RefCell<FxHashMap<RoundsKey, f64>>,
    /// The work of binding the last loop of an order.
    binding_works: RefCell<FxHashMap<SmallVec<[u8; 8]>, Work>>,
    /// For each loop over runs, the number of runs.
    run_counts: OnceCell<Vec<Option<f64>>>,
    /// See [`OrderSearch::folded_gaps`].
    folded_gaps: OnceCell<u64>,
    /// Comparisons of coordinates: where one of these is false, no value is computed.
    pub(crate) comparisons: OnceCell<Vec<&'t Term>>,
    pub(crate) volumes: OnceCell<Vec<Volume>>,
}

/// The state of a loop order on which its number of rounds depends.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct RoundsKey {
    /// The bound loops, as a bit mask.
    bound: u64,
    /// The bound loops of [`OrderSearch::folded_gaps`] that are outside of a bound loop without
    /// folded gaps, as a bit mask.
    outer_folded: u64,
}

/// An access that [`Term::each_outer_access`] visits.
pub(crate) struct PricedAccess<'t> {
    pub(crate) read: &'t Read,
    pub(crate) levels: AccessLevels,
    /// Set when the value has its fill wherever the access has its fill.
    pub(crate) is_conjunct: bool,
    /// The loops that the subscripts of the access depend on.
    pub(crate) loops: Vec<usize>,
    /// Cached levels that a loop binds. The key has the positions of the access's loops in the
    /// order, and the order's length.
    pub(crate) bound_levels: RefCell<FxHashMap<SmallVec<[u8; 8]>, Rc<BoundLevels>>>,
}

/// A fold inside a value.
pub(crate) struct InnerFold<'t> {
    pub(crate) fold: &'t Fold,
    pub(crate) free: Vec<Field>,
    /// Number of folds that are equal up to field names, this one included; they are stored once.
    pub(crate) equal_folds: usize,
}

impl<'t> OrderSearch<'t> {
    fn new(facts: &'t Facts<'t>, problem: OrderProblem<'t>, loops: Vec<Field>, body: LoopBody<'t>) -> OrderSearch<'t> {
        let position = |f: &Field| loops.iter().position(|g| g == f);
        let mut precedence = Vec::new();
        for pin in problem.pins {
            let pinned: Vec<usize> = pin.iter().filter_map(position).collect();
            precedence.extend(pinned.windows(2).map(|w| (w[0], w[1])));
        }
        for (k, field) in loops.iter().enumerate() {
            precedence.extend(problem.sizes.split(field).and_then(|b| position(&b.outer)).map(|outer| (outer, k)));
            // A loop over a field that several diagonals share is outside of the loops over their
            // other fields; inside, the loop would have the bounds of only one diagonal.
            if problem.sizes.skew(field).count() > 1 {
                precedence
                    .extend(problem.sizes.skew(field).filter_map(|(_, other)| position(other)).map(|inner| (k, inner)));
            }
        }
        OrderSearch {
            facts,
            problem,
            loops,
            precedence,
            body,
            accesses: Vec::new(),
            folds: Vec::new(),
            rounds: RefCell::default(),
            binding_works: RefCell::default(),
            run_counts: OnceCell::new(),
            folded_gaps: OnceCell::new(),
            comparisons: OnceCell::new(),
            volumes: OnceCell::new(),
        }
    }

    /// Adds the accesses that [`Term::each_outer_access`] visits in terms, and the outermost folds.
    fn with_terms(mut self, terms: impl IntoIterator<Item = &'t Term>) -> OrderSearch<'t> {
        for term in terms {
            let mut conjunct_reads = Vec::new();
            conjuncts(self.facts, term, &mut conjunct_reads);
            term.each_outer_access(&mut |r| {
                if !self.accesses.iter().any(|access| access.read == r) {
                    let levels = AccessLevels::new(r, self.problem.sizes, self.facts.mode());
                    let fields: Vec<Field> = r.coordinates.iter().flat_map(ModeCoordinate::fields).collect();
                    let loops = (0..self.loops.len()).filter(|k| fields.contains(&self.loops[*k])).collect();
                    let is_conjunct = conjunct_reads.contains(&r);
                    self.accesses.push(PricedAccess {
                        read: r,
                        levels,
                        is_conjunct,
                        loops,
                        bound_levels: RefCell::default(),
                    });
                }
            });
            let folds = &mut self.folds;
            term.each_fold(&mut |_, f| {
                if !folds.iter().any(|inner| inner.fold == f) {
                    folds.push(InnerFold { fold: f, free: f.free(), equal_folds: 1 });
                }
            });
        }
        let all: Vec<&Fold> = self.folds.iter().map(|inner| inner.fold).collect();
        for inner in &mut self.folds {
            inner.equal_folds = count_equal_folds(inner.fold, &all, self.problem.sizes, self.facts.mode());
        }
        self
    }

    pub(crate) fn run(&self, limit: f64) -> Option<PricedOrder> {
        // The cost of the greedy order bounds the search.
        let mut best = self.greedy(limit).unwrap_or_else(|| PricedOrder::new(Vec::new(), Work::IMPOSSIBLE));
        if self.loops.len() <= cost::EXHAUSTIVE_LOOPS {
            self.extend(&mut Vec::new(), 0, Work::NONE, &mut (&mut best, limit));
        }
        if best.priced_orders.is_empty() || limit.is_finite() && best.work.cost() >= limit {
            return None;
        }
        best.dense = self.dense_outputs(&best.order);
        Some(best)
    }

    /// Returns the loops that can be bound next, if the loops of `mask` are bound.
    pub(crate) fn bindable_loops(&self, mask: u64) -> impl Iterator<Item = usize> {
        (0..self.loops.len())
            .filter(move |&k| mask >> k & 1 == 0 && self.precedence.iter().all(|(a, b)| *b != k || mask >> a & 1 == 1))
    }

    /// Extends an order whose loops so far cost `spent`, while the cost of its loops is below
    /// `limit` and the best cost. Updates `best`.
    fn extend(&self, order: &mut Vec<usize>, mask: u64, spent: Work, (best, limit): &mut (&mut PricedOrder, f64)) {
        if order.len() == self.loops.len() {
            let fields: Vec<Field> = order.iter().map(|&k| self.loops[k].clone()).collect();
            // The greedy order is already priced.
            if best.priced_orders.first().is_some_and(|(greedy, _)| *greedy == fields) {
                return;
            }
            let (order, work) = (fields, spent + self.completion_work(order));
            best.priced_orders.push((order.clone(), work.cost()));
            if work.cost() < best.work.cost() {
                (best.order, best.work) = (order, work);
            }
            return;
        }
        for next in self.bindable_loops(mask) {
            order.push(next);
            let mask = mask | 1 << next;
            let work = spent + self.binding_work(order);
            if work.cost() < best.work.cost().min(*limit) {
                self.extend(order, mask, work, &mut (best, *limit));
            }
            order.pop();
        }
    }

    /// Returns the work of binding the last loop of `order`; computed once.
    fn binding_work(&self, order: &[usize]) -> Work {
        let key: SmallVec<[u8; 8]> = order.iter().map(|k| *k as u8).collect();
        if let Some(cached) = self.binding_works.borrow().get(&key) {
            return *cached;
        }
        let work = self.count_binding_work(order);
        self.binding_works.borrow_mut().insert(key, work);
        work
    }

    /// Returns the cheapest orders with their costs, at most `count`.
    fn cheapest(&self, count: usize) -> Vec<(Vec<Field>, f64)> {
        let mut best = Vec::new();
        if self.loops.len() <= cost::EXHAUSTIVE_LOOPS {
            self.extend_cheapest(&mut Vec::new(), 0, Work::NONE, &mut best, count);
        }
        best.into_iter()
            .map(|(order, cost)| (order.into_iter().map(|k| self.loops[k].clone()).collect(), cost))
            .collect()
    }

    /// Extends an order whose loops so far cost `spent`, while the order can be among the `count`
    /// cheapest. Adds complete orders to `best`.
    fn extend_cheapest(
        &self,
        order: &mut Vec<usize>,
        mask: u64,
        spent: Work,
        best: &mut Vec<(Vec<usize>, f64)>,
        count: usize,
    ) {
        let is_candidate = |best: &[(Vec<usize>, f64)], work: &Work| {
            work.cost().is_finite() && (best.len() < count || best.last().is_some_and(|(_, last)| work.cost() < *last))
        };
        if order.len() == self.loops.len() {
            let work = spent + self.completion_work(order);
            if is_candidate(best, &work) {
                let at = best.partition_point(|(_, cost)| *cost <= work.cost());
                best.insert(at, (order.clone(), work.cost()));
                best.truncate(count);
            }
            return;
        }
        for next in self.bindable_loops(mask) {
            order.push(next);
            let mask = mask | 1 << next;
            let work = spent + self.binding_work(order);
            if is_candidate(best, &work) {
                self.extend_cheapest(order, mask, work, best, count);
            }
            order.pop();
        }
    }

    /// Returns the greedy order, in which every next loop is the cheapest one. `None` when the
    /// loops cost `limit` or more, or when no order satisfies the constraints.
    fn greedy(&self, limit: f64) -> Option<PricedOrder> {
        let (mut order, mut mask, mut spent) = (Vec::new(), 0, Work::NONE);
        while order.len() < self.loops.len() {
            let price = |next: usize| {
                let order: Vec<usize> = order.iter().copied().chain([next]).collect();
                (next, self.binding_work(&order))
            };
            let next = self.bindable_loops(mask).map(price).min_by(|(_, a), (_, b)| a.cost().total_cmp(&b.cost()));
            let (next, work) = next?;
            order.push(next);
            mask |= 1 << next;
            spent += work;
            if limit.is_finite() && spent.cost() >= limit {
                return None;
            }
        }
        spent += self.completion_work(&order);
        let order: Vec<Field> = order.iter().map(|&k| self.loops[k].clone()).collect();
        let priced_orders = vec![(order.clone(), spent.cost())];
        Some(PricedOrder { priced_orders, ..PricedOrder::new(order, spent) })
    }

    /// Returns the estimated rounds of the innermost loop when the loops of `order` are bound.
    pub(crate) fn rounds(&self, order: &[usize]) -> f64 {
        let folded_gaps = self.folded_gaps();
        let is_folded = |k: &usize| folded_gaps >> k & 1 == 1;
        let outer = order.iter().rposition(|k| !is_folded(k)).unwrap_or(0);
        let outer_folded = self.mask_of(&order[..outer]) & folded_gaps;
        self.rounds_of(RoundsKey { bound: self.mask_of(order), outer_folded })
    }

    fn rounds_of(&self, key: RoundsKey) -> f64 {
        if let Some(cached) = self.rounds.borrow().get(&key) {
            return *cached;
        }
        let mask = key.bound;
        let run_counts = self.run_counts.get_or_init(|| {
            let mut kinds = self.accesses.iter().flat_map(|access| &access.read.ty.format.levels).map(|l| l.kind);
            let has_runs = kinds.any(|kind| kind.traits().runs);
            (0..self.loops.len()).map(|k| has_runs.then(|| self.run_count(k)).flatten()).collect()
        });
        // Runs of a constant value are folded at once.
        let rounds = match (0..self.loops.len()).find(|k| mask >> k & 1 == 1 && run_counts[*k].is_some()) {
            Some(k) => {
                let others = RoundsKey { bound: mask & !(1 << k), outer_folded: key.outer_folded & !(1 << k) };
                self.rounds_of(others) * run_counts[k].unwrap_or(1.0)
            }
            None if self.folded_gaps() & mask != 0 => self.rounds_with_gaps(key),
            None => self.rounds_by_coordinates(mask),
        };
        self.rounds.borrow_mut().insert(key, rounds);
        rounds
    }

    /// Returns the number of runs per round of the outer loops; `None` unless the loop folds runs.
    fn run_count(&self, k: usize) -> Option<f64> {
        let field = &self.loops[k];
        let folded = |op: &Op, fields: &[Field], value: &Term| {
            let folds_runs = fields.contains(field) && is_regroupable(op, &value.dtype(), self.facts.mode());
            folds_runs
                .then(|| run_count(self.facts, value, self.problem.sizes, field))
                .flatten()
                .filter(|runs| *runs > 0.0)
        };
        match self.body {
            LoopBody::Outputs([target]) => {
                let (op, fields) = target.fold.as_ref()?;
                let is_written = target.coordinates.iter().any(|at| at.has(field));
                folded(op, fields, &target.value).filter(|_| !is_written)
            }
            LoopBody::Outputs(_) => None,
            LoopBody::Fold(fold) => folded(&fold.op, &fold.fields, &fold.arg),
        }
    }

    /// Returns, as a bit mask, the loops over reduced fields in which a fold takes one step for all
    /// fills between two entries. Loops that skip fills are left out. Computed once.
    fn folded_gaps(&self) -> u64 {
        *self.folded_gaps.get_or_init(|| self.find_folded_gaps())
    }

    fn find_folded_gaps(&self) -> u64 {
        let mode = self.facts.mode();
        let repeats = |op: &Op, value: &Term| {
            let dtype = value.dtype();
            !value.has_fold() && is_regroupable(op, &dtype, mode) && op.repeat_method(&dtype, mode).is_some()
        };
        let mut folds: Vec<(&Op, &[Field], &Term)> = Vec::new();
        let mut skips_fills = true;
        match self.body {
            LoopBody::Fold(fold) => {
                folds.push((&fold.op, &fold.fields, &fold.arg));
                skips_fills = fold.skips_fill(mode);
            }
            LoopBody::Outputs(targets) => {
                for target in targets {
                    let Some((op, fields)) = &target.fold else { return 0 };
                    folds.push((op, fields, &target.value));
                    skips_fills &= self.facts.skips_fill(target);
                }
            }
        }
        if skips_fills || !folds.iter().all(|(op, _, value)| repeats(op, value)) {
            return 0;
        }
        self.mask(|f| folds.iter().all(|(_, fields, _)| fields.contains(f)) && !self.is_written(f))
    }

    /// Returns whether an output's coordinates depend on the field.
    fn is_written(&self, field: &Field) -> bool {
        let LoopBody::Outputs(targets) = self.body else { return false };
        targets.iter().flat_map(|t| &t.coordinates).any(|at| at.has(field))
    }

    /// Returns the rounds of loops if some loops fold the fills between two entries at once. Such a
    /// loop has a round for each entry and one for each gap. If another loop is inside, that loop
    /// runs completely in each of these rounds.
    fn rounds_with_gaps(&self, RoundsKey { bound, outer_folded }: RoundsKey) -> f64 {
        let folded = self.folded_gaps() & bound;
        let size = |mask: u64| -> f64 {
            let own = (0..self.loops.len()).filter(|k| mask >> k & 1 == 1).map(|k| &self.loops[k]);
            own.map(|f| self.problem.sizes.of(f) as f64).product()
        };
        let outside: f64 = self.problem.prefix.iter().map(|f| self.problem.sizes.of(f) as f64).product();
        let outside = outside * self.problem.outside.fraction;
        let entries = |mask: u64, prefix: &[Field]| {
            let is_bound = |f: &Field| {
                prefix.contains(f) || self.loops.iter().position(|g| g == f).is_some_and(|k| mask >> k & 1 == 1)
            };
            let fraction = match self.body {
                LoopBody::Outputs(targets) => {
                    let value =
                        |t: &'t Target| t.fold.as_ref().map_or(&t.value, |(op, _)| compared_value(op, &t.value));
                    either(targets.iter().map(|t| self.facts.support(value(t), self.problem.sizes, &is_bound)))
                }
                LoopBody::Fold(fold) => {
                    self.facts.support(compared_value(&fold.op, &fold.arg), self.problem.sizes, &is_bound)
                }
            };
            size(mask) * fraction
        };
        let with_gaps = |entries: f64, all: f64| (2.0 * entries + 1.0).min(all);
        let around = outside * size(bound & !folded) * with_gaps(entries(outer_folded, &[]), size(outer_folded));
        if folded == outer_folded {
            return around;
        }
        (around + outside * 2.0 * entries(bound, self.problem.prefix)).min(outside * size(bound))
    }

    fn rounds_by_coordinates(&self, mask: u64) -> f64 {
        let is_own = |f: &Field| self.loops.iter().position(|g| g == f).is_some_and(|k| mask >> k & 1 == 1);
        let bound = |f: &Field| self.problem.prefix.contains(f) || is_own(f);
        let within = (0..self.loops.len()).filter(|k| mask >> k & 1 == 1).map(|k| &self.loops[k]);
        let coordinate_count: f64 =
            self.problem.prefix.iter().chain(within).map(|f| self.problem.sizes.of(f) as f64).product();
        coordinate_count * self.visited_fraction(&bound).min(self.problem.outside.fraction)
    }

    /// Returns the estimated rounds of the `depth` outermost loops. The depth counts the enclosing
    /// loops of a fold first.
    pub(crate) fn rounds_outside(&self, order: &[usize], depth: usize) -> f64 {
        let prefix = self.problem.prefix;
        if let Some(own) = depth.checked_sub(prefix.len()) {
            return self.rounds(&order[..own]);
        }
        let size = |fields: &[Field]| fields.iter().map(|f| self.problem.sizes.of(f) as f64).product::<f64>();
        let (outside, inside) = prefix.split_at(depth);
        // An iteration of the outer loops runs if any iteration of the loops inside runs.
        size(outside)
            * self.visited_fraction(&|f| outside.contains(f)).min(self.problem.outside.fraction * size(inside))
    }

    /// Returns the fraction of the iterations over the bound fields that the computed values
    /// require to run.
    fn visited_fraction(&self, bound: &BoundFields) -> f64 {
        let visited = match self.body {
            LoopBody::Outputs(targets) => {
                either(targets.iter().map(|t| visited_fraction(self.facts, t, self.problem.sizes, bound)))
            }
            LoopBody::Fold(fold) => {
                if fold.skips_fill(self.facts.mode()) {
                    self.facts.support(&fold.arg, self.problem.sizes, bound)
                } else {
                    1.0
                }
            }
        };
        // A scan advances even where nothing is written.
        let scans = self.folds.iter().filter(|inner| inner.fold.is_scan());
        let scanned = scans.map(|inner| self.facts.support(&inner.fold.arg, self.problem.sizes, bound));
        either(scanned.chain([visited]))
    }
}

/// Returns the number of folds that are equal to `fold` up to field names, at least 1.
pub(crate) fn count_equal_folds(fold: &Fold, all: &[&Fold], sizes: &Sizes, mode: FloatMode) -> usize {
    all.iter().filter(|other| fold == **other || match_folds(fold, other, sizes, mode).is_some()).count().max(1)
}

/// Returns the work of a fold inside loops whose iterations have the given profile.
pub(crate) fn inline_work(
    facts: &Facts,
    fold: &Fold,
    sizes: &Sizes,
    pins: &[Vec<Field>],
    inside: (&[Field], &SupportProfile),
) -> Work {
    facts.memo.fold_work(fold, Some(inside), || {
        order_fold(facts, fold, sizes, pins, inside).map_or(Work::IMPOSSIBLE, |o| o.work)
    })
}

/// Returns the work of storing a fold by a query of its own, including the reads of its result.
pub(crate) fn stored_work(facts: &Facts, fold: &Fold, sizes: &Sizes, pins: &[Vec<Field>]) -> Work {
    facts.memo.fold_work(fold, None, || {
        let nest = fold_nest(fold, &Alias::from("stored"), sizes, pins, facts.mode());
        let target = &nest.outputs[0];
        let coordinate_count: f64 = target.shape.iter().map(|&n| n as f64).product();
        let fields: Vec<Field> = target.coordinates.iter().flat_map(ModeCoordinate::fields).collect();
        let mut work = order_loops(facts, &nest).map_or(Work::IMPOSSIBLE, |o| o.work);
        work.add(Event::FollowDense, coordinate_count * facts.output_support(target, &nest.sizes, &fields));
        work
    })
}
