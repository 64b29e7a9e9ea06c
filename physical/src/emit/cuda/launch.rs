//! A launch in the memory of a device: its windows, parameters and chunks, and what it leaves.

use super::unit::NO_ROOM;
use crate::Error;
use crate::assembly::{Buffer, BufferDecl, Status};
use crate::grid::{End, Extent, Grid, Launch, Launched, Place, Window, stored};
use arrow::buffer::Buffer as ArrowBuffer;
use std::ops::Range;

/// An address in the memory of a device.
pub(crate) type Address = u64;

/// What has memory and runs the kernels of a unit.
pub(crate) trait Device {
    /// Puts bytes into memory of their own, which starts at a multiple of 64 bytes.
    fn upload(&mut self, bytes: &[u8]) -> Result<Address, Error>;

    /// Memory with the bytes of an array of an input, which later launches may use, too.
    fn input(&mut self, array: &ArrowBuffer) -> Result<Address, Error>;

    /// Memory of so many elements of 1, 2, 4 or 8 bytes, each with the low bytes of a fill.
    fn filled(&mut self, elements: usize, size: usize, fill: u64) -> Result<Address, Error>;

    /// Copies bytes from an address on.
    fn download(&self, from: Address, to: &mut [u8]) -> Result<(), Error>;

    /// Runs the kernel of a grid by so many teams, or more, and waits for its end.
    fn launch(&mut self, grid: &Grid, argument: &Argument, teams: usize) -> Result<(), Error>;
}

/// The argument of a kernel: `rp_launch`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct Argument {
    windows: Address,
    params: Address,
    chunks: Address,
    sections: Address,
    chunk_count: i64,
    team_count: i64,
    status: Address,
    cancel: Address,
}

/// `rp_window`.
#[derive(Clone, Copy)]
struct RawWindow {
    data: Address,
    room: i64,
    asked: i64,
}

impl RawWindow {
    const BYTES: usize = 24;

    fn bytes(self) -> [u8; Self::BYTES] {
        let words = [self.data, self.room as u64, self.asked as u64].map(u64::to_le_bytes);
        let mut bytes = [0; Self::BYTES];
        bytes.copy_from_slice(words.as_flattened());
        bytes
    }

    fn read(bytes: &[u8]) -> RawWindow {
        let word = |k: usize| u64::from_le_bytes(*bytes[8 * k..].first_chunk().expect("a window has three words"));
        RawWindow { data: word(0), room: word(1) as i64, asked: word(2) as i64 }
    }
}

/// Owned memory of a buffer: where it is, and its bytes once the kernel has run. What teams work in stays where it is.
struct Piece {
    at: Address,
    place: Place,
    bytes: Vec<u8>,
}

/// Runs a grid on a device. All that it allocates is the device's to free.
///
/// # Errors
/// What the device says; [`Error::UnknownStatus`] when a chunk ends with what is no status.
pub(crate) fn run(device: &mut dyn Device, grid: &Grid, launch: &Launch<'_>) -> Result<Launched, Error> {
    let mut tables = Vec::new();
    let mut pieces = Vec::new();
    for (buffer, (decl, extents)) in (0..).map(Buffer).zip(grid.function.buffers.iter().zip(&launch.windows)) {
        let windows = match grid.places[buffer.index()] {
            Place::Input => {
                let (data, len) = (device.input(launch.inputs.input(buffer))?, launch.inputs.len(buffer) as i64);
                vec![RawWindow { data, room: len, asked: len }]
            }
            place => owned(device, decl, (place, extents), &mut pieces)?,
        };
        let bytes: Vec<u8> = windows.iter().flat_map(|w| w.bytes()).collect();
        tables.push((device.upload(&bytes)?, windows.len()));
    }
    let words = |words: &[i64]| words.iter().flat_map(|w| w.to_le_bytes()).collect::<Vec<u8>>();
    let ends = |ranges: &[Range<i64>]| ranges.iter().flat_map(|r| [r.start, r.end]).collect::<Vec<i64>>();
    let addresses: Vec<i64> = tables.iter().map(|(at, _)| *at as i64).collect();
    let teams = launch.teams.min(launch.chunks.len());
    let argument = Argument {
        windows: device.upload(&words(&addresses))?,
        params: device.upload(&words(launch.inputs.params()))?,
        chunks: device.upload(&words(&ends(launch.chunks)))?,
        sections: device.upload(&words(&ends(launch.sections)))?,
        chunk_count: launch.chunks.len() as i64,
        team_count: teams as i64,
        status: device.filled(launch.chunks.len(), 4, u64::from(i32::MAX as u32))?,
        cancel: device.filled(1, 4, 0)?,
    };
    device.launch(grid, &argument, teams)?;
    let end = end(device, &argument, launch.chunks.len())?;
    let is_done = end == End::Status(Status::Done);
    for piece in pieces.iter_mut().filter(|piece| is_done && piece.place != Place::Team) {
        device.download(piece.at, &mut piece.bytes)?;
    }
    let mut windows = Vec::new();
    for (k, (decl, extents)) in grid.function.buffers.iter().zip(&launch.windows).enumerate() {
        let (at, count) = tables[k];
        let mut table = vec![0; count * RawWindow::BYTES];
        device.download(at, &mut table)?;
        let raw = table.chunks(RawWindow::BYTES).map(RawWindow::read);
        let place = if is_done { grid.places[k] } else { Place::Measured };
        let left = |(raw, extent): (RawWindow, &Extent)| left(place, decl, raw, *extent, &pieces);
        windows.push(raw.zip(extents).map(left).collect());
    }
    Ok(Launched { end, windows })
}

/// The windows of a buffer, one behind the other.
fn owned(
    device: &mut dyn Device,
    decl: &BufferDecl,
    (place, extents): (Place, &[Extent]),
    pieces: &mut Vec<Piece>,
) -> Result<Vec<RawWindow>, Error> {
    let size = decl.prim.bytes();
    let elements = |e: &Extent| e.len.max(e.room);
    let all = extents.iter().map(elements).sum();
    let fill = decl.fill.to_bits().expect("fills of buffers are primitives");
    let at = device.filled(all, size, fill)?;
    let bytes = if place == Place::Team { Vec::new() } else { vec![0; all * size] };
    pieces.push(Piece { at, place, bytes });
    let mut start = at;
    let window = |e: &Extent| {
        // Kernels count from position 0 on, which may lie in front of the window, or of all memory.
        let data = start.wrapping_sub((e.first * size as i64) as u64);
        start += (elements(e) * size) as u64;
        RawWindow { data, room: e.room as i64, asked: e.len as i64 }
    };
    Ok(extents.iter().map(window).collect())
}

/// A window that a kernel has left; swaps may have put it into the memory of another buffer.
fn left(place: Place, decl: &BufferDecl, raw: RawWindow, extent: Extent, pieces: &[Piece]) -> Window {
    let size = decl.prim.bytes();
    let len = match place {
        Place::Input | Place::Measured | Place::Team => 0,
        Place::Shared | Place::Rounds => extent.len,
        Place::Chunk => raw.asked.clamp(0, raw.room) as usize,
    };
    let start = raw.data.wrapping_add((extent.first * size as i64) as u64);
    let behind = |p: &&Piece| start >= p.at && start - p.at <= p.bytes.len() as u64;
    // An empty piece may begin where another one does.
    let piece = pieces.iter().filter(behind).max_by_key(|p| p.bytes.len() as u64 - (start - p.at));
    let bytes = piece.map_or(&[][..], |p| &p.bytes[(start - p.at) as usize..][..len * size]);
    let element = |bytes: &[u8]| {
        let mut word = [0; 8];
        word[..size].copy_from_slice(bytes);
        stored(decl, u64::from_le_bytes(word))
    };
    Window::left(extent.first, raw.asked.max(0) as usize, bytes.chunks(size).map(element).collect())
}

/// How the chunks ended: cancelled, or for want of room, since a chunk may begin with what one that had none has left; else
/// the first status that is not `Done`.
fn end(device: &dyn Device, argument: &Argument, chunks: usize) -> Result<End, Error> {
    let mut bytes = vec![0; 4 * chunks];
    device.download(argument.status, &mut bytes)?;
    let ends = bytes.as_chunks().0.iter().map(|code| match i32::from_le_bytes(*code) {
        NO_ROOM => Ok(End::NoRoom),
        code => Status::from_code(code).map(End::Status).ok_or(Error::UnknownStatus(code)),
    });
    Ok(End::of_all(&ends.collect::<Result<Vec<End>, Error>>()?))
}
