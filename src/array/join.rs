//! Concatenation, stacks, splits, repetition, reversal, rotation and padding along modes; also
//! masks on the coordinates of modes.

use super::axes::axis;
use super::error::Cause;
use super::shape::insert_mode;
use super::state::{ArrayState, position, positions};
use super::{Array, ArrayError, Axes, Index, Operand};
use crate::error::Error;
use redpoll_logic::op::{Builtin, promote};
use redpoll_logic::{Affine, DType, Expr, Field, IndexMap, Scalar, Subscript};

/// Maximum number of coordinates that [`Array::repeat_each`] lists.
const MAX_REPETITIONS: u64 = 1 << 32;
/// Maximum number of arrays that [`Array::unstack`] returns.
const MAX_PARTS: u64 = 1 << 24;

impl Array {
    /// Concatenates this array and others along an axis. All other sizes must be equal.
    ///
    /// ```
    /// # let session = redpoll::Session::default();
    /// let (a, b) = (session.vector([1, 2]), session.vector([3]));
    /// assert_eq!(a.concat([&b, &a], 0).to_vec::<i32>()?, [1, 2, 3, 1, 2]);
    /// # Ok::<(), redpoll::Error>(())
    /// ```
    #[track_caller]
    #[must_use]
    pub fn concat<A: Into<Operand>>(&self, others: impl IntoIterator<Item = A>, axis: i64) -> Array {
        let others: Vec<Operand> = others.into_iter().map(Into::into).collect();
        self.combine("concat", &others, |states| concat(states, axis))
    }

    /// Stacks this array and others of its shape along a new mode, which becomes mode `axis`.
    ///
    /// ```
    /// # let session = redpoll::Session::default();
    /// let (a, b) = (session.vector([1, 2]), session.vector([3, 4]));
    /// assert_eq!(a.stack([&b], 1).to_vec::<i32>()?, [1, 3, 2, 4]);
    /// # Ok::<(), redpoll::Error>(())
    /// ```
    #[track_caller]
    #[must_use]
    pub fn stack<A: Into<Operand>>(&self, others: impl IntoIterator<Item = A>, axis: i64) -> Array {
        let others: Vec<Operand> = others.into_iter().map(Into::into).collect();
        self.combine("stack", &others, |states| {
            let at = super::axes::axis(axis, states[0].require_numbered()?.rank() + 1)?;
            let layers =
                states.iter().map(|s| insert_mode(s.require_numbered()?, at)).collect::<Result<Vec<_>, _>>()?;
            concat(&layers, at as i64)
        })
    }

    /// Reverses the array along axes.
    ///
    /// ```
    /// # let session = redpoll::Session::default();
    /// assert_eq!(session.vector([1, 2, 3]).flip(0).to_vec::<i32>()?, [3, 2, 1]);
    /// # Ok::<(), redpoll::Error>(())
    /// ```
    #[track_caller]
    #[must_use]
    pub fn flip(&self, axes: impl Into<Axes>) -> Array {
        let axes = axes.into();
        self.derive("flip", |state| {
            let flipped = axes
                .resolve(state)?
                .into_iter()
                .try_fold(state.expr.clone(), |expr, mode| expr.reverse(state.fields()[mode].clone()))?;
            Ok(state.with_expr(flipped))
        })
    }

    /// Rotates the values by `shift` elements along axes; values that pass the end continue at the
    /// start.
    ///
    /// ```
    /// # let session = redpoll::Session::default();
    /// assert_eq!(session.vector([1, 2, 3, 4]).roll(1, 0).to_vec::<i32>()?, [4, 1, 2, 3]);
    /// # Ok::<(), redpoll::Error>(())
    /// ```
    #[track_caller]
    #[must_use]
    pub fn roll(&self, shift: i64, axes: impl Into<Axes>) -> Array {
        let axes = axes.into();
        self.derive("roll", |state| {
            axes.resolve(state)?.into_iter().try_fold(state.clone(), |state, mode| {
                let (field, size) = (state.fields()[mode].clone(), state.size(mode));
                let shift = shift.checked_rem_euclid(size as i64).unwrap_or(0);
                if shift == 0 {
                    return Ok(state);
                }
                // The result at i is the value at (i + n - shift) mod n.
                let form = Affine::field(field).plus(&Affine::constant(size as i64 - shift));
                along(&state, mode, size, Subscript::Inner(form, size))
            })
        })
    }

    /// Repeats the whole array, with one repetition count per mode. If the counts are fewer than
    /// the modes, they apply to the last modes; if they are more, the array gets new modes in
    /// front.
    ///
    /// ```
    /// # let session = redpoll::Session::default();
    /// assert_eq!(session.vector([1, 2]).tile([2]).to_vec::<i32>()?, [1, 2, 1, 2]);
    /// # Ok::<(), redpoll::Error>(())
    /// ```
    #[track_caller]
    #[must_use]
    pub fn tile(&self, repetitions: impl IntoIterator<Item = u64>) -> Array {
        let repetitions: Vec<u64> = repetitions.into_iter().collect();
        self.derive("tile", |state| {
            let rank = state.require_numbered()?.rank();
            // The shorter of shape and counts is extended at the front, by modes of size 1 or
            // counts of 1.
            let missing = |n: usize| repetitions.len().max(rank) - n;
            let state = (0..missing(rank)).try_fold(state.clone(), |state, _| insert_mode(&state, 0))?;
            let all = std::iter::repeat_n(&1, missing(repetitions.len())).chain(&repetitions);
            all.enumerate().filter(|(_, n)| **n != 1).try_fold(state.clone(), |state, (mode, n)| {
                let (form, size) = (Affine::field(state.fields()[mode].clone()), state.size(mode));
                along(&state, mode, repeated_size(size, *n)?, Subscript::Inner(form, size.max(1)))
            })
        })
    }

    /// Repeats each value `count` times along axes.
    ///
    /// ```
    /// # let session = redpoll::Session::default();
    /// assert_eq!(session.vector([1, 2]).repeat(2, 0).to_vec::<i32>()?, [1, 1, 2, 2]);
    /// # Ok::<(), redpoll::Error>(())
    /// ```
    #[track_caller]
    #[must_use]
    pub fn repeat(&self, count: u64, axis: impl Into<Axes>) -> Array {
        let axis = axis.into();
        self.derive("repeat", |state| {
            axis.resolve(state)?.into_iter().filter(|_| count != 1).try_fold(state.clone(), |state, mode| {
                let (form, size) = (Affine::field(state.fields()[mode].clone()), state.size(mode));
                along(&state, mode, repeated_size(size, count)?, Subscript::Outer(form, count.max(1)))
            })
        })
    }

    /// Repeats the values along an axis: the values at coordinate `k` occur `counts[k]` times.
    ///
    /// ```
    /// # let session = redpoll::Session::default();
    /// assert_eq!(session.vector([5, 6, 7]).repeat_each([2, 0, 1], 0).to_vec::<i32>()?, [5, 5, 7]);
    /// # Ok::<(), redpoll::Error>(())
    /// ```
    #[track_caller]
    #[must_use]
    pub fn repeat_each(&self, counts: impl IntoIterator<Item = u64>, axis: i64) -> Array {
        let counts: Vec<u64> = counts.into_iter().collect();
        let checked = self.derive("repeat_each", |state| {
            let size = state.size(super::axes::axis(axis, state.require_numbered()?.rank())?);
            if size != counts.len() as u64 {
                return Err(Cause::Shape(format!("{} counts do not match axis {axis} of size {size}", counts.len())));
            }
            let total = counts.iter().fold(0, |total, count| u64::saturating_add(total, *count));
            let message = || format!("{total} repetitions exceed the limit of {MAX_REPETITIONS}");
            if total <= MAX_REPETITIONS { Ok(state.clone()) } else { Err(Cause::Shape(message())) }
        });
        if checked.shape().is_err() {
            return checked;
        }
        let each = (0i64..).zip(&counts).flat_map(|(k, count)| std::iter::repeat_n(k, *count as usize));
        checked.take(each.collect::<Vec<i64>>(), axis)
    }

    /// Returns the slice of the array at each coordinate of an axis. This is the inverse of
    /// [`Array::stack`].
    ///
    /// ```
    /// # let session = redpoll::Session::default();
    /// let rows = session.dense([2, 2], [1, 2, 3, 4]).unstack(0)?;
    /// assert_eq!(rows[1].to_vec::<i32>()?, [3, 4]);
    /// # Ok::<(), redpoll::Error>(())
    /// ```
    ///
    /// # Errors
    /// Fails if there is no such axis, the axis has more than 2^24 coordinates, the modes are
    /// named, or an operation could not be applied.
    #[track_caller]
    pub fn unstack(&self, axis: i64) -> Result<Vec<Array>, Error> {
        let (mode, size) = self.mode_of("unstack", axis)?;
        if size > MAX_PARTS {
            return Err(ArrayError::shape("unstack", format!("{size} parts exceed the limit of {MAX_PARTS}")));
        }
        let part = |k: u64| self.slice((0..mode).map(|_| Index::from(..)).chain([Index::Coordinate(k as i64)]));
        Ok((0..size).map(part).collect())
    }

    /// Pads each mode with `value`, with one pair of widths (before, after) per mode. Negative
    /// widths crop the array.
    ///
    /// ```
    /// # let session = redpoll::Session::default();
    /// assert_eq!(session.vector([1, 2]).pad([(1, 2)], 0).to_vec::<i32>()?, [0, 1, 2, 0, 0]);
    /// # Ok::<(), redpoll::Error>(())
    /// ```
    #[track_caller]
    #[must_use]
    pub fn pad(&self, widths: impl IntoIterator<Item = (i64, i64)>, value: impl Into<Scalar>) -> Array {
        let (widths, value): (Vec<(i64, i64)>, Scalar) = (widths.into_iter().collect(), value.into());
        self.derive("pad", |state| {
            let rank = state.rank();
            if widths.len() != rank {
                return Err(Cause::Shape(format!(
                    "expected one pair of widths for each of the {rank} modes, found {}",
                    widths.len()
                )));
            }
            let mut expr = state.expr.clone();
            for (mode, (before, after)) in widths.into_iter().enumerate().filter(|(_, w)| *w != (0, 0)) {
                let end = i64::try_from(state.size(mode)).ok().and_then(|n| n.checked_add(after));
                let bounds = before.checked_neg().zip(end).filter(|(low, high)| high >= low);
                let bounds = bounds.ok_or_else(|| {
                    let size = state.size(mode);
                    Cause::Shape(format!(
                        "widths {before} and {after} crop more than mode {mode} of size {size} has, or the padded size \
                         does not fit 64 bits"
                    ))
                })?;
                expr = expr.permissive(state.fields()[mode].clone(), bounds, value.clone())?;
            }
            Ok(state.with_expr(expr))
        })
    }
}

fn repeated_size(size: u64, times: u64) -> Result<u64, Cause> {
    size.checked_mul(times).ok_or_else(|| Cause::Shape(format!("{times} times {size} elements do not fit 64 bits")))
}

/// Gives a mode another size and another subscript, and keeps its name.
pub(crate) fn along(state: &ArrayState, mode: usize, size: u64, at: Subscript) -> Result<ArrayState, Cause> {
    let fields = state.fields();
    let map = IndexMap {
        coordinates: vec![(fields[mode].clone(), at)],
        dimensions: vec![(fields[mode].clone(), size)],
        outside: None,
    };
    let expr = state.expr.clone().index(map)?;
    Ok(state.with_expr(if expr.info().fields == fields { expr } else { expr.reorder(fields.iter().cloned())? }))
}

/// Computes `ifelse(i < n, a[i], b[i - n])`, where `n` is the size of `a`. For more than two
/// arrays, the expression is nested.
fn concat(states: &[ArrayState], number: i64) -> Result<ArrayState, Cause> {
    let rank = states[0].require_numbered()?.rank();
    let mode = axis(number, rank)?;
    let shapes: Vec<Vec<u64>> =
        states.iter().map(|s| s.require_numbered().map(ArrayState::shape)).collect::<Result<_, _>>()?;
    let others =
        |shape: &[u64]| shape.iter().enumerate().filter(|(k, _)| *k != mode).map(|(_, n)| *n).collect::<Vec<_>>();
    if let Some(mismatch) = shapes.iter().find(|s| s.len() != rank || others(s) != others(&shapes[0])) {
        let first = &shapes[0];
        return Err(Cause::Shape(format!("shapes {first:?} and {mismatch:?} differ outside of mode {mode}")));
    }
    let prims: Option<Vec<_>> = states.iter().map(ArrayState::prim).collect();
    let dtype = prims.and_then(promote).map(DType::Prim);
    let total = shapes.iter().try_fold(0i64, |total, s| total.checked_add_unsigned(s[mode]));
    let total = total.ok_or_else(|| Cause::Shape(format!("the total size of mode {mode} does not fit 64 bits")))?;
    let field = position(mode);
    let mut starts = Vec::new();
    let mut start = 0;
    for (state, shape) in states.iter().zip(&shapes).filter(|(_, shape)| shape[mode] > 0) {
        let expr = match &dtype {
            Some(dtype) => state.expr.clone().cast(dtype)?,
            None => state.expr.clone(),
        };
        let outside = expr.info().fill.clone();
        let low = -(start as i64);
        starts.push((start as i64, expr.permissive(field.clone(), (low, low + total), outside)?));
        start += shape[mode];
    }
    let Some((mut from, mut joined)) = starts.pop() else {
        return match dtype {
            Some(dtype) => states[0].cast(&dtype),
            None => Ok(states[0].clone()),
        };
    };
    while let Some((start, before)) = starts.pop() {
        let first = Expr::mapjoin(Builtin::Lt, [Expr::coordinate(field.clone()), Expr::literal(from)])?;
        joined = Expr::mapjoin(Builtin::IfElse, [first, before, joined])?.reorder(positions(rank))?;
        from = start;
    }
    Ok(ArrayState { expr: joined, sources: ArrayState::sources(states), ..states[0].clone() })
}

/// Replaces the elements by zero where a mask on the coordinates of two modes is false.
pub(crate) fn apply_mask(state: &ArrayState, mask: Expr) -> Result<ArrayState, Cause> {
    let prim = state.prim().ok_or_else(|| Cause::Shape("structs have no zero".to_owned()))?;
    let zero = Expr::literal(Scalar::zero(prim));
    let order: Vec<Field> = state.fields().to_vec();
    let expr = Expr::mapjoin(Builtin::IfElse, [mask, state.expr.clone(), zero])?;
    Ok(state.with_expr(expr.reorder(order)?))
}
