//! Conversion between stored tensors and the dense values of the interpreters of Logic and
//! Notation.

use crate::Target;
use crate::error::Error;
use redpoll_logic::{Alias, Scalar, TensorType};
use redpoll_storage::{Tensor, Values};
use std::sync::Arc;

/// Maximum number of elements of a tensor that is expanded to dense scalars.
const MAX_ELEMENTS: u64 = 10_000_000;

/// Returns all values of a tensor in row-major order of its modes.
pub(super) fn scalars(name: &Alias, tensor: &Tensor, target: Target) -> Result<Vec<Scalar>, Error> {
    check_size(name, tensor.ty(), target)?;
    Ok(tensor.to_dense_scalars()?)
}

/// Rejects tensors with more than [`MAX_ELEMENTS`] elements. The padding of blocks counts as
/// elements.
pub(super) fn check_size(name: &Alias, ty: &TensorType, target: Target) -> Result<(), Error> {
    let sizes = ty.format.storage_shape(&ty.shape);
    let elements = sizes.iter().try_fold(1u64, |n, size| n.checked_mul(*size));
    if elements.is_some_and(|n| n <= MAX_ELEMENTS) {
        return Ok(());
    }
    Err(Error::TooLarge { tensor: name.clone(), shape: ty.shape.clone(), target })
}

/// Returns the tensor of the given values, in row-major order of its modes.
pub(super) fn tensor(ty: &Arc<TensorType>, scalars: &[Scalar]) -> Result<Tensor, Error> {
    let values = Values::from_scalars(ty.dtype.clone(), scalars)?;
    Ok(Tensor::from_dense(ty.clone(), &values)?)
}
