//! Gradients of arrays: derivatives by the arrays that they were made from.

use super::error::Cause;
use super::sources::{Source, Sources};
use super::state::{ArrayState, SharedState};
use super::{Array, ArrayError, Operand};
use crate::error::Error;
use crate::session::Session;
use redpoll_logic::expr::{Node, topological_order};
use redpoll_logic::gradient::{Ties, pullback, pushforward};
use redpoll_logic::op::Builtin;
use redpoll_logic::{Expr, Prim};
use std::array;
use std::collections::HashMap;
use std::panic::Location;
use std::sync::Arc;

/// An array by which a derivative is taken.
#[derive(Clone, Debug)]
pub struct WithRespectTo {
    array: Array,
    in_pattern: bool,
}

/// Names an array by which a derivative is taken.
///
/// ```
/// use redpoll::logic::Format;
/// use redpoll::{Session, wrt};
///
/// let session = Session::default();
/// let a = session.triples([2, 2], Format::csr(), [([0, 1], 3.0)]);
/// let loss = (&a + 1.0).square().sum(..);
/// let [all] = session.grad(&loss, [&a]);
/// let [stored] = session.grad(&loss, [wrt(&a).in_pattern()]);
/// assert_eq!(all.to_vec::<f64>()?, [2.0, 8.0, 2.0, 2.0]);
/// assert_eq!(stored.to_vec::<f64>()?, [0.0, 8.0, 0.0, 0.0]);
/// # Ok::<(), redpoll::Error>(())
/// ```
pub fn wrt(array: &Array) -> WithRespectTo {
    array.into()
}

impl WithRespectTo {
    /// Asks for the derivative only at the elements that differ from the fill value of the array.
    /// All other elements of the result are 0 and are not computed, so the result is as sparse as
    /// the array.
    #[must_use]
    pub fn in_pattern(self) -> WithRespectTo {
        WithRespectTo { in_pattern: true, ..self }
    }
}

impl From<&Array> for WithRespectTo {
    fn from(array: &Array) -> WithRespectTo {
        WithRespectTo { array: array.clone(), in_pattern: false }
    }
}

impl Session {
    /// Returns the derivatives of a loss by other arrays. The loss is a single float, an
    /// array without modes. Each derivative has the shape of the array by which it is taken. The
    /// derivatives are lazy, like all arrays; computing several arrays together shares their work.
    /// Derivatives can be built before or after the loss is computed.
    ///
    /// At ties of minima and maxima, the derivative is shared equally. Arrays that the loss reads
    /// as integers or booleans do not contribute. An array that was computed through a chain of
    /// more than 16 computed arrays counts as a constant.
    ///
    /// ```
    /// let session = redpoll::Session::default();
    /// let (x, y) = (session.vector([1.0, 2.0, 3.0]), session.vector([0.0, 1.0, 4.0]));
    /// let loss = (&x - &y).square().sum(..);
    /// let [dx, dy] = session.grad(&loss, [&x, &y]);
    /// assert_eq!(dx.to_vec::<f64>()?, [2.0, 2.0, -2.0]);
    /// assert_eq!(dy.to_vec::<f64>()?, [-2.0, -2.0, 2.0]);
    /// # Ok::<(), redpoll::Error>(())
    /// ```
    #[track_caller]
    pub fn grad<const N: usize>(&self, loss: &Array, wrt: [impl Into<WithRespectTo>; N]) -> [Array; N] {
        self.pull("grad", loss, None, &wrt.map(Into::into))
    }

    /// Computes a loss and its derivatives by other arrays in one plan; see [`Session::grad`].
    ///
    /// ```
    /// let session = redpoll::Session::default();
    /// let x = session.vector([1.0, 2.0]);
    /// let (value, [dx]) = session.value_and_grad(&x.exp().sum(..), [&x])?;
    /// assert!((value.item::<f64>()? - (1f64.exp() + 2f64.exp())).abs() < 1e-12);
    /// assert!((dx.to_vec::<f64>()?[1] - 2f64.exp()).abs() < 1e-12);
    /// # Ok::<(), redpoll::Error>(())
    /// ```
    ///
    /// # Errors
    /// Fails if the loss is not one float, does not depend on one of the arrays, or depends on an
    /// array through an operator without a derivative. Also fails as [`Session::compute_all`] does.
    #[track_caller]
    pub fn value_and_grad<const N: usize>(
        &self,
        loss: &Array,
        wrt: [impl Into<WithRespectTo>; N],
    ) -> Result<(Array, [Array; N]), Error> {
        let gradients = self.pull("value_and_grad", loss, None, &wrt.map(Into::into));
        self.compute_all(std::iter::once(loss).chain(&gradients))?;
        Ok((loss.clone(), gradients))
    }

    /// Returns one product for each array in `wrt`: a cotangent times the derivative of `value` by
    /// this array, in the shape of this array. The cotangent is a number or has the shape of
    /// `value`.
    ///
    /// ```
    /// let session = redpoll::Session::default();
    /// let x = session.vector([1.0, 2.0]);
    /// let [product] = session.vjp(&x.square(), session.vector([1.0, 10.0]), [&x]);
    /// assert_eq!(product.to_vec::<f64>()?, [2.0, 40.0]);
    /// # Ok::<(), redpoll::Error>(())
    /// ```
    #[track_caller]
    pub fn vjp<const N: usize>(
        &self,
        value: &Array,
        cotangent: impl Into<Operand>,
        wrt: [impl Into<WithRespectTo>; N],
    ) -> [Array; N] {
        self.pull("vjp", value, Some(cotangent.into()), &wrt.map(Into::into))
    }

    /// Returns the derivative of `value` in the directions of other arrays. Each derivative by an
    /// array is multiplied by the direction of this array, and the products are added. The result
    /// has the shape of `value`. A direction is a number or has the shape of its array.
    ///
    /// ```
    /// let session = redpoll::Session::default();
    /// let x = session.vector([1.0, 2.0]);
    /// let tangent = session.jvp(&x.square(), [(&x, session.vector([1.0, 10.0]))]);
    /// assert_eq!(tangent.to_vec::<f64>()?, [2.0, 40.0]);
    /// # Ok::<(), redpoll::Error>(())
    /// ```
    #[track_caller]
    pub fn jvp<const N: usize>(&self, value: &Array, directions: [(&Array, impl Into<Operand>); N]) -> Array {
        let location = Location::caller();
        let push = || {
            let value = value.state.get()?;
            let directions = directions.map(|(array, direction)| (array.state.get(), direction.into().state()));
            let mut states = Vec::new();
            for (array, direction) in directions {
                states.push((array?, direction?));
            }
            push(&value, &states).map_err(|cause| Arc::new(ArrayError { operation: "jvp", location, cause }))
        };
        Array { session: self.clone(), state: SharedState::new(push()) }
    }

    #[track_caller]
    fn pull<const N: usize>(
        &self,
        operation: &'static str,
        value: &Array,
        cotangent: Option<Operand>,
        wrt: &[WithRespectTo; N],
    ) -> [Array; N] {
        let location = Location::caller();
        let pulled = || {
            let value = value.state.get()?;
            let cotangent = cotangent.map(|cotangent| cotangent.state()).transpose()?;
            let arrays = wrt.iter().map(|wrt| Ok((wrt.array.state.get()?, wrt.in_pattern)));
            let arrays = arrays.collect::<Result<Vec<_>, Arc<ArrayError>>>()?;
            pull(&value, cotangent.as_ref(), &arrays)
                .map_err(|cause| Arc::new(ArrayError { operation, location, cause }))
        };
        match pulled() {
            Ok(states) => {
                let mut states = states.into_iter();
                array::from_fn(|_| Array::new(self.clone(), states.next().expect("one state per array")))
            }
            Err(error) => {
                array::from_fn(|_| Array { session: self.clone(), state: SharedState::new(Err(error.clone())) })
            }
        }
    }
}

/// Returns the derivatives of an array by other arrays, times a cotangent. Without a cotangent, the
/// array must be one float.
fn pull(
    value: &ArrayState,
    cotangent: Option<&ArrayState>,
    arrays: &[(ArrayState, bool)],
) -> Result<Vec<ArrayState>, Cause> {
    if !value.prim().is_some_and(Prim::is_float) {
        let dtype = &value.expr.info().dtype;
        return Err(Cause::Shape(format!(
            "only floats have a derivative, and the values are {dtype}; cast them to f64"
        )));
    }
    let candidates: Vec<Vec<Expr>> = arrays.iter().map(|(array, _)| forms_of(array)).collect();
    let all: Vec<Expr> = candidates.concat();
    let unfolded = Unfolding::of(value, &all)?;
    let (seed, sources) = match cotangent {
        None if value.rank() > 0 => {
            let shape = value.shape();
            return Err(Cause::Shape(format!(
                "the loss has shape {shape:?}, expected one number; sum it, or use `vjp`"
            )));
        }
        None => (Expr::literal(1.0).cast(&value.expr.info().dtype)?, unfolded.sources),
        Some(cotangent) => (same_modes(cotangent, value, "cotangent")?, unfolded.sources.union(&cotangent.sources)),
    };
    let mut pulled = pullback(&unfolded.expr, &seed, &all, Ties::Shared)?.into_iter();
    let mut gradients = Vec::new();
    for (k, ((array, in_pattern), forms)) in arrays.iter().zip(&candidates).enumerate() {
        let terms: Vec<Expr> = pulled.by_ref().take(forms.len()).flatten().collect();
        let fields = array.fields().to_vec();
        let terms =
            terms.into_iter().map(|term| term.relabel(fields.iter().cloned())).collect::<Result<Vec<_>, _>>()?;
        let Some(total) = terms.into_iter().map(Ok).reduce(|a, b| Expr::mapjoin(Builtin::Add, [a?, b?])) else {
            return Err(Cause::Shape(format!(
                "the differentiated array does not depend on array {} in the list of arrays; build it from that array, \
                 or remove that array from the list",
                k + 1
            )));
        };
        let mut gradient = total?;
        let mut sources = sources.clone();
        if *in_pattern {
            let fill = Expr::literal(array.expr.info().fill.clone());
            let is_stored = Expr::mapjoin(Builtin::Ne, [array.expr.clone(), fill])?;
            gradient = Expr::mapjoin(Builtin::IfElse, [is_stored, gradient, Expr::number(0i64)])?;
            sources = sources.union(&array.sources);
        }
        gradients.push(ArrayState { expr: gradient, style: array.style, sources });
    }
    Ok(gradients)
}

/// Returns the derivative of an array in the directions of other arrays.
fn push(value: &ArrayState, directions: &[(ArrayState, ArrayState)]) -> Result<ArrayState, Cause> {
    let mut forms = Vec::new();
    for (array, direction) in directions {
        let tangent = same_modes(direction, array, "direction")?.cast(&array.expr.info().dtype)?;
        forms.extend(forms_of(array).into_iter().map(|form| (form, tangent.clone())));
    }
    let all: Vec<Expr> = forms.iter().map(|(form, _)| form.clone()).collect();
    let unfolded = Unfolding::of(value, &all)?;
    let expr = pushforward(&unfolded.expr, &forms, Ties::Shared)?;
    let sources = directions.iter().fold(unfolded.sources, |all, (_, direction)| all.union(&direction.sources));
    Ok(ArrayState { expr, style: value.style, sources })
}

/// Returns the expression of a tangent or cotangent with the fields of its array, or without fields
/// if it is a number.
fn same_modes(tangent: &ArrayState, array: &ArrayState, role: &str) -> Result<Expr, Cause> {
    let (found, expected) = (tangent.shape(), array.shape());
    if tangent.rank() > 0 && found != expected {
        return Err(Cause::Shape(format!("the {role} has shape {found:?}, expected {expected:?}")));
    }
    let names = if tangent.rank() == 0 { &[][..] } else { array.fields() };
    Ok(tangent.expr.clone().relabel(names.iter().cloned())?)
}

/// Returns the expressions that stand for an array in other arrays: its own expression and, if the
/// array was computed, the expression that it was computed from.
fn forms_of(array: &ArrayState) -> Vec<Expr> {
    let origin = match array.expr.node() {
        Node::Table { tensor, .. } => array.sources.get(tensor).and_then(origin_of).map(|(expr, _)| expr),
        _ => None,
    };
    [array.expr.clone()].into_iter().chain(origin).collect()
}

/// Returns the expression of a computed array, with its sources if it can be computed again.
/// Returns `None` for an input.
fn origin_of(source: &Source) -> Option<(Expr, Option<Sources>)> {
    let origin = match source {
        Source::Kept(kept) => kept.origin(),
        Source::Origin(_, origin) => origin,
        _ => return None,
    };
    Some((origin.expr.clone(), origin.sources.clone()))
}

/// An expression in which the table of a computed array is replaced by the expression of the array,
/// if this expression contains an array by which a derivative is taken.
struct Unfolding {
    expr: Expr,
    sources: Sources,
}

impl Unfolding {
    fn of(value: &ArrayState, forms: &[Expr]) -> Result<Unfolding, Cause> {
        let mut unfolder = Unfolder { forms, sources: value.sources.clone(), unfolded: HashMap::new() };
        let expr = unfolder.visit(&value.expr, &value.sources)?;
        Ok(Unfolding { expr: expr.unwrap_or_else(|| value.expr.clone()), sources: unfolder.sources })
    }
}

struct Unfolder<'f> {
    forms: &'f [Expr],
    sources: Sources,
    /// The results by the addresses of nodes; `None` for a node whose unfolded expression contains
    /// none of `forms`.
    unfolded: HashMap<usize, Option<Expr>>,
}

impl Unfolder<'_> {
    /// Returns the unfolded expression of `e`, or `None` if the unfolded expression would contain
    /// none of `forms`.
    fn visit(&mut self, root: &Expr, sources: &Sources) -> Result<Option<Expr>, Cause> {
        let order = topological_order([root], |e| !self.unfolded.contains_key(&e.address()) && !self.forms.contains(e));
        for e in &order {
            if !self.unfolded.contains_key(&e.address()) {
                let unfolded = self.unfold(e, sources)?;
                self.unfolded.insert(e.address(), unfolded);
            }
        }
        Ok(self.unfolded[&root.address()].clone())
    }

    /// Unfolds a node whose arguments are unfolded already.
    fn unfold(&mut self, e: &Expr, sources: &Sources) -> Result<Option<Expr>, Cause> {
        if self.forms.contains(e) {
            return Ok(Some(e.clone()));
        }
        if let Node::Table { tensor, .. } = e.node() {
            let Some((origin, Some(sources))) = sources.get(tensor).and_then(origin_of) else { return Ok(None) };
            let Some(expr) = self.visit(&origin, &sources)? else { return Ok(None) };
            self.sources = self.sources.union(&sources);
            return Ok(Some(expr.relabel(e.info().fields.iter().cloned())?));
        }
        let unfolded = |arg: &Expr| self.unfolded[&arg.address()].clone();
        if e.node().args().iter().all(|arg| unfolded(arg).is_none()) {
            return Ok(None);
        }
        let args = e.node().args().iter().map(|arg| unfolded(arg).unwrap_or_else(|| arg.clone()));
        Ok(Some(e.with_args(args.collect())?))
    }
}
