//! The values that the interpreter takes and gives: dense, row-major over storage modes.

use redpoll_logic::{Scalar, StorageMode, TensorType};

/// Values of a tensor, row-major over its storage modes; padding of ragged blocks holds the fill value.
pub type Places = Vec<Scalar>;

/// The values of a tensor that holds `at(coordinates)` at each place.
pub fn places_of(ty: &TensorType, at: &mut dyn FnMut(&[u64]) -> Scalar) -> Places {
    let sizes = ty.format.storage_shape(&ty.shape);
    let count: u64 = sizes.iter().product();
    (0..count)
        .map(|place| {
            let (mut rest, mut coordinates) = (place, vec![0; ty.shape.len()]);
            for (mode, size) in ty.format.modes.iter().zip(&sizes).rev() {
                let c = rest % size;
                rest /= size;
                match *mode {
                    StorageMode::Whole { mode } | StorageMode::Inner { mode, .. } => coordinates[mode] += c,
                    StorageMode::Outer { mode, block } => coordinates[mode] += c * block,
                }
            }
            let padding = coordinates.iter().zip(&ty.shape).any(|(c, n)| c >= n);
            if padding { ty.fill.clone() } else { at(&coordinates) }
        })
        .collect()
}

/// Where the value at the given coordinates stands.
///
/// # Panics
/// When a coordinate is out of bounds.
pub fn place_of(ty: &TensorType, coordinates: &[u64]) -> usize {
    assert!(coordinates.iter().zip(&ty.shape).all(|(c, n)| c < n), "{coordinates:?} lies in {:?}", ty.shape);
    let sizes = ty.format.storage_shape(&ty.shape);
    let place = ty.format.modes.iter().zip(sizes).fold(0, |place, (m, n)| place * n + m.coordinate(coordinates));
    place as usize
}
