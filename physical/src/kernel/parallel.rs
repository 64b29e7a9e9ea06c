//! Runs of kernels in parallel chunks, and the join of their outputs.
//!
//! A part is a sequence of neighbouring chunks that one thread calls over the same memory, one
//! after the other, so that their appended entries are already consecutive. Each thread starts with
//! a part of its own; when it has finished that part, it takes over the rear half of the longest
//! remaining one. The division into parts depends on the speed of threads, but results do not: they
//! depend only on the bounds of chunks.
//!
//! Chunks of a run that may end before its last one (`decided`) are called in order instead, each
//! by the next free thread.

use super::append::{self, Part};
use super::bounds::Ramp;
use super::decided::{self, Decisions, End};
use super::{Code, Engine, Kernel, Outcome, collect};
use crate::Error;
use crate::assembly::{Buffer, Counts, Status};
use crate::lower::Binding;
use crate::notation::{ALL, Cut, Join, TensorId};
use crate::run::{Invocation, Limits, Loan};
use crate::storage::Tensor;
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
        chunks.len() > 1 && chunks[0].start == ALL.start && chunks.windows(2).all(|w| w[0].end == w[1].start)
    );
    let (shared, loans) = shared(kernel, cut, inputs, limits)?;
    let threads = limits.workers.threads().min(chunks.len());
    let left = Left::Parts(Left::parts(chunks.len(), threads));
    let run = Run { kernel, cut, chunks, inputs, limits, loans, left: Mutex::new(left) };
    let done = Mutex::new(Done::default());
    run.work_on(threads, &done)?;
    let done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    join(kernel, cut, done, shared, (inputs, limits))
}

/// Runs a kernel whose folds can be decided, in the chunks of a ramp, at least two, which together
/// cover all rounds in order.
pub(super) fn run_in_order(
    kernel: &Kernel,
    cut: &Cut,
    (ramp, decisions): (&Ramp, Decisions),
    inputs: &[&Tensor],
    limits: &Limits,
) -> Result<Outcome, Error> {
    let (shared, loans) = shared(kernel, cut, inputs, limits)?;
    let chunks = &ramp.chunks[..];
    let left = Mutex::new(Left::InOrder { rest: 0..ramp.alone, end: End::of(decisions) });
    let run = Run { kernel, cut, chunks, inputs, limits, loans, left };
    let done = Mutex::new(Done::default());
    run.work(&done)?;
    let rest = lock(&run.left).go_on(ramp.alone..chunks.len());
    run.work_on(limits.workers.threads().min(rest), &done)?;
    let mut done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    if let Left::InOrder { end, .. } = run.left.into_inner().unwrap_or_else(PoisonError::into_inner)
        && let Some(last) = end.outcome()?
    {
        done.partials.retain(|(number, _)| *number <= last);
    }
    done.partials.sort_by_key(|(number, _)| *number);
    if let Some(folded) = decided::fold_values(cut, &done.partials)? {
        done.partials = vec![(0, folded)];
    }
    join(kernel, cut, done, shared, (inputs, limits))
}

/// A run in chunks.
struct Run<'a> {
    kernel: &'a Kernel,
    cut: &'a Cut,
    chunks: &'a [Range<i64>],
    inputs: &'a [&'a Tensor],
    limits: &'a Limits,
    /// The memory of shared outputs.
    loans: Vec<(Buffer, Loan)>,
    left: Mutex<Left>,
}

/// The remaining chunks.
enum Left {
    /// The remaining chunks of each part, and whether a thread has begun the part.
    Parts(Vec<(Range<usize>, bool)>),
    /// The remaining chunks of a run in order, and its end.
    InOrder { rest: Range<usize>, end: End },
}

/// The results so far.
#[derive(Default)]
struct Done {
    /// The parts, in the order in which they were finished.
    parts: Vec<Part>,
    /// For each chunk, by its number, its partial result of each folded output.
    partials: Vec<(usize, Vec<Tensor>)>,
    counts: Option<Counts>,
}

impl Left {
    fn parts(chunks: usize, threads: usize) -> Vec<(Range<usize>, bool)> {
        (0..threads).map(|t| (chunks * t / threads..chunks * (t + 1) / threads, false)).collect()
    }

    /// Returns the number of a part for a thread, and of its chunks: a part not yet begun, or the
    /// rear half of the longest one.
    fn part(&mut self) -> Option<(usize, usize)> {
        let parts = match self {
            Left::Parts(parts) => parts,
            Left::InOrder { rest, .. } => return Some((0, rest.len())).filter(|(_, left)| *left > 0),
        };
        if let Some(k) = parts.iter().position(|(_, begun)| !begun) {
            parts[k].1 = true;
            return Some((k, parts[k].0.len()));
        }
        let (longest, _) = parts.iter_mut().max_by_key(|(left, _)| left.len()).filter(|(left, _)| !left.is_empty())?;
        let middle = longest.start + longest.len() / 2;
        let rear = middle..longest.end;
        longest.end = middle;
        let chunks = rear.len();
        parts.push((rear, true));
        Some((parts.len() - 1, chunks))
    }

    /// Returns the next chunk of a part.
    fn chunk(&mut self, part: usize) -> Option<usize> {
        match self {
            Left::Parts(parts) => parts.get_mut(part)?.0.next(),
            Left::InOrder { rest, .. } => rest.next(),
        }
    }

    /// Continues a run in order with more chunks, unless the run has ended; returns the number of
    /// remaining chunks.
    fn go_on(&mut self, more: Range<usize>) -> usize {
        let Left::InOrder { rest, end } = self else { unreachable!("the run is in order") };
        *rest = if end.last().is_some() { 0..0 } else { more };
        rest.len()
    }

    /// Records the partial results of a chunk, which may end a run in order.
    fn note(&mut self, chunk: usize, partials: &[Tensor]) -> Result<(), Error> {
        if let Left::InOrder { end, .. } = self {
            end.note(chunk, partials)?;
        }
        self.leave_out_the_rest();
        Ok(())
    }

    /// Records that a chunk has failed: an earlier chunk may still decide a run in order.
    ///
    /// # Errors
    /// The same error if the run ends with it at once.
    fn fail(&mut self, chunk: usize, error: Error) -> Result<(), Error> {
        match self {
            Left::InOrder { end, .. } if !matches!(error, Error::KernelStopped(Status::Cancelled)) => {
                end.note_failure(chunk, error);
            }
            _ => return Err(error),
        }
        self.leave_out_the_rest();
        Ok(())
    }

    fn leave_out_the_rest(&mut self) {
        if let Left::InOrder { rest, end } = self
            && let Some(last) = end.last()
        {
            rest.end = rest.end.min((last + 1).max(rest.start));
        }
    }

    fn clear(&mut self) {
        match self {
            Left::Parts(parts) => parts.clear(),
            Left::InOrder { rest, .. } => *rest = 0..0,
        }
    }
}

impl Run<'_> {
    /// Works on this many threads.
    fn work_on(&self, threads: usize, done: &Mutex<Done>) -> Result<(), Error> {
        self.limits.workers.each(0..threads, |_| {
            let worked = self.work(done);
            if worked.is_err() {
                lock(&self.left).clear();
            }
            worked
        })
    }

    /// Works until no chunk is left.
    fn work(&self, done: &Mutex<Done>) -> Result<(), Error> {
        loop {
            let Some((part, chunks)) = lock(&self.left).part() else { return Ok(()) };
            let mut invocation = self.kernel.bind(self.inputs, self.limits)?;
            // SAFETY: as for the lender; appended elements of a part are taken after its last
            // chunk.
            unsafe { invocation.leave_unfilled(&self.kernel.draft.lowered.unfilled) };
            for (buffer, loan) in &self.loans {
                // SAFETY: the lender lives until all parts are done, and nothing else accesses its
                // buffer. An output is shared only if each element belongs to one round of the
                // outermost loop, and so to one chunk.
                unsafe { invocation.borrow(*buffer, *loan) };
            }
            if !matches!(self.kernel.code, Code::Interpreter(_)) {
                // Entries of other parts are appended to those of the first.
                let share = if part == 0 { self.chunks.len() } else { chunks };
                self.kernel.room.reserve_share(&mut invocation, (share, self.chunks.len()));
            }
            let mut covered: Option<Range<i64>> = None;
            loop {
                let Some(number) = lock(&self.left).chunk(part) else { break };
                if self.limits.cancel.load(Ordering::Relaxed) {
                    return Err(Error::KernelStopped(Status::Cancelled));
                }
                let chunk = self.chunks[number].clone();
                let called = self.kernel.call_chunk(&mut invocation, chunk.clone());
                let called = called.and_then(|counts| Ok((counts, self.partials(&mut invocation)?)));
                let (counts, partials) = match called {
                    Ok(called) => called,
                    Err(error) => return lock(&self.left).fail(number, error),
                };
                lock(&self.left).note(number, &partials)?;
                covered = Some(covered.map_or(chunk.start, |c| c.start)..chunk.end);
                let mut done = lock(done);
                done.partials.push((number, partials));
                done.counts = [done.counts, counts].into_iter().flatten().reduce(Add::add);
            }
            if let Some(rounds) = covered {
                if part > 0 {
                    // Until the join, the part needs only the elements that it has written, and no
                    // spare capacity.
                    invocation.keep(&self.appended(&invocation)?);
                }
                lock(done).parts.push(Part { rounds, invocation });
            }
        }
    }

    /// Returns the number of elements that a part has written of each appended output.
    fn appended(&self, invocation: &Invocation) -> Result<Vec<(Buffer, usize)>, Error> {
        let (program, lowered) = (&self.kernel.draft.program, &self.kernel.draft.lowered);
        let appended = self.cut.outputs.iter().filter(|(_, join)| *join == Join::Appended);
        let used = appended.map(|(id, _)| collect::used_by(program, lowered, invocation, *id));
        Ok(used.collect::<Result<Vec<_>, _>>()?.concat())
    }

    /// Returns the partial result of each folded output after a chunk.
    fn partials(&self, invocation: &mut Invocation) -> Result<Vec<Tensor>, Error> {
        let (program, lowered) = (&self.kernel.draft.program, &self.kernel.draft.lowered);
        let mut folded = self.cut.outputs.iter().filter(|(_, join)| matches!(join, Join::Folded(_))).peekable();
        if folded.peek().is_none() {
            return Ok(Vec::new());
        }
        let used = collect::used(program, lowered, invocation)?;
        let collect = |id| collect::left(program, lowered, (id, &used), (&mut *invocation, self.inputs));
        folded.map(|(id, _)| *id).map(collect).collect()
    }
}

/// Makes an invocation with the memory of shared outputs, which is never called, and the loans of
/// its buffers to parts.
fn shared(
    kernel: &Kernel,
    cut: &Cut,
    inputs: &[&Tensor],
    limits: &Limits,
) -> Result<(Invocation, Vec<(Buffer, Loan)>), Error> {
    let mut lender = kernel.bind(inputs, limits)?;
    // SAFETY: lowering guarantees that the code writes each element of these buffers; they are
    // taken after all chunks are done.
    unsafe { lender.leave_unfilled(&kernel.draft.lowered.unfilled) };
    let mut loans = Vec::new();
    for (id, _) in cut.outputs.iter().filter(|(_, join)| *join == Join::Shared) {
        let places =
            i64::try_from(places(kernel, *id, inputs)).map_err(|_| Error::KernelStopped(Status::OutOfMemory))?;
        for buffer in leaf(kernel, *id) {
            match lender.grow(buffer, places) {
                Status::Done => loans.push((buffer, lender.loan(buffer))),
                status => return Err(Error::KernelStopped(status)),
            }
        }
    }
    Ok((lender, loans))
}

/// Returns the number of values of an output that is dense or has the pattern of an input.
pub(super) fn places(kernel: &Kernel, id: TensorId, inputs: &[&Tensor]) -> u64 {
    let program = &kernel.draft.program;
    if let Some(input) = program.pattern(id, inputs) {
        return input.positions();
    }
    let ty = &program.tensors[id.index()].ty;
    ty.format.storage_shape(&ty.shape).iter().product()
}

/// Returns the buffers with the values of an output.
fn leaf(kernel: &Kernel, id: TensorId) -> Vec<Buffer> {
    kernel.draft.buffers(|b| matches!(b, Binding::Leaf { tensor, .. } if *tensor == id))
}

/// Joins the outputs of all parts.
fn join(
    kernel: &Kernel,
    cut: &Cut,
    mut done: Done,
    mut shared: Invocation,
    (inputs, limits): (&[&Tensor], &Limits),
) -> Result<Outcome, Error> {
    let (program, lowered) = (&kernel.draft.program, &kernel.draft.lowered);
    done.parts.sort_by_key(|part| part.rounds.start);
    done.partials.sort_by_key(|(number, _)| *number);
    let mut partials = done.partials.into_iter().map(|(_, partials)| partials.into_iter()).collect::<Vec<_>>();
    let mut outputs = Vec::new();
    for (number, (id, how)) in cut.outputs.iter().enumerate() {
        outputs.push(match how {
            Join::Shared => {
                let places = places(kernel, *id, inputs) as usize;
                let used: Vec<_> = leaf(kernel, *id).into_iter().map(|b| (b, places)).collect();
                collect::left(program, lowered, (*id, &used), (&mut shared, inputs))?
            }
            Join::Appended => {
                let used = append::append(kernel, *id, &mut done.parts, &limits.workers)?;
                let output = collect::left(program, lowered, (*id, &used), (&mut done.parts[0].invocation, inputs))?;
                kernel.room.note(used);
                output
            }
            Join::Folded(op) => {
                let partials = partials.iter_mut().filter_map(Iterator::next).collect();
                kernel.merges.merge(&kernel.draft, (number, op), partials, (Engine::Instant, limits))?
            }
        });
    }
    Ok(Outcome { outputs, counts: done.counts, on_device: None })
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
