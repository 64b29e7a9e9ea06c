//! The columns and codes that a session keeps. The memory of columns and codes is reserved in the
//! session's pool, up to the capacity that `cache_capacity` allows for each cache of the session.
//! The least recently used columns and codes are dropped first.

use super::file_table::FileVersion;
use super::identity::{ColumnIdentity, WeakColumns};
use crate::encode::EncodedColumns;
use datafusion::arrow::array::ArrayRef;
use datafusion::common::HashMap;
use datafusion::execution::memory_pool::{MemoryConsumer, MemoryPool, MemoryReservation};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The columns and codes of a session.
#[derive(Debug, Default)]
pub(crate) struct ColumnStore(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    entries: HashMap<Key, Entry>,
    /// The sum of the bytes of all entries.
    bytes: usize,
    /// The number of lookups and insertions so far: the clock of [`Entry::last_use`].
    uses: u64,
    /// For columns without codes, the number of rows that regions have encoded for themselves.
    encoded_rows: HashMap<ColumnIdentity, usize>,
}

/// The id of a table of files in this process.
pub(super) type TableId = u64;

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
enum Key {
    /// A column of a table of files.
    File(TableId, usize),
    /// The codes of columns.
    Codes(ColumnIdentity),
}

#[derive(Debug)]
struct Entry {
    content: Content,
    bytes: usize,
    last_use: u64,
}

#[derive(Clone, Debug)]
enum Content {
    File(Arc<FileVersion>, Arc<FileColumn>),
    Codes(Arc<ColumnCodes>),
}

/// A column of a table of files, in one array. The memory of the column stays reserved while the
/// column is used.
#[derive(Debug)]
pub(super) struct FileColumn {
    pub(super) array: ArrayRef,
    _reserved: MemoryReservation,
}

/// The codes of columns of a table. The memory of codes that the session keeps stays reserved while
/// the codes are used.
#[derive(Debug)]
pub struct ColumnCodes {
    /// The codes and their domain.
    pub(crate) encoded: EncodedColumns,
    columns: WeakColumns,
    /// The reserved memory; `None` if the limit leaves no room for the codes.
    reserved: Option<MemoryReservation>,
}

impl ColumnCodes {
    /// Returns whether the session keeps the codes, and has reserved their memory.
    pub(crate) fn are_kept(&self) -> bool {
        self.reserved.is_some()
    }
}

/// The largest number of columns whose encoded rows are counted. When this number is reached, all
/// counts are dropped.
const MAX_COUNTED: usize = 1024;

impl ColumnStore {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns a column of a table of files in the given version. A kept column of another version
    /// is dropped.
    pub(super) fn file_column(&self, table: TableId, version: &FileVersion, column: usize) -> Option<Arc<FileColumn>> {
        let (mut state, key) = (self.lock(), Key::File(table, column));
        match state.find(&key)? {
            Content::File(kept, column) if *kept == *version => Some(column),
            _ => {
                state.remove(&key);
                None
            }
        }
    }

    /// Keeps a column of a table of files, and returns it; `None` if the limit leaves no room.
    pub(super) fn insert_file_column(
        &self,
        (table, column): (TableId, usize),
        version: &Arc<FileVersion>,
        array: ArrayRef,
        pool: &Arc<dyn MemoryPool>,
    ) -> Option<Arc<FileColumn>> {
        let bytes = array.get_array_memory_size();
        let mut state = self.lock();
        let reserved = state.reserve(bytes, pool)?;
        let column_values = Arc::new(FileColumn { array, _reserved: reserved });
        state.insert(Key::File(table, column), Content::File(version.clone(), column_values.clone()), bytes);
        Some(column_values)
    }

    /// Drops the columns of a table of files.
    pub(super) fn remove_table(&self, table: TableId) {
        let mut state = self.lock();
        let keys: Vec<Key> =
            state.entries.keys().filter(|key| matches!(key, Key::File(t, _) if *t == table)).cloned().collect();
        keys.iter().for_each(|key| state.remove(key));
    }

    /// Returns the codes of columns, if the session keeps them.
    pub(super) fn codes(&self, columns: &ColumnIdentity) -> Option<Arc<ColumnCodes>> {
        match self.lock().find(&Key::Codes(columns.clone()))? {
            Content::Codes(codes) => Some(codes),
            Content::File(..) => None,
        }
    }

    /// Counts `rows` rows that a region reads, and returns whether columns of `total_rows` rows
    /// shall be encoded as a whole. A region that reads a few rows encodes only these rows, until
    /// regions have encoded as many rows in total as the table has.
    pub(super) fn shall_encode(&self, columns: &ColumnIdentity, rows: usize, total_rows: usize) -> bool {
        let mut state = self.lock();
        if state.encoded_rows.len() >= MAX_COUNTED {
            state.encoded_rows.clear();
        }
        let encoded = state.encoded_rows.entry(columns.clone()).or_default();
        *encoded = encoded.saturating_add(rows);
        *encoded >= total_rows
    }

    /// Keeps the codes of columns if the limit leaves room, and returns them.
    pub(super) fn insert_codes(
        &self,
        identity: ColumnIdentity,
        columns: WeakColumns,
        encoded: EncodedColumns,
        pool: &Arc<dyn MemoryPool>,
    ) -> Arc<ColumnCodes> {
        let bytes = encoded.bytes();
        let mut state = self.lock();
        state.encoded_rows.remove(&identity);
        state.remove_dead_columns();
        let reserved = state.reserve(bytes, pool);
        let codes = Arc::new(ColumnCodes { encoded, columns, reserved });
        if codes.are_kept() {
            state.insert(Key::Codes(identity), Content::Codes(codes.clone()), bytes);
        }
        codes
    }

    /// Drops the least recently used entry; returns `false` if there is no entry.
    pub(crate) fn evict_oldest(&self) -> bool {
        self.lock().evict_oldest()
    }
}

impl State {
    /// Returns an entry and records its use.
    fn find(&mut self, key: &Key) -> Option<Content> {
        self.uses += 1;
        let entry = self.entries.get_mut(key)?;
        entry.last_use = self.uses;
        Some(entry.content.clone())
    }

    fn insert(&mut self, key: Key, content: Content, bytes: usize) {
        self.remove(&key);
        self.uses += 1;
        self.bytes += bytes;
        self.entries.insert(key, Entry { content, bytes, last_use: self.uses });
    }

    fn remove(&mut self, key: &Key) {
        if let Some(entry) = self.entries.remove(key) {
            self.bytes -= entry.bytes;
        }
    }

    /// Drops the codes of columns that no longer exist.
    fn remove_dead_columns(&mut self) {
        let is_dead = |entry: &Entry| matches!(&entry.content, Content::Codes(codes) if !codes.columns.are_alive());
        let dead = self.entries.iter().filter(|(_, entry)| is_dead(entry)).map(|(key, _)| key.clone());
        dead.collect::<Vec<Key>>().iter().for_each(|key| self.remove(key));
    }

    fn evict_oldest(&mut self) -> bool {
        let oldest = self.entries.iter().min_by_key(|(_, entry)| entry.last_use).map(|(key, _)| key.clone());
        oldest.inspect(|key| self.remove(key)).is_some()
    }

    /// Reserves memory for an entry, and drops other entries to make room; returns `None` if the
    /// entry exceeds the capacity, or there is not enough memory.
    fn reserve(&mut self, bytes: usize, pool: &Arc<dyn MemoryPool>) -> Option<MemoryReservation> {
        let capacity = crate::memory::cache_capacity(&pool.memory_limit());
        if bytes > capacity {
            return None;
        }
        while self.bytes + bytes > capacity && self.evict_oldest() {}
        let reservation = MemoryConsumer::new("redpoll: columns of tables").register(pool);
        while reservation.try_grow(bytes).is_err() {
            if !self.evict_oldest() {
                return None;
            }
        }
        Some(reservation)
    }
}
