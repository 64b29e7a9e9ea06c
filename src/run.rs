//! The results of one run of a plan or a program.

use redpoll_compiler::assembly::Counts;
use redpoll_logic::Alias;
use redpoll_storage::Tensor;
use std::time::Duration;

/// The results of one run.
#[derive(Clone, Debug)]
pub struct Run {
    /// The results, in the order in which the plan or program lists them. Results computed on a
    /// device stay there until they are read; [`Tensor::fetch`] copies them to the host.
    pub outputs: Vec<(Alias, Tensor)>,
    /// The work of all queries apart from conversions of storage, counted only by the interpreter
    /// of Assembly.
    pub counts: Option<Counts>,
    /// The elapsed time of the run.
    pub time: Duration,
    /// The time of all launches by the device's clock, without transfers, if a device was used.
    pub device_time: Option<Duration>,
    /// The peak of allocated bytes: results, tensors between queries, and workspaces. Inputs are
    /// not included. The interpreters of Logic and Notation do not count their allocations.
    pub peak_bytes: usize,
}

impl Run {
    /// Returns the result of the given name.
    ///
    /// ```
    /// use redpoll::{Bindings, Session};
    ///
    /// let session = Session::default();
    /// let bindings = Bindings::new().with("x", session.vector([1.0, 2.0]).collect()?);
    /// let run = session.prepare("s = x(i)", &bindings)?.run()?;
    /// assert_eq!(run.get("s").expect("the plan computes s").sum()?, Some(3.0));
    /// # Ok::<(), redpoll::Error>(())
    /// ```
    pub fn get(&self, name: &str) -> Option<&Tensor> {
        self.outputs.iter().find(|(alias, _)| alias.as_str() == name).map(|(_, tensor)| tensor)
    }
}
