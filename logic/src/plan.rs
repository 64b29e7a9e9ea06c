//! Plans: ordered queries and the results to return.

use crate::error::Error;
use crate::expr::Expr;
use crate::field::Alias;
use crate::format::{Format, TensorType};

/// One step of a plan, `alias := expr`; later queries may read the result as a table.
#[derive(Clone, PartialEq, Debug)]
pub struct Query {
    /// Name of the result, bound once in a plan.
    pub alias: Alias,
    /// Expression to compute.
    pub expr: Expr,
}

/// A whole Logic program.
#[derive(Clone, PartialEq, Debug)]
pub struct Plan {
    /// Queries in order; each reads inputs and results of earlier queries.
    pub queries: Vec<Query>,
    /// Results that the plan returns.
    pub produces: Vec<Alias>,
}

impl Query {
    /// Returns the type of the result, with one mode per field. The format comes from a reformat
    /// node at the root, or directly below refill nodes at the root. Without such a reformat, the
    /// format is dense until the optimizer has chosen another format.
    ///
    /// # Errors
    /// Returns [`Error::UnknownSize`] if a field has no size.
    pub fn result_type(&self) -> Result<TensorType, Error> {
        let info = self.expr.info();
        let shape = info.fields.iter().zip(&info.dimensions).map(|(field, size)| {
            size.ok_or_else(|| Error::UnknownSize { field: field.clone(), location: format!("query `{}`", self.alias) })
        });
        let format = self.expr.stored_format().cloned().unwrap_or_else(|| Format::dense(info.fields.len()));
        Ok(TensorType {
            shape: shape.collect::<Result<_, _>>()?,
            dtype: info.dtype.clone(),
            fill: info.fill.clone(),
            format,
        })
    }
}
