//! Conversion between formats, and tensors from dense values.

use super::assemble::assemble;
use super::rearrange::rearranged;
use super::triples::sorted_entries;
use super::{Array, Duplicates, Tensor, Values};
use crate::Error;
use crate::assembly::Status;
use crate::run::{Account, MemoryBudget, charged};
use redpoll_logic::{Format, LeafKind, Scalar, StorageMode, TensorType};
use std::sync::Arc;

/// The tensor in another format: the same shape, dtype, fill value and value at every place. Arrays that stay the same
/// are shared. Stored fill values are kept where both last levels list their coordinates.
///
/// # Errors
/// When the format does not go with the tensor, or the memory is exceeded.
pub fn convert(tensor: &Tensor, format: &Format) -> Result<Tensor, Error> {
    let converted = converted(tensor, format)?;
    Ok(match tensor.known_special() {
        Some(special) => converted.with_special(special),
        None => converted,
    })
}

fn converted(tensor: &Tensor, format: &Format) -> Result<Tensor, Error> {
    let old = tensor.ty();
    if old.format == *format {
        return Ok(tensor.clone());
    }
    let ty = Arc::new(TensorType { format: format.clone(), ..TensorType::clone(old) });
    ty.validate()?;
    tensor.fetch()?;
    if let Some(leaf) = converted_leaf(tensor, format)? {
        return Ok(Tensor::new_unchecked(ty, tensor.levels.clone(), leaf));
    }
    let in_order = in_order(&old.format, format);
    if let Some(converted) = rearranged(tensor, &ty, in_order)? {
        return Ok(converted);
    }
    let triples = tensor.to_triples()?;
    let (entries, _) = sorted_entries(&ty, &triples, Duplicates::Error, in_order)?;
    assemble(ty, entries)
}

/// How many of the last modes of the new format the places of the old one have in order, where they are equal in the modes
/// before: a matrix is transposed by a sort of one mode.
fn in_order(old: &Format, new: &Format) -> usize {
    let whole = |mode: &StorageMode| matches!(mode, StorageMode::Whole { .. });
    if !old.levels.iter().all(|l| l.ordered && l.unique) || !old.modes.iter().chain(&new.modes).all(whole) {
        return 0;
    }
    let at = |mode: &StorageMode| old.modes.iter().position(|m| m == mode);
    let ascending = new.modes.windows(2).rev().take_while(|pair| at(&pair[0]) < at(&pair[1])).count();
    (ascending + 1).min(new.modes.len().saturating_sub(1))
}

/// As [`convert`], what it allocates charged to the memory budget: entries while they are sorted, and the new arrays as
/// long as they live.
///
/// # Errors
/// As [`convert`], and when the budget is exceeded.
pub fn convert_within(tensor: &Tensor, format: &Format, memory: &Arc<MemoryBudget>) -> Result<Tensor, Error> {
    if tensor.ty.format == *format {
        return Ok(tensor.clone());
    }
    tensor.fetch()?;
    // Coordinates and values before and after the sort, the keys in two lists, and the order.
    let entry = 16 * tensor.ty.shape.len() + 40 + 2 * tensor.leaf.iter().map(|a| a.prim().bytes()).sum::<usize>();
    let scratch = usize::try_from(tensor.stored_here()).unwrap_or(usize::MAX).saturating_mul(entry);
    let exceeded = || Error::KernelStopped(Status::OutOfMemory);
    if !memory.charge(scratch) {
        return Err(exceeded());
    }
    let converted = convert(tensor, format);
    memory.release(scratch);
    let old: Vec<*const u8> = tensor.arrays().map(|a| a.buffer().as_ptr()).collect();
    charge(converted?, memory, |buffer| !old.contains(&buffer)).ok_or_else(exceeded)
}

impl Tensor {
    /// The tensor, its arrays charged to the memory budget as long as they live; `None` when their bytes are not left.
    #[must_use]
    pub fn charged(self, memory: &Arc<MemoryBudget>) -> Option<Tensor> {
        charge(self, memory, |_| true)
    }
}

/// The tensor, those of its buffers charged to the memory budget that are asked for.
fn charge(mut tensor: Tensor, memory: &Arc<MemoryBudget>, wanted: impl Fn(*const u8) -> bool) -> Option<Tensor> {
    for array in tensor.levels.iter_mut().flatten().chain(&mut tensor.leaf) {
        if wanted(array.buffer().as_ptr()) {
            let buffer = charged(array.buffer().clone(), memory)?;
            *array = Array::new(array.prim(), buffer, array.len()).expect("the buffer is the same");
        }
    }
    Some(tensor)
}

/// The leaf for a format with the same levels, if they can stay.
fn converted_leaf(tensor: &Tensor, format: &Format) -> Result<Option<Vec<Array>>, Error> {
    let old = &tensor.ty.format;
    if old.modes != format.modes || !same_or_freer(old, format) {
        return Ok(None);
    }
    match (old.leaf, format.leaf) {
        (LeafKind::Element, LeafKind::Pattern) => {
            let Some(len) = tensor.exact_positions() else { return Ok(None) };
            let bools = tensor.leaf[0].bools().expect("what converts to a pattern has dtype bool");
            Ok(bools[..len].iter().all(|&b| b == 1).then(Vec::new))
        }
        (LeafKind::Pattern, LeafKind::Element) => {
            let leaf = tensor.exact_positions().map(|len| Array::filled(&Scalar::Bool(true), len as u64));
            Ok(leaf.transpose()?.map(|array| vec![array]))
        }
        _ => Ok(Some(tensor.leaf.clone())),
    }
}

/// Whether the levels are of the same kinds, and each is at most freer in its order.
fn same_or_freer(old: &Format, new: &Format) -> bool {
    old.levels.len() == new.levels.len()
        && old
            .levels
            .iter()
            .zip(&new.levels)
            .all(|(o, n)| o.kind == n.kind && o.unique == n.unique && o.ordered >= n.ordered)
}

impl Tensor {
    /// The tensor with another fill value, which is legal where every place is stored, or the fill value is the same.
    ///
    /// # Errors
    /// When the dtypes differ, or some place is not stored.
    pub fn with_fill(&self, fill: &Scalar) -> Result<Tensor, Error> {
        if *fill == self.ty.fill {
            return Ok(self.clone());
        }
        self.fetch()?;
        let ty = Arc::new(TensorType { fill: fill.clone(), ..TensorType::clone(&self.ty) });
        ty.validate()?;
        let unstored = self.places() - self.stored_here();
        if unstored > 0 {
            return Err(Error::FillInUse(format!(
                "{unstored} places are not stored and have the value {}; convert to a dense format first",
                self.ty.fill
            )));
        }
        if self.ty.format.has_padding(&self.ty.shape) {
            let (tensor, _) = Tensor::from_triples(ty, &self.stored_triples(None)?, Duplicates::Error)?;
            return Ok(tensor);
        }
        Ok(Tensor::new_unchecked(ty, self.levels.clone(), self.leaf.clone()))
    }

    /// A tensor from the values of all its places, row-major. Values that equal the fill value are not stored, unless
    /// the format stores every place.
    ///
    /// # Errors
    /// When the type is invalid, or number or dtype of the values are others.
    pub fn from_dense(ty: impl Into<Arc<TensorType>>, values: &Values) -> Result<Tensor, Error> {
        let ty = ty.into();
        let dense = TensorType { format: Format::dense(ty.shape.len()), ..TensorType::clone(&ty) };
        if ty.dtype != *values.dtype() {
            let (expected, found) = (ty.dtype.clone(), values.dtype().clone());
            return Err(Error::DTypeMismatch { what: "dense values".into(), expected, found });
        }
        let levels = vec![Vec::new(); dense.shape.len()];
        let tensor = Tensor::of_parts(dense.into(), levels, values.columns().to_vec());
        if tensor.places() != values.len() as u64 {
            let (expected, shape, found) = (tensor.places(), &ty.shape, values.len());
            return Err(Error::InvalidTensor(format!("shape {shape:?} has {expected} places, found {found} values")));
        }
        tensor.validate()?;
        convert(&tensor, &ty.format)
    }
}
