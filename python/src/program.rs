//! Programs in Notation text, and the graph algorithms among the programs of the repository.

use crate::array::{Array, Core};
use crate::error::exception;
use crate::run::run;
use crate::session::Session;
use pyo3::prelude::*;
use redpoll::{Bindings, storage};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The graph algorithms of the folder `programs/`, by the names of their files.
const GRAPH_PROGRAMS: [(&str, &str); 23] = [
    ("bellman_ford", include_str!("../../programs/bellman_ford.rp")),
    ("betweenness", include_str!("../../programs/betweenness.rp")),
    ("bfs", include_str!("../../programs/bfs.rp")),
    ("bfs_pull", include_str!("../../programs/bfs_pull.rp")),
    ("bfs_push", include_str!("../../programs/bfs_push.rp")),
    ("cdlp", include_str!("../../programs/cdlp.rp")),
    ("closeness", include_str!("../../programs/closeness.rp")),
    ("clustering", include_str!("../../programs/clustering.rp")),
    ("coloring", include_str!("../../programs/coloring.rp")),
    ("delta_stepping", include_str!("../../programs/delta_stepping.rp")),
    ("hits", include_str!("../../programs/hits.rp")),
    ("independent_set", include_str!("../../programs/independent_set.rp")),
    ("k_core", include_str!("../../programs/k_core.rp")),
    ("k_truss", include_str!("../../programs/k_truss.rp")),
    ("katz", include_str!("../../programs/katz.rp")),
    ("louvain", include_str!("../../programs/louvain.rp")),
    ("matching", include_str!("../../programs/matching.rp")),
    ("pagerank", include_str!("../../programs/pagerank.rp")),
    ("personalized_pagerank", include_str!("../../programs/personalized_pagerank.rp")),
    ("similarity", include_str!("../../programs/similarity.rp")),
    ("spanning_forest", include_str!("../../programs/spanning_forest.rp")),
    ("strong_components", include_str!("../../programs/strong_components.rp")),
    ("weak_components", include_str!("../../programs/weak_components.rp")),
];

/// Returns the texts of the graph algorithms by their names.
#[pyfunction]
pub(crate) fn graph_programs() -> BTreeMap<&'static str, &'static str> {
    GRAPH_PROGRAMS.into_iter().collect()
}

/// A program in Notation text.
#[pyclass(frozen, module = "redpoll._core")]
pub(crate) struct Program(redpoll::Program);

#[pymethods]
impl Program {
    /// Parses the declarations of a program's inputs. The rest of the program is checked when the
    /// program runs.
    #[new]
    fn new(text: &str) -> PyResult<Program> {
        redpoll::Program::new(text).map(Program).map_err(exception)
    }

    /// The name of each input, with its number of modes and whether the text gives a value.
    #[getter]
    fn inputs(&self) -> Vec<(String, usize, bool)> {
        self.0.inputs().iter().map(|input| (input.name.clone(), input.rank(), input.value.is_some())).collect()
    }

    /// Runs the program on the given arrays, and returns its outputs in the order of their
    /// declarations. A program without arrays runs in `session`. Any other program runs in the
    /// session of the array whose name is the first in alphabetical order.
    fn run<'py>(
        &self,
        session: &Bound<'py, Session>,
        inputs: BTreeMap<String, Bound<'py, Array>>,
    ) -> PyResult<Vec<(String, Bound<'py, PyAny>)>> {
        let inputs: Vec<(String, Arc<Core>)> =
            inputs.into_iter().map(|(name, array)| (name, array.get().core())).collect();
        let py = session.py();
        let session = inputs.first().map_or(&session.get().0, |(_, first)| first.inner.session()).clone();
        let (owner, program) = (session.clone(), self.0.clone());
        let outputs = run(py, u64::MAX, move |cancel| {
            let session = session.cancelled_by(cancel);
            let arrays: Vec<&redpoll::Array> = inputs.iter().map(|(_, core)| &core.inner).collect();
            let tensors = session.compute_all(arrays)?;
            let mut bindings = Bindings::new();
            for ((name, _), tensor) in inputs.iter().zip(tensors) {
                bindings.insert(name.as_str(), tensor);
            }
            let prepared = session.prepare_program(&program, &bindings)?;
            let result = prepared.run()?;
            let outputs = prepared.produces().iter().map(|alias| {
                let tensor = result.get(alias.as_str()).expect("a run has every produced tensor");
                (alias.to_string(), tensor.clone())
            });
            Ok(outputs.collect::<Vec<_>>())
        })?;
        let array = |(name, tensor): (String, storage::Tensor)| {
            Ok((name, Array::over(owner.array(tensor.clone()), &tensor)?.into_python(py)?))
        };
        outputs.into_iter().map(array).collect()
    }
}
