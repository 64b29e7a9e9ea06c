//! Arrays without stored data (constants and ranges), grids of vectors, and unit matrices.

use super::error::Cause;
use super::state::{ArrayState, ModeStyle, positions};
use super::value::Value;
use super::{Array, ArrayError};
use crate::error::Error;
use crate::session::Session;
use redpoll_logic::op::Builtin;
use redpoll_logic::{Affine, Expr, Field, Format, IndexMap, Prim, Scalar, Subscript, TensorType};
use redpoll_storage::{Duplicates, Tensor, Triples, Values};
use std::panic::Location;

impl Session {
    /// Returns an array of one repeated value.
    ///
    /// ```
    /// let session = redpoll::Session::default();
    /// assert_eq!(session.full([2], 7).to_vec::<i32>()?, [7, 7]);
    /// # Ok::<(), redpoll::Error>(())
    /// ```
    #[track_caller]
    pub fn full(&self, shape: impl IntoIterator<Item = u64>, value: impl Into<Scalar>) -> Array {
        let shape: Vec<u64> = shape.into_iter().collect();
        self.array_from_state("full", || constant(&shape, value.into()))
    }

    /// Returns an array of zeros.
    ///
    /// ```
    /// use redpoll::logic::Prim;
    ///
    /// let session = redpoll::Session::default();
    /// assert_eq!(session.zeros([2], Prim::F32).to_vec::<f32>()?, [0.0, 0.0]);
    /// # Ok::<(), redpoll::Error>(())
    /// ```
    #[track_caller]
    pub fn zeros(&self, shape: impl IntoIterator<Item = u64>, prim: Prim) -> Array {
        self.full(shape, Scalar::zero(prim))
    }

    /// Returns an array of ones.
    ///
    /// ```
    /// use redpoll::logic::Prim;
    ///
    /// let session = redpoll::Session::default();
    /// assert_eq!(session.ones([2], Prim::U8).to_vec::<u8>()?, [1, 1]);
    /// # Ok::<(), redpoll::Error>(())
    /// ```
    #[track_caller]
    pub fn ones(&self, shape: impl IntoIterator<Item = u64>, prim: Prim) -> Array {
        self.full(shape, Scalar::one(prim))
    }

    /// Returns the numbers from `start` (included) to `stop` (excluded) in the given steps, as
    /// `i64`, or as `f64` for float arguments. The number of floats is
    /// `ceil((stop - start) / step)`, as in NumPy, so rounding may add a value at the end.
    /// [`Session::linspace`] takes the number of values.
    ///
    /// ```
    /// let session = redpoll::Session::default();
    /// assert_eq!(session.arange(1, 8, 3).to_vec::<i64>()?, [1, 4, 7]);
    /// assert_eq!(session.arange(2, -1, -1).to_vec::<i64>()?, [2, 1, 0]);
    /// assert_eq!(session.arange(0.0, 1.0, 0.25).to_vec::<f64>()?, [0.0, 0.25, 0.5, 0.75]);
    /// # Ok::<(), redpoll::Error>(())
    /// ```
    #[track_caller]
    pub fn arange<T: RangeValue>(&self, start: T, stop: T, step: T) -> Array {
        self.array_from_state("arange", || {
            if step.into() == Scalar::zero(T::PRIM) {
                return Err(Cause::Shape("the step of a range must not be 0".to_owned()));
            }
            let size = T::count(start, stop, step)
                .ok_or_else(|| Cause::Shape("the number of elements is NaN or at least 2^63".to_owned()))?;
            steps(size, &Expr::literal(start), &Expr::literal(step))
        })
    }

    /// Returns one array per vector. Each array has a mode for each vector, and repeats its own
    /// vector along the other modes, as NumPy does with `indexing='ij'`. The transpose of the first
    /// two modes is NumPy's `'xy'`. Such arrays are rarely needed, because operators align their
    /// operands: `x.expand_dims(1) + y` adds all pairs.
    ///
    /// ```
    /// let session = redpoll::Session::default();
    /// let grids = session.meshgrid([&session.vector([1, 2]), &session.vector([7, 8, 9])])?;
    /// assert_eq!(grids[0].to_vec::<i32>()?, [1, 1, 1, 2, 2, 2]);
    /// assert_eq!(grids[1].to_vec::<i32>()?, [7, 8, 9, 7, 8, 9]);
    /// # Ok::<(), redpoll::Error>(())
    /// ```
    ///
    /// # Errors
    /// Fails if an array is not a vector with a numbered mode, or carries an error.
    #[track_caller]
    pub fn meshgrid<'a>(&self, vectors: impl IntoIterator<Item = &'a Array>) -> Result<Vec<Array>, Error> {
        let vectors: Vec<&Array> = vectors.into_iter().collect();
        let mut shape = Vec::with_capacity(vectors.len());
        for vector in &vectors {
            match vector.shape()?[..] {
                [size] => shape.push(size),
                ref other => {
                    return Err(ArrayError::shape("meshgrid", format!("expected vectors, found shape {other:?}")));
                }
            }
        }
        let grid = |(mode, vector): (usize, &&Array)| {
            let mut column = vec![1i64; shape.len()];
            column[mode] = -1;
            vector.reshape(column).broadcast_to(shape.iter().copied()).check()
        };
        vectors.iter().enumerate().map(grid).collect()
    }

    /// Returns `count` floats in equal steps from `start` to `stop`, both included exactly. A
    /// single value is `start`.
    ///
    /// ```
    /// let session = redpoll::Session::default();
    /// assert_eq!(session.linspace(0.0, 1.0, 3).to_vec::<f64>()?, [0.0, 0.5, 1.0]);
    /// # Ok::<(), redpoll::Error>(())
    /// ```
    #[track_caller]
    pub fn linspace(&self, start: f64, stop: f64, count: u64) -> Array {
        self.array_from_state("linspace", || {
            let state = constant(&[count], start.into())?;
            if count < 2 { Ok(state) } else { linear_steps(&state, start, stop, count - 1) }
        })
    }

    /// Returns the matrix with ones where `column = row + k`, and fill value zero. A matrix of at
    /// most 2^24 rows is stored with compressed rows. A matrix of more rows is an expression that
    /// stores no rows.
    ///
    /// ```
    /// use redpoll::logic::Prim;
    ///
    /// let session = redpoll::Session::default();
    /// assert_eq!(session.eye(2, 3, 1, Prim::I32).to_vec::<i32>()?, [0, 1, 0, 0, 0, 1]);
    /// # Ok::<(), redpoll::Error>(())
    /// ```
    #[track_caller]
    pub fn eye(&self, rows: u64, columns: u64, k: i64, prim: Prim) -> Array {
        if rows > MAX_STORED_ROWS {
            return self.array_from_state("eye", || unit_matrix(self, rows, columns, k, prim));
        }
        let location = Location::caller();
        // The diagonal starts at row `down` and column `right`, at least one of which is 0.
        let (down, right) = (k.min(0).unsigned_abs(), k.max(0).unsigned_abs());
        let count = rows.saturating_sub(down).min(columns.saturating_sub(right));
        let build = || -> Result<Tensor, Cause> {
            let coordinates = vec![(down..down + count).collect(), (right..right + count).collect()];
            let values = Values::repeat(&Scalar::one(prim), count as usize)?;
            let shape = vec![rows, columns];
            let (dtype, fill) = (prim.into(), Scalar::zero(prim));
            let ty = TensorType { shape: shape.clone(), dtype, fill, format: Format::csr() };
            let triples = Triples { shape, coordinates, values };
            Ok(Tensor::from_triples(ty, &triples, Duplicates::Error)?.0)
        };
        self.array_from("eye", location, build())
    }

    #[track_caller]
    fn array_from_state(&self, operation: &'static str, build: impl FnOnce() -> Result<ArrayState, Cause>) -> Array {
        let location = Location::caller();
        match build() {
            Ok(state) => Array::new(self.clone(), state),
            Err(cause) => self.error_array(operation, location, cause),
        }
    }
}

/// A type of the numbers of [`Session::arange`]: `i64` or `f64`.
pub trait RangeValue: Value {
    /// Returns the number of values before `stop`, or `None` if the number is too large or NaN.
    #[doc(hidden)]
    fn count(start: Self, stop: Self, step: Self) -> Option<u64>;
}

impl RangeValue for i64 {
    fn count(start: i64, stop: i64, step: i64) -> Option<u64> {
        let (start, stop, step) = (i128::from(start), i128::from(stop), i128::from(step));
        u64::try_from(((stop - start + step - step.signum()) / step).max(0)).ok()
    }
}

impl RangeValue for f64 {
    fn count(start: f64, stop: f64, step: f64) -> Option<u64> {
        let count = ((stop - start) / step).ceil();
        // The comparison is false if the count is NaN.
        (count < 2f64.powi(63)).then_some(count.max(0.0) as u64)
    }
}

/// Maximum number of rows of a unit matrix that is stored.
const MAX_STORED_ROWS: u64 = 1 << 24;

/// Returns the matrix with ones where `column = row + k`. The matrix is a vector of one element
/// that is read at `column - row - k`.
fn unit_matrix(session: &Session, rows: u64, columns: u64, k: i64, prim: Prim) -> Result<ArrayState, Cause> {
    let ty = TensorType { shape: vec![1], dtype: prim.into(), fill: Scalar::zero(prim), format: Format::csf(1) };
    let one = session.array(Tensor::from_dense(ty, &Values::repeat(&Scalar::one(prim), 1)?)?);
    let one = one.state.get().map_err(|e| Cause::Shape(e.to_string()))?;
    let size = |n: u64| i64::try_from(n).map_err(|e| Cause::Shape(format!("size {n}: {e}")));
    let (row, column, k) = (Field::from("row"), Field::from("column"), k.clamp(-size(rows)?, size(columns)?));
    let shift = Affine::field(row.clone()).times(-1).plus(&Affine::constant(-k));
    let expr = one.expr.clone().index(IndexMap {
        coordinates: vec![(one.fields()[0].clone(), Subscript::Affine(Affine::field(column.clone()).plus(&shift)))],
        dimensions: vec![(row.clone(), rows), (column.clone(), columns)],
        outside: Some(Scalar::zero(prim)),
    })?;
    one.number_modes(expr, &[row, column])
}

/// Returns a value repeated over a shape.
fn constant(shape: &[u64], value: Scalar) -> Result<ArrayState, Cause> {
    let dimensions = positions(shape.len()).into_iter().zip(shape.iter().copied()).collect();
    let map = IndexMap { coordinates: Vec::new(), dimensions, outside: None };
    let expr = Expr::literal(value).index(map)?;
    Ok(ArrayState { style: ModeStyle::Positional, ..ArrayState::constant(expr) })
}

/// Returns the values `start + step * i`, except that the last value is exactly `stop`, without
/// rounding errors.
fn linear_steps(state: &ArrayState, start: f64, stop: f64, last: u64) -> Result<ArrayState, Cause> {
    let (coordinate, steps) = (Expr::coordinate(state.fields()[0].clone()), last as f64);
    // The span may overflow the largest float, and a step may underflow the smallest.
    let span = stop - start;
    let step = if span.is_infinite() { stop / steps - start / steps } else { span / steps };
    let number = Expr::number;
    let offset = if step == 0.0 {
        let fraction = Expr::mapjoin(Builtin::Div, [coordinate.clone(), number(steps)])?;
        Expr::mapjoin(Builtin::Mul, [fraction, number(span)])?
    } else {
        Expr::mapjoin(Builtin::Mul, [coordinate.clone(), number(step)])?
    };
    let value = Expr::mapjoin(Builtin::Add, [state.expr.clone(), offset])?;
    let is_before = Expr::mapjoin(Builtin::Lt, [coordinate, Expr::literal(i64::try_from(last).unwrap_or(i64::MAX))])?;
    Ok(state.with_expr(Expr::mapjoin(Builtin::IfElse, [is_before, value, Expr::literal(stop)])?))
}

/// Returns the values `start + step * i`.
fn steps(size: u64, start: &Expr, step: &Expr) -> Result<ArrayState, Cause> {
    let state = constant(&[size], start.info().fill.clone())?;
    let coordinate = Expr::coordinate(state.fields()[0].clone());
    let offset = Expr::mapjoin(Builtin::Mul, [coordinate, step.clone()])?;
    Ok(state.with_expr(Expr::mapjoin(Builtin::Add, [state.expr.clone(), offset])?))
}
