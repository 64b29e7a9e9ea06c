//! The reference interpreter, which defines the meaning of plans.
//!
//! The interpreter evaluates a plan densely and naively, in the order in which the plan is written.
//! Every value carries a bound on the deviations that the float mode allows to engines.
//!
//! In the strict mode all engines return the same bits, except for the sign of a NaN. Folds run
//! over ascending coordinates from `init`, and every step is rounded.
//!
//! In the relaxed mode:
//! - Integers and `bool` are equal in every engine.
//! - Floats are computed in higher precision. They carry a bound on the error of every legal
//!   engine, which may regroup or distribute sums and products, or replace a fold over a run by a
//!   product or power (`approx.rs`). Computations that need no rounding, such as those on small
//!   whole numbers, have bound 0. Both zeros are equal.
//! - A value is *don't-care* if the mode does not determine it within such a bound. Causes are a
//!   NaN, a sum of infinities of both signs, and a division of a nonzero number by zero. Further
//!   causes are the sign of a zero, and an overflow or underflow within a sum or product.
//! - A result that depends on a rounding error is also don't-care. Examples are the result of a
//!   comparison, of a cast to an integer, of a rounding near a step, or of a choice by a
//!   comparison.
//! - Don't-care propagates through operators, unless the other arguments decide the result:
//!   `0 * inf`, `0 / 0` and `0 * nan` are 0, and a choice ignores the branch that is not taken.
//!   [`FloatMode::Relaxed`] has the full list.
//!
//! A fault of an operator at any coordinates is an error of the whole plan.

mod apply;
mod approx;
mod compare;
mod dd;
mod eval;
#[cfg(test)]
mod tests;
mod value;

pub use crate::physical::interp::DenseTensor;
pub use compare::{ComparisonCounts, Exactness, Mismatch};
pub use value::BoundedValue;

use crate::affine::Parameter;
use crate::dtype::DType;
use crate::error::Error;
use crate::expr::{Expr, Node};
use crate::field::{Alias, Field};
use crate::format::TensorType;
use crate::mode::FloatMode;
use crate::plan::Plan;
use crate::scalar::Scalar;
use apply::Arithmetic;
use eval::{Evaluator, StoredTable};
use std::cell::Cell;
use std::collections::HashMap;
use std::rc::Rc;

/// The result of a query.
#[derive(Clone, PartialEq, Debug)]
pub struct ReferenceResult {
    /// Field of each mode.
    pub fields: Vec<Field>,
    /// Dimension of each mode.
    pub shape: Vec<u64>,
    /// Dtype of the values.
    pub dtype: DType,
    /// Inferred fill value.
    pub fill: Scalar,
    /// Float mode of the evaluation.
    pub mode: FloatMode,
    /// True if engines may fault: an operator that can fault was applied to a don't-care value, in
    /// this query or an earlier one.
    pub may_fault: bool,
    /// All values, row-major.
    pub values: Vec<BoundedValue>,
}

impl ReferenceResult {
    /// Returns the values, rounded to their dtype.
    pub fn scalars(&self) -> Vec<Scalar> {
        self.values.iter().map(BoundedValue::scalar).collect()
    }

    /// Returns the result as an input for another plan.
    pub fn to_dense(&self) -> DenseTensor {
        DenseTensor { shape: self.shape.clone(), values: self.scalars() }
    }
}

/// Evaluates a plan on dense inputs and returns the results of all its queries.
///
/// # Errors
/// Returns an error if an input is missing or does not match its type, the value of a parameter is
/// not one of its possible values, an operator faults, a result has a field of unknown size, or a
/// table or a fold has too many entries to be dense.
pub fn interpret(
    plan: &Plan,
    inputs: &HashMap<Alias, DenseTensor>,
    mode: FloatMode,
) -> Result<HashMap<Alias, ReferenceResult>, Error> {
    interpret_with(plan, inputs, Arithmetic { mode, poles: mode, may_fault: Cell::new(false) })
}

/// Evaluates a plan like one legal engine of the relaxed mode: in order, with every step rounded.
/// Poles, such as divisions by zero, have the values of the relaxed mode.
#[cfg(test)]
pub(crate) fn interpret_in_order(
    plan: &Plan,
    inputs: &HashMap<Alias, DenseTensor>,
) -> Result<HashMap<Alias, ReferenceResult>, Error> {
    let (mode, poles) = (FloatMode::StrictIeee, FloatMode::Relaxed);
    interpret_with(plan, inputs, Arithmetic { mode, poles, may_fault: Cell::new(false) })
}

fn interpret_with(
    plan: &Plan,
    inputs: &HashMap<Alias, DenseTensor>,
    arithmetic: Arithmetic,
) -> Result<HashMap<Alias, ReferenceResult>, Error> {
    let mut evaluator = Evaluator { arithmetic, tables: HashMap::new() };
    let mut results = HashMap::new();
    for query in &plan.queries {
        bind_inputs(&mut evaluator, &query.expr, inputs)?;
        let result = evaluator.query(query)?;
        let stored = StoredTable { shape: result.shape.clone(), values: result.values.clone() };
        evaluator.tables.insert(query.alias.clone(), Rc::new(stored));
        results.insert(query.alias.clone(), result);
    }
    Ok(results)
}

fn bind_inputs(evaluator: &mut Evaluator, expr: &Expr, inputs: &HashMap<Alias, DenseTensor>) -> Result<(), Error> {
    let mut bind = |tensor: &Alias, ty: &TensorType| {
        if let (false, Some(data)) = (evaluator.tables.contains_key(tensor), inputs.get(tensor)) {
            let stored = evaluator.input(tensor, ty, data)?;
            evaluator.tables.insert(tensor.clone(), Rc::new(stored));
        }
        Ok::<(), Error>(())
    };
    if let Node::Table { tensor, ty, .. } = expr.node() {
        bind(tensor, ty)?;
    }
    for parameter in expr.node().parameters() {
        bind(&parameter.input, &Parameter::input_type())?;
    }
    expr.node().args().iter().try_for_each(|arg| bind_inputs(evaluator, arg, inputs))
}
