//! Scatters, counts by value, and histograms.

use super::align::{aligned, map};
use super::error::Cause;
use super::state::State;
use super::{Array, Operand};
use redpoll_logic::op::{Builtin, Op};
use redpoll_logic::{DType, Expr, Field, FloatMode, IndexMap, Scalar};
use std::ops::Range;

impl Array {
    /// Folds each value of the array into a vector of `size` elements, at the coordinate that
    /// `places` has for the value. The two arrays are aligned, and coordinates outside of `0..size`
    /// are ignored.
    ///
    /// `op` must have an identity, which is the result where no value is folded.
    ///
    /// ```
    /// # use redpoll::logic::op::Builtin;
    /// # let session = redpoll::Session::default();
    /// let (a, places) = (session.vector([1, 2, 3]), session.vector([2, 0, 2]));
    /// assert_eq!(a.scatter(&places, 3, Builtin::Add).to_vec::<i32>()?, [2, 0, 4]);
    /// # Ok::<(), redpoll::Error>(())
    /// ```
    #[track_caller]
    #[must_use]
    pub fn scatter(&self, places: impl Into<Operand>, size: u64, op: impl Into<Op>) -> Array {
        let op = op.into();
        self.combine("scatter", &[places.into()], |states| {
            let [array, places] = states else { unreachable!("two operands") };
            scattered(array.by_number()?, places.by_number()?, size, &op)
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
            let one = ones(state.by_number()?)?;
            scattered(&one, state, size, &Builtin::Add.into())
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
            if bins == 0 || !start.is_finite() || !end.is_finite() || start >= end {
                return Err(Cause::Shape(format!("{bins} bins between {start} and {end}")));
            }
            let number = |x: f64| State::number(x);
            let value = state.by_number()?.cast(&DType::F64)?;
            let share = map(Builtin::Sub, &[value.clone(), number(start)])?;
            let bin = map(Builtin::Mul, &[share, number(bins as f64 / (end - start))])?;
            // Rounding and the end of the range must not lead beyond the last bin.
            let bin = map(Builtin::Min, &[map(Builtin::Floor, &[bin])?, number((bins - 1) as f64)])?;
            let within = map(
                Builtin::And,
                &[map(Builtin::Ge, &[value.clone(), number(start)])?, map(Builtin::Le, &[value, number(end)])?],
            )?;
            let place = map(Builtin::IfElse, &[within, bin, number(-1.0)])?.cast(&DType::I64)?;
            scattered(&ones(state)?, &place, bins, &Builtin::Add.into())
        })
    }
}

/// Returns ones of the shape of an array.
fn ones(state: &State) -> Result<State, Cause> {
    let fields = state.fields().to_vec();
    let dimensions = fields.iter().enumerate().map(|(k, f)| (f.clone(), state.size(k))).collect();
    let one = Expr::literal(Scalar::I64(1)).index(IndexMap { coordinates: Vec::new(), dimensions, outside: None })?;
    Ok(state.with(one.reorder(fields)?))
}

/// `aggregate(op, identity, ifelse(place = bin, value, identity), ..)`: the mask makes the fold a
/// write at `place`.
fn scattered(array: &State, places: &State, size: u64, op: &Op) -> Result<State, Cause> {
    let prim = places.prim().filter(|p| p.is_int());
    let found = &places.expr.info().dtype;
    prim.ok_or_else(|| Cause::Shape(format!("places are integers, found {found}; cast them")))?;
    let dtype = array.expr.info().dtype.clone();
    let identity = op.fold_identity(&dtype, FloatMode::Relaxed);
    let identity = identity.ok_or_else(|| {
        Cause::Shape(format!("operator `{op}` has no identity in {dtype}, which empty places would hold"))
    })?;
    let states = [array.clone(), places.cast(&DType::I64)?];
    let (both, _) = aligned(&states)?;
    let [value, place] = &both[..] else { unreachable!("two arrays") };
    let bin = Field::from("bin");
    let sized = Expr::literal(Scalar::I64(0)).index(IndexMap {
        coordinates: Vec::new(),
        dimensions: vec![(bin.clone(), size)],
        outside: None,
    })?;
    let bins = Expr::mapjoin(Builtin::Add, [Expr::coordinate(bin.clone()), sized])?;
    let here = Expr::mapjoin(Builtin::Eq, [place.clone(), bins])?;
    let spread = Expr::mapjoin(Builtin::IfElse, [here, value.clone(), Expr::literal(identity.clone())])?;
    let folded: Vec<Field> = spread.info().fields.iter().filter(|f| **f != bin).cloned().collect();
    let expr = Expr::aggregate(op.clone(), identity, spread, folded)?;
    let sources = State::sources(&states);
    State { sources, ..array.clone() }.numbered(expr, &[bin])
}
