//! The printer of plans.

use super::format::format_to_sexpr;
use super::index::map_to_sexpr;
use super::name::name_to_sexpr;
use crate::expr::{ComputedFills, Expr, Node, fit, weak_dtype};
use crate::field::Field;
use crate::literal::{read_bare, write_literal, write_value};
use crate::op::{Op, UserOp};
use crate::plan::{Plan, Query};
use crate::scalar::Scalar;
use crate::sexpr::Sexpr;
use std::fmt;
use std::sync::Arc;

impl Plan {
    /// Writes the plan as an s-expression that [`parse`](super::parse) reads back.
    pub fn to_sexpr(&self) -> Sexpr {
        let mut ops: Vec<Arc<UserOp>> = Vec::new();
        for query in &self.queries {
            collect_ops(&query.expr, &mut ops);
        }
        let produces = self.produces.iter().map(|a| name_to_sexpr(a.as_str()));
        let definitions = ops.iter().map(|op| op.to_sexpr());
        let queries = self.queries.iter().map(Query::to_sexpr);
        Sexpr::form("plan", definitions.chain(queries).chain([Sexpr::form("produces", produces)]))
    }
}

impl Query {
    /// Writes the query as an s-expression.
    pub fn to_sexpr(&self) -> Sexpr {
        Sexpr::form("query", [name_to_sexpr(self.alias.as_str()), self.expr.to_sexpr()])
    }
}

impl Expr {
    /// Writes the expression as an s-expression.
    pub fn to_sexpr(&self) -> Sexpr {
        match self.node() {
            Node::Table { tensor, fields, .. } => {
                Sexpr::form("table", [name_to_sexpr(tensor.as_str())].into_iter().chain(names(fields)))
            }
            Node::Literal(value) if self.info().weak => write_value(value),
            Node::Literal(value) => write_literal(value),
            Node::Coordinate(field) => Sexpr::form("coordinate", [name_to_sexpr(field.as_str())]),
            Node::MapJoin { op, args } => Sexpr::form("mapjoin", [op_name(op)].into_iter().chain(write_args(op, args))),
            Node::Aggregate { op, init, arg, fields } => {
                let parts = [op_name(op), write_value(init), arg.to_sexpr()];
                Sexpr::form("aggregate", parts.into_iter().chain(names(fields)))
            }
            Node::Scan { op, arg, field } => {
                Sexpr::form("scan", [op_name(op), arg.to_sexpr(), name_to_sexpr(field.as_str())])
            }
            Node::Reorder { arg, fields } => Sexpr::form("reorder", [arg.to_sexpr()].into_iter().chain(names(fields))),
            Node::Relabel { arg, fields } => Sexpr::form("relabel", [arg.to_sexpr()].into_iter().chain(names(fields))),
            Node::Index { map, arg } => Sexpr::form("index", [map_to_sexpr(map), arg.to_sexpr()]),
            Node::Refill { fill, computed_fills, arg } => {
                let drop = (*computed_fills == ComputedFills::Drop).then(|| Sexpr::atom("drop"));
                Sexpr::form("refill", [write_value(fill)].into_iter().chain(drop).chain([arg.to_sexpr()]))
            }
            Node::Reformat { format, arg } => Sexpr::form("reformat", [format_to_sexpr(format), arg.to_sexpr()]),
        }
    }
}

/// Writes the arguments of an operator; literals are bare if bare numbers would read back with the
/// right dtypes.
fn write_args(op: &Op, args: &[Expr]) -> Vec<Sexpr> {
    let bare: Vec<Option<Scalar>> = args.iter().map(bare_number).collect();
    let strong = args.iter().zip(&bare).map(|(a, b)| b.is_none().then(|| a.info().dtype.clone()));
    let strong: Vec<_> = strong.collect();
    let bare_numbers_read_back = bare.iter().enumerate().all(|(k, bare)| match bare {
        Some(value) => {
            fit(value, &weak_dtype(op, &strong, k, value), "number").ok().as_ref() == Some(&args[k].info().fill)
        }
        None => true,
    });
    let print = |(arg, bare): (&Expr, Option<Scalar>)| match bare {
        Some(value) if bare_numbers_read_back => write_value(&value),
        _ => arg.to_sexpr(),
    };
    args.iter().zip(bare).map(print).collect()
}

/// Returns the value that a primitive literal has when it is written as a bare number; `None` for
/// other expressions.
fn bare_number(arg: &Expr) -> Option<Scalar> {
    let Node::Literal(value) = arg.node() else { return None };
    value.prim()?;
    read_bare(&value.to_string())
}

fn collect_ops(expr: &Expr, ops: &mut Vec<Arc<UserOp>>) {
    expr.node().args().iter().for_each(|a| collect_ops(a, ops));
    if let Some(Op::User(op)) = expr.node().op()
        && !ops.contains(op)
    {
        ops.push(op.clone());
    }
}

fn names(fields: &[Field]) -> impl Iterator<Item = Sexpr> {
    fields.iter().map(|f| name_to_sexpr(f.as_str()))
}

fn op_name(op: &Op) -> Sexpr {
    Sexpr::atom(op.name())
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let plan = self.to_sexpr();
        let (head, items) = plan.as_form().expect("a plan is a form");
        write!(f, "({head}")?;
        for item in items {
            write!(f, "\n  {}", item.pretty().replace('\n', "\n  "))?;
        }
        f.write_str(")")
    }
}

impl fmt::Display for Query {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.to_sexpr().fmt(f)
    }
}

impl fmt::Display for Expr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.to_sexpr().fmt(f)
    }
}
