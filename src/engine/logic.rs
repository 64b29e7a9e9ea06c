//! Execution of a whole plan in the reference interpreter of Logic.

use super::dense;
use crate::Target;
use crate::bindings::Bindings;
use crate::error::Error;
use redpoll_logic::interp::{DenseTensor, interpret};
use redpoll_logic::{Alias, FloatMode, Plan};
use redpoll_storage::Tensor;
use std::collections::HashMap;
use std::sync::Arc;

/// Returns the results of a plan as defined by the reference interpreter.
pub(crate) fn run_logic(plan: &Plan, bindings: &Bindings, mode: FloatMode) -> Result<Vec<(Alias, Tensor)>, Error> {
    let mut inputs = HashMap::new();
    // These are the inputs before optimization, including inputs that the optimizer eliminates.
    let read = plan.inputs();
    for (name, tensor) in bindings.iter().filter(|(name, _)| read.contains(name)) {
        let values = dense::scalars(name, tensor, Target::LOGIC)?;
        inputs.insert(name.clone(), DenseTensor { shape: tensor.ty().shape.clone(), values });
    }
    let results = interpret(plan, &inputs, mode).map_err(Error::Interpret)?;
    let produced = plan.queries.iter().filter(|q| plan.produces.contains(&q.alias));
    let tensors: HashMap<_, _> = produced
        .map(|query| {
            let ty = Arc::new(query.result_type().map_err(Error::Interpret)?);
            Ok((query.alias.clone(), dense::tensor(&ty, &results[&query.alias].scalars())?))
        })
        .collect::<Result<_, Error>>()?;
    Ok(plan.produces.iter().map(|alias| (alias.clone(), tensors[alias].clone())).collect())
}
