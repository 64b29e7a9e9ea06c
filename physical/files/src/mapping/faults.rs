//! Faults of mapped pages. Reading a page that a file no longer has raises `SIGBUS`. The handler
//! replaces that page and all later pages of the mapping by zeros, and notes the loss. So the
//! reader continues, and its later check of the file reports an error. `systemd-journald` handles
//! truncated journals in the same way; the Java virtual machine turns such faults into errors of
//! the reading thread.
//!
//! Faults at other addresses go to the handler that was installed before, or end the process as
//! they would without this handler. A program that replaces the handler later loses the protection.

use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

/// The addresses of a mapping. Slots are never freed, so that the handler can follow their links;
/// slots of ended mappings are used again.
#[derive(Debug)]
struct Slot {
    /// The first address, or 0 if no mapping uses the slot.
    start: AtomicUsize,
    end: AtomicUsize,
    has_lost_pages: AtomicBool,
    next: AtomicPtr<Slot>,
}

/// The first slot.
static SLOTS: AtomicPtr<Slot> = AtomicPtr::new(ptr::null_mut());

/// The lock that is held while a slot is taken or given back.
static TAKING: Mutex<()> = Mutex::new(());

/// The size of a page, 0 before the handler is installed.
static PAGE: AtomicUsize = AtomicUsize::new(0);

/// The handler that was installed before.
static PREVIOUS: OnceLock<PreviousAction> = OnceLock::new();

/// The action of the system for the signal before the handler was installed.
struct PreviousAction(libc::sigaction);

// SAFETY: the action is plain data with addresses of functions.
unsafe impl Send for PreviousAction {}
// SAFETY: as above; the action is never written after it was set.
unsafe impl Sync for PreviousAction {}

/// Protection of the addresses of a mapping. Dropping the guard ends the protection.
#[derive(Debug)]
pub(super) struct FaultGuard(&'static Slot);

impl FaultGuard {
    /// Protects a mapping; returns `None` if the handler cannot be installed.
    pub(super) fn new(start: usize, bytes: usize) -> Option<FaultGuard> {
        if !are_handled() {
            return None;
        }
        let _taking = TAKING.lock().unwrap_or_else(PoisonError::into_inner);
        let slot = slots().find(|slot| slot.start.load(Ordering::Acquire) == 0).unwrap_or_else(add_slot);
        slot.has_lost_pages.store(false, Ordering::Release);
        slot.end.store(start + bytes, Ordering::Release);
        slot.start.store(start, Ordering::Release);
        Some(FaultGuard(slot))
    }

    /// Returns whether a page was replaced by zeros.
    pub(super) fn has_lost_pages(&self) -> bool {
        self.0.has_lost_pages.load(Ordering::Acquire)
    }
}

impl Drop for FaultGuard {
    fn drop(&mut self) {
        let _taking = TAKING.lock().unwrap_or_else(PoisonError::into_inner);
        self.0.start.store(0, Ordering::Release);
    }
}

fn add_slot() -> &'static Slot {
    let next = AtomicPtr::new(SLOTS.load(Ordering::Acquire));
    let slot =
        Slot { start: AtomicUsize::new(0), end: AtomicUsize::new(0), has_lost_pages: AtomicBool::new(false), next };
    let slot: &'static Slot = Box::leak(Box::new(slot));
    SLOTS.store(ptr::from_ref(slot).cast_mut(), Ordering::Release);
    slot
}

/// Returns all slots. Safe to call in a signal handler.
fn slots() -> impl Iterator<Item = &'static Slot> {
    // SAFETY: links are null or point to slots, which are never freed.
    let of = |link: &AtomicPtr<Slot>| unsafe { link.load(Ordering::Acquire).as_ref() };
    std::iter::successors(of(&SLOTS), move |slot| of(&slot.next))
}

/// Installs the handler once; returns whether it is installed.
pub(super) fn are_handled() -> bool {
    static INSTALLED: OnceLock<bool> = OnceLock::new();
    *INSTALLED.get_or_init(install)
}

fn install() -> bool {
    // SAFETY: plain calls of the system with valid arguments; zero bytes are a valid `sigaction`.
    // The handler is installed after its data: the page size and the previous action.
    unsafe {
        let page = libc::sysconf(libc::_SC_PAGESIZE);
        let mut previous: libc::sigaction = std::mem::zeroed();
        if page <= 0 || libc::sigaction(libc::SIGBUS, ptr::null(), &raw mut previous) != 0 {
            return false;
        }
        PAGE.store(page as usize, Ordering::Release);
        let _ = PREVIOUS.set(PreviousAction(previous));
        let mut action: libc::sigaction = std::mem::zeroed();
        let handler: extern "C" fn(libc::c_int, *mut libc::siginfo_t, *mut libc::c_void) = handle;
        action.sa_sigaction = handler as libc::sighandler_t;
        action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
        libc::sigemptyset(&raw mut action.sa_mask);
        libc::sigaction(libc::SIGBUS, &raw const action, ptr::null_mut()) == 0
    }
}

/// Handles a fault. Calls only functions that are safe in signal handlers, and preserves `errno`.
extern "C" fn handle(signal: libc::c_int, info: *mut libc::siginfo_t, context: *mut libc::c_void) {
    // SAFETY: the system passes a valid `info`, and each thread has its `errno`.
    let (address, errno) = unsafe { ((*info).si_addr().addr(), *libc::__errno_location()) };
    let is_replaced = slots().any(|slot| replace_lost_pages(slot, address));
    // SAFETY: as above.
    unsafe { *libc::__errno_location() = errno };
    if !is_replaced {
        pass_on(signal, info, context);
    }
}

/// Replaces the pages of a mapping by zeros, from the page of an address to the end. Returns
/// whether the mapping contains the address and the pages were replaced.
fn replace_lost_pages(slot: &Slot, address: usize) -> bool {
    let (start, end) = (slot.start.load(Ordering::Acquire), slot.end.load(Ordering::Acquire));
    if start == 0 || !(start..end).contains(&address) {
        return false;
    }
    slot.has_lost_pages.store(true, Ordering::Release);
    let page = PAGE.load(Ordering::Acquire);
    let first = address & !(page - 1);
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED;
    // SAFETY: the pages belong to the mapping of the slot, and the mapping exists while a page of
    // it is read. Zeros take the place of the pages.
    let mapped = unsafe {
        let first = ptr::with_exposed_provenance_mut(first);
        libc::mmap(first, end - first.addr(), libc::PROT_READ, flags, -1, 0)
    };
    mapped != libc::MAP_FAILED
}

/// Passes a fault on to the previous handler. If there is none, restores the default action of the
/// signal, with which the repeated fault ends the process.
fn pass_on(signal: libc::c_int, info: *mut libc::siginfo_t, context: *mut libc::c_void) {
    let previous = PREVIOUS.get().map(|previous| &previous.0);
    let handler = previous.map_or(libc::SIG_DFL, |previous| previous.sa_sigaction);
    // SAFETY: the address is that of the handler that the program had installed, called as the
    // system would have called it; without such a handler, the default action is installed.
    unsafe {
        if handler == libc::SIG_DFL || handler == libc::SIG_IGN {
            let mut default: libc::sigaction = std::mem::zeroed();
            default.sa_sigaction = libc::SIG_DFL;
            libc::sigaction(signal, &raw const default, ptr::null_mut());
        } else if previous.is_some_and(|previous| previous.sa_flags & libc::SA_SIGINFO != 0) {
            let handler: extern "C" fn(libc::c_int, *mut libc::siginfo_t, *mut libc::c_void) =
                std::mem::transmute(handler);
            handler(signal, info, context);
        } else {
            let handler: extern "C" fn(libc::c_int) = std::mem::transmute(handler);
            handler(signal);
        }
    }
}
