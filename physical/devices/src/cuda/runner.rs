//! Grids on a device: results stay in the memory of the device, where their arrays are gathered.

use super::interface::DeviceKernel;
use super::launch::{Argument, run};
use super::memory::{DeviceAllocation, DevicePool, Requester};
use crate::Error;
use crate::grid::{Contents, Gather, Grid, GridRunner, Launch, LaunchResult, ResultWindow};
use arrow_buffer::Buffer;
use redpoll_compiler::assembly::BufferDecl;
use redpoll_kernels::run::Limits;
use redpoll_storage::Array;
use std::any::Any;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Maximum number of elements of one move of the kernel `stitch.cu`; a block carries out one move
/// after another. Longer pieces are split into several moves, so that blocks share the work.
const MAX_MOVE_ELEMENTS: usize = 1 << 16;

/// A grid compiled for a device.
pub(crate) struct DeviceRunner {
    pub(crate) pool: Arc<DevicePool>,
    pub(crate) entry: Box<dyn DeviceKernel>,
    pub(crate) grid: Grid,
    /// Number of teams that fill the device.
    pub(crate) teams: usize,
    /// Bytes of block memory available to each team.
    pub(crate) share: usize,
}

impl GridRunner for DeviceRunner {
    fn grid(&self) -> &Grid {
        &self.grid
    }

    fn teams(&self) -> usize {
        self.teams
    }

    fn window_bytes(&self, limits: &Limits) -> usize {
        self.pool.available(limits.device_memory)
    }

    fn has_own_memory(&self) -> bool {
        true
    }

    fn run(&self, launch: &Launch<'_>) -> Result<LaunchResult, Error> {
        run(&self.pool, &*self.entry, (&self.grid, self.share), launch)
    }

    fn gather(&self, gather: &Gather<'_>, limits: &Limits) -> Result<Array, Error> {
        let (prim, bytes) = (gather.decl.prim, gather.len() * gather.decl.prim.bytes());
        if bytes == 0 {
            let empty = Array::new(prim, Buffer::from_vec(Vec::<u64>::new()), 0);
            return Ok(empty.expect("every buffer is an array of zero elements"));
        }
        let (allocation, offset) = match self.contiguous_range(gather) {
            Some(range) => range,
            None => (self.stitch(gather, limits)?, 0),
        };
        let kernel = (self.grid.function.name.as_str(), &limits.memory);
        Ok(Array::on_device(prim, self.pool.register_result(&allocation, (offset, bytes), kernel)?))
    }

    fn to_window(&self, array: &Array, limits: &Limits) -> Result<ResultWindow, Error> {
        let cancelled = || limits.cancel.load(Ordering::Relaxed);
        let (allocation, start) = match array.device_bytes().and_then(|bytes| self.pool.resident(bytes)) {
            Some((allocation, address)) => (allocation.clone(), (address - allocation.address()) as usize),
            None => (self.pool.input(array.buffer(), self.requester(&cancelled, limits.device_memory))?, 0),
        };
        Ok(ResultWindow {
            first: 0,
            requested: array.len(),
            len: array.len(),
            contents: Contents::Device(allocation, start),
        })
    }

    fn elements(&self, decl: &BufferDecl, windows: &[ResultWindow]) -> Result<Vec<Vec<u64>>, Error> {
        let size = decl.prim.bytes();
        // Windows of one buffer are adjacent, so they are downloaded in one piece.
        let ranges = || windows.iter().filter_map(|window| Some((device_memory_of(window)?, window.len * size)));
        let start = ranges().map(|((_, start), _)| start).min().unwrap_or(0);
        let end = ranges().map(|((_, start), len)| start + len).max().unwrap_or(0);
        let mut bytes = vec![0; end - start];
        if let Some(((allocation, _), _)) = ranges().next() {
            self.pool.download(
                allocation.address() + start as u64,
                &mut bytes,
                self.requester(&|| false, usize::MAX),
            )?;
        }
        let element = |bytes: &[u8]| {
            let mut word = [0; 8];
            word[..size].copy_from_slice(bytes);
            decl.stored(u64::from_le_bytes(word))
        };
        let of = |window: &ResultWindow| {
            let contents =
                device_memory_of(window).map_or(&[][..], |(_, at)| &bytes[at - start..at - start + window.len * size]);
            contents.chunks(size).map(element).collect()
        };
        Ok(windows.iter().map(of).collect())
    }
}

/// Returns the device memory of a window, and the offset of the window there in bytes; `None` for a
/// window in main memory.
fn device_memory_of(window: &ResultWindow) -> Option<(Arc<DeviceAllocation>, usize)> {
    let Contents::Device(allocation, start) = &window.contents else { return None };
    let allocation: Arc<dyn Any + Send + Sync> = allocation.clone();
    Some((allocation.downcast().ok()?, *start))
}

impl DeviceRunner {
    fn requester<'a>(&'a self, cancelled: &'a dyn Fn() -> bool, limit: usize) -> Requester<'a> {
        Requester { kernel: &self.grid.function.name, limit, cancelled }
    }

    /// Returns the device memory that already contains the array, and the array's offset there in
    /// bytes, if there is such memory. The array must have no head, and its pieces must be adjacent
    /// and unshifted and take at least half of their allocation.
    fn contiguous_range(&self, gather: &Gather<'_>) -> Option<(Arc<DeviceAllocation>, usize)> {
        let size = gather.decl.prim.bytes();
        let mut found: Option<(Arc<DeviceAllocation>, usize, usize)> = None;
        for piece in gather.pieces.iter().filter(|piece| piece.len > 0) {
            let (allocation, start) = device_memory_of(gather.windows[piece.window])?;
            let from = start + piece.from * size;
            let (first, begin, end) = found.take().unwrap_or_else(|| (allocation.clone(), from, from));
            if piece.shift != 0 || end != from || !Arc::ptr_eq(&first, &allocation) {
                return None;
            }
            found = Some((first, begin, from + piece.len * size));
        }
        let (allocation, begin, end) = found.filter(|_| gather.head.is_empty())?;
        (allocation.bytes() <= 2 * (end - begin)).then_some((allocation, begin))
    }

    /// Stitches the array together in a new allocation.
    fn stitch(&self, gather: &Gather<'_>, limits: &Limits) -> Result<Arc<DeviceAllocation>, Error> {
        let size = gather.decl.prim.bytes();
        let cancelled = || limits.cancel.load(Ordering::Relaxed);
        let requester = self.requester(&cancelled, limits.device_memory);
        let allocation = self.pool.allocate(gather.len() * size, requester)?;
        let head: Vec<u8> = gather.head.iter().flat_map(|bits| bits.to_le_bytes()[..size].to_vec()).collect();
        self.pool.upload(&head, allocation.address(), requester)?;
        let mut to = allocation.address() + head.len() as u64;
        let mut moves: Vec<[u64; 4]> = Vec::new();
        for piece in gather.pieces.iter().filter(|piece| piece.len > 0) {
            let window = device_memory_of(gather.windows[piece.window]);
            let (from, start) = window.expect("the results of a launch are in the memory of its device");
            let mut from = from.address() + (start + piece.from * size) as u64;
            for first in (0..piece.len).step_by(MAX_MOVE_ELEMENTS) {
                let elements = (piece.len - first).min(MAX_MOVE_ELEMENTS) as u64;
                moves.push([from, to, elements, piece.shift as u64]);
                from += elements * size as u64;
                to += elements * size as u64;
            }
        }
        let bytes: Vec<u8> = moves.as_flattened().iter().flat_map(|word| word.to_le_bytes()).collect();
        let table = self.pool.allocate(bytes.len(), requester)?;
        self.pool.upload(&bytes, table.address(), requester)?;
        let words = [table.address(), moves.len() as u64, size as u64, 0, 0, 0, 0, 0];
        let result = self.pool.device().stitch(&Argument { words, cancel: 0, next_chunk: 0 }, moves.len());
        result.map_err(|failure| self.pool.error(requester.kernel, &failure))?;
        Ok(allocation)
    }
}
