//! Calls of the programs of the folder `programs/`.

use super::GraphError;
use crate::array::{Array, Value};
use crate::bindings::Bindings;
use crate::error::Error;
use crate::program::Program;
use crate::session::Session;
use redpoll_logic::{Format, Scalar, TensorType};
use redpoll_storage::Tensor;

/// A call of a program. The session compiles each program once for each type of its inputs.
pub(super) struct Call<'a> {
    session: &'a Session,
    text: &'static str,
    bindings: Bindings,
}

/// The outputs of a program.
pub(super) struct Outputs<'a> {
    session: &'a Session,
    outputs: Vec<(String, Tensor)>,
}

impl<'a> Call<'a> {
    pub(super) fn new(session: &'a Session, text: &'static str) -> Call<'a> {
        Call { session, text, bindings: Bindings::new() }
    }

    /// Binds an input to an array.
    pub(super) fn array(mut self, name: &str, array: &Array) -> Result<Call<'a>, Error> {
        self.bindings.insert(name, array.collect()?);
        Ok(self)
    }

    /// Binds an input to a number.
    pub(super) fn number(mut self, name: &str, value: impl Into<Scalar>) -> Result<Call<'a>, Error> {
        let value = value.into();
        let fill = Scalar::zero(value.prim().expect("numbers are primitive"));
        let ty = TensorType { shape: Vec::new(), dtype: value.dtype(), fill, format: Format::dense(0) };
        self.bindings.insert(name, Tensor::constant(ty.into(), &value)?);
        Ok(self)
    }

    pub(super) fn run(self) -> Result<Outputs<'a>, Error> {
        let program = Program::new(self.text)?;
        let run = self.session.prepare_program(&program, &self.bindings)?.run()?;
        let outputs = run.outputs.into_iter().map(|(name, tensor)| (name.to_string(), tensor));
        Ok(Outputs { session: self.session, outputs: outputs.collect() })
    }
}

impl Outputs<'_> {
    /// Returns an output.
    pub(super) fn array(&self, name: &str) -> Array {
        let output = self.outputs.iter().find(|(output, _)| output == name);
        self.session.array(output.expect("the program has the output").1.clone())
    }

    /// Returns the value of a scalar output.
    pub(super) fn item<T: Value>(&self, name: &str) -> Result<T, Error> {
        self.array(name).item()
    }
}

/// Returns the number of vertices of a graph.
///
/// # Errors
/// Fails if the array is not a square matrix.
pub(super) fn vertices(algorithm: &'static str, adjacency: &Array) -> Result<u64, Error> {
    let shape = adjacency.shape()?;
    match shape[..] {
        [rows, columns] if rows == columns => Ok(rows),
        _ => Err(GraphError::NotSquare { algorithm, shape }.into()),
    }
}

/// Checks that a graph has a vertex, and returns the vertex as a number of a program.
pub(super) fn check_vertex(algorithm: &'static str, adjacency: &Array, vertex: u64) -> Result<i64, Error> {
    let vertices = vertices(algorithm, adjacency)?;
    match i64::try_from(vertex) {
        Ok(number) if vertex < vertices => Ok(number),
        _ => Err(GraphError::NoVertex { algorithm, vertex, vertices }.into()),
    }
}

/// Returns the boolean matrix of the edges.
pub(super) fn edges(adjacency: &Array) -> Result<Array, Error> {
    Ok(adjacency.not_equal(adjacency.fill()?))
}
