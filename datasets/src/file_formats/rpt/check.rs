//! A bound on the work of validating a file, which is necessary because few bytes can describe very
//! many elements.

use crate::content::element_count;
use crate::error::{Count, Fault};
use crate::memory::{Memory, bytes_of};
use redpoll_logic::TensorType;
use redpoll_storage::levels::level;

/// Number of elements that validation may enumerate even in the smallest file.
const MIN_ELEMENTS: u64 = 1 << 26;

/// Number of elements that validation may enumerate for each byte of the arrays.
const ELEMENTS_PER_BYTE: u64 = 64;

/// Checks that the number of elements that validation enumerates is small, or in proportion to the
/// size of the arrays. Charges `memory` for the coordinates that validation collects.
///
/// A run has many elements for one entry of its arrays; elements outside of runs have one entry
/// each. Validation enumerates the elements of tensors with padding, and of tensors with a level
/// that is neither unique nor ordered, because such a level may repeat coordinates.
pub(super) fn check_work(ty: &TensorType, bytes: u64, memory: &Memory) -> Result<(), Fault> {
    let format = &ty.format;
    let has_runs = format.levels.iter().any(|l| level(l.kind).as_runs().is_some());
    let may_repeat = !format.levels.iter().all(|l| l.unique || l.ordered);
    let elements = element_count(&format.storage_shape(&ty.shape));
    let limit = bytes.saturating_mul(ELEMENTS_PER_BYTE).max(MIN_ELEMENTS);
    if has_runs && (format.has_padding(&ty.shape) || may_repeat) && elements.is_none_or(|n| n > limit) {
        return Err(Fault::TooLarge {
            quantity: "the number of elements of this format",
            size: Count(elements),
            limit,
        });
    }
    if may_repeat {
        // The coordinates of each element are a vector, in a list that grows to twice its size.
        let elements = if has_runs { elements.unwrap_or(u64::MAX).min(limit) } else { bytes };
        let element_bytes = 2 * size_of::<Vec<u64>>() + size_of_val(&*ty.shape);
        memory.charge("coordinates", bytes_of(usize::try_from(elements).unwrap_or(usize::MAX), element_bytes))?;
    }
    Ok(())
}
