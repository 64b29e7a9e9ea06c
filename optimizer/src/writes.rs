//! Counts the work of writes: into the output or a workspace, the flush of the workspace, and the
//! allocation.

use crate::cost;
use crate::formats::{estimate_positions, sparse_format};
use crate::lines::{Places, VISITS_ALL};
use crate::loop_order::{Purpose, Search};
use crate::patterns::{kept_format, pattern, patterns};
use crate::pricing::missed;
use crate::term::{At, Read, Target};
use crate::work::{Event, Work};
use crate::workspace::{Scope, order_of_writes, workspace_kinds};
use redpoll_logic::{Field, Format, LevelKind, StorageMode, WriteMethod};
use std::rc::Rc;

/// Number of writes per coordinate above which an output counts as rewritten.
const REWRITTEN: f64 = 1.5;

/// The caches, each with the event of a write into a dense level that misses it.
const WRITTEN: [(Event, f64); 3] =
    [(Event::CloseMiss, cost::CLOSE_CACHE), (Event::NearWrite, cost::NEAR_CACHE), (Event::FarWrite, cost::FAR_CACHE)];

/// Volume of an output, independent of the loop order.
#[derive(Clone)]
pub(crate) struct Volume {
    /// Number of stored entries.
    stored: f64,
    /// Set when the stored fraction is so large that the output is dense.
    dense: bool,
    /// Operands that store exactly these coordinates.
    patterns: Rc<[Read]>,
}

/// A stream of writes into an output.
#[derive(Clone, Copy)]
struct Stream {
    writes: f64,
    /// The innermost loop of the output that skips coordinates.
    scattered: Option<Scattered>,
    /// Set when the innermost loop of the output visits every coordinate in order.
    in_rows: bool,
}

/// A loop that skips coordinates of an output.
#[derive(Clone, Copy)]
struct Scattered {
    field: usize,
    /// Number of times the loop begins, each at other coordinates.
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

    /// Returns, for each output, whether it is cheaper dense.
    pub(crate) fn dense(&self, full: &[Field]) -> Vec<bool> {
        let Purpose::Outputs(targets) = self.purpose else { return Vec::new() };
        let order: Vec<usize> = full.iter().filter_map(|f| self.loops.iter().position(|g| g == f)).collect();
        let is_dense = |target: &Target| self.write(target, &self.volume(target), &order, full).1;
        targets.iter().map(is_dense).collect()
    }

    /// Returns the work of an output's writes in a loop order, and whether it is dense because that
    /// is cheaper.
    pub(crate) fn write(&self, target: &Target, volume: &Volume, order: &[usize], full: &[Field]) -> (Work, bool) {
        let sizes = self.problem.sizes;
        let priced = |format: &Format| self.write_as(format, target, volume, (order, full));
        let every = Format::dense(target.shape.len());
        if let Some(format) = &target.format {
            // `emit` rejects a format that does not fit.
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
        // Readers visit every stored entry.
        let read = |event, count| count * cost::price(event);
        // The small savings of a tiny plan do not justify another format.
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
            // Positions that loops return to are read as well.
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

    /// Returns the writes of an output. Its innermost loop accumulates before it writes if other
    /// loops are inside.
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

    /// Returns the work of writes directly into the output.
    fn direct(
        &self,
        target: &Target,
        format: &Format,
        (volume, stream): (&Volume, Stream),
        (order, full): (&[usize], &[Field]),
    ) -> Work {
        let mut work = Work::NONE;
        let Some(kind) = format.levels.last().map(|l| l.kind) else { return work };
        let dimensions = format.storage_shape(&target.shape);
        let in_step = format.modes.iter().enumerate().take_while(|(k, mode)| {
            let fields = target.at[mode.mode()].fields();
            full.get(*k).is_some_and(|f| fields.len() == 1 && fields.contains(f))
        });
        let below: f64 = dimensions[in_step.count()..].iter().map(|&n| n as f64).product();
        match kind.traits().writes {
            WriteMethod::Append => work.add(Event::Append, stream.writes),
            WriteMethod::HashTable => {
                work.add(Event::WriteHash, stream.writes);
                work.miss(stream.writes, 40.0 * volume.stored);
                work.sort_hashed(volume.stored, volume.stored);
            }
            WriteMethod::Array => {
                let places = self.places(target, format, order);
                // True if the innermost loop of the output moves between neighbors in memory.
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
            WriteMethod::Flags { listed } => {
                work.add(cost::write(kind), stream.writes);
                work.miss(stream.writes, 9.0 * below);
                // One list has the written coordinates of all fibers.
                if listed {
                    work.sort(volume.stored, volume.stored, dimensions.iter().map(|&n| n as f64).product());
                }
            }
        }
        work
    }
}

impl Search<'_> {
    /// Returns the coordinates of an output's levels, if each is subscripted by a field.
    fn places(&self, target: &Target, format: &Format, order: &[usize]) -> Option<Vec<Places>> {
        let level = |mode: &StorageMode| {
            let StorageMode::Whole { mode } = mode else { return None };
            let own = |k: &usize| target.at[*mode] == At::field(&self.loops[*k]);
            Some(Places { at: Some(order.iter().position(own)?), size: target.shape[*mode] as f64 })
        };
        format.modes.iter().map(level).collect()
    }

    /// Returns the number of writes that the processor has not prefetched. Coordinates of a loop
    /// ascend, so writes close to the previous one are prefetched.
    fn jumps(&self, scattered: Scattered, target: &Target, format: &Format, dimensions: &[u64]) -> f64 {
        let Scattered { field, begins, rounds } = scattered;
        let field = &self.loops[field];
        let inner = format.modes.iter().position(|mode| target.at[mode.mode()].has(field)).map_or(0, |mode| mode + 1);
        let bytes: f64 = dimensions[inner..].iter().fold(8.0, |bytes, &n| bytes * n as f64);
        let gap = bytes * self.problem.sizes.of(field) as f64 * begins / rounds.max(1.0);
        (begins + rounds * (gap / cost::FETCHED_AHEAD).min(1.0)).min(rounds)
    }
}

/// Returns the fraction of the innermost loop's writes that wait for the previous one, because
/// their addresses differ by a multiple of [`cost::ALIASED`] bytes.
fn aliased(target: &Target, format: &Format, dimensions: &[u64], full: &[Field]) -> f64 {
    let Some(innermost) = full.last() else { return 0.0 };
    let Some(mode) = format.modes.iter().position(|mode| target.at[mode.mode()].has(innermost)) else { return 0.0 };
    let bytes = dimensions[mode + 1..].iter().fold(8u64, |bytes, &n| bytes.saturating_mul(n.max(1)));
    if mode + 1 < dimensions.len() { cost::aliased(bytes) } else { 0.0 }
}

/// Returns the work of allocating and initializing an output.
fn allocation(target: &Target, format: &Format, counts: &[f64]) -> Work {
    let mut work = Work::NONE;
    let dimensions = format.storage_shape(&target.shape);
    let mut above = 1.0;
    for (level, (&count, &size)) in format.levels.iter().zip(counts.iter().zip(&dimensions)) {
        match level.kind.traits().writes {
            WriteMethod::Array => {}
            WriteMethod::Flags { .. } => {
                work.allocate(above * size as f64 / 8.0);
                work.allocate(above * size as f64);
            }
            WriteMethod::Append | WriteMethod::HashTable => work.allocate(0.5 * above),
        }
        above = count;
    }
    match format.levels.last().map(|l| l.kind.traits().writes) {
        Some(WriteMethod::Array) => work.allocate(above),
        Some(WriteMethod::Flags { .. }) | None => {}
        Some(WriteMethod::Append | WriteMethod::HashTable) => work.fault(above),
    }
    work
}

impl Work {
    /// Adds an array of `words` times eight bytes that is initialized.
    fn allocate(&mut self, words: f64) {
        self.add(Event::Clear, words);
        self.fault(words);
    }

    /// Adds the page faults of an array of `words` times eight bytes.
    fn fault(&mut self, words: f64) {
        if 8.0 * words >= cost::FRESH_PAGES {
            self.add(Event::Fault, words);
        }
    }

    /// Adds sorting `stored` coordinates in groups of `fiber`, each group out of `places`
    /// coordinates.
    fn sort(&mut self, stored: f64, fiber: f64, places: f64) {
        let steps = fiber.max(2.0).log2();
        let marked = places <= cost::MOST_MARKED.min(cost::MARKED_WASTE * fiber);
        self.add(Event::Sort, stored * if marked { steps.min(cost::MARKED_STEPS) } else { steps });
    }

    /// Adds sorting the entries of hash tables of `each` entries; each comparison reads both
    /// entries at their hashed positions.
    fn sort_hashed(&mut self, entries: f64, each: f64) {
        let comparisons = entries * each.max(2.0).log2();
        self.add(Event::SortHash, comparisons);
        self.miss(comparisons, 12.0 * each);
    }
}

/// Returns the work of writes through a workspace of these level kinds over `places` coordinates,
/// one for each of the scopes.
fn through(kinds: &[LevelKind], stored: f64, scopes: f64, (stream, places): (Stream, f64)) -> Work {
    let mut work = Work::NONE;
    let fiber = (stored / scopes).max(2.0);
    let hashed = kinds.iter().any(|kind| kind.traits().writes == WriteMethod::HashTable);
    for kind in kinds.iter().filter(|kind| kind.traits().writes != WriteMethod::Array || kinds.len() == 1) {
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
