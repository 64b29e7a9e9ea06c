//! Reductions along axes, as folds of one operator.

use super::error::Cause;
use super::state::{State, Style, positions};
use super::{Array, Axes};
use redpoll_logic::op::{Builtin, Op};
use redpoll_logic::{DType, Expr, Field, FloatMode, IndexMap, Prim, Scalar};

macro_rules! reductions {
    ($($name:ident $op:ident $prepare:ident $doc:literal $x:tt => $t:ty: $y:tt;)*) => {
        impl Array {$(
            #[doc = $doc]
            ///
            /// ```
            /// # let session = redpoll::Session::default();
            #[doc = concat!("let x = session.dense([2, 2], ", stringify!($x), ");")]
            #[doc = concat!("assert_eq!(x.", stringify!($name), "(0).to_vec::<", stringify!($t), ">()?, ",
                stringify!($y), ");")]
            /// # Ok::<(), redpoll::Error>(())
            /// ```
            #[track_caller]
            #[must_use]
            pub fn $name(&self, axes: impl Into<Axes>) -> Array {
                let axes = axes.into();
                self.derive(stringify!($name), |state| from_identity(&$prepare(state)?, &axes, Builtin::$op))
            }
        )*}
    };
}

reductions! {
    sum Add widened "The sum along axes. Booleans are counted; integers narrower than 64 bits are summed in 64."
        [1, 2, 3, 4] => i64: [4, 6];
    prod Mul widened "The product along axes. Integers narrower than 64 bits are multiplied in 64."
        [1, 2, 3, 4] => i64: [3, 8];
    min Min plain "The smallest along axes; of no places the largest value of the dtype, infinity for floats."
        [1, 5, 3, 4] => i32: [1, 4];
    max Max plain "The largest along axes; of no places the smallest value of the dtype, minus infinity for floats."
        [1, 5, 3, 4] => i32: [3, 5];
    all And truth "Whether all are true or not zero along axes." [1, 0, 3, 4] => bool: [true, false];
    any Or truth "Whether any is true or not zero along axes." [1, 0, 3, 0] => bool: [true, false];
    count_nonzero Add truth_counted "The number of values that are not zero along axes." [1, 0, 3, 4] => i64: [2, 1];
}

impl Array {
    /// Folds the values along axes with an operator, from `init`. A user-defined operator that is
    /// not declared associative and commutative is folded in the order of the modes.
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

fn plain(state: &State) -> Result<State, Cause> {
    Ok(state.clone())
}

/// Converts numbers to booleans by `x != 0`.
pub(crate) fn truth(state: &State) -> Result<State, Cause> {
    let zero = |prim| Expr::literal(Scalar::zero(prim));
    match state.prim() {
        Some(prim) if prim != Prim::Bool => {
            Ok(state.with(Expr::mapjoin(Builtin::Ne, [state.expr.clone(), zero(prim)])?))
        }
        _ => Ok(state.clone()),
    }
}

fn truth_counted(state: &State) -> Result<State, Cause> {
    truth(state)?.cast(&DType::I64)
}

/// Casts booleans and integers to 64-bit integers.
pub(crate) fn widened(state: &State) -> Result<State, Cause> {
    match state.prim() {
        Some(Prim::Bool | Prim::I8 | Prim::I16 | Prim::I32) => state.cast(&DType::I64),
        Some(Prim::U8 | Prim::U16 | Prim::U32) => state.cast(&Prim::U64.into()),
        _ => Ok(state.clone()),
    }
}

/// Returns the identity of an operator, from which its fold starts.
pub(crate) fn identity(op: &Op, dtype: &DType) -> Result<Scalar, Cause> {
    let none =
        || Cause::Shape(format!("operator `{op}` has no identity on {dtype}; use `reduce` with a value to start"));
    op.fold_identity(dtype, FloatMode::Relaxed).ok_or_else(none)
}

/// Folds along axes from the identity of the operator.
fn from_identity(state: &State, axes: &Axes, op: Builtin) -> Result<State, Cause> {
    let init = identity(&op.into(), &state.expr.info().dtype)?;
    fold(state, axes, op, init)
}

/// Folds along axes from `init`.
pub(crate) fn fold(state: &State, axes: &Axes, op: impl Into<Op>, init: impl Into<Scalar>) -> Result<State, Cause> {
    let (op, init) = (op.into(), init.into());
    along(state, axes, |expr, fields| Ok(Expr::aggregate(op, init, expr, fields)?))
}

/// Reduces the expression over the fields of the axes.
pub(crate) fn along(
    state: &State,
    axes: &Axes,
    reduce: impl FnOnce(Expr, Vec<Field>) -> Result<Expr, Cause>,
) -> Result<State, Cause> {
    let along = axes.resolve(state)?;
    let fields = state.fields();
    let expr = reduce(state.expr.clone(), along.iter().map(|k| fields[*k].clone()).collect())?;
    reduced(state, expr, fields, &along, axes.keep)
}

/// Restores the reduced modes with size 1 if `keep` is set; otherwise renumbers the remaining
/// modes.
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
