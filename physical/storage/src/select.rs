//! Selection of stored elements by a mask that is stored at the same coordinates.

use crate::error::Error;
use crate::{Array, Tensor, Values};
use redpoll_logic::{DType, Format, LeafKind, Scalar, WriteMethod};

impl Tensor {
    /// Returns whether a walk visits the stored elements in row-major order.
    pub fn is_row_major(&self) -> bool {
        let format = &self.ty.format;
        format.modes == Format::dense(self.ty.shape.len()).modes && format.levels.iter().all(|level| level.ordered)
    }

    /// Returns the values of the elements at which a mask is true, in row-major order. Returns
    /// `None` unless the mask is boolean and is false at coordinates that are not stored. Also
    /// returns `None` unless both tensors have values, one for each stored element, in row-major
    /// order, and share the arrays of their levels. For example, the result of an elementwise query
    /// shares the arrays of its operand.
    ///
    /// # Errors
    /// Those of [`Tensor::fetch`] and [`Tensor::check_files`], and when memory is exhausted.
    pub fn values_where(&self, mask: &Tensor) -> Result<Option<Values>, Error> {
        let is_comparable = mask.ty.dtype == DType::BOOL
            && self.ty.shape == mask.ty.shape
            && self.ty.format == mask.ty.format
            && self.ty.format.leaf == LeafKind::Element
            && (mask.ty.fill == Scalar::Bool(false) || self.ty.format.is_dense())
            && self.is_row_major()
            && self.has_positions_in_order();
        if !is_comparable {
            return Ok(None);
        }
        self.fetch()?;
        mask.fetch()?;
        let levels = |tensor: &Tensor| tensor.levels.iter().flatten().map(location).collect::<Vec<_>>();
        let (Some(len), true) = (self.exact_positions(), levels(self) == levels(mask)) else { return Ok(None) };
        let flags = &mask.leaf[0].bools().expect("the mask has dtype bool")[..len];
        let selected = flags.iter().filter(|flag| **flag == 1).count();
        let mut positions = crate::array::reserved_vec(selected)?;
        positions.extend((0u64..).zip(flags).filter(|(_, flag)| **flag == 1).map(|(p, _)| p));
        let values = self.values_at(&positions)?;
        self.check_files()?;
        mask.check_files()?;
        Ok(Some(values))
    }

    /// Returns whether each level takes writes by [`WriteMethod::Append`] or
    /// [`WriteMethod::Array`]. The positions of such levels ascend with their coordinates.
    fn has_positions_in_order(&self) -> bool {
        let is_in_order = |writes: WriteMethod| matches!(writes, WriteMethod::Append | WriteMethod::Array);
        self.ty.format.levels.iter().all(|level| is_in_order(level.kind.traits().writes))
    }
}

/// Returns the address and the length of an array. Arrays with equal results share their memory.
fn location(array: &Array) -> (*const u8, usize) {
    (array.buffer().as_ptr(), array.len())
}
