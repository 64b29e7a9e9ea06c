//! The reference interpreter: what a plan means.
//!
//! It evaluates a plan densely and naively, in the order in which the plan is written, and gives every value with what
//! an engine may do otherwise in the plan's float mode.
//!
//! In the strict mode engines have the same bits. Folds go over ascending coordinates from `init`, every step rounded.
//!
//! In the relaxed mode:
//! - integers and `bool` are the same in every engine;
//! - floats are computed in higher precision and carry a bound on the error of every legal engine, whatever sums and
//!   products it regroups, distributes, or integrates over runs (`approx.rs`). Computations on small whole numbers, and
//!   on others that need no rounding, have bound 0. Signed zeros are the same;
//! - a value is *don't-care* where the mode does not determine it, or regrouping could change it: NaN is given or
//!   arises, infinities of both signs are added, a number other than zero is divided by zero, the sign of a zero decides,
//!   an overflow to infinity or an underflow on the way of a product. So is a value that a rounding error decides: a
//!   comparison, a cast to an integer, a rounding or choice at a step. Don't-care spreads through operators, except where
//!   the other arguments decide the result, as `0 * inf`, `0 / 0` and `0 * nan` are 0, or a choice does not take it.
//!   [`FloatMode::Relaxed`] has the whole list.
//!
//! A fault of a checked operator at any place is an error of the whole plan.

mod apply;
mod approx;
mod compare;
mod dd;
mod eval;
#[cfg(test)]
mod tests;
mod value;

pub use crate::physical::interp::DenseTensor as Dense;
pub use compare::{Compared, Exactness, Mismatch};
pub use value::Value;

use crate::dtype::DType;
use crate::error::Error;
use crate::expr::{Expr, Node};
use crate::field::{Alias, Field};
use crate::mode::FloatMode;
use crate::plan::Plan;
use crate::scalar::Scalar;
use apply::Arithmetic;
use eval::{Machine, Stored};
use std::cell::Cell;
use std::collections::HashMap;
use std::rc::Rc;

/// The result of a query.
#[derive(Clone, PartialEq, Debug)]
pub struct Interpreted {
    /// The field of each mode.
    pub fields: Vec<Field>,
    /// The size of each mode.
    pub shape: Vec<u64>,
    /// The dtype of the values.
    pub dtype: DType,
    /// The fill value that inference gives.
    pub fill: Scalar,
    /// The float mode in which it was computed.
    pub mode: FloatMode,
    /// Whether engines may fault: up to here an operator that can fault met a value that the mode does not determine.
    pub may_fault: bool,
    /// The value of every place, row-major.
    pub values: Vec<Value>,
}

impl Interpreted {
    /// The values, rounded to their dtype.
    pub fn scalars(&self) -> Vec<Scalar> {
        self.values.iter().map(Value::scalar).collect()
    }

    /// The result as an input of another plan.
    pub fn to_dense(&self) -> Dense {
        Dense { shape: self.shape.clone(), values: self.scalars() }
    }
}

/// Evaluates a plan on dense inputs and gives the results of all its queries.
///
/// # Errors
/// When an input is missing or not as the plan says, a checked operator faults, or a table is too large to be dense.
pub fn interpret(
    plan: &Plan,
    inputs: &HashMap<Alias, Dense>,
    mode: FloatMode,
) -> Result<HashMap<Alias, Interpreted>, Error> {
    interpret_by(plan, inputs, Arithmetic { mode, poles: mode, may_fault: Cell::new(false) })
}

/// Evaluates a plan as one legal engine of the relaxed mode: in order, every step rounded, poles as that mode defines them.
#[cfg(test)]
pub(crate) fn interpret_in_order(
    plan: &Plan,
    inputs: &HashMap<Alias, Dense>,
) -> Result<HashMap<Alias, Interpreted>, Error> {
    let (mode, poles) = (FloatMode::StrictIeee, FloatMode::Relaxed);
    interpret_by(plan, inputs, Arithmetic { mode, poles, may_fault: Cell::new(false) })
}

fn interpret_by(
    plan: &Plan,
    inputs: &HashMap<Alias, Dense>,
    arithmetic: Arithmetic,
) -> Result<HashMap<Alias, Interpreted>, Error> {
    let mut machine = Machine { arithmetic, tables: HashMap::new() };
    let mut results = HashMap::new();
    for query in &plan.queries {
        bind_inputs(&mut machine, &query.expr, inputs)?;
        let result = machine.query(query)?;
        let stored = Stored { shape: result.shape.clone(), values: result.values.clone() };
        machine.tables.insert(query.alias.clone(), Rc::new(stored));
        results.insert(query.alias.clone(), result);
    }
    Ok(results)
}

fn bind_inputs(machine: &mut Machine, expr: &Expr, inputs: &HashMap<Alias, Dense>) -> Result<(), Error> {
    if let Node::Table { tensor, ty, .. } = expr.node()
        && let (false, Some(data)) = (machine.tables.contains_key(tensor), inputs.get(tensor))
    {
        let stored = machine.input(tensor, ty, data)?;
        machine.tables.insert(tensor.clone(), Rc::new(stored));
    }
    expr.node().args().iter().try_for_each(|arg| bind_inputs(machine, arg, inputs))
}
