//! Computation of arrays whose tensors are kept for later expressions.

use super::Array;
use super::collect::states;
use super::sources::{Source, Sources, unique_name};
use super::state::ArrayState;
use crate::error::Error;
use crate::session::Session;
use redpoll_logic::Expr;
use redpoll_logic::expr::Node;
use redpoll_storage::Tensor;

impl Session {
    /// Computes several arrays in one plan, so that shared subexpressions are computed once, and
    /// keeps the tensors as [`Array::compute`] does.
    ///
    /// ```
    /// let session = redpoll::Session::default();
    /// let a = session.dense([2, 2], [1.0, 2.0, 3.0, 4.0]);
    /// let (rows, columns) = (a.sum(1), a.sum(0));
    /// session.compute_all([&rows, &columns])?;
    /// assert_eq!(rows.outer(&columns).to_vec::<f64>()?, [12.0, 18.0, 28.0, 42.0]);
    /// # Ok::<(), redpoll::Error>(())
    /// ```
    ///
    /// # Errors
    /// The errors of [`Array::collect`].
    pub fn compute_all<'a>(&self, arrays: impl IntoIterator<Item = &'a Array>) -> Result<Vec<Tensor>, Error> {
        let arrays: Vec<&Array> = arrays.into_iter().collect();
        let tensors = self.evaluate(&states(arrays.iter().copied())?, &[], self.config().target)?;
        arrays.iter().zip(&tensors).for_each(|(array, tensor)| array.keep(self, tensor));
        Ok(tensors)
    }
}

impl Array {
    /// Computes the array and keeps its tensor, which later expressions read. The tensor of a
    /// number whose dtype still adapts (see [`Array::number`]) is not kept.
    ///
    /// By default, nothing is kept: each call of [`Array::collect`] computes the array again, and
    /// an expression may be fused with its readers, so that `y.sum(..)` need not store `y`. After a
    /// call of this method, the array, its clones, and all expressions of the session that contain
    /// the array read the tensor. Call the method for results that are read more than once and cost
    /// more to compute than to read.
    ///
    /// The tensor is dropped once the array and its clones are dropped, and each array built from
    /// them is dropped or has been computed, too. Until then, the tensor counts against the memory
    /// limit of the session. If the limit is reached, the least recently read tensors are evicted,
    /// and expressions that need an evicted tensor compute it again. For this, the inputs of the
    /// array are kept as well. A tensor is never evicted if computing it again would take a chain
    /// of more than 16 computed arrays. To keep the tensor without the inputs, collect the array,
    /// and make a new array of the tensor with [`Session::array`].
    ///
    /// Kept tensors do not change the values, dtypes, fill values and requested formats of results,
    /// except that floats may be added in another order. Formats that no expression requests are
    /// chosen by their cost, as always.
    ///
    /// ```
    /// let session = redpoll::Session::default();
    /// let a = session.dense([2, 2], [0.0, 1.0, 1.0, 1.0]);
    /// let mut power = a.clone();
    /// for _ in 0..5 {
    ///     power = power.matmul(&a);
    ///     power.compute()?;
    /// }
    /// assert_eq!(power.to_vec::<f64>()?, [5.0, 8.0, 8.0, 13.0]);
    /// # Ok::<(), redpoll::Error>(())
    /// ```
    ///
    /// # Errors
    /// The errors of [`Array::collect`]. After an error, nothing is kept.
    pub fn compute(&self) -> Result<Tensor, Error> {
        Ok(self.session.compute_all([self])?.swap_remove(0))
    }

    /// Keeps `tensor`, which the session has computed, as the tensor of the array. Does nothing if
    /// the array is an input or a number.
    pub(super) fn keep(&self, session: &Session, tensor: &Tensor) {
        let mode = session.config().optimizer.float_mode;
        self.state.replace(|state| {
            if let Node::Table { tensor: name, .. } = state.expr.node() {
                if let Some(Source::Kept(kept)) = state.sources.get(name) {
                    kept.restore(mode, tensor);
                }
                return None;
            }
            // The dtype of a number depends on the arrays that the number is combined with, so the
            // tensor of a number is not kept.
            if state.expr.info().weak {
                return None;
            }
            let kept = match session.kept_tensors().find(&state.expr).filter(|kept| kept.restore(mode, tensor)) {
                Some(kept) => kept,
                None => session.kept_tensors().insert(unique_name("computed"), state, mode, tensor.clone()),
            };
            let fields = state.fields().iter().cloned();
            let expr = Expr::table(kept.name().clone(), tensor.ty().clone(), fields);
            let expr = expr.expect("a result has the modes of its expression");
            let sources = Sources::one(kept.name().clone(), Source::Kept(kept));
            Some(ArrayState { expr, style: state.style, sources })
        });
    }
}
