//! Changes of shape: modes are permuted, inserted, dropped, merged, split or broadcast. These
//! operations copy nothing: they are maps of coordinates, which are fused into the loops that read
//! the array.

use super::axes::axis;
use super::error::Cause;
use super::state::{ArrayState, position, positions};
use super::{Array, Axes};
use redpoll_logic::{Affine, Expr, Field, IndexMap, Subscript};

impl Array {
    /// Permutes the modes: mode `k` of the result is mode `order[k]` of the array.
    ///
    /// ```
    /// # let session = redpoll::Session::default();
    /// let a = session.dense([1, 2, 3], 0..6);
    /// assert_eq!(a.permute_dims([2, 0, 1]).shape()?, [3, 1, 2]);
    /// # Ok::<(), redpoll::Error>(())
    /// ```
    #[track_caller]
    #[must_use]
    pub fn permute_dims(&self, order: impl IntoIterator<Item = i64>) -> Array {
        let order: Vec<i64> = order.into_iter().collect();
        self.derive("permute_dims", |state| {
            let rank = state.require_numbered()?.rank();
            let order = order.iter().map(|k| axis(*k, rank)).collect::<Result<Vec<_>, _>>()?;
            permute(state, &order)
        })
    }

    /// Transposes a matrix; with more modes, exchanges the last two.
    ///
    /// ```
    /// # let session = redpoll::Session::default();
    /// assert_eq!(session.dense([2, 2], [1, 2, 3, 4]).t().to_vec::<i32>()?, [1, 3, 2, 4]);
    /// # Ok::<(), redpoll::Error>(())
    /// ```
    #[track_caller]
    #[must_use]
    pub fn t(&self) -> Array {
        self.derive("t", |state| {
            let rank = require_min_rank(state.require_numbered()?, 2)?;
            let mut order: Vec<usize> = (0..rank).collect();
            order.swap(rank - 2, rank - 1);
            permute(state, &order)
        })
    }

    /// Moves a mode from `source` to `destination`; the other modes keep their order.
    ///
    /// ```
    /// # let session = redpoll::Session::default();
    /// assert_eq!(session.dense([1, 2, 3], 0..6).moveaxis(0, -1).shape()?, [2, 3, 1]);
    /// # Ok::<(), redpoll::Error>(())
    /// ```
    #[track_caller]
    #[must_use]
    pub fn moveaxis(&self, source: i64, destination: i64) -> Array {
        self.derive("moveaxis", |state| {
            let rank = state.require_numbered()?.rank();
            let (source, destination) = (axis(source, rank)?, axis(destination, rank)?);
            let mut order: Vec<usize> = (0..rank).filter(|k| *k != source).collect();
            order.insert(destination, source);
            permute(state, &order)
        })
    }

    /// Inserts a mode of size 1, which becomes mode `axis`.
    ///
    /// ```
    /// # let session = redpoll::Session::default();
    /// assert_eq!(session.vector([1, 2]).expand_dims(-1).shape()?, [2, 1]);
    /// # Ok::<(), redpoll::Error>(())
    /// ```
    #[track_caller]
    #[must_use]
    pub fn expand_dims(&self, axis: i64) -> Array {
        self.derive("expand_dims", |state| {
            let at = super::axes::axis(axis, state.require_numbered()?.rank() + 1)?;
            insert_mode(state, at)
        })
    }

    /// Drops the given modes, which must have size 1.
    ///
    /// ```
    /// # let session = redpoll::Session::default();
    /// assert_eq!(session.dense([1, 2, 1], [5, 6]).squeeze([0, 2]).shape()?, [2]);
    /// # Ok::<(), redpoll::Error>(())
    /// ```
    #[track_caller]
    #[must_use]
    pub fn squeeze(&self, axes: impl Into<Axes>) -> Array {
        let axes = axes.into();
        self.derive("squeeze", |state| {
            let along = axes.resolve(state.require_numbered()?)?;
            if let Some(k) = along.iter().find(|k| state.size(**k) != 1) {
                let shape = state.shape();
                return Err(Cause::Shape(format!(
                    "expected size 1 in mode {k} of shape {shape:?}, found {}",
                    shape[*k]
                )));
            }
            let mapped = |k: &usize| (position(*k), Subscript::Affine(Affine::constant(0)));
            let coordinates = along.iter().map(mapped).collect();
            let expr = state.expr.clone().index(IndexMap { coordinates, dimensions: Vec::new(), outside: None })?;
            let order = expr.info().fields.clone();
            state.number_modes(expr, &order)
        })
    }

    /// Changes the shape and keeps the values in row-major order. One size may be -1 and is
    /// inferred from the others.
    ///
    /// ```
    /// # let session = redpoll::Session::default();
    /// let a = session.dense([2, 3], 0..6);
    /// assert_eq!(a.reshape([3, -1]).t().to_vec::<i32>()?, [0, 2, 4, 1, 3, 5]);
    /// # Ok::<(), redpoll::Error>(())
    /// ```
    #[track_caller]
    #[must_use]
    pub fn reshape(&self, shape: impl IntoIterator<Item = i64>) -> Array {
        let shape: Vec<i64> = shape.into_iter().collect();
        self.derive("reshape", |state| {
            let target = sizes(&state.require_numbered()?.shape(), &shape)?;
            reshape_modes(state, &target)
        })
    }

    /// Broadcasts the array to a larger shape: modes are aligned at the last one, and the array is
    /// repeated along modes of size 1 and along new modes.
    ///
    /// ```
    /// # let session = redpoll::Session::default();
    /// assert_eq!(session.vector([1, 2]).broadcast_to([2, 2]).to_vec::<i32>()?, [1, 2, 1, 2]);
    /// # Ok::<(), redpoll::Error>(())
    /// ```
    #[track_caller]
    #[must_use]
    pub fn broadcast_to(&self, shape: impl IntoIterator<Item = u64>) -> Array {
        let shape: Vec<u64> = shape.into_iter().collect();
        self.derive("broadcast_to", |state| broadcast_to(state.require_numbered()?, &shape))
    }
}

/// Returns the rank if it is at least `least`.
pub(crate) fn require_min_rank(state: &ArrayState, least: usize) -> Result<usize, Cause> {
    match state.rank() {
        rank if rank >= least => Ok(rank),
        rank => Err(Cause::Shape(format!("expected at least {least} modes, found {rank} (shape {:?})", state.shape()))),
    }
}

/// Permutes the modes: mode `k` of the result is mode `order[k]`.
pub(crate) fn permute(state: &ArrayState, order: &[usize]) -> Result<ArrayState, Cause> {
    let rank = state.rank();
    if order.len() != rank {
        return Err(Cause::Shape(format!("expected each of the {rank} modes once, found {} axes", order.len())));
    }
    if let Some(k) = (1..rank).find(|k| order[..*k].contains(&order[*k])) {
        return Err(Cause::RepeatedAxis(order[k] as i64));
    }
    let order: Vec<Field> = order.iter().map(|k| position(*k)).collect();
    state.number_modes(state.expr.clone(), &order)
}

/// Inserts a mode of size 1.
pub(crate) fn insert_mode(state: &ArrayState, at: usize) -> Result<ArrayState, Cause> {
    let new = Field::from("new");
    let mut order = positions(state.rank());
    order.insert(at, new.clone());
    let map = IndexMap { coordinates: Vec::new(), dimensions: vec![(new, 1)], outside: None };
    state.number_modes(state.expr.clone().index(map)?, &order)
}

fn broadcast_to(state: &ArrayState, shape: &[u64]) -> Result<ArrayState, Cause> {
    let own = state.shape();
    let mismatch = |mode, sizes| Cause::Broadcast { shapes: vec![own.clone(), shape.to_vec()], mode, sizes };
    let Some(new_modes) = shape.len().checked_sub(own.len()) else {
        return Err(Cause::Shape(format!("cannot broadcast shape {own:?} to {shape:?}, which has fewer modes")));
    };
    let mut coordinates = Vec::new();
    let mut dimensions = Vec::new();
    let labels: Vec<Field> = (0..own.len()).map(|k| Field::from(format!("old{k}"))).collect();
    for (k, size) in shape.iter().enumerate() {
        let at = match k.checked_sub(new_modes) {
            None => None,
            Some(old) if own[old] == *size => Some((old, Affine::field(position(k)))),
            Some(old) if own[old] == 1 => Some((old, Affine::constant(0))),
            Some(old) => return Err(mismatch(shape.len() - k, vec![own[old], *size])),
        };
        dimensions.push((position(k), *size));
        coordinates.extend(at.map(|(old, form)| (labels[old].clone(), Subscript::Affine(form))));
    }
    let expr = state.label(&labels)?.index(IndexMap { coordinates, dimensions, outside: None })?;
    state.number_modes(expr, &positions(shape.len()))
}

/// Returns the sizes of the new shape, with -1 replaced by the inferred size, if the number of
/// elements is unchanged.
fn sizes(own: &[u64], shape: &[i64]) -> Result<Vec<u64>, Cause> {
    let mismatch = |why: &str| Cause::Shape(format!("cannot reshape {own:?} to {shape:?}: {why}"));
    let element_count = |sizes: &[u64]| sizes.iter().try_fold(1u64, |n, size| n.checked_mul(*size));
    let all = element_count(own).ok_or_else(|| mismatch("the number of elements does not fit 64 bits"))?;
    let fixed: Vec<u64> = shape.iter().filter_map(|n| u64::try_from(*n).ok()).collect();
    let product = element_count(&fixed).ok_or_else(|| mismatch("the number of elements does not fit 64 bits"))?;
    match shape.len() - fixed.len() {
        0 if product == all => Ok(fixed),
        0 => Err(mismatch(&format!("expected {all} elements, found {product}"))),
        1 if product > 0 && all % product == 0 && shape.contains(&-1) => {
            Ok(shape.iter().map(|n| u64::try_from(*n).unwrap_or(all / product)).collect())
        }
        _ => Err(mismatch("one size may be -1 if the others divide the number of elements")),
    }
}

/// Merges and splits modes in the smallest groups that have as many elements before as after, so
/// that modes outside of the changed groups are unaffected.
pub(crate) fn reshape_modes(state: &ArrayState, target: &[u64]) -> Result<ArrayState, Cause> {
    let own = state.shape();
    if own.contains(&0) {
        return reshape_empty(state, target);
    }
    let mut expr = state.label(&(0..own.len()).map(|k| Field::from(format!("old{k}"))).collect::<Vec<_>>())?;
    let (mut i, mut k) = (0, 0);
    while i < own.len() || k < target.len() {
        let (first_i, first_k) = (i, k);
        let (mut old_size, mut new_size) = (1, 1);
        loop {
            if old_size < new_size || (old_size == new_size && i == first_i && i < own.len()) {
                old_size *= own[i];
                i += 1;
            } else if new_size < old_size || (old_size == new_size && k == first_k && k < target.len()) {
                new_size *= target[k];
                k += 1;
            } else {
                break;
            }
        }
        let old: Vec<Field> = (first_i..i).map(|k| Field::from(format!("old{k}"))).collect();
        let new: Vec<(Field, u64)> = (first_k..k).map(|k| (position(k), target[k])).collect();
        expr = regroup(expr, &old, &new)?;
    }
    state.number_modes(expr, &positions(target.len()))
}

/// Merges the fields `old` into one field, and splits this field into the fields `new`, outermost
/// first.
fn regroup(mut expr: Expr, old: &[Field], new: &[(Field, u64)]) -> Result<Expr, Cause> {
    let merged = Field::from("merged");
    match old {
        [] => {
            let dimensions = vec![(merged.clone(), 1)];
            expr = expr.index(IndexMap { coordinates: Vec::new(), dimensions, outside: None })?;
        }
        [first, rest @ ..] => {
            expr = rename_field(expr, first, &merged)?;
            for field in rest {
                expr = expr.merge((merged.clone(), field.clone()), merged.clone())?;
            }
        }
    }
    let mut block: u64 = new.iter().map(|(_, size)| *size).product();
    for (k, (field, size)) in new.iter().enumerate() {
        block /= size;
        expr = match k + 1 == new.len() {
            true => rename_field(expr, &merged, field)?,
            false => expr.split(merged.clone(), (field.clone(), merged.clone()), block, None)?,
        };
    }
    if new.is_empty() {
        let coordinates = vec![(merged, Subscript::Affine(Affine::constant(0)))];
        expr = expr.index(IndexMap { coordinates, dimensions: Vec::new(), outside: None })?;
    }
    Ok(expr)
}

fn rename_field(expr: Expr, from: &Field, to: &Field) -> Result<Expr, Cause> {
    let fields: Vec<Field> =
        expr.info().fields.iter().map(|f| if f == from { to.clone() } else { f.clone() }).collect();
    Ok(expr.relabel(fields)?)
}

/// Reshapes an array without elements. The coordinates are irrelevant because no element is read.
fn reshape_empty(state: &ArrayState, target: &[u64]) -> Result<ArrayState, Cause> {
    let old: Vec<Field> = (0..state.rank()).map(|k| Field::from(format!("old{k}"))).collect();
    let coordinates = old.iter().map(|f| (f.clone(), Subscript::Affine(Affine::constant(0)))).collect();
    let dimensions = positions(target.len()).into_iter().zip(target.iter().copied()).collect();
    let expr = state.label(&old)?.index(IndexMap { coordinates, dimensions, outside: None })?;
    state.number_modes(expr, &positions(target.len()))
}
