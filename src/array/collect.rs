//! Evaluation of lazy arrays, and views of their plans.

use super::Array;
use super::value::Value;
use crate::Target;
use crate::bindings::Bindings;
use crate::error::Error;
use crate::explain::{Detail, Section};
use crate::flow::Flow;
use crate::prepare::Prepared;
use crate::profile::Profile;
use crate::session::Session;
use redpoll_logic::{Alias, Format, Plan};
use redpoll_storage::{Tensor, convert};

/// The name of the result of a plan made from one array.
const RESULT: &str = "result";

impl Session {
    /// Computes several arrays in one plan, so that shared subexpressions are computed once.
    ///
    /// ```
    /// let session = redpoll::Session::default();
    /// let a = session.vector([1.0, 2.0, 3.0]);
    /// let results = session.collect_all([&a.sum(..), &a.max(..)])?;
    /// assert_eq!(results.len(), 2);
    /// # Ok::<(), redpoll::Error>(())
    /// ```
    ///
    /// # Errors
    /// The errors of [`Array::collect`].
    pub fn collect_all<'a>(&self, arrays: impl IntoIterator<Item = &'a Array>) -> Result<Vec<Tensor>, Error> {
        let mut arrays = arrays.into_iter().peekable();
        if arrays.peek().is_none() {
            return Ok(Vec::new());
        }
        let outputs = self.prepare_all(arrays)?.run()?.outputs;
        Ok(outputs.into_iter().map(|(_, tensor)| tensor).collect())
    }

    /// Compiles several arrays in one plan; the results are in the order of the arrays.
    ///
    /// # Errors
    /// The errors of [`Array::prepare`].
    pub fn prepare_all<'a>(&self, arrays: impl IntoIterator<Item = &'a Array>) -> Result<Prepared, Error> {
        let (mut named, mut bindings) = (Vec::new(), Bindings::new());
        for (k, array) in arrays.into_iter().enumerate() {
            let alias = Alias::from(if k == 0 { RESULT.to_owned() } else { format!("{RESULT}{}", k + 1) });
            let state = array.state()?;
            state.sources.iter().for_each(|(name, tensor)| bindings.insert(name.clone(), tensor.clone()));
            named.push((alias, state.expr.clone()));
        }
        let produces = named.iter().map(|(alias, _)| alias.clone()).collect();
        let queries = super::subexpressions::queries(named).map_err(Error::Verify)?;
        self.prepare_plan(Plan { queries, produces }, &bindings)
    }
}

impl Array {
    /// Computes the array on the target of its session.
    ///
    /// ```
    /// let session = redpoll::Session::default();
    /// let tensor = session.vector([0.0, 2.0]).square().to_coo().collect()?;
    /// assert_eq!(tensor.sum()?, Some(4.0));
    /// # Ok::<(), redpoll::Error>(())
    /// ```
    ///
    /// # Errors
    /// Fails if an operation could not be applied, a phase rejects the plan, or a kernel stops.
    pub fn collect(&self) -> Result<Tensor, Error> {
        self.collect_with(self.session.config().target)
    }

    /// Computes the array on a given target.
    ///
    /// ```
    /// use redpoll::Target;
    ///
    /// let session = redpoll::Session::default();
    /// let sum = session.vector([1, 2, 3]).sum(..);
    /// let tensor = sum.collect_with(Target::LOGIC)?;
    /// assert_eq!(tensor.sum()?, Some(6.0));
    /// # Ok::<(), redpoll::Error>(())
    /// ```
    ///
    /// # Errors
    /// The errors of [`Array::collect`].
    pub fn collect_with(&self, target: Target) -> Result<Tensor, Error> {
        let mut outputs = self.prepare()?.run_with(target)?.outputs;
        Ok(outputs.swap_remove(0).1)
    }

    /// Computes the array and returns its values in row-major order.
    ///
    /// # Errors
    /// The errors of [`Array::collect`]; also if the dtype differs from `T`, or the dense values
    /// exceed the limits of storage.
    pub fn to_vec<T: Value>(&self) -> Result<Vec<T>, Error> {
        values(&self.collect()?)
    }

    /// Compiles the array to kernels.
    ///
    /// # Errors
    /// Fails if an operation could not be applied, or a phase rejects the plan.
    pub fn prepare(&self) -> Result<Prepared, Error> {
        self.session.prepare_all([self])
    }

    /// Explains the plan of the array: the text of every phase, the decisions, and notes on results
    /// that become dense.
    ///
    /// ```
    /// let session = redpoll::Session::default();
    /// let sections = (session.vector([1.0, 2.0]) + 1.0).explain()?;
    /// assert!(sections.iter().any(|s| s.title == "logic"));
    /// # Ok::<(), redpoll::Error>(())
    /// ```
    ///
    /// # Errors
    /// The errors of [`Array::prepare`].
    pub fn explain(&self) -> Result<Vec<Section>, Error> {
        self.prepare()?.explain(Detail::Assembly)
    }

    /// Returns the queries that compute the array and the tensors between them. [`Flow`] prints as
    /// text, and as a graph by [`Flow::to_dot`] and [`Flow::to_mermaid`].
    ///
    /// ```
    /// let session = redpoll::Session::default();
    /// let flow = session.vector([1.0, 2.0]).sum(..).flow()?;
    /// assert!(flow.to_mermaid().starts_with("flowchart"));
    /// # Ok::<(), redpoll::Error>(())
    /// ```
    ///
    /// # Errors
    /// The errors of [`Array::prepare`].
    pub fn flow(&self) -> Result<Flow, Error> {
        self.prepare()?.flow()
    }

    /// Computes the array and reports the times of the phases and queries, and the stored and
    /// estimated sizes.
    ///
    /// ```
    /// let session = redpoll::Session::default();
    /// let profile = session.vector([1.0, 2.0]).sum(..).profile()?;
    /// assert_eq!(profile.queries.len(), 1);
    /// println!("{profile}");
    /// # Ok::<(), redpoll::Error>(())
    /// ```
    ///
    /// # Errors
    /// The errors of [`Array::collect`].
    pub fn profile(&self) -> Result<Profile, Error> {
        self.profile_with(self.session.config().target)
    }

    /// Profiles the array on a given target, as [`Array::profile`] does. The interpreter of
    /// Assembly also counts the work.
    ///
    /// # Errors
    /// The errors of [`Array::collect`].
    pub fn profile_with(&self, target: Target) -> Result<Profile, Error> {
        self.prepare()?.profile(target)
    }

    /// Returns the expression as a Graphviz graph in which a shared subexpression is one node.
    ///
    /// ```
    /// let session = redpoll::Session::default();
    /// assert!(session.vector([1.0, 2.0]).sum(..).to_dot()?.starts_with("digraph"));
    /// # Ok::<(), redpoll::Error>(())
    /// ```
    ///
    /// # Errors
    /// The errors of [`Array::shape`].
    pub fn to_dot(&self) -> Result<String, Error> {
        Ok(super::dot::dot(&self.state()?.expr))
    }
}

/// Returns the values of a tensor in row-major order.
pub(crate) fn values<T: Value>(tensor: &Tensor) -> Result<Vec<T>, Error> {
    let mismatch = || Error::DTypeMismatch { dtype: tensor.ty().dtype.clone(), requested: T::PRIM };
    if tensor.ty().dtype != T::PRIM.into() {
        return Err(mismatch());
    }
    let dense = convert(tensor, &Format::dense(tensor.ty().shape.len()))?;
    T::of_buffer(&dense.leaf()[0]).ok_or_else(mismatch)
}
