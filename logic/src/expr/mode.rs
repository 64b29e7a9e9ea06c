//! Conversion of plans to another float mode: the same expressions, with the fill values of that
//! mode.
//!
//! Expressions are built in the default mode, unless an argument is in the strict mode. If `A` and
//! `B` have the fill value 0, then the fill value of `A / B` is 0 in the default mode and NaN in
//! the strict mode. Later queries that read the result are converted accordingly.

use super::{Expr, Node, infer};
use crate::error::Error;
use crate::field::Alias;
use crate::format::TensorType;
use crate::mode::FloatMode;
use crate::plan::{Plan, Query};
use crate::scalar::Scalar;
use std::collections::HashMap;
use std::sync::Arc;

impl Plan {
    /// Returns the plan with the fill values of a float mode.
    ///
    /// # Errors
    /// Returns an error if a node is not well-formed with the fill values of the mode, for instance
    /// because an operator faults on them.
    pub fn to_mode(&self, mode: FloatMode) -> Result<Plan, Error> {
        let mut conversion = ModeConversion { mode, results: HashMap::new(), converted: HashMap::new() };
        let mut queries = Vec::with_capacity(self.queries.len());
        for query in &self.queries {
            let query = Query { alias: query.alias.clone(), expr: conversion.expr(&query.expr)? };
            // Only the fill value can differ between modes.
            conversion.results.insert(query.alias.clone(), query.expr.info().fill.clone());
            queries.push(query);
        }
        Ok(Plan { queries, produces: self.produces.clone() })
    }
}

impl Expr {
    /// Returns the fill value in a float mode. Tables keep the fill values of their types.
    ///
    /// # Errors
    /// Returns the errors of [`Plan::to_mode`].
    pub fn fill_in(&self, mode: FloatMode) -> Result<Scalar, Error> {
        if mode == self.mode() {
            return Ok(self.info().fill.clone());
        }
        let mut conversion = ModeConversion { mode, results: HashMap::new(), converted: HashMap::new() };
        Ok(conversion.expr(self)?.info().fill.clone())
    }
}

struct ModeConversion {
    mode: FloatMode,
    /// Fill values of the results so far.
    results: HashMap<Alias, Scalar>,
    /// Converted expressions by address, because plans share subexpressions.
    converted: HashMap<usize, Expr>,
}

impl ModeConversion {
    fn expr(&mut self, expr: &Expr) -> Result<Expr, Error> {
        if let Some(converted) = self.converted.get(&expr.address()) {
            return Ok(converted.clone());
        }
        let node = match expr.node() {
            Node::Table { tensor, ty, fields } => {
                let fill = self.results.get(tensor).unwrap_or(&ty.fill).clone();
                let ty = if fill == ty.fill { ty.clone() } else { Arc::new(TensorType { fill, ..(**ty).clone() }) };
                Node::Table { tensor: tensor.clone(), ty, fields: fields.clone() }
            }
            node => node.with_args(node.args().iter().map(|arg| self.expr(arg)).collect::<Result<_, _>>()?),
        };
        let weak = expr.info().weak;
        let info = super::Info { weak, ..infer(&node, self.mode)? };
        let converted = Expr::wrap(node, info, self.mode);
        self.converted.insert(expr.address(), converted.clone());
        Ok(converted)
    }
}

#[cfg(test)]
mod tests {
    use crate::format::{Format, TensorType};
    use crate::mode::FloatMode;
    use crate::text::{Catalog, parse};
    use crate::{DType, Plan};

    #[test]
    fn fill_values_of_quotients_of_zeros_and_of_later_queries() {
        let format = Format::dense(1);
        let ty = TensorType { shape: vec![3], dtype: DType::F64, fill: 0.0.into(), format };
        let text =
            "(plan (query Q (mapjoin / (table A i) (table B i))) (query R (mapjoin + (table Q i) 1)) (produces R))";
        let plan = parse(text, &Catalog::from_iter([("A", ty.clone()), ("B", ty)])).unwrap();
        let fills = |plan: &Plan| -> Vec<String> {
            crate::verify(plan).unwrap();
            plan.queries.iter().map(|q| q.expr.info().fill.to_string()).collect()
        };
        assert_eq!(fills(&plan), ["0.0", "1.0"]);
        let strict = plan.to_mode(FloatMode::StrictIeee).unwrap();
        assert_eq!(fills(&strict), ["nan", "nan"]);
        assert_eq!(fills(&strict.to_mode(FloatMode::Relaxed).unwrap()), ["0.0", "1.0"]);
    }
}
