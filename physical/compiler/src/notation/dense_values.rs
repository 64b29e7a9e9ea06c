//! The values that the interpreter takes and returns: dense, row-major over storage modes.

use redpoll_logic::{Scalar, TensorType};

/// The values of a tensor, row-major over its storage modes; padding has the fill value.
pub type DenseValues = Vec<Scalar>;

/// Returns the values of a tensor whose value at each coordinate is `at(coordinates)`.
pub fn dense_values(ty: &TensorType, at: &mut dyn FnMut(&[u64]) -> Scalar) -> DenseValues {
    let sizes = ty.format.storage_shape(&ty.shape);
    let count: u64 = sizes.iter().product();
    (0..count)
        .map(|index| {
            let (mut rest, mut coordinates) = (index, vec![0; ty.shape.len()]);
            let mut storage = vec![0; sizes.len()];
            for (storage, size) in storage.iter_mut().zip(&sizes).rev() {
                let c = rest % size;
                rest /= size;
                *storage = c;
            }
            ty.format.tensor_coordinates(&ty.shape, &storage, &mut coordinates);
            let padding = coordinates.iter().zip(&ty.shape).any(|(c, n)| c >= n);
            if padding { ty.fill.clone() } else { at(&coordinates) }
        })
        .collect()
}

/// Returns the index of the value at the given coordinates.
///
/// # Panics
/// When a coordinate is out of bounds.
pub fn value_index(ty: &TensorType, coordinates: &[u64]) -> usize {
    assert!(
        coordinates.iter().zip(&ty.shape).all(|(c, n)| c < n),
        "{coordinates:?} must be in bounds of {:?}",
        ty.shape
    );
    let sizes = ty.format.storage_shape(&ty.shape);
    let index =
        ty.format.modes.iter().zip(sizes).fold(0, |index, (m, n)| index * n + m.coordinate(&ty.shape, coordinates));
    index as usize
}
