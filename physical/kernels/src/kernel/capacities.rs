//! Capacities from the last run: the next run reserves them before its first round, so that outputs
//! do not move when a kernel runs again over inputs of similar size.

use crate::run::Invocation;
use redpoll_compiler::assembly::Buffer;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The number of elements of each buffer at the last run that recorded the buffer; 0 for a buffer
/// that no run has recorded.
pub(super) struct LastCapacities(Box<[AtomicUsize]>);

impl LastCapacities {
    pub(super) fn of_buffers(buffers: usize) -> LastCapacities {
        LastCapacities((0..buffers).map(|_| AtomicUsize::new(0)).collect())
    }

    /// Reserves the capacities before a run.
    pub(super) fn reserve(&self, run: &mut Invocation) {
        self.reserve_share(run, (1, 1));
    }

    /// Reserves the capacities for `chunks` out of `all` chunks of a run, which are assumed to
    /// write equal amounts.
    pub(super) fn reserve_share(&self, run: &mut Invocation, (chunks, all): (usize, usize)) {
        for (k, elements) in self.0.iter().enumerate() {
            let elements = elements.load(Ordering::Relaxed).saturating_mul(chunks).div_ceil(all);
            if elements > 0 {
                run.reserve(Buffer(k as u32), elements);
            }
        }
    }

    /// Records the numbers of elements after a run.
    pub(super) fn record(&self, used: impl IntoIterator<Item = (Buffer, usize)>) {
        for (buffer, elements) in used {
            self.0[buffer.index()].store(elements, Ordering::Relaxed);
        }
    }
}
