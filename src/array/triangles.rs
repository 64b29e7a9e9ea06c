//! Triangles and diagonals of matrices. A mask on coordinates selects a triangle; the mask is never
//! stored and restricts the loops. A map of coordinates reads a diagonal.

use super::Array;
use super::axes::axis;
use super::error::Cause;
use super::join::apply_mask;
use super::shape::require_min_rank;
use super::state::ArrayState;
use redpoll_logic::op::Builtin;
use redpoll_logic::{Affine, Expr, Field, IndexMap, Scalar, Subscript};

impl Array {
    /// Keeps the lower triangle of the last two modes, `column <= row + k`, with zero elsewhere.
    ///
    /// ```
    /// # let session = redpoll::Session::default();
    /// assert_eq!(session.dense([2, 2], [1, 2, 3, 4]).tril(0).to_vec::<i32>()?, [1, 0, 3, 4]);
    /// # Ok::<(), redpoll::Error>(())
    /// ```
    #[track_caller]
    #[must_use]
    pub fn tril(&self, k: i64) -> Array {
        self.derive("tril", |state| triangle(state, Builtin::Le, k))
    }

    /// Keeps the upper triangle of the last two modes, `column >= row + k`, with zero elsewhere.
    ///
    /// ```
    /// # let session = redpoll::Session::default();
    /// assert_eq!(session.dense([2, 2], [1, 2, 3, 4]).triu(1).to_vec::<i32>()?, [0, 2, 0, 0]);
    /// # Ok::<(), redpoll::Error>(())
    /// ```
    #[track_caller]
    #[must_use]
    pub fn triu(&self, k: i64) -> Array {
        self.derive("triu", |state| triangle(state, Builtin::Ge, k))
    }

    /// Keeps the band `row - lower <= column <= row + upper` of the last two modes, with zero
    /// elsewhere.
    ///
    /// ```
    /// # let session = redpoll::Session::default();
    /// let a = session.dense([3, 3], [1, 2, 3, 4, 5, 6, 7, 8, 9]);
    /// assert_eq!(a.band(0, 1).to_vec::<i32>()?, [1, 2, 0, 0, 5, 6, 0, 0, 9]);
    /// # Ok::<(), redpoll::Error>(())
    /// ```
    #[track_caller]
    #[must_use]
    pub fn band(&self, lower: i64, upper: i64) -> Array {
        self.derive("band", |state| {
            triangle(&triangle(state, Builtin::Le, upper)?, Builtin::Ge, lower.saturating_neg())
        })
    }

    /// Makes a symmetric matrix of the last two modes by mirroring the lower triangle. Elements
    /// above the diagonal are ignored and need not be stored.
    ///
    /// ```
    /// # let session = redpoll::Session::default();
    /// let lower = session.dense([2, 2], [1, 9, 2, 3]);
    /// assert_eq!(lower.symmetric().to_vec::<i32>()?, [1, 2, 2, 3]);
    /// # Ok::<(), redpoll::Error>(())
    /// ```
    #[track_caller]
    #[must_use]
    pub fn symmetric(&self) -> Array {
        self.derive("symmetric", |state| {
            let rank = require_min_rank(state.require_numbered()?, 2)?;
            let (rows, columns) = (state.size(rank - 2), state.size(rank - 1));
            if rows != columns {
                return Err(Cause::Shape(format!(
                    "a symmetric matrix is square, found {rows} rows and {columns} columns"
                )));
            }
            let fields = state.fields().to_vec();
            let mut exchanged = fields.clone();
            exchanged.swap(rank - 2, rank - 1);
            let below = mask(Builtin::Le, state, 0)?;
            let sides = [below, state.expr.clone(), state.label(&exchanged)?];
            Ok(state.with_expr(Expr::mapjoin(Builtin::IfElse, sides)?.reorder(fields)?))
        })
    }

    /// Reads the diagonal `column = row + k` of the last two modes. The diagonal becomes the last
    /// mode.
    ///
    /// ```
    /// # let session = redpoll::Session::default();
    /// let a = session.dense([2, 2], [1, 2, 3, 4]);
    /// assert_eq!(a.diagonal(0).to_vec::<i32>()?, [1, 4]);
    /// assert_eq!(a.diagonal(-1).to_vec::<i32>()?, [3]);
    /// # Ok::<(), redpoll::Error>(())
    /// ```
    #[track_caller]
    #[must_use]
    pub fn diagonal(&self, k: i64) -> Array {
        self.derive("diagonal", |state| diagonal(state, k))
    }

    /// Sums the diagonal `column = row + k` of the last two modes. The result has the dtype
    /// that [`Array::sum`] gives.
    ///
    /// ```
    /// # let session = redpoll::Session::default();
    /// assert_eq!(session.dense([2, 2], [1, 2, 3, 4]).trace(0).to_vec::<i64>()?, [5]);
    /// # Ok::<(), redpoll::Error>(())
    /// ```
    #[track_caller]
    #[must_use]
    pub fn trace(&self, k: i64) -> Array {
        self.derive("trace", |state| {
            let wide = super::reduce::widen(&diagonal(state, k)?)?;
            super::reduce::fold(&wide, &(-1).into(), Builtin::Add, Scalar::I64(0))
        })
    }

    /// Returns the matrix with this vector as its diagonal `column = row + k` and zero elsewhere.
    ///
    /// ```
    /// # let session = redpoll::Session::default();
    /// assert_eq!(session.vector([1, 2]).diagonal_matrix(0).to_vec::<i32>()?, [1, 0, 0, 2]);
    /// # Ok::<(), redpoll::Error>(())
    /// ```
    #[track_caller]
    #[must_use]
    pub fn diagonal_matrix(&self, k: i64) -> Array {
        self.derive("diagonal_matrix", |state| {
            if state.require_numbered()?.rank() != 1 {
                return Err(Cause::Shape(format!("expected a vector, found shape {:?}", state.shape())));
            }
            let size = i64::try_from(state.size(0)).ok().zip(k.checked_abs());
            let size = size
                .and_then(|(n, k)| n.checked_add(k))
                .ok_or_else(|| Cause::Shape("the size of the matrix does not fit 64 bits".to_owned()))?;
            // Entry e is at row e + max(0, -k).
            let (row, column) = (Field::from("row"), Field::from("column"));
            let at = Affine::field(row.clone()).plus(&Affine::constant(k.min(0)));
            let zero = Scalar::zero(state.prim().ok_or_else(|| Cause::Shape("structs have no zero".to_owned()))?);
            let expr = state.expr.clone().index(IndexMap {
                coordinates: vec![(state.fields()[0].clone(), Subscript::Affine(at))],
                dimensions: vec![(row.clone(), size as u64), (column.clone(), size as u64)],
                outside: Some(zero),
            })?;
            let spread = state.number_modes(expr, &[row, column])?;
            apply_mask(&spread, mask(Builtin::Eq, &spread, k)?)
        })
    }
}

/// Returns the comparison `op(column, row + k)` of the coordinates of the last two modes.
pub(crate) fn mask(op: Builtin, state: &ArrayState, k: i64) -> Result<Expr, Cause> {
    let (fields, rank) = (state.fields(), state.rank());
    let (row, column) = (&fields[rank - 2], &fields[rank - 1]);
    // A diagonal beyond the corners contains no element, so clamping `k` changes no comparison. An
    // unclamped `row + k` could overflow an `i64`.
    let size = |mode: usize| i64::try_from(state.size(mode)).unwrap_or(i64::MAX);
    let k = k.clamp(-size(rank - 2), size(rank - 1));
    let row = match k {
        0 => Expr::coordinate(row.clone()),
        _ => Expr::mapjoin(Builtin::Add, [Expr::coordinate(row.clone()), Expr::literal(k)])?,
    };
    Ok(Expr::mapjoin(op, [Expr::coordinate(column.clone()), row])?)
}

fn triangle(state: &ArrayState, op: Builtin, k: i64) -> Result<ArrayState, Cause> {
    require_min_rank(state, 2)?;
    apply_mask(state, mask(op, state, k)?)
}

fn diagonal(state: &ArrayState, k: i64) -> Result<ArrayState, Cause> {
    let rank = require_min_rank(state.require_numbered()?, 2)?;
    let (rows, columns) = (axis(-2, rank)?, axis(-1, rank)?);
    let both = Field::from("diagonal");
    let (down, right) = (k.min(0).unsigned_abs(), k.max(0).unsigned_abs());
    let size = state.size(rows).saturating_sub(down).min(state.size(columns).saturating_sub(right));
    let at = |start: u64| {
        Subscript::Affine(Affine::field(both.clone()).plus(&Affine::constant(if size == 0 { 0 } else { start as i64 })))
    };
    let expr = state.expr.clone().index(IndexMap {
        coordinates: vec![(state.fields()[rows].clone(), at(down)), (state.fields()[columns].clone(), at(right))],
        dimensions: vec![(both.clone(), size)],
        outside: None,
    })?;
    let mut order = state.fields()[..rank - 2].to_vec();
    order.push(both);
    state.number_modes(expr, &order)
}
