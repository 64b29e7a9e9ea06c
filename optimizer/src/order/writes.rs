//! Counts the work of an output: the values that are computed or folded, the writes into the output
//! or a workspace, the flush of the workspace, and the allocation. Decides where a dense format
//! costs less.

use crate::access::fit::DenseExtent;
use crate::order::lines::MIN_VISITED_FRACTION;
use crate::order::search::{LoopBody, OrderSearch};
use crate::output::formats::{estimate_positions, sparse_format};
use crate::output::patterns::{find_patterns, matching_pattern, pattern_format};
use crate::output::workspace::{WriteDestination, workspace_kinds, write_destination};
use crate::term::{ModeCoordinate, Read, Target};
use crate::work::caches::miss_fraction;
use crate::work::{Event, Work, cost};
use redpoll_logic::{Field, Format, LevelKind, StorageMode, WriteMethod};
use std::rc::Rc;

/// Number of writes per stored value above which an output that shares the levels of an operand
/// counts as rewritten.
const REWRITE_RATIO: f64 = 1.5;

/// The sizes of the caches, each with the event of a write into a dense level that misses the
/// cache.
const WRITE_CACHES: [(Event, f64); 3] =
    [(Event::CloseMiss, cost::CLOSE_CACHE), (Event::NearWrite, cost::NEAR_CACHE), (Event::FarWrite, cost::FAR_CACHE)];

/// The stored entries of an output, independent of the loop order.
#[derive(Clone)]
pub(crate) struct Volume {
    /// Number of stored entries.
    stored: f64,
    /// Set when the output is priced as dense without a comparison, because its stored fraction is
    /// large and no format is requested.
    dense: bool,
    /// Operands that store exactly the coordinates of the output.
    patterns: Rc<[Read]>,
}

/// A stream of writes into an output.
#[derive(Clone, Copy)]
struct WriteStream {
    writes: f64,
    /// The innermost loop of the output that skips coordinates.
    skipping_loop: Option<SkippingLoop>,
    /// Set when the innermost loop of the output visits nearly every coordinate, in order.
    visits_rows: bool,
}

/// A loop that skips coordinates of an output.
#[derive(Clone, Copy)]
struct SkippingLoop {
    field: usize,
    /// Number of starts of the loop, each at other coordinates of the loops outside.
    starts: f64,
    rounds: f64,
}

impl OrderSearch<'_> {
    pub(crate) fn volume(&self, target: &Target) -> Volume {
        let sizes = self.problem.sizes;
        let fields: Vec<Field> = target.coordinates.iter().flat_map(ModeCoordinate::fields).collect();
        let support = self.facts.output_support(target, sizes, &fields);
        let coordinate_count: f64 = target.shape.iter().map(|&n| n as f64).product();
        let scatters = target.coordinates.iter().any(|at| matches!(at, ModeCoordinate::Value(_)));
        let stored = if scatters {
            self.facts.write_count(target, sizes).min(coordinate_count)
        } else {
            coordinate_count * support
        };
        let dense = target.format.is_none() && support > cost::DENSE_FRACTION;
        Volume { stored, dense, patterns: find_patterns(self.facts, target, sizes).into() }
    }

    /// Returns, for each output, whether a dense format is chosen because of its lower cost;
    /// nothing for a fold.
    pub(crate) fn dense_outputs(&self, full: &[Field]) -> Vec<bool> {
        let LoopBody::Outputs(targets) = self.body else { return Vec::new() };
        let order: Vec<usize> = full.iter().filter_map(|f| self.loops.iter().position(|g| g == f)).collect();
        let is_dense = |target: &Target| self.write_work(target, &self.volume(target), &order, full).1;
        targets.iter().map(is_dense).collect()
    }

    /// Returns the work of an output's writes in a loop order, and whether a dense format is chosen
    /// because of its lower cost.
    pub(crate) fn write_work(&self, target: &Target, volume: &Volume, order: &[usize], full: &[Field]) -> (Work, bool) {
        let sizes = self.problem.sizes;
        let priced = |format: &Format| self.write_work_in(format, target, volume, (order, full));
        let dense_format = Format::dense(target.shape.len());
        if let Some(format) = &target.format {
            // `choose_format` rejects a format that does not fit.
            let fits = format.rank() == target.shape.len();
            return (if fits { priced(format) } else { Work::NONE }, false);
        }
        if volume.dense {
            return (priced(&dense_format), false);
        }
        let pattern = pattern_format(self.facts, &volume.patterns, sizes, full);
        let sparse_work = priced(&pattern.unwrap_or_else(|| sparse_format(target, sizes, full)));
        let coordinate_count: f64 = target.shape.iter().map(|&n| n as f64).product();
        let waste = if self.facts.is_result(&target.alias) { cost::DENSE_WASTE_OF_RESULTS } else { cost::DENSE_WASTE };
        if coordinate_count > waste * volume.stored {
            return (sparse_work, false);
        }
        let dense_work = priced(&dense_format);
        // Readers visit every stored entry.
        let read = |event, count| count * cost::price(event);
        // A dense format must save more than the price of a query: the small savings of a tiny plan
        // do not justify another format.
        let dense = dense_work.cost() + read(Event::DenseRound, coordinate_count) + read(Event::Query, 1.0)
            < sparse_work.cost() + read(Event::Round, volume.stored) + read(Event::WalkList, volume.stored);
        if dense { (dense_work, true) } else { (sparse_work, false) }
    }

    fn write_work_in(
        &self,
        format: &Format,
        target: &Target,
        volume: &Volume,
        (order, full): (&[usize], &[Field]),
    ) -> Work {
        let sizes = self.problem.sizes;
        let is_output_loop = |k: &usize| target.coordinates.iter().any(|at| at.has(&self.loops[*k]));
        let stream = self.stream(order, is_output_loop);
        let mut work = Work::NONE;
        let all = self.rounds(order);
        let folds = target.fold.is_some() && order.last().is_some_and(|k| !is_output_loop(k));
        work.add(if folds { Event::Fold } else { Event::Compute }, all);
        work.add(Event::Compute, all * self.extra_operators(&target.value, order));
        let counts = estimate_positions(self.facts, target, format, sizes);
        if matching_pattern(&volume.patterns, format).is_some() {
            let values = counts.last().copied().unwrap_or(1.0);
            work.allocate(values);
            // If loops return to positions, their values are read as well as written.
            let is_rewritten = stream.writes > REWRITE_RATIO * values;
            work.add(if is_rewritten { Event::WriteDense } else { Event::DenseRound }, stream.writes);
            return work;
        }
        work += allocation_work(target, format, &counts);
        match write_destination(self.facts, target, format, sizes, full) {
            WriteDestination::Output => work + self.direct_write_work(target, format, (volume, stream), (order, full)),
            WriteDestination::Workspace { depth, levels } => {
                let scopes = self.rounds(&order[..depth]).max(1.0);
                let kinds = workspace_kinds(self.facts, target, format, sizes, full, (depth, levels));
                let dimensions = format.storage_shape(&target.shape);
                let coordinate_count = dimensions[levels..].iter().map(|&n| n as f64).product();
                work + workspace_work(&kinds, volume.stored, scopes, (stream, coordinate_count))
            }
        }
    }

    /// Returns the writes of an output. If loops that do not bind the output are innermost, they
    /// accumulate a value before it is written.
    fn stream(&self, order: &[usize], is_output_loop: impl Fn(&usize) -> bool) -> WriteStream {
        let rounds = |count: usize| self.rounds(&order[..count]);
        let output_loops: Vec<usize> = (0..order.len()).filter(|at| is_output_loop(&order[*at])).collect();
        let Some(&last) = output_loops.last() else {
            return WriteStream { writes: 1.0, skipping_loop: None, visits_rows: false };
        };
        let visits_all = |at: usize| {
            let size = self.problem.sizes.of(&self.loops[order[at]]) as f64;
            rounds(at + 1) > MIN_VISITED_FRACTION * size * rounds(at)
        };
        let visits_rows = visits_all(last);
        let skipping_loop = output_loops.iter().rev().find(|at| !visits_all(**at)).map(|&at| SkippingLoop {
            field: order[at],
            starts: rounds(at),
            rounds: rounds(at + 1),
        });
        WriteStream { writes: rounds(last + 1), skipping_loop, visits_rows }
    }

    /// Returns the work of writes directly into the output.
    fn direct_write_work(
        &self,
        target: &Target,
        format: &Format,
        (volume, stream): (&Volume, WriteStream),
        (order, full): (&[usize], &[Field]),
    ) -> Work {
        let mut work = Work::NONE;
        let Some(kind) = format.levels.last().map(|l| l.kind) else { return work };
        let dimensions = format.storage_shape(&target.shape);
        let in_step = format.modes.iter().enumerate().take_while(|(k, mode)| {
            let fields = target.coordinates[mode.mode()].fields();
            full.get(*k).is_some_and(|f| fields.len() == 1 && fields.contains(f))
        });
        let below: f64 = dimensions[in_step.count()..].iter().map(|&n| n as f64).product();
        match kind.traits().writes {
            WriteMethod::Append => work.add(Event::Append, stream.writes),
            WriteMethod::HashTable => {
                work.add(Event::WriteHash, stream.writes);
                work.add_misses(stream.writes, 40.0 * volume.stored);
                work.sort_hashed(volume.stored, volume.stored);
            }
            WriteMethod::Array => {
                let extents = self.dense_extents(target, format, order);
                // True if the innermost loop of the output moves between neighbors in memory, as is
                // assumed where the extents are unknown.
                let along = extents
                    .as_ref()
                    .is_none_or(|p| p.last().map(|level| level.loop_depth) == p.iter().map(|l| l.loop_depth).max());
                let visits_rows = stream.visits_rows && along;
                work.add(if visits_rows { Event::DenseRound } else { Event::WriteDense }, stream.writes);
                let skipping_loop = stream.skipping_loop.filter(|_| along);
                let jumps = skipping_loop.map_or(0.0, |s| self.jumps(s, target, format, &dimensions));
                let jumps = if along { jumps } else { stream.writes };
                for (event, cache) in WRITE_CACHES.into_iter().filter(|_| jumps > 0.0 && below > 1.0) {
                    let lines = extents.as_ref().map(|p| self.line_misses((order, stream.writes), p, cache));
                    work.add(event, (jumps * miss_fraction(cache, 8.0 * below)).min(lines.unwrap_or(f64::INFINITY)));
                }
                work.add(Event::FarMiss, stream.writes * aliased_fraction(target, format, &dimensions, full));
            }
            WriteMethod::Flags { listed } => {
                work.add(cost::write(kind), stream.writes);
                work.add_misses(stream.writes, 9.0 * below);
                // One list has the written coordinates of all fibers.
                if listed {
                    work.sort(volume.stored, volume.stored, dimensions.iter().map(|&n| n as f64).product());
                }
            }
        }
        work
    }
}

impl OrderSearch<'_> {
    /// Returns the loop and the size of each level of an output, if each level stores a whole mode
    /// whose coordinate is the field of a loop.
    fn dense_extents(&self, target: &Target, format: &Format, order: &[usize]) -> Option<Vec<DenseExtent>> {
        let level = |mode: &StorageMode| {
            let StorageMode::Whole { mode } = mode else { return None };
            let is_level_loop = |k: &usize| target.coordinates[*mode] == ModeCoordinate::field(&self.loops[*k]);
            Some(DenseExtent {
                loop_depth: Some(order.iter().position(is_level_loop)?),
                size: target.shape[*mode] as f64,
            })
        };
        format.modes.iter().map(level).collect()
    }

    /// Returns the number of writes that the processor has not prefetched. Coordinates of a loop
    /// ascend, so writes close to the previous one are prefetched.
    fn jumps(&self, skipping_loop: SkippingLoop, target: &Target, format: &Format, dimensions: &[u64]) -> f64 {
        let SkippingLoop { field, starts, rounds } = skipping_loop;
        let field = &self.loops[field];
        let inner =
            format.modes.iter().position(|mode| target.coordinates[mode.mode()].has(field)).map_or(0, |mode| mode + 1);
        let bytes: f64 = dimensions[inner..].iter().fold(8.0, |bytes, &n| bytes * n as f64);
        let gap = bytes * self.problem.sizes.of(field) as f64 * starts / rounds.max(1.0);
        (starts + rounds * (gap / cost::PREFETCH_DISTANCE).min(1.0)).min(rounds)
    }
}

/// Returns the fraction of the innermost loop's writes that wait for the previous write, because
/// the two addresses differ by a multiple of [`cost::ALIAS_DISTANCE`] bytes.
fn aliased_fraction(target: &Target, format: &Format, dimensions: &[u64], full: &[Field]) -> f64 {
    let Some(innermost) = full.last() else { return 0.0 };
    let Some(mode) = format.modes.iter().position(|mode| target.coordinates[mode.mode()].has(innermost)) else {
        return 0.0;
    };
    let bytes = dimensions[mode + 1..].iter().fold(8u64, |bytes, &n| bytes.saturating_mul(n.max(1)));
    if mode + 1 < dimensions.len() { cost::aliased_fraction(bytes) } else { 0.0 }
}

/// Returns the work of allocating and initializing an output.
fn allocation_work(target: &Target, format: &Format, counts: &[f64]) -> Work {
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
    /// Adds the allocation and initialization of an array of `words` times eight bytes.
    pub(crate) fn allocate(&mut self, words: f64) {
        self.add(Event::Clear, words);
        self.fault(words);
    }

    /// Adds the page faults of an array of `words` times eight bytes, if the array is so large that
    /// the allocator requests its pages from the system each time.
    fn fault(&mut self, words: f64) {
        if 8.0 * words >= cost::FRESH_PAGE_BYTES {
            self.add(Event::Fault, words);
        }
    }

    /// Adds the work of sorting `stored` coordinates in groups of `fiber` coordinates each. All
    /// coordinates of a group are below `coordinate_count`.
    fn sort(&mut self, stored: f64, fiber: f64, coordinate_count: f64) {
        let steps = fiber.max(2.0).log2();
        let marked = coordinate_count <= cost::MAX_MARKED.min(cost::MARKED_WASTE * fiber);
        self.add(Event::Sort, stored * if marked { steps.min(cost::MARKED_STEPS) } else { steps });
    }

    /// Adds the work of sorting the entries of hash tables: `entries` is the number of all entries,
    /// and `each` the number of entries in each table. A comparison reads both entries at their
    /// hashed positions.
    fn sort_hashed(&mut self, entries: f64, each: f64) {
        let comparisons = entries * each.max(2.0).log2();
        self.add(Event::SortHash, comparisons);
        self.add_misses(comparisons, 12.0 * each);
    }
}

/// Returns the work of writes through a workspace of these level kinds over `coordinate_count`
/// coordinates. The workspace is filled and flushed `scopes` times.
fn workspace_work(
    kinds: &[LevelKind],
    stored: f64,
    scopes: f64,
    (stream, coordinate_count): (WriteStream, f64),
) -> Work {
    let mut work = Work::NONE;
    let fiber = (stored / scopes).max(2.0);
    let hashed = kinds.iter().any(|kind| kind.traits().writes == WriteMethod::HashTable);
    for kind in kinds.iter().filter(|kind| kind.traits().writes != WriteMethod::Array || kinds.len() == 1) {
        work.add(cost::write(*kind), stream.writes);
    }
    match hashed {
        true => {
            work.add_misses(stream.writes, 40.0 * fiber);
            work.sort_hashed(stored, fiber);
        }
        false => {
            work.add_misses(stream.writes, 9.0 * coordinate_count);
            work.sort(stored, fiber, coordinate_count);
            work.allocate(coordinate_count * 9.0 / 8.0);
        }
    }
    work.add(Event::Flush, stored);
    work.add(Event::Append, stored);
    work
}
