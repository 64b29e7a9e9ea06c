//! Plans: queries in order and what they produce.

use crate::error::Error;
use crate::expr::Expr;
use crate::field::Alias;
use crate::format::{Format, TensorType};

/// `alias := expr`; later queries may read it as a table.
#[derive(Clone, PartialEq, Debug)]
pub struct Query {
    /// The name of the result; bound once in a plan.
    pub alias: Alias,
    /// What to compute.
    pub expr: Expr,
}

/// A whole Logic program.
#[derive(Clone, PartialEq, Debug)]
pub struct Plan {
    /// The queries, each reading inputs and results of earlier ones.
    pub queries: Vec<Query>,
    /// The results that the user wants.
    pub produces: Vec<Alias>,
}

impl Query {
    /// The type of the result: one mode a field. The format is that of a reformat at the top; without one it is dense
    /// until the optimizer has chosen.
    ///
    /// # Errors
    /// When the size of a field is not known.
    pub fn result_type(&self) -> Result<TensorType, Error> {
        let info = self.expr.info();
        let shape = info.fields.iter().zip(&info.dimensions).map(|(field, size)| {
            size.ok_or_else(|| Error::Unsized { field: field.clone(), place: format!("query `{}`", self.alias) })
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
