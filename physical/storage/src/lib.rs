//! Tensors over Arrow buffers: a type, and the arrays of the levels and the leaf.
//!
//! A [`Tensor`] is a [`TensorType`], the arrays of each level, outermost first, and one array of
//! values for each primitive of the dtype (none for a pattern leaf). The file of a level kind in
//! [`levels`] defines the meaning of its arrays. Most other modules handle whole tensors:
//! construction, triples, conversion, iteration, text, exchange with Arrow, statistics.
//!
//! The crate also defines arrays on devices and in files, the accounts to which memory is charged
//! ([`MemoryBudget`]), and the outcomes of calls of kernels ([`Status`]).

mod array;
mod assemble;
mod convert;
mod copies;
mod device_bytes;
mod display;
mod error;
mod exchange;
mod file_array;
mod footprint;
mod histogram;
pub mod levels;
mod links;
mod measure;
mod memory;
mod position_counter;
mod rearrange;
mod run_end;
mod select;
mod sort;
mod statistics_cache;
mod status;
mod stored_blocks;
mod structure;
mod summary;
#[cfg(any(test, feature = "testing"))]
#[doc(hidden)]
pub mod testing;
#[cfg(test)]
mod tests;
mod triples;
mod validate;
mod values;
mod walk;

pub use array::{Array, Element};
pub(crate) use array::{Indices, filled_vec};
pub use convert::{convert, convert_within};
pub use copies::KeptCopies;
pub use device_bytes::{DeviceBuffer, DeviceBytes};
pub use error::Error;
pub use exchange::{Import, NullPolicy, arrow_type, dtype_of_arrow};
pub use file_array::{ArrayLoader, DeferredBytes, SourceFile};
pub use footprint::Survey;
pub use histogram::{Histogram, SequenceLengths};
pub use links::estimate_pairs;
pub use memory::{Account, Evictable, MemoryBudget, charge_buffer};
pub use position_counter::PositionCounter;
pub use sort::order_of_numbers;
pub use statistics_cache::Links;
pub use status::Status;
pub use stored_blocks::{BlockBounds, BlockPartition, StoredBlocks};
pub use structure::{FiberCounts, MatrixStructure, MatrixSymmetry, Structure};
pub use triples::{Duplicates, Triples};
pub use values::Values;

use crate::levels::{ArrayClass, LevelData, level};
use copies::ConvertedCopies;
use redpoll_logic::{Format, Scalar, Special, TensorType};
use statistics_cache::StatisticsCache;
use std::sync::{Arc, OnceLock, Weak};

/// A tensor: a type and its arrays. Cloning shares the buffers.
#[derive(Clone, Debug)]
pub struct Tensor {
    ty: Arc<TensorType>,
    levels: Vec<Vec<Array>>,
    leaf: Vec<Array>,
    statistics: Arc<StatisticsCache>,
    /// The special values among the stored values, once they have been searched for or recorded.
    special: Arc<OnceLock<Special>>,
    /// The copies in other formats that are kept for later conversions.
    copies: Arc<ConvertedCopies>,
}

/// The identity of the data that a tensor and its clones share. An identity does not keep the data
/// alive.
#[derive(Clone, Debug)]
pub struct TensorIdentity(Weak<StatisticsCache>);

impl PartialEq for TensorIdentity {
    fn eq(&self, other: &TensorIdentity) -> bool {
        self.0.ptr_eq(&other.0)
    }
}

impl Eq for TensorIdentity {}

impl Tensor {
    /// Returns the identity of the tensor's data. No other data ever have the same identity.
    pub fn identity(&self) -> TensorIdentity {
        TensorIdentity(Arc::downgrade(&self.statistics))
    }

    /// Returns a tensor of rank 0 whose fill value is the value itself.
    ///
    /// Plans thus know the value: the sum of the scalar and a sparse tensor is a sparse tensor with
    /// another fill value. A fill value is part of the type, and each type has its own plan. For a
    /// value that changes between runs, such as a counter, use a dense tensor of rank 0 with a
    /// constant fill value, which needs only one plan.
    ///
    /// # Errors
    /// When the value cannot be allocated.
    pub fn scalar(value: &Scalar) -> Result<Tensor, Error> {
        let ty = TensorType { shape: Vec::new(), dtype: value.dtype(), fill: value.clone(), format: Format::dense(0) };
        Tensor::constant(Arc::new(ty), value)
    }

    /// Returns a tensor of rank 0 with the given type and value. The value may differ from the fill
    /// value.
    ///
    /// # Errors
    /// When the value cannot be allocated.
    ///
    /// # Panics
    /// If the type is not of rank 0, or has another dtype than the value.
    pub fn constant(ty: Arc<TensorType>, value: &Scalar) -> Result<Tensor, Error> {
        assert!(ty.shape.is_empty() && ty.dtype == value.dtype(), "{value} is no value of {ty:?}");
        let leaf = value.flatten().iter().map(|part| Array::filled(part, 1)).collect::<Result<_, _>>()?;
        Ok(Tensor::of_parts(ty, Vec::new(), leaf))
    }

    /// Returns a tensor that has not been validated.
    fn of_parts(ty: Arc<TensorType>, levels: Vec<Vec<Array>>, leaf: Vec<Array>) -> Tensor {
        Tensor { ty, levels, leaf, statistics: Arc::default(), special: Arc::default(), copies: Arc::default() }
    }

    /// Returns the type: shape, dtype, fill value and format.
    pub fn ty(&self) -> &Arc<TensorType> {
        &self.ty
    }

    /// Returns the arrays of each level, outermost first, in the order of
    /// [`crate::levels::Level::arrays`].
    pub fn levels(&self) -> &[Vec<Array>] {
        &self.levels
    }

    /// Returns the values, one array for each primitive of the dtype; none for a pattern leaf.
    pub fn leaf(&self) -> &[Array] {
        &self.leaf
    }

    /// Returns all arrays: those of the levels, outermost first, then the values.
    pub fn arrays(&self) -> impl Iterator<Item = &Array> {
        self.levels.iter().flatten().chain(&self.leaf)
    }

    /// Copies to the host the arrays that were left on a device, and loads those that are in a
    /// file. Mapped arrays stay in their file.
    ///
    /// Operations that read elements copy and load arrays in the same way. If that fails,
    /// conversions, exports, counts and reads return the error of this function, statistics are
    /// unknown, and element access of [`Array`]s panics.
    ///
    /// # Errors
    /// [`Error::OnDevice`] with the error of the device, [`Error::InFile`] with that of the file.
    pub fn fetch(&self) -> Result<(), Error> {
        self.load_files()?;
        if !self.is_on_host() {
            self.arrays().filter_map(Array::device_bytes).try_for_each(|bytes| bytes.fetch().map(drop))?;
            self.assert_valid();
        }
        Ok(())
    }

    /// Loads the arrays that are in a file, as [`Tensor::fetch`] does.
    ///
    /// # Errors
    /// [`Error::InFile`] with the error of the file.
    pub fn load_files(&self) -> Result<(), Error> {
        self.arrays().try_for_each(Array::load)
    }

    /// Checks that the files of mapped arrays have not changed since they were opened. A result
    /// that was computed from a tensor is valid if this check succeeds afterwards.
    ///
    /// # Errors
    /// [`Error::InFile`] if a part of a file is lost, or a file has changed.
    pub fn check_files(&self) -> Result<(), Error> {
        self.arrays().try_for_each(Array::check_file)
    }

    /// Copies to the host the arrays that give the number of positions before a coordinate of the
    /// outermost level. These are the arrays of that level, all arrays of positions, such as the
    /// ends of lists, and all bit maps. Loads all arrays that are in a file, as [`Tensor::fetch`]
    /// does.
    ///
    /// # Errors
    /// Those of [`Tensor::fetch`].
    pub fn fetch_ends(&self) -> Result<(), Error> {
        self.fetch_where(|k, class| k == 0 || matches!(class, ArrayClass::Position | ArrayClass::Word))
    }

    /// Copies the arrays of all levels to the host, but not the values. Loads all arrays that are
    /// in a file, values included.
    pub(crate) fn fetch_levels(&self) -> Result<(), Error> {
        self.fetch_where(|_, _| true)
    }

    /// Copies to the host the arrays of levels that `is_selected` accepts by level number and
    /// class. Loads all arrays that are in a file, values included.
    fn fetch_where(&self, is_selected: impl Fn(usize, ArrayClass) -> bool) -> Result<(), Error> {
        self.load_files()?;
        for (k, (format, arrays)) in self.ty.format.levels.iter().zip(&self.levels).enumerate() {
            let specs = level(format.kind).arrays().iter().zip(arrays).filter(|(spec, _)| is_selected(k, spec.class));
            specs.filter_map(|(_, array)| array.device_bytes()).try_for_each(|bytes| bytes.fetch().map(drop))?;
        }
        Ok(())
    }

    /// Returns whether all arrays on devices have been copied to the host. An array in a file
    /// counts as an array on the host.
    pub fn is_on_host(&self) -> bool {
        self.arrays().filter_map(Array::device_bytes).all(|bytes| bytes.is_on_host())
    }

    /// Returns level `k`: format, dimension and arrays.
    pub fn level(&self, k: usize) -> LevelData<'_> {
        let ty = &self.ty;
        LevelData {
            format: ty.format.levels[k],
            dimension: ty.format.modes[k].dimension(&ty.shape),
            arrays: &self.levels[k],
        }
    }
}
