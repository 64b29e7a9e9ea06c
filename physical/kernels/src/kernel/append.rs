//! The join of outputs whose outermost coordinates are split into ranges, each written by one part.
//! The arrays of later parts are appended to the arrays of the first part, one array after the
//! other. The memory of an appended array is freed before the next array is appended.

use super::Kernel;
use crate::Error;
use crate::run::{Invocation, Workers};
use redpoll_compiler::assembly::{Buffer, Buffers, Status};
use redpoll_compiler::lower::Binding;
use redpoll_compiler::notation::{RoundCoordinates, TensorId};
use redpoll_logic::Prim;
use redpoll_storage::levels::{Concatenation, level};
use std::ops::Range;

/// A range of rounds of the outermost loop, and the memory of the kernel calls for them.
pub(super) struct KernelPart {
    pub(super) rounds: Range<i64>,
    pub(super) invocation: Invocation,
}

/// The positions of one level that a part has written, and their start in the joined output.
#[derive(Clone)]
pub struct PositionSpan {
    /// The positions, counted in the part.
    pub own: Range<usize>,
    /// The first of these positions, counted in the joined output.
    pub start: usize,
}

impl PositionSpan {
    /// Returns the spans of consecutive parts with the given numbers of positions.
    pub fn consecutive(counts: impl Iterator<Item = usize>) -> Vec<PositionSpan> {
        let mut start = 0;
        let span = |count: usize| {
            start += count;
            PositionSpan { own: 0..count, start: start - count }
        };
        counts.map(span).collect()
    }

    /// Returns the span of the children, if they are stored in a full level of dimension `n`.
    pub fn times(&self, n: usize) -> PositionSpan {
        PositionSpan { own: self.own.start * n..self.own.end * n, start: self.start * n }
    }

    /// Returns the positions in the joined output.
    pub fn joined(&self) -> Range<usize> {
        self.start..self.start + self.own.len()
    }
}

/// Elements that move from a part to the joined output.
struct ElementMove<'a> {
    from: &'a [u8],
    to: &'a mut [u8],
    /// The number added to each element.
    shift: i64,
}

/// Joins the arrays of an output in the memory of the first part; returns the length of each array.
///
/// # Errors
/// [`Error::KernelStopped`] when memory is exhausted, or when the positions do not fit the width of
/// the arrays.
pub(super) fn append(
    kernel: &Kernel,
    (id, coordinates): (TensorId, RoundCoordinates),
    parts: &mut [KernelPart],
    workers: &Workers,
) -> Result<Vec<(Buffer, usize)>, Error> {
    let ty = &kernel.draft.program().tensors[id.index()].ty;
    let sizes = ty.format.storage_shape(&ty.shape);
    let mut appender = Appender { parts, workers, lengths: Vec::new() };
    // The root has one position, which all parts share.
    let mut spans = vec![PositionSpan { own: 0..1, start: 0 }; appender.parts.len()];
    for (k, (format, n)) in ty.format.levels.iter().zip(sizes).enumerate() {
        let arrays =
            kernel.draft.buffers(|b| matches!(b, Binding::Level { tensor, level, .. } if (*tensor, *level) == (id, k)));
        let n = n as usize;
        spans = match level(format.kind).concatenation() {
            Concatenation::Full if k == 0 => {
                appender.parts.iter().map(|part| coordinate_span(coordinates, &part.rounds, n)).collect()
            }
            Concatenation::Full => spans.iter().map(|span| span.times(n)).collect(),
            Concatenation::List => appender.lists(&arrays, &spans, k == 0)?,
            Concatenation::Entry => {
                for array in arrays {
                    appender.elements(array, &spans)?;
                }
                spans
            }
            Concatenation::None => unreachable!("outputs of such levels are not appended"),
        };
    }
    for leaf in kernel.draft.buffers(|b| matches!(b, Binding::Leaf { tensor, .. } if *tensor == id)) {
        appender.elements(leaf, &spans)?;
    }
    Ok(appender.lengths)
}

/// Returns the span of the coordinates that `rounds` write in a mode of size `n`.
pub fn coordinate_span(coordinates: RoundCoordinates, rounds: &Range<i64>, n: usize) -> PositionSpan {
    let bound = |round: i64| usize::try_from(coordinates.first(round)).unwrap_or(0).min(n);
    let [start, end] = [rounds.start, rounds.end].map(bound);
    PositionSpan { own: start..end, start }
}

struct Appender<'a> {
    parts: &'a mut [KernelPart],
    workers: &'a Workers,
    lengths: Vec<(Buffer, usize)>,
}

impl Appender<'_> {
    /// Appends the lists below the positions `parents`; returns the spans of the lists' entries.
    /// The first array of a list level holds a 0, followed by the end of each list.
    fn lists(
        &mut self,
        arrays: &[Buffer],
        parents: &[PositionSpan],
        at_root: bool,
    ) -> Result<Vec<PositionSpan>, Error> {
        let [ptr, entries @ ..] = arrays else { unreachable!("a list has ends") };
        let end = |part: &Invocation, p: usize| part.read(*ptr, p) as usize;
        let mut start = 0;
        let mut spans = Vec::new();
        for (part, span) in self.parts.iter().zip(parents) {
            let own = end(&part.invocation, span.own.start)..end(&part.invocation, span.own.end);
            spans.push(PositionSpan { own: own.clone(), start });
            start += own.len();
        }
        if self.parts[0].invocation.prim(*ptr) == Prim::I32 && i32::try_from(start).is_err() {
            return Err(Error::KernelStopped(Status::PositionOverflow));
        }
        if at_root {
            self.parts[0].invocation.write(*ptr, 1, start as u64);
            self.lengths.push((*ptr, 2));
        } else {
            // The end of the list of position `p` is at `p + 1`.
            let after =
                |span: &PositionSpan| PositionSpan { own: span.own.start + 1..span.own.end + 1, start: span.start + 1 };
            let ends: Vec<PositionSpan> = parents.iter().map(after).collect();
            let shifts: Vec<i64> = spans.iter().map(|s| s.start as i64 - s.own.start as i64).collect();
            self.shifted(*ptr, &ends, &shifts)?;
        }
        for array in entries {
            self.elements(*array, &spans)?;
        }
        Ok(spans)
    }

    /// Appends an array with one element per position.
    fn elements(&mut self, array: Buffer, spans: &[PositionSpan]) -> Result<(), Error> {
        self.shifted(array, spans, &vec![0; spans.len()])
    }

    /// Appends an array, adds the shift of each part to the elements of that part, and frees the
    /// array in all parts except the first.
    fn shifted(&mut self, array: Buffer, spans: &[PositionSpan], shifts: &[i64]) -> Result<(), Error> {
        let (first, others) = self.parts.split_first_mut().expect("there are parts");
        let first = &mut first.invocation;
        let prim = first.prim(array);
        let len = spans.last().expect("there are parts").joined().end;
        match first.grow_to(array, len) {
            Status::Done => {}
            status => return Err(Error::KernelStopped(status)),
        }
        self.lengths.push((array, len));
        debug_assert_eq!(spans[0].own, spans[0].joined(), "the first part begins at the beginning");
        let size = prim.bytes();
        let mut rest = &mut first.bytes_mut(array)[spans[0].joined().end * size..];
        let mut moves = Vec::new();
        for ((part, span), shift) in others.iter().zip(&spans[1..]).zip(&shifts[1..]) {
            let (to, after) = rest.split_at_mut(span.own.len() * size);
            moves.push(ElementMove {
                from: &part.invocation.bytes(array)[span.own.start * size..span.own.end * size],
                to,
                shift: *shift,
            });
            rest = after;
        }
        self.workers.for_each(moves, |m| {
            m.run(prim);
            Ok(())
        })?;
        others.iter_mut().for_each(|part| part.invocation.free(array));
        Ok(())
    }
}

impl ElementMove<'_> {
    fn run(self, prim: Prim) {
        fn add<const N: usize>(from: &[u8], to: &mut [u8], sum: impl Fn([u8; N]) -> [u8; N]) {
            for (to, from) in to.as_chunks_mut::<N>().0.iter_mut().zip(from.as_chunks::<N>().0) {
                *to = sum(*from);
            }
        }
        match (self.shift, prim) {
            (0, _) => self.to.copy_from_slice(self.from),
            // The sum fits: the number of positions of the joined output was checked.
            (shift, Prim::I32) => {
                add(self.from, self.to, |x| i32::from_le_bytes(x).wrapping_add(shift as i32).to_le_bytes());
            }
            (shift, _) => add(self.from, self.to, |x| i64::from_le_bytes(x).wrapping_add(shift).to_le_bytes()),
        }
    }
}
