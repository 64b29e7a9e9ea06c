//! Chooses an order of loops by cost.
//!
//! The cost of an order is the sum over its prefixes of the estimated number of rounds times what the accesses bound
//! there cost, where a merge of lists also steps over what it does not meet, plus copies of discordant accesses, plus
//! writes, plus folds inside the value: computed in place where their fields are exactly the outermost loops, else stored
//! by a query of their own. How many rounds a prefix has depends on which fields it has, not on their order. Up to
//! [`cost::EXHAUSTIVE_LOOPS`] loops all orders are searched, branch and bound; beyond that the next loop is the cheapest
//! one.
//!
//! Orders keep: what the plan pins; the field that counts blocks outside of the one inside a block; the order of the
//! reduced fields of an operator that cannot be regrouped.

use crate::context::Context;
use crate::cost;
use crate::estimate::either;
use crate::fit::{Levels, Meeting};
use crate::formats::sparse_format;
use crate::isolate::fold_nest;
use crate::sizes::Sizes;
use crate::term::{At, Fold, Nest, NestKind, Node, Read, Target, Term, regroups};
use crate::unify::renamed;
use crate::workspace::{Scope, order_of_writes};
use redpoll_logic::statistics::Question;
use redpoll_logic::{Alias, Field, FloatMode, LevelKind};
use std::cell::{OnceCell, RefCell};
use std::collections::{BTreeSet, HashMap};

/// An order of loops with its cost.
#[derive(Clone, Debug)]
pub(crate) struct Ordered {
    pub(crate) order: Vec<Field>,
    pub(crate) cost: f64,
    /// Every order that was priced to its end.
    pub(crate) considered: Vec<(Vec<Field>, f64)>,
}

/// The best order of the loops of a nest; `None` when no order keeps all constraints.
pub(crate) fn order_loops(cx: &Context, nest: &Nest) -> Option<Ordered> {
    order_nest(cx, nest, cost::EXHAUSTIVE_LOOPS)
}

/// A good order of the loops of a nest, found faster.
pub(crate) fn estimate_loops(cx: &Context, nest: &Nest) -> Option<Ordered> {
    order_nest(cx, nest, cost::ESTIMATED_LOOPS)
}

fn order_nest(cx: &Context, nest: &Nest, exhaustive: usize) -> Option<Ordered> {
    let mut pins = nest.pins.clone();
    for target in &nest.outputs {
        if let Some((op, fields)) = &target.fold
            && !regroups(op, &target.value.dtype(), cx.mode())
        {
            pins.push(fields.clone());
        }
    }
    let values: Vec<&Term> = nest.outputs.iter().map(|t| &t.value).collect();
    let places = nest.outputs.iter().flat_map(|t| &t.at);
    let places: Vec<&Term> = places.filter_map(|at| if let At::Value(t) = at { Some(t) } else { None }).collect();
    let problem = Problem { sizes: &nest.sizes, prefix: &[], pins: &pins, reach: 1.0, kind: nest.kind, exhaustive };
    let search = Search::new(cx, problem, nest.loops(), Work::Outputs(&nest.outputs));
    search.with_terms(values.into_iter().chain(places)).run()
}

/// The best order of the loops of a fold inside the loops `prefix`, of whose places the fraction `reach` is visited.
pub(crate) fn order_fold(
    cx: &Context,
    fold: &Fold,
    sizes: &Sizes,
    prefix: &[Field],
    pins: &[Vec<Field>],
    reach: f64,
) -> Option<Ordered> {
    let mut pins = pins.to_vec();
    if !regroups(&fold.op, &fold.arg.dtype(), cx.mode()) {
        pins.push(fold.fields.clone());
    }
    let (kind, exhaustive) = (NestKind::Query, cost::EXHAUSTIVE_LOOPS);
    let problem = Problem { sizes, prefix, pins: &pins, reach, kind, exhaustive };
    Search::new(cx, problem, fold.fields.clone(), Work::Fold(fold)).with_terms([&fold.arg]).run()
}

/// Loops to order, and where they stand.
#[derive(Clone, Copy)]
struct Problem<'t> {
    sizes: &'t Sizes,
    /// The loops outside.
    prefix: &'t [Field],
    pins: &'t [Vec<Field>],
    /// The fraction of the places of the loops outside that are visited.
    reach: f64,
    kind: NestKind,
    /// All orders of so many loops are searched.
    exhaustive: usize,
}

/// What the loops are for.
#[derive(Clone, Copy)]
enum Work<'t> {
    Outputs(&'t [Target]),
    Fold(&'t Fold),
}

struct Search<'t> {
    cx: &'t Context<'t>,
    problem: Problem<'t>,
    loops: Vec<Field>,
    /// Pairs of loops: the first is outside of the second.
    before: Vec<(usize, usize)>,
    work: Work<'t>,
    accesses: Vec<(&'t Read, Levels)>,
    folds: Vec<Inner<'t>>,
    rounds: RefCell<HashMap<u64, f64>>,
    volumes: OnceCell<Vec<Volume>>,
}

/// A fold inside of a value.
struct Inner<'t> {
    fold: &'t Fold,
    free: BTreeSet<Field>,
    /// How many folds of the value are this one but for the names of fields: they are stored once.
    sharing: usize,
}

/// What is written to an output, in any order of the loops.
#[derive(Clone, Copy)]
struct Volume {
    writes: f64,
    /// Whether it takes all writes as they come.
    dense: bool,
}

impl<'t> Search<'t> {
    fn new(cx: &'t Context<'t>, problem: Problem<'t>, loops: Vec<Field>, work: Work<'t>) -> Search<'t> {
        let place = |f: &Field| loops.iter().position(|g| g == f);
        let mut before = Vec::new();
        for pin in problem.pins {
            let pieces: Vec<usize> = pin.iter().filter_map(place).collect();
            before.extend(pieces.windows(2).map(|w| (w[0], w[1])));
        }
        for (k, field) in loops.iter().enumerate() {
            before.extend(problem.sizes.block(field).and_then(|b| place(&b.outer)).map(|outer| (outer, k)));
            // A loop along several diagonals is outside of theirs: inside, it would have the bounds of one of them.
            if problem.sizes.skew(field).count() > 1 {
                before.extend(problem.sizes.skew(field).filter_map(|(_, other)| place(other)).map(|inner| (k, inner)));
            }
        }
        Search {
            cx,
            problem,
            loops,
            before,
            work,
            accesses: Vec::new(),
            folds: Vec::new(),
            rounds: RefCell::default(),
            volumes: OnceCell::new(),
        }
    }

    /// Takes up the accesses and folds of terms, those of folds' arguments left to the folds.
    fn with_terms(mut self, terms: impl IntoIterator<Item = &'t Term>) -> Search<'t> {
        for term in terms {
            outer_accesses(term, &mut |r| {
                if !self.accesses.iter().any(|(known, _)| *known == r) {
                    let levels = Levels::new(r, self.problem.sizes, self.cx.mode());
                    self.accesses.push((r, levels));
                }
            });
            let folds = &mut self.folds;
            term.each_fold(&mut |_, f| {
                if !folds.iter().any(|known| known.fold == f) {
                    folds.push(Inner { fold: f, free: f.free(), sharing: 1 });
                }
            });
        }
        let all: Vec<&Fold> = self.folds.iter().map(|inner| inner.fold).collect();
        for inner in &mut self.folds {
            inner.sharing = sharing(inner.fold, &all, self.problem.sizes, self.cx.mode());
        }
        self
    }

    fn run(&self) -> Option<Ordered> {
        let mut best = Ordered { order: Vec::new(), cost: f64::INFINITY, considered: Vec::new() };
        // What the greedy order costs bounds the search.
        self.greedy(&mut best);
        if self.loops.len() <= self.problem.exhaustive {
            self.extend(&mut Vec::new(), 0, 0.0, &mut best);
        }
        (!best.considered.is_empty()).then_some(best)
    }

    fn free_to_bind(&self, mask: u64) -> impl Iterator<Item = usize> {
        (0..self.loops.len())
            .filter(move |&k| mask >> k & 1 == 0 && self.before.iter().all(|(a, b)| *b != k || mask >> a & 1 == 1))
    }

    fn extend(&self, order: &mut Vec<usize>, mask: u64, spent: f64, best: &mut Ordered) {
        if order.len() == self.loops.len() {
            let cost = spent + self.finish(order, mask);
            let order: Vec<Field> = order.iter().map(|&k| self.loops[k].clone()).collect();
            if best.considered.first().is_none_or(|(greedy, _)| *greedy != order) {
                best.considered.push((order.clone(), cost));
            }
            if cost < best.cost {
                (best.order, best.cost) = (order, cost);
            }
            return;
        }
        for next in self.free_to_bind(mask) {
            order.push(next);
            let mask = mask | 1 << next;
            let cost = spent + self.step(order, mask);
            if cost < best.cost {
                self.extend(order, mask, cost, best);
            }
            order.pop();
        }
    }

    fn greedy(&self, best: &mut Ordered) {
        let (mut order, mut mask, mut spent) = (Vec::new(), 0, 0.0);
        while order.len() < self.loops.len() {
            let price = |next: usize| {
                let order: Vec<usize> = order.iter().copied().chain([next]).collect();
                (next, self.step(&order, mask | 1 << next))
            };
            let next = self.free_to_bind(mask).map(price).min_by(|(_, a), (_, b)| a.total_cmp(b));
            let Some((next, cost)) = next else { return };
            order.push(next);
            mask |= 1 << next;
            spent += cost;
        }
        spent += self.finish(&order, mask);
        best.order = order.iter().map(|&k| self.loops[k].clone()).collect();
        best.cost = spent;
        best.considered.push((best.order.clone(), spent));
    }

    /// The estimated rounds of the innermost loop when the loops of `mask` are bound.
    fn rounds(&self, mask: u64) -> f64 {
        if let Some(known) = self.rounds.borrow().get(&mask) {
            return *known;
        }
        let bound = |f: &Field| {
            self.problem.prefix.contains(f)
                || self.loops.iter().position(|g| g == f).is_some_and(|k| mask >> k & 1 == 1)
        };
        let visited = match self.work {
            Work::Outputs(targets) => either(targets.iter().map(|t| self.cx.written(t, self.problem.sizes, &bound))),
            Work::Fold(fold) => {
                let skips = fold.op.is_identity(fold.arg.fill(), &fold.arg.dtype(), 1, self.cx.mode());
                if skips { self.cx.support(&fold.arg, self.problem.sizes, &bound) } else { 1.0 }
            }
        };
        // A scan goes on where nothing is written, too.
        let scans = self.folds.iter().filter(|inner| inner.fold.is_scan());
        let scanned = scans.map(|inner| self.cx.support(&inner.fold.arg, self.problem.sizes, &bound));
        let visited = either(scanned.chain([visited]));
        let within = (0..self.loops.len()).filter(|k| mask >> k & 1 == 1).map(|k| &self.loops[k]);
        let places: f64 = self.problem.prefix.iter().chain(within).map(|f| self.problem.sizes.of(f) as f64).product();
        let rounds = places * visited.min(self.problem.reach);
        self.rounds.borrow_mut().insert(mask, rounds);
        rounds
    }

    /// The position of a field when the loops of `order` are bound, in that order.
    fn position(&self, order: &[usize], field: &Field) -> Option<usize> {
        if let Some(outside) = self.problem.prefix.iter().position(|f| f == field) {
            return Some(outside);
        }
        order.iter().position(|&k| self.loops[k] == *field).map(|k| self.problem.prefix.len() + k)
    }

    /// What binding the last loop of `order` costs.
    fn step(&self, order: &[usize], mask: u64) -> f64 {
        let rounds = self.rounds(mask);
        let here = self.problem.prefix.len() + order.len() - 1;
        let shorter = &order[..order.len() - 1];
        let mut cost = rounds * cost::ROUND;
        let mut walked = Vec::new();
        let positions = |f: &Field| self.position(order, f);
        let before = |f: &Field| self.position(shorter, f);
        for (read, levels) in &self.accesses {
            let meetings = levels.fit(&positions, self.problem.kind);
            if meetings.contains(&Meeting::Discordant) {
                let first = order.len() == 1;
                if first || !levels.fit(&before, self.problem.kind).contains(&Meeting::Discordant) {
                    cost += self.copy_cost(read);
                }
                continue;
            }
            for (depth, ((kind, known), meeting)) in levels.resolved(&positions).zip(meetings).enumerate() {
                match meeting {
                    _ if known != Some(here + 1) => {}
                    Meeting::Walk if kind == LevelKind::Dense => cost += rounds * cost::walk(kind),
                    Meeting::Walk => walked.push((cost::walk(kind), self.fanout(read, depth))),
                    Meeting::Follow => cost += rounds * cost::follow(kind),
                    Meeting::Discordant => unreachable!("the read was left out"),
                }
            }
        }
        // A merge steps over coordinates that are not met, too: over all of each fiber, unless it is so much longer than
        // the shortest one that it is galloped through.
        let shortest = walked.iter().map(|(_, fanout)| *fanout).fold(f64::INFINITY, f64::min);
        let fibers = self.rounds(mask & !(1 << order[order.len() - 1]));
        for (walk, fanout) in walked {
            cost += walk * rounds.max(fibers * fanout.min(cost::GALLOP_RATIO * shortest));
        }
        cost
    }

    /// The average number of coordinates in a fiber of a level of an access.
    fn fanout(&self, read: &Read, level: usize) -> f64 {
        let positions = |levels| self.cx.ask(&read.tensor, &read.ty, Question::Positions(levels)).estimate;
        positions(level + 1) / positions(level).max(1.0)
    }

    fn copy_cost(&self, read: &Read) -> f64 {
        if self.problem.kind == NestKind::Copy {
            return f64::INFINITY;
        }
        let stored = Question::Positions(read.ty.format.levels.len());
        cost::COPY * (1.0 + self.cx.ask(&read.tensor, &read.ty, stored).estimate)
    }

    /// What a complete order costs besides its loops: folds and writes.
    fn finish(&self, order: &[usize], mask: u64) -> f64 {
        let own = order.iter().map(|&k| self.loops[k].clone());
        let full: Vec<Field> = self.problem.prefix.iter().cloned().chain(own).collect();
        let rounds = self.rounds(mask);
        let mut cost = rounds * cost::COMPUTE;
        for Inner { fold, free, sharing } in &self.folds {
            let stored = || stored_cost(self.cx, fold, self.problem.sizes, self.problem.pins) / *sharing as f64;
            cost += match place(&full, fold, free) {
                Some(depth) if fold.is_scan() => self.inline_cost(fold, &full[..depth]),
                Some(depth) => self.inline_cost(fold, &full[..depth]).min(stored()),
                None => stored(),
            };
        }
        if let Work::Outputs(targets) = self.work {
            let volumes = self.volumes.get_or_init(|| targets.iter().map(|t| self.volume(t)).collect());
            for (target, volume) in targets.iter().zip(volumes) {
                cost += volume.writes * self.write_cost(target, *volume, &full);
            }
        }
        cost
    }

    fn volume(&self, target: &Target) -> Volume {
        let sizes = self.problem.sizes;
        let fields = target.at.iter().flat_map(At::fields).collect();
        let dense = target.format.is_none() && self.cx.output_support(target, sizes, &fields) > cost::DENSE_FRACTION;
        Volume { writes: self.cx.writes(target, sizes), dense }
    }

    /// What a write costs.
    fn write_cost(&self, target: &Target, volume: Volume, order: &[Field]) -> f64 {
        let sizes = self.problem.sizes;
        let scope = match &target.format {
            Some(format) => order_of_writes(self.cx, target, format, sizes, order),
            None if volume.dense => Scope::InOrder,
            None => order_of_writes(self.cx, target, &sparse_format(target, sizes, order), sizes, order),
        };
        match scope {
            Scope::InOrder => cost::APPEND,
            Scope::Workspace { depth: 0, .. } => cost::WHOLE_WORKSPACE,
            Scope::Workspace { .. } => cost::FIBER_WORKSPACE,
        }
    }

    fn inline_cost(&self, fold: &Fold, prefix: &[Field]) -> f64 {
        let Problem { sizes, pins, reach, .. } = self.problem;
        let mask = (0..self.loops.len()).filter(|&l| prefix.contains(&self.loops[l])).fold(0, |m, l| m | 1 << l);
        let places: f64 = prefix.iter().map(|f| sizes.of(f) as f64).product();
        let reach = if places == 0.0 { 0.0 } else { (self.rounds(mask) / places).min(reach) };
        inline_cost(self.cx, fold, sizes, pins, (prefix, reach))
    }
}

/// How many of some folds are one of them but for the names of fields.
pub(crate) fn sharing(fold: &Fold, all: &[&Fold], sizes: &Sizes, mode: FloatMode) -> usize {
    all.iter().filter(|other| fold == **other || renamed(fold, other, sizes, mode).is_some()).count().max(1)
}

/// What a fold costs inside of loops of which a fraction is visited.
pub(crate) fn inline_cost(
    cx: &Context,
    fold: &Fold,
    sizes: &Sizes,
    pins: &[Vec<Field>],
    inside: (&[Field], f64),
) -> f64 {
    cx.memo.cost(fold, Some(inside), || {
        order_fold(cx, fold, sizes, inside.0, pins, inside.1).map_or(f64::INFINITY, |o| o.cost)
    })
}

/// What a fold costs when a query of its own stores it.
pub(crate) fn stored_cost(cx: &Context, fold: &Fold, sizes: &Sizes, pins: &[Vec<Field>]) -> f64 {
    cx.memo.cost(fold, None, || {
        let nest = fold_nest(cx, fold, &Alias::from("stored"), sizes, pins);
        let target = &nest.outputs[0];
        let places: f64 = target.shape.iter().map(|&n| n as f64).product();
        let fields = target.at.iter().flat_map(At::fields).collect();
        let stored = places * cx.output_support(target, &nest.sizes, &fields);
        order_loops(cx, &nest).map_or(f64::INFINITY, |o| o.cost + cost::STORE * (1.0 + stored))
    })
}

/// How many loops are outside of a fold that is computed in place: those of its free fields, when they are exactly the
/// outermost ones. Those along which a scan goes on have their order; others may be inside of them.
pub(crate) fn place(order: &[Field], fold: &Fold, free: &BTreeSet<Field>) -> Option<usize> {
    let outermost = order.get(..free.len())?;
    let along = outermost.iter().filter(|f| fold.along.contains(f));
    (outermost.iter().all(|f| free.contains(f)) && along.eq(&fold.along)).then_some(free.len())
}

/// The accesses outside of folds, and those of scans, which the same loops meet.
fn outer_accesses<'a>(term: &'a Term, f: &mut dyn FnMut(&'a Read)) {
    match term.node() {
        Node::Access(read) => {
            f(read);
            for at in &read.at {
                if let At::Value(t) = at {
                    outer_accesses(t, f);
                }
            }
        }
        Node::Fold(fold) | Node::Temporary(_, fold) if !fold.is_scan() || !fold.fields.is_empty() => {}
        _ => term.children().iter().for_each(|c| outer_accesses(c, f)),
    }
}
