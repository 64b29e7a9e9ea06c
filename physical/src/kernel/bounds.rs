//! Where the outermost loop is cut: at equal shares of its work.
//!
//! The work of the first rounds is read off the arrays of the inputs that the loop goes through: what is stored below their
//! first coordinates, plus a step for each round. So no share is found in more than a few searches, whatever the inputs
//! hold.

use super::{ALL, Draft};
use crate::levels::{Concatenation, level};
use crate::notation::{Atom, Cut, Expr, Index, Join, Linear, Program, Role, TensorId};
use crate::run::Workers;
use crate::storage::Tensor;
use std::ops::Range;

/// Chunks for each thread, so that one which has less to do than was thought takes over from others.
const CHUNKS_PER_THREAD: u64 = 4;

/// The most chunks of loops whose results depend on where they are cut, which must not depend on the threads.
const MOST_CHUNKS: u64 = 64;

/// The share of the work that partial results may add, as a divisor.
const OVERHEAD: u64 = 8;

/// The chunks of a loop over these inputs, in the order of the program's: one where it is not worth more.
pub(super) fn chunks(draft: &Draft, cut: &Cut, inputs: &[&Tensor], workers: &Workers) -> Vec<Range<i64>> {
    let whole = || vec![ALL];
    let needless = cut.exact && workers.threads() == 1 && workers.grain() > 0;
    if needless || cut.rounds.end.saturating_sub(cut.rounds.start) < 2 {
        return whole();
    }
    let work = Work::new(&draft.program, cut, inputs);
    let total = work.before(cut.rounds.end);
    // What is estimated is not known to be the same for the same data.
    let expected = if cut.exact { total.max(draft.expected_steps()) } else { total };
    let wanted = if cut.exact { CHUNKS_PER_THREAD.saturating_mul(workers.threads() as u64) } else { MOST_CHUNKS };
    let worth = match workers.grain() {
        0 => cut.rounds.end.abs_diff(cut.rounds.start),
        grain => (expected / grain).min(expected / OVERHEAD / partial_elements(&draft.program, cut).max(1)),
    };
    let count = wanted.min(worth);
    if count < 2 {
        return whole();
    }
    let mut chunks: Vec<Range<i64>> = Vec::new();
    let mut start = cut.rounds.start;
    for k in 1..count {
        let share = (u128::from(total) * u128::from(k) / u128::from(count)) as u64;
        let end = first(start..cut.rounds.end, |i| work.before(i) >= share);
        if end > start && end < cut.rounds.end {
            chunks.push(start..end);
            start = end;
        }
    }
    chunks.push(start..ALL.end);
    chunks[0].start = ALL.start;
    chunks
}

/// The elements of partial results, which each chunk allocates and goes through.
fn partial_elements(program: &Program, cut: &Cut) -> u64 {
    let elements = |id: TensorId| {
        let ty = &program.tensors[id.index()].ty;
        let levels = ty.format.levels.iter().zip(ty.format.storage_shape(&ty.shape));
        let dense = levels.take_while(|(l, _)| level(l.kind).concatenation() == Concatenation::Full);
        dense.fold(1, |places: u64, (_, n)| places.saturating_mul(n))
    };
    let folded = cut.outputs.iter().filter(|(_, join)| matches!(join, Join::Folded(_)));
    folded.fold(0, |sum, (id, _)| sum.saturating_add(elements(*id)))
}

/// The work of the first rounds of a loop.
struct Work<'a> {
    start: i64,
    /// The inputs that the loop goes through, and what is added to its index there.
    inputs: Vec<(&'a Tensor, i64)>,
}

impl<'a> Work<'a> {
    fn new(program: &Program, cut: &Cut, inputs: &[&'a Tensor]) -> Work<'a> {
        let ids = (0..).map(TensorId).zip(&program.tensors).filter(|(_, decl)| decl.role == Role::Input);
        let found = ids.zip(inputs).filter_map(|((id, _), tensor)| Some((*tensor, shift(program, id, cut.index)?)));
        Work { start: cut.rounds.start, inputs: found.collect() }
    }

    /// The steps of the rounds before `round`.
    fn before(&self, round: i64) -> u64 {
        let rounds = (round - self.start).max(0) as u64;
        let stored = self.inputs.iter().map(|(tensor, shift)| {
            let [from, to] = [self.start, round].map(|i| stored_below(tensor, i.saturating_add(*shift)));
            to.saturating_sub(from)
        });
        stored.fold(rounds, u64::saturating_add)
    }
}

/// What is added to the index where it alone finds the outermost coordinate of a tensor.
fn shift(program: &Program, id: TensorId, index: Index) -> Option<i64> {
    let mut found = None;
    program.body.walk(&mut |s| {
        for access in s.exprs().into_iter().flat_map(Expr::accesses).filter(|a| a.tensor == id) {
            let form = access.subscripts.first().and_then(|s| Linear::of(&s.at));
            if let Some(Linear { terms, constant }) = form
                && terms[..] == [(Atom::Index(index), 1)]
            {
                found = Some(constant);
            }
        }
    });
    found
}

/// The positions of a tensor below its outermost coordinates before `coordinate`, as far in as the arrays tell; of levels
/// that do not, a fiber counts as one.
fn stored_below(tensor: &Tensor, coordinate: i64) -> u64 {
    let Some(format) = tensor.ty().format.levels.first() else { return 0 };
    let outermost = tensor.level(0);
    let coordinate = u64::try_from(coordinate).unwrap_or(0).min(outermost.dimension);
    let mut positions = match level(format.kind).concatenation() {
        Concatenation::List if format.ordered => {
            let [ptr, idx] = [0, 1].map(|k| outermost.arrays[k].indices());
            let (lo, hi) = (ptr.get(0), ptr.get(1));
            first(lo as i64..hi as i64, |q| idx.get(q as u64) >= coordinate) as u64
        }
        Concatenation::Full => coordinate,
        _ => return coordinate,
    };
    for k in 1..tensor.ty().format.levels.len() {
        let data = tensor.level(k);
        positions = match level(data.format.kind).concatenation() {
            Concatenation::Full => positions.saturating_mul(data.dimension),
            Concatenation::List => data.arrays[0].indices().get(positions),
            Concatenation::Entry => positions,
            Concatenation::None => break,
        };
    }
    positions
}

/// The first number of a range for which something holds that holds for all behind it, or the end.
fn first(range: Range<i64>, holds: impl Fn(i64) -> bool) -> i64 {
    let Range { start: mut lo, end: mut hi } = range;
    while lo < hi {
        let mid = lo + (hi - lo) / 2;
        if holds(mid) {
            hi = mid;
        } else {
            lo = mid + 1;
        }
    }
    lo
}
