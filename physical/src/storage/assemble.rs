//! From sorted entries to the arrays of a tensor.

use super::Tensor;
use super::array::{Array, filled_vec, match_width, prim_bits};
use super::values::{Values, gather};
use crate::Error;
use crate::levels::level;
use redpoll_logic::{LeafKind, TensorType};
use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

/// Entries of a tensor in storage order, at most one a place.
pub(crate) struct Entries<'a> {
    /// The storage coordinates, one list a level.
    pub(crate) columns: &'a [Vec<u64>],
    /// The number of entries.
    pub(crate) len: usize,
    /// Where the value of each entry is in `values`; `None` when there, too, they are in storage order.
    pub(crate) order: Option<&'a [u64]>,
    /// The values.
    pub(crate) values: &'a Values,
}

/// Builds level by level, then puts the values where the last level says; other places of the leaf hold the fill.
pub(crate) fn assemble(ty: Arc<TensorType>, entries: &Entries<'_>) -> Result<Tensor, Error> {
    let mut positions = filled_vec(0u64, entries.len as u64)?;
    let mut parents = 1;
    let mut levels = Vec::with_capacity(entries.columns.len());
    let dimensions = ty.format.storage_shape(&ty.shape);
    while levels.len() < ty.format.levels.len() {
        let group = group_at(&ty, levels.len());
        let columns = &entries.columns[group.clone()];
        let mut build = |columns: &[Cow<'_, [u64]>], positions: &mut [u64]| {
            for (k, column) in group.clone().zip(columns) {
                let format = ty.format.levels[k];
                let (arrays, own) = level(format.kind).build(format, dimensions[k], parents, column, positions)?;
                levels.push(arrays);
                parents = own;
            }
            Ok::<(), Error>(())
        };
        if group.len() == 1 || group.end == ty.format.levels.len() {
            build(&columns.iter().map(|c| Cow::Borrowed(&c[..])).collect::<Vec<_>>(), &mut positions)?;
            continue;
        }
        let same = |k: usize| positions[k - 1] == positions[k] && columns.iter().all(|c| c[k - 1] == c[k]);
        let starts: Vec<usize> = (0..entries.len).filter(|&k| k == 0 || !same(k)).collect();
        let first: Vec<Cow<'_, [u64]>> = columns.iter().map(|c| starts.iter().map(|&k| c[k]).collect()).collect();
        let mut of_place: Vec<u64> = starts.iter().map(|&k| positions[k]).collect();
        build(&first, &mut of_place)?;
        let ends = starts.iter().skip(1).copied().chain([entries.len]);
        starts.iter().zip(ends).zip(of_place).for_each(|((&lo, hi), p)| positions[lo..hi].fill(p));
    }
    let leaf = match ty.format.leaf {
        LeafKind::Pattern => Vec::new(),
        LeafKind::Element => scatter_values(&ty, entries, &positions, parents)?,
    };
    Ok(Tensor::new_unchecked(ty, levels, leaf))
}

/// The levels from `k` up to the first unique one. Only the coordinates of all of them together tell positions apart: a
/// level that is not unique has a position for each of its singletons' places.
fn group_at(ty: &TensorType, k: usize) -> Range<usize> {
    let levels = &ty.format.levels;
    let end = (k..levels.len()).find(|&l| levels[l].unique).expect("the last level of a valid format is unique");
    k..end + 1
}

fn scatter_values(ty: &TensorType, entries: &Entries<'_>, positions: &[u64], len: u64) -> Result<Vec<Array>, Error> {
    let in_order = len == positions.len() as u64 && positions.iter().zip(0..).all(|(&p, k)| p == k);
    let scatter = |(column, fill): (&Array, _)| match entries.order {
        None if in_order && column.len() == positions.len() => Ok(column.clone()),
        Some(order) if in_order => gather(column, order),
        order => {
            let (prim, bits) = prim_bits(&fill);
            match_width!(prim, W => {
                let words = column.words::<W>();
                let mut out = filled_vec(bits as W, len)?;
                match order {
                    None => positions.iter().zip(words).for_each(|(&p, &w)| out[p as usize] = w),
                    Some(order) => positions.iter().zip(order).for_each(|(&p, &k)| out[p as usize] = words[k as usize]),
                }
                Ok(Array::from_words(prim, out))
            })
        }
    };
    entries.values.columns().iter().zip(ty.fill.flatten()).map(scatter).collect()
}
