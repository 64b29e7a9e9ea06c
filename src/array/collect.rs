//! From lazy arrays to results, and what becomes of them on the way.

use super::Array;
use super::value::Value;
use crate::config::Engine;
use crate::error::Error;
use crate::explain::{Detail, Section};
use crate::flow::Flow;
use crate::prepared::Prepared;
use crate::profile::Profile;
use crate::session::{Bindings, Session};
use redpoll_logic::{Alias, Format, Plan};
use redpoll_physical::storage::{Tensor, convert};

/// The name of the one result of a plan made from an array.
const RESULT: &str = "result";

impl Session {
    /// Computes several arrays in one plan, so that what they share is computed once.
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
    /// As [`Array::collect`].
    pub fn collect_all<'a>(&self, arrays: impl IntoIterator<Item = &'a Array>) -> Result<Vec<Tensor>, Error> {
        let mut arrays = arrays.into_iter().peekable();
        if arrays.peek().is_none() {
            return Ok(Vec::new());
        }
        let outputs = self.prepare_all(arrays)?.run()?.outputs;
        Ok(outputs.into_iter().map(|(_, tensor)| tensor).collect())
    }

    /// Takes several arrays all the way to kernels, in one plan; its results are in their order.
    ///
    /// # Errors
    /// As [`Array::prepare`].
    pub fn prepare_all<'a>(&self, arrays: impl IntoIterator<Item = &'a Array>) -> Result<Prepared, Error> {
        let (mut named, mut bindings) = (Vec::new(), Bindings::new());
        for (k, array) in arrays.into_iter().enumerate() {
            let alias = Alias::from(if k == 0 { RESULT.to_owned() } else { format!("{RESULT}{}", k + 1) });
            let state = array.state()?;
            state.sources.iter().for_each(|(name, tensor)| bindings.insert(name.clone(), tensor.clone()));
            named.push((alias, state.expr.clone()));
        }
        let produces = named.iter().map(|(alias, _)| alias.clone()).collect();
        let queries = super::shared::queries(named).map_err(Error::Verify)?;
        self.prepare_plan(Plan { queries, produces }, &bindings)
    }
}

impl Array {
    /// Computes the array on the engine of its session.
    ///
    /// ```
    /// let session = redpoll::Session::default();
    /// let tensor = session.vector([0.0, 2.0]).square().to_coo().collect()?;
    /// assert_eq!(tensor.sum()?, Some(4.0));
    /// # Ok::<(), redpoll::Error>(())
    /// ```
    ///
    /// # Errors
    /// When the array could not be made, a phase refuses it, or its kernels stop.
    pub fn collect(&self) -> Result<Tensor, Error> {
        self.collect_with(self.session.config().engine)
    }

    /// Computes the array on a given engine.
    ///
    /// ```
    /// use redpoll::Engine;
    ///
    /// let session = redpoll::Session::default();
    /// let sum = session.vector([1, 2, 3]).sum(..);
    /// let tensor = sum.collect_with(Engine::LogicInterpreter)?;
    /// assert_eq!(tensor.sum()?, Some(6.0));
    /// # Ok::<(), redpoll::Error>(())
    /// ```
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
    pub fn to_vec<T: Value>(&self) -> Result<Vec<T>, Error> {
        values(&self.collect()?)
    }

    /// Takes the array all the way to kernels.
    ///
    /// # Errors
    /// When the array could not be made, or a phase refuses it.
    pub fn prepare(&self) -> Result<Prepared, Error> {
        self.session.prepare_all([self])
    }

    /// What becomes of the array: the text of every phase, what was decided, and notes on results that densify.
    ///
    /// ```
    /// let session = redpoll::Session::default();
    /// let sections = (session.vector([1.0, 2.0]) + 1.0).explain()?;
    /// assert!(sections.iter().any(|s| s.title == "logic"));
    /// # Ok::<(), redpoll::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Array::prepare`].
    pub fn explain(&self) -> Result<Vec<Section>, Error> {
        self.prepare()?.explain(Detail::Assembly)
    }

    /// The queries that compute the array and the tensors between them; prints as text, and as a graph by
    /// [`Flow::to_dot`] and [`Flow::to_mermaid`].
    ///
    /// ```
    /// let session = redpoll::Session::default();
    /// let flow = session.vector([1.0, 2.0]).sum(..).flow()?;
    /// assert!(flow.to_mermaid().starts_with("flowchart"));
    /// # Ok::<(), redpoll::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Array::prepare`].
    pub fn flow(&self) -> Result<Flow, Error> {
        self.prepare()?.flow()
    }

    /// Computes the array and tells how long each phase and each query took, what they stored, and what was estimated.
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
    /// As [`Array::collect`].
    pub fn profile(&self) -> Result<Profile, Error> {
        self.profile_with(self.session.config().engine)
    }

    /// As [`Array::profile`], on a given engine; the interpreter of Assembly counts the work, too.
    ///
    /// # Errors
    /// As [`Array::collect`].
    pub fn profile_with(&self, engine: Engine) -> Result<Profile, Error> {
        self.prepare()?.profile(engine)
    }

    /// The expression as a graph in the language of Graphviz; what is shared is one node.
    ///
    /// ```
    /// let session = redpoll::Session::default();
    /// assert!(session.vector([1.0, 2.0]).sum(..).to_dot()?.starts_with("digraph"));
    /// # Ok::<(), redpoll::Error>(())
    /// ```
    ///
    /// # Errors
    /// When the array could not be made.
    pub fn to_dot(&self) -> Result<String, Error> {
        Ok(super::dot::dot(&self.state()?.expr))
    }
}

/// The values of a tensor, row-major.
pub(crate) fn values<T: Value>(tensor: &Tensor) -> Result<Vec<T>, Error> {
    let wrong = || Error::Elements { dtype: tensor.ty().dtype.clone(), asked: T::PRIM };
    if tensor.ty().dtype != T::PRIM.into() {
        return Err(wrong());
    }
    let dense = convert(tensor, &Format::dense(tensor.ty().shape.len()))?;
    T::of_buffer(&dense.leaf()[0]).ok_or_else(wrong)
}
