//! Kernels as grids: their launches, the memory of the launches, and the joins of their outputs.
//!
//! For outputs that chunks append, a first launch counts the elements, so that each chunk has a
//! window of the right size. Other windows have an unknown size; a launch that exceeds a window is
//! repeated with a larger one.

use super::append::{PositionSpan, coordinates};
use super::bounds::{self, WorkShare};
use super::folds::KernelFactory;
use super::outputs::OutputAssembly;
use super::{Draft, Kernel, KernelEngine, Outcome};
use crate::Error;
use crate::assembly::{Buffer, Function, Status, Stmt};
use crate::emit::cuda::Cuda;
use crate::grid::{
    Grid, GridPlan, GridProgram, GridRunner, Launch, LaunchOutcome, LaunchResult, MemorySpace, TeamSize, WARP,
    WindowExtent,
};
use crate::levels::{Concatenation, level};
use crate::lower::Binding;
use crate::notation::{ALL_ROUNDS, Cut, Join, Sections};
use crate::run::{Invocation, Limits, Workers};
use crate::storage::Tensor;
use std::ops::{Add, Range};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// The initial capacity of windows, in elements.
const INITIAL_CAPACITY: usize = 16;
/// The number of lanes of the interpreter's teams.
pub(super) const LANES: u32 = 4;

/// The grids of a kernel, compiled for a processor.
pub(crate) struct Grids {
    count: Option<Box<dyn GridRunner>>,
    pub(super) run: Box<dyn GridRunner>,
    /// The division of rounds into sections, if possible.
    pub(super) sections: Option<Sections>,
    launches: AtomicU64,
    /// The number of the device that runs the grids; `None` for the interpreter.
    pub(super) device: Option<u32>,
    /// Factory of other kernels for the same processor.
    pub(super) factory: KernelFactory,
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
    /// Makes the grids of a draft for the interpreter.
    ///
    /// # Errors
    /// [`Error::InvalidAssembly`] when a verifier rejects a grid.
    pub(super) fn of(draft: &Draft, team_size: TeamSize) -> Result<Grids, Error> {
        let program = |grid| Ok::<_, Error>(Box::new(GridProgram::new(grid)?) as Box<dyn GridRunner>);
        Grids::new(
            GridPlan::of(draft, team_size),
            Arc::new(|draft| Kernel::compile(draft, KernelEngine::Grid)),
            program,
        )
    }

    /// Makes grids, given a factory of kernels for the same processor and a function that compiles
    /// each grid.
    pub(crate) fn new<E>(
        plan: GridPlan,
        factory: KernelFactory,
        mut runner: impl FnMut(Grid) -> Result<Box<dyn GridRunner>, E>,
    ) -> Result<Grids, E> {
        let count = plan.count.map(&mut runner).transpose()?;
        let (run, launches) = (runner(plan.run)?, AtomicU64::new(0));
        Ok(Grids { count, run, sections: plan.sections, launches, device: None, factory })
    }

    /// Makes the grids of a draft for a CUDA device.
    ///
    /// # Errors
    /// [`Error::NoDevice`] when the device cannot be used; [`Error::Compile`] when it declines the
    /// grids.
    pub(super) fn on_cuda(draft: &Draft, ordinal: u32) -> Result<Grids, Error> {
        let cuda = Cuda::open(ordinal)?;
        let plan = GridPlan::of(draft, TeamSize::Automatic);
        let mut runners = cuda.runners(&plan.count.iter().chain([&plan.run]).collect::<Vec<_>>())?.into_iter();
        let next = |_| runners.next().ok_or_else(|| Error::InvalidInvocation("a grid has no runner".into()));
        let factory: KernelFactory = Arc::new(move |draft| Kernel::compile(draft, KernelEngine::Cuda(ordinal)));
        Ok(Grids { device: Some(ordinal), ..Grids::new(plan, factory, next)? })
    }

    /// Returns the engine that runs the grids.
    pub(super) fn engine(&self) -> KernelEngine {
        self.device.map_or(KernelEngine::Grid, KernelEngine::Cuda)
    }

    /// Returns the chunks of a run, each with its rounds and the range of positions of its section.
    pub(super) fn chunks(
        &self,
        draft: &Draft,
        cut: &Cut,
        inputs: &[&Tensor],
        limits: &Limits,
    ) -> Vec<(Range<i64>, Range<i64>)> {
        let share = self.share(cut, &limits.workers);
        match &self.sections {
            Some(sections) => bounds::section_chunks(draft, (cut, sections), inputs, share),
            None => bounds::chunks(draft, cut, inputs, share).into_iter().map(|chunk| (chunk, ALL_ROUNDS)).collect(),
        }
    }

    /// Returns the processors that share the work: for a device its teams, in many chunks. Partial
    /// results of inexact folds are an exception: their bits depend on the cuts, which are those
    /// for threads.
    fn share<'a>(&self, cut: &Cut, workers: &'a Workers) -> WorkShare<'a> {
        let folds = cut.outputs.iter().any(|(_, join)| matches!(join, Join::Folded(_)));
        match self.device {
            Some(_) if cut.exact || !folds => {
                WorkShare::Teams(self.run.teams() as u64, self.run.grid().lanes.max(WARP))
            }
            _ => WorkShare::Threads(workers),
        }
    }

    /// Sets a limit of steps per launch, where steps are counted.
    pub(super) fn with_step_limit(mut self, limit: u64) -> Grids {
        self.count.iter_mut().chain([&mut self.run]).for_each(|runner| runner.limit_steps(limit));
        self
    }
}

/// Runs a kernel in the given chunks.
pub(super) fn run(
    kernel: &Kernel,
    grids: &Grids,
    (chunks, sections): (&[Range<i64>], &[Range<i64>]),
    inputs: &[&Tensor],
    limits: &Limits,
) -> Result<Outcome, Error> {
    let invocation = match grids.run.has_own_memory() {
        true => kernel.bind_on_device(inputs, limits)?,
        false => kernel.bind(inputs, limits)?,
    };
    let capacities = vec![WindowCapacity::All(INITIAL_CAPACITY); invocation.signature().buffers.len()];
    let mut run = GridRun { kernel, grids, chunks, sections, inputs, limits, invocation, capacities, on_device: None };
    if let Some(count) = &grids.count {
        let counted = run.launch(&**count)?;
        run.set_counted_sizes(&**count, &counted);
    }
    let launched = run.launch(&*grids.run)?;
    let assembly = OutputAssembly::new(&run, &launched)?;
    let outputs = match &kernel.draft.lowered().cut {
        Err(_) => kernel.draft.program().outputs().map(|id| assembly.chunk_output(id, 0)).collect::<Result<_, _>>()?,
        Ok(cut) => {
            let outputs = cut.outputs.iter().enumerate();
            outputs.map(|(number, (id, join))| assembly.output((number, *id), join)).collect::<Result<_, _>>()?
        }
    };
    let on_device = run.on_device;
    Ok(Outcome { outputs, counts: None, on_device })
}

/// Returns for each buffer a representative of the buffers with which it may exchange its memory.
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
pub(super) struct GridRun<'a> {
    pub(super) kernel: &'a Kernel,
    pub(super) grids: &'a Grids,
    pub(super) chunks: &'a [Range<i64>],
    /// For each chunk, the range of positions of its section.
    pub(super) sections: &'a [Range<i64>],
    pub(super) inputs: &'a [&'a Tensor],
    pub(super) limits: &'a Limits,
    /// The inputs.
    pub(super) invocation: Invocation,
    capacities: Vec<WindowCapacity>,
    /// The duration of the launches so far, by the clock of a device.
    on_device: Option<Duration>,
}

impl GridRun<'_> {
    /// Launches a grid; repeats the launch with larger windows as long as one is too small.
    fn launch(&mut self, runner: &dyn GridRunner) -> Result<LaunchResult, Error> {
        loop {
            if self.limits.cancel.load(Ordering::Relaxed) {
                return Err(Error::KernelStopped(Status::Cancelled));
            }
            let teams = self.teams(runner);
            let windows = self.windows(runner, teams)?;
            let number = self.grids.launches.fetch_add(1, Ordering::Relaxed);
            let (inputs, chunks, sections) = (&self.invocation, self.chunks, self.sections);
            let unfilled = &self.kernel.draft.lowered().unfilled;
            let launch = Launch { inputs, chunks, sections, windows, unfilled, teams, seed: number };
            let launched = runner.run(&launch)?;
            self.on_device = [self.on_device, launched.time].into_iter().flatten().reduce(Add::add);
            match launched.outcome {
                LaunchOutcome::Status(Status::Done) => return Ok(launched),
                LaunchOutcome::Status(status) => return Err(Error::KernelStopped(status)),
                LaunchOutcome::OutOfCapacity => self.enlarge(runner, &launched)?,
            }
        }
    }

    /// Returns the number of teams of a launch: at most the number of chunks, and at most as many
    /// as fit their windows into half of the memory.
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
                    MemorySpace::Input => Vec::new(),
                    MemorySpace::Shared => vec![self.dense_window(buffer)],
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

    /// Returns the window with all of a dense output.
    pub(super) fn dense_window(&self, buffer: Buffer) -> WindowExtent {
        let Binding::Leaf { tensor, .. } = self.kernel.draft.lowered().bindings[buffer.index()] else {
            unreachable!("shared outputs are dense, so they have values alone")
        };
        let len = super::parallel::element_count(self.kernel, tensor, self.inputs) as usize;
        WindowExtent { first: 0, len, capacity: len }
    }

    /// Returns the window with the elements that belong to the rounds of a chunk; it depends only
    /// on the sizes of full levels.
    fn rounds_window(&self, buffer: Buffer, chunk: &Range<i64>) -> WindowExtent {
        let (id, depth, ends) = match self.kernel.draft.lowered().bindings[buffer.index()] {
            Binding::Level { tensor, level: k, array } => {
                let kind = self.kernel.draft.program().tensors[tensor.index()].ty.format.levels[k].kind;
                (tensor, k, array == 0 && level(kind).concatenation() == Concatenation::List)
            }
            Binding::Leaf { tensor, .. } => {
                (tensor, self.kernel.draft.program().tensors[tensor.index()].ty.format.levels.len(), false)
            }
            Binding::Scratch | Binding::Lengths => unreachable!("rounds decide about arrays of outputs"),
        };
        let ty = &self.kernel.draft.program().tensors[id.index()].ty;
        let levels = ty.format.levels.iter().zip(ty.format.storage_shape(&ty.shape)).take(depth);
        let full =
            levels.filter(|(l, _)| level(l.kind).concatenation() == Concatenation::Full).map(|(_, n)| n as usize);
        let mut span: Option<PositionSpan> = None;
        for n in full {
            span = Some(span.map_or_else(|| coordinates(chunk, n), |span| span.times(n)));
        }
        let own = span.map_or(0..1, |span| span.own);
        // The end of the list of position `p` is at `p + 1`.
        let len = own.len() + usize::from(ends);
        WindowExtent { first: own.start as i64, len, capacity: len }
    }

    /// Enlarges the windows that a launch exceeded. Buffers that exchange their memory get equal
    /// capacities.
    fn enlarge(&mut self, runner: &dyn GridRunner, launched: &LaunchResult) -> Result<(), Error> {
        let groups = exchange_groups(&runner.grid().function);
        let mut requested = vec![0; self.capacities.len()];
        for (windows, group) in launched.windows.iter().zip(&groups) {
            requested[*group] = windows.iter().map(|window| window.requested).max().unwrap_or(0).max(requested[*group]);
        }
        let mut enlarged = false;
        for ((capacity, group), space) in self.capacities.iter_mut().zip(&groups).zip(&runner.grid().spaces) {
            if let (MemorySpace::Chunk | MemorySpace::Team, WindowCapacity::All(now)) = (space, &mut *capacity)
                && requested[*group] > *now
            {
                *now = requested[*group].max(2 * *now);
                enlarged = true;
            }
        }
        let stuck = || {
            Error::InvalidInvocation(
                "a launch requested a capacity that its windows already have; please report this".into(),
            )
        };
        enlarged.then_some(()).ok_or_else(stuck)
    }

    /// Sets the sizes of windows to the counted sizes.
    fn set_counted_sizes(&mut self, count: &dyn GridRunner, counted: &LaunchResult) {
        let (spaces, run) = (&count.grid().spaces, &self.grids.run.grid().spaces);
        for (k, windows) in counted.windows.iter().enumerate() {
            if run[k] == MemorySpace::Chunk && matches!(spaces[k], MemorySpace::Chunk | MemorySpace::Measured) {
                self.capacities[k] = WindowCapacity::Each(windows.iter().map(|window| window.requested).collect());
            }
        }
    }
}
