//! Kernels as grids: what is launched, over which memory, and how its outputs are put together.
//!
//! Outputs that chunks append are counted first: then each chunk has a window of the right size. Of other windows the size
//! is not known before; a launch that meets the end of one is repeated with more room. What chunks have left is put
//! together as by the other engines, so that results are the same bits.

use super::append::{Span, coordinates};
use super::bounds::{self, Share};
use super::folds::{Folded, Maker, Partials, are_rows};
use super::{ALL, Draft, Engine, Kernel, Outcome, collect};
use crate::Error;
use crate::assembly::{Buffer, Function, Status, Stmt};
use crate::emit::cuda::Cuda;
use crate::grid::{End, Extent, Gather, Grid, Lanes, Launch, Launched, Left, Piece, Place, Plan, Program, Runner};
use crate::levels::{Concatenation, level};
use crate::lower::Binding;
use crate::notation::{Cut, Join, Sections, TensorId};
use crate::run::{Invocation, Limits, Workers};
use crate::storage::{Array, Tensor};
use redpoll_logic::op::Op;
use redpoll_logic::{Prim, Scalar};
use std::collections::HashMap;
use std::ops::{Add, Range};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// The room that windows have at first.
const FIRST_ROOM: usize = 16;
/// The lanes of the teams of the interpreter.
const LANES: u32 = 4;

/// The grids of a kernel, ready to be run.
pub(crate) struct Grids {
    count: Option<Box<dyn Runner>>,
    run: Box<dyn Runner>,
    /// How rounds are cut, where they can be.
    sections: Option<Sections>,
    launches: AtomicU64,
    /// The device that runs them, if one does.
    device: Option<u32>,
    /// Makes other kernels for where they are run.
    maker: Maker,
}

/// The room of the windows of a buffer.
#[derive(Clone, Debug)]
enum Room {
    /// The same for all.
    All(usize),
    /// As counted, for each chunk.
    Each(Vec<usize>),
}

impl Room {
    fn of(&self, number: usize) -> usize {
        match self {
            Room::All(room) => *room,
            Room::Each(rooms) => rooms[number],
        }
    }
}

impl Grids {
    /// The grids of a draft, for the interpreter.
    ///
    /// # Errors
    /// [`Error::InvalidAssembly`] when a verifier rejects one.
    pub(super) fn of(draft: &Draft) -> Result<Grids, Error> {
        let program = |grid| Ok::<_, Error>(Box::new(Program::new(grid)?) as Box<dyn Runner>);
        Grids::new(draft.grids(Lanes::Exactly(LANES)), Arc::new(|draft| Kernel::of(draft, Engine::Grid)), program)
    }

    /// Grids, given what makes kernels that run beside them, and what runs each.
    pub(crate) fn new<E>(
        plan: Plan,
        maker: Maker,
        mut runner: impl FnMut(Grid) -> Result<Box<dyn Runner>, E>,
    ) -> Result<Grids, E> {
        let count = plan.count.map(&mut runner).transpose()?;
        let (run, launches) = (runner(plan.run)?, AtomicU64::new(0));
        Ok(Grids { count, run, sections: plan.sections, launches, device: None, maker })
    }

    /// The grids of a draft, on a device of CUDA.
    ///
    /// # Errors
    /// [`Error::NoDevice`] when it cannot be used; [`Error::Compile`] when it declines the grids.
    pub(super) fn on_cuda(draft: &Draft, ordinal: u32) -> Result<Grids, Error> {
        let cuda = Cuda::open(ordinal)?;
        let plan = draft.grids(Lanes::AsUseful);
        let mut runners = cuda.runners(&plan.count.iter().chain([&plan.run]).collect::<Vec<_>>())?.into_iter();
        let next = |_| runners.next().ok_or_else(|| Error::InvalidInvocation("a runner for each grid".into()));
        let maker: Maker = Arc::new(move |draft| Kernel::of(draft, Engine::Cuda(ordinal)));
        Ok(Grids { device: Some(ordinal), ..Grids::new(plan, maker, next)? })
    }

    /// What runs them.
    pub(super) fn engine(&self) -> Engine {
        self.device.map_or(Engine::Grid, Engine::Cuda)
    }

    /// The chunks of a run, and the positions that each keeps within.
    pub(super) fn chunks(
        &self,
        draft: &Draft,
        cut: &Cut,
        inputs: &[&Tensor],
        limits: &Limits,
    ) -> Vec<(Range<i64>, Range<i64>)> {
        let share = self.share(cut, &limits.workers);
        match &self.sections {
            Some(sections) => bounds::in_sections(draft, (cut, sections), inputs, share),
            None => bounds::chunks(draft, cut, inputs, share).into_iter().map(|chunk| (chunk, ALL)).collect(),
        }
    }

    /// How the work is cut: for a device into many chunks, unless their partial results are folded, whose bits depend on the
    /// cuts.
    fn share<'a>(&self, cut: &Cut, workers: &'a Workers) -> Share<'a> {
        let folds = cut.outputs.iter().any(|(_, join)| matches!(join, Join::Folded(_)));
        match self.device {
            Some(_) if cut.exact || !folds => Share::Teams(self.run.teams() as u64),
            _ => Share::Threads(workers),
        }
    }

    /// The same, stopping after so many steps in a launch, where steps are counted.
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
    let invocation = match grids.run.is_elsewhere() {
        true => kernel.bind_elsewhere(inputs, limits)?,
        false => kernel.bind(inputs, limits)?,
    };
    let rooms = vec![Room::All(FIRST_ROOM); invocation.signature().buffers.len()];
    let mut run = Run { kernel, grids, chunks, sections, inputs, limits, invocation, rooms, on_device: None };
    if let Some(count) = &grids.count {
        let counted = run.launch(&**count)?;
        run.take_sizes(&**count, &counted);
    }
    let launched = run.launch(&*grids.run)?;
    let left = Whole::new(&run, &launched)?;
    let outputs = match &kernel.draft.lowered.cut {
        Err(_) => kernel.draft.program.outputs().map(|id| left.of_chunk(id, 0)).collect::<Result<_, _>>()?,
        Ok(cut) => {
            let outputs = cut.outputs.iter().enumerate();
            outputs.map(|(number, (id, how))| left.output((number, *id), how)).collect::<Result<_, _>>()?
        }
    };
    let on_device = run.on_device;
    Ok(Outcome { outputs, counts: None, on_device })
}

/// For each buffer one that stands for all with which it may exchange its memory.
fn exchanged(function: &Function) -> Vec<usize> {
    let mut alike: Vec<usize> = (0..function.buffers.len()).collect();
    for stmt in &function.body {
        stmt.any(&mut |s| {
            if let Stmt::Swap(a, b) = s {
                let (a, b) = (alike[a.index()], alike[b.index()]);
                alike.iter_mut().filter(|other| **other == b).for_each(|other| *other = a);
            }
            false
        });
    }
    alike
}

/// A run on its way.
struct Run<'a> {
    kernel: &'a Kernel,
    grids: &'a Grids,
    chunks: &'a [Range<i64>],
    /// For each chunk the positions that it keeps within.
    sections: &'a [Range<i64>],
    inputs: &'a [&'a Tensor],
    limits: &'a Limits,
    /// The inputs.
    invocation: Invocation,
    rooms: Vec<Room>,
    /// How long its launches took so far, by the clock of a device.
    on_device: Option<Duration>,
}

impl Run<'_> {
    /// Launches a grid, again with more room as long as a window has too little.
    fn launch(&mut self, runner: &dyn Runner) -> Result<Launched, Error> {
        loop {
            if self.limits.cancel.load(Ordering::Relaxed) {
                return Err(Error::KernelStopped(Status::Cancelled));
            }
            let teams = self.teams(runner);
            let windows = self.windows(runner, teams)?;
            let number = self.grids.launches.fetch_add(1, Ordering::Relaxed);
            let (inputs, chunks, sections) = (&self.invocation, self.chunks, self.sections);
            let launch = Launch { inputs, chunks, sections, windows, teams, seed: number };
            let launched = runner.run(&launch)?;
            self.on_device = [self.on_device, launched.time].into_iter().flatten().reduce(Add::add);
            match launched.end {
                End::Status(Status::Done) => return Ok(launched),
                End::Status(status) => return Err(Error::KernelStopped(status)),
                End::NoRoom => self.enlarge(runner, &launched)?,
            }
        }
    }

    /// The teams of a launch: as many as there are chunks and as have memory for their windows, which may take half of it.
    fn teams(&self, runner: &dyn Runner) -> usize {
        let of_team = |(k, place): (usize, &Place)| match (place, &self.rooms[k]) {
            (Place::Team, Room::All(room)) => room.saturating_mul(self.invocation.prim(Buffer(k as u32)).bytes()),
            _ => 0,
        };
        let bytes = runner.grid().places.iter().enumerate().map(of_team).fold(0, usize::saturating_add);
        let most = self.limits.memory.limit().min(runner.memory(self.limits)) / 2 / bytes.max(1);
        runner.teams().min(self.chunks.len()).min(most).max(1)
    }

    /// The windows of a launch.
    fn windows(&self, runner: &dyn Runner, teams: usize) -> Result<Vec<Vec<Extent>>, Error> {
        let mut bytes = 0usize;
        let windows: Vec<Vec<Extent>> = (0..)
            .map(Buffer)
            .zip(&runner.grid().places)
            .map(|(buffer, place)| {
                let room = &self.rooms[buffer.index()];
                let grows = |number: usize| Extent { first: 0, len: 0, room: room.of(number) };
                let extents: Vec<Extent> = match place {
                    Place::Input => Vec::new(),
                    Place::Shared => vec![self.whole(buffer)],
                    Place::Rounds => self.chunks.iter().map(|chunk| self.of_rounds(buffer, chunk)).collect(),
                    Place::Chunk => (0..self.chunks.len()).map(grows).collect(),
                    Place::Team => (0..teams).map(grows).collect(),
                    Place::Measured => vec![Extent { first: 0, len: 0, room: 0 }; self.chunks.len()],
                };
                let size = self.invocation.prim(buffer).bytes();
                let rooms = extents.iter().map(|e| e.room.saturating_mul(size));
                bytes = rooms.fold(bytes, usize::saturating_add);
                extents
            })
            .collect();
        if bytes > self.limits.memory.limit() {
            return Err(Error::KernelStopped(Status::OutOfMemory));
        }
        Ok(windows)
    }

    /// All of a dense output.
    fn whole(&self, buffer: Buffer) -> Extent {
        let Binding::Leaf { tensor, .. } = self.kernel.draft.lowered.bindings[buffer.index()] else {
            unreachable!("shared outputs are dense, so they have values alone")
        };
        let len = super::parallel::places(self.kernel, tensor, self.inputs) as usize;
        Extent { first: 0, len, room: len }
    }

    /// The elements that belong to the rounds of a chunk, which the sizes of full levels alone decide about.
    fn of_rounds(&self, buffer: Buffer, chunk: &Range<i64>) -> Extent {
        let (id, depth, ends) = match self.kernel.draft.lowered.bindings[buffer.index()] {
            Binding::Level { tensor, level: k, array } => {
                let kind = self.kernel.draft.program.tensors[tensor.index()].ty.format.levels[k].kind;
                (tensor, k, array == 0 && level(kind).concatenation() == Concatenation::List)
            }
            Binding::Leaf { tensor, .. } => {
                (tensor, self.kernel.draft.program.tensors[tensor.index()].ty.format.levels.len(), false)
            }
            Binding::Scratch | Binding::Lengths => unreachable!("rounds decide about arrays of outputs"),
        };
        let ty = &self.kernel.draft.program.tensors[id.index()].ty;
        let levels = ty.format.levels.iter().zip(ty.format.storage_shape(&ty.shape)).take(depth);
        let full =
            levels.filter(|(l, _)| level(l.kind).concatenation() == Concatenation::Full).map(|(_, n)| n as usize);
        let mut span: Option<Span> = None;
        for n in full {
            span = Some(span.map_or_else(|| coordinates(chunk, n), |span| span.times(n)));
        }
        let own = span.map_or(0..1, |span| span.own);
        // The end of a list stands behind the one before.
        let len = own.len() + usize::from(ends);
        Extent { first: own.start as i64, len, room: len }
    }

    /// Gives more room to what has asked for it. Buffers that exchange their memory have room alike.
    fn enlarge(&mut self, runner: &dyn Runner, launched: &Launched) -> Result<(), Error> {
        let alike = exchanged(&runner.grid().function);
        let mut asked = vec![0; self.rooms.len()];
        for (windows, alike) in launched.windows.iter().zip(&alike) {
            asked[*alike] = windows.iter().map(|left| left.asked).max().unwrap_or(0).max(asked[*alike]);
        }
        let mut enlarged = false;
        for ((room, alike), place) in self.rooms.iter_mut().zip(&alike).zip(&runner.grid().places) {
            if let (Place::Chunk | Place::Team, Room::All(now)) = (place, &mut *room)
                && asked[*alike] > *now
            {
                *now = asked[*alike].max(2 * *now);
                enlarged = true;
            }
        }
        let stuck = || Error::InvalidInvocation("a launch has asked for room that it has; please report it".into());
        enlarged.then_some(()).ok_or_else(stuck)
    }

    /// Takes the sizes of windows that were counted.
    fn take_sizes(&mut self, count: &dyn Runner, counted: &Launched) {
        let (places, run) = (&count.grid().places, &self.grids.run.grid().places);
        for (k, windows) in counted.windows.iter().enumerate() {
            if run[k] == Place::Chunk && matches!(places[k], Place::Chunk | Place::Measured) {
                self.rooms[k] = Room::Each(windows.iter().map(|left| left.asked).collect());
            }
        }
    }
}

/// What a launch has left, on its way to outputs.
struct Whole<'a> {
    run: &'a Run<'a>,
    launched: &'a Launched,
    /// For each chunk the lengths of the arrays of outputs, in their order.
    lengths: Vec<Vec<u64>>,
    /// The arrays of outputs.
    recorded: Vec<Buffer>,
}

impl<'a> Whole<'a> {
    fn new(run: &'a Run<'a>, launched: &'a Launched) -> Result<Whole<'a>, Error> {
        let draft = &run.kernel.draft;
        let recorded = draft.program.outputs().flat_map(|id| arrays(draft, id)).collect();
        let [lengths] = draft.buffers(|b| *b == Binding::Lengths)[..] else { unreachable!("outputs record lengths") };
        let decl = &draft.function().buffers[lengths.index()];
        let lengths = run.grids.run.elements(decl, &launched.windows[lengths.index()])?;
        Ok(Whole { run, launched, lengths, recorded })
    }

    /// An output, by its number and how chunks have written it.
    fn output(&self, (number, id): (usize, TensorId), how: &Join) -> Result<Tensor, Error> {
        let Run { kernel, grids, chunks, inputs, limits, .. } = *self.run;
        let arrays = arrays(&kernel.draft, id);
        let dense = are_rows(&kernel.draft.program.tensors[id.index()].ty);
        let stays = dense && grids.run.is_elsewhere() && chunks.len() > 1;
        let in_place = arrays.iter().all(|b| grids.run.grid().places[b.index()] == Place::Shared);
        match how {
            Join::Folded(op) if !in_place && stays => self.fold_there((number, id), op),
            Join::Folded(op) if !in_place => {
                let partials = (0..chunks.len()).map(|chunk| self.of_chunk(id, chunk)).collect::<Result<_, _>>()?;
                // Sparse results are few, and their merges short: the host does them.
                let engine = if grids.device.is_some() { Engine::Instant } else { Engine::Grid };
                kernel.merges.merge(&kernel.draft, (number, op), partials, (engine, limits))
            }
            Join::Shared | Join::Folded(_) => {
                let len = super::parallel::places(kernel, id, inputs) as usize;
                let cut = grids.sections.iter().flat_map(|sections| &sections.folds);
                let mut cut = cut.filter(|(output, _)| *output == id);
                self.tensor(id, |buffer| {
                    let Some((_, op)) = cut.next() else {
                        return self.gather(buffer, &[], &[Piece { window: 0, from: 0, len, shift: 0 }]);
                    };
                    let of = Folded { number, ty: &kernel.draft.program.tensors[id.index()].ty, op };
                    let there = grids.run.is_elsewhere().then(|| self.sections_there(buffer, of)).transpose()?;
                    match there.flatten() {
                        Some(array) => Ok(array),
                        None => self.gather(buffer, &self.of_sections(buffer, op)?, &[]),
                    }
                })
            }
            Join::Appended => self.append(id),
        }
    }

    /// A dense output into which chunks have folded, put together where that has happened.
    fn fold_there(&self, (number, id): (usize, TensorId), op: &Op) -> Result<Tensor, Error> {
        let Run { kernel, grids, chunks, limits, .. } = *self.run;
        let buffers = arrays(&kernel.draft, id);
        let arrays = buffers.iter().map(|buffer| {
            let piece = |window| Ok(Piece { window, from: 0, len: self.length(*buffer, window)?, shift: 0 });
            self.gather(*buffer, &[], &(0..chunks.len()).map(piece).collect::<Result<Vec<_>, Error>>()?)
        });
        let partials = Partials { ends: vec![chunks.len()], arrays: arrays.collect::<Result<_, _>>()? };
        let of = Folded { number, ty: &kernel.draft.program.tensors[id.index()].ty, op };
        let mut folded = kernel.folds.fold(of, partials, &grids.maker, limits)?.into_iter();
        self.tensor(id, |_| Ok(folded.next().expect("the result has the arrays of the partial results")))
    }

    /// An array of which chunks have the elements of their rounds, and several sections of a round each a partial result:
    /// these are folded where they lie, and the array is put together there. `None` where some elements belong to no chunk.
    fn sections_there(&self, buffer: Buffer, of: Folded<'_>) -> Result<Option<Array>, Error> {
        let Run { kernel, grids, sections, limits, .. } = *self.run;
        let windows = &self.launched.windows[buffer.index()];
        let (mut rows, mut ends, mut pieces, mut next) = (Vec::new(), Vec::new(), Vec::new(), 0);
        for (window, left) in windows.iter().enumerate() {
            let (first, len) = (left.first, left.len);
            let whole = Piece { window, from: 0, len, shift: 0 };
            if sections[window] == ALL {
                pieces.push(whole);
            } else {
                rows.push(whole);
                // Sections of a round follow each other.
                let goes_on = window > 0 && sections[window - 1] != ALL && windows[window - 1].first == first;
                if goes_on {
                    *ends.last_mut().expect("an earlier section has begun the group") = rows.len();
                    continue;
                }
                pieces.push(Piece { window: windows.len(), from: ends.len() * len, ..whole });
                ends.push(rows.len());
            }
            if first != next {
                return Ok(None);
            }
            next += len as i64;
        }
        if next != self.run.whole(buffer).len as i64 {
            return Ok(None);
        }
        if rows.is_empty() {
            return self.gather(buffer, &[], &pieces).map(Some);
        }
        let partials = Partials { ends, arrays: vec![self.gather(buffer, &[], &rows)?] };
        let folded = kernel.folds.fold(of, partials, &grids.maker, limits)?;
        let folded = grids.run.left(&folded[0], limits)?;
        let windows: Vec<&Left> = windows.iter().chain([&folded]).collect();
        let decl = &kernel.draft.function().buffers[buffer.index()];
        grids.run.gather(&Gather { decl, windows: &windows, head: &[], pieces: &pieces }, limits).map(Some)
    }

    /// The elements of an array of which chunks have those of their rounds, and several sections of a round each a partial
    /// result, which are folded in their order, by the host.
    fn of_sections(&self, buffer: Buffer, op: &Op) -> Result<Vec<u64>, Error> {
        let decl = &self.run.kernel.draft.function().buffers[buffer.index()];
        let bits = |value: &Scalar| value.to_bits().expect("elements of buffers are primitives");
        let mut whole = vec![bits(&decl.fill); self.run.whole(buffer).len];
        let windows = &self.launched.windows[buffer.index()];
        let elements = self.run.grids.run.elements(decl, windows)?;
        for ((window, elements), section) in windows.iter().zip(elements).zip(self.run.sections) {
            let first = usize::try_from(window.first).unwrap_or(0);
            for (to, element) in whole[first..].iter_mut().zip(elements) {
                *to = match *section == ALL {
                    true => element,
                    false => {
                        let pair = [*to, element].map(|bits| Scalar::from_bits(decl.prim, bits));
                        let folded = op.eval(&pair).map_err(|_| Error::KernelStopped(Status::CheckedOverflow))?;
                        bits(&folded)
                    }
                };
            }
        }
        Ok(whole)
    }

    /// What one chunk has left of an output.
    fn of_chunk(&self, id: TensorId, chunk: usize) -> Result<Tensor, Error> {
        self.tensor(id, |buffer| {
            let len = self.length(buffer, chunk)?;
            self.gather(buffer, &[], &[Piece { window: chunk, from: 0, len, shift: 0 }])
        })
    }

    /// An output of arrays.
    fn tensor(&self, id: TensorId, array: impl FnMut(Buffer) -> Result<Array, Error>) -> Result<Tensor, Error> {
        let Draft { program, lowered, .. } = &self.run.kernel.draft;
        collect::collect(program, lowered, (id, array), (self.run.inputs, &self.run.limits.memory))
    }

    /// How long an array is that a chunk has left.
    fn length(&self, buffer: Buffer, chunk: usize) -> Result<usize, Error> {
        let number =
            self.recorded.iter().position(|b| *b == buffer).expect("outputs record the lengths of their arrays");
        let length = self.lengths[chunk].get(number).and_then(|n| usize::try_from(*n).ok());
        length.ok_or_else(|| Error::InvalidInvocation("the kernel has not left its outputs".into()))
    }

    fn gather(&self, buffer: Buffer, head: &[u64], pieces: &[Piece]) -> Result<Array, Error> {
        let decl = &self.run.kernel.draft.function().buffers[buffer.index()];
        let windows: Vec<&Left> = self.launched.windows[buffer.index()].iter().collect();
        let gather = Gather { decl, windows: &windows, head, pieces };
        self.run.grids.run.gather(&gather, self.run.limits)
    }

    /// An output whose windows stand behind each other.
    fn append(&self, id: TensorId) -> Result<Tensor, Error> {
        let (draft, chunks) = (&self.run.kernel.draft, self.run.chunks);
        let ty = draft.program.tensors[id.index()].ty.clone();
        let sizes = ty.format.storage_shape(&ty.shape);
        let mut whole: HashMap<Buffer, Array> = HashMap::new();
        let mut spans: Vec<Span> = chunks.iter().map(|_| Span { own: 0..1, start: 0 }).collect();
        for (k, (format, n)) in ty.format.levels.iter().zip(sizes).enumerate() {
            let arrays =
                draft.buffers(|b| matches!(b, Binding::Level { tensor, level, .. } if (*tensor, *level) == (id, k)));
            let n = n as usize;
            spans = match level(format.kind).concatenation() {
                Concatenation::Full if k == 0 => chunks.iter().map(|chunk| coordinates(chunk, n)).collect(),
                Concatenation::Full => spans.iter().map(|span| span.times(n)).collect(),
                Concatenation::List => {
                    let [ptr, entries @ ..] = &arrays[..] else { unreachable!("a list has ends") };
                    // The last array of a list has an element for each position.
                    let last = arrays[arrays.len() - 1];
                    let counts = (0..chunks.len()).map(|chunk| self.length(last, chunk));
                    let own = Span::one_behind_the_other(counts.collect::<Result<Vec<_>, _>>()?.into_iter());
                    let total = own.last().map_or(0, |span| span.whole().end);
                    if self.run.invocation.prim(*ptr) == Prim::I32 && i32::try_from(total).is_err() {
                        return Err(Error::KernelStopped(Status::PositionOverflow));
                    }
                    whole.insert(*ptr, self.ends(*ptr, (&spans, &own), k == 0)?);
                    for array in entries {
                        whole.insert(*array, self.appended(*array, &own)?);
                    }
                    own
                }
                Concatenation::Entry => {
                    for array in arrays {
                        whole.insert(array, self.appended(array, &spans)?);
                    }
                    spans
                }
                Concatenation::None => unreachable!("outputs of such levels are not appended"),
            };
        }
        for leaf in draft.buffers(|b| matches!(b, Binding::Leaf { tensor, .. } if *tensor == id)) {
            whole.insert(leaf, self.appended(leaf, &spans)?);
        }
        self.tensor(id, |buffer| Ok(whole.remove(&buffer).expect("each array was appended")))
    }

    /// The elements at positions of a chunk.
    fn piece(&self, array: Buffer, chunk: usize, positions: Range<usize>, shift: usize) -> Piece {
        let first = self.launched.windows[array.index()][chunk].first as usize;
        Piece { window: chunk, from: positions.start - first, len: positions.len(), shift: shift as i64 }
    }

    /// An array with an element for each position.
    fn appended(&self, array: Buffer, spans: &[Span]) -> Result<Array, Error> {
        let own = spans.iter().enumerate().map(|(chunk, span)| self.piece(array, chunk, span.own.clone(), 0));
        self.gather(array, &[], &own.collect::<Vec<_>>())
    }

    /// The ends of the lists below some positions, which count the entries of the whole.
    fn ends(&self, ptr: Buffer, (parents, entries): (&[Span], &[Span]), at_root: bool) -> Result<Array, Error> {
        if at_root {
            let total = entries.last().map_or(0, |span| span.whole().end) as u64;
            return self.gather(ptr, &[0, total], &[]);
        }
        let ends = parents.iter().zip(entries).enumerate().map(|(chunk, (parents, entries))| {
            self.piece(ptr, chunk, parents.own.start + 1..parents.own.end + 1, entries.start)
        });
        self.gather(ptr, &[0], &ends.collect::<Vec<_>>())
    }
}

/// The arrays of an output, in the order of the function's table.
fn arrays(draft: &Draft, id: TensorId) -> Vec<Buffer> {
    draft.buffers(|b| match b {
        Binding::Level { tensor, .. } | Binding::Leaf { tensor, .. } => *tensor == id,
        Binding::Scratch | Binding::Lengths => false,
    })
}
