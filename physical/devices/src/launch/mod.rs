//! Kernels as grids: their launches, the memory of the launches, and the joins of their outputs.
//!
//! For outputs to which chunks append, a first launch counts the elements, so that each chunk has a
//! window of the right size. Other windows that grow have an unknown size; a launch that exceeds
//! such a window is repeated with a larger one.

mod backend;
mod folds;
mod outputs;

#[cfg(test)]
pub(crate) use backend::grid_interpreter_in_teams;
pub use backend::{CudaBackend, MAX_DEVICES, grid_interpreter};

use crate::grid::{Grid, GridPlan, GridRunner, Launch, LaunchOutcome, LaunchResult, MemorySpace, WARP, WindowExtent};
use folds::FoldKernels;
use outputs::OutputAssembly;
use redpoll_compiler::assembly::{Buffer, Buffers, Counts, Function, Status, Stmt};
use redpoll_compiler::lower::{Binding, Draft};
use redpoll_compiler::notation::{ALL_ROUNDS, Cut, Join, RoundCoordinates, Sections};
use redpoll_kernels::Error;
use redpoll_kernels::backend::{Backend, Code};
use redpoll_kernels::kernel::{
    Kernel, MergeKernels, Outcome, PositionSpan, Shares, WorkShare, coordinate_span, element_count,
};
use redpoll_kernels::run::{Invocation, Limits, Workers};
use redpoll_storage::levels::{Concatenation, level};
use redpoll_storage::{Tensor, TensorIdentity};
use std::ops::{Add, Range};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// Minimum initial capacity of windows of unknown length, in elements.
const INITIAL_CAPACITY: usize = 16;

/// The grids of a kernel, compiled for a processor.
pub(crate) struct Grids {
    count: Option<Box<dyn GridRunner>>,
    run: Box<dyn GridRunner>,
    /// The division of rounds into sections; `None` if rounds are not cut.
    sections: Option<Sections>,
    launches: AtomicU64,
    /// For each buffer, the number of elements that a window of unknown length needed in the
    /// previous run; empty before the first run, during a run, and after a run that failed.
    needed: Mutex<Vec<usize>>,
    /// The chunks of the previous run.
    chunks: Mutex<Option<Arc<RunChunks>>>,
    /// The backend of these grids, for other kernels on the same processor.
    backend: Arc<dyn Backend>,
    /// Kernels that merge sparse partial results.
    merges: MergeKernels,
    /// Kernels that fold partial results on the processor that computed them.
    folds: FoldKernels,
}

/// The chunks of a run.
struct RunChunks {
    shares: Shares,
    /// The tensors from which the chunks were computed.
    tensors: Vec<TensorIdentity>,
    /// The rounds of each chunk.
    rounds: Vec<Range<i64>>,
    /// The range of positions of each chunk's section; all positions for a chunk of whole rounds.
    sections: Vec<Range<i64>>,
}

/// The capacity of the windows of a buffer, in elements.
#[derive(Clone, Debug)]
enum WindowCapacity {
    /// The same for all windows.
    All(usize),
    /// The counted size, for each chunk.
    Each(Vec<usize>),
}

impl WindowCapacity {
    fn of(&self, number: usize) -> usize {
        match self {
            WindowCapacity::All(capacity) => *capacity,
            WindowCapacity::Each(capacities) => capacities[number],
        }
    }
}

impl Grids {
    /// Makes grids, given the backend and a function that compiles each grid.
    pub(crate) fn new<E>(
        plan: GridPlan,
        backend: Arc<dyn Backend>,
        mut runner: impl FnMut(Grid) -> Result<Box<dyn GridRunner>, E>,
    ) -> Result<Grids, E> {
        let count = plan.count.map(&mut runner).transpose()?;
        let (run, launches) = (runner(plan.run)?, AtomicU64::new(0));
        Ok(Grids {
            count,
            run,
            sections: plan.sections,
            launches,
            needed: Mutex::default(),
            chunks: Mutex::default(),
            backend,
            merges: MergeKernels::default(),
            folds: FoldKernels::default(),
        })
    }

    /// Returns the chunks of a run. Reuses the chunks of the previous run if the loop has the same
    /// shares and iterates over the same tensors.
    fn chunks(&self, draft: &Draft, cut: &Cut, inputs: &[&Tensor], limits: &Limits) -> Arc<RunChunks> {
        let shares = Shares::of(draft, cut, inputs, self.share(cut, &limits.workers));
        let sections = self.sections.iter().map(|sections| sections.input);
        let numbers = cut.drivers.iter().map(|(number, _)| *number).chain(sections);
        let tensors: Vec<TensorIdentity> = numbers.map(|number| inputs[number].identity()).collect();
        let previous = self.chunks.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some(previous) = previous.filter(|chunks| (chunks.shares, &chunks.tensors) == (shares, &tensors)) {
            return previous;
        }
        let (rounds, sections) = match &self.sections {
            Some(sections) => shares.section_chunks((cut, sections), inputs).into_iter().unzip(),
            None => shares.chunks(cut, inputs).into_iter().map(|chunk| (chunk, ALL_ROUNDS)).unzip(),
        };
        let chunks = Arc::new(RunChunks { shares, tensors, rounds, sections });
        *self.chunks.lock().unwrap_or_else(PoisonError::into_inner) = Some(chunks.clone());
        chunks
    }

    /// Returns the processors that share the work: the teams of a device, or threads for the
    /// interpreter. Even on a device, a loop with inexact folds is cut as for threads, because the
    /// bits of the results depend on the cuts.
    fn share<'a>(&self, cut: &Cut, workers: &'a Workers) -> WorkShare<'a> {
        let folds = cut.outputs.iter().any(|(_, join)| matches!(join, Join::Folded(_)));
        match self.run.has_own_memory() && (cut.exact || !folds) {
            true => WorkShare::Teams(self.run.teams() as u64, self.run.grid().lanes.max(WARP)),
            false => WorkShare::Threads(workers),
        }
    }
}

/// The assumed maximum number of steps per round of a loop, which converts a limit of rounds to a
/// limit of steps.
const STEPS_PER_ROUND: u64 = 1 << 12;

impl Code for Grids {
    fn run(&self, kernel: &Kernel, inputs: &[&Tensor], limits: &Limits) -> Result<Outcome, Error> {
        let draft = kernel.draft();
        let cut = draft.lowered().cut.as_ref();
        cut.map_or(Ok(()), |cut| cut.cut_inputs().try_for_each(|k| inputs[k].fetch_ends()))?;
        let chunks = cut.map(|cut| self.chunks(draft, cut, inputs, limits));
        let (chunks, sections) = match &chunks {
            Ok(chunks) => (&chunks.rounds[..], &chunks.sections[..]),
            Err(_) => (&[ALL_ROUNDS][..], &[ALL_ROUNDS][..]),
        };
        let needed = std::mem::take(&mut *self.needed.lock().unwrap_or_else(PoisonError::into_inner));
        match run(kernel, self, (chunks, sections), inputs, (limits, &needed)) {
            // The previous run may have needed larger windows.
            Err(error) if exceeds_memory(&error) && !needed.is_empty() => {
                run(kernel, self, (chunks, sections), inputs, (limits, &[]))
            }
            result => result,
        }
    }

    unsafe fn call(&self, _: &mut Invocation, _: Range<i64>) -> Result<(Status, Option<Counts>), Error> {
        Err(Error::InvalidInvocation("grids run as a whole and cannot be called chunk by chunk".into()))
    }

    fn runs_in_chunks(&self) -> bool {
        false
    }

    /// Limits each launch to `limit` times [`STEPS_PER_ROUND`] steps, on runners that count steps.
    fn limit_rounds(&mut self, limit: u64) {
        let steps = limit.saturating_mul(STEPS_PER_ROUND);
        self.count.iter_mut().chain([&mut self.run]).for_each(|runner| runner.limit_steps(steps));
    }
}

/// Runs a kernel in the given chunks. `needed` is empty, or has for each buffer the minimum initial
/// capacity of windows of unknown length, in elements.
fn run(
    kernel: &Kernel,
    grids: &Grids,
    (chunks, sections): (&[Range<i64>], &[Range<i64>]),
    inputs: &[&Tensor],
    (limits, needed): (&Limits, &[usize]),
) -> Result<Outcome, Error> {
    let invocation = match grids.run.has_own_memory() {
        true => kernel.bind_on_device(inputs, limits)?,
        false => kernel.bind(inputs, limits)?,
    };
    let buffers = invocation.signature().buffers.len();
    let capacity = |k: usize| WindowCapacity::All(needed.get(k).copied().unwrap_or(0).max(INITIAL_CAPACITY));
    let capacities = (0..buffers).map(capacity).collect();
    let needed = vec![0; buffers];
    let mut run =
        GridRun { kernel, grids, chunks, sections, inputs, limits, invocation, capacities, needed, on_device: None };
    if let Some(count) = &grids.count {
        let counted = run.launch(&**count)?;
        run.set_counted_sizes(&**count, &counted);
    }
    let launched = run.launch(&*grids.run)?;
    *grids.needed.lock().unwrap_or_else(PoisonError::into_inner) = std::mem::take(&mut run.needed);
    let assembly = OutputAssembly::new(&run, &launched);
    let outputs = match &kernel.draft().lowered().cut {
        Err(_) => {
            kernel.draft().program().outputs().map(|id| assembly.chunk_output(id, 0)).collect::<Result<_, _>>()?
        }
        Ok(cut) => {
            let outputs = cut.outputs.iter().enumerate();
            outputs.map(|(number, (id, join))| assembly.output((number, *id), join)).collect::<Result<_, _>>()?
        }
    };
    let on_device = run.on_device;
    Ok(Outcome { outputs, counts: None, on_device })
}

/// Returns whether an error says that the host or the device lacks memory for a run.
fn exceeds_memory(error: &Error) -> bool {
    match error {
        Error::Device(source) => matches!(source.downcast_ref(), Some(crate::Error::DeviceMemory { .. })),
        error => error.status() == Some(Status::OutOfMemory),
    }
}

/// Returns whether the windows of a memory space grow while a grid runs.
fn has_unknown_length(space: MemorySpace) -> bool {
    matches!(space, MemorySpace::Chunk | MemorySpace::Team)
}

/// Returns, for each buffer, the number of a representative of its group. A group consists of the
/// buffers that may exchange their memory with each other.
fn exchange_groups(function: &Function) -> Vec<usize> {
    let mut groups: Vec<usize> = (0..function.buffers.len()).collect();
    for stmt in &function.body {
        stmt.any(&mut |s| {
            if let Stmt::Swap(a, b) = s {
                let (a, b) = (groups[a.index()], groups[b.index()]);
                groups.iter_mut().filter(|other| **other == b).for_each(|other| *other = a);
            }
            false
        });
    }
    groups
}

/// A run in progress.
struct GridRun<'a> {
    kernel: &'a Kernel,
    grids: &'a Grids,
    chunks: &'a [Range<i64>],
    /// For each chunk, the range of positions of its section; all positions for a chunk of whole
    /// rounds.
    sections: &'a [Range<i64>],
    inputs: &'a [&'a Tensor],
    limits: &'a Limits,
    /// The inputs.
    invocation: Invocation,
    capacities: Vec<WindowCapacity>,
    /// For each buffer, the largest number of elements that a window of unknown length has
    /// requested so far.
    needed: Vec<usize>,
    /// The duration of the launches so far, by the clock of a device.
    on_device: Option<Duration>,
}

impl GridRun<'_> {
    /// Launches a grid; repeats the launch with larger windows while a window is too small.
    fn launch(&mut self, runner: &dyn GridRunner) -> Result<LaunchResult, Error> {
        loop {
            if self.limits.cancel.load(Ordering::Relaxed) {
                return Err(Error::KernelStopped(Status::Cancelled));
            }
            let teams = self.teams(runner);
            let windows = self.windows(runner, teams)?;
            let number = self.grids.launches.fetch_add(1, Ordering::Relaxed);
            let (inputs, chunks, sections) = (&self.invocation, self.chunks, self.sections);
            let unfilled = &self.kernel.draft().lowered().unfilled;
            let launch = Launch { inputs, chunks, sections, windows, unfilled, teams, seed: number };
            let launched = runner.run(&launch)?;
            self.on_device = [self.on_device, launched.time].into_iter().flatten().reduce(Add::add);
            self.record_needed(runner, &launched);
            match launched.outcome {
                LaunchOutcome::Status(Status::Done) => return Ok(launched),
                LaunchOutcome::Status(status) => return Err(Error::KernelStopped(status)),
                LaunchOutcome::OutOfCapacity => self.enlarge(runner)?,
            }
        }
    }

    /// Returns the number of teams of a launch: at least one, and at most the number of chunks and
    /// the number of teams of the runner. The windows of all teams take at most half of the memory,
    /// unless the windows of a single team take more.
    fn teams(&self, runner: &dyn GridRunner) -> usize {
        let of_team = |(k, space): (usize, &MemorySpace)| match (space, &self.capacities[k]) {
            (MemorySpace::Team, WindowCapacity::All(capacity)) => {
                capacity.saturating_mul(self.invocation.prim(Buffer(k as u32)).bytes())
            }
            _ => 0,
        };
        let bytes = runner.grid().spaces.iter().enumerate().map(of_team).fold(0, usize::saturating_add);
        let max = self.limits.memory.limit().min(runner.window_bytes(self.limits)) / 2 / bytes.max(1);
        runner.teams().min(self.chunks.len()).min(max).max(1)
    }

    /// Returns the windows of a launch.
    fn windows(&self, runner: &dyn GridRunner, teams: usize) -> Result<Vec<Vec<WindowExtent>>, Error> {
        let mut bytes = 0usize;
        let windows: Vec<Vec<WindowExtent>> = (0..)
            .map(Buffer)
            .zip(&runner.grid().spaces)
            .map(|(buffer, space)| {
                let capacity = &self.capacities[buffer.index()];
                let grows = |number: usize| WindowExtent { first: 0, len: 0, capacity: capacity.of(number) };
                let extents: Vec<WindowExtent> = match space {
                    MemorySpace::Input | MemorySpace::Unused => Vec::new(),
                    MemorySpace::Shared => vec![self.dense_window(buffer)],
                    MemorySpace::Sections if !self.is_cut_into_sections() => vec![self.dense_window(buffer)],
                    MemorySpace::Sections => {
                        self.chunks.iter().map(|chunk| self.rounds_window(buffer, chunk)).collect()
                    }
                    MemorySpace::Rounds => self.chunks.iter().map(|chunk| self.rounds_window(buffer, chunk)).collect(),
                    MemorySpace::Chunk => (0..self.chunks.len()).map(grows).collect(),
                    MemorySpace::Team => (0..teams).map(grows).collect(),
                    MemorySpace::Measured => vec![WindowExtent { first: 0, len: 0, capacity: 0 }; self.chunks.len()],
                };
                let size = self.invocation.prim(buffer).bytes();
                let capacities = extents.iter().map(|e| e.capacity.saturating_mul(size));
                bytes = capacities.fold(bytes, usize::saturating_add);
                extents
            })
            .collect();
        if bytes > self.limits.memory.limit() {
            return Err(Error::KernelStopped(Status::OutOfMemory));
        }
        Ok(windows)
    }

    /// Returns whether a round is cut into sections.
    fn is_cut_into_sections(&self) -> bool {
        self.sections.iter().any(|section| *section != ALL_ROUNDS)
    }

    /// Returns the window with all values of an output that is dense or has the pattern of an
    /// input.
    fn dense_window(&self, buffer: Buffer) -> WindowExtent {
        let Binding::Leaf { tensor, .. } = self.kernel.draft().lowered().bindings[buffer.index()] else {
            unreachable!("only the values of outputs have such windows")
        };
        let len = element_count(self.kernel, tensor, self.inputs) as usize;
        WindowExtent { first: 0, len, capacity: len }
    }

    /// Returns the window with the elements that belong to the rounds of a chunk; the window
    /// depends only on the rounds and on the sizes of full levels.
    fn rounds_window(&self, buffer: Buffer, chunk: &Range<i64>) -> WindowExtent {
        let (id, depth, ends) = match self.kernel.draft().lowered().bindings[buffer.index()] {
            Binding::Level { tensor, level: k, array } => {
                let kind = self.kernel.draft().program().tensors[tensor.index()].ty.format.levels[k].kind;
                (tensor, k, array == 0 && level(kind).concatenation() == Concatenation::List)
            }
            Binding::Leaf { tensor, .. } => {
                (tensor, self.kernel.draft().program().tensors[tensor.index()].ty.format.levels.len(), false)
            }
            Binding::Scratch | Binding::Lengths => unreachable!("only arrays of outputs have windows of rounds"),
        };
        let ty = &self.kernel.draft().program().tensors[id.index()].ty;
        let levels = ty.format.levels.iter().zip(ty.format.storage_shape(&ty.shape)).take(depth);
        let full =
            levels.filter(|(l, _)| level(l.kind).concatenation() == Concatenation::Full).map(|(_, n)| n as usize);
        let coordinates = match self.kernel.draft().lowered().cut.as_ref().map(|cut| cut.join(id)) {
            Ok(Some(Join::Appended(coordinates))) => *coordinates,
            _ => RoundCoordinates::ROUND,
        };
        let mut span: Option<PositionSpan> = None;
        for n in full {
            span = Some(span.map_or_else(|| coordinate_span(coordinates, chunk, n), |span| span.times(n)));
        }
        let positions = span.map_or(0..1, |span| span.own);
        // The end of the list of position `p` is at `p + 1`.
        let len = positions.len() + usize::from(ends);
        WindowExtent { first: positions.start as i64, len, capacity: len }
    }

    /// Records the number of elements that windows of unknown length requested. Buffers that
    /// exchange their memory need equal capacities, so each gets the largest number among them.
    fn record_needed(&mut self, runner: &dyn GridRunner, launched: &LaunchResult) {
        let groups = exchange_groups(&runner.grid().function);
        let mut requested = vec![0; self.capacities.len()];
        for (windows, group) in launched.windows.iter().zip(&groups) {
            requested[*group] = windows.iter().map(|window| window.requested).max().unwrap_or(0).max(requested[*group]);
        }
        for (k, needed) in self.needed.iter_mut().enumerate() {
            if has_unknown_length(runner.grid().spaces[k]) && matches!(self.capacities[k], WindowCapacity::All(_)) {
                *needed = requested[groups[k]].max(*needed);
            }
        }
    }

    /// Enlarges the windows that a launch exceeded.
    fn enlarge(&mut self, runner: &dyn GridRunner) -> Result<(), Error> {
        let mut enlarged = false;
        for ((capacity, needed), space) in self.capacities.iter_mut().zip(&self.needed).zip(&runner.grid().spaces) {
            if let (true, WindowCapacity::All(now)) = (has_unknown_length(*space), &mut *capacity)
                && *needed > *now
            {
                *now = (*needed).max(2 * *now);
                enlarged = true;
            }
        }
        let stuck = || {
            Error::InvalidInvocation(
                "a launch ran out of capacity, but has no window to enlarge; please report this".into(),
            )
        };
        enlarged.then_some(()).ok_or_else(stuck)
    }

    /// Sets the capacities of the windows of chunks to the counted sizes.
    fn set_counted_sizes(&mut self, count: &dyn GridRunner, counted: &LaunchResult) {
        let (spaces, run) = (&count.grid().spaces, &self.grids.run.grid().spaces);
        for (k, windows) in counted.windows.iter().enumerate() {
            if run[k] == MemorySpace::Chunk && matches!(spaces[k], MemorySpace::Chunk | MemorySpace::Measured) {
                self.capacities[k] = WindowCapacity::Each(windows.iter().map(|window| window.requested).collect());
            }
        }
    }
}

#[cfg(test)]
mod tests;
