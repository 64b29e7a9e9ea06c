//! Conversion by rearranging the stored elements of a tensor. The coordinates of the elements are
//! distinct and in order.
//!
//! No elements are combined, checked or dropped, so little memory suffices: coordinates have 32
//! bits, and are widened to 64 bits only while their level is built. Little memory also saves time:
//! writing to newly allocated memory would cost more than the sort.

use super::Tensor;
use super::array::{Array, filled_vec, match_width, prim_bits, reserved_vec};
use super::assemble::{build_group, group_at};
use super::sort::order_of_keys;
use crate::Error;
use crate::levels::level;
use redpoll_logic::{Format, LeafKind, Scalar, StorageMode, TensorType};
use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

/// Converts a tensor to type `ty`. Returns `None` in three cases: positions do not match the stored
/// elements one to one, the elements cannot be rearranged (see `can_rearrange`), or positions are
/// not in storage order. Elements that differ only in the last `in_order` modes are already sorted.
pub(super) fn rearrange(tensor: &Tensor, ty: &Arc<TensorType>, in_order: usize) -> Result<Option<Tensor>, Error> {
    let (old, new) = (&tensor.ty.format, &ty.format);
    let Some(n) = tensor.exact_positions().filter(|n| can_rearrange(&tensor.ty, new, *n)) else { return Ok(None) };
    let Some(mut columns) = tensor.coordinates(n)? else { return Ok(None) };
    let at = |mode: &StorageMode| old.modes.iter().position(|m| m == mode).expect("both have all modes");
    let mut columns: Vec<Vec<u32>> = new.modes.iter().map(|mode| std::mem::take(&mut columns[at(mode)])).collect();
    let dimensions = new.storage_shape(&ty.shape);
    // Dense levels may be written in any order.
    let sorted = old.modes == new.modes || new.is_dense();
    let order = match sorted {
        true => None,
        false => Some(order_of_keys(&columns[..columns.len() - in_order], &dimensions)?),
    };
    let mut positions = filled_vec(0u64, n as u64)?;
    let (mut parents, mut arrays) = (1, Vec::with_capacity(columns.len()));
    while arrays.len() < columns.len() {
        let group = group_at(ty, arrays.len());
        let lists = group.clone().map(|k| reorder(&std::mem::take(&mut columns[k]), order.as_deref()));
        let lists: Vec<Cow<'_, [u64]>> = lists.map(|list| list.map(Cow::Owned)).collect::<Result<_, _>>()?;
        parents = build_group(ty, group, parents, &lists, &mut positions, &mut arrays)?;
    }
    let leaf = match new.leaf {
        LeafKind::Pattern => Vec::new(),
        LeafKind::Element => build_leaf(tensor, ty, order.as_deref(), &positions, parents)?,
    };
    Ok(Some(Tensor::new_unchecked(ty.clone(), arrays, leaf)))
}

/// Returns whether a tensor can be converted by rearranging its `n` stored elements, each of which
/// has its own position.
fn can_rearrange(ty: &TensorType, new: &Format, n: usize) -> bool {
    let old = &ty.format;
    let is_whole = |mode: &StorageMode| matches!(mode, StorageMode::Whole { .. });
    let lists = old.levels.iter().all(|l| l.ordered && l.unique && !l.kind.traits().runs)
        && old.levels.last().is_some_and(|l| l.kind.traits().explicit);
    let built = new.levels.iter().all(|l| !l.kind.traits().runs && !l.kind.traits().single);
    let short = u32::try_from(n).is_ok() && ty.shape.iter().all(|&d| d <= 1 << 32);
    let leaves = old.leaf == new.leaf || old.leaf == LeafKind::Pattern;
    lists && built && short && leaves && old.modes.iter().chain(&new.modes).all(is_whole)
}

/// Returns a list in another order, widened to 64 bits.
fn reorder(list: &[u32], order: Option<&[u32]>) -> Result<Vec<u64>, Error> {
    let mut out = reserved_vec(list.len())?;
    match order {
        None => out.extend(list.iter().map(|&i| u64::from(i))),
        Some(order) => out.extend(order.iter().map(|&k| u64::from(list[k as usize]))),
    }
    Ok(out)
}

/// Returns the values at `len` positions, one array for each primitive: those of the elements at
/// `positions`, and the fill value elsewhere.
fn build_leaf(
    tensor: &Tensor,
    ty: &TensorType,
    order: Option<&[u32]>,
    positions: &[u64],
    len: u64,
) -> Result<Vec<Array>, Error> {
    let n = positions.len();
    let in_order = len == n as u64 && positions.iter().zip(0..).all(|(&p, k)| p == k);
    let pattern = [Array::filled(&Scalar::Bool(true), n as u64)?];
    let columns = if tensor.ty.format.leaf == LeafKind::Pattern { &pattern[..] } else { &tensor.leaf[..] };
    let put = |(column, fill): (&Array, Scalar)| {
        if in_order && order.is_none() {
            return Ok(column.slice(0, n));
        }
        let (prim, bits) = prim_bits(&fill);
        match_width!(prim, W => {
            let words = &column.words::<W>()[..n];
            let mut out = filled_vec(bits as W, len)?;
            match (order, in_order) {
                (None, _) => positions.iter().zip(words).for_each(|(&p, &w)| out[p as usize] = w),
                (Some(order), true) => out.iter_mut().zip(order).for_each(|(w, &k)| *w = words[k as usize]),
                (Some(order), false) => {
                    positions.iter().zip(order).for_each(|(&p, &k)| out[p as usize] = words[k as usize]);
                }
            }
            Ok(Array::from_words(prim, out))
        })
    };
    columns.iter().zip(ty.fill.flatten()).map(put).collect()
}

impl Tensor {
    /// Returns the coordinates of all `n` stored elements, one list for each level, in storage
    /// order. No level may have runs, and dimensions must be at most 2^32. Returns `None` if
    /// positions are in another order, as they may be in a hash table.
    pub(super) fn coordinates(&self, n: usize) -> Result<Option<Vec<Vec<u32>>>, Error> {
        let levels = &self.ty.format.levels;
        let mut columns: Vec<Vec<u32>> = Vec::with_capacity(levels.len());
        let (mut fibers, mut in_order): (Vec<Range<u64>>, _) = (std::iter::once(0..1).collect(), true);
        for (depth, format) in levels.iter().enumerate() {
            let (kind, data, is_last) = (level(format.kind), self.level(depth), depth + 1 == levels.len());
            let mut column: Vec<u32> = reserved_vec(if is_last { n } else { 0 })?;
            let (mut below, mut counts) = (Vec::new(), Vec::with_capacity(fibers.len()));
            for fiber in fibers {
                let before = column.len();
                kind.for_each(data, fiber, &mut |i, positions| {
                    match is_last {
                        true => in_order &= positions.start == column.len() as u64,
                        false => below.push(positions),
                    }
                    column.push(i as u32);
                });
                counts.push(column.len() - before);
            }
            for outer in &mut columns {
                let mut each = reserved_vec(column.len())?;
                outer.iter().zip(&counts).for_each(|(&i, &count)| each.resize(each.len() + count, i));
                *outer = each;
            }
            columns.push(column);
            fibers = below;
        }
        Ok(in_order.then_some(columns))
    }
}
