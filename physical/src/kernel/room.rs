//! The room that the last run has filled: the next one begins with it, so that a kernel that runs again over inputs of
//! about the same size neither grows its outputs nor moves them.

use crate::assembly::Buffer;
use crate::run::Invocation;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The number of elements that the last run has left in each buffer of an output; 0 for others.
pub(super) struct Room(Box<[AtomicUsize]>);

impl Room {
    pub(super) fn of_buffers(buffers: usize) -> Room {
        Room((0..buffers).map(|_| AtomicUsize::new(0)).collect())
    }

    /// Makes the room in front of a run.
    pub(super) fn reserve(&self, run: &mut Invocation) {
        self.reserve_share(run, (1, 1));
    }

    /// Makes room for a share of a run: so many of so many chunks, which write alike.
    pub(super) fn reserve_share(&self, run: &mut Invocation, (chunks, all): (usize, usize)) {
        for (k, elements) in self.0.iter().enumerate() {
            let elements = elements.load(Ordering::Relaxed).saturating_mul(chunks).div_ceil(all);
            if elements > 0 {
                run.reserve(Buffer(k as u32), elements);
            }
        }
    }

    /// Takes down what a run has left.
    pub(super) fn note(&self, used: impl IntoIterator<Item = (Buffer, usize)>) {
        for (buffer, elements) in used {
            self.0[buffer.index()].store(elements, Ordering::Relaxed);
        }
    }
}
