//! Programs in Notation text, and the tensors that they read.

use crate::bindings::Bindings;
use crate::error::{Error, UnboundTable};
use redpoll_compiler::notation::{InputText, parse_inputs};
use redpoll_logic::{Alias, DType, Format, Scalar, TensorType};
use redpoll_storage::{Tensor, Values, convert};
use std::sync::Arc;

/// A program in Notation text: loops over tensors that are accessed by index, in the form described
/// in the module [`notation`](redpoll_compiler::notation). If the text does not declare the type of
/// an input, the input has the type of the bound tensor.
#[derive(Clone, Debug)]
pub struct Program {
    pub(crate) text: Arc<str>,
    inputs: Arc<[InputText]>,
}

impl Program {
    /// Parses the declarations of the inputs of a program.
    ///
    /// ```
    /// use redpoll::Program;
    ///
    /// let text = "(program
    ///     (input A (shape n m))
    ///     (output s (shape n) f64 0.0)
    ///     (for i (for j (+= (s i) (A i j)))))";
    /// let program = Program::new(text)?;
    /// assert_eq!(program.inputs().len(), 1);
    /// # Ok::<(), redpoll::Error>(())
    /// ```
    ///
    /// # Errors
    /// Fails, with line and column, if the text is not a program or the declaration of an input is
    /// invalid. Other parts of the program are checked when the program is prepared.
    pub fn new(text: &str) -> Result<Program, Error> {
        let inputs =
            parse_inputs(text).map_err(|source| Error::Program { at: None, source: Box::new(source.into()) })?;
        Ok(Program { text: text.into(), inputs: inputs.into() })
    }

    /// Returns the inputs as declared in the text.
    ///
    /// ```
    /// use redpoll::Program;
    ///
    /// let text = "(program
    ///     (input A (shape n m))
    ///     (output s (shape n) f64 0.0)
    ///     (for i (for j (+= (s i) (A i j)))))";
    /// let program = Program::new(text)?;
    /// assert_eq!(program.inputs()[0].name, "A");
    /// assert_eq!(program.inputs()[0].rank(), 2);
    /// # Ok::<(), redpoll::Error>(())
    /// ```
    pub fn inputs(&self) -> &[InputText] {
        &self.inputs
    }

    /// Converts the bound tensors to the inputs of the program: unbound numbers take their declared
    /// values, bound numbers get a fill value of zero, and tensors are converted to the declared
    /// formats.
    pub(crate) fn bind(&self, bindings: &Bindings) -> Result<Bindings, Error> {
        let is_missing = |i: &&InputText| bindings.get(&i.name).is_none() && i.value.is_none();
        let missing = self.inputs.iter().filter(is_missing);
        let missing: Vec<_> = missing.map(|i| UnboundTable { table: i.name.as_str().into(), rank: i.rank() }).collect();
        if !missing.is_empty() {
            return Err(Error::UnboundTables(missing));
        }
        let tensor = |input: &InputText| {
            let tensor = match (bindings.get(&input.name), &input.value) {
                (Some(tensor), _) if tensor.ty().shape.is_empty() => number(&tensor.get(&[])?)?,
                (Some(tensor), _) => match &input.format {
                    Some(format) if format.rank() == tensor.ty().shape.len() => convert(tensor, format)?,
                    _ => tensor.clone(),
                },
                (None, value) => number(value.as_ref().expect("missing inputs were reported"))?,
            };
            Ok((Alias::from(input.name.as_str()), tensor))
        };
        self.inputs.iter().map(tensor).collect()
    }
}

/// Returns a number as a tensor whose type depends only on the dtype of the number, so that one
/// kernel serves all numbers of a dtype.
fn number(value: &Scalar) -> Result<Tensor, Error> {
    let dtype: DType = value.dtype();
    let zeros: Vec<Scalar> = dtype.prims().into_iter().map(Scalar::zero).collect();
    let fill = Scalar::unflatten(&dtype, &mut zeros.into_iter()).expect("a dtype consists of its primitives");
    let values = Values::from_scalars(dtype.clone(), std::slice::from_ref(value))?;
    Ok(Tensor::from_dense(TensorType { shape: Vec::new(), dtype, fill, format: Format::dense(0) }, &values)?)
}
