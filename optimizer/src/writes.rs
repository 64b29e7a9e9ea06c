//! Counts the work of writes: into the output or a workspace, the flush of the workspace, and the allocation.

use crate::cost;
use crate::formats::{estimate_positions, sparse_format};
use crate::lines::{Places, VISITS_ALL};
use crate::loop_order::{Purpose, Search};
use crate::patterns::{kept_format, pattern, patterns};
use crate::pricing::missed;
use crate::term::{At, Read, Target};
use crate::work::{Event, Work};
use crate::workspace::{Scope, order_of_writes, workspace_kinds};
use redpoll_logic::{Field, Format, LevelKind, StorageMode, Writes};
use std::rc::Rc;

/// Loops come back to the places of an output with more writes than so many for each.
const REWRITTEN: f64 = 1.5;

/// The caches, each with the event of writing into a dense level what it does not hold.
const WRITTEN: [(Event, f64); 3] =
    [(Event::CloseMiss, cost::CLOSE_CACHE), (Event::NearWrite, cost::NEAR_CACHE), (Event::FarWrite, cost::FAR_CACHE)];

/// What is written to an output, in any order of the loops.
#[derive(Clone)]
pub(crate) struct Volume {
    /// The places that are written.
    stored: f64,
    /// Whether they are so many that the output has all places.
    dense: bool,
    /// The operands that store something at just these places.
    patterns: Rc<[Read]>,
}

/// Places that are written, and how.
#[derive(Clone, Copy)]
struct Stream {
    writes: f64,
    /// The innermost loop of the output that leaves places out.
    scattered: Option<Scattered>,
    /// Whether the innermost loop of the output takes every place in order.
    in_rows: bool,
}

/// A loop that leaves places of an output out.
#[derive(Clone, Copy)]
struct Scattered {
    field: usize,
    /// How often it begins, somewhere else each time.
    begins: f64,
    rounds: f64,
}

impl Search<'_> {
    pub(crate) fn volume(&self, target: &Target) -> Volume {
        let sizes = self.problem.sizes;
        let fields: Vec<Field> = target.at.iter().flat_map(At::fields).collect();
        let support = self.cx.output_support(target, sizes, &fields);
        let places: f64 = target.shape.iter().map(|&n| n as f64).product();
        let scatters = target.at.iter().any(|at| matches!(at, At::Value(_)));
        let stored = if scatters { self.cx.writes(target, sizes).min(places) } else { places * support };
        let dense = target.format.is_none() && support > cost::DENSE_FRACTION;
        Volume { stored, dense, patterns: patterns(self.cx, target, sizes).into() }
    }

    /// For each output whether it is better stored with all of its places.
    pub(crate) fn dense(&self, full: &[Field]) -> Vec<bool> {
        let Purpose::Outputs(targets) = self.purpose else { return Vec::new() };
        let order: Vec<usize> = full.iter().filter_map(|f| self.loops.iter().position(|g| g == f)).collect();
        let is_dense = |target: &Target| self.write(target, &self.volume(target), &order, full).1;
        targets.iter().map(is_dense).collect()
    }

    /// What the writes of an output take in an order of loops, and whether the output has all places for it.
    pub(crate) fn write(&self, target: &Target, volume: &Volume, order: &[usize], full: &[Field]) -> (Work, bool) {
        let sizes = self.problem.sizes;
        let priced = |format: &Format| self.write_as(format, target, volume, (order, full));
        let every = Format::dense(target.shape.len());
        if let Some(format) = &target.format {
            // One that does not fit is refused when the query is written down.
            let fits = format.rank() == target.shape.len();
            return (if fits { priced(format) } else { Work::NONE }, false);
        }
        if volume.dense {
            return (priced(&every), false);
        }
        let kept = kept_format(self.cx, &volume.patterns, sizes, full);
        let few = priced(&kept.unwrap_or_else(|| sparse_format(target, sizes, full)));
        let places: f64 = target.shape.iter().map(|&n| n as f64).product();
        let waste =
            if self.cx.results.contains(&target.alias) { cost::DENSE_WASTE_OF_RESULTS } else { cost::DENSE_WASTE };
        if places > waste * volume.stored {
            return (few, false);
        }
        let all = priced(&every);
        // Whoever reads it goes through what is stored.
        let read = |event, count| count * cost::price(event);
        // What a plan of a few places gains is not worth another format.
        let dense = all.cost() + read(Event::DenseRound, places) + read(Event::Query, 1.0)
            < few.cost() + read(Event::Round, volume.stored) + read(Event::WalkList, volume.stored);
        if dense { (all, true) } else { (few, false) }
    }

    fn write_as(&self, format: &Format, target: &Target, volume: &Volume, (order, full): (&[usize], &[Field])) -> Work {
        let sizes = self.problem.sizes;
        let own = |k: &usize| target.at.iter().any(|at| at.has(&self.loops[*k]));
        let stream = self.stream(order, own);
        let mut work = Work::NONE;
        let all = self.rounds(self.mask_of(order));
        let folds = target.fold.is_some() && order.last().is_some_and(|k| !own(k));
        work.add(if folds { Event::Fold } else { Event::Compute }, all);
        work.add(Event::Compute, all * self.further_operators(&target.value, order));
        let counts = estimate_positions(self.cx, target, format, sizes);
        if pattern(&volume.patterns, format).is_some() {
            let places = counts.last().copied().unwrap_or(1.0);
            work.allocate(places);
            // What loops come back to is read, too.
            let again = stream.writes > REWRITTEN * places;
            work.add(if again { Event::WriteDense } else { Event::DenseRound }, stream.writes);
            return work;
        }
        work += allocation(target, format, &counts);
        match order_of_writes(self.cx, target, format, sizes, full) {
            Scope::InOrder => work + self.direct(target, format, (volume, stream), (order, full)),
            Scope::Workspace { depth, levels } => {
                let scopes = self.rounds(self.mask_of(&order[..depth])).max(1.0);
                let kinds = workspace_kinds(self.cx, target, format, sizes, full, (depth, levels));
                let dimensions = format.storage_shape(&target.shape);
                let places = dimensions[levels..].iter().map(|&n| n as f64).product();
                work + through(&kinds, volume.stored, scopes, (stream, places))
            }
        }
    }

    /// The writes of an output: its innermost loop accumulates before it writes where others are inside of it.
    fn stream(&self, order: &[usize], own: impl Fn(&usize) -> bool) -> Stream {
        let rounds = |count: usize| self.rounds(self.mask_of(&order[..count]));
        let mine: Vec<usize> = (0..order.len()).filter(|at| own(&order[*at])).collect();
        let Some(&last) = mine.last() else { return Stream { writes: 1.0, scattered: None, in_rows: false } };
        let takes_all = |at: usize| {
            let size = self.problem.sizes.of(&self.loops[order[at]]) as f64;
            rounds(at + 1) > VISITS_ALL * size * rounds(at)
        };
        let in_rows = takes_all(last);
        let scattered = mine.iter().rev().find(|at| !takes_all(**at)).map(|&at| Scattered {
            field: order[at],
            begins: rounds(at),
            rounds: rounds(at + 1),
        });
        Stream { writes: rounds(last + 1), scattered, in_rows }
    }

    /// Writes into the output itself.
    fn direct(
        &self,
        target: &Target,
        format: &Format,
        (volume, stream): (&Volume, Stream),
        (order, full): (&[usize], &[Field]),
    ) -> Work {
        let mut work = Work::NONE;
        let Some(kind) = format.levels.last().map(|l| l.kind) else { return work };
        if kind.traits().writes != Writes::Random {
            work.add(Event::Append, stream.writes);
            return work;
        }
        let dimensions = format.storage_shape(&target.shape);
        let in_step = format.modes.iter().enumerate().take_while(|(k, mode)| {
            let fields = target.at[mode.mode()].fields();
            full.get(*k).is_some_and(|f| fields.len() == 1 && fields.contains(f))
        });
        let below: f64 = dimensions[in_step.count()..].iter().map(|&n| n as f64).product();
        match kind {
            LevelKind::Hash => {
                work.add(Event::WriteHash, stream.writes);
                work.miss(stream.writes, 40.0 * volume.stored);
                work.sort_hashed(volume.stored, volume.stored);
            }
            LevelKind::Dense => {
                let places = self.places(target, format, order);
                // Whether the innermost loop of the output goes from neighbour to neighbour in memory.
                let along =
                    places.as_ref().is_none_or(|p| p.last().map(|level| level.at) == p.iter().map(|l| l.at).max());
                let in_rows = stream.in_rows && along;
                work.add(if in_rows { Event::DenseRound } else { Event::WriteDense }, stream.writes);
                let scattered = stream.scattered.filter(|_| along);
                let jumps = scattered.map_or(0.0, |s| self.jumps(s, target, format, &dimensions));
                let jumps = if along { jumps } else { stream.writes };
                for (event, cache) in WRITTEN.into_iter().filter(|_| jumps > 0.0 && below > 1.0) {
                    let lines = places.as_ref().map(|p| self.missed_lines((order, stream.writes), p, cache));
                    work.add(event, (jumps * missed(cache, 8.0 * below)).min(lines.unwrap_or(f64::INFINITY)));
                }
                work.add(Event::FarMiss, stream.writes * aliased(target, format, &dimensions, full));
            }
            _ => {
                work.add(cost::write(kind), stream.writes);
                work.miss(stream.writes, 9.0 * below);
                // A byte map lists what is written in one list for all fibers.
                if kind == LevelKind::ByteMap {
                    work.sort(volume.stored, volume.stored, dimensions.iter().map(|&n| n as f64).product());
                }
            }
        }
        work
    }
}

impl Search<'_> {
    /// The places of the levels of an output, where each is subscripted by a field.
    fn places(&self, target: &Target, format: &Format, order: &[usize]) -> Option<Vec<Places>> {
        let level = |mode: &StorageMode| {
            let StorageMode::Whole { mode } = mode else { return None };
            let own = |k: &usize| target.at[*mode] == At::field(&self.loops[*k]);
            Some(Places { at: Some(order.iter().position(own)?), size: target.shape[*mode] as f64 })
        };
        format.modes.iter().map(level).collect()
    }

    /// How often a write into places goes where a processor has not fetched ahead: coordinates of a loop ascend, so that it
    /// is fetched what is not far from the one before.
    fn jumps(&self, scattered: Scattered, target: &Target, format: &Format, dimensions: &[u64]) -> f64 {
        let Scattered { field, begins, rounds } = scattered;
        let field = &self.loops[field];
        let inner = format.modes.iter().position(|mode| target.at[mode.mode()].has(field)).map_or(0, |mode| mode + 1);
        let bytes: f64 = dimensions[inner..].iter().fold(8.0, |bytes, &n| bytes * n as f64);
        let gap = bytes * self.problem.sizes.of(field) as f64 * begins / rounds.max(1.0);
        (begins + rounds * (gap / cost::FETCHED_AHEAD).min(1.0)).min(rounds)
    }
}

/// The part of the writes of the innermost loop that wait for the one before: those whose addresses differ by a multiple of
/// [`cost::ALIASED`] bytes look like one to a processor until they are done.
fn aliased(target: &Target, format: &Format, dimensions: &[u64], full: &[Field]) -> f64 {
    let Some(innermost) = full.last() else { return 0.0 };
    let Some(mode) = format.modes.iter().position(|mode| target.at[mode.mode()].has(innermost)) else { return 0.0 };
    let bytes = dimensions[mode + 1..].iter().fold(8u64, |bytes, &n| bytes.saturating_mul(n.max(1)));
    if mode + 1 < dimensions.len() { cost::aliased(bytes) } else { 0.0 }
}

/// What is allocated for an output and set to its first value.
fn allocation(target: &Target, format: &Format, counts: &[f64]) -> Work {
    let mut work = Work::NONE;
    let dimensions = format.storage_shape(&target.shape);
    let mut above = 1.0;
    for (level, (&count, &size)) in format.levels.iter().zip(counts.iter().zip(&dimensions)) {
        match level.kind {
            LevelKind::Dense => {}
            LevelKind::ByteMap | LevelKind::BitMap => {
                work.allocate(above * size as f64 / 8.0);
                work.allocate(above * size as f64);
            }
            _ => work.allocate(0.5 * above),
        }
        above = count;
    }
    match format.levels.last().map(|l| l.kind) {
        Some(LevelKind::Dense) => work.allocate(above),
        Some(LevelKind::ByteMap | LevelKind::BitMap) | None => {}
        Some(_) => work.fault(above),
    }
    work
}

impl Work {
    /// An array of so many times eight bytes, which is set to its first value.
    fn allocate(&mut self, words: f64) {
        self.add(Event::Clear, words);
        self.fault(words);
    }

    /// The pages of an array of so many times eight bytes.
    fn fault(&mut self, words: f64) {
        if 8.0 * words >= cost::FRESH_PAGES {
            self.add(Event::Fault, words);
        }
    }

    /// Coordinates are sorted, so many of each so many places at once.
    fn sort(&mut self, stored: f64, fiber: f64, places: f64) {
        let steps = fiber.max(2.0).log2();
        let marked = places <= cost::MOST_MARKED.min(cost::MARKED_WASTE * fiber);
        self.add(Event::Sort, stored * if marked { steps.min(cost::MARKED_STEPS) } else { steps });
    }

    /// Entries of hash tables of so many entries each are sorted: each comparison reads both from where they were put.
    fn sort_hashed(&mut self, entries: f64, each: f64) {
        let comparisons = entries * each.max(2.0).log2();
        self.add(Event::SortHash, comparisons);
        self.miss(comparisons, 12.0 * each);
    }
}

/// Writes through a workspace of those kinds over so many places, one for each of the scopes.
fn through(kinds: &[LevelKind], stored: f64, scopes: f64, (stream, places): (Stream, f64)) -> Work {
    let mut work = Work::NONE;
    let fiber = (stored / scopes).max(2.0);
    let hashed = kinds.contains(&LevelKind::Hash);
    for kind in kinds.iter().filter(|kind| **kind != LevelKind::Dense || kinds.len() == 1) {
        work.add(cost::write(*kind), stream.writes);
    }
    match hashed {
        true => {
            work.miss(stream.writes, 40.0 * fiber);
            work.sort_hashed(stored, fiber);
        }
        false => {
            work.miss(stream.writes, 9.0 * places);
            work.sort(stored, fiber, places);
            work.allocate(places * 9.0 / 8.0);
        }
    }
    work.add(Event::Flush, stored);
    work.add(Event::Append, stored);
    work
}
