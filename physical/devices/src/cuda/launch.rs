//! A launch in the memory of a device: its windows, parameters and chunks, and its results.

use super::interface::{Address, DeviceKernel, LaunchShape};
use super::memory::{DeviceAllocation, DevicePool, Requester};
use super::unit::OUT_OF_CAPACITY;
use crate::Error;
use crate::grid::{
    Contents, Grid, Launch, LaunchOutcome, LaunchResult, MemorySpace, ResultWindow, WindowExtent, share_bytes, shares,
};
use redpoll_compiler::assembly::{Buffer, BufferDecl, Buffers, Status};
use redpoll_compiler::notation::ALL_ROUNDS;
use redpoll_kernels::Error as KernelError;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// The argument of a kernel, with the layout of `rp_launch`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct Argument {
    pub(super) words: [u64; 8],
    /// Address of a word; the launch is cancelled when the word is not 0.
    pub(super) cancel: Address,
    /// Address of the number of the next chunk that no team has taken. Each team begins with the
    /// chunk of its own number.
    pub(super) next_chunk: Address,
}

/// The status of a chunk that no team has taken. Some chunks keep this status if all teams end for
/// lack of capacity.
const PENDING: i32 = i32::MAX;

/// A window, with the layout of `rp_window`.
#[derive(Clone, Copy)]
struct RawWindow {
    data: Address,
    capacity: i64,
    requested: i64,
    share: i64,
    outside: Address,
}

impl RawWindow {
    const WORDS: usize = 5;

    /// Creates a window without a share of block memory.
    fn new(data: Address, capacity: i64, requested: i64) -> RawWindow {
        RawWindow { data, capacity, requested, share: 0, outside: data }
    }

    fn words(self) -> [u64; Self::WORDS] {
        [self.data, self.capacity as u64, self.requested as u64, self.share as u64, self.outside]
    }

    fn read(words: &[u64]) -> RawWindow {
        let [data, capacity, requested, share, outside] =
            *words.first_chunk().expect("a window has a fixed number of words");
        RawWindow { data, capacity: capacity as i64, requested: requested as i64, share: share as i64, outside }
    }
}

/// The tables of a launch, in one allocation. The statuses and windows come first, because they are
/// downloaded after the launch.
struct LaunchTables {
    /// Number of statuses, one for each chunk.
    statuses: usize,
    /// The windows of all buffers, grouped by buffer.
    windows: Vec<RawWindow>,
    /// The index of each buffer's first window.
    starts: Vec<usize>,
}

/// The memory of a launch, kept until the launch is over.
struct LaunchMemory<'a> {
    pool: &'a Arc<DevicePool>,
    requester: Requester<'a>,
    /// Memory of the windows of all buffers except inputs.
    allocations: Vec<Arc<DeviceAllocation>>,
    /// Memory of inputs.
    inputs: Vec<Arc<DeviceAllocation>>,
}

/// Runs a grid on a device; `share` is the number of bytes of block memory available to each team.
///
/// # Errors
/// [`Error::DeviceMemory`] and [`Error::Device`]; [`KernelError::KernelStopped`] if the launch is
/// cancelled before it has begun; [`KernelError::UnknownStatus`] if a chunk ends with an invalid
/// status; the error of copying an input or a result to the host.
pub(super) fn run(
    pool: &Arc<DevicePool>,
    entry: &dyn DeviceKernel,
    (grid, share): (&Grid, usize),
    launch: &Launch<'_>,
) -> Result<LaunchResult, Error> {
    let limits = launch.inputs.limits();
    let cancelled = || limits.cancel.load(Ordering::Relaxed);
    let requester = Requester { kernel: &grid.function.name, limit: limits.device_memory, cancelled: &cancelled };
    let mut memory = LaunchMemory { pool, requester, allocations: Vec::new(), inputs: Vec::new() };
    let mut tables = LaunchTables { statuses: launch.chunks.len(), windows: Vec::new(), starts: Vec::new() };
    let shares = shares(grid, launch.inputs.params(), share);
    for (buffer, (decl, extents)) in (0..).map(Buffer).zip(grid.function.buffers.iter().zip(&launch.windows)) {
        tables.starts.push(tables.windows.len());
        match grid.spaces[buffer.index()] {
            MemorySpace::Input => tables.windows.push(memory.input_window(launch, buffer)?),
            space => {
                let share = shares[buffer.index()] as i64;
                let is_filled = !launch.unfilled.contains(&buffer);
                let windows = memory.allocate_windows((decl, is_filled), space, extents)?;
                tables.windows.extend(windows.into_iter().map(|window| RawWindow { share, ..window }));
            }
        }
    }
    let share = share_bytes(grid, &shares);
    let teams = launch.teams.min(launch.chunks.len());
    let (allocation, argument) = tables.upload(&memory, launch, (teams, share))?;
    let time = entry
        .launch(&argument, LaunchShape { lanes: grid.lanes, teams, share }, &cancelled)
        .map_err(|failure| pool.error(requester.kernel, &failure))?;
    let outcome = tables.download(&memory, &allocation)?;
    let is_done = outcome == LaunchOutcome::Status(Status::Done);
    let mut windows = Vec::new();
    for (k, (decl, extents)) in grid.function.buffers.iter().zip(&launch.windows).enumerate() {
        let raw = &tables.windows[tables.starts[k]..];
        let space = if is_done { grid.spaces[k] } else { MemorySpace::Measured };
        let window = |(raw, extent): (&RawWindow, &WindowExtent)| memory.result_window(space, decl, *raw, *extent);
        windows.push(raw.iter().zip(extents).map(window).collect());
    }
    Ok(LaunchResult {
        outcome,
        windows,
        time: Some(time),
        #[cfg(test)]
        rounds: Vec::new(),
    })
}

impl LaunchTables {
    /// Returns the number of words for the statuses, two in each word, rounded up.
    fn status_words(&self) -> usize {
        self.statuses.div_ceil(2)
    }

    /// Uploads the tables; returns their memory and the argument of the kernel.
    fn upload(
        &self,
        memory: &LaunchMemory<'_>,
        launch: &Launch<'_>,
        (teams, share): (usize, usize),
    ) -> Result<(Arc<DeviceAllocation>, Argument), Error> {
        let params = launch.inputs.params();
        let window = |k: usize| self.status_words() + RawWindow::WORDS * k;
        let addresses = window(self.windows.len());
        let chunks = addresses + self.starts.len();
        let sections = chunks + 2 * launch.chunks.len();
        let are_cut = launch.sections.iter().any(|section| *section != ALL_ROUNDS);
        let of_chunks = if are_cut { launch.sections } else { &[] };
        let params_at = sections + 2 * of_chunks.len();
        let cancel = params_at + params.len();
        let next_chunk = cancel + 1;
        let allocation = memory.pool.allocate(8 * (next_chunk + 1), memory.requester)?;
        let at = |word: usize| allocation.address() + 8 * word as u64;
        let pending = u64::from(PENDING as u32) << 32 | u64::from(PENDING as u32);
        let mut words = vec![pending; self.status_words()];
        words.extend(self.windows.iter().flat_map(|w| w.words()));
        words.extend(self.starts.iter().map(|start| at(window(*start))));
        let bounds =
            |ranges: &[Range<i64>]| ranges.iter().flat_map(|r| [r.start as u64, r.end as u64]).collect::<Vec<_>>();
        words.extend(bounds(launch.chunks));
        words.extend(bounds(of_chunks));
        words.extend(params.iter().map(|param| *param as u64));
        words.extend([0, teams as u64]);
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        memory.pool.upload(&bytes, allocation.address(), memory.requester)?;
        let count = launch.chunks.len() as u64;
        let sections = if are_cut { at(sections) } else { 0 };
        let words = [at(addresses), at(params_at), at(chunks), sections, count, teams as u64, at(0), share as u64];
        Ok((allocation.clone(), Argument { words, cancel: at(cancel), next_chunk: at(next_chunk) }))
    }

    /// Downloads statuses and windows, and combines the outcomes of the chunks by
    /// [`LaunchOutcome::combine`].
    fn download(&mut self, memory: &LaunchMemory<'_>, allocation: &DeviceAllocation) -> Result<LaunchOutcome, Error> {
        let mut bytes = vec![0; 8 * (self.status_words() + RawWindow::WORDS * self.windows.len())];
        // The launch is over, and the statuses show whether it was cancelled, so this download is
        // not cancelled.
        let requester = Requester { cancelled: &|| false, ..memory.requester };
        memory.pool.download(allocation.address(), &mut bytes, requester)?;
        let (statuses, windows) = bytes.split_at(8 * self.status_words());
        let words: Vec<u64> = windows.as_chunks().0.iter().map(|word| u64::from_le_bytes(*word)).collect();
        self.windows = words.chunks(RawWindow::WORDS).map(RawWindow::read).collect();
        let codes = statuses.as_chunks().0[..self.statuses].iter().map(|code| i32::from_le_bytes(*code));
        let is_out_of_capacity = codes.clone().any(|code| code == OUT_OF_CAPACITY);
        let outcomes = codes.map(|code| match code {
            OUT_OF_CAPACITY => Ok(LaunchOutcome::OutOfCapacity),
            PENDING if is_out_of_capacity => Ok(LaunchOutcome::OutOfCapacity),
            code => Status::from_code(code)
                .map(LaunchOutcome::Status)
                .ok_or(Error::Kernels(KernelError::UnknownStatus(code))),
        });
        Ok(LaunchOutcome::combine(&outcomes.collect::<Result<Vec<LaunchOutcome>, Error>>()?))
    }
}

impl LaunchMemory<'_> {
    /// Returns the window of an input: the result of an earlier kernel on this device, or an
    /// uploaded array.
    fn input_window(&mut self, launch: &Launch<'_>, buffer: Buffer) -> Result<RawWindow, Error> {
        let len = launch.inputs.len(buffer) as i64;
        let (allocation, data) = match launch.inputs.device_input(buffer).and_then(|bytes| self.pool.resident(bytes)) {
            Some(resident) => resident,
            None => {
                let allocation = self.pool.input(launch.inputs.fetch_input(buffer)?, self.requester)?;
                let address = allocation.address();
                (allocation, address)
            }
        };
        self.inputs.push(allocation);
        Ok(RawWindow::new(data, len, len))
    }

    /// Allocates the windows of a buffer, one after the other, with the fill value or
    /// uninitialized.
    fn allocate_windows(
        &mut self,
        (decl, is_filled): (&BufferDecl, bool),
        space: MemorySpace,
        extents: &[WindowExtent],
    ) -> Result<Vec<RawWindow>, Error> {
        let size = decl.prim.bytes();
        let elements = |e: &WindowExtent| if space.has_memory() { e.len.max(e.capacity) } else { 0 };
        let all: usize = extents.iter().map(elements).sum();
        let fill = decl.fill.to_bits().expect("fill values of buffers are primitives");
        let allocation = match is_filled {
            true => self.pool.allocate_filled((all, size), fill, self.requester)?,
            false => self.pool.allocate(all.saturating_mul(size), self.requester)?,
        };
        let mut start = allocation.address();
        self.allocations.push(allocation);
        let window = |e: &WindowExtent| {
            // Kernels address elements from position 0, which may lie before the window, or even
            // before address 0.
            let data = start.wrapping_sub((e.first * size as i64) as u64);
            start += (elements(e) * size) as u64;
            RawWindow::new(data, e.capacity as i64, e.len as i64)
        };
        Ok(extents.iter().map(window).collect())
    }

    /// Returns a window after the launch. Swaps may have moved the window to the memory of another
    /// buffer.
    fn result_window(
        &self,
        space: MemorySpace,
        decl: &BufferDecl,
        raw: RawWindow,
        extent: WindowExtent,
    ) -> ResultWindow {
        let size = decl.prim.bytes();
        let len = match space {
            MemorySpace::Input | MemorySpace::Measured | MemorySpace::Team | MemorySpace::Unused => 0,
            MemorySpace::Shared | MemorySpace::Rounds | MemorySpace::Sections => extent.len,
            MemorySpace::Chunk => raw.requested.clamp(0, raw.capacity) as usize,
        };
        let start = raw.data.wrapping_add((extent.first * size as i64) as u64);
        let contains = |p: &&Arc<DeviceAllocation>| start >= p.address() && start - p.address() <= p.bytes() as u64;
        // Another allocation may end where the window begins.
        let allocation =
            self.allocations.iter().filter(contains).max_by_key(|p| p.bytes() as u64 - (start - p.address()));
        let contents = match allocation.filter(|_| len > 0) {
            Some(allocation) => Contents::Device(allocation.clone(), (start - allocation.address()) as usize),
            None => Contents::Host(Vec::new()),
        };
        ResultWindow { first: extent.first, requested: raw.requested.max(0) as usize, len, contents }
    }
}
