//! Gradients of plans: the queries of a plan, followed by queries of derivatives.

use super::algebra::{rename, size_of, sum, with_fields};
use super::{Ties, is_float, pullback};
use crate::error::Error;
use crate::expr::{Expr, Node, topological_order};
use crate::field::{Alias, Field};
use crate::format::TensorType;
use crate::op::Builtin;
use crate::plan::{Plan, Query};
use rustc_hash::FxHashSet;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Extends a plan with queries that compute the derivatives of a loss with respect to the tensors
/// of `wrt`. The loss is a query whose result is one float; the tensors are inputs or results of
/// queries. Returns the plan, which also produces the derivatives, and the names of the
/// derivatives, in the order of `wrt`. A derivative has the modes of its tensor.
///
/// # Errors
/// Returns [`Error::NoDerivative`] if the loss is not a query with one float, a tensor of `wrt`
/// does not occur in the plan or has no floats, or a node between them has no derivative.
pub fn gradient_plan(plan: &Plan, loss: &Alias, wrt: &[Alias], ties: Ties) -> Result<(Plan, Vec<Alias>), Error> {
    let missing = |name: String, reason: &str| Error::NoDerivative { name, reason: reason.to_owned() };
    let query = plan.queries.iter().find(|query| query.alias == *loss);
    let Some(query) = query.filter(|query| query.expr.info().fields.is_empty() && is_float(&query.expr)) else {
        return Err(missing(format!("loss `{loss}`"), "it must be a query whose result is one float"));
    };
    let mut gradients = PlanGradients::new(plan, wrt);
    gradients.add(loss, Expr::literal(1.0).cast(&query.expr.info().dtype)?);
    for query in plan.queries.iter().rev() {
        gradients.pull(query, wrt.contains(&query.alias), ties)?;
    }
    let names = wrt.iter().map(|tensor| gradients.finish(tensor)).collect::<Result<Vec<_>, _>>()?;
    let queries = plan.queries.iter().cloned().chain(gradients.queries).collect();
    let mut produces = plan.produces.clone();
    produces.extend(names.iter().filter(|name| !plan.produces.contains(name)).cloned());
    Ok((Plan { queries, produces }, names))
}

/// The derivatives of a plan that are known so far, while the queries of the plan are visited from
/// the last to the first.
struct PlanGradients<'p> {
    plan: &'p Plan,
    /// The tensors of `wrt`, and the results of queries that depend on them.
    active: FxHashSet<Alias>,
    /// The types of tensors that the plan reads.
    types: BTreeMap<Alias, Arc<TensorType>>,
    /// The terms of the derivative with respect to each tensor, over the fields of [`mode_fields`].
    terms: BTreeMap<Alias, Vec<Expr>>,
    /// The queries of derivatives so far.
    queries: Vec<Query>,
    /// The names of derivatives that are queries, by the names of their tensors.
    names: BTreeMap<Alias, Alias>,
}

impl<'p> PlanGradients<'p> {
    fn new(plan: &'p Plan, wrt: &[Alias]) -> PlanGradients<'p> {
        let mut active: FxHashSet<Alias> = wrt.iter().cloned().collect();
        let mut types = BTreeMap::new();
        for query in &plan.queries {
            let tables = tables_of(&query.expr);
            for table in &tables {
                let Node::Table { tensor, ty, .. } = table.node() else { continue };
                types.insert(tensor.clone(), ty.clone());
                if active.contains(tensor) {
                    active.insert(query.alias.clone());
                }
            }
        }
        PlanGradients { plan, active, types, terms: BTreeMap::new(), queries: Vec::new(), names: BTreeMap::new() }
    }

    fn add(&mut self, tensor: &Alias, term: Expr) {
        self.terms.entry(tensor.clone()).or_default().push(term);
    }

    /// Adds a query for the derivative with respect to the result of `query`. Adds the terms that
    /// this derivative contributes to the derivatives with respect to the tensors that `query`
    /// reads. Does nothing if no derivative with respect to a tensor of `wrt` depends on `query`.
    fn pull(&mut self, query: &Query, is_wanted: bool, ties: Ties) -> Result<(), Error> {
        if !self.active.contains(&query.alias) || (!self.terms.contains_key(&query.alias) && !is_wanted) {
            return Ok(());
        }
        let wrt: Vec<Expr> = tables_of(&query.expr).into_iter().filter(|table| self.is_active(table)).collect();
        if wrt.is_empty() && !is_wanted {
            return Ok(());
        }
        let fields = query.expr.info().fields.iter().cloned();
        let name = self.finish_as(&query.alias, fields.len(), &query.result_type()?)?;
        let gradient = self.queries.iter().find(|query| query.alias == name).expect("the query was added");
        let seed = Expr::table(name, Arc::new(gradient.result_type()?), fields)?;
        for (table, cotangent) in wrt.iter().zip(pullback(&query.expr, &seed, &wrt, ties)?) {
            let Node::Table { tensor, fields, .. } = table.node() else { unreachable!("the leaves are tables") };
            let Some(cotangent) = cotangent else { continue };
            let term = to_modes(cotangent, fields)?;
            self.add(tensor, term);
        }
        Ok(())
    }

    fn is_active(&self, table: &Expr) -> bool {
        matches!(table.node(), Node::Table { tensor, .. } if self.active.contains(tensor)) && is_float(table)
    }

    /// Returns the name of the query that computes the derivative with respect to a tensor.
    fn finish(&mut self, tensor: &Alias) -> Result<Alias, Error> {
        let ty = self.types.get(tensor).cloned().ok_or_else(|| Error::NoDerivative {
            name: format!("tensor `{tensor}`"),
            reason: "the plan does not read it".to_owned(),
        })?;
        if !ty.dtype.prim().is_some_and(crate::Prim::is_float) {
            let reason = "only floats have one; cast the values to f64".to_owned();
            return Err(Error::NoDerivative { name: format!("tensor `{tensor}` of dtype {}", ty.dtype), reason });
        }
        self.finish_as(tensor, ty.shape.len(), &ty)
    }

    /// Adds the query that computes the derivative with respect to a tensor of the given type;
    /// returns the name of the query.
    fn finish_as(&mut self, tensor: &Alias, rank: usize, ty: &TensorType) -> Result<Alias, Error> {
        if let Some(name) = self.names.get(tensor) {
            return Ok(name.clone());
        }
        let zero = || Expr::literal(0.0).cast(&ty.dtype);
        let total = sum(self.terms.remove(tensor).unwrap_or_default())?.map_or_else(zero, Ok)?;
        let fields = mode_fields(rank);
        let total = with_fields(total, fields.iter().cloned().zip(ty.shape.iter().copied()))?;
        let total = if total.info().fields == fields { total } else { total.reorder(fields)? };
        let name = self.unused_name(tensor);
        self.queries.push(Query { alias: name.clone(), expr: total });
        self.names.insert(tensor.clone(), name.clone());
        Ok(name)
    }

    fn unused_name(&self, tensor: &Alias) -> Alias {
        let queries = self.plan.queries.iter().chain(&self.queries).map(|query| &query.alias);
        let taken: BTreeSet<&Alias> = queries.chain(self.types.keys()).collect();
        let mut name = Alias::from(format!("{tensor}.gradient"));
        while taken.contains(&name) {
            name = Alias::from(format!("{name}'"));
        }
        name
    }
}

/// Returns the fields of a derivative, one for each mode of its tensor.
fn mode_fields(rank: usize) -> Vec<Field> {
    (0..rank).map(|k| Field::from(format!("m{k}"))).collect()
}

/// Renames the fields of the cotangent of a table to the fields of the modes. If the table reads a
/// diagonal, the derivative is 0 outside of the diagonal.
fn to_modes(cotangent: Expr, fields: &[Field]) -> Result<Expr, Error> {
    let modes = mode_fields(fields.len());
    let first = |field: &Field| fields.iter().position(|f| f == field);
    let sizes = cotangent.info().clone();
    let mut value = rename(cotangent, |field| first(field).map(|k| modes[k].clone()))?;
    for (k, field) in fields.iter().enumerate() {
        let first = first(field).expect("the field is one of the fields");
        if first < k {
            let size = size_of(&sizes, field)?;
            value = with_fields(value, [(modes[k].clone(), size)])?;
            let [a, b] = [first, k].map(|k| Expr::coordinate(modes[k].clone()));
            let is_diagonal = Expr::mapjoin(Builtin::Eq, [a, b])?;
            value = Expr::mapjoin(Builtin::IfElse, [is_diagonal, value, Expr::number(0i64)])?;
        }
    }
    Ok(value)
}

/// Returns the tables of an expression, without repetition.
fn tables_of(root: &Expr) -> Vec<Expr> {
    let mut tables = Vec::new();
    for e in topological_order([root], |_| true) {
        if matches!(e.node(), Node::Table { .. }) && !tables.contains(&e) {
            tables.push(e);
        }
    }
    tables
}
