//! Binding of input tensors to the buffers and parameters of a function.

use crate::Error;
use redpoll_compiler::lower::{Binding, LoweredFunction, ParamSource};
use redpoll_compiler::notation::{BlockInputs, Program, Role, TensorId};
use redpoll_storage::{Array, Tensor};

/// Returns the input arrays, in the order of the function's buffers, and the values of the
/// function's parameters.
pub(super) fn bind<'t>(
    program: &Program,
    lowered: &LoweredFunction,
    inputs: &[&'t Tensor],
) -> Result<(Vec<&'t Array>, Vec<i64>), Error> {
    let mut given = inputs.iter().copied();
    let mut tensors: Vec<Option<&'t Tensor>> = Vec::with_capacity(program.tensors.len());
    for decl in &program.tensors {
        let tensor = match decl.role {
            Role::Input => Some(given.next().ok_or_else(|| missing(&decl.name))?),
            Role::Output | Role::Local => None,
        };
        if let Some(tensor) = tensor
            && **tensor.ty() != *decl.ty
        {
            return Err(Error::InvalidInvocation(format!(
                "input `{}` has another type than the kernel was compiled for: expected {:?}, found {:?}",
                decl.name,
                decl.ty,
                tensor.ty()
            )));
        }
        tensors.push(tensor);
    }
    if given.next().is_some() {
        let expected = tensors.iter().flatten().count();
        let noun = if expected == 1 { "input" } else { "inputs" };
        return Err(Error::InvalidInvocation(format!("expected {expected} {noun}, found {}", inputs.len())));
    }
    for input in program.block_inputs.iter().flat_map(BlockInputs::inputs) {
        let range = program.block_input_range(input).expect("the input has the bounds of blocks");
        let found = tensors[input.index()].and_then(Tensor::value_range);
        if found.is_none_or(|(least, greatest)| least < range.0 || greatest > range.1) {
            let name = &program.tensors[input.index()].name;
            return Err(Error::InvalidInvocation(format!("input `{name}` does not hold the bounds of blocks")));
        }
    }
    let array = |id: TensorId, level: usize, array: usize| -> Option<&'t Array> {
        Some(&tensors[id.index()]?.levels()[level][array])
    };
    let mut buffers = Vec::with_capacity(lowered.bindings.len());
    for (binding, decl) in lowered.bindings.iter().zip(&lowered.function.buffers) {
        match *binding {
            Binding::Level { tensor, level, array: k } => {
                let Some(found) = array(tensor, level, k) else { continue };
                // The code loads elements of the widths for which it was compiled, so arrays of
                // other widths would be read out of bounds.
                if found.prim() != decl.prim {
                    return Err(Error::InvalidInvocation(format!(
                        "array `{}` has elements of {}, but the kernel was compiled for {}; compile a kernel for the layouts of these inputs",
                        decl.name,
                        found.prim(),
                        decl.prim
                    )));
                }
                buffers.push(found);
            }
            Binding::Leaf { tensor, part } => buffers.extend(tensors[tensor.index()].map(|t| &t.leaf()[part])),
            Binding::Scratch | Binding::Lengths => {}
        }
    }
    let positions = |id: TensorId| tensors[id.index()].map_or(0, |t| t.positions() as i64);
    let params = lowered.params.iter().map(|source| match *source {
        ParamSource::Positions(tensor) => positions(tensor),
        ParamSource::Dimension(n) => n as i64,
        ParamSource::Length { tensor, level, array: k } => {
            array(tensor, level, k).expect("lengths belong to inputs").len() as i64
        }
    });
    Ok((buffers, params.collect()))
}

fn missing(name: &str) -> Error {
    Error::InvalidInvocation(format!("input `{name}` is missing"))
}
