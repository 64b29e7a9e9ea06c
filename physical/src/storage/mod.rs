//! Tensors over Arrow buffers: a type and the arrays of its levels and its leaf.
//!
//! A [`Tensor`] is a [`TensorType`], the arrays of each level, outermost first, and one array of values for each
//! primitive of the dtype (none for a pattern leaf). What the arrays of a level mean is known to the level's own file in
//! [`crate::levels`]; this module knows tensors as a whole: validated construction, triples, conversion, Arrow exchange.

mod array;

pub use array::Array;

use redpoll_logic::TensorType;
use std::sync::Arc;

/// A tensor: a type and its arrays. Cloning shares the buffers.
#[derive(Clone, Debug)]
pub struct Tensor {
    ty: Arc<TensorType>,
    levels: Vec<Vec<Array>>,
    leaf: Vec<Array>,
}

impl Tensor {
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
}
