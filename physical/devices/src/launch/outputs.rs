//! Construction of outputs from the windows of a kernel's launches.

use super::GridRun;
use super::folds::{FoldedOutput, Partials, is_matrix_row};
use crate::grid::{Gather, GatherPiece, LaunchResult, MemorySpace, ResultWindow};
use redpoll_compiler::assembly::{Buffer, Status};
use redpoll_compiler::lower::{Binding, Draft};
use redpoll_compiler::notation::{ALL_ROUNDS, Join, RoundCoordinates, TensorId};
use redpoll_kernels::kernel::{PositionSpan, assemble_output, coordinate_span, element_count};
use redpoll_kernels::{Error, backend};
use redpoll_logic::op::Op;
use redpoll_logic::{FloatMode, Prim, Scalar};
use redpoll_storage::levels::{Concatenation, level};
use redpoll_storage::{Array, Tensor};
use std::cell::OnceCell;
use std::collections::HashMap;
use std::ops::Range;

/// The windows of a launch, from which outputs are made.
pub(super) struct OutputAssembly<'a> {
    run: &'a GridRun<'a>,
    launched: &'a LaunchResult,
    /// For each chunk, the lengths of the arrays in `arrays_with_lengths`; read at first use.
    lengths: OnceCell<Vec<Vec<u64>>>,
    /// The arrays of all outputs, in the order of the recorded lengths.
    arrays_with_lengths: Vec<Buffer>,
}

impl<'a> OutputAssembly<'a> {
    pub(super) fn new(run: &'a GridRun<'a>, launched: &'a LaunchResult) -> OutputAssembly<'a> {
        let draft = run.kernel.draft();
        let arrays_with_lengths = draft.program().outputs().flat_map(|id| arrays(draft, id)).collect();
        OutputAssembly { run, launched, lengths: OnceCell::new(), arrays_with_lengths }
    }

    /// Makes an output, given its number and its join.
    pub(super) fn output(&self, (number, id): (usize, TensorId), join: &Join) -> Result<Tensor, Error> {
        let GridRun { kernel, grids, chunks, inputs, limits, .. } = *self.run;
        let arrays = arrays(kernel.draft(), id);
        let dense = is_matrix_row(&kernel.draft().program().tensors[id.index()].ty);
        let folds_on_device = dense && grids.run.has_own_memory() && chunks.len() > 1;
        let in_place = arrays.iter().all(|b| grids.run.grid().spaces[b.index()] == MemorySpace::Shared);
        match join {
            Join::Folded(op) if !in_place && folds_on_device => self.fold_on_device((number, id), op),
            Join::Folded(op) if !in_place => {
                let partials = (0..chunks.len()).map(|chunk| self.chunk_output(id, chunk)).collect::<Result<_, _>>()?;
                // If a device computed the partial results, they are sparse, or there is only one
                // chunk. The host merges them.
                let instant = backend::instant();
                let backend = if grids.run.has_own_memory() { &instant } else { &grids.backend };
                grids.merges.merge(kernel.draft(), (number, op), partials, (backend, limits))
            }
            Join::Shared | Join::Folded(_) => {
                let len = element_count(kernel, id, inputs) as usize;
                let sections = grids.sections.iter().filter(|_| self.run.is_cut_into_sections());
                let cut = sections.flat_map(|sections| &sections.folds);
                let mut cut = cut.filter(|(output, _)| *output == id);
                self.tensor(id, |buffer| {
                    let Some((_, op)) = cut.next() else {
                        return self.gather(buffer, &[], &[GatherPiece { window: 0, from: 0, len, shift: 0 }]);
                    };
                    let of = self.folded_output((number, id), op);
                    let on_device =
                        grids.run.has_own_memory().then(|| self.join_sections_on_device(buffer, of)).transpose()?;
                    match on_device.flatten() {
                        Some(array) => Ok(array),
                        None => self.gather(buffer, &self.fold_sections(buffer, op)?, &[]),
                    }
                })
            }
            Join::Appended(coordinates) => self.append(id, *coordinates),
        }
    }

    /// Returns an output with the mode in which its partial results may be folded.
    fn folded_output<'o>(&'o self, (number, id): (usize, TensorId), op: &'o Op) -> FoldedOutput<'o> {
        let draft = self.run.kernel.draft();
        let exact = draft.lowered().cut.as_ref().is_ok_and(|cut| cut.exact);
        let mode = if exact { draft.mode() } else { FloatMode::StrictIeee };
        FoldedOutput { number, ty: &draft.program().tensors[id.index()].ty, op, mode }
    }

    /// Folds a dense output from the partial results of chunks on the processor that computed them.
    fn fold_on_device(&self, (number, id): (usize, TensorId), op: &Op) -> Result<Tensor, Error> {
        let GridRun { kernel, grids, chunks, limits, .. } = *self.run;
        let buffers = arrays(kernel.draft(), id);
        let arrays = buffers.iter().map(|buffer| {
            let piece = |window| Ok(GatherPiece { window, from: 0, len: self.length(*buffer, window)?, shift: 0 });
            self.gather(*buffer, &[], &(0..chunks.len()).map(piece).collect::<Result<Vec<_>, Error>>()?)
        });
        let partials = Partials { ends: vec![chunks.len()], arrays: arrays.collect::<Result<_, _>>()? };
        let of = self.folded_output((number, id), op);
        let mut folded = grids.folds.fold(of, partials, &grids.backend, limits)?.into_iter();
        self.tensor(id, |_| Ok(folded.next().expect("the result has the arrays of the partial results")))
    }

    /// Makes an array from the windows of chunks. The window of a chunk of whole rounds has the
    /// elements of these rounds; the window of a section has a partial result of one round. The
    /// device folds the partial results and joins the array. Returns `None` if the windows do not
    /// cover all elements in order.
    fn join_sections_on_device(&self, buffer: Buffer, of: FoldedOutput<'_>) -> Result<Option<Array>, Error> {
        let GridRun { kernel, grids, sections, limits, .. } = *self.run;
        let windows = &self.launched.windows[buffer.index()];
        let (mut rows, mut ends, mut pieces, mut next) = (Vec::new(), Vec::new(), Vec::new(), 0);
        for (window, extent) in windows.iter().enumerate() {
            let (first, len) = (extent.first, extent.len);
            let piece = GatherPiece { window, from: 0, len, shift: 0 };
            if sections[window] == ALL_ROUNDS {
                pieces.push(piece);
            } else {
                rows.push(piece);
                // Sections of a round are consecutive.
                let is_continued =
                    window > 0 && sections[window - 1] != ALL_ROUNDS && windows[window - 1].first == first;
                if is_continued {
                    *ends.last_mut().expect("an earlier section has begun the group") = rows.len();
                    continue;
                }
                pieces.push(GatherPiece { window: windows.len(), from: ends.len() * len, ..piece });
                ends.push(rows.len());
            }
            if first != next {
                return Ok(None);
            }
            next += len as i64;
        }
        if next != self.run.dense_window(buffer).len as i64 {
            return Ok(None);
        }
        if rows.is_empty() {
            return self.gather(buffer, &[], &pieces).map(Some);
        }
        let partials = Partials { ends, arrays: vec![self.gather(buffer, &[], &rows)?] };
        let folded = grids.folds.fold(of, partials, &grids.backend, limits)?;
        let folded = grids.run.to_window(&folded[0], limits)?;
        let windows: Vec<&ResultWindow> = windows.iter().chain([&folded]).collect();
        let decl = &kernel.draft().function().buffers[buffer.index()];
        Ok(Some(grids.run.gather(&Gather { decl, windows: &windows, head: &[], pieces: &pieces }, limits)?))
    }

    /// Returns the elements of an array, from the windows of chunks. The window of a chunk of whole
    /// rounds has the elements of these rounds; the window of a section has a partial result of one
    /// round. The host folds the partial results in their order.
    fn fold_sections(&self, buffer: Buffer, op: &Op) -> Result<Vec<u64>, Error> {
        let decl = &self.run.kernel.draft().function().buffers[buffer.index()];
        let bits = |value: &Scalar| value.to_bits().expect("elements of buffers are primitives");
        let mut array = vec![bits(&decl.fill); self.run.dense_window(buffer).len];
        let windows = &self.launched.windows[buffer.index()];
        let elements = self.run.grids.run.elements(decl, windows)?;
        for ((window, elements), section) in windows.iter().zip(elements).zip(self.run.sections) {
            let first = usize::try_from(window.first).unwrap_or(0);
            for (to, element) in array[first..].iter_mut().zip(elements) {
                *to = match *section == ALL_ROUNDS {
                    true => element,
                    false => {
                        let pair = [*to, element].map(|bits| Scalar::from_bits(decl.prim, bits));
                        let folded = op
                            .eval_in(&pair, self.run.kernel.draft().mode())
                            .map_err(|_| Error::KernelStopped(Status::CheckedOverflow))?;
                        bits(&folded)
                    }
                };
            }
        }
        Ok(array)
    }

    /// Makes an output tensor from the elements of one chunk.
    pub(super) fn chunk_output(&self, id: TensorId, chunk: usize) -> Result<Tensor, Error> {
        self.tensor(id, |buffer| {
            let len = self.length(buffer, chunk)?;
            self.gather(buffer, &[], &[GatherPiece { window: chunk, from: 0, len, shift: 0 }])
        })
    }

    /// Makes an output tensor from arrays; `array` returns the array of a buffer.
    fn tensor(&self, id: TensorId, array: impl FnMut(Buffer) -> Result<Array, Error>) -> Result<Tensor, Error> {
        let (program, lowered) = (self.run.kernel.draft().program(), self.run.kernel.draft().lowered());
        assemble_output(program, lowered, (id, array), (self.run.inputs, &self.run.limits.memory))
    }

    /// Returns for each chunk the lengths of the arrays of outputs. May be called only for kernels
    /// that record lengths: those with an output whose arrays are not shared by all chunks.
    fn lengths(&self) -> Result<&[Vec<u64>], Error> {
        if let Some(lengths) = self.lengths.get() {
            return Ok(lengths);
        }
        let draft = self.run.kernel.draft();
        let [buffer] = draft.buffers(|b| *b == Binding::Lengths)[..] else { unreachable!("outputs record lengths") };
        let decl = &draft.function().buffers[buffer.index()];
        let lengths = self.run.grids.run.elements(decl, &self.launched.windows[buffer.index()])?;
        Ok(self.lengths.get_or_init(|| lengths))
    }

    /// Returns the length of a chunk's array.
    fn length(&self, buffer: Buffer, chunk: usize) -> Result<usize, Error> {
        let number = self
            .arrays_with_lengths
            .iter()
            .position(|b| *b == buffer)
            .expect("outputs record the lengths of their arrays");
        let length = self.lengths()?[chunk].get(number).and_then(|n| usize::try_from(*n).ok());
        length.ok_or_else(|| Error::InvalidInvocation("the kernel has not recorded the lengths of its outputs".into()))
    }

    fn gather(&self, buffer: Buffer, head: &[u64], pieces: &[GatherPiece]) -> Result<Array, Error> {
        let decl = &self.run.kernel.draft().function().buffers[buffer.index()];
        let windows: Vec<&ResultWindow> = self.launched.windows[buffer.index()].iter().collect();
        let gather = Gather { decl, windows: &windows, head, pieces };
        Ok(self.run.grids.run.gather(&gather, self.run.limits)?)
    }

    /// Makes an output by appending the windows of chunks.
    fn append(&self, id: TensorId, coordinates: RoundCoordinates) -> Result<Tensor, Error> {
        let (draft, chunks) = (self.run.kernel.draft(), self.run.chunks);
        let ty = draft.program().tensors[id.index()].ty.clone();
        let sizes = ty.format.storage_shape(&ty.shape);
        let mut joined: HashMap<Buffer, Array> = HashMap::new();
        let mut spans: Vec<PositionSpan> = chunks.iter().map(|_| PositionSpan { own: 0..1, start: 0 }).collect();
        for (k, (format, n)) in ty.format.levels.iter().zip(sizes).enumerate() {
            let arrays =
                draft.buffers(|b| matches!(b, Binding::Level { tensor, level, .. } if (*tensor, *level) == (id, k)));
            let n = n as usize;
            spans = match level(format.kind).concatenation() {
                Concatenation::Full if k == 0 => {
                    chunks.iter().map(|chunk| coordinate_span(coordinates, chunk, n)).collect()
                }
                Concatenation::Full => spans.iter().map(|span| span.times(n)).collect(),
                Concatenation::List => {
                    let [ptr, entries @ ..] = &arrays[..] else { unreachable!("a list has ends") };
                    // The last array of a list level has one element per position.
                    let last = arrays[arrays.len() - 1];
                    let counts = (0..chunks.len()).map(|chunk| self.length(last, chunk));
                    let own = PositionSpan::consecutive(counts.collect::<Result<Vec<_>, _>>()?.into_iter());
                    let total = own.last().map_or(0, |span| span.joined().end);
                    if self.run.invocation.prim(*ptr) == Prim::I32 && i32::try_from(total).is_err() {
                        return Err(Error::KernelStopped(Status::PositionOverflow));
                    }
                    joined.insert(*ptr, self.ends(*ptr, (&spans, &own), k == 0)?);
                    for array in entries {
                        joined.insert(*array, self.appended(*array, &own)?);
                    }
                    own
                }
                Concatenation::Entry => {
                    for array in arrays {
                        joined.insert(array, self.appended(array, &spans)?);
                    }
                    spans
                }
                Concatenation::None => unreachable!("outputs of such levels are not appended"),
            };
        }
        for leaf in draft.buffers(|b| matches!(b, Binding::Leaf { tensor, .. } if *tensor == id)) {
            joined.insert(leaf, self.appended(leaf, &spans)?);
        }
        self.tensor(id, |buffer| Ok(joined.remove(&buffer).expect("each array was appended")))
    }

    /// Returns the piece with the elements at some positions of a chunk. The piece adds `shift` to
    /// each element.
    fn piece(&self, array: Buffer, chunk: usize, positions: Range<usize>, shift: usize) -> GatherPiece {
        let first = self.launched.windows[array.index()][chunk].first as usize;
        GatherPiece { window: chunk, from: positions.start - first, len: positions.len(), shift: shift as i64 }
    }

    /// Appends an array with one element per position.
    fn appended(&self, array: Buffer, spans: &[PositionSpan]) -> Result<Array, Error> {
        let own = spans.iter().enumerate().map(|(chunk, span)| self.piece(array, chunk, span.own.clone(), 0));
        self.gather(array, &[], &own.collect::<Vec<_>>())
    }

    /// Makes the `ptr` array of the lists at the positions of `parents`: 0, and then the end of
    /// each list. The end of a list is the number of entries of the joined output in all lists up
    /// to this one.
    fn ends(
        &self,
        ptr: Buffer,
        (parents, entries): (&[PositionSpan], &[PositionSpan]),
        at_root: bool,
    ) -> Result<Array, Error> {
        if at_root {
            let total = entries.last().map_or(0, |span| span.joined().end) as u64;
            return self.gather(ptr, &[0, total], &[]);
        }
        let ends = parents.iter().zip(entries).enumerate().map(|(chunk, (parents, entries))| {
            self.piece(ptr, chunk, parents.own.start + 1..parents.own.end + 1, entries.start)
        });
        self.gather(ptr, &[0], &ends.collect::<Vec<_>>())
    }
}

/// Returns the arrays of an output, in the order of the function's buffers.
fn arrays(draft: &Draft, id: TensorId) -> Vec<Buffer> {
    draft.buffers(|b| match b {
        Binding::Level { tensor, .. } | Binding::Leaf { tensor, .. } => *tensor == id,
        Binding::Scratch | Binding::Lengths => false,
    })
}
