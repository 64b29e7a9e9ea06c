//! The calling convention of kernels, shared by all generators of machine code.
//!
//! A kernel is an [`EntryPoint`]: it takes a [`Frame`] and returns the number of a [`Status`].
//! Machine code reads the slots of its buffers on entry or at each use. After a call of `grow` or
//! `swap`, the code reads the slots of the buffers of that call again.

use super::Invocation;
use redpoll_compiler::assembly::{Buffer, Buffers, Status};
use std::ffi::c_void;

/// The entry point of a kernel.
pub(crate) type EntryPoint = unsafe extern "C" fn(*mut Frame) -> i32;

/// A buffer as seen by machine code.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct Slot {
    /// The first element, aligned for its type; dangling if the capacity is 0.
    pub(crate) data: *mut u8,
    /// The capacity in elements.
    pub(crate) len: u64,
}

/// The argument of a kernel.
#[repr(C)]
#[derive(Debug)]
pub(crate) struct Frame {
    /// One slot per buffer of the function.
    pub(crate) buffers: *mut Slot,
    /// The parameters.
    pub(crate) params: *const i64,
    /// The first round of the chunk of the outermost loop.
    pub(crate) chunk_lo: i64,
    /// One past the last round of the chunk.
    pub(crate) chunk_hi: i64,
    /// The first argument of every callback.
    pub(crate) host: *mut c_void,
    /// The functions of the host that the kernel may call.
    pub(crate) callbacks: *const Callbacks,
    /// Memory for the status of a callback, for generators whose code cannot receive the status as
    /// a result.
    pub(crate) status: i32,
    /// The code that kernels of the instant tier call for growth; null if no function compiled so
    /// far needs it.
    pub(crate) trampoline: *const c_void,
    /// The functions of the mathematical library, in the order of
    /// [`MathFn::addresses`](redpoll_compiler::assembly::MathFn::addresses). Code of the instant
    /// tier contains the addresses instead.
    pub(crate) math: *const usize,
    /// A flag that is not 0 once the kernel must stop; loops that contain loops check it in each
    /// round.
    pub(crate) cancel: *const u8,
}

/// The functions of the host that machine code calls. Their argument `host` is the value of
/// [`Frame::host`], and a buffer is given by its number among the function's buffers.
#[repr(C)]
#[derive(Debug)]
pub(crate) struct Callbacks {
    /// `grow(host, buffer, len)` enlarges a buffer to at least `len` elements, updates its slot and
    /// returns a [`Status`].
    pub(crate) grow: unsafe extern "C" fn(*mut c_void, u32, i64) -> i32,
    /// `sort(host, buffer, lo, hi)` sorts a range of a buffer of indices.
    pub(crate) sort: unsafe extern "C" fn(*mut c_void, u32, i64, i64),
    /// `sort_by(host, perm, major, minor, lo, hi)` sorts the numbers `k` in a range of `perm` by
    /// `(major[k], minor[k], k)`.
    pub(crate) sort_by: unsafe extern "C" fn(*mut c_void, u32, u32, u32, i64, i64),
    /// `swap(host, a, b)` exchanges the memory of two buffers and their slots.
    pub(crate) swap: unsafe extern "C" fn(*mut c_void, u32, u32),
}

/// The callbacks for a host that is an [`Invocation`].
pub(super) static CALLBACKS: Callbacks = Callbacks { grow, sort, sort_by, swap };

unsafe extern "C" fn grow(host: *mut c_void, buffer: u32, len: i64) -> i32 {
    // SAFETY: `Invocation::frame` made `host` from an exclusive borrow that lasts as long as the
    // kernel runs; machine code holds no Rust reference into the invocation.
    let invocation = unsafe { &mut *host.cast::<Invocation>() };
    let status: Status = invocation.grow(Buffer(buffer), len);
    status as i32
}

// A range outside of its buffer is a fault of lowering. The interpreter reports such a fault; the
// functions below panic before they access the memory. The panic ends the process, because it must
// not unwind through `extern "C"`.

unsafe extern "C" fn sort(host: *mut c_void, buffer: u32, lo: i64, hi: i64) {
    // SAFETY: as in `grow`.
    let invocation = unsafe { &mut *host.cast::<Invocation>() };
    if lo < hi {
        invocation.sort(Buffer(buffer), lo as usize..hi as usize);
    }
}

unsafe extern "C" fn sort_by(host: *mut c_void, perm: u32, major: u32, minor: u32, lo: i64, hi: i64) {
    // SAFETY: as in `grow`.
    let invocation = unsafe { &mut *host.cast::<Invocation>() };
    if lo < hi {
        invocation.sort_by(Buffer(perm), Buffer(major), Buffer(minor), lo as usize..hi as usize);
    }
}

unsafe extern "C" fn swap(host: *mut c_void, a: u32, b: u32) {
    // SAFETY: as in `grow`.
    let invocation = unsafe { &mut *host.cast::<Invocation>() };
    invocation.swap(Buffer(a), Buffer(b));
}
