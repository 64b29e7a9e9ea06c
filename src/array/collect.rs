//! Evaluation of lazy arrays, and views of their plans.

use super::Array;
use super::error::ArrayError;
use super::kept::KeptTensor;
use super::place::{stored_element, stored_tensor};
use super::resolve::Resolver;
use super::state::ArrayState;
use super::value::Value;
use crate::Target;
use crate::bindings::Bindings;
use crate::error::Error;
use crate::explain::{Detail, Explanation, Section};
use crate::flow::Flow;
use crate::prepare::Prepared;
use crate::profile::Profile;
use crate::session::Session;
use redpoll_compiler::notation::Schedule;
use redpoll_logic::physical::FormatDisplay;
use redpoll_logic::{Alias, Format, LiftedConstant, LiftedPlan, Plan, Scalar, TensorType};
use redpoll_storage::{Tensor, convert};
use std::sync::Arc;

/// The name of the first result of a plan made from arrays.
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
        self.evaluate(&states(arrays)?, &[], self.config().target)
    }

    /// Compiles several arrays in one plan; the results are in the order of the arrays.
    ///
    /// ```
    /// # let session = redpoll::Session::default();
    /// let a = session.vector([1.0, 2.0, 3.0]);
    /// let prepared = session.prepare_all([&a.sum(..), &a.max(..)])?;
    /// assert_eq!(prepared.run()?.outputs[1].1.sum()?, Some(3.0));
    /// # Ok::<(), redpoll::Error>(())
    /// ```
    ///
    /// # Errors
    /// The errors of [`Array::prepare`].
    pub fn prepare_all<'a>(&self, arrays: impl IntoIterator<Item = &'a Array>) -> Result<Prepared, Error> {
        self.prepare_arrays(self.plan_states(&states(arrays)?)?, &[])
    }

    /// Compiles an array under the given schedules.
    pub(super) fn prepare_scheduled_array(&self, array: &Array, schedules: &[Schedule]) -> Result<Prepared, Error> {
        self.prepare_arrays(self.plan_states(&[array.state()?])?, schedules)
    }

    /// Returns the tensors of arrays. Arrays that are not stored are computed by one plan under the
    /// given schedules.
    ///
    /// A run that fails because of its memory limit or a device may succeed without the kept
    /// tensors that it reads. After such a failure, the kept tensors that can be computed again are
    /// evicted. If there are any, a new plan is made and run.
    pub(super) fn evaluate(
        &self,
        states: &[ArrayState],
        schedules: &[Schedule],
        target: Target,
    ) -> Result<Vec<Tensor>, Error> {
        let stored: Vec<Option<Tensor>> =
            states.iter().map(|state| stored_tensor(self, state)).collect::<Result<_, _>>()?;
        let missing: Vec<ArrayState> =
            states.iter().zip(&stored).filter(|(_, stored)| stored.is_none()).map(|(state, _)| state.clone()).collect();
        let mut computed = Vec::new();
        if !missing.is_empty() {
            let mut plan = self.plan_states(&missing)?;
            let kept = std::mem::take(&mut plan.kept);
            // Eviction frees a tensor only if nothing else owns it, so the plan and its prepared
            // form are dropped first.
            let first = self.prepare_arrays(plan, schedules).and_then(|prepared| prepared.run_with(target));
            let run = match first {
                Err(error) if (error.is_out_of_memory() || error.is_device_failure()) && evict(&kept) => {
                    self.prepare_arrays(self.plan_states(&missing)?, schedules)?.run_with(target)?
                }
                run => run?,
            };
            computed = run.outputs;
        }
        let mut computed = computed.into_iter().map(|(_, tensor)| tensor);
        let result = |stored: Option<Tensor>| stored.or_else(|| computed.next()).expect("a plan returns all results");
        Ok(stored.into_iter().map(result).collect())
    }

    fn plan_states(&self, states: &[ArrayState]) -> Result<ArrayPlan, Error> {
        let mode = self.config().optimizer.float_mode;
        let mut resolver = Resolver::new(self.kept_tensors(), mode);
        let mut named = Vec::with_capacity(states.len());
        for (k, state) in states.iter().enumerate() {
            let alias = Alias::from(if k == 0 { RESULT.to_owned() } else { format!("{RESULT}{}", k + 1) });
            named.push((alias, resolver.resolve(state)?));
        }
        let Resolver { mut bindings, kept, .. } = resolver;
        let produces = named.iter().map(|(alias, _)| alias.clone()).collect();
        let queries = super::subexpressions::queries(named).map_err(Error::Verify)?;
        let plan = Plan { queries, produces };
        let LiftedPlan { plan, constants, fills } = self.lift_constants(plan, &mut bindings)?;
        Ok(ArrayPlan { plan, bindings, kept, constants, fills })
    }

    /// Compiles the plan of arrays.
    fn prepare_arrays(&self, plan: ArrayPlan, schedules: &[Schedule]) -> Result<Prepared, Error> {
        Ok(self.prepare_scheduled_plan(plan.plan, &plan.bindings, schedules)?.with_fills(plan.fills))
    }
}

/// A plan that computes arrays.
struct ArrayPlan {
    plan: Plan,
    /// The tensors that the plan reads.
    bindings: Bindings,
    /// The kept tensors among the bindings.
    kept: Vec<Arc<KeptTensor>>,
    /// The lifted constants: constants of the expressions that became inputs of the plan.
    constants: Vec<LiftedConstant>,
    /// The results whose fill values differ from those in the plan, with the fill values that the
    /// results get.
    fills: Vec<(Alias, Scalar)>,
}

/// Evicts those kept tensors of a plan that can be computed again. Returns whether the plan has
/// such tensors. Tensors that the run of the plan has evicted count, too, because their memory was
/// not freed while the run read them.
fn evict(kept: &[Arc<KeptTensor>]) -> bool {
    for kept in kept {
        kept.evict();
    }
    kept.iter().any(|kept| kept.is_evictable())
}

/// Lists the kept tensors among the inputs of a plan, or returns `None` if there are none. `inputs`
/// has the name of each input in the plan, and the name of the same input in the expressions.
fn describe_kept(inputs: &[(Alias, Alias)], bindings: &Bindings, kept: &[Arc<KeptTensor>]) -> Option<Section> {
    let mut text = String::new();
    for (name, table) in inputs.iter().filter(|(_, table)| kept.iter().any(|kept| kept.name() == table)) {
        let Some(tensor) = bindings.get(table.as_str()) else { continue };
        let TensorType { shape, dtype, format, .. } = &**tensor.ty();
        let format = FormatDisplay(format);
        text += &format!("`{name}` is the kept tensor of a computed array: {shape:?} of {dtype}, {format}\n");
    }
    (!text.is_empty()).then(|| Section { title: "computed arrays".to_owned(), text })
}

/// Lists the lifted constants among the inputs of a plan, or returns `None` if there are none.
/// `inputs` has the same names as for [`describe_kept`].
fn describe_constants(inputs: &[(Alias, Alias)], constants: &[LiftedConstant]) -> Option<Section> {
    let value = |table: &Alias| constants.iter().find(|constant| constant.name == *table);
    let constants = inputs.iter().filter_map(|(name, table)| Some((name, value(table)?)));
    let text: String = constants.map(|(name, constant)| format!("`{name}` is {}\n", constant.value)).collect();
    (!text.is_empty()).then(|| Section { title: "constants".to_owned(), text })
}

/// Returns the states of arrays.
pub(super) fn states<'a>(arrays: impl IntoIterator<Item = &'a Array>) -> Result<Vec<ArrayState>, Error> {
    arrays.into_iter().map(Array::state).collect()
}

impl Array {
    /// Computes the array on the target of its session. The tensor belongs to the caller;
    /// [`Array::compute`] also keeps it for later expressions. An array whose tensor is kept is not
    /// computed again, unless the tensor was evicted.
    ///
    /// ```
    /// let session = redpoll::Session::default();
    /// let tensor = session.vector([0.0, 2.0]).square().to_coo().collect()?;
    /// assert_eq!(tensor.sum()?, Some(4.0));
    /// # Ok::<(), redpoll::Error>(())
    /// ```
    ///
    /// # Errors
    /// Fails if an operation could not be applied, a file cannot be read or has changed, a phase
    /// rejects the plan, or a kernel stops.
    pub fn collect(&self) -> Result<Tensor, Error> {
        let state = self.state()?;
        match stored_element(&self.session, &state)? {
            Some(tensor) => Ok(tensor),
            None => Ok(self.session.evaluate(&[state], &[], self.session.config().target)?.swap_remove(0)),
        }
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
    /// The errors of [`Array::collect`]. Also fails if the target is missing on this machine, or if
    /// the target computes dense tensors and a tensor is too large.
    pub fn collect_with(&self, target: Target) -> Result<Tensor, Error> {
        Ok(self.session.evaluate(&[self.state()?], &[], target)?.swap_remove(0))
    }

    /// Computes the array and returns its values in row-major order.
    ///
    /// ```
    /// use redpoll::prelude::*;
    ///
    /// # let session = Session::default();
    /// let a = session.triples([2, 2], Format::csr(), [([0, 1], 3.0)]);
    /// assert_eq!(a.to_vec::<f64>()?, [0.0, 3.0, 0.0, 0.0]);
    /// assert!(a.to_vec::<f32>().is_err());
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// The errors of [`Array::collect`]. Also fails if the dtype differs from `T`, or the dense
    /// values exceed the limits of storage.
    #[track_caller]
    pub fn to_vec<T: Value>(&self) -> Result<Vec<T>, Error> {
        values("to_vec", &self.collect()?)
    }

    /// Compiles the array to kernels.
    ///
    /// ```
    /// # let session = redpoll::Session::default();
    /// let prepared = session.vector([1.0, 2.0]).sum(..).prepare()?;
    /// for _ in 0..3 {
    ///     assert_eq!(prepared.run()?.outputs[0].1.sum()?, Some(3.0));
    /// }
    /// # Ok::<(), redpoll::Error>(())
    /// ```
    ///
    /// # Errors
    /// Fails if an operation could not be applied, a file cannot be read or has changed, or a phase
    /// rejects the plan.
    pub fn prepare(&self) -> Result<Prepared, Error> {
        self.session.prepare_all([self])
    }

    /// Explains the plan of the array: the text of every phase, the queries, the placement, and
    /// notes, for example on results that become dense. Also lists the constants and the tensors of
    /// computed arrays that the plan reads.
    ///
    /// ```
    /// let session = redpoll::Session::default();
    /// let explanation = (session.vector([1.0, 2.0]) + 1.0).explain()?;
    /// assert!(explanation.iter().any(|section| section.title == "logic"));
    /// assert!(explanation.to_string().starts_with("== logic ==\n(plan"));
    /// # Ok::<(), redpoll::Error>(())
    /// ```
    ///
    /// # Errors
    /// The errors of [`Array::prepare`].
    pub fn explain(&self) -> Result<Explanation, Error> {
        self.explain_scheduled(&[])
    }

    /// Explains the plan of the array under the given schedules.
    pub(super) fn explain_scheduled(&self, schedules: &[Schedule]) -> Result<Explanation, Error> {
        let ArrayPlan { plan, bindings, kept, constants, .. } = self.session.plan_states(&[self.state()?])?;
        let tables = plan.inputs();
        let prepared = self.session.prepare_scheduled_plan(plan, &bindings, schedules)?;
        // A plan from the cache has other names for its inputs, in the same order.
        let names = prepared.plan().map(Plan::inputs).unwrap_or_default();
        let inputs: Vec<(Alias, Alias)> = names.into_iter().zip(tables).collect();
        let mut explanation = prepared.explain(Detail::Assembly)?;
        let kept = describe_kept(&inputs, &bindings, &kept);
        // The first section is the Logic plan.
        explanation.insert(1, kept.into_iter().chain(describe_constants(&inputs, &constants)));
        Ok(explanation)
    }

    /// Returns the queries that compute the array, and the tensors that pass between the queries.
    /// [`Flow`] is displayed as text; [`Flow::to_dot`] and [`Flow::to_mermaid`] return a graph.
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
    /// ```
    /// use redpoll::Target;
    ///
    /// # let session = redpoll::Session::default();
    /// let profile = session.vector([1.0, 2.0]).sum(..).profile_with(Target::ASSEMBLY)?;
    /// assert!(profile.counts.is_some());
    /// # Ok::<(), redpoll::Error>(())
    /// ```
    ///
    /// # Errors
    /// The errors of [`Array::collect_with`].
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

/// Returns the values of a tensor in row-major order; `operation` is the method that the user
/// called.
#[track_caller]
pub(crate) fn values<T: Value>(operation: &'static str, tensor: &Tensor) -> Result<Vec<T>, Error> {
    let dtype = &tensor.ty().dtype;
    if *dtype != T::PRIM.into() {
        return Err(ArrayError::dtype(operation, dtype, T::PRIM));
    }
    let dense = convert(tensor, &Format::dense(tensor.ty().shape.len()))?;
    let Some(values) = T::of_buffer(&dense.leaf()[0]) else {
        return Err(ArrayError::dtype(operation, dtype, T::PRIM));
    };
    tensor.check_files()?;
    Ok(values)
}
