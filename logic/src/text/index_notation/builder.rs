//! The expressions of statements.

use super::{IndexExpr, IndexStatement};
use crate::error::Error;
use crate::expr::Expr;
use crate::field::{Alias, Field};
use crate::format::TensorType;
use crate::mode::FloatMode;
use crate::op::{Builtin, Op};
use crate::text::Catalog;
use std::sync::Arc;

/// Builds the expression of a statement.
pub(super) struct ExprBuilder<'a> {
    pub(super) catalog: &'a Catalog,
    pub(super) results: &'a [(Alias, Arc<TensorType>)],
    pub(super) statement: &'a IndexStatement,
}

impl ExprBuilder<'_> {
    pub(super) fn expr(&self) -> Result<Expr, Error> {
        let IndexStatement { indices, fold, value, .. } = self.statement;
        let expr = match fold {
            Some(op) => self.folded(op, self.value(value)?)?,
            None => self.summed(value)?,
        };
        if let Some(index) = indices.iter().find(|index| !expr.info().fields.contains(index)) {
            return Err(Error::Syntax(format!("index `{index}` is on the left, but no tensor on the right has it")));
        }
        if expr.info().fields == *indices { Ok(expr) } else { expr.reorder(indices.iter().cloned()) }
    }

    /// Returns a value in which each term of a sum is summed over the indices that are not on the
    /// left.
    fn summed(&self, value: &IndexExpr) -> Result<Expr, Error> {
        match value {
            IndexExpr::Call(Op::Builtin(op @ (Builtin::Add | Builtin::Sub | Builtin::Neg)), args, at) => {
                let args = args.iter().map(|arg| self.summed(arg)).collect::<Result<Vec<_>, _>>()?;
                Expr::mapjoin(*op, args).map_err(|e| e.with_position(at.line, at.column))
            }
            value => self.folded(&Builtin::Add.into(), self.value(value)?),
        }
    }

    /// Folds the indices that are not on the left.
    fn folded(&self, op: &Op, expr: Expr) -> Result<Expr, Error> {
        let fields = expr.info().fields.iter();
        let reduced: Vec<Field> = fields.filter(|field| !self.statement.indices.contains(field)).cloned().collect();
        if reduced.is_empty() {
            return Ok(expr);
        }
        let dtype = crate::expr::fold_dtype(op, &expr.info().dtype, "fold")?;
        let no_identity =
            || Error::Syntax(format!("operator `{op}` has no identity on {dtype}, from which a fold starts"));
        let init = op.fold_identity(&dtype, FloatMode::Relaxed).ok_or_else(no_identity)?;
        Expr::aggregate(op.clone(), init, expr, reduced)
    }

    fn value(&self, value: &IndexExpr) -> Result<Expr, Error> {
        match value {
            IndexExpr::Number(number) => Ok(Expr::number(number.clone())),
            IndexExpr::Coordinate(index) => Ok(Expr::coordinate(index.clone())),
            IndexExpr::Access(name, indices, at) => {
                self.access(name, indices).map_err(|e| e.with_position(at.line, at.column))
            }
            IndexExpr::Call(op, args, at) => {
                let args = args.iter().map(|arg| self.value(arg)).collect::<Result<Vec<_>, _>>()?;
                Expr::mapjoin(op.clone(), args).map_err(|e| e.with_position(at.line, at.column))
            }
        }
    }

    fn access(&self, name: &Alias, indices: &[Field]) -> Result<Expr, Error> {
        let result = self.results.iter().find(|(result, _)| result == name).map(|(_, ty)| ty);
        let Some(ty) = result.or_else(|| self.catalog.get(name.as_str())) else {
            let candidates = self.results.iter().map(|(result, _)| result).chain(self.catalog.iter().map(|(a, _)| a));
            return Err(Error::unknown("tensor", name.as_str(), candidates.map(Alias::as_str)));
        };
        if ty.shape.len() != indices.len() {
            let (rank, found) = (ty.shape.len(), indices.len());
            return Err(Error::Syntax(format!("`{name}` has {rank} modes, but is read with {found} indices")));
        }
        if (1..indices.len()).all(|k| !indices[..k].contains(&indices[k])) {
            return Expr::table(name.clone(), ty.clone(), indices.iter().cloned());
        }
        let modes = (0..indices.len()).map(|k| Field::from(format!("'{k}")));
        Expr::table(name.clone(), ty.clone(), modes)?.label(indices)
    }
}
