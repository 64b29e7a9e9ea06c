//! Conversion between formats, construction of tensors from dense values, changes of fill values,
//! and charges of tensors to a budget.

use super::assemble::assemble;
use super::rearrange::rearrange;
use super::triples::sorted_entries;
use super::{Account, Array, Duplicates, MemoryBudget, Status, Tensor, Values, charge_buffer};
use crate::Error;
use redpoll_logic::{Format, LeafKind, Scalar, StorageMode, TensorType, plural};
use std::sync::Arc;

/// Converts a tensor to another format with the same shape, dtype, fill value and elements.
/// Unchanged arrays are shared. Stored fill values are kept if the last levels of both formats list
/// their coordinates and the new leaf is not a pattern.
///
/// # Errors
/// Like [`Tensor::fetch`] and [`Tensor::check_files`]. Also when the format does not fit the
/// tensor, or when memory is exhausted.
pub fn convert(tensor: &Tensor, format: &Format) -> Result<Tensor, Error> {
    let converted = convert_arrays(tensor, format)?;
    tensor.check_files()?;
    Ok(match tensor.cached_special() {
        Some(special) => converted.with_special(special),
        None => converted,
    })
}

fn convert_arrays(tensor: &Tensor, format: &Format) -> Result<Tensor, Error> {
    let old = tensor.ty();
    if old.format == *format {
        return Ok(tensor.clone());
    }
    let ty = Arc::new(TensorType { format: format.clone(), ..TensorType::clone(old) });
    ty.validate()?;
    tensor.fetch()?;
    if let Some(leaf) = convert_leaf(tensor, format)? {
        return Ok(Tensor::new_unchecked(ty, tensor.levels.clone(), leaf));
    }
    let in_order = in_order(&old.format, format);
    if let Some(converted) = rearrange(tensor, &ty, in_order)? {
        return Ok(converted);
    }
    let triples = tensor.to_triples()?;
    let (entries, _) = sorted_entries(&ty, &triples, Duplicates::Error, in_order)?;
    assemble(ty, entries)
}

/// Returns the number of trailing modes of the new format by which a conversion need not sort.
/// Entries of the old format that agree in all earlier modes of the new format are certainly sorted
/// by the trailing modes. A transposition of a matrix, for example, sorts by one mode only.
fn in_order(old: &Format, new: &Format) -> usize {
    let is_whole = |mode: &StorageMode| matches!(mode, StorageMode::Whole { .. });
    if !old.levels.iter().all(|l| l.ordered && l.unique) || !old.modes.iter().chain(&new.modes).all(is_whole) {
        return 0;
    }
    let at = |mode: &StorageMode| old.modes.iter().position(|m| m == mode);
    let ascending = new.modes.windows(2).rev().take_while(|pair| at(&pair[0]) < at(&pair[1])).count();
    (ascending + 1).min(new.modes.len().saturating_sub(1))
}

/// Converts a tensor like [`convert`], and charges allocations to the memory budget: the estimated
/// bytes of the entries during the conversion, and the new arrays as long as they live.
///
/// # Errors
/// Like [`convert`]. Also when the budget is exceeded.
pub fn convert_within(tensor: &Tensor, format: &Format, memory: &Arc<MemoryBudget>) -> Result<Tensor, Error> {
    if tensor.ty.format == *format {
        return Ok(tensor.clone());
    }
    tensor.fetch()?;
    // Coordinates and values before and after the sort, two lists of keys, and the order.
    let entry = 16 * tensor.ty.shape.len() + 40 + 2 * tensor.leaf.iter().map(|a| a.prim().bytes()).sum::<usize>();
    let scratch = usize::try_from(tensor.count_stored_on_host()).unwrap_or(usize::MAX).saturating_mul(entry);
    let exceeded = || Error::Stopped(Status::OutOfMemory);
    if !memory.charge(scratch) {
        return Err(exceeded());
    }
    let converted = convert(tensor, format);
    memory.release(scratch);
    let old: Vec<*const u8> = tensor.arrays().map(|a| a.buffer().as_ptr()).collect();
    charge(converted?, memory, |buffer| !old.contains(&buffer)).ok_or_else(exceeded)
}

impl Tensor {
    /// Charges the arrays in memory to the budget as long as they live, and returns the tensor;
    /// `None` if the budget is exceeded. Arrays that are mapped, not yet loaded or only on a device
    /// are not charged.
    #[must_use]
    pub fn charged(self, memory: &Arc<MemoryBudget>) -> Option<Tensor> {
        charge(self, memory, |_| true)
    }
}

/// Charges the buffers in memory that `is_charged` selects to the budget, and returns the tensor;
/// `None` if the budget is exceeded.
fn charge(mut tensor: Tensor, memory: &Arc<MemoryBudget>, is_charged: impl Fn(*const u8) -> bool) -> Option<Tensor> {
    for array in tensor.levels.iter_mut().flatten().chain(&mut tensor.leaf) {
        if array.is_in_memory() && is_charged(array.buffer().as_ptr()) {
            let buffer = charge_buffer(array.buffer().clone(), memory)?;
            *array = Array::new(array.prim(), buffer, array.len()).expect("the buffer is the same");
        }
    }
    Some(tensor)
}

/// Returns the leaf for a format with the same levels; `None` if the levels may have to change, or
/// the leaf may need another number of values.
fn convert_leaf(tensor: &Tensor, format: &Format) -> Result<Option<Vec<Array>>, Error> {
    let old = &tensor.ty.format;
    if old.modes != format.modes || !is_same_or_weaker(old, format) {
        return Ok(None);
    }
    match (old.leaf, format.leaf) {
        (LeafKind::Element, LeafKind::Pattern) => {
            let Some(len) = tensor.exact_positions() else { return Ok(None) };
            let bools = tensor.leaf[0].bools().expect("a tensor that converts to a pattern has dtype bool");
            Ok(bools[..len].iter().all(|&b| b == 1).then(Vec::new))
        }
        (LeafKind::Pattern, LeafKind::Element) => {
            let leaf = tensor.exact_positions().map(|len| Array::filled(&Scalar::Bool(true), len as u64));
            Ok(leaf.transpose()?.map(|array| vec![array]))
        }
        _ => Ok(Some(tensor.leaf.clone())),
    }
}

/// Returns whether the levels have the same kinds and uniqueness, and the new levels have the same
/// or weaker guarantees of order.
fn is_same_or_weaker(old: &Format, new: &Format) -> bool {
    old.levels.len() == new.levels.len()
        && old
            .levels
            .iter()
            .zip(&new.levels)
            .all(|(o, n)| o.kind == n.kind && o.unique == n.unique && o.ordered >= n.ordered)
}

impl Tensor {
    /// Returns the tensor with another fill value. Unless the fill value is unchanged, every
    /// element must be stored.
    ///
    /// # Errors
    /// Like [`Tensor::fetch`]. Also when the dtypes differ, the leaf is a pattern, some element is
    /// not stored, or memory is exhausted.
    pub fn with_fill(&self, fill: &Scalar) -> Result<Tensor, Error> {
        if *fill == self.ty.fill {
            return Ok(self.clone());
        }
        self.fetch()?;
        let ty = Arc::new(TensorType { fill: fill.clone(), ..TensorType::clone(&self.ty) });
        ty.validate()?;
        let unstored = self.element_count() - self.count_stored_on_host();
        if unstored > 0 {
            return Err(Error::FillInUse(format!(
                "{unstored} {} the value {}; convert to a dense format first",
                plural(unstored, "element is not stored and has", "elements are not stored and have"),
                self.ty.fill
            )));
        }
        if self.ty.format.has_padding(&self.ty.shape) {
            let (tensor, _) = Tensor::from_triples(ty, &self.stored_triples(None)?, Duplicates::Error)?;
            return Ok(tensor);
        }
        Ok(Tensor::new_unchecked(ty, self.levels.clone(), self.leaf.clone()))
    }

    /// Returns a tensor with the given values, one for each element, row-major. Values that equal
    /// the fill value are not stored, except at coordinates that the levels store in any case, as
    /// dense levels and bands do.
    ///
    /// # Errors
    /// Like [`convert`]. Also when the type is invalid, or the number or dtype of the values does
    /// not match.
    pub fn from_dense(ty: impl Into<Arc<TensorType>>, values: &Values) -> Result<Tensor, Error> {
        let ty = ty.into();
        let dense = TensorType { format: Format::dense(ty.shape.len()), ..TensorType::clone(&ty) };
        if ty.dtype != *values.dtype() {
            let (expected, found) = (ty.dtype.clone(), values.dtype().clone());
            return Err(Error::DTypeMismatch { what: "dense values".into(), expected, found });
        }
        let levels = vec![Vec::new(); dense.shape.len()];
        let tensor = Tensor::of_parts(dense.into(), levels, values.columns().to_vec());
        if tensor.element_count() != values.len() as u64 {
            let (expected, shape, found) = (tensor.element_count(), &ty.shape, values.len());
            let elements = plural(expected, "element", "elements");
            let values = plural(found as u64, "value", "values");
            return Err(Error::InvalidTensor(format!(
                "shape {shape:?} has {expected} {elements}, found {found} {values}"
            )));
        }
        tensor.validate()?;
        convert(&tensor, &ty.format)
    }
}
