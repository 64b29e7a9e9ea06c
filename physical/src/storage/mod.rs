//! Tensors over Arrow buffers: a type and the arrays of its levels and its leaf.
//!
//! A [`Tensor`] is a [`TensorType`], the arrays of each level, outermost first, and one array of values for each
//! primitive of the dtype (none for a pattern leaf). What the arrays of a level mean is known to the level's own file in
//! [`crate::levels`]; this module knows tensors as a whole: validated construction, triples, conversion, Arrow exchange.

mod array;
mod assemble;
mod away;
mod convert;
mod exchange;
mod footprint;
mod links;
mod measure;
mod rearrange;
mod run_end;
mod shares;
mod sort;
mod structure;
mod summary;
#[cfg(test)]
mod tests;
mod triples;
mod validate;
mod values;
mod walk;

pub use array::{Array, Element};
pub(crate) use array::{Indices, filled_vec};
pub(crate) use away::{Away, Remote};
pub use convert::{convert, convert_within};
pub use exchange::{Import, NullPolicy, arrow_type, dtype_of_arrow};
pub use footprint::Survey;
pub use links::{Links, connected};
pub(crate) use shares::Stored;
pub use structure::{FiberCounts, MatrixStructure, Structure, Symmetry};
pub use triples::{Duplicates, Triples};
pub use values::Values;

use crate::Error;
use crate::levels::{ArrayClass, LevelData, level};
use crate::special::Special;
use measure::Measures;
use redpoll_logic::{Format, Scalar, TensorType};
use std::sync::{Arc, OnceLock};

/// A tensor: a type and its arrays. Cloning shares the buffers.
#[derive(Clone, Debug)]
pub struct Tensor {
    ty: Arc<TensorType>,
    levels: Vec<Vec<Array>>,
    leaf: Vec<Array>,
    measures: Arc<Measures>,
    /// The special values among what is stored, once they were looked for.
    special: Arc<OnceLock<Special>>,
}

impl Tensor {
    /// A tensor of rank 0. Its value is its fill value, too, so that plans know it: what is added to a sparse tensor becomes
    /// the fill of the sum. Plans are made for types, and a fill value is part of the type; a value that changes from run to
    /// run, such as a counter, is better a dense tensor of rank 0 with a fill value of its own, for which one plan is made.
    ///
    /// # Errors
    /// When there is no memory for one value.
    pub fn scalar(value: &Scalar) -> Result<Tensor, Error> {
        let ty = TensorType { shape: Vec::new(), dtype: value.dtype(), fill: value.clone(), format: Format::dense(0) };
        let leaf = value.flatten().iter().map(|part| Array::filled(part, 1)).collect::<Result<_, _>>()?;
        Ok(Tensor::of_parts(Arc::new(ty), Vec::new(), leaf))
    }

    /// A tensor that is yet to be validated.
    fn of_parts(ty: Arc<TensorType>, levels: Vec<Vec<Array>>, leaf: Vec<Array>) -> Tensor {
        Tensor { ty, levels, leaf, measures: Arc::default(), special: Arc::default() }
    }

    /// Shape, dtype, fill value and format.
    pub fn ty(&self) -> &Arc<TensorType> {
        &self.ty
    }

    /// The arrays of each level, outermost first, in the order that [`crate::levels::Level::arrays`] names them.
    pub fn levels(&self) -> &[Vec<Array>] {
        &self.levels
    }

    /// The values, one array for each primitive of the dtype; none for a pattern leaf.
    pub fn leaf(&self) -> &[Array] {
        &self.leaf
    }

    /// All arrays: those of the levels, outermost first, then the values.
    pub(crate) fn arrays(&self) -> impl Iterator<Item = &Array> {
        self.levels.iter().flatten().chain(&self.leaf)
    }

    /// Brings what was left on a device here. Who looks at elements does so, too: conversions, exports, counts and reads of
    /// places fail then as this does, statistics know nothing, and elements of [`Array`]s panic.
    ///
    /// # Errors
    /// [`Error::Device`] with the words of the driver.
    pub fn fetch(&self) -> Result<(), Error> {
        if !self.is_here() {
            self.arrays().filter_map(Array::away).try_for_each(|away| away.fetch().map(drop))?;
            self.assert_valid();
        }
        Ok(())
    }

    /// As [`Tensor::fetch`], of what tells how many places there are before a coordinate of the outermost level: the ends of
    /// lists, and that level itself.
    pub(crate) fn fetch_ends(&self) -> Result<(), Error> {
        self.fetch_where(|k, class| k == 0 || class == ArrayClass::Position)
    }

    /// As [`Tensor::fetch`], of all but the values.
    pub(crate) fn fetch_levels(&self) -> Result<(), Error> {
        self.fetch_where(|_, _| true)
    }

    /// As [`Tensor::fetch`], of arrays of levels: which, their level and class tell.
    fn fetch_where(&self, wanted: impl Fn(usize, ArrayClass) -> bool) -> Result<(), Error> {
        for (k, (format, arrays)) in self.ty.format.levels.iter().zip(&self.levels).enumerate() {
            let specs = level(format.kind).arrays().iter().zip(arrays).filter(|(spec, _)| wanted(k, spec.class));
            specs.filter_map(|(_, array)| array.away()).try_for_each(|away| away.fetch().map(drop))?;
        }
        Ok(())
    }

    /// Whether all of it is here; else some was left on a device.
    pub fn is_here(&self) -> bool {
        self.arrays().filter_map(Array::away).all(|away| away.is_here())
    }

    /// Level `k`: format, dimension and arrays.
    pub fn level(&self, k: usize) -> LevelData<'_> {
        let ty = &self.ty;
        LevelData {
            format: ty.format.levels[k],
            dimension: ty.format.modes[k].dimension(&ty.shape),
            arrays: &self.levels[k],
        }
    }
}
