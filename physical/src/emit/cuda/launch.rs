//! A launch in the memory of a device: its windows, parameters and chunks, and its results.

use super::machine::{Address, Entry, Shape};
use super::memory::{Asker, DeviceMemory, Held};
use super::unit::NO_ROOM;
use crate::Error;
use crate::assembly::{Buffer, BufferDecl, Status};
use crate::grid::{Contents, End, Extent, Grid, Launch, Launched, Left, Place, share_bytes, shares};
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// The argument of a kernel: `rp_launch`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct Argument {
    pub(super) words: [u64; 8],
    /// Address of the word that cancels the launch when it is not 0.
    pub(super) cancel: Address,
}

/// `rp_window`.
#[derive(Clone, Copy)]
struct RawWindow {
    data: Address,
    room: i64,
    asked: i64,
    share: i64,
    outside: Address,
}

impl RawWindow {
    const WORDS: usize = 5;

    /// Creates a window without a share of the memory of a block.
    fn new(data: Address, room: i64, asked: i64) -> RawWindow {
        RawWindow { data, room, asked, share: 0, outside: data }
    }

    fn words(self) -> [u64; Self::WORDS] {
        [self.data, self.room as u64, self.asked as u64, self.share as u64, self.outside]
    }

    fn read(words: &[u64]) -> RawWindow {
        let [data, room, asked, share, outside] = *words.first_chunk().expect("windows are read by their words");
        RawWindow { data, room: room as i64, asked: asked as i64, share: share as i64, outside }
    }
}

/// The tables of a launch, uploaded in one piece; those that are downloaded again come first.
struct Tables {
    /// Number of statuses, one for each chunk.
    statuses: usize,
    /// The windows of all buffers, and the index of each buffer's first window.
    windows: Vec<RawWindow>,
    starts: Vec<usize>,
}

/// The memory of a launch, which lives until the launch is over.
struct Memory<'a> {
    of: &'a Arc<DeviceMemory>,
    asker: Asker<'a>,
    /// Memory of owned buffers.
    pieces: Vec<Arc<Held>>,
    /// Memory of inputs.
    inputs: Vec<Arc<Held>>,
}

/// Runs a grid on a device; `share` is the number of bytes that a team may have of the memory of
/// its block.
///
/// # Errors
/// [`Error::DeviceMemory`] and [`Error::Device`]; [`Error::KernelStopped`] if the launch is
/// cancelled before it has begun; [`Error::UnknownStatus`] if a chunk ends with an invalid status.
pub(super) fn run(
    of: &Arc<DeviceMemory>,
    entry: &dyn Entry,
    (grid, share): (&Grid, usize),
    launch: &Launch<'_>,
) -> Result<Launched, Error> {
    let limits = launch.inputs.limits();
    let cancelled = || limits.cancel.load(Ordering::Relaxed);
    let asker = Asker { kernel: &grid.function.name, limit: limits.device_memory, cancelled: &cancelled };
    let mut memory = Memory { of, asker, pieces: Vec::new(), inputs: Vec::new() };
    let mut tables = Tables { statuses: launch.chunks.len(), windows: Vec::new(), starts: Vec::new() };
    let shares = shares(grid, launch.inputs.params(), share);
    for (buffer, (decl, extents)) in (0..).map(Buffer).zip(grid.function.buffers.iter().zip(&launch.windows)) {
        tables.starts.push(tables.windows.len());
        match grid.places[buffer.index()] {
            Place::Input => tables.windows.push(memory.input(launch, buffer)?),
            place => {
                let share = shares[buffer.index()] as i64;
                let is_filled = !launch.unfilled.contains(&buffer);
                let windows = memory.owned((decl, is_filled), place, extents)?;
                tables.windows.extend(windows.into_iter().map(|window| RawWindow { share, ..window }));
            }
        }
    }
    let share = share_bytes(grid, &shares);
    let teams = launch.teams.min(launch.chunks.len());
    let (held, argument) = tables.put(&memory, launch, (teams, share))?;
    let time = entry
        .launch(&argument, Shape { lanes: grid.lanes, teams, share }, &cancelled)
        .map_err(|trouble| of.error(asker.kernel, &trouble))?;
    let end = tables.take(&memory, &held)?;
    let is_done = end == End::Status(Status::Done);
    let mut windows = Vec::new();
    for (k, (decl, extents)) in grid.function.buffers.iter().zip(&launch.windows).enumerate() {
        let raw = &tables.windows[tables.starts[k]..];
        let place = if is_done { grid.places[k] } else { Place::Measured };
        let left = |(raw, extent): (&RawWindow, &Extent)| memory.left(place, decl, *raw, *extent);
        windows.push(raw.iter().zip(extents).map(left).collect());
    }
    Ok(Launched {
        end,
        windows,
        time: Some(time),
        #[cfg(test)]
        rounds: Vec::new(),
    })
}

impl Tables {
    /// Returns the number of words for the statuses, two in each word, rounded up.
    fn status_words(&self) -> usize {
        self.statuses.div_ceil(2)
    }

    /// Uploads the tables; returns their memory and the argument of the kernel.
    fn put(
        &self,
        memory: &Memory<'_>,
        launch: &Launch<'_>,
        (teams, share): (usize, usize),
    ) -> Result<(Arc<Held>, Argument), Error> {
        let params = launch.inputs.params();
        let window = |k: usize| self.status_words() + RawWindow::WORDS * k;
        let addresses = window(self.windows.len());
        let chunks = addresses + self.starts.len();
        let sections = chunks + 2 * launch.chunks.len();
        let params_at = sections + 2 * launch.sections.len();
        let cancel = params_at + params.len();
        let held = memory.of.allocate(8 * (cancel + 1), memory.asker)?;
        let at = |word: usize| held.address() + 8 * word as u64;
        let unwritten = u64::from(i32::MAX as u32) << 32 | u64::from(i32::MAX as u32);
        let mut words = vec![unwritten; self.status_words()];
        words.extend(self.windows.iter().flat_map(|w| w.words()));
        words.extend(self.starts.iter().map(|start| at(window(*start))));
        let ends =
            |ranges: &[Range<i64>]| ranges.iter().flat_map(|r| [r.start as u64, r.end as u64]).collect::<Vec<_>>();
        words.extend(ends(launch.chunks));
        words.extend(ends(launch.sections));
        words.extend(params.iter().map(|param| *param as u64));
        words.push(0);
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        memory.of.put(&bytes, held.address(), memory.asker)?;
        let count = launch.chunks.len() as u64;
        let words = [at(addresses), at(params_at), at(chunks), at(sections), count, teams as u64, at(0), share as u64];
        Ok((held.clone(), Argument { words, cancel: at(cancel) }))
    }

    /// Downloads statuses and windows, and combines the outcomes of the chunks by [`End::of_all`].
    fn take(&mut self, memory: &Memory<'_>, held: &Held) -> Result<End, Error> {
        let mut bytes = vec![0; 8 * (self.status_words() + RawWindow::WORDS * self.windows.len())];
        // The launch is over, so cancellation is visible in the statuses.
        let asker = Asker { cancelled: &|| false, ..memory.asker };
        memory.of.take(held.address(), &mut bytes, asker)?;
        let (statuses, windows) = bytes.split_at(8 * self.status_words());
        let words: Vec<u64> = windows.as_chunks().0.iter().map(|word| u64::from_le_bytes(*word)).collect();
        self.windows = words.chunks(RawWindow::WORDS).map(RawWindow::read).collect();
        let ends = statuses.as_chunks().0[..self.statuses].iter().map(|code| match i32::from_le_bytes(*code) {
            NO_ROOM => Ok(End::NoRoom),
            code => Status::from_code(code).map(End::Status).ok_or(Error::UnknownStatus(code)),
        });
        Ok(End::of_all(&ends.collect::<Result<Vec<End>, Error>>()?))
    }
}

impl Memory<'_> {
    /// Returns the window of an input: the result of an earlier kernel on this device, or an
    /// uploaded array.
    fn input(&mut self, launch: &Launch<'_>, buffer: Buffer) -> Result<RawWindow, Error> {
        let len = launch.inputs.len(buffer) as i64;
        let (held, data) = match launch.inputs.away(buffer).and_then(|away| self.of.resident(away)) {
            Some(resident) => resident,
            None => {
                let held = self.of.input(launch.inputs.fetched(buffer)?, self.asker)?;
                let address = held.address();
                (held, address)
            }
        };
        self.inputs.push(held);
        Ok(RawWindow::new(data, len, len))
    }

    /// Allocates the windows of a buffer, one after the other, with the fill value or
    /// uninitialized.
    fn owned(
        &mut self,
        (decl, is_filled): (&BufferDecl, bool),
        place: Place,
        extents: &[Extent],
    ) -> Result<Vec<RawWindow>, Error> {
        let size = decl.prim.bytes();
        let elements = |e: &Extent| if place == Place::Measured { 0 } else { e.len.max(e.room) };
        let all: usize = extents.iter().map(elements).sum();
        let fill = decl.fill.to_bits().expect("fills of buffers are primitives");
        let held = match is_filled {
            true => self.of.filled((all, size), fill, self.asker)?,
            false => self.of.allocate(all.saturating_mul(size), self.asker)?,
        };
        let mut start = held.address();
        self.pieces.push(held);
        let window = |e: &Extent| {
            // Kernels address elements from position 0, which may lie before the window, or before
            // all memory.
            let data = start.wrapping_sub((e.first * size as i64) as u64);
            start += (elements(e) * size) as u64;
            RawWindow::new(data, e.room as i64, e.len as i64)
        };
        Ok(extents.iter().map(window).collect())
    }

    /// Returns a window after the launch. Swaps may have moved it to the memory of another buffer.
    fn left(&self, place: Place, decl: &BufferDecl, raw: RawWindow, extent: Extent) -> Left {
        let size = decl.prim.bytes();
        let len = match place {
            Place::Input | Place::Measured | Place::Team => 0,
            Place::Shared | Place::Rounds => extent.len,
            Place::Chunk => raw.asked.clamp(0, raw.room) as usize,
        };
        let start = raw.data.wrapping_add((extent.first * size as i64) as u64);
        let behind = |p: &&Arc<Held>| start >= p.address() && start - p.address() <= p.bytes() as u64;
        // An empty piece may begin at the address of another piece.
        let piece = self.pieces.iter().filter(behind).max_by_key(|p| p.bytes() as u64 - (start - p.address()));
        let contents = match piece.filter(|_| len > 0) {
            Some(piece) => Contents::There(piece.clone(), (start - piece.address()) as usize),
            None => Contents::Here(Vec::new()),
        };
        Left { first: extent.first, asked: raw.asked.max(0) as usize, len, contents }
    }
}
