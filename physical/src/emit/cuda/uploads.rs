//! Arrays of inputs in the memory of a device: each is put there once, and stays for as long as somebody else has it and there
//! is room.

use crate::Error;
use arrow::buffer::Buffer;
use lru::LruCache;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What is kept, by where it begins and how long it is. An array does not move and its bytes do not change as long as
/// somebody has it, which is the case for those that are kept.
pub(super) struct Uploads<M> {
    kept: Mutex<LruCache<(usize, usize), Upload<M>>>,
    /// The bytes that may be kept.
    limit: usize,
}

struct Upload<M> {
    array: Buffer,
    memory: Arc<M>,
}

impl<M> Uploads<M> {
    /// Nothing so far; arrays are kept as long as they have so many bytes together.
    pub(super) fn of_at_most(limit: usize) -> Uploads<M> {
        Uploads { kept: Mutex::new(LruCache::unbounded()), limit }
    }

    /// The memory of an array, which is put there unless it is. Those that nobody else has leave, and as many of those that
    /// were not asked for longest as there is no room for.
    ///
    /// # Errors
    /// What `put` says.
    pub(super) fn memory(&self, array: &Buffer, put: impl FnOnce(&[u8]) -> Result<M, Error>) -> Result<Arc<M>, Error> {
        let key = (array.as_ptr().addr(), array.len());
        if let Some(upload) = self.locked().get(&key) {
            return Ok(upload.memory.clone());
        }
        self.make_room(array.len());
        // Others may ask meanwhile; of two of one array the later one stays.
        let memory = Arc::new(put(array)?);
        if array.len() <= self.limit {
            self.locked().put(key, Upload { array: array.clone(), memory: memory.clone() });
        }
        Ok(memory)
    }

    fn make_room(&self, bytes: usize) {
        let mut kept = self.locked();
        // Arrays may be parts of one allocation.
        let mut own: HashMap<_, usize> = HashMap::new();
        kept.iter().for_each(|(_, upload)| *own.entry(upload.array.data_ptr()).or_default() += 1);
        let is_gone = |upload: &Upload<M>| upload.array.strong_count() == own[&upload.array.data_ptr()];
        let gone: Vec<_> = kept.iter().filter(|(_, upload)| is_gone(upload)).map(|(key, _)| *key).collect();
        for key in gone {
            kept.pop(&key);
        }
        let mut all: usize = kept.iter().map(|((_, bytes), _)| bytes).sum();
        while all.saturating_add(bytes) > self.limit
            && let Some(((_, left), _)) = kept.pop_lru()
        {
            all -= left;
        }
    }

    /// Gives back all that no launch is using.
    pub(super) fn clear(&self) {
        self.locked().clear();
    }

    fn locked(&self) -> MutexGuard<'_, LruCache<(usize, usize), Upload<M>>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    fn array(bytes: usize) -> Buffer {
        Buffer::from_vec(vec![7u8; bytes])
    }

    /// Protects the time of transfers, and the memory of arrays that are gone.
    #[test]
    fn arrays_are_put_once_while_they_live() {
        let uploads = Uploads::of_at_most(150);
        let puts = Cell::new(0);
        let put = |bytes: &[u8]| {
            puts.set(puts.get() + 1);
            Ok(bytes.to_vec())
        };
        let asked = |array: &Buffer| {
            let before = puts.get();
            assert_eq!(*uploads.memory(array, put).unwrap(), array.as_slice());
            puts.get() > before
        };
        let [a, b, c] = [40, 50, 30].map(array);
        assert!([&a, &b, &a, &b.clone()].map(asked) == [true, true, false, false]);
        assert!(asked(&b.slice(8)), "another array");
        assert!(asked(&c));
        assert!(!asked(&b) && !asked(&c) && asked(&a), "what was not asked for longest left");
        let weak = Arc::downgrade(&uploads.memory(&b, put).unwrap());
        drop(b);
        assert!(weak.upgrade().is_some());
        assert!(asked(&array(1)));
        assert!(weak.upgrade().is_none(), "nobody has it any more");
        assert!(!asked(&a) && !asked(&c));
        let large = array(151);
        assert!(asked(&large) && asked(&large), "it is more than is kept");
        assert!(asked(&c), "all have left for it");
        uploads.clear();
        assert!(asked(&c));
    }

    /// Protects later launches from memory that was not made.
    #[test]
    fn what_fails_is_not_kept() {
        let uploads = Uploads::of_at_most(100);
        let a = array(8);
        let status = crate::assembly::Status::OutOfMemory;
        assert!(uploads.memory(&a, |_| Err::<(), _>(Error::KernelStopped(status))).is_err());
        assert!(uploads.memory(&a, |_| Ok(())).is_ok());
    }
}
