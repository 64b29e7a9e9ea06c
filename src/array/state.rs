//! What an array is: an expression over tensors, and how its modes are told apart.

use super::error::Cause;
use redpoll_logic::{Alias, DType, Expr, Field, Prim, Scalar};
use redpoll_physical::storage::Tensor;
use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

/// How modes are told apart.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Style {
    /// By number: the fields of the expression are [`position`]s, in order.
    Positional,
    /// By the names of the expression's fields.
    Named,
}

/// The tensors that an expression reads.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sources(Arc<BTreeMap<Alias, Tensor>>);

/// An expression over tensors.
#[derive(Clone, Debug)]
pub(crate) struct State {
    /// What to compute; the size of each field is known.
    pub(crate) expr: Expr,
    pub(crate) style: Style,
    pub(crate) sources: Sources,
}

/// The field of mode `k` of a positional array.
pub(crate) fn position(k: usize) -> Field {
    static FIELDS: LazyLock<Vec<Field>> = LazyLock::new(|| (0..32).map(|k| Field::from(format!("d{k}"))).collect());
    FIELDS.get(k).cloned().unwrap_or_else(|| Field::from(format!("d{k}")))
}

/// The fields of the modes of a positional array.
pub(crate) fn positions(rank: usize) -> Vec<Field> {
    (0..rank).map(position).collect()
}

impl Sources {
    pub(crate) fn one(name: Alias, tensor: Tensor) -> Sources {
        Sources(Arc::new(BTreeMap::from([(name, tensor)])))
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&Alias, &Tensor)> {
        self.0.iter()
    }

    /// The tensors of both; names are unique in a process.
    pub(crate) fn union(&self, other: &Sources) -> Sources {
        let contains = |a: &Sources, b: &Sources| b.0.keys().all(|name| a.0.contains_key(name));
        if contains(self, other) {
            return self.clone();
        }
        if contains(other, self) {
            return other.clone();
        }
        let both = self.iter().chain(other.iter());
        Sources(Arc::new(both.map(|(name, tensor)| (name.clone(), tensor.clone())).collect()))
    }
}

impl State {
    /// An array that is a constant.
    pub(crate) fn constant(expr: Expr) -> State {
        State { expr, style: Style::Positional, sources: Sources::default() }
    }

    /// A number, which takes the dtype that it meets.
    pub(crate) fn number(number: impl Into<Scalar>) -> State {
        State::constant(Expr::number(number))
    }

    /// The primitive type of its values, unless they are structs.
    pub(crate) fn prim(&self) -> Option<Prim> {
        self.expr.info().dtype.prim()
    }

    /// The fields of the modes, in order.
    pub(crate) fn fields(&self) -> &[Field] {
        &self.expr.info().fields
    }

    /// The values cast to a dtype.
    pub(crate) fn cast(&self, dtype: &DType) -> Result<State, Cause> {
        Ok(self.with(self.expr.clone().cast(dtype)?))
    }

    /// Integers and booleans as `f64`.
    pub(crate) fn floating(&self) -> Result<State, Cause> {
        match self.prim() {
            Some(prim) if !prim.is_float() => self.cast(&DType::F64),
            _ => Ok(self.clone()),
        }
    }

    /// The size of a mode.
    pub(crate) fn size(&self, mode: usize) -> u64 {
        self.expr.info().dimensions[mode].expect("arrays are built of tensors, whose sizes are known")
    }

    /// The expression of a positional array whose modes are the fields in their order, numbered anew.
    pub(crate) fn numbered(&self, expr: Expr, order: &[Field]) -> Result<State, Cause> {
        let expr = expr.reorder(order.iter().cloned())?.relabel(positions(order.len()))?;
        Ok(State { expr, style: Style::Positional, sources: self.sources.clone() })
    }

    pub(crate) fn shape(&self) -> Vec<u64> {
        self.expr.info().shape().expect("arrays are built of tensors, whose sizes are known")
    }

    pub(crate) fn rank(&self) -> usize {
        self.expr.info().fields.len()
    }

    /// The state with another expression over the same tensors.
    pub(crate) fn with(&self, expr: Expr) -> State {
        State { expr, ..self.clone() }
    }

    /// The tensors of several.
    pub(crate) fn sources<'s>(states: impl IntoIterator<Item = &'s State>) -> Sources {
        states.into_iter().fold(Sources::default(), |all, s| all.union(&s.sources))
    }

    /// The state, if its modes are numbered.
    pub(crate) fn by_number(&self) -> Result<&State, Cause> {
        match self.style {
            Style::Named if self.rank() > 0 => Err(Cause::Named(self.expr.info().fields.clone())),
            _ => Ok(self),
        }
    }

    /// The expression with fields of those names, by position.
    pub(crate) fn labelled(&self, fields: &[Field]) -> Result<Expr, Cause> {
        let own = &self.expr.info().fields;
        if own == fields {
            return Ok(self.expr.clone());
        }
        Ok(self.expr.clone().relabel(fields.iter().cloned())?)
    }

    /// The array with its modes named.
    pub(crate) fn named(&self, names: &[Field]) -> Result<State, Cause> {
        if names.len() != self.rank() {
            let (found, shape) = (names.len(), self.shape());
            return Err(Cause::Shape(format!("{found} names for the {} modes of shape {shape:?}", shape.len())));
        }
        // A name that repeats joins two modes: each pair is read along its diagonal.
        let (mut labels, mut stand_ins): (Vec<Field>, Vec<_>) = (Vec::with_capacity(names.len()), Vec::new());
        for (k, name) in names.iter().enumerate() {
            if names[..k].contains(name) {
                let stand_in = Field::from(format!("{name}'{k}"));
                labels.push(stand_in.clone());
                stand_ins.push((name.clone(), stand_in));
            } else {
                labels.push(name.clone());
            }
        }
        let mut expr = self.labelled(&labels)?;
        for (name, stand_in) in stand_ins {
            expr = expr.diagonal((name.clone(), stand_in), name)?;
        }
        Ok(State { expr, style: Style::Named, sources: self.sources.clone() })
    }

    /// The array with its modes numbered in the order of their names as given.
    pub(crate) fn positional(&self, names: &[Field]) -> Result<State, Cause> {
        let ordered = self.expr.clone().reorder(names.iter().cloned())?;
        let expr = ordered.relabel(positions(names.len()))?;
        Ok(State { expr, style: Style::Positional, sources: self.sources.clone() })
    }
}
