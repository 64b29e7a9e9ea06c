//! The bounds of chunks of the outermost loop, at equal shares of its work, or at growing shares if
//! the loop may end early. Also the bounds of sections, into which rounds with much work are cut.
//!
//! The work of the first rounds is one step per round, plus the entries that the inputs of the loop
//! store at the coordinates of these rounds. The arrays of the inputs give this work for any number
//! of rounds. So the end of each share is found by a search from the end of the previous share.
//!
//! The number of chunks also depends on the estimated steps of inner loops. For each step of this
//! work, the estimate adds the length of an average fiber of every other input over whose fibers
//! inner loops may iterate. For each round, the estimate adds all entries of the inputs that every
//! round reads as a whole. If results do not depend on the cuts, the expected steps of the draft
//! are used where they exceed this estimate.

use super::Draft;
use crate::run::Workers;
use redpoll_compiler::notation::{ALL_ROUNDS, Cut, Join, MAX_CHUNKS, Program, Sections, TensorId};
use redpoll_storage::levels::lower_bound;
use redpoll_storage::{PositionCounter, Tensor};
use std::ops::Range;

/// Maximum number of chunks per thread, if results do not depend on the cuts: more than one, so
/// that a thread whose chunks took less time than estimated can take over chunks of other threads.
const CHUNKS_PER_THREAD: u64 = 4;

/// Maximum number of chunks per team: fewer than per thread, because a device has more teams to
/// balance the work than a processor has threads, and because each chunk costs time on the host.
const CHUNKS_PER_TEAM: u64 = 2;

/// Minimum work of a chunk for each lane of a team, in steps of loops.
const LANE_GRAIN: u64 = 4;

/// Minimum work of a section for each lane of a team, in steps of loops. A section needs more work
/// than a chunk of rounds, because it leaves a partial result.
const SECTION_GRAIN: u64 = 16;

/// Minimum work of a loop per element of the partial results of all its chunks, in steps of loops.
const OVERHEAD: u64 = 8;

/// Maximum work of the first of growing chunks, in steps of loops, unless one round has more.
const SINGLE_THREAD_WORK: u64 = 1 << 10;

/// Divisor of a thread's share of the work. One thread alone runs the first of growing chunks if
/// the work of the chunk is at most the quotient, or at most twice [`SINGLE_THREAD_WORK`]. The
/// limit bounds the time for which the other threads wait in vain if the loop does not end in that
/// chunk.
const SINGLE_THREAD_SHARE: u64 = 8;

/// Ratio of the work before a growing chunk to the work of the chunk. The work of the chunk is then
/// clamped between the work of the shortest chunk and an equal share.
const GROWTH: u64 = 4;

/// Chunks of a loop that may end early; their work grows up to an equal share.
pub(super) struct GrowingChunks {
    /// The chunks, in the order of the program.
    pub(super) chunks: Vec<Range<i64>>,
    /// The number of chunks at the start that one thread runs alone, because they are too short to
    /// wake other threads.
    pub(super) single_thread_chunks: usize,
}

/// The processors that share the work.
#[derive(Clone, Copy)]
pub enum WorkShare<'a> {
    /// Threads of this machine.
    Threads(&'a Workers),
    /// Teams of a device: the number of teams, and the number of lanes (at least a warp) that
    /// determines the minimum work of a chunk. The cuts then depend on the number of teams, so only
    /// loops without inexact folds may be shared by teams.
    Teams(u64, u32),
}

/// The number of equal shares of the work of a loop, and the smallest section.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Shares {
    /// The number of equal shares; `None` if cutting does not pay.
    count: Option<u64>,
    /// Minimum work of a section of a round, in steps of loops.
    grain: u64,
}

impl Shares {
    /// Returns the shares of a loop over these inputs.
    pub fn of(draft: &Draft, cut: &Cut, inputs: &[&Tensor], share: WorkShare<'_>) -> Shares {
        let grain = match share {
            WorkShare::Threads(_) => 1,
            WorkShare::Teams(_, lanes) => SECTION_GRAIN * u64::from(lanes),
        };
        Shares { count: share_count(draft, cut, inputs, share), grain }
    }

    /// Returns the chunks of the loop, in the order of the program; a single chunk if cutting does
    /// not pay.
    pub fn chunks(self, cut: &Cut, inputs: &[&Tensor]) -> Vec<Range<i64>> {
        match self.count {
            Some(count) => equal_chunks(cut, &LoopWork::new(cut, inputs), count),
            None => vec![ALL_ROUNDS],
        }
    }

    /// Returns chunks like [`Shares::chunks`], but cuts each round with more than one share of the
    /// work into sections of the round's list. A section has at most about one share, or the
    /// minimum work of a section if that is more. Each chunk has its rounds and the positions of
    /// its section; the positions are [`ALL_ROUNDS`] if the chunk has whole rounds.
    pub fn section_chunks(
        self,
        (cut, sections): (&Cut, &Sections),
        inputs: &[&Tensor],
    ) -> Vec<(Range<i64>, Range<i64>)> {
        let Some(count) = self.count else { return vec![(ALL_ROUNDS, ALL_ROUNDS)] };
        let (work, tensor) = (LoopWork::new(cut, inputs), inputs[sections.input]);
        let rounds = cut.rounds.end.abs_diff(cut.rounds.start);
        let max = work.of_first_rounds(rounds).div_ceil(count).max(self.grain);
        let mut found = Vec::new();
        for chunk in equal_chunks(cut, &work, count) {
            // A round with more than one share is the last round of its chunk, since the end of a
            // share lies within the round.
            let last = chunk.end.min(cut.rounds.end) - 1;
            let list = u64::try_from(last).map_or(0..0, |last| tensor.list_below(last));
            let below = |q: u64| tensor.first_leaf_position(q);
            let stored = below(list.end) - below(list.start);
            let pieces = stored.div_ceil(max).min(list.end - list.start);
            if pieces < 2 {
                found.push((chunk, ALL_ROUNDS));
                continue;
            }
            if chunk.start < last && cut.rounds.start < last {
                found.push((chunk.start..last, ALL_ROUNDS));
            }
            let mut start = list.start;
            for k in 1..=pieces {
                let part = (u128::from(stored) * u128::from(k) / u128::from(pieces)) as u64;
                let end = lower_bound(start..list.end, |q| below(q) - below(list.start) < part);
                let end = if k == pieces { list.end } else { end };
                if end > start {
                    found.push((last..last + 1, start as i64..end as i64));
                }
                start = end;
            }
        }
        found
    }
}

/// Returns the chunks of a loop that may end early; a single chunk if cutting does not pay. The
/// first chunks are short, so that little work is wasted in later chunks if one of the first ends
/// the loop.
pub(super) fn growing_chunks(draft: &Draft, cut: &Cut, inputs: &[&Tensor], workers: &Workers) -> GrowingChunks {
    let Some(count) = share_count(draft, cut, inputs, WorkShare::Threads(workers)) else {
        return GrowingChunks { chunks: vec![ALL_ROUNDS], single_thread_chunks: 0 };
    };
    let work = LoopWork::new(cut, inputs);
    let total = work.of_first_rounds(cut.rounds.end.abs_diff(cut.rounds.start));
    let shortest = SINGLE_THREAD_WORK.min(total / count).max(1);
    let ends =
        std::iter::successors(Some(shortest), |end| Some(end + (end / GROWTH).clamp(shortest, total.div_ceil(count))));
    let chunks = chunks_at(cut, &work, ends.take_while(|end| *end < total));
    let first = work.of_first_rounds(chunks[0].end.min(cut.rounds.end).abs_diff(cut.rounds.start));
    let is_short = first <= (2 * SINGLE_THREAD_WORK).max(total / workers.threads() as u64 / SINGLE_THREAD_SHARE);
    GrowingChunks { single_thread_chunks: usize::from(is_short), chunks }
}

/// Returns the number of equal shares of work into which a loop is cut; `None` if cutting does not
/// pay.
fn share_count(draft: &Draft, cut: &Cut, inputs: &[&Tensor], share: WorkShare<'_>) -> Option<u64> {
    let (threads, grain) = match share {
        WorkShare::Threads(workers) => (workers.threads() as u64, workers.grain()),
        WorkShare::Teams(teams, lanes) => (teams, LANE_GRAIN * u64::from(lanes)),
    };
    let needless = cut.exact && threads == 1 && grain > 0;
    if needless || cut.rounds.end.saturating_sub(cut.rounds.start) < 2 {
        return None;
    }
    let work = LoopWork::new(cut, inputs);
    let rounds = cut.rounds.end.abs_diff(cut.rounds.start);
    let total = work.of_first_rounds(rounds);
    let steps =
        cut.followers.iter().fold(total, |steps, k| steps.saturating_add(total.saturating_mul(mean_fiber(inputs[*k]))));
    let repeated = cut.repeated.iter().fold(0u64, |sum, k| sum.saturating_add(stored(inputs[*k])));
    let steps = steps.saturating_add(rounds.saturating_mul(repeated));
    // Expected steps are estimates, and the cuts change when the estimates change. So expected
    // steps are used only if results do not depend on the cuts.
    let expected = if cut.exact { steps.max(draft.expected_steps().unwrap_or(0.0) as u64) } else { steps };
    let preferred = match share {
        WorkShare::Teams(teams, _) => CHUNKS_PER_TEAM.saturating_mul(teams),
        WorkShare::Threads(_) if cut.exact => CHUNKS_PER_THREAD.saturating_mul(threads),
        WorkShare::Threads(_) => MAX_CHUNKS,
    };
    let worthwhile = match grain {
        0 => rounds,
        grain => (expected / grain).min(expected / OVERHEAD / partial_elements(draft.program(), cut).max(1)),
    };
    Some(preferred.min(worthwhile)).filter(|count| *count >= 2)
}

/// Returns chunks with `count` equal shares of the work; fewer if a round has more than one share.
fn equal_chunks(cut: &Cut, work: &LoopWork<'_>, count: u64) -> Vec<Range<i64>> {
    let total = work.of_first_rounds(cut.rounds.end.abs_diff(cut.rounds.start));
    chunks_at(cut, work, (1..count).map(|k| (u128::from(total) * u128::from(k) / u128::from(count)) as u64))
}

/// Returns chunks that end at the given amounts of work, and a last chunk with the rest; fewer if a
/// round has more than one share.
fn chunks_at(cut: &Cut, work: &LoopWork<'_>, shares: impl Iterator<Item = u64>) -> Vec<Range<i64>> {
    let rounds = cut.rounds.end.abs_diff(cut.rounds.start);
    let mut chunks: Vec<Range<i64>> = Vec::new();
    let (mut done, mut length) = (0, 1);
    let mut start = ALL_ROUNDS.start;
    for share in shares {
        let next = next_bound(done..rounds, length, |n| work.of_first_rounds(n) < share);
        length = (next - done).max(1);
        if next > done && next < rounds {
            let end = cut.rounds.start.saturating_add_unsigned(next);
            chunks.push(start..end);
            (done, start) = (next, end);
        }
    }
    chunks.push(start..ALL_ROUNDS.end);
    chunks
}

/// Returns the same bound as [`lower_bound`]. The search takes few steps if the bound lies about
/// `length` after the start, because its step begins with `length` and doubles.
fn next_bound(range: Range<u64>, length: u64, below: impl Fn(u64) -> bool) -> u64 {
    let (mut start, mut step) = (range.start, length);
    loop {
        let end = start.saturating_add(step).min(range.end);
        if end == range.end || !below(end) {
            return lower_bound(start..end, below);
        }
        (start, step) = (end + 1, 2 * step);
    }
}

/// Returns the number of elements of a chunk's partial results, which the chunk may fill and the
/// merge iterates over.
fn partial_elements(program: &Program, cut: &Cut) -> u64 {
    let elements = |id: TensorId| {
        let ty = &program.tensors[id.index()].ty;
        ty.format.storage_shape(&ty.shape).into_iter().fold(1, u64::saturating_mul)
    };
    let folded = cut.outputs.iter().filter(|(_, join)| matches!(join, Join::Folded(_)));
    folded.fold(0, |sum, (id, _)| sum.saturating_add(elements(*id)))
}

/// The work of the first rounds of a loop.
struct LoopWork<'a> {
    start: i64,
    /// The stored entries of the inputs over which the loop iterates, each with the offset that its
    /// access adds to the index of the loop.
    inputs: Vec<(PositionCounter<'a>, i64)>,
}

impl<'a> LoopWork<'a> {
    fn new(cut: &Cut, inputs: &[&'a Tensor]) -> LoopWork<'a> {
        let inputs =
            cut.drivers.iter().map(|(number, shift)| (PositionCounter::of(inputs[*number], 1), *shift)).collect();
        LoopWork { start: cut.rounds.start, inputs }
    }

    /// Returns the steps of the first `rounds` rounds.
    fn of_first_rounds(&self, rounds: u64) -> u64 {
        let end = self.start.saturating_add_unsigned(rounds);
        let stored = self.inputs.iter().map(|(stored, shift)| {
            let before = |i: i64| u64::try_from(i.saturating_add(*shift)).map_or(0, |i| stored.count_before(&[i]));
            before(end).saturating_sub(before(self.start))
        });
        stored.fold(rounds, u64::saturating_add)
    }
}

/// Returns the number of positions of an average fiber below the outermost level.
fn mean_fiber(tensor: &Tensor) -> u64 {
    stored(tensor) / tensor.level(0).dimension.max(1)
}

/// Returns the number of positions below the outermost level.
fn stored(tensor: &Tensor) -> u64 {
    tensor.count_before(&[tensor.level(0).dimension])
}

#[cfg(test)]
mod tests {
    use super::*;
    use redpoll_compiler::notation::{normalize, parse};
    use redpoll_logic::{FloatMode, Format, Prim, Scalar, TensorType};
    use redpoll_storage::{Values, convert};
    use std::num::NonZero;
    use std::sync::Arc;

    /// Returns the rows of a lower triangle, whose lengths increase.
    fn triangle(n: u64) -> Tensor {
        let ty =
            TensorType { shape: vec![n, n], dtype: Prim::F64.into(), fill: Scalar::F64(0.0), format: Format::dense(2) };
        let dense = (0..n * n).map(|at| f64::from(u8::from(at % n <= at / n))).collect::<Vec<_>>();
        convert(&Tensor::from_dense(ty, &Values::from(dense)).unwrap(), &Format::csr()).unwrap()
    }

    fn chunks_of(n: u64, threads: usize) -> Vec<Range<i64>> {
        let text = format!(
            "(program (input A (type (shape {n} {n}) f64 0.0 csr)) (output s (type (shape) f64 0.0 dense))
               (for i (for j (+= (s) (A i j)))))"
        );
        chunks_over(&text, &[&triangle(n)], threads)
    }

    fn chunks_over(text: &str, inputs: &[&Tensor], threads: usize) -> Vec<Range<i64>> {
        let program = Arc::new(normalize(parse(text).unwrap()).unwrap());
        let draft = Draft::new(&program, &[], FloatMode::default());
        let workers = Workers::new(NonZero::new(threads).unwrap());
        let cut = draft.lowered().cut.as_ref().unwrap();
        Shares::of(&draft, cut, inputs, WorkShare::Threads(&workers)).chunks(cut, inputs)
    }

    /// A loop over tiles has few rounds, each of which iterates over a whole matrix.
    #[test]
    fn rounds_that_read_a_whole_input_are_cut() {
        let n = 600;
        let text = format!(
            "(program (input A (type (shape {n} {n}) f64 0.0 csr)) (input B (type (shape {n} 8) f64 0.0 dense))
               (output C (type (shape {n} 8) f64 0.0 dense))
               (for b (range 0 4) (for i (for k (for j (range (* 2 b) (+ (* 2 b) 2))
                 (+= (C i j) (* (A i k) (B k j))))))))"
        );
        let ty =
            TensorType { shape: vec![n, 8], dtype: Prim::F64.into(), fill: Scalar::F64(0.0), format: Format::dense(2) };
        let b = Tensor::from_dense(ty, &Values::from(vec![1.0; 8 * n as usize])).unwrap();
        let cut = chunks_over(&text, &[&triangle(n), &b], 2);
        assert_eq!(cut.len(), 4, "{cut:?}");
        assert_eq!(
            chunks_over(&text, &[&triangle(n), &b], 1),
            [ALL_ROUNDS],
            "cutting helps neither one thread nor the result"
        );
    }

    /// The search from the start finds the bound, whatever the first step is.
    #[test]
    fn bounds_are_found_from_any_length() {
        for (start, end) in [(0, 0), (0, 1), (3, 20), (5, 64)] {
            for bound in start..=end {
                for length in 1..=70 {
                    assert_eq!(next_bound(start..end, length, |n| n < bound), bound, "{start}..{end}, {length}");
                }
            }
        }
    }

    /// Chunks are balanced on skewed data, and the cuts of float folds do not depend on the number
    /// of threads.
    #[test]
    fn chunks_have_equal_shares_of_work() {
        let n = 600;
        let cut = chunks_of(n, 2);
        assert!(cut.len() > 1, "{cut:?}");
        assert_eq!(cut, chunks_of(n, 1));
        assert_eq!(cut, chunks_of(n, 7));
        let work = |r: &Range<i64>| (r.start.max(0)..r.end.min(n as i64)).map(|i| i + 2).sum::<i64>();
        let shares: Vec<i64> = cut.iter().map(work).collect();
        assert!(shares.iter().all(|s| s.abs_diff(shares[0]) <= 2 * n), "{shares:?}");
        assert_eq!(chunks_of(20, 2), [ALL_ROUNDS], "a small loop is not cut");
    }
}
