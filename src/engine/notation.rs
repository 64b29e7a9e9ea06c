//! Running one stage in the interpreter of Notation.

use super::{Stage, dense};
use crate::config::Engine;
use crate::error::Error;
use crate::timings::Phase;
use redpoll_logic::{Alias, Scalar, TensorType};
use redpoll_physical::notation::{Places, Role, place_of, places_of, run};
use redpoll_physical::storage::Tensor;
use std::collections::HashMap;

/// Runs the normalized program of a stage on its inputs, in the order of its program.
pub(crate) fn run_notation(stage: &Stage, inputs: &[&Tensor]) -> Result<Vec<Tensor>, Error> {
    let mut places = HashMap::new();
    for (name, tensor) in stage.tensors(Role::Input).zip(inputs) {
        let scalars = dense::scalars(&name, tensor, Engine::NotationInterpreter)?;
        places.insert(name.as_str().to_owned(), places_of(tensor.ty(), &mut |at| at_place(tensor.ty(), &scalars, at)));
    }
    for t in stage.program.tensors.iter().filter(|t| t.role != Role::Input) {
        dense::check_size(&Alias::from(t.name.as_str()), &t.ty, Engine::NotationInterpreter)?;
    }
    let mut results = run(&stage.program, &places).map_err(|source| stage.refused(Phase::Run, source))?;
    let outputs = stage.program.tensors.iter().filter(|t| t.role == Role::Output);
    let tensor = |t: &redpoll_physical::notation::TensorDecl| {
        let places = results.remove(&t.name).expect("the interpreter gives every output");
        dense::tensor(&t.ty, &row_major(&t.ty, &places))
    };
    outputs.map(tensor).collect()
}

fn at_place(ty: &TensorType, scalars: &[Scalar], at: &[u64]) -> Scalar {
    let place = at.iter().zip(&ty.shape).fold(0, |place, (i, n)| place * n + i);
    scalars[place as usize].clone()
}

/// Values that are row-major over storage modes, row-major over the modes of the tensor.
fn row_major(ty: &TensorType, places: &Places) -> Vec<Scalar> {
    let count = if ty.shape.contains(&0) { 0 } else { ty.shape.iter().product() };
    let mut at = vec![0; ty.shape.len()];
    let mut values = Vec::new();
    for _ in 0..count {
        values.push(places[place_of(ty, &at)].clone());
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
