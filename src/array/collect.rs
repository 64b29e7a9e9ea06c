//! From lazy arrays to results.

use super::Array;
use crate::config::Engine;
use crate::error::Error;
use crate::explain::{Detail, Section};
use crate::prepared::Prepared;
use crate::session::Bindings;
use redpoll_logic::{Alias, Format, Plan, Query};
use redpoll_physical::storage::{Element, Tensor, convert};

/// The name of the one result of a plan made from an array.
const RESULT: &str = "result";

impl Array {
    /// Computes the array on the engine of its session.
    ///
    /// # Errors
    /// When the array could not be made, a phase refuses it, or its kernels stop.
    pub fn collect(&self) -> Result<Tensor, Error> {
        self.collect_with(self.session.config().engine)
    }

    /// Computes the array on a given engine.
    ///
    /// # Errors
    /// As [`Array::collect`].
    pub fn collect_with(&self, engine: Engine) -> Result<Tensor, Error> {
        let mut outputs = self.prepare()?.run_with(engine)?.outputs;
        Ok(outputs.swap_remove(0).1)
    }

    /// Computes the array and gives its values, row-major.
    ///
    /// # Errors
    /// As [`Array::collect`]; when the values are of another type; when there are too many to be held densely.
    pub fn to_vec<T: Element>(&self) -> Result<Vec<T>, Error> {
        let tensor = self.collect()?;
        let dense = convert(&tensor, &Format::dense(tensor.ty().shape.len()))?;
        let wrong = || Error::Elements { dtype: tensor.ty().dtype.clone(), asked: T::PRIM };
        if tensor.ty().dtype != T::PRIM.into() {
            return Err(wrong());
        }
        dense.leaf()[0].as_slice::<T>().map(<[T]>::to_vec).ok_or_else(wrong)
    }

    /// Takes the array all the way to kernels.
    ///
    /// # Errors
    /// When the array could not be made, or a phase refuses it.
    pub fn prepare(&self) -> Result<Prepared, Error> {
        let (plan, bindings) = self.plan()?;
        self.session.prepare_plan(plan, &bindings)
    }

    /// What becomes of the array: the text of every phase.
    ///
    /// # Errors
    /// As [`Array::prepare`].
    pub fn explain(&self) -> Result<Vec<Section>, Error> {
        self.prepare()?.explain(Detail::Assembly)
    }

    fn plan(&self) -> Result<(Plan, Bindings), Error> {
        let state = self.state()?;
        let result = Alias::from(RESULT);
        let query = Query { alias: result.clone(), expr: state.expr.clone() };
        let bindings = state.sources.iter().map(|(name, tensor)| (name.clone(), tensor.clone())).collect();
        Ok((Plan { queries: vec![query], produces: vec![result] }, bindings))
    }
}
