//! The builder of the expressions of statements.

use super::{IndexExpr, IndexStatement};
use crate::error::{Error, plural};
use crate::expr::Expr;
use crate::field::{Alias, Field};
use crate::format::TensorType;
use crate::mode::FloatMode;
use crate::op::{Builtin, Op};
use crate::scalar::Scalar;
use crate::text::Catalog;
use std::sync::Arc;

/// Casts values to the primitive in which folds by `+` and `*` are computed; returns structs
/// unchanged.
fn widen(expr: Expr) -> Result<Expr, Error> {
    match expr.info().dtype.prim() {
        Some(prim) => expr.cast(&prim.widened().into()),
        None => Ok(expr),
    }
}

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
            Some(op @ Op::Builtin(Builtin::Add | Builtin::Mul)) => self.folded(op, widen(self.value(value)?)?)?,
            Some(op) => {
                let value = self.value(value)?;
                // Rejects an operator without identity even if there is no index to fold over,
                // because the operator would then have no effect.
                fold_identity(op, &value)?;
                self.folded(op, value)?
            }
            None => self.summed(value)?,
        };
        if let Some(index) = indices.iter().find(|index| !expr.info().fields.contains(index)) {
            let message = format!(
                "index `{index}` is on the left, but no tensor on the right has it; remove `{index}` from the left, or \
                 use it on the right"
            );
            return Err(Error::Syntax(message));
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
            value => {
                self.check_sums(value, &[])?;
                let expr = self.value(value)?;
                let is_summed = expr.info().fields.iter().any(|field| !self.statement.indices.contains(field));
                self.folded(&Builtin::Add.into(), if is_summed { widen(expr)? } else { expr })
            }
        }
    }

    /// Checks that the terms of a sum within a product agree in the indices to sum over, apart from
    /// indices of other factors. Otherwise, the sum over an index would repeat the terms that lack
    /// the index.
    fn check_sums(&self, value: &IndexExpr, of_factors: &[Field]) -> Result<(), Error> {
        let IndexExpr::Call(Op::Builtin(op), args, at) = value else { return Ok(()) };
        match op {
            Builtin::Mul | Builtin::Div => (0..args.len()).try_for_each(|k| {
                let others = args.iter().enumerate().filter(|(other, _)| *other != k);
                let others = others.flat_map(|(_, arg)| self.summed_indices(arg));
                self.check_sums(&args[k], &others.chain(of_factors.iter().cloned()).collect::<Vec<_>>())
            }),
            Builtin::Add | Builtin::Sub => {
                let terms: Vec<Vec<Field>> = args.iter().map(|arg| self.summed_indices(arg)).collect();
                let lacks = |index: &&Field| !of_factors.contains(index) && terms.iter().any(|t| !t.contains(index));
                if let Some(index) = terms.iter().flatten().find(lacks) {
                    let message = format!(
                        "only one side of `{op}` has the index `{index}`, which is summed over; compute that sum in a \
                         statement of its own, or write `+=` to sum the whole right side"
                    );
                    return Err(Error::Syntax(message).with_position(at.line, at.column));
                }
                args.iter().try_for_each(|arg| self.check_sums(arg, of_factors))
            }
            Builtin::Neg => self.check_sums(&args[0], of_factors),
            _ => Ok(()),
        }
    }

    /// Returns the indices of a value that are not on the left.
    fn summed_indices(&self, value: &IndexExpr) -> Vec<Field> {
        let mut indices = value.indices();
        indices.retain(|index| !self.statement.indices.contains(index));
        indices
    }

    /// Folds a value over the indices that are not on the left.
    fn folded(&self, op: &Op, expr: Expr) -> Result<Expr, Error> {
        let fields = expr.info().fields.iter();
        let reduced: Vec<Field> = fields.filter(|field| !self.statement.indices.contains(field)).cloned().collect();
        if reduced.is_empty() {
            return Ok(expr);
        }
        let init = fold_identity(op, &expr)?;
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
            let (modes, indices) = (plural(rank as u64, "mode", "modes"), plural(found as u64, "index", "indices"));
            let message = format!("`{name}` has {rank} {modes}, but is read with {found} {indices}");
            return Err(Error::Syntax(message));
        }
        if (1..indices.len()).all(|k| !indices[..k].contains(&indices[k])) {
            return Expr::table(name.clone(), ty.clone(), indices.iter().cloned());
        }
        let modes = (0..indices.len()).map(|k| Field::from(format!("'{k}")));
        Expr::table(name.clone(), ty.clone(), modes)?.label(indices)
    }
}

/// Returns the identity of an operator, from which a fold of the expression starts.
fn fold_identity(op: &Op, expr: &Expr) -> Result<Scalar, Error> {
    let dtype = crate::expr::fold_dtype(op, &expr.info().dtype, "fold")?;
    op.fold_identity(&dtype, FloatMode::Relaxed).ok_or_else(|| {
        let advice = match op {
            Op::Builtin(Builtin::Sub) => "fold with `+=`, and subtract or negate the result in another statement",
            Op::Builtin(Builtin::Div) => "fold with `*=`, and divide by the result in another statement",
            _ => "write a plan, whose `aggregate` has an initial value and folds in the order of its fields",
        };
        let reason = format!("it has no identity to start from; {advice}");
        Error::Fold { op: op.name().to_owned(), node: "fold", dtype, reason }
    })
}
