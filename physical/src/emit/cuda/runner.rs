//! Grids on a device: results stay there, and arrays are gathered there.

use super::launch::{Argument, run};
use super::machine::Entry;
use super::memory::{Asker, DeviceMemory, Held};
use crate::Error;
use crate::assembly::BufferDecl;
use crate::grid::{Contents, Gather, Grid, Launch, Launched, Left, Runner, stored};
use crate::run::Limits;
use crate::storage::Array;
use arrow::buffer::Buffer;
use std::any::Any;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Maximum number of elements of a move, so that blocks share the work.
const MOVE: usize = 1 << 16;

/// A grid compiled for a device.
pub(crate) struct OnDevice {
    pub(crate) memory: Arc<DeviceMemory>,
    pub(crate) entry: Box<dyn Entry>,
    pub(crate) grid: Grid,
    /// Number of teams that fill the device.
    pub(crate) teams: usize,
    /// Bytes that a team may have of the memory of its block.
    pub(crate) share: usize,
}

impl Runner for OnDevice {
    fn grid(&self) -> &Grid {
        &self.grid
    }

    fn teams(&self) -> usize {
        self.teams
    }

    fn memory(&self, limits: &Limits) -> usize {
        self.memory.room(limits.device_memory)
    }

    fn is_elsewhere(&self) -> bool {
        true
    }

    fn run(&self, launch: &Launch<'_>) -> Result<Launched, Error> {
        run(&self.memory, &*self.entry, (&self.grid, self.share), launch)
    }

    fn gather(&self, gather: &Gather<'_>, limits: &Limits) -> Result<Array, Error> {
        let (prim, bytes) = (gather.decl.prim, gather.len() * gather.decl.prim.bytes());
        if bytes == 0 {
            let empty = Array::new(prim, Buffer::from_vec(Vec::<u64>::new()), 0);
            return Ok(empty.expect("any buffer has an array of no elements"));
        }
        let (held, offset) = match self.as_it_is(gather) {
            Some(stretch) => stretch,
            None => (self.stitched(gather, limits)?, 0),
        };
        let kernel = (self.grid.function.name.as_str(), &limits.memory);
        Ok(Array::left_away(prim, self.memory.leave(&held, (offset, bytes), kernel)?))
    }

    fn left(&self, array: &Array, limits: &Limits) -> Result<Left, Error> {
        let cancelled = || limits.cancel.load(Ordering::Relaxed);
        let (held, start) = match array.away().and_then(|away| self.memory.resident(away)) {
            Some((held, address)) => (held.clone(), (address - held.address()) as usize),
            None => (self.memory.input(array.buffer(), self.asker(&cancelled, limits.device_memory))?, 0),
        };
        Ok(Left { first: 0, asked: array.len(), len: array.len(), contents: Contents::There(held, start) })
    }

    fn elements(&self, decl: &BufferDecl, windows: &[Left]) -> Result<Vec<Vec<u64>>, Error> {
        let size = decl.prim.bytes();
        // Windows of one buffer are adjacent, so they are downloaded in one piece.
        let places = || windows.iter().filter_map(|window| Some((there(window)?, window.len * size)));
        let start = places().map(|((_, start), _)| start).min().unwrap_or(0);
        let end = places().map(|((_, start), len)| start + len).max().unwrap_or(0);
        let mut bytes = vec![0; end - start];
        if let Some(((held, _), _)) = places().next() {
            self.memory.take(held.address() + start as u64, &mut bytes, self.asker(&|| false, usize::MAX))?;
        }
        let element = |bytes: &[u8]| {
            let mut word = [0; 8];
            word[..size].copy_from_slice(bytes);
            stored(decl, u64::from_le_bytes(word))
        };
        let of = |window: &Left| {
            let own = there(window).map_or(&[][..], |(_, at)| &bytes[at - start..at - start + window.len * size]);
            own.chunks(size).map(element).collect()
        };
        Ok(windows.iter().map(of).collect())
    }
}

/// Returns the device memory of a window, and its offset in bytes.
fn there(window: &Left) -> Option<(Arc<Held>, usize)> {
    let Contents::There(held, start) = &window.contents else { return None };
    let held: Arc<dyn Any + Send + Sync> = held.clone();
    Some((held.downcast().ok()?, *start))
}

impl OnDevice {
    fn asker<'a>(&'a self, cancelled: &'a dyn Fn() -> bool, limit: usize) -> Asker<'a> {
        Asker { kernel: &self.grid.function.name, limit, cancelled }
    }

    /// Returns an array that windows already contain: its pieces are adjacent and unshifted, and
    /// take at least half of their memory.
    fn as_it_is(&self, gather: &Gather<'_>) -> Option<(Arc<Held>, usize)> {
        let size = gather.decl.prim.bytes();
        let mut found: Option<(Arc<Held>, usize, usize)> = None;
        for piece in gather.pieces.iter().filter(|piece| piece.len > 0) {
            let (held, start) = there(gather.windows[piece.window])?;
            let from = start + piece.from * size;
            let (first, begin, end) = found.take().unwrap_or_else(|| (held.clone(), from, from));
            if piece.shift != 0 || end != from || !Arc::ptr_eq(&first, &held) {
                return None;
            }
            found = Some((first, begin, from + piece.len * size));
        }
        let (held, begin, end) = found.filter(|_| gather.head.is_empty())?;
        (held.bytes() <= 2 * (end - begin)).then_some((held, begin))
    }

    /// Stitches the array together in memory of its own.
    fn stitched(&self, gather: &Gather<'_>, limits: &Limits) -> Result<Arc<Held>, Error> {
        let size = gather.decl.prim.bytes();
        let cancelled = || limits.cancel.load(Ordering::Relaxed);
        let asker = self.asker(&cancelled, limits.device_memory);
        let held = self.memory.allocate(gather.len() * size, asker)?;
        let head: Vec<u8> = gather.head.iter().flat_map(|bits| bits.to_le_bytes()[..size].to_vec()).collect();
        self.memory.put(&head, held.address(), asker)?;
        let mut to = held.address() + head.len() as u64;
        let mut moves: Vec<[u64; 4]> = Vec::new();
        for piece in gather.pieces.iter().filter(|piece| piece.len > 0) {
            let window = there(gather.windows[piece.window]);
            let (from, start) = window.expect("elements that a launch has left are in the memory of its device");
            let mut from = from.address() + (start + piece.from * size) as u64;
            for first in (0..piece.len).step_by(MOVE) {
                let elements = (piece.len - first).min(MOVE) as u64;
                moves.push([from, to, elements, piece.shift as u64]);
                from += elements * size as u64;
                to += elements * size as u64;
            }
        }
        let bytes: Vec<u8> = moves.as_flattened().iter().flat_map(|word| word.to_le_bytes()).collect();
        let table = self.memory.allocate(bytes.len(), asker)?;
        self.memory.put(&bytes, table.address(), asker)?;
        let words = [table.address(), moves.len() as u64, size as u64, 0, 0, 0, 0, 0];
        let stitched = self.memory.machine().stitch(&Argument { words, cancel: 0 }, moves.len());
        stitched.map_err(|trouble| self.memory.error(asker.kernel, &trouble))?;
        Ok(held)
    }
}
