//! Arrays whose loops are transformed by a schedule.

use super::Array;
use crate::error::Error;
use crate::explain::Explanation;
use crate::prepare::Prepared;
use redpoll_compiler::notation::Schedule;
use redpoll_storage::Tensor;

/// An array with schedules for the queries that compute it, from [`Array::schedule`].
#[derive(Clone, Debug)]
pub struct ScheduledArray {
    array: Array,
    schedules: Vec<Schedule>,
}

impl Array {
    /// Transforms the loops that compute the array. The text names loops as [`Array::explain`]
    /// shows them. The text may begin with the name of a query, as in
    /// `result: split(d0, o, i, 64) parallel(o)`; without a name, the schedule is for the query of
    /// the result. `redpoll run --schedule-table` lists the transformations with their
    /// preconditions.
    ///
    /// The schedule applies only to computations of the returned value. Expressions over the array
    /// do not inherit the schedule; they read the tensor if [`ScheduledArray::compute`] keeps it.
    ///
    /// ```
    /// let session = redpoll::Session::default();
    /// let a = session.dense([300, 200], (0..60_000).map(f64::from));
    /// let tensor = a.sum(1).schedule("split(d0, o, i, 64) parallel(o)")?.collect()?;
    /// assert_eq!(tensor.sum()?, Some(1_799_970_000.0));
    /// # Ok::<(), redpoll::Error>(())
    /// ```
    ///
    /// # Errors
    /// Fails if the text is not a schedule.
    pub fn schedule(&self, text: &str) -> Result<ScheduledArray, Error> {
        ScheduledArray { array: self.clone(), schedules: Vec::new() }.schedule(text)
    }
}

impl ScheduledArray {
    /// Adds a schedule, for example for another query.
    ///
    /// ```
    /// # let session = redpoll::Session::default();
    /// let a = session.dense([300, 200], (0..60_000).map(f64::from));
    /// let blocks = a.sum(1).schedule("split(d0, o, i, 64)")?.schedule("parallel(o)")?;
    /// assert_eq!(blocks.collect()?.sum()?, Some(1_799_970_000.0));
    /// # Ok::<(), redpoll::Error>(())
    /// ```
    ///
    /// # Errors
    /// Fails if the text is not a schedule.
    pub fn schedule(mut self, text: &str) -> Result<ScheduledArray, Error> {
        self.schedules.push(text.parse().map_err(Error::Schedule)?);
        Ok(self)
    }

    /// Computes the array, as [`Array::collect`] does.
    ///
    /// ```
    /// # let session = redpoll::Session::default();
    /// let a = session.dense([300, 200], (0..60_000).map(f64::from));
    /// let sums = a.sum(1).schedule("split(d0, o, i, 64)")?.collect()?;
    /// assert_eq!(sums.ty().shape, [300]);
    /// # Ok::<(), redpoll::Error>(())
    /// ```
    ///
    /// # Errors
    /// The errors of [`ScheduledArray::prepare`] and [`Array::collect`].
    pub fn collect(&self) -> Result<Tensor, Error> {
        let session = &self.array.session;
        Ok(session.evaluate(&[self.array.state()?], &self.schedules, session.config().target)?.swap_remove(0))
    }

    /// Computes the array and keeps its tensor, as [`Array::compute`] does.
    ///
    /// ```
    /// # let session = redpoll::Session::default();
    /// let a = session.dense([300, 200], (0..60_000).map(f64::from));
    /// let sums = a.sum(1);
    /// sums.schedule("split(d0, o, i, 64)")?.compute()?;
    /// assert!(sums.kept_tensor().is_some());
    /// # Ok::<(), redpoll::Error>(())
    /// ```
    ///
    /// # Errors
    /// The errors of [`ScheduledArray::collect`].
    pub fn compute(&self) -> Result<Tensor, Error> {
        let tensor = self.collect()?;
        self.array.keep(&self.array.session, &tensor);
        Ok(tensor)
    }

    /// Compiles the array to kernels.
    ///
    /// ```
    /// # let session = redpoll::Session::default();
    /// let a = session.dense([300, 200], (0..60_000).map(f64::from));
    /// let prepared = a.sum(1).schedule("split(d0, o, i, 64)")?.prepare()?;
    /// assert_eq!(prepared.run()?.outputs[0].1.sum()?, Some(1_799_970_000.0));
    /// # Ok::<(), redpoll::Error>(())
    /// ```
    ///
    /// # Errors
    /// The errors of [`Array::prepare`]; also if a schedule applies to no query, or a
    /// transformation does not fit the loops or would cause a data race between rounds.
    pub fn prepare(&self) -> Result<Prepared, Error> {
        self.array.session.prepare_scheduled_array(&self.array, &self.schedules)
    }

    /// Explains the plan, as [`Array::explain`] does.
    ///
    /// ```
    /// # let session = redpoll::Session::default();
    /// let a = session.dense([300, 200], (0..60_000).map(f64::from));
    /// let explanation = a.sum(1).schedule("split(d0, o, i, 64)")?.explain()?;
    /// assert!(explanation.iter().any(|section| section.title == "notation of result"));
    /// # Ok::<(), redpoll::Error>(())
    /// ```
    ///
    /// # Errors
    /// The errors of [`ScheduledArray::prepare`].
    pub fn explain(&self) -> Result<Explanation, Error> {
        self.array.explain_scheduled(&self.schedules)
    }
}
