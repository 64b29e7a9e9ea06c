//! Arrays without stored data (constants and ranges), and unit matrices.

use super::Array;
use super::error::Cause;
use super::state::{State, Style, positions};
use crate::session::Session;
use redpoll_logic::op::Builtin;
use redpoll_logic::{Affine, Expr, Field, Format, IndexMap, Prim, Scalar, Subscript, TensorType};
use redpoll_physical::storage::{Duplicates, Tensor, Triples, Values};
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
        self.state("full", || constant(&shape, value.into()))
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

    /// Returns the integers from `start` (included) to `stop` (excluded) in the given steps.
    ///
    /// ```
    /// let session = redpoll::Session::default();
    /// assert_eq!(session.arange(1, 8, 3).to_vec::<i64>()?, [1, 4, 7]);
    /// assert_eq!(session.arange(2, -1, -1).to_vec::<i64>()?, [2, 1, 0]);
    /// # Ok::<(), redpoll::Error>(())
    /// ```
    #[track_caller]
    pub fn arange(&self, start: i64, stop: i64, step: i64) -> Array {
        self.state("arange", || {
            let (start, stop, step) = (i128::from(start), i128::from(stop), i128::from(step));
            if step == 0 {
                return Err(Cause::Shape("a range has a step other than 0".to_owned()));
            }
            let count = ((stop - start + step - step.signum()) / step).max(0);
            let size = u64::try_from(count).map_err(|_| Cause::Shape(format!("{count} places do not fit 64 bits")))?;
            counted(size, &Expr::literal(start as i64), &Expr::literal(step as i64))
        })
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
        self.state("linspace", || {
            let state = constant(&[count], start.into())?;
            if count < 2 { Ok(state) } else { spaced(&state, start, stop, count - 1) }
        })
    }

    /// Returns the matrix with ones where `column = row + k`, and fill value zero. The matrix is
    /// stored with compressed rows up to 2^24 rows; above that, it is a map of coordinates without
    /// stored rows.
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
        if rows > MOST_STORED {
            return self.state("eye", || unit(self, rows, columns, k, prim));
        }
        let location = Location::caller();
        // The diagonal starts below row 0 or right of column 0.
        let (down, right) = (k.min(0).unsigned_abs(), k.max(0).unsigned_abs());
        let count = rows.saturating_sub(down).min(columns.saturating_sub(right));
        let make = || -> Result<Tensor, Cause> {
            let coordinates = vec![(down..down + count).collect(), (right..right + count).collect()];
            let values = Values::repeat(&Scalar::one(prim), count as usize)?;
            let shape = vec![rows, columns];
            let (dtype, fill) = (prim.into(), Scalar::zero(prim));
            let ty = TensorType { shape: shape.clone(), dtype, fill, format: Format::csr() };
            let triples = Triples { shape, coordinates, values };
            Ok(Tensor::from_triples(ty, &triples, Duplicates::Error)?.0)
        };
        self.made("eye", location, make())
    }

    #[track_caller]
    fn state(&self, operation: &'static str, make: impl FnOnce() -> Result<State, Cause>) -> Array {
        let location = Location::caller();
        match make() {
            Ok(state) => Array::new(self.clone(), state),
            Err(cause) => self.failed(operation, location, cause),
        }
    }
}

/// Maximum number of rows of a unit matrix that is stored.
const MOST_STORED: u64 = 1 << 24;

/// Ones where `column = row + k`: a vector with one element, read at `column - row - k`.
fn unit(session: &Session, rows: u64, columns: u64, k: i64, prim: Prim) -> Result<State, Cause> {
    let ty = TensorType { shape: vec![1], dtype: prim.into(), fill: Scalar::zero(prim), format: Format::csf(1) };
    let one = session.array(Tensor::from_dense(ty, &Values::repeat(&Scalar::one(prim), 1)?)?);
    let one = one.state.map_err(|e| Cause::Shape(e.to_string()))?;
    let size = |n: u64| i64::try_from(n).map_err(|e| Cause::Shape(format!("{n} places: {e}")));
    let (row, column, k) = (Field::from("row"), Field::from("column"), k.clamp(-size(rows)?, size(columns)?));
    let before = Affine::field(row.clone()).times(-1).plus(&Affine::constant(-k));
    let expr = one.expr.clone().index(IndexMap {
        coordinates: vec![(one.fields()[0].clone(), Subscript::Affine(Affine::field(column.clone()).plus(&before)))],
        dimensions: vec![(row.clone(), rows), (column.clone(), columns)],
        outside: Some(Scalar::zero(prim)),
    })?;
    one.numbered(expr, &[row, column])
}

/// Returns a value repeated over a shape.
fn constant(shape: &[u64], value: Scalar) -> Result<State, Cause> {
    let dimensions = positions(shape.len()).into_iter().zip(shape.iter().copied()).collect();
    let map = IndexMap { coordinates: Vec::new(), dimensions, outside: None };
    let expr = Expr::literal(value).index(map)?;
    Ok(State { style: Style::Positional, ..State::constant(expr) })
}

/// `start + step * i`, except that the last value is exactly `stop`, without rounding errors.
fn spaced(state: &State, start: f64, stop: f64, last: u64) -> Result<State, Cause> {
    let (coordinate, steps) = (Expr::coordinate(state.fields()[0].clone()), last as f64);
    // The span may overflow the largest float, and a step may underflow the smallest.
    let whole = stop - start;
    let step = if whole.is_infinite() { stop / steps - start / steps } else { whole / steps };
    let number = Expr::number;
    let way = if step == 0.0 {
        let part = Expr::mapjoin(Builtin::Div, [coordinate.clone(), number(steps)])?;
        Expr::mapjoin(Builtin::Mul, [part, number(whole)])?
    } else {
        Expr::mapjoin(Builtin::Mul, [coordinate.clone(), number(step)])?
    };
    let before = Expr::mapjoin(Builtin::Add, [state.expr.clone(), way])?;
    let is_before = Expr::mapjoin(Builtin::Lt, [coordinate, Expr::literal(i64::try_from(last).unwrap_or(i64::MAX))])?;
    Ok(state.with(Expr::mapjoin(Builtin::IfElse, [is_before, before, Expr::literal(stop)])?))
}

/// `start + step * i`
fn counted(size: u64, start: &Expr, step: &Expr) -> Result<State, Cause> {
    let state = constant(&[size], start.info().fill.clone())?;
    let coordinate = Expr::coordinate(state.fields()[0].clone());
    let way = Expr::mapjoin(Builtin::Mul, [coordinate, step.clone()])?;
    Ok(state.with(Expr::mapjoin(Builtin::Add, [state.expr.clone(), way])?))
}
