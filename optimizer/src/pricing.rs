//! Counts the work of a loop order: the work of binding each loop, and the work of the complete
//! order besides its loops.
//!
//! In each round of the loop that binds one of its levels, an access takes a step along a list or a
//! lookup. `intersection` counts the steps of lists that one loop binds together. If the loops
//! outside of a level are not exactly those of its outer levels, the access returns to the same
//! positions later. It misses when the caches do not hold the bytes accessed in between; `lines`
//! counts these misses for arrays.

use crate::context::Context;
use crate::cost;
use crate::estimate::{Bound, Profile, either};
use crate::fit::{Levels, Meeting};
use crate::intersection::{Hold, List, Rounds, least, meet, searchable};
use crate::lines::{CACHES, Places, aliased};
use crate::loop_order::{Accessed, Formats, Inner, Purpose, Search, inline_work, place, stored_work};
use crate::sizes::Sizes;
use crate::term::{Fold, NestKind, Node, Read, Target, Term};
use crate::work::{Event, Work};
use redpoll_logic::op::Op;
use redpoll_logic::statistics::Question;
use redpoll_logic::{Field, LevelKind, Lookup, Scalar};
use smallvec::SmallVec;
use std::rc::Rc;

/// The levels that one loop binds.
#[derive(Clone, Default)]
pub(crate) struct Met {
    /// Levels that store some of the coordinates and lead the loop.
    walked: Vec<List>,
    /// Levels that are looked up in every round.
    followed: Vec<Followed>,
    /// Dense levels that are read along a loop over every coordinate.
    along: Vec<Followed>,
    /// For each fiber that starts elsewhere in memory, the bytes that its levels are read from.
    jumps: Vec<f64>,
    /// Bytes of an entry and of all entries, for each tensor that is read in order.
    streams: Vec<(f64, f64)>,
    /// Work of the copies that the accesses need.
    copies: Vec<Work>,
}

/// A level that is looked up in every round.
#[derive(Clone)]
struct Followed {
    kind: LevelKind,
    /// Bytes between two accesses to one position.
    span: f64,
    /// The positions in an array, if all levels are dense.
    places: Option<Rc<[Places]>>,
}

impl Met {
    fn take(&mut self, other: &Met) {
        self.walked.extend(&other.walked);
        self.followed.extend_from_slice(&other.followed);
        self.along.extend_from_slice(&other.along);
        self.jumps.extend(&other.jumps);
        self.streams.extend(&other.streams);
        self.copies.extend(&other.copies);
    }
}

impl Search<'_> {
    /// Returns the work of binding the last loop of `order`.
    pub(crate) fn step(&self, order: &[usize], mask: u64) -> Work {
        let last = order[order.len() - 1];
        let (rounds, fibers) = (self.rounds(mask), self.rounds(mask & !(1 << last)));
        let (mut met, mut lists) = (Met::default(), Vec::new());
        for access in &self.accesses {
            // Accesses that are discordant in every order are priced with the first loop.
            if order.len() == 1 || access.loops.contains(&last) {
                met.take(&self.met(order, access));
                lists.resize(met.walked.len(), access);
            }
        }
        // For a single list, the rounds already give its length.
        if lists.len() > 1 && self.cx.measures() {
            let bound = |f: &Field| self.position(&order[..order.len() - 1], f).is_some();
            let (outside, field) = (self.met_outside(&bound), &self.loops[last]);
            for (list, access) in met.walked.iter_mut().zip(&lists) {
                let fiber = self.cx.fiber_met(access.read, &outside, self.problem.sizes, (&bound, field));
                list.fiber = fiber.unwrap_or(list.fiber);
            }
        }
        let Met { mut walked, mut followed, along, jumps, streams, copies } = met;
        let mut work = copies.into_iter().fold(Work::NONE, |all, copy| all + copy);
        jumps.into_iter().for_each(|span| work.miss(fibers, span));
        lead(&mut walked, &mut followed);
        if let Some(fixed) = walked.iter().map(|list| list.fixed).max() {
            let others = self.rounds_outside(order, fixed).min(fibers);
            work.add(Event::Enter, others);
            work.add(Event::EnterAgain, fibers - others);
            let ends = walked.iter().map(|list| list.fibers).fold(0.0, f64::max);
            work.add(Event::End, fibers * missed(cost::FORESEEN, ends));
        } else if self.problem.sizes.block(&self.loops[last]).is_none() {
            // Loops inside a block are short and of constant length; compilers unroll them.
            work.add(Event::EnterDense, fibers);
        }
        let steps = if walked.is_empty() {
            let steps = rounds.max(fibers * self.problem.sizes.of(&self.loops[last]) as f64);
            // Rounds of outer loops are priced as entries of the loops inside.
            if order.len() == self.loops.len() {
                let strided = followed.iter().any(|level| level.kind == LevelKind::Dense);
                work.add(if strided { Event::StridedRound } else { Event::DenseRound }, steps);
                let missed = along.iter().map(|level| missed(cost::NEAR_CACHE, level.span)).sum::<f64>();
                work.add(Event::StreamNear, steps * missed);
            }
            steps
        } else {
            work.add(Event::Round, rounds);
            followed.extend(along);
            work += self.within_window(order, fibers, &mut walked);
            let of = |depth: usize| self.rounds_outside(order, depth);
            let (ways, steps) = meet(&walked, &Rounds { own: rounds, outside: fibers, of: &of });
            work += steps;
            rounds.max(fibers * least(&walked, &ways))
        };
        for Followed { kind, span, places } in followed {
            work.add(cost::follow(kind), steps);
            match places {
                Some(places) => {
                    work.add(Event::AliasedRead, steps * aliased(&places, self.problem.prefix.len() + order.len() - 1));
                    self.miss_lines(&mut work, (order, steps), (&places, span));
                }
                None => work.miss(steps, span),
            }
        }
        for (place, all) in streams {
            work.add(Event::Stream, steps * place / 8.0 * missed(cost::FAR_CACHE, all));
        }
        work
    }

    /// Returns the profile of the coordinates over the bound fields that loops reach, by the joined
    /// accesses and the profile of the enclosing loops.
    fn met_outside(&self, bound: &Bound) -> Profile {
        let joined: Vec<&Read> =
            self.accesses.iter().filter(|access| access.joined).map(|access| access.read).collect();
        let own = self.cx.met_by(&joined, self.problem.sizes, bound);
        self.cx.intersection([&own, self.problem.outside])
    }

    /// Returns the levels of an access that the last loop of `order` binds; computed once.
    fn met(&self, order: &[usize], access: &Accessed<'_>) -> Rc<Met> {
        let place = |k: &usize| order.iter().position(|l| l == k).map_or(u8::MAX, |at| at as u8);
        let key: SmallVec<[u8; 8]> = access.loops.iter().map(place).chain([order.len() as u8]).collect();
        if let Some(known) = access.met.borrow().get(&key) {
            return known.clone();
        }
        let mut met = Met::default();
        self.meet(order, access, &mut met);
        let met = Rc::new(met);
        access.met.borrow_mut().insert(key, met.clone());
        met
    }

    fn meet(&self, order: &[usize], access: &Accessed<'_>, met: &mut Met) {
        let Accessed { read, levels, joined, .. } = access;
        let shorter = &order[..order.len() - 1];
        let here = self.problem.prefix.len() + shorter.len();
        let positions = |f: &Field| self.position(order, f);
        let before = |f: &Field| self.position(shorter, f);
        let meetings = levels.fit(&positions, self.problem.kind);
        if meetings.contains(&Meeting::Discordant) {
            if shorter.is_empty() || !levels.fit(&before, self.problem.kind).contains(&Meeting::Discordant) {
                met.copies.push(self.copy(read));
            }
            self.meet_copy(order, access, met);
            return;
        }
        let in_step = levels.in_step(&positions);
        let places = levels.places(positions, self.problem.sizes);
        let mut outside = Some(0);
        for (depth, ((kind, known), meeting)) in levels.resolved(&positions).zip(meetings).enumerate() {
            let fixed = std::mem::replace(&mut outside, known);
            if known != Some(here + 1) {
                continue;
            }
            let span = if depth < in_step { 0.0 } else { self.bytes_below(read, in_step) };
            match meeting {
                Meeting::Walk if kind == LevelKind::Dense => {
                    met.along.push(Followed { kind, span, places: places.clone() });
                }
                Meeting::Walk => {
                    let fixed = fixed.unwrap_or(here);
                    let hold = if *joined { Hold::of(read, depth, fixed, here) } else { None };
                    let (fibers, fiber, joined) = (self.positions(read, depth), self.fanout(read, depth), *joined);
                    met.walked.push(List {
                        kind,
                        fibers,
                        fiber,
                        average: fiber,
                        fixed,
                        joined,
                        hold,
                        searchable: searchable(read, depth),
                    });
                    met.jumps.push(span);
                }
                Meeting::Follow => met.followed.push(Followed { kind, span, places: places.clone() }),
                Meeting::Discordant => unreachable!("the read was left out"),
            }
            if depth < in_step && depth + 1 == read.ty.format.levels.len() {
                met.streams.push((place_bytes(read), self.bytes_below(read, 0)));
            }
        }
    }

    /// Adds the levels that the last loop of `order` binds in a copy with concordant levels.
    fn meet_copy(&self, order: &[usize], access: &Accessed<'_>, met: &mut Met) {
        let read = access.read;
        let (last, shorter) = order.split_last().expect("a loop is bound");
        let binds = |k: usize| read.at.iter().any(|at| at.has(&self.loops[k]));
        if !binds(*last) {
            return;
        }
        let whole = Term::access(read.clone());
        let distinct = |order: &[usize]| {
            let bound = |f: &Field| self.position(order, f).is_some();
            let known = read.at.iter().zip(&read.ty.shape).filter(|(at, _)| at.all_fields(bound));
            let places: f64 = known.map(|(_, &n)| n as f64).product();
            places * self.cx.support(&whole, self.problem.sizes, &bound)
        };
        let stored = self.positions(read, read.ty.format.levels.len());
        let foreign = !self.problem.prefix.is_empty() || order.iter().any(|k| !binds(*k));
        let span = if foreign { 12.0 * stored } else { 0.0 };
        let is_dense = read.ty.format.is_dense();
        // The loops around a fold may bind some of its levels.
        let prefix = self.problem.prefix.iter().any(|f| read.at.iter().any(|at| at.has(f)));
        let outermost = !prefix && !shorter.iter().any(|k| binds(*k));
        if is_dense || outermost && self.problem.sizes.of(&self.loops[*last]) as f64 <= 4.0 * stored + 16.0 {
            met.along.push(Followed { kind: LevelKind::Dense, span, places: None });
        } else {
            let fiber = distinct(order) / distinct(shorter).max(1.0);
            let kind = LevelKind::SparseList;
            let prefix = self.problem.prefix;
            let outside = prefix.iter().rposition(|f| read.at.iter().any(|at| at.has(f))).map_or(0, |at| at + 1);
            let fixed = shorter.iter().rposition(|k| binds(*k)).map_or(outside, |at| prefix.len() + at + 1);
            let joined = access.joined;
            let fibers = distinct(shorter);
            met.walked.push(List { kind, fibers, fiber, average: fiber, fixed, joined, hold: None, searchable: true });
            met.jumps.push(span);
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
        self.cx.ask(&read.tensor, &read.ty, Question::Positions(levels)).estimate
    }

    /// Returns the average number of coordinates in a fiber of a level of an access.
    fn fanout(&self, read: &Read, level: usize) -> f64 {
        self.positions(read, level + 1) / self.positions(read, level).max(1.0)
    }

    /// Returns the bytes of a fiber below the first `levels` levels.
    fn bytes_below(&self, read: &Read, levels: usize) -> f64 {
        let all = self.positions(read, read.ty.format.levels.len());
        place_bytes(read) * all / self.positions(read, levels).max(1.0)
    }

    fn copy(&self, read: &Read) -> Work {
        match (self.problem.kind, self.problem.formats) {
            (NestKind::Copy, _) => Work::IMPOSSIBLE,
            (NestKind::Query, Formats::Any) => Work::NONE,
            (NestKind::Query, Formats::Given) => conversion(self.cx, read),
        }
    }

    /// Returns the work of a complete order besides its loops: folds and writes.
    pub(crate) fn finish(&self, order: &[usize], mask: u64) -> Work {
        let own = order.iter().map(|&k| self.loops[k].clone());
        let full: Vec<Field> = self.problem.prefix.iter().cloned().chain(own).collect();
        let rounds = self.rounds(mask);
        let mut work = Work::NONE;
        for Inner { fold, free, sharing } in &self.folds {
            let stored =
                || stored_work(self.cx, fold, self.problem.sizes, self.problem.pins).times(1.0 / *sharing as f64);
            work += match place(&full, fold, free) {
                Some(depth) if fold.is_scan() => self.inline(fold, &full[..depth]),
                Some(depth) => (self.inline(fold, &full[..depth]) + self.along(fold, &full[..depth])).cheaper(stored()),
                None => stored(),
            };
        }
        match self.purpose {
            Purpose::Outputs(targets) => {
                work.add(Event::Query, 1.0);
                let volumes = self.volumes.get_or_init(|| targets.iter().map(|t| self.volume(t)).collect());
                let priced = targets.iter().zip(volumes).filter(|_| self.problem.formats == Formats::Given);
                for (target, volume) in priced {
                    work += self.write(target, volume, order, &full).0;
                }
            }
            Purpose::Fold(fold) => {
                work.add(Event::Fold, rounds);
                work.add(Event::Compute, rounds * self.further_operators(&fold.arg, order));
            }
        }
        work
    }

    /// Returns the number of operators that each round of the last loop computes, minus one that
    /// the consumer's price includes.
    pub(crate) fn further_operators(&self, value: &Term, order: &[usize]) -> f64 {
        order.last().map_or(0, |last| operators(value, &self.loops[*last]).saturating_sub(1)) as f64
    }

    fn inline(&self, fold: &Fold, prefix: &[Field]) -> Work {
        let problem = &self.problem;
        let mask = self.mask(|f| prefix.contains(f));
        let places: f64 = prefix.iter().map(|f| problem.sizes.of(f) as f64).product();
        let reach = if places == 0.0 { 0.0 } else { (self.rounds(mask) / places).min(problem.outside.fraction) };
        let marginals = match self.cx.measures() {
            true => self.met_outside(&|f| prefix.contains(f)).marginals,
            false => Default::default(),
        };
        let outside = Profile { fraction: reach, marginals };
        inline_work(self.cx, fold, problem.sizes, problem.pins, (prefix, &outside))
    }

    /// Returns the work of the enclosing loops' steps along levels inside a fold, which are taken
    /// even when the fold is not needed.
    fn along(&self, fold: &Fold, prefix: &[Field]) -> Work {
        let mut work = Work::NONE;
        let mut known: Vec<&Read> = self.accesses.iter().map(|access| access.read).collect();
        let positions = |f: &Field| prefix.iter().position(|g| g == f);
        fold.arg.each_access(&mut |read| {
            if known.contains(&read) {
                return;
            }
            known.push(read);
            let levels = Levels::new(read, self.problem.sizes, self.cx.mode());
            let meetings = levels.fit(&positions, self.problem.kind);
            for (depth, ((kind, at), meeting)) in levels.resolved(&positions).zip(meetings).enumerate() {
                let Some(at) = at.filter(|at| *at > 0 && meeting == Meeting::Walk && !kind.traits().full) else {
                    continue;
                };
                let fibers = self.rounds(self.mask(|f| prefix[..at - 1].contains(f)));
                work.add(Event::Merge, fibers * self.fanout(read, depth));
            }
        });
        work
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

/// Returns the work of converting a tensor into another storage order.
pub(crate) fn conversion(cx: &Context, read: &Read) -> Work {
    let levels = &read.ty.format.levels;
    // A copy stores every coordinate of a run.
    let question = match levels.iter().any(|l| l.kind.traits().runs) {
        true => Question::Distinct((0..levels.len()).collect()),
        false => Question::Positions(levels.len()),
    };
    let stored = cx.ask(&read.tensor, &read.ty, question).estimate;
    let mut work = Work::NONE;
    work.add(Event::Query, 1.0);
    // Every level but the outermost one is sorted.
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
pub(crate) fn visited(cx: &Context, target: &Target, sizes: &Sizes, bound: &Bound) -> f64 {
    if cx.skips(target) { reached(cx, &target.value, sizes, bound) } else { 1.0 }
}

/// Returns the fraction of iterations in which a term is evaluated. A fold must be evaluated even
/// if it results in its fill.
fn reached(cx: &Context, term: &Term, sizes: &Sizes, bound: &Bound) -> f64 {
    let mut folds = false;
    term.each_fold(&mut |_, _| folds = true);
    match term.node() {
        Node::Call(Op::User(_), _) => cx.support(term, sizes, bound),
        Node::Call(op, args) if folds => {
            if let ("ifelse", [condition, x, y]) = (op.name(), &args[..])
                && x.fill() == y.fill()
            {
                let [asked, x, y] = [condition, x, y].map(|t| reached(cx, t, sizes, bound));
                return match *condition.fill() == Scalar::Bool(true) {
                    true => either([x, asked * y]),
                    false => either([asked * x, y]),
                };
            }
            let parts = || args.iter().map(|a| reached(cx, a, sizes, bound));
            match &cx.deciding(term)[..] {
                [] => either(parts()),
                joined => joined.iter().map(|&k| reached(cx, &args[k], sizes, bound)).product(),
            }
        }
        _ if folds => 1.0,
        _ => cx.support(term, sizes, bound),
    }
}

/// Moves tables to the looked-up levels if a list leads the loop.
fn lead(walked: &mut Vec<List>, followed: &mut Vec<Followed>) {
    let table = |list: &List| list.kind.traits().lookup == Lookup::Direct;
    if walked.iter().any(|list| !table(list)) {
        let tables = walked.iter().filter(|list| table(list));
        followed.extend(tables.map(|list| Followed { kind: list.kind, span: 0.0, places: None }));
        walked.retain(|list| !table(list));
    }
}

/// Returns the bytes of a stored entry.
fn place_bytes(read: &Read) -> f64 {
    if read.ty.format.is_dense() { 8.0 } else { 12.0 }
}

impl Work {
    /// Adds accesses to positions, with `bytes` other bytes accessed between two accesses to one.
    pub(crate) fn miss(&mut self, count: f64, bytes: f64) {
        for (event, cache) in CACHES {
            self.add(event, count * missed(cache, bytes));
        }
    }
}

/// Returns the fraction of `bytes` that a cache does not hold.
pub(crate) fn missed(cache: f64, bytes: f64) -> f64 {
    1.0 - cache / bytes.max(cache)
}
