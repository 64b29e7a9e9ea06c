//! The state of an array: an expression over tensors, and the style of its modes.

use super::ArrayError;
use super::error::{Cause, name_list};
use super::sources::Sources;
use redpoll_logic::{DType, Expr, Field, Prim, Scalar};
use std::sync::{Arc, LazyLock, PoisonError, RwLock};

/// Style by which modes are identified.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ModeStyle {
    /// Modes are numbered: the fields of the expression are [`position`]s, in order.
    Positional,
    /// Modes are named by the fields of the expression.
    Named,
}

/// An expression over tensors.
#[derive(Clone, Debug)]
pub(crate) struct ArrayState {
    /// The expression; the size of each field is constant.
    pub(crate) expr: Expr,
    pub(crate) style: ModeStyle,
    pub(crate) sources: Sources,
}

/// The state of an array or its error, shared by the clones of the array. `Array::compute` replaces
/// the expression by a table of the kept tensor.
#[derive(Clone, Debug)]
pub(crate) struct SharedState(Arc<RwLock<Result<ArrayState, Arc<ArrayError>>>>);

impl SharedState {
    pub(crate) fn new(state: Result<ArrayState, Arc<ArrayError>>) -> SharedState {
        SharedState(Arc::new(RwLock::new(state)))
    }

    /// Returns the state or the error.
    pub(crate) fn get(&self) -> Result<ArrayState, Arc<ArrayError>> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Returns the result of `read` for the state, or the error.
    pub(crate) fn read<T>(&self, read: impl FnOnce(&ArrayState) -> T) -> Result<T, Arc<ArrayError>> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).as_ref().map(read).map_err(Arc::clone)
    }

    /// Replaces the state by the result of `replacement`, a state with equal values. Keeps the
    /// state if the result is `None`.
    pub(crate) fn replace(&self, replacement: impl FnOnce(&ArrayState) -> Option<ArrayState>) {
        let mut shared = self.0.write().unwrap_or_else(PoisonError::into_inner);
        let replacement = shared.as_ref().ok().and_then(replacement);
        let previous = replacement.map(|state| std::mem::replace(&mut *shared, Ok(state)));
        // The lock is released first, because tensors may be dropped with the previous state.
        drop(shared);
        drop(previous);
    }
}

/// The fields of the first 32 modes of positional arrays, created once.
static POSITIONS: LazyLock<Vec<Field>> = LazyLock::new(|| (0..32).map(|k| Field::from(format!("d{k}"))).collect());

/// Returns the field of mode `k` of a positional array.
pub(crate) fn position(k: usize) -> Field {
    POSITIONS.get(k).cloned().unwrap_or_else(|| Field::from(format!("d{k}")))
}

/// Returns whether a field is the field of mode `k` of a positional array.
pub(crate) fn is_position(field: &Field, k: usize) -> bool {
    POSITIONS.get(k).map_or_else(|| *field == position(k), |position| position == field)
}

/// Returns the fields of the modes of a positional array.
pub(crate) fn positions(rank: usize) -> Vec<Field> {
    (0..rank).map(position).collect()
}

impl ArrayState {
    /// Returns an array of a constant expression.
    pub(crate) fn constant(expr: Expr) -> ArrayState {
        ArrayState { expr, style: ModeStyle::Positional, sources: Sources::default() }
    }

    /// Returns a number, whose dtype adapts to the operands that it is combined with.
    pub(crate) fn number(number: impl Into<Scalar>) -> ArrayState {
        ArrayState::constant(Expr::number(number))
    }

    /// Returns the primitive type of the values, or `None` for structs.
    pub(crate) fn prim(&self) -> Option<Prim> {
        self.expr.info().dtype.prim()
    }

    /// Returns the fields of the modes, in order.
    pub(crate) fn fields(&self) -> &[Field] {
        &self.expr.info().fields
    }

    /// Returns the names of the modes; none if the modes are numbered.
    pub(crate) fn names(&self) -> Vec<Field> {
        match self.style {
            ModeStyle::Positional => Vec::new(),
            ModeStyle::Named => self.fields().to_vec(),
        }
    }

    /// Casts the values to a dtype.
    pub(crate) fn cast(&self, dtype: &DType) -> Result<ArrayState, Cause> {
        Ok(self.with_expr(self.expr.clone().cast(dtype)?))
    }

    /// Casts integers and booleans to `f64`.
    pub(crate) fn to_float(&self) -> Result<ArrayState, Cause> {
        match self.prim() {
            Some(prim) if !prim.is_float() => self.cast(&DType::F64),
            _ => Ok(self.clone()),
        }
    }

    /// Returns the size of a mode.
    pub(crate) fn size(&self, mode: usize) -> u64 {
        self.expr.info().dimensions[mode].expect("sizes of arrays are constant")
    }

    /// Reorders the fields of an expression and numbers them as the modes of a positional array.
    pub(crate) fn number_modes(&self, expr: Expr, order: &[Field]) -> Result<ArrayState, Cause> {
        let expr = expr.reorder(order.iter().cloned())?.relabel(positions(order.len()))?;
        Ok(ArrayState { expr, style: ModeStyle::Positional, sources: self.sources.clone() })
    }

    pub(crate) fn shape(&self) -> Vec<u64> {
        self.expr.info().shape().expect("sizes of arrays are constant")
    }

    pub(crate) fn rank(&self) -> usize {
        self.expr.info().fields.len()
    }

    /// Returns the state with another expression over the same tensors.
    pub(crate) fn with_expr(&self, expr: Expr) -> ArrayState {
        ArrayState { expr, ..self.clone() }
    }

    /// Returns the sources of several states.
    pub(crate) fn sources<'s>(states: impl IntoIterator<Item = &'s ArrayState>) -> Sources {
        states.into_iter().fold(Sources::default(), |all, s| all.union(&s.sources))
    }

    /// Returns the state if its modes are numbered, or if it has no modes.
    pub(crate) fn require_numbered(&self) -> Result<&ArrayState, Cause> {
        match self.style {
            ModeStyle::Named if self.rank() > 0 => Err(Cause::NamedModes(self.expr.info().fields.clone())),
            _ => Ok(self),
        }
    }

    /// Relabels the fields of the expression, by position.
    pub(crate) fn label(&self, fields: &[Field]) -> Result<Expr, Cause> {
        let current = &self.expr.info().fields;
        if current == fields {
            return Ok(self.expr.clone());
        }
        Ok(self.expr.clone().relabel(fields.iter().cloned())?)
    }

    /// Names the modes; a repeated name selects a diagonal.
    pub(crate) fn name_modes(&self, names: &[Field]) -> Result<ArrayState, Cause> {
        if names.len() != self.rank() {
            let (found, shape) = (names.len(), self.shape());
            return Err(Cause::Shape(format!(
                "expected a name for each of the {} modes of shape {shape:?}, found {found}",
                shape.len()
            )));
        }
        let expr = self.expr.clone().label(names)?;
        Ok(ArrayState { expr, style: ModeStyle::Named, sources: self.sources.clone() })
    }

    /// Numbers the modes in the given order of their names.
    pub(crate) fn number_by_name(&self, names: &[Field]) -> Result<ArrayState, Cause> {
        let fields = self.fields();
        if let Some(name) = names.iter().find(|name| !fields.contains(name)) {
            return Err(Cause::UnknownMode { name: name.clone(), names: self.names() });
        }
        if names.len() != fields.len() || (1..names.len()).any(|k| names[..k].contains(&names[k])) {
            let (modes, found) = (name_list(&self.names()), name_list(names));
            return Err(Cause::Shape(format!("expected each of the modes {modes} once, found {found}")));
        }
        let ordered = self.expr.clone().reorder(names.iter().cloned())?;
        let expr = ordered.relabel(positions(names.len()))?;
        Ok(ArrayState { expr, style: ModeStyle::Positional, sources: self.sources.clone() })
    }
}
