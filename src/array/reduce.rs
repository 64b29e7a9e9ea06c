//! Reductions along axes.

use super::error::Cause;
use super::state::{State, Style, positions};
use super::{Array, Axes};
use redpoll_logic::op::{Builtin, Op};
use redpoll_logic::{Expr, Field, IndexMap, Prim, Scalar};

impl Array {
    /// The sum along axes. Booleans are counted; integers narrower than 64 bits are summed in 64.
    ///
    /// ```
    /// # let session = redpoll::Session::default();
    /// let a = session.dense([2, 2], [1, 2, 3, 4]);
    /// assert_eq!(a.sum(0).to_vec::<i64>()?, [4, 6]);
    /// assert_eq!(a.sum(..).to_vec::<i64>()?, [10]);
    /// # Ok::<(), redpoll::Error>(())
    /// ```
    #[track_caller]
    #[must_use]
    pub fn sum(&self, axes: impl Into<Axes>) -> Array {
        let axes = axes.into();
        self.derive("sum", |state| {
            let wide = widened(state)?;
            fold(&wide, &axes, Builtin::Add, Scalar::I64(0))
        })
    }

    /// The fold of an operator along axes, from `init`.
    ///
    /// ```
    /// # use redpoll::logic::op::Builtin;
    /// # let session = redpoll::Session::default();
    /// let a = session.dense([2, 2], [1, 2, 3, 4]);
    /// assert_eq!(a.reduce(Builtin::BitOr, 0, 1).to_vec::<i32>()?, [3, 7]);
    /// # Ok::<(), redpoll::Error>(())
    /// ```
    #[track_caller]
    #[must_use]
    pub fn reduce(&self, op: impl Into<Op>, init: impl Into<Scalar>, axes: impl Into<Axes>) -> Array {
        let (op, init, axes) = (op.into(), init.into(), axes.into());
        self.derive("reduce", |state| fold(state, &axes, op, init))
    }
}

/// Integers as 64-bit ones.
fn widened(state: &State) -> Result<State, Cause> {
    let wide = match state.expr.info().dtype.prim() {
        Some(Prim::I8 | Prim::I16 | Prim::I32) => Prim::I64,
        Some(Prim::U8 | Prim::U16 | Prim::U32) => Prim::U64,
        _ => return Ok(state.clone()),
    };
    Ok(state.with(state.expr.clone().cast(&wide.into())?))
}

/// The fold along axes.
pub(crate) fn fold(state: &State, axes: &Axes, op: impl Into<Op>, init: impl Into<Scalar>) -> Result<State, Cause> {
    let along = axes.resolve(state)?;
    let fields = state.expr.info().fields.clone();
    let expr = Expr::aggregate(op, init, state.expr.clone(), along.iter().map(|k| fields[*k].clone()))?;
    reduced(state, expr, &fields, &along, axes.keep)
}

/// What is left of a reduction: modes of size 1 put back if they are to be kept, the others numbered anew.
fn reduced(state: &State, expr: Expr, fields: &[Field], along: &[usize], keep: bool) -> Result<State, Cause> {
    let expr = match (keep, state.style) {
        (true, _) => {
            let dimensions = along.iter().map(|k| (fields[*k].clone(), 1)).collect();
            let map = IndexMap { coordinates: Vec::new(), dimensions, outside: None };
            expr.index(map)?.reorder(fields.iter().cloned())?
        }
        (false, Style::Positional) => {
            let rank = expr.info().fields.len();
            expr.relabel(positions(rank))?
        }
        (false, Style::Named) => expr,
    };
    Ok(state.with(expr))
}
