//! Where the outermost loop is cut: at equal shares of its work.
//!
//! The work of the first rounds is read off the arrays of the inputs that the loop goes through: what is stored below their
//! first coordinates, plus a step for each round. So no share is found in more than a few searches, whatever the inputs
//! hold. How many chunks are worth it depends on the steps of inner loops, too: for each of these places an average fiber
//! of every other input, and all of those that each round goes through anew.

use super::{ALL, Draft};
use crate::levels::lower_bound;
use crate::notation::{Cut, Join, Program, TensorId};
use crate::run::Workers;
use crate::storage::Tensor;
use std::ops::Range;

/// Chunks for each thread, so that one which has less to do than was thought takes over from others.
const CHUNKS_PER_THREAD: u64 = 4;

/// The most chunks of loops whose results depend on where they are cut, which must not depend on the threads.
const MOST_CHUNKS: u64 = 64;

/// The least work of a chunk for a team of a device, in steps of loops: some for each lane of a warp.
const GRAIN_OF_TEAMS: u64 = 128;

/// The share of the work that partial results may add, as a divisor.
const OVERHEAD: u64 = 8;

/// Who shares the work.
#[derive(Clone, Copy)]
pub(super) enum Share<'a> {
    /// Threads of this machine.
    Threads(&'a Workers),
    /// So many teams of a device, whose results do not depend on the cuts but for signs of zeros.
    Teams(u64),
}

/// The chunks of a loop over these inputs, in the order of the program's: one where it is not worth more.
pub(super) fn chunks(draft: &Draft, cut: &Cut, inputs: &[&Tensor], share: Share<'_>) -> Vec<Range<i64>> {
    let whole = || vec![ALL];
    let (threads, grain) = match share {
        Share::Threads(workers) => (workers.threads() as u64, workers.grain()),
        Share::Teams(teams) => (teams, GRAIN_OF_TEAMS),
    };
    let by_shares = cut.exact || matches!(share, Share::Teams(_));
    let needless = cut.exact && threads == 1 && grain > 0;
    if needless || cut.rounds.end.saturating_sub(cut.rounds.start) < 2 {
        return whole();
    }
    let work = Work::new(cut, inputs);
    let rounds = cut.rounds.end.abs_diff(cut.rounds.start);
    let total = work.of_first(rounds);
    let steps =
        cut.followers.iter().fold(total, |steps, k| steps.saturating_add(total.saturating_mul(fiber(inputs[*k]))));
    let again = cut.repeated.iter().fold(0u64, |sum, k| sum.saturating_add(stored(inputs[*k])));
    let steps = steps.saturating_add(rounds.saturating_mul(again));
    // What the optimizer expects may change with what it has learned, and the cuts with it.
    let expected = if cut.exact { steps.max(draft.expected_steps()) } else { steps };
    let wanted = if by_shares { CHUNKS_PER_THREAD.saturating_mul(threads) } else { MOST_CHUNKS };
    let worth = match grain {
        0 => rounds,
        grain => (expected / grain).min(expected / OVERHEAD / partial_places(&draft.program, cut).max(1)),
    };
    let count = wanted.min(worth);
    if count < 2 {
        return whole();
    }
    let mut chunks: Vec<Range<i64>> = Vec::new();
    let mut done = 0;
    let mut start = ALL.start;
    for k in 1..count {
        let share = (u128::from(total) * u128::from(k) / u128::from(count)) as u64;
        let next = lower_bound(done..rounds, |n| work.of_first(n) < share);
        if next > done && next < rounds {
            let end = cut.rounds.start.saturating_add_unsigned(next);
            chunks.push(start..end);
            (done, start) = (next, end);
        }
    }
    chunks.push(start..ALL.end);
    chunks
}

/// The places of partial results, which each chunk may fill and goes through, and which are merged.
fn partial_places(program: &Program, cut: &Cut) -> u64 {
    let places = |id: TensorId| {
        let ty = &program.tensors[id.index()].ty;
        ty.format.storage_shape(&ty.shape).into_iter().fold(1, u64::saturating_mul)
    };
    let folded = cut.outputs.iter().filter(|(_, join)| matches!(join, Join::Folded(_)));
    folded.fold(0, |sum, (id, _)| sum.saturating_add(places(*id)))
}

/// The work of the first rounds of a loop.
struct Work<'a> {
    start: i64,
    /// The inputs that the loop goes through, and what is added to its index there.
    inputs: Vec<(&'a Tensor, i64)>,
}

impl<'a> Work<'a> {
    fn new(cut: &Cut, inputs: &[&'a Tensor]) -> Work<'a> {
        let inputs = cut.drivers.iter().map(|(number, shift)| (inputs[*number], *shift)).collect();
        Work { start: cut.rounds.start, inputs }
    }

    /// The steps of so many rounds.
    fn of_first(&self, rounds: u64) -> u64 {
        let end = self.start.saturating_add_unsigned(rounds);
        let stored = self.inputs.iter().map(|(tensor, shift)| {
            let before = |i: i64| u64::try_from(i.saturating_add(*shift)).map_or(0, |i| tensor.stored_before(&[i]));
            before(end).saturating_sub(before(self.start))
        });
        stored.fold(rounds, u64::saturating_add)
    }
}

/// The positions of an average fiber below the outermost level.
fn fiber(tensor: &Tensor) -> u64 {
    stored(tensor) / tensor.level(0).dimension.max(1)
}

/// The positions below the outermost level.
fn stored(tensor: &Tensor) -> u64 {
    tensor.stored_before(&[tensor.level(0).dimension])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::notation::{normalize, parse};
    use crate::storage::{Values, convert};
    use redpoll_logic::{FloatMode, Format, Prim, Scalar, TensorType};
    use std::num::NonZero;
    use std::sync::Arc;

    /// The rows of a lower triangle: later ones have more.
    fn triangle(n: u64) -> Tensor {
        let ty =
            TensorType { shape: vec![n, n], dtype: Prim::F64.into(), fill: Scalar::F64(0.0), format: Format::dense(2) };
        let dense = (0..n * n).map(|at| f64::from(u8::from(at % n <= at / n))).collect::<Vec<_>>();
        convert(&Tensor::from_dense(ty, &Values::from(dense)).unwrap(), &Format::csr()).unwrap()
    }

    fn chunks_of(n: u64, threads: usize) -> Vec<Range<i64>> {
        let text = format!(
            "(program (input A (type (shape {n} {n}) f64 0.0 csr)) (output y (type (shape {n}) f64 0.0 dense))
               (for i (for j (+= (y i) (A i j)))))"
        );
        chunks_over(&text, &[&triangle(n)], threads)
    }

    fn chunks_over(text: &str, inputs: &[&Tensor], threads: usize) -> Vec<Range<i64>> {
        let program = Arc::new(normalize(parse(text).unwrap()).unwrap());
        let draft = Draft::new(&program, &[], FloatMode::default());
        let workers = Workers::new(NonZero::new(threads).unwrap());
        chunks(&draft, draft.lowered.cut.as_ref().unwrap(), inputs, Share::Threads(&workers))
    }

    /// Protects loops over tiles: few rounds, each of which goes through a whole matrix.
    #[test]
    fn rounds_that_go_through_an_input_anew_are_cut() {
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
        assert_eq!(cut, chunks_over(&text, &[&triangle(n), &b], 1));
    }

    /// Protects balance on skewed data, and that floats do not feel the number of threads.
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
        assert_eq!(chunks_of(20, 2), [ALL], "what is little is not cut");
    }
}
