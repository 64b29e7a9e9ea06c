//! Forward mode: tangents from the leaves to the root.

use super::algebra::{broadcast_to, build, rename, row_names, size_of, sum, with_fields};
use super::folds::{check_scan, push_fold};
use super::inline::expand;
use super::maps::push_index;
use super::rows::derivatives;
use super::{Ties, check_float, has_floats};
use crate::error::Error;
use crate::expr::{Expr, Node, topological_order};
use rustc_hash::FxHashMap;

/// Returns the derivative of `root` in a direction. The direction is a list of expressions that
/// occur in `root`, each with its tangent. A tangent may lack fields of its expression. The result
/// has the fields of `root`.
///
/// # Errors
/// Returns [`Error::NoDerivative`] in three cases: the values of the expression or of a direction
/// are not floats; a node that depends on the directions has no derivative; or any user-defined
/// operator in the expression has a loop or a struct. Also returns the errors of the constructors
/// of expressions.
pub fn pushforward(root: &Expr, directions: &[(Expr, Expr)], ties: Ties) -> Result<Expr, Error> {
    [root].into_iter().chain(directions.iter().map(|(leaf, _)| leaf)).try_for_each(check_float)?;
    let is_leaf = |e: &Expr| directions.iter().any(|(leaf, _)| leaf == e);
    let expanded = expand(root, &is_leaf)?;
    let mut pass = ForwardPass { directions, ties, tangents: FxHashMap::default() };
    for e in topological_order([&expanded], |e| has_floats(e) && !is_leaf(e)) {
        pass.tangent(&e)?;
    }
    let zero = || Expr::literal(0.0).cast(&root.info().dtype);
    let tangent = pass.tangent(&expanded)?.map_or_else(zero, Ok)?;
    broadcast_to(tangent, root.info())
}

struct ForwardPass<'d> {
    directions: &'d [(Expr, Expr)],
    ties: Ties,
    /// The tangents by the addresses of nodes; `None` for a node that the directions do not change.
    tangents: FxHashMap<usize, Option<Expr>>,
}

impl ForwardPass<'_> {
    /// Returns the tangent of a node, whose arguments have known tangents if it depends on them.
    fn tangent(&mut self, e: &Expr) -> Result<Option<Expr>, Error> {
        if let Some(known) = self.tangents.get(&e.address()) {
            return Ok(known.clone());
        }
        let tangent = self.compute(e)?.map(|tangent| tangent.cast(&e.info().dtype)).transpose()?;
        self.tangents.insert(e.address(), tangent.clone());
        Ok(tangent)
    }

    fn compute(&mut self, e: &Expr) -> Result<Option<Expr>, Error> {
        if !has_floats(e) {
            return Ok(None);
        }
        if let Some((_, tangent)) = self.directions.iter().find(|(leaf, _)| leaf == e) {
            return Ok(Some(tangent.clone()));
        }
        let tangents = e.node().args().iter().map(|arg| self.tangent(arg)).collect::<Result<Vec<_>, _>>()?;
        if tangents.iter().all(Option::is_none) {
            return Ok(None);
        }
        if let Node::MapJoin { op, args } = e.node() {
            let mut terms = Vec::new();
            for (k, tangent) in tangents.iter().enumerate() {
                let Some(tangent) = tangent else { continue };
                if let Some(text) = derivatives(op, self.ties)?(k) {
                    terms.push(build(text, &row_names(args, e, tangent))?);
                }
            }
            return sum(terms);
        }
        let [Some(tangent)] = <[Option<Expr>; 1]>::try_from(tangents).expect("other nodes have one argument") else {
            unreachable!("a tangent was found above");
        };
        Ok(Some(match e.node() {
            Node::Aggregate { .. } => push_fold(e, &tangent, self.ties)?,
            Node::Scan { op, field, .. } => {
                check_scan(op)?;
                let size = size_of(e.info(), field)?;
                Expr::scan(op.clone(), with_fields(tangent, [(field.clone(), size)])?, field.clone())?
            }
            Node::Relabel { arg, fields } => {
                let old = &arg.info().fields;
                rename(tangent, |field| old.iter().position(|f| f == field).map(|k| fields[k].clone()))?
            }
            Node::Index { .. } => push_index(e, tangent)?,
            _ => tangent,
        }))
    }
}
