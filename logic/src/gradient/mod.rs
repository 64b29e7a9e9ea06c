//! Gradients: derivatives of expressions and plans, as expressions and plans.
//!
//! Reverse mode ([`pullback`], [`gradient_plan`]) visits the nodes of an expression from the root
//! to its leaves. Each node has a *cotangent*: the derivative of the loss with respect to the value
//! of the node at each coordinate. Forward mode ([`pushforward`]) visits the nodes from the leaves
//! to the root. Each node has a *tangent*: the derivative of its value in a direction.
//!
//! Both modes are linear in their tangents and cotangents, and use the same rows of derivatives
//! (`rows.rs`), the same weights of folds (`folds.rs`) and the same index maps, which reverse mode
//! transposes (`maps.rs`). The results contain nodes of the original expression, so that a plan
//! computes shared parts once. The results are ordinary expressions, which can be differentiated
//! again.
//!
//! A tangent or cotangent may lack fields of its node. Its value is then the same at all
//! coordinates of these fields.
//!
//! The method is that of A. Griewank and A. Walther, "Evaluating Derivatives" (2nd edition, 2008),
//! chapter 3; the rules for folds and index maps are those of linear maps and their transposes.

mod algebra;
mod folds;
mod forward;
mod inline;
mod maps;
mod plan;
mod reverse;
mod rows;
#[cfg(test)]
mod tests;

pub use forward::pushforward;
pub use plan::gradient_plan;
pub use reverse::pullback;

use crate::error::Error;
use crate::expr::Expr;

/// The derivative of a minimum or maximum whose extreme value occurs several times.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Ties {
    /// The occurrences share the derivative equally.
    #[default]
    Shared,
    /// The first occurrence has the whole derivative.
    First,
}

/// Returns whether the values of an expression are or contain floats. Values without floats have
/// the derivative 0; structs with floats have none.
fn has_floats(expr: &Expr) -> bool {
    expr.info().dtype.prims().into_iter().any(crate::Prim::is_float)
}

/// Checks that the values of an expression are floats, which alone have a derivative.
fn check_float(expr: &Expr) -> Result<(), Error> {
    if is_float(expr) {
        return Ok(());
    }
    let reason = "only floats have one; cast the values to f64".to_owned();
    Err(Error::NoDerivative { name: format!("value of dtype {}", expr.info().dtype), reason })
}

/// Returns whether the values of an expression are floats.
fn is_float(expr: &Expr) -> bool {
    expr.info().dtype.prim().is_some_and(crate::Prim::is_float)
}
