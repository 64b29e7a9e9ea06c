//! Shapes: modes permuted, inserted, dropped, merged and split. These operations copy nothing: they
//! are maps of coordinates, which are fused into the loops that read the array.

use super::axes::axis;
use super::error::Cause;
use super::state::{State, position, positions};
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
            let rank = state.by_number()?.rank();
            let order = order.iter().map(|k| axis(*k, rank)).collect::<Result<Vec<_>, _>>()?;
            permuted(state, &order)
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
            let rank = at_least(state.by_number()?, 2)?;
            let mut order: Vec<usize> = (0..rank).collect();
            order.swap(rank - 2, rank - 1);
            permuted(state, &order)
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
            let rank = state.by_number()?.rank();
            let (source, destination) = (axis(source, rank)?, axis(destination, rank)?);
            let mut order: Vec<usize> = (0..rank).filter(|k| *k != source).collect();
            order.insert(destination, source);
            permuted(state, &order)
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
            let at = super::axes::axis(axis, state.by_number()?.rank() + 1)?;
            inserted(state, at)
        })
    }

    /// Drops modes of size 1.
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
            let along = axes.resolve(state.by_number()?)?;
            if let Some(k) = along.iter().find(|k| state.size(**k) != 1) {
                let shape = state.shape();
                return Err(Cause::Shape(format!("mode {k} of shape {shape:?} has size {}, not 1", shape[*k])));
            }
            let mapped = |k: &usize| (position(*k), Subscript::Affine(Affine::constant(0)));
            let coordinates = along.iter().map(mapped).collect();
            let expr = state.expr.clone().index(IndexMap { coordinates, dimensions: Vec::new(), outside: None })?;
            let order = expr.info().fields.clone();
            state.numbered(expr, &order)
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
            let target = sizes(&state.by_number()?.shape(), &shape)?;
            reshaped(state, &target)
        })
    }

    /// Broadcasts the array to a larger shape: modes are aligned at the last one, and a mode of
    /// size 1 is repeated.
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
        self.derive("broadcast_to", |state| broadcast_to(state.by_number()?, &shape))
    }
}

/// Returns the rank if it is at least `least`.
pub(crate) fn at_least(state: &State, least: usize) -> Result<usize, Cause> {
    match state.rank() {
        rank if rank >= least => Ok(rank),
        rank => Err(Cause::Shape(format!("it takes {least} modes or more, shape {:?} has {rank}", state.shape()))),
    }
}

/// Permutes the modes: mode `k` of the result is mode `order[k]`.
pub(crate) fn permuted(state: &State, order: &[usize]) -> Result<State, Cause> {
    let rank = state.rank();
    if order.len() != rank {
        return Err(Cause::Shape(format!("{} axes for {rank} modes; name each mode once", order.len())));
    }
    if let Some(k) = (1..rank).find(|k| order[..*k].contains(&order[*k])) {
        return Err(Cause::Repeated(order[k] as i64));
    }
    let order: Vec<Field> = order.iter().map(|k| position(*k)).collect();
    state.numbered(state.expr.clone(), &order)
}

/// Inserts a mode of size 1.
pub(crate) fn inserted(state: &State, at: usize) -> Result<State, Cause> {
    let new = Field::from("new");
    let mut order = positions(state.rank());
    order.insert(at, new.clone());
    let map = IndexMap { coordinates: Vec::new(), dimensions: vec![(new, 1)], outside: None };
    state.numbered(state.expr.clone().index(map)?, &order)
}

fn broadcast_to(state: &State, shape: &[u64]) -> Result<State, Cause> {
    let own = state.shape();
    let unfit = |mode, found| Cause::Broadcast { shapes: vec![own.clone(), shape.to_vec()], mode, found };
    let Some(more) = shape.len().checked_sub(own.len()) else {
        return Err(Cause::Shape(format!("shape {own:?} has more modes than {shape:?}")));
    };
    let mut coordinates = Vec::new();
    let mut dimensions = Vec::new();
    let stand_ins: Vec<Field> = (0..own.len()).map(|k| Field::from(format!("was{k}"))).collect();
    for (k, size) in shape.iter().enumerate() {
        let at = match k.checked_sub(more) {
            None => None,
            Some(was) if own[was] == *size => Some((was, Affine::field(position(k)))),
            Some(was) if own[was] == 1 => Some((was, Affine::constant(0))),
            Some(was) => return Err(unfit(shape.len() - k, vec![own[was], *size])),
        };
        dimensions.push((position(k), *size));
        coordinates.extend(at.map(|(was, form)| (stand_ins[was].clone(), Subscript::Affine(form))));
    }
    let expr = state.labelled(&stand_ins)?.index(IndexMap { coordinates, dimensions, outside: None })?;
    state.numbered(expr, &positions(shape.len()))
}

/// Returns the sizes of the new shape, with -1 resolved, if the number of elements is unchanged.
fn sizes(own: &[u64], shape: &[i64]) -> Result<Vec<u64>, Cause> {
    let unfit = |why: &str| Cause::Shape(format!("shape {own:?} cannot become {shape:?}: {why}"));
    let places = |sizes: &[u64]| sizes.iter().try_fold(1u64, |n, size| n.checked_mul(*size));
    let all = places(own).ok_or_else(|| unfit("there are too many places"))?;
    let known: Vec<u64> = shape.iter().filter_map(|n| u64::try_from(*n).ok()).collect();
    let rest = places(&known).ok_or_else(|| unfit("there are too many places"))?;
    match shape.len() - known.len() {
        0 if rest == all => Ok(known),
        0 => Err(unfit(&format!("{all} places are not {rest}"))),
        1 if rest > 0 && all % rest == 0 && shape.contains(&-1) => {
            Ok(shape.iter().map(|n| u64::try_from(*n).unwrap_or(all / rest)).collect())
        }
        _ => Err(unfit("one size may be -1 where the others divide the number of places")),
    }
}

/// Merges and splits modes in the smallest groups with equal numbers of elements, so that modes
/// outside of the changed groups are unaffected.
pub(crate) fn reshaped(state: &State, target: &[u64]) -> Result<State, Cause> {
    let own = state.shape();
    if own.contains(&0) {
        return emptied(state, target);
    }
    let mut expr = state.labelled(&(0..own.len()).map(|k| Field::from(format!("was{k}"))).collect::<Vec<_>>())?;
    let (mut i, mut k) = (0, 0);
    while i < own.len() || k < target.len() {
        let (first_i, first_k) = (i, k);
        let (mut have, mut want) = (1, 1);
        loop {
            if have < want || (have == want && i == first_i && i < own.len()) {
                have *= own[i];
                i += 1;
            } else if want < have || (have == want && k == first_k && k < target.len()) {
                want *= target[k];
                k += 1;
            } else {
                break;
            }
        }
        let was: Vec<Field> = (first_i..i).map(|k| Field::from(format!("was{k}"))).collect();
        let new: Vec<(Field, u64)> = (first_k..k).map(|k| (position(k), target[k])).collect();
        expr = regrouped(expr, &was, &new)?;
    }
    state.numbered(expr, &positions(target.len()))
}

/// Merges some fields into one and splits it into others, outermost first.
fn regrouped(mut expr: Expr, was: &[Field], new: &[(Field, u64)]) -> Result<Expr, Cause> {
    let merged = Field::from("merged");
    match was {
        [] => {
            let dimensions = vec![(merged.clone(), 1)];
            expr = expr.index(IndexMap { coordinates: Vec::new(), dimensions, outside: None })?;
        }
        [first, rest @ ..] => {
            expr = renamed(expr, first, &merged)?;
            for field in rest {
                expr = expr.merge((merged.clone(), field.clone()), merged.clone())?;
            }
        }
    }
    let mut block: u64 = new.iter().map(|(_, size)| *size).product();
    for (k, (field, size)) in new.iter().enumerate() {
        block /= size;
        expr = match k + 1 == new.len() {
            true => renamed(expr, &merged, field)?,
            false => expr.split(merged.clone(), (field.clone(), merged.clone()), block, None)?,
        };
    }
    if new.is_empty() {
        let coordinates = vec![(merged, Subscript::Affine(Affine::constant(0)))];
        expr = expr.index(IndexMap { coordinates, dimensions: Vec::new(), outside: None })?;
    }
    Ok(expr)
}

fn renamed(expr: Expr, from: &Field, to: &Field) -> Result<Expr, Cause> {
    let fields: Vec<Field> =
        expr.info().fields.iter().map(|f| if f == from { to.clone() } else { f.clone() }).collect();
    Ok(expr.relabel(fields)?)
}

/// Reshapes an array without elements. The coordinates are irrelevant because no element is read.
fn emptied(state: &State, target: &[u64]) -> Result<State, Cause> {
    let was: Vec<Field> = (0..state.rank()).map(|k| Field::from(format!("was{k}"))).collect();
    let coordinates = was.iter().map(|f| (f.clone(), Subscript::Affine(Affine::constant(0)))).collect();
    let dimensions = positions(target.len()).into_iter().zip(target.iter().copied()).collect();
    let expr = state.labelled(&was)?.index(IndexMap { coordinates, dimensions, outside: None })?;
    state.numbered(expr, &positions(target.len()))
}
