//! Copies of tensors in other formats, kept for later runs.
//!
//! A plan that reads an input in another format converts the input first. If the same tensor is
//! converted to the same format again, the copy is kept, and later runs share it. A single
//! conversion keeps nothing. The copies of a tensor are dropped with the last clone of the tensor.
//! If the memory limit is reached, copies are evicted, the least recently read copy first.

use crate::convert::convert_within;
use crate::error::Error;
use crate::{Evictable, MemoryBudget, Tensor};
use redpoll_logic::Format;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

/// The copies of a tensor, one for each format to which it was converted.
#[derive(Default)]
pub(crate) struct ConvertedCopies(Mutex<Vec<ConvertedCopy>>);

/// A copy of a tensor, or the record of its first conversion to a format.
struct ConvertedCopy {
    format: Format,
    /// The time of the first conversion, or of the last search for the copy since then. Times are
    /// numbers of [`next_time`].
    last_read: u64,
    /// `None` after the first conversion, and after an eviction.
    tensor: Option<Tensor>,
}

/// The tensors whose copies are kept, and the budget to which the copies are charged.
#[derive(Debug)]
pub struct KeptCopies {
    sources: Mutex<Vec<Weak<ConvertedCopies>>>,
    budget: Arc<MemoryBudget>,
}

/// Returns a larger number at every call.
fn next_time() -> u64 {
    static CLOCK: AtomicU64 = AtomicU64::new(0);
    CLOCK.fetch_add(1, Ordering::Relaxed)
}

impl ConvertedCopies {
    /// Returns the kept copy in a format and records the read; `None` if no copy is kept.
    fn find(&self, format: &Format) -> Option<Tensor> {
        let mut copies = self.locked();
        let copy = copies.iter_mut().find(|copy| copy.format == *format)?;
        copy.last_read = next_time();
        copy.tensor.clone()
    }

    /// Returns whether the tensor was converted to the format before.
    fn is_recorded(&self, format: &Format) -> bool {
        self.locked().iter().any(|copy| copy.format == *format)
    }

    /// Records a conversion whose result is not kept.
    fn record(&self, format: &Format) {
        let mut copies = self.locked();
        if !copies.iter().any(|copy| copy.format == *format) {
            copies.push(ConvertedCopy { format: format.clone(), last_read: next_time(), tensor: None });
        }
    }

    /// Keeps a copy, whose format must have been recorded.
    fn keep(&self, copy: &Tensor) {
        let mut copies = self.locked();
        let recorded = copies.iter_mut().find(|recorded| recorded.format == copy.ty().format);
        recorded.into_iter().for_each(|recorded| recorded.tensor = Some(copy.clone()));
    }

    /// Returns the time of the last read of the kept copy that was read least recently; `None` if
    /// no copy is kept.
    fn oldest(&self) -> Option<u64> {
        self.locked().iter().filter(|copy| copy.tensor.is_some()).map(|copy| copy.last_read).min()
    }

    /// Drops the copy whose last read was at this time; returns whether the copy was still kept.
    fn drop_copy(&self, time: u64) -> bool {
        let copy = self.locked().iter_mut().find(|copy| copy.last_read == time).and_then(|copy| copy.tensor.take());
        copy.is_some()
    }

    fn locked(&self) -> MutexGuard<'_, Vec<ConvertedCopy>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl KeptCopies {
    /// Returns an empty set of copies. The budget is charged for the copies, and evicts them when
    /// memory is needed.
    pub fn within(budget: &Arc<MemoryBudget>) -> Arc<KeptCopies> {
        let copies = Arc::new(KeptCopies { sources: Mutex::default(), budget: budget.clone() });
        let evictable: Weak<KeptCopies> = Arc::downgrade(&copies);
        budget.evict_from(evictable);
        copies
    }

    /// Returns the tensor in another format: the kept copy if there is one, or else the result of
    /// [`convert_within`]. A copy that is kept is charged to the budget of the set, because it
    /// outlives the run, and any other copy to `memory`.
    ///
    /// # Errors
    /// Like [`convert_within`].
    pub fn convert_within(
        &self,
        tensor: &Tensor,
        format: &Format,
        memory: &Arc<MemoryBudget>,
    ) -> Result<Tensor, Error> {
        if tensor.ty().format == *format {
            return Ok(tensor.clone());
        }
        if let Some(kept) = tensor.copies.find(format) {
            return Ok(kept);
        }
        if tensor.copies.is_recorded(format)
            && let Ok(copy) = convert_within(tensor, format, &self.budget)
        {
            self.register(&tensor.copies);
            tensor.copies.keep(&copy);
            return Ok(copy);
        }
        let converted = convert_within(tensor, format, memory)?;
        tensor.copies.record(format);
        Ok(converted)
    }

    /// Adds the copies of a tensor to the copies that may be evicted.
    fn register(&self, copies: &Arc<ConvertedCopies>) {
        let mut sources = self.locked();
        sources.retain(|source| source.strong_count() > 0);
        let source = Arc::downgrade(copies);
        if !sources.iter().any(|other| other.ptr_eq(&source)) {
            sources.push(source);
        }
    }

    fn locked(&self) -> MutexGuard<'_, Vec<Weak<ConvertedCopies>>> {
        self.sources.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Evictable for KeptCopies {
    fn evict(&self) -> bool {
        // The lock is released before tensors are dropped.
        let sources: Vec<Arc<ConvertedCopies>> = self.locked().iter().filter_map(Weak::upgrade).collect();
        let oldest =
            || sources.iter().filter_map(|source| Some((source.oldest()?, source))).min_by_key(|(time, _)| *time);
        // Another thread may read or evict the copy that was found; then the search is repeated.
        while let Some((time, source)) = oldest() {
            if source.drop_copy(time) {
                return true;
            }
        }
        false
    }
}

impl fmt::Debug for ConvertedCopies {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.locked().iter().map(|copy| &copy.format)).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Account;
    use redpoll_logic::{DType, Scalar, TensorType};

    fn matrix() -> Tensor {
        let ty = TensorType { shape: vec![2, 3], dtype: DType::F64, fill: Scalar::F64(0.0), format: Format::csr() };
        Tensor::from_dense(ty, &vec![0.0, 1.0, 2.0, 0.0, 0.0, 3.0].into()).unwrap()
    }

    /// Returns the address of the values of a tensor.
    fn address(tensor: &Tensor) -> *const u8 {
        tensor.leaf()[0].buffer().as_ptr()
    }

    /// The result of the second conversion is kept, and the third conversion shares it. Other
    /// formats have copies of their own.
    #[test]
    fn the_second_copy_is_kept() {
        let (matrix, memory) = (matrix(), Arc::new(MemoryBudget::new(usize::MAX)));
        let copies = KeptCopies::within(&memory);
        let convert = |format: &Format| copies.convert_within(&matrix, format, &memory).unwrap();
        let [first, second, third] = [(); 3].map(|()| convert(&Format::csc()));
        assert_ne!(address(&first), address(&second));
        assert_eq!(address(&second), address(&third));
        assert_eq!(third.to_dense_scalars().unwrap(), matrix.to_dense_scalars().unwrap());
        assert_eq!(convert(&Format::csr()).identity(), matrix.identity());
        assert_eq!(convert(&Format::coo(2)).ty().format, Format::coo(2));
    }

    /// Copies are freed with their tensor, and evicted if memory is needed.
    #[test]
    fn copies_are_freed() {
        let memory = Arc::new(MemoryBudget::new(100_000));
        let copies = KeptCopies::within(&memory);
        let matrix = matrix();
        let run = Arc::new(MemoryBudget::new(usize::MAX));
        let convert = |format: &Format| copies.convert_within(&matrix, format, &run).unwrap();
        for format in [Format::csc(), Format::coo(2)] {
            convert(&format);
            convert(&format);
        }
        let both = memory.used();
        assert!(copies.evict(), "csc was read first");
        let kept = address(&convert(&Format::coo(2)));
        assert_eq!(address(&convert(&Format::coo(2))), kept);
        assert!(memory.used() < both && memory.used() > 0);
        let rest = memory.limit() - memory.used();
        assert!(memory.charge(rest + 1), "the other copy is evicted");
        memory.release(rest + 1);
        assert!(!copies.evict());
        convert(&Format::csc());
        assert!(memory.used() > 0);
        drop(matrix);
        assert_eq!(memory.used(), 0);
    }
}
