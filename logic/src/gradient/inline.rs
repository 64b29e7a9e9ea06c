//! Rewriting of expressions for the rows of derivatives: user-defined operators are expanded into
//! built-in ones. An application with more than two arguments becomes a chain of applications to
//! two arguments each, unless the operator is `ifelse` or a sum.

use super::rows::is_sum;
use crate::dtype::DType;
use crate::error::Error;
use crate::expr::{Expr, Node, topological_order};
use crate::op::{Body, Definition, UserOp};
use crate::op::{Builtin, Op};
use rustc_hash::FxHashMap;

/// Rewrites an expression into nodes to which the rules of derivatives apply. The nodes for which
/// `is_leaf` is true stay as they are.
///
/// # Errors
/// Returns [`Error::NoDerivative`] for a user-defined operator with a loop or a struct.
pub(super) fn expand(root: &Expr, is_leaf: &dyn Fn(&Expr) -> bool) -> Result<Expr, Error> {
    let mut expander = Expander { is_leaf, expanded: FxHashMap::default() };
    for node in topological_order([root], |e| !is_leaf(e)) {
        expander.expand(&node)?;
    }
    expander.expand(root)
}

struct Expander<'l> {
    is_leaf: &'l dyn Fn(&Expr) -> bool,
    /// The results by the addresses of nodes, so that shared nodes stay shared.
    expanded: FxHashMap<usize, Expr>,
}

impl Expander<'_> {
    /// Expands a node whose arguments are expanded already, unless it is a leaf.
    fn expand(&mut self, e: &Expr) -> Result<Expr, Error> {
        if (self.is_leaf)(e) {
            return Ok(e.clone());
        }
        if let Some(done) = self.expanded.get(&e.address()) {
            return Ok(done.clone());
        }
        let args = e.node().args().iter().map(|arg| self.expand(arg)).collect::<Result<Vec<_>, _>>()?;
        let expanded = match e.node() {
            Node::MapJoin { op: Op::User(op), .. } => {
                apply_in_pairs(args, op.params().len(), &|args| expand_op(op, args))?
            }
            Node::MapJoin { op, .. } if args.len() > 2 && !is_sum(op) && *op != Op::Builtin(Builtin::IfElse) => {
                apply_in_pairs(to_signature(op, args)?, 2, &|args| Expr::mapjoin(op.clone(), args))?
            }
            Node::MapJoin { op, .. } => e.with_args(to_signature(op, args)?)?,
            _ => e.with_args(args)?,
        };
        self.expanded.insert(e.address(), expanded.clone());
        Ok(expanded)
    }
}

/// Casts arguments to the dtypes in which an operator computes, so that its derivatives compute in
/// these dtypes, too. For example, the derivative of `atan2` squares the arguments, and the squares
/// of integers would wrap.
fn to_signature(op: &Op, args: Vec<Expr>) -> Result<Vec<Expr>, Error> {
    let dtypes: Vec<DType> = args.iter().map(|arg| arg.info().dtype.clone()).collect();
    let signature = op.signature(&dtypes)?;
    args.into_iter().zip(&signature.args).map(|(arg, dtype)| arg.cast(dtype)).collect()
}

/// Applies an operator with `arity` arguments to the arguments; further arguments are folded from
/// the left.
fn apply_in_pairs(
    args: Vec<Expr>,
    arity: usize,
    apply: &dyn Fn(Vec<Expr>) -> Result<Expr, Error>,
) -> Result<Expr, Error> {
    let mut args = args.into_iter();
    let mut value = apply(args.by_ref().take(arity).collect())?;
    for arg in args {
        value = apply(vec![value, arg])?;
    }
    Ok(value)
}

/// Applies the body of a user-defined operator to arguments.
fn expand_op(op: &UserOp, args: Vec<Expr>) -> Result<Expr, Error> {
    let args =
        args.into_iter().zip(op.params()).map(|(arg, (_, dtype))| arg.cast(dtype)).collect::<Result<Vec<_>, _>>()?;
    let Definition::Body(body) = op.definition();
    BodyExpander { op, args, variables: Vec::new() }.expand(body)?.cast(op.result())
}

struct BodyExpander<'o> {
    op: &'o UserOp,
    args: Vec<Expr>,
    variables: Vec<(String, Expr)>,
}

impl BodyExpander<'_> {
    fn expand(&mut self, body: &Body) -> Result<Expr, Error> {
        match body {
            Body::Arg(k) => Ok(self.args[*k].clone()),
            Body::Var(name) => {
                let variable = self.variables.iter().rev().find(|(n, _)| n == name);
                Ok(variable.expect("the body was checked").1.clone())
            }
            Body::Lit(value) => Ok(Expr::literal(value.clone())),
            Body::Call(op, args) => {
                let args = args.iter().map(|arg| self.expand(arg)).collect::<Result<Vec<_>, _>>()?;
                match op {
                    Op::User(op) => apply_in_pairs(args, op.params().len(), &|args| expand_op(op, args)),
                    op if args.len() > 2 && *op != Op::Builtin(Builtin::IfElse) => {
                        apply_in_pairs(to_signature(op, args)?, 2, &|args| Expr::mapjoin(op.clone(), args))
                    }
                    op => Expr::mapjoin(op.clone(), to_signature(op, args)?),
                }
            }
            Body::If(cond, then, other) => {
                let parts = [cond, then, other].map(|part| self.expand(part));
                let [cond, then, other] = parts;
                Expr::mapjoin(Builtin::IfElse, [cond?, then?, other?])
            }
            Body::Let(name, value, rest) => {
                let value = self.expand(value)?;
                self.variables.push((name.clone(), value));
                let result = self.expand(rest);
                self.variables.pop();
                result
            }
            Body::While(_) => Err(self.missing("its body has a loop")),
            Body::Struct(_) | Body::Member(..) => Err(self.missing("structs have no derivative")),
        }
    }

    fn missing(&self, reason: &str) -> Error {
        Error::NoDerivative { name: format!("operator `{}`", self.op.name()), reason: reason.to_owned() }
    }
}
