//! Scatters, counts by value, and histograms.

use super::align::{align, map};
use super::error::Cause;
use super::state::ArrayState;
use super::{Array, Operand};
use redpoll_logic::op::{Builtin, Op};
use redpoll_logic::{DType, Expr, Field, FloatMode, IndexMap, Scalar};
use std::ops::Range;

impl Array {
    /// Folds each value of the array into a vector of `size` elements, at the coordinate that
    /// `coordinates` holds for the value. The two arrays are aligned, and values with coordinates
    /// outside of `0..size` are ignored.
    ///
    /// `op` must have an identity, which is the result where no value is folded.
    ///
    /// ```
    /// # use redpoll::logic::op::Builtin;
    /// # let session = redpoll::Session::default();
    /// let (a, coordinates) = (session.vector([1, 2, 3]), session.vector([2, 0, 2]));
    /// assert_eq!(a.scatter(&coordinates, 3, Builtin::Add).to_vec::<i32>()?, [2, 0, 4]);
    /// # Ok::<(), redpoll::Error>(())
    /// ```
    #[track_caller]
    #[must_use]
    pub fn scatter(&self, coordinates: impl Into<Operand>, size: u64, op: impl Into<Op>) -> Array {
        let op = op.into();
        self.combine("scatter", &[coordinates.into()], |states| {
            let [array, coordinates] = states else { unreachable!("two operands") };
            scatter_into(array.require_numbered()?, coordinates.require_numbered()?, size, &op)
        })
    }

    /// Counts the occurrences of each of the numbers `0..size` in the array.
    ///
    /// ```
    /// # let session = redpoll::Session::default();
    /// assert_eq!(session.vector([1, 0, 1, 7]).bincount(3).to_vec::<i64>()?, [1, 2, 0]);
    /// # Ok::<(), redpoll::Error>(())
    /// ```
    #[track_caller]
    #[must_use]
    pub fn bincount(&self, size: u64) -> Array {
        self.derive("bincount", |state| {
            let one = ones(state.require_numbered()?)?;
            scatter_into(&one, state, size, &Builtin::Add.into())
        })
    }

    /// Counts the values in each of `bins` equal parts of a range that includes its end. Values
    /// outside of the range are not counted.
    ///
    /// ```
    /// # let session = redpoll::Session::default();
    /// let a = session.vector([0.0, 0.5, 1.9, 2.0, 9.0]);
    /// assert_eq!(a.histogram(2, 0.0..2.0).to_vec::<i64>()?, [2, 2]);
    /// # Ok::<(), redpoll::Error>(())
    /// ```
    #[track_caller]
    #[must_use]
    pub fn histogram(&self, bins: u64, range: Range<f64>) -> Array {
        self.derive("histogram", |state| {
            let Range { start, end } = range;
            let bins_per_unit = bins as f64 / (end - start);
            // The span or its inverse may overflow.
            if bins == 0 || start >= end || !(bins_per_unit > 0.0 && bins_per_unit.is_finite()) {
                return Err(Cause::Shape(format!("cannot divide the range from {start} to {end} into {bins} bins")));
            }
            let number = |x: f64| ArrayState::number(x);
            let value = state.require_numbered()?.cast(&DType::F64)?;
            let share = map(Builtin::Sub, &[value.clone(), number(start)])?;
            let bin = map(Builtin::Mul, &[share, number(bins_per_unit)])?;
            // Rounding and the end of the range must not lead beyond the last bin.
            let bin = map(Builtin::Min, &[map(Builtin::Floor, &[bin])?, number((bins - 1) as f64)])?;
            let within = map(
                Builtin::And,
                &[map(Builtin::Ge, &[value.clone(), number(start)])?, map(Builtin::Le, &[value, number(end)])?],
            )?;
            let coordinate = map(Builtin::IfElse, &[within, bin, number(-1.0)])?.cast(&DType::I64)?;
            scatter_into(&ones(state)?, &coordinate, bins, &Builtin::Add.into())
        })
    }
}

/// Returns an array of ones in the shape of the given array.
fn ones(state: &ArrayState) -> Result<ArrayState, Cause> {
    let fields = state.fields().to_vec();
    let dimensions = fields.iter().enumerate().map(|(k, f)| (f.clone(), state.size(k))).collect();
    let one = Expr::literal(Scalar::I64(1)).index(IndexMap { coordinates: Vec::new(), dimensions, outside: None })?;
    Ok(state.with_expr(one.reorder(fields)?))
}

/// Folds values into bins:
/// `aggregate(op, identity, ifelse(coordinate = bin, value, identity), ..)`. Only the bin at
/// `coordinate` gets the value, so kernels can write to this bin without visiting the others.
fn scatter_into(array: &ArrayState, coordinates: &ArrayState, size: u64, op: &Op) -> Result<ArrayState, Cause> {
    let prim = coordinates.prim().filter(|p| p.is_int());
    let found = &coordinates.expr.info().dtype;
    prim.ok_or_else(|| Cause::Shape(format!("coordinates must be integers, found {found}; cast them")))?;
    let dtype = array.expr.info().dtype.clone();
    let identity = op.fold_identity(&dtype, FloatMode::Relaxed);
    let identity = identity.ok_or_else(|| {
        Cause::Shape(format!(
            "operator `{op}` has no identity on {dtype}; `scatter` needs one for coordinates without values"
        ))
    })?;
    let states = [array.clone(), coordinates.cast(&DType::I64)?];
    let (aligned, _) = align(&states)?;
    let [value, coordinate] = &aligned[..] else { unreachable!("two arrays") };
    let bin = Field::from("bin");
    let sized = Expr::literal(Scalar::I64(0)).index(IndexMap {
        coordinates: Vec::new(),
        dimensions: vec![(bin.clone(), size)],
        outside: None,
    })?;
    let bins = Expr::mapjoin(Builtin::Add, [Expr::coordinate(bin.clone()), sized])?;
    let is_bin = Expr::mapjoin(Builtin::Eq, [coordinate.clone(), bins])?;
    let masked = Expr::mapjoin(Builtin::IfElse, [is_bin, value.clone(), Expr::literal(identity.clone())])?;
    let folded: Vec<Field> = masked.info().fields.iter().filter(|f| **f != bin).cloned().collect();
    let expr = Expr::aggregate(op.clone(), identity, masked, folded)?;
    let sources = ArrayState::sources(&states);
    ArrayState { sources, ..array.clone() }.number_modes(expr, &[bin])
}
