//! The calling convention of kernels, shared by every generator of machine code.
//!
//! A kernel is an [`Entry`]: it takes a [`Frame`] and returns the number of a [`Status`]. Machine code reads the slots
//! of its buffers on entry, and again after it has called `grow` or `swap`.

use super::Invocation;
use crate::assembly::{Buffer, Status};
use std::ffi::c_void;

/// A kernel in memory.
pub type Entry = unsafe extern "C" fn(*mut Frame) -> i32;

/// One buffer, as machine code sees it.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Slot {
    /// Its first element, aligned for it; dangling when there is none.
    pub data: *mut u8,
    /// The number of elements that there is room for.
    pub len: u64,
}

/// The argument of a kernel.
#[repr(C)]
#[derive(Debug)]
pub struct Frame {
    /// One slot for each buffer of the function.
    pub buffers: *mut Slot,
    /// The parameters.
    pub params: *const i64,
    /// The first round of the outermost loop.
    pub chunk_lo: i64,
    /// One past the last round.
    pub chunk_hi: i64,
    /// The first argument of every callback.
    pub host: *mut c_void,
    /// What the kernel may ask of its host.
    pub callbacks: *const Callbacks,
    /// Room for the status of a callback, for generators that cannot take it as a result.
    pub status: i32,
    /// Code of the generator's own that kernels call for growth; null where it needs none.
    pub trampoline: *const c_void,
    /// Functions of the mathematical library, in the order of
    /// [`MathFn::addresses`](crate::assembly::MathFn::addresses); null where their addresses are part of the code.
    pub math: *const usize,
    /// Not 0 once the kernel is asked to stop: loops around loops look at it in each round.
    pub cancel: *const u8,
}

/// Functions that machine code calls. `host` is the frame's; buffers are numbers of the function's table.
#[repr(C)]
#[derive(Debug)]
pub struct Callbacks {
    /// `grow(host, buffer, len)` makes room for `len` elements, updates the buffer's slot and returns a [`Status`].
    pub grow: unsafe extern "C" fn(*mut c_void, u32, i64) -> i32,
    /// `sort(host, buffer, lo, hi)`
    pub sort: unsafe extern "C" fn(*mut c_void, u32, i64, i64),
    /// `sort_by(host, perm, major, minor, lo, hi)`
    pub sort_by: unsafe extern "C" fn(*mut c_void, u32, u32, u32, i64, i64),
    /// `swap(host, a, b)` exchanges the memory of two buffers and their slots.
    pub swap: unsafe extern "C" fn(*mut c_void, u32, u32),
}

/// The callbacks whose host is an [`Invocation`].
pub(super) static CALLBACKS: Callbacks = Callbacks { grow, sort, sort_by, swap };

unsafe extern "C" fn grow(host: *mut c_void, buffer: u32, len: i64) -> i32 {
    // SAFETY: `Invocation::frame` made `host` from the exclusive borrow that lasts as long as the kernel runs; machine
    // code holds no Rust reference into the invocation.
    let invocation = unsafe { &mut *host.cast::<Invocation>() };
    let status: Status = invocation.grow(Buffer(buffer), len);
    status as i32
}

// A range outside of its buffer is a fault of lowering, which the interpreter reports; here it must not be followed, and
// the panic that stops it ends the process at the boundary of `extern "C"`.

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
