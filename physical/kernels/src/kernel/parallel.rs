//! Runs of kernels in parallel chunks, and the join of their outputs.
//!
//! A part is a sequence of neighbouring chunks that one thread calls over the same memory, one
//! after the other, so that the entries that the chunks append are already consecutive. Each thread
//! starts with a part of its own. A thread that has finished its part takes a part that no thread
//! has begun, or else the rear half of the longest remaining part. The division into parts depends
//! on the speed of threads, but results do not: they depend only on the bounds of chunks.
//!
//! If a run may end before its last chunk (`decisions`), its chunks are called in order instead:
//! first the chunks that one thread runs alone, then each chunk by the next free thread.

use super::append::{self, KernelPart};
use super::bounds::GrowingChunks;
use super::decisions::{self, Decisions, EarlyEnd};
use super::{Kernel, Outcome, collect};
use crate::run::{Invocation, Limits, Loan};
use crate::{Error, backend};
use redpoll_compiler::assembly::{Buffer, Buffers, Counts, Status};
use redpoll_compiler::lower::Binding;
use redpoll_compiler::notation::{ALL_ROUNDS, Cut, Join, TensorId};
use redpoll_storage::Tensor;
use std::ops::{Add, Range};
use std::sync::atomic::Ordering;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Runs a kernel in the given chunks, at least two, which together cover all rounds in order.
pub(super) fn run(
    kernel: &Kernel,
    cut: &Cut,
    chunks: &[Range<i64>],
    inputs: &[&Tensor],
    limits: &Limits,
) -> Result<Outcome, Error> {
    debug_assert!(
        chunks.len() > 1 && chunks[0].start == ALL_ROUNDS.start && chunks.windows(2).all(|w| w[0].end == w[1].start)
    );
    let (shared, loans) = lend_shared_outputs(kernel, cut, inputs, limits)?;
    let threads = limits.workers.threads().min(chunks.len());
    let remaining = RemainingChunks::Parts(RemainingChunks::parts(chunks.len(), threads));
    let run = ParallelRun { kernel, cut, chunks, inputs, limits, loans, remaining: Mutex::new(remaining) };
    let finished = Mutex::new(FinishedChunks::default());
    run.work_on(threads, &finished)?;
    let finished = finished.into_inner().unwrap_or_else(PoisonError::into_inner);
    join(kernel, cut, finished, shared, (inputs, limits))
}

/// Runs a kernel whose folds can be decided, in growing chunks, at least two, which together cover
/// all rounds in order.
pub(super) fn run_in_order(
    kernel: &Kernel,
    cut: &Cut,
    (growing, decisions): (&GrowingChunks, Decisions),
    inputs: &[&Tensor],
    limits: &Limits,
) -> Result<Outcome, Error> {
    let (shared, loans) = lend_shared_outputs(kernel, cut, inputs, limits)?;
    let chunks = &growing.chunks[..];
    let remaining =
        Mutex::new(RemainingChunks::InOrder { rest: 0..growing.single_thread_chunks, end: EarlyEnd::of(decisions) });
    let run = ParallelRun { kernel, cut, chunks, inputs, limits, loans, remaining };
    let finished = Mutex::new(FinishedChunks::default());
    run.work(&finished)?;
    let rest = lock(&run.remaining).continue_with(growing.single_thread_chunks..chunks.len());
    run.work_on(limits.workers.threads().min(rest), &finished)?;
    let mut finished = finished.into_inner().unwrap_or_else(PoisonError::into_inner);
    if let RemainingChunks::InOrder { end, .. } = run.remaining.into_inner().unwrap_or_else(PoisonError::into_inner)
        && let Some(last) = end.outcome()?
    {
        finished.partials.retain(|(number, _)| *number <= last);
    }
    finished.partials.sort_by_key(|(number, _)| *number);
    if let Some(folded) = decisions::fold_values(cut, &finished.partials)? {
        finished.partials = vec![(0, folded)];
    }
    join(kernel, cut, finished, shared, (inputs, limits))
}

/// A run in chunks.
struct ParallelRun<'a> {
    kernel: &'a Kernel,
    cut: &'a Cut,
    chunks: &'a [Range<i64>],
    inputs: &'a [&'a Tensor],
    limits: &'a Limits,
    /// The memory of shared outputs.
    loans: Vec<(Buffer, Loan)>,
    remaining: Mutex<RemainingChunks>,
}

/// The chunks of a run that no thread has taken yet.
enum RemainingChunks {
    /// The remaining chunks of each part, and whether a thread has begun the part.
    Parts(Vec<(Range<usize>, bool)>),
    /// The remaining chunks of a run in order, and the early end of the run.
    InOrder { rest: Range<usize>, end: EarlyEnd },
}

/// The results of the chunks that have run so far.
#[derive(Default)]
struct FinishedChunks {
    /// The parts, in the order in which they were finished.
    parts: Vec<KernelPart>,
    /// The number of each finished chunk, with its partial results, one for each folded output.
    partials: Vec<(usize, Vec<Tensor>)>,
    counts: Option<Counts>,
}

impl RemainingChunks {
    fn parts(chunks: usize, threads: usize) -> Vec<(Range<usize>, bool)> {
        (0..threads).map(|t| (chunks * t / threads..chunks * (t + 1) / threads, false)).collect()
    }

    /// Assigns a part to a thread: a part that no thread has begun, or the rear half of the longest
    /// part. Returns the index of the part and the number of its chunks; `None` if no chunk is
    /// left. In a run in order, all threads have part 0.
    fn part(&mut self) -> Option<(usize, usize)> {
        let parts = match self {
            RemainingChunks::Parts(parts) => parts,
            RemainingChunks::InOrder { rest, .. } => {
                return Some((0, rest.len())).filter(|(_, remaining)| *remaining > 0);
            }
        };
        if let Some(k) = parts.iter().position(|(_, begun)| !begun) {
            parts[k].1 = true;
            return Some((k, parts[k].0.len()));
        }
        let (longest, _) = parts
            .iter_mut()
            .max_by_key(|(remaining, _)| remaining.len())
            .filter(|(remaining, _)| !remaining.is_empty())?;
        let middle = longest.start + longest.len() / 2;
        let rear = middle..longest.end;
        longest.end = middle;
        let chunks = rear.len();
        parts.push((rear, true));
        Some((parts.len() - 1, chunks))
    }

    /// Returns the next chunk of a part; `None` if the part has no further chunk.
    fn chunk(&mut self, part: usize) -> Option<usize> {
        match self {
            RemainingChunks::Parts(parts) => parts.get_mut(part)?.0.next(),
            RemainingChunks::InOrder { rest, .. } => rest.next(),
        }
    }

    /// Continues a run in order with more chunks, unless the run has ended; returns the number of
    /// remaining chunks.
    fn continue_with(&mut self, more: Range<usize>) -> usize {
        let RemainingChunks::InOrder { rest, end } = self else { unreachable!("the run is in order") };
        *rest = if end.last().is_some() { 0..0 } else { more };
        rest.len()
    }

    /// Records the partial results of a chunk, which may end a run in order.
    fn record(&mut self, chunk: usize, partials: &[Tensor]) -> Result<(), Error> {
        if let RemainingChunks::InOrder { end, .. } = self {
            end.record(chunk, partials)?;
        }
        self.drop_later_chunks();
        Ok(())
    }

    /// Records that a chunk has failed. In a run in order, an earlier chunk may still decide the
    /// result.
    ///
    /// # Errors
    /// The same error, if the failure ends the run at once.
    fn record_error(&mut self, chunk: usize, error: Error) -> Result<(), Error> {
        match self {
            RemainingChunks::InOrder { end, .. } if !matches!(error, Error::KernelStopped(Status::Cancelled)) => {
                end.record_failure(chunk, error);
            }
            _ => return Err(error),
        }
        self.drop_later_chunks();
        Ok(())
    }

    fn drop_later_chunks(&mut self) {
        if let RemainingChunks::InOrder { rest, end } = self
            && let Some(last) = end.last()
        {
            rest.end = rest.end.min((last + 1).max(rest.start));
        }
    }

    fn clear(&mut self) {
        match self {
            RemainingChunks::Parts(parts) => parts.clear(),
            RemainingChunks::InOrder { rest, .. } => *rest = 0..0,
        }
    }
}

impl ParallelRun<'_> {
    /// Calls the remaining chunks on this many threads.
    fn work_on(&self, threads: usize, finished: &Mutex<FinishedChunks>) -> Result<(), Error> {
        self.limits.workers.for_each(0..threads, |_| {
            let worked = self.work(finished);
            if worked.is_err() {
                lock(&self.remaining).clear();
            }
            worked
        })
    }

    /// Calls chunks on this thread until no chunk is left, or until an error ends the run.
    fn work(&self, finished: &Mutex<FinishedChunks>) -> Result<(), Error> {
        loop {
            let Some((part, chunks)) = lock(&self.remaining).part() else { return Ok(()) };
            let mut invocation = self.kernel.bind(self.inputs, self.limits)?;
            // SAFETY: as for the lender; appended elements of a part are taken after its last
            // chunk.
            unsafe { invocation.omit_fills(&self.kernel.draft.lowered().unfilled) };
            for (buffer, loan) in &self.loans {
                // SAFETY: the lender lives until all parts are done, and nothing else accesses its
                // buffer. An output is shared only if each element belongs to one round of the
                // outermost loop, and so to one chunk.
                unsafe { invocation.borrow(*buffer, *loan) };
            }
            if self.kernel.code.reserves() {
                // The entries of other parts are appended to the first part, which reserves the
                // whole capacity.
                let share = if part == 0 { self.chunks.len() } else { chunks };
                self.kernel.capacities.reserve_share(&mut invocation, (share, self.chunks.len()));
            }
            let mut covered: Option<Range<i64>> = None;
            loop {
                let Some(number) = lock(&self.remaining).chunk(part) else { break };
                if self.limits.cancel.load(Ordering::Relaxed) {
                    return Err(Error::KernelStopped(Status::Cancelled));
                }
                let chunk = self.chunks[number].clone();
                let called = self.kernel.call_chunk(&mut invocation, chunk.clone());
                let called = called.and_then(|counts| Ok((counts, self.partials(&mut invocation)?)));
                let (counts, partials) = match called {
                    Ok(called) => called,
                    Err(error) => return lock(&self.remaining).record_error(number, error),
                };
                lock(&self.remaining).record(number, &partials)?;
                covered = Some(covered.map_or(chunk.start, |c| c.start)..chunk.end);
                let mut finished = lock(finished);
                finished.partials.push((number, partials));
                finished.counts = [finished.counts, counts].into_iter().flatten().reduce(Add::add);
                let done = finished.partials.len();
                drop(finished);
                if let Some(progress) = &self.limits.progress {
                    progress.report(done as f64 / self.chunks.len() as f64);
                }
            }
            if let Some(rounds) = covered {
                if part > 0 {
                    // Until the join, the part needs only the elements that it has written, and no
                    // spare capacity.
                    invocation.retain(&self.appended(&invocation)?);
                }
                lock(finished).parts.push(KernelPart { rounds, invocation });
            }
        }
    }

    /// Returns the buffers of appended outputs, each with the number of elements that a part has
    /// written.
    fn appended(&self, invocation: &Invocation) -> Result<Vec<(Buffer, usize)>, Error> {
        let (program, lowered) = (self.kernel.draft.program(), self.kernel.draft.lowered());
        let appended = self.cut.outputs.iter().filter(|(_, join)| matches!(join, Join::Appended(_)));
        let used = appended.map(|(id, _)| collect::lengths_of_output(program, lowered, invocation, *id));
        Ok(used.collect::<Result<Vec<_>, _>>()?.concat())
    }

    /// Returns the partial result of each folded output after a chunk.
    fn partials(&self, invocation: &mut Invocation) -> Result<Vec<Tensor>, Error> {
        let (program, lowered) = (self.kernel.draft.program(), self.kernel.draft.lowered());
        let mut folded = self.cut.outputs.iter().filter(|(_, join)| matches!(join, Join::Folded(_))).peekable();
        if folded.peek().is_none() {
            return Ok(Vec::new());
        }
        let used = collect::output_lengths(program, lowered, invocation)?;
        let collect = |id| collect::output_tensor(program, lowered, (id, &used), (&mut *invocation, self.inputs));
        folded.map(|(id, _)| *id).map(collect).collect()
    }
}

/// Makes an invocation that is never called, but owns the memory of shared outputs and lends it to
/// parts. Returns the invocation and the loans of its buffers.
fn lend_shared_outputs(
    kernel: &Kernel,
    cut: &Cut,
    inputs: &[&Tensor],
    limits: &Limits,
) -> Result<(Invocation, Vec<(Buffer, Loan)>), Error> {
    let mut lender = kernel.bind(inputs, limits)?;
    // SAFETY: lowering guarantees that the code writes each element of these buffers. The elements
    // are taken after all chunks are done.
    unsafe { lender.omit_fills(&kernel.draft.lowered().unfilled) };
    let mut loans = Vec::new();
    for (id, _) in cut.outputs.iter().filter(|(_, join)| *join == Join::Shared) {
        let element_count =
            i64::try_from(element_count(kernel, *id, inputs)).map_err(|_| Error::KernelStopped(Status::OutOfMemory))?;
        for buffer in leaf_buffers(kernel, *id) {
            match lender.grow(buffer, element_count) {
                Status::Done => loans.push((buffer, lender.loan(buffer))),
                status => return Err(Error::KernelStopped(status)),
            }
        }
    }
    Ok((lender, loans))
}

/// Returns the number of values of an output that is dense or has the pattern of an input.
pub fn element_count(kernel: &Kernel, id: TensorId, inputs: &[&Tensor]) -> u64 {
    let program = kernel.draft.program();
    if let Some(input) = program.pattern_input(id, inputs) {
        return input.positions();
    }
    let ty = &program.tensors[id.index()].ty;
    ty.format.storage_shape(&ty.shape).iter().product()
}

/// Returns the buffers with the values of an output.
fn leaf_buffers(kernel: &Kernel, id: TensorId) -> Vec<Buffer> {
    kernel.draft.buffers(|b| matches!(b, Binding::Leaf { tensor, .. } if *tensor == id))
}

/// Joins the outputs of all parts.
fn join(
    kernel: &Kernel,
    cut: &Cut,
    mut finished: FinishedChunks,
    mut shared: Invocation,
    (inputs, limits): (&[&Tensor], &Limits),
) -> Result<Outcome, Error> {
    let (program, lowered) = (kernel.draft.program(), kernel.draft.lowered());
    finished.parts.sort_by_key(|part| part.rounds.start);
    finished.partials.sort_by_key(|(number, _)| *number);
    let mut partials = finished.partials.into_iter().map(|(_, partials)| partials.into_iter()).collect::<Vec<_>>();
    let mut outputs = Vec::new();
    for (number, (id, join_kind)) in cut.outputs.iter().enumerate() {
        outputs.push(match join_kind {
            Join::Shared => {
                let element_count = element_count(kernel, *id, inputs) as usize;
                let used: Vec<_> = leaf_buffers(kernel, *id).into_iter().map(|b| (b, element_count)).collect();
                collect::output_tensor(program, lowered, (*id, &used), (&mut shared, inputs))?
            }
            Join::Appended(coordinates) => {
                let used = append::append(kernel, (*id, *coordinates), &mut finished.parts, &limits.workers)?;
                let output = collect::output_tensor(
                    program,
                    lowered,
                    (*id, &used),
                    (&mut finished.parts[0].invocation, inputs),
                )?;
                kernel.capacities.record(used);
                output
            }
            Join::Folded(op) => {
                let partials = partials.iter_mut().filter_map(Iterator::next).collect();
                kernel.merges.merge(&kernel.draft, (number, op), partials, (&backend::instant(), limits))?
            }
        });
    }
    Ok(Outcome { outputs, counts: finished.counts, on_device: None })
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
