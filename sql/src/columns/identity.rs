//! The identity of columns: the addresses of their arrays. Arrays are immutable, so a column with
//! the same addresses has the same values, while the arrays are alive.

use datafusion::arrow::array::{Array, ArrayRef};
use std::sync::{Arc, Weak};

/// The identity of columns in chunks: the addresses of their arrays.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct ColumnIdentity(Vec<usize>);

impl ColumnIdentity {
    /// Returns the identity of the columns of all chunks.
    pub(super) fn of<'a>(chunks: impl Iterator<Item = &'a ArrayRef>) -> ColumnIdentity {
        ColumnIdentity(chunks.map(|array| Arc::as_ptr(array).cast::<()>() as usize).collect())
    }
}

/// Weak references to the arrays of columns. The references do not keep the arrays alive, but while
/// the references exist, no other array gets the addresses of these arrays.
#[derive(Clone, Debug)]
pub(super) struct WeakColumns(Vec<Weak<dyn Array>>);

impl WeakColumns {
    /// Returns weak references to the columns of all chunks.
    pub(super) fn of<'a>(chunks: impl Iterator<Item = &'a ArrayRef>) -> WeakColumns {
        WeakColumns(chunks.map(Arc::downgrade).collect())
    }

    /// Returns whether all columns are still alive.
    pub(super) fn are_alive(&self) -> bool {
        self.0.iter().all(|array| array.strong_count() > 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use datafusion::arrow::array::{Int64Array, new_empty_array};
    use datafusion::arrow::datatypes::DataType;

    /// Clones of an array are the same column; other arrays are not, even if they have no rows.
    #[test]
    fn columns_are_identified_by_their_arrays() {
        let identity = |array: &ArrayRef| ColumnIdentity::of([array].into_iter());
        let integers = || -> ArrayRef { Arc::new(Int64Array::from(vec![Some(1), None])) };
        let (a, b) = (integers(), integers());
        assert_eq!(identity(&a), identity(&a.clone()));
        assert_ne!(identity(&a), identity(&b));
        let (c, d) = (new_empty_array(&DataType::Int64), new_empty_array(&DataType::Utf8View));
        assert_ne!(identity(&c), identity(&d));
        let weak = WeakColumns::of([&a, &b].into_iter());
        assert!(weak.are_alive());
        drop(b);
        assert!(!weak.are_alive());
    }
}
