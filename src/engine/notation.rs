//! Execution of the loops of a stage in the interpreter of Notation.

use super::{StageLoops, dense};
use crate::Target;
use crate::error::Error;
use crate::timings::Phase;
use redpoll_compiler::notation::{DenseValues, InterpLimits, Role, dense_values, run_with_mode, value_index};
use redpoll_logic::{Alias, FloatMode, Scalar, TensorType};
use redpoll_storage::Tensor;
use std::collections::HashMap;

/// Runs the normalized program of the loops of a stage. The inputs must be in the order of the
/// inputs of the program.
pub(crate) fn run_notation(loops: &StageLoops, inputs: &[&Tensor], mode: FloatMode) -> Result<Vec<Tensor>, Error> {
    let mut inputs_by_name = HashMap::new();
    for (decl, tensor) in loops.program.tensors.iter().filter(|t| t.role == Role::Input).zip(inputs) {
        let scalars = dense::scalars(&Alias::from(decl.name.as_str()), tensor, Target::NOTATION)?;
        inputs_by_name
            .insert(decl.name.clone(), dense_values(tensor.ty(), &mut |at| scalar_at(tensor.ty(), &scalars, at)));
    }
    for t in loops.program.tensors.iter().filter(|t| t.role != Role::Input) {
        dense::check_size(&Alias::from(t.name.as_str()), &t.ty, Target::NOTATION)?;
    }
    let mut results = run_with_mode(&loops.program, &inputs_by_name, InterpLimits::default(), mode)
        .map_err(|source| loops.phase_error(Phase::Run, source))?;
    let outputs = loops.program.tensors.iter().filter(|t| t.role == Role::Output);
    let tensor = |t: &redpoll_compiler::notation::TensorDecl| {
        let values = results.remove(&t.name).expect("the interpreter returns every output");
        dense::tensor(&t.ty, &row_major(&t.ty, &values))
    };
    outputs.map(tensor).collect()
}

fn scalar_at(ty: &TensorType, scalars: &[Scalar], at: &[u64]) -> Scalar {
    let index = at.iter().zip(&ty.shape).fold(0, |index, (i, n)| index * n + i);
    scalars[index as usize].clone()
}

/// Reorders values from row-major over storage modes to row-major over the modes of the tensor.
fn row_major(ty: &TensorType, dense: &DenseValues) -> Vec<Scalar> {
    let count = if ty.shape.contains(&0) { 0 } else { ty.shape.iter().product() };
    let mut at = vec![0; ty.shape.len()];
    let mut values = Vec::new();
    for _ in 0..count {
        values.push(dense[value_index(ty, &at)].clone());
        for (i, n) in at.iter_mut().zip(&ty.shape).rev() {
            *i += 1;
            if *i < *n {
                break;
            }
            *i = 0;
        }
    }
    values
}
