//! The memory of one function, for kernels and the interpreter.

use super::block::MemoryBlock;
use super::frame::{CALLBACKS, Frame, Slot};
use super::{Limits, sort};
use crate::Error;
use arrow_buffer::Buffer as ArrowBuffer;
use redpoll_compiler::assembly::{Buffer, BufferDecl, BufferRole, Buffers, Signature, Status};
use redpoll_logic::{Prim, Scalar};
use redpoll_storage::{Array, DeviceBytes};
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// The size in bytes from which buffers grow by half instead of doubling.
const LARGE: usize = 1 << 20;

/// Minimum growth in bytes within reserved capacity. If less capacity is left, the buffer grows to
/// the end of the capacity.
const STEP: usize = 64 << 10;

enum BufferMemory {
    Input(ArrowBuffer),
    /// An input on a device, which machine code for the CPU does not read.
    OnDevice(Arc<DeviceBytes>),
    Owned(MemoryBlock),
    /// A block of another invocation: its start and its size in bytes.
    Lent(*mut u8, usize),
}

/// The location of an owned buffer that other invocations write into.
#[derive(Clone, Copy)]
pub(crate) struct Loan {
    slot: Slot,
    bytes: usize,
}

// SAFETY: code that dereferences the pointer guarantees that it is valid; see `Invocation::borrow`.
unsafe impl Send for Loan {}
// SAFETY: as above.
unsafe impl Sync for Loan {}

/// The buffers and parameters of one function.
///
/// An invocation outlives calls: owned buffers preserve their contents, so a function may run chunk
/// by chunk.
pub struct Invocation {
    signature: Arc<Signature>,
    memory: Vec<BufferMemory>,
    /// The address and capacity of each buffer, consistent with `memory`.
    slots: Vec<Slot>,
    /// The number of elements of each buffer: for an input, the length of the array; for an owned
    /// buffer, the greatest length requested, or the capacity after a call of machine code; for a
    /// borrowed buffer, the capacity of the lender's buffer.
    lens: Vec<usize>,
    params: Vec<i64>,
    limits: Limits,
    /// Owned buffers whose new elements need no fill.
    unfilled: Vec<Buffer>,
}

// SAFETY: the pointers in `slots` point into `memory`, which is Send, or to lent memory, in which
// concurrent calls access different elements. Only kernels dereference them, under an exclusive
// borrow of the invocation.
unsafe impl Send for Invocation {}
// SAFETY: as above; the slots are not dereferenced through `&Invocation`.
unsafe impl Sync for Invocation {}

impl Invocation {
    /// Makes the memory for a function, with its inputs and parameters. The inputs are in the order
    /// of the signature, and are shared without copies. Owned buffers start empty.
    ///
    /// # Errors
    /// [`Error::InvalidInvocation`] when the number of inputs or parameters does not match the
    /// signature, or when an input is not an array of its type. The address of an input that is not
    /// empty must be aligned for the elements, and its size must be a multiple of their size.
    pub fn new(
        signature: &Arc<Signature>,
        inputs: impl IntoIterator<Item = ArrowBuffer>,
        params: Vec<i64>,
        limits: Limits,
    ) -> Result<Invocation, Error> {
        let inputs: Vec<ArrowBuffer> = inputs.into_iter().collect();
        let buffers = signature.buffers.len();
        signature.check_counts(inputs.len(), params.len())?;
        let mut inputs = inputs.into_iter();
        let mut invocation = Invocation {
            signature: signature.clone(),
            memory: Vec::with_capacity(buffers),
            slots: Vec::with_capacity(buffers),
            lens: Vec::with_capacity(buffers),
            params,
            limits,
            unfilled: vec![],
        };
        for decl in &signature.buffers {
            match decl.role {
                BufferRole::Input => {
                    invocation.add_input(decl, inputs.next().expect("inputs were counted above"))?;
                }
                BufferRole::Owned => {
                    let block = MemoryBlock::new(invocation.limits.memory.clone());
                    invocation.slots.push(Slot { data: block.as_ptr(), len: 0 });
                    invocation.lens.push(0);
                    invocation.memory.push(BufferMemory::Owned(block));
                }
            }
        }
        Ok(invocation)
    }

    fn add_input(&mut self, decl: &BufferDecl, input: ArrowBuffer) -> Result<(), Error> {
        let (bytes, size) = (input.len(), decl.prim.bytes());
        if !bytes.is_multiple_of(size) {
            let message =
                format!("input `{}` has {bytes} bytes, not a multiple of the size of {}", decl.name, decl.prim);
            return Err(Error::InvalidInvocation(message));
        }
        if bytes != 0 && !input.as_ptr().addr().is_multiple_of(size) {
            let message = format!("input `{}` is not aligned for {}; copy it to a new buffer", decl.name, decl.prim);
            return Err(Error::InvalidInvocation(message));
        }
        self.slots.push(Slot { data: input.as_ptr().cast_mut(), len: (bytes / size) as u64 });
        self.lens.push(bytes / size);
        self.memory.push(BufferMemory::Input(input));
        Ok(())
    }

    /// Makes the memory for a function like [`Invocation::new`], but input arrays on a device stay
    /// there.
    ///
    /// # Errors
    /// Like [`Invocation::new`].
    pub(crate) fn with_device_inputs(
        signature: &Arc<Signature>,
        inputs: &[&Array],
        params: Vec<i64>,
        limits: Limits,
    ) -> Result<Invocation, Error> {
        let buffer = |array: &&Array| match array.device_bytes() {
            Some(_) => ArrowBuffer::from_vec(Vec::<u64>::new()),
            None => array.buffer().clone(),
        };
        let mut invocation = Invocation::new(signature, inputs.iter().map(buffer), params, limits)?;
        let buffers = (0..signature.buffers.len()).filter(|k| signature.buffers[*k].role == BufferRole::Input);
        for (k, array) in buffers.zip(inputs) {
            if let Some(bytes) = array.device_bytes() {
                invocation.lens[k] = array.len();
                invocation.memory[k] = BufferMemory::OnDevice(bytes.clone());
            }
        }
        Ok(invocation)
    }

    /// Returns the limits of runs.
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Returns the capacity of an owned buffer in elements, or the number of elements of an input
    /// in the host's memory; 0 for an input on a device.
    pub fn capacity(&self, buffer: Buffer) -> usize {
        self.slots[buffer.index()].len as usize
    }

    /// Returns the array of an input.
    ///
    /// # Panics
    /// When the buffer is not an input in the host's memory.
    pub(crate) fn input(&self, buffer: Buffer) -> &ArrowBuffer {
        match &self.memory[buffer.index()] {
            BufferMemory::Input(array) => array,
            _ => unreachable!("buffer `{}` is no input", self.signature.buffers[buffer.index()].name),
        }
    }

    /// Returns the array of an input that is on a device, or was when the invocation was made;
    /// `None` for other buffers.
    pub fn device_input(&self, buffer: Buffer) -> Option<&DeviceBytes> {
        match &self.memory[buffer.index()] {
            BufferMemory::OnDevice(bytes) => Some(bytes),
            _ => None,
        }
    }

    /// Returns the array of an input, copied from its device if necessary.
    ///
    /// # Errors
    /// The errors of the device.
    ///
    /// # Panics
    /// When the buffer is not an input.
    pub fn fetch_input(&self, buffer: Buffer) -> Result<&ArrowBuffer, Error> {
        match self.device_input(buffer) {
            Some(bytes) => Ok(bytes.fetch()?),
            None => Ok(self.input(buffer)),
        }
    }

    /// Returns the argument for a call of machine code, valid until the next other use of the
    /// invocation. The caller sets `trampoline` and `math`.
    pub(crate) fn frame(&mut self, chunk: Range<i64>) -> Frame {
        Frame {
            buffers: self.slots.as_mut_ptr(),
            params: self.params.as_ptr(),
            chunk_lo: chunk.start,
            chunk_hi: chunk.end,
            host: (&raw mut *self).cast(),
            callbacks: &raw const CALLBACKS,
            status: Status::Done as i32,
            trampoline: std::ptr::null(),
            math: std::ptr::null(),
            cancel: self.limits.cancel.as_ptr().cast_const().cast(),
        }
    }

    /// Sets the lengths of buffers to their capacities. Must be called after machine code has run.
    /// Machine code requests growth only beyond the capacity, so it may have used all elements.
    pub(crate) fn extend_to_capacity(&mut self) {
        for (len, slot) in self.lens.iter_mut().zip(&self.slots) {
            *len = slot.len as usize;
        }
    }

    /// Grows a buffer like [`Buffers::grow`], but without spare capacity, for buffers that do not
    /// grow again. Does not check whether the run was cancelled.
    pub(crate) fn grow_to(&mut self, buffer: Buffer, len: usize) -> Status {
        let bytes = len.checked_mul(self.prim(buffer).bytes());
        let fits = len <= self.capacity(buffer) || bytes.is_some_and(|bytes| self.enlarge(buffer, bytes));
        if !fits {
            return Status::OutOfMemory;
        }
        let at = buffer.index();
        self.lens[at] = self.lens[at].max(len);
        Status::Done
    }

    /// Reserves capacity for `elements` in an empty owned buffer, and enlarges the buffer to the
    /// first [`STEP`] bytes of this capacity, or all of it if it is smaller. Has no effect on other
    /// buffers, or if the capacity exceeds an eighth of the remaining memory.
    pub(crate) fn reserve(&mut self, buffer: Buffer, elements: usize) {
        let memory = &self.limits.memory;
        let max = memory.limit().saturating_sub(memory.used()) / 8;
        let fill = self.fill(buffer);
        let bytes = elements.checked_mul(self.prim(buffer).bytes()).filter(|bytes| *bytes <= max);
        if let (Some(bytes), BufferMemory::Owned(block)) = (bytes, &mut self.memory[buffer.index()]) {
            block.reserve(bytes, fill == Some(0));
            self.enlarge(buffer, bytes.min(STEP));
        }
    }

    /// Returns the reserved capacity of an owned buffer in bytes, up to which it grows without a
    /// move; 0 for other buffers.
    pub(crate) fn reserved_bytes(&self, buffer: Buffer) -> usize {
        match &self.memory[buffer.index()] {
            BufferMemory::Owned(block) => block.capacity(),
            _ => 0,
        }
    }

    /// Omits the fills of new elements of these owned buffers.
    ///
    /// # Safety
    /// Each element of these buffers must be written before it is read or taken.
    pub(crate) unsafe fn omit_fills(&mut self, buffers: &[Buffer]) {
        self.unfilled = buffers.to_vec();
    }

    /// Enlarges an owned buffer to at least `bytes`, a whole number of elements, and fills the new
    /// elements unless they need no fill. Returns `false`, with the buffer unchanged, if there is
    /// no memory.
    fn enlarge(&mut self, buffer: Buffer, bytes: usize) -> bool {
        let (at, size) = (buffer.index(), self.prim(buffer).bytes());
        let fill = self.fill(buffer);
        let BufferMemory::Owned(block) = &mut self.memory[at] else {
            unreachable!("the verifier admits growth of owned buffers only");
        };
        let enlarged = block.grow(bytes, size, fill);
        self.slots[at] = Slot { data: block.as_ptr(), len: (block.bytes() / size) as u64 };
        enlarged
    }

    /// Returns the bits of new elements of an owned buffer; `None` if they need no fill.
    fn fill(&self, buffer: Buffer) -> Option<u64> {
        let fill = self.signature.buffers[buffer.index()].fill.to_bits().expect("fills of buffers are primitives");
        (!self.unfilled.contains(&buffer)).then_some(fill)
    }

    /// Returns a loan by which other invocations can write into an owned buffer of this invocation.
    ///
    /// # Panics
    /// When the buffer is an input or lent.
    pub(crate) fn loan(&self, buffer: Buffer) -> Loan {
        let BufferMemory::Owned(block) = &self.memory[buffer.index()] else { unreachable!("the buffer is owned") };
        Loan { slot: self.slots[buffer.index()], bytes: block.bytes() }
    }

    /// Redirects reads and writes of a buffer to the buffer of another invocation.
    ///
    /// # Safety
    /// While this invocation is called, the lender must live and must not grow, swap, sort or hand
    /// out the buffer. No two calls may access the same element of the buffer at the same time.
    pub(crate) unsafe fn borrow(&mut self, buffer: Buffer, loan: Loan) {
        let at = buffer.index();
        self.memory[at] = BufferMemory::Lent(loan.slot.data, loan.bytes);
        self.slots[at] = loan.slot;
        self.lens[at] = loan.slot.len as usize;
    }

    /// Returns all elements of an owned buffer as bytes.
    ///
    /// # Panics
    /// When the buffer is an input or lent.
    pub(crate) fn bytes_mut(&mut self, buffer: Buffer) -> &mut [u8] {
        let BufferMemory::Owned(block) = &mut self.memory[buffer.index()] else { unreachable!("the buffer is owned") };
        block.as_mut_slice()
    }

    /// Returns the type of the elements of a buffer.
    pub fn prim(&self, buffer: Buffer) -> Prim {
        self.signature.buffers[buffer.index()].prim
    }

    /// Returns the bytes of a buffer.
    ///
    /// # Panics
    /// When the buffer is lent or on a device.
    pub(crate) fn bytes(&self, buffer: Buffer) -> &[u8] {
        match &self.memory[buffer.index()] {
            BufferMemory::Input(input) => input.as_slice(),
            BufferMemory::OnDevice(_) => unreachable!("arrays on a device are read there"),
            BufferMemory::Owned(block) => block.as_slice(),
            BufferMemory::Lent(..) => unreachable!("lent memory is read element by element"),
        }
    }

    /// Returns an element of a buffer, in the type of its array; `None` if the element does not
    /// exist.
    ///
    /// # Panics
    /// When the buffer is on a device and has the element.
    pub fn element(&self, buffer: Buffer, at: usize) -> Option<Scalar> {
        let prim = self.signature.buffers.get(buffer.index())?.prim;
        (at < self.len(buffer)).then(|| Scalar::from_bits(prim, self.read(buffer, at)))
    }

    /// Removes the first elements of an owned buffer as an Arrow buffer, without a copy, and leaves
    /// the buffer empty.
    ///
    /// # Errors
    /// [`Error::InvalidInvocation`] when the buffer is an input, lent, or has a smaller capacity.
    pub fn take(&mut self, buffer: Buffer, elements: usize) -> Result<ArrowBuffer, Error> {
        let name = |s: &Self| s.signature.buffers[buffer.index()].name.clone();
        let capacity = self.capacity(buffer);
        if elements > capacity {
            let message = format!("{elements} elements are taken from buffer `{}`, which has {capacity}", name(self));
            return Err(Error::InvalidInvocation(message));
        }
        let size = self.prim(buffer).bytes();
        let Some(block) = self.take_block(buffer) else {
            return Err(Error::InvalidInvocation(format!(
                "buffer `{}` is an input or belongs to another invocation, so it cannot be taken",
                name(self)
            )));
        };
        Ok(block.into_arrow(elements * size))
    }

    /// Empties an owned buffer and frees its memory; has no effect on other buffers.
    pub(crate) fn free(&mut self, buffer: Buffer) {
        drop(self.take_block(buffer));
    }

    /// Frees all owned memory except for the first elements of the given buffers. Spare capacity
    /// that was never accessed may remain, because it costs no pages.
    ///
    /// # Panics
    /// When a buffer has fewer elements.
    pub(crate) fn retain(&mut self, used: &[(Buffer, usize)]) {
        for buffer in (0..self.memory.len() as u32).map(Buffer) {
            match used.iter().find(|(retained, _)| *retained == buffer) {
                Some((_, elements)) => self.truncate(buffer, *elements),
                None => self.free(buffer),
            }
        }
    }

    fn truncate(&mut self, buffer: Buffer, elements: usize) {
        let (at, size) = (buffer.index(), self.prim(buffer).bytes());
        let is_filled = !self.unfilled.contains(&buffer);
        if let BufferMemory::Owned(block) = &mut self.memory[at] {
            block.truncate(elements * size);
            // Without a fill, nothing has accessed the memory after the retained elements, so this
            // memory costs no pages.
            if is_filled {
                block.shrink();
            }
            self.slots[at] = Slot { data: block.as_ptr(), len: (block.bytes() / size) as u64 };
            self.lens[at] = elements;
        }
    }

    /// Removes the memory of an owned buffer, which becomes empty; returns `None` for other
    /// buffers.
    fn take_block(&mut self, buffer: Buffer) -> Option<MemoryBlock> {
        let BufferMemory::Owned(block) = &mut self.memory[buffer.index()] else { return None };
        let taken = std::mem::replace(block, MemoryBlock::new(self.limits.memory.clone()));
        self.slots[buffer.index()] = Slot { data: block.as_ptr(), len: 0 };
        self.lens[buffer.index()] = 0;
        Some(taken)
    }
}

/// The interpreter of Assembly works on the same memory as machine code.
impl Buffers for Invocation {
    fn signature(&self) -> &Arc<Signature> {
        &self.signature
    }

    fn params(&self) -> &[i64] {
        &self.params
    }

    fn len(&self, buffer: Buffer) -> usize {
        self.lens[buffer.index()]
    }

    fn read(&self, buffer: Buffer, at: usize) -> u64 {
        let decl = &self.signature.buffers[buffer.index()];
        let size = decl.prim.bytes();
        let mut bytes = [0; 8];
        match self.memory[buffer.index()] {
            BufferMemory::Lent(start, len) => {
                assert!((at + 1) * size <= len, "element {at} is beyond the lent memory");
                // SAFETY: the element lies in the block, whose owner lives, and no other thread
                // writes the element: see `borrow`.
                unsafe { start.add(at * size).copy_to_nonoverlapping(bytes.as_mut_ptr(), size) };
            }
            _ => bytes[..size].copy_from_slice(&self.bytes(buffer)[at * size..(at + 1) * size]),
        }
        decl.stored(u64::from_le_bytes(bytes))
    }

    fn write(&mut self, buffer: Buffer, at: usize, bits: u64) {
        let size = self.prim(buffer).bytes();
        let bytes = &bits.to_le_bytes()[..size];
        match &mut self.memory[buffer.index()] {
            BufferMemory::Owned(block) => block.as_mut_slice()[at * size..(at + 1) * size].copy_from_slice(bytes),
            BufferMemory::Lent(start, len) => {
                assert!((at + 1) * size <= *len, "element {at} is beyond the lent memory");
                // SAFETY: as in `read`.
                unsafe { start.add(at * size).copy_from_nonoverlapping(bytes.as_ptr(), size) };
            }
            BufferMemory::Input(_) | BufferMemory::OnDevice(_) => {
                unreachable!("the verifier admits stores to owned buffers only")
            }
        }
    }

    fn grow(&mut self, buffer: Buffer, len: i64) -> Status {
        let at = buffer.index();
        let Ok(len) = usize::try_from(len) else { return Status::OutOfMemory };
        let capacity = self.slots[at].len as usize;
        if len > capacity {
            if self.is_cancelled() {
                return Status::Cancelled;
            }
            let Some(bytes) = len.checked_mul(self.prim(buffer).bytes()) else {
                return Status::OutOfMemory;
            };
            // Within the reserved capacity the buffer grows by small steps: growth moves nothing,
            // and new elements are filled, so elements that stay unused would cost pages of memory.
            // Beyond the reserved capacity the buffer doubles, or grows by half if it is large.
            let now = self.bytes(buffer).len();
            let reserved = self.reserved_bytes(buffer);
            let preferred = match now {
                _ if bytes <= reserved => reserved.min(bytes.max(now + STEP)),
                ..LARGE => now.saturating_mul(2),
                _ => now.saturating_add(now / 2),
            };
            if !(self.enlarge(buffer, bytes.max(preferred)) || self.enlarge(buffer, bytes)) {
                return Status::OutOfMemory;
            }
        }
        self.lens[at] = self.lens[at].max(len);
        Status::Done
    }

    fn sort(&mut self, buffer: Buffer, range: Range<usize>) {
        let prim = self.prim(buffer);
        let BufferMemory::Owned(block) = &mut self.memory[buffer.index()] else {
            unreachable!("the verifier admits sorting of owned buffers only");
        };
        sort::sort(block, prim, range);
    }

    fn sort_by(&mut self, perm: Buffer, major: Buffer, minor: Buffer, range: Range<usize>) {
        let prims = [perm, major, minor].map(|b| self.prim(b));
        let empty = BufferMemory::Owned(MemoryBlock::new(self.limits.memory.clone()));
        let mut target = std::mem::replace(&mut self.memory[perm.index()], empty);
        let (BufferMemory::Owned(block), BufferMemory::Owned(major), BufferMemory::Owned(minor)) =
            (&mut target, &self.memory[major.index()], &self.memory[minor.index()])
        else {
            unreachable!("the verifier admits sorting of owned buffers only");
        };
        sort::sort_by((block, prims[0]), (major, prims[1]), (minor, prims[2]), range);
        self.memory[perm.index()] = target;
    }

    fn swap(&mut self, a: Buffer, b: Buffer) {
        let (a, b) = (a.index(), b.index());
        let owned = |m: &BufferMemory| matches!(m, BufferMemory::Owned(_));
        assert!(owned(&self.memory[a]) && owned(&self.memory[b]), "the verifier admits swaps of owned buffers only");
        self.memory.swap(a, b);
        self.slots.swap(a, b);
        self.lens.swap(a, b);
    }

    fn is_cancelled(&self) -> bool {
        self.limits.cancel.load(Ordering::Relaxed)
    }
}
