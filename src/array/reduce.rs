//! Reductions along axes, as folds of one operator.

use super::error::Cause;
use super::state::{ArrayState, ModeStyle, positions};
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
                self.derive(stringify!($name), |state| fold_from_identity(&$prepare(state)?, &axes, Builtin::$op))
            }
        )*}
    };
}

reductions! {
    sum Add widen "Computes the sum along axes. Booleans are counted; integers narrower than 64 bits are summed in 64 bits."
        [1, 2, 3, 4] => i64: [4, 6];
    prod Mul widen "Computes the product along axes. Integers narrower than 64 bits are multiplied in 64 bits."
        [1, 2, 3, 4] => i64: [3, 8];
    min Min unchanged "Returns the minimum along axes. The minimum of no elements is the largest value of the dtype, infinity for floats."
        [1, 5, 3, 4] => i32: [1, 4];
    max Max unchanged "Returns the maximum along axes. The maximum of no elements is the smallest value of the dtype, minus infinity for floats."
        [1, 5, 3, 4] => i32: [3, 5];
    all And to_bool "Returns whether all values along axes are true or nonzero." [1, 0, 3, 4] => bool: [true, false];
    any Or to_bool "Returns whether any value along axes is true or nonzero." [1, 0, 3, 0] => bool: [true, false];
    count_nonzero Add to_counts "Counts the nonzero values along axes." [1, 0, 3, 4] => i64: [2, 1];
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

fn unchanged(state: &ArrayState) -> Result<ArrayState, Cause> {
    Ok(state.clone())
}

/// Converts numbers to booleans by `x != 0`.
///
/// # Errors
/// Fails if the values are structs.
pub(crate) fn to_bool(state: &ArrayState) -> Result<ArrayState, Cause> {
    let zero = |prim| Expr::literal(Scalar::zero(prim));
    match state.prim() {
        Some(prim) if prim != Prim::Bool => {
            Ok(state.with_expr(Expr::mapjoin(Builtin::Ne, [state.expr.clone(), zero(prim)])?))
        }
        Some(_) => Ok(state.clone()),
        None => {
            let dtype = &state.expr.info().dtype;
            Err(Cause::Shape(format!("values of dtype {dtype} are neither true nor false; take one of their members")))
        }
    }
}

fn to_counts(state: &ArrayState) -> Result<ArrayState, Cause> {
    to_bool(state)?.cast(&DType::I64)
}

/// Casts values to the primitive in which their sums and products are computed. Structs are not
/// cast.
pub(crate) fn widen(state: &ArrayState) -> Result<ArrayState, Cause> {
    match state.prim() {
        Some(prim) => state.cast(&prim.widened().into()),
        None => Ok(state.clone()),
    }
}

/// Returns the identity of an operator, from which its fold starts.
pub(crate) fn identity(op: &Op, dtype: &DType) -> Result<Scalar, Cause> {
    let no_identity =
        || Cause::Shape(format!("operator `{op}` has no identity on {dtype}; use `reduce` with an initial value"));
    op.fold_identity(dtype, FloatMode::Relaxed).ok_or_else(no_identity)
}

/// Folds along axes from the identity of the operator.
fn fold_from_identity(state: &ArrayState, axes: &Axes, op: Builtin) -> Result<ArrayState, Cause> {
    let init = identity(&op.into(), &state.expr.info().dtype)?;
    fold(state, axes, op, init)
}

/// Folds along axes from `init`.
pub(crate) fn fold(
    state: &ArrayState,
    axes: &Axes,
    op: impl Into<Op>,
    init: impl Into<Scalar>,
) -> Result<ArrayState, Cause> {
    let (op, init) = (op.into(), init.into());
    along(state, axes, |expr, fields| Ok(Expr::aggregate(op, init, expr, fields)?))
}

/// Reduces the expression over the fields of the axes.
pub(crate) fn along(
    state: &ArrayState,
    axes: &Axes,
    reduce: impl FnOnce(Expr, Vec<Field>) -> Result<Expr, Cause>,
) -> Result<ArrayState, Cause> {
    let along = axes.resolve(state)?;
    let fields = state.fields();
    let expr = reduce(state.expr.clone(), along.iter().map(|k| fields[*k].clone()).collect())?;
    restore_modes(state, expr, fields, &along, axes.keep)
}

/// Restores the reduced modes with size 1 if `keep` is set; otherwise renumbers the remaining modes
/// of a positional array.
fn restore_modes(
    state: &ArrayState,
    expr: Expr,
    fields: &[Field],
    along: &[usize],
    keep: bool,
) -> Result<ArrayState, Cause> {
    let expr = match (keep, state.style) {
        (true, _) => {
            let dimensions = along.iter().map(|k| (fields[*k].clone(), 1)).collect();
            let map = IndexMap { coordinates: Vec::new(), dimensions, outside: None };
            expr.index(map)?.reorder(fields.iter().cloned())?
        }
        (false, ModeStyle::Positional) => {
            let rank = expr.info().fields.len();
            expr.relabel(positions(rank))?
        }
        (false, ModeStyle::Named) => expr,
    };
    Ok(state.with_expr(expr))
}
