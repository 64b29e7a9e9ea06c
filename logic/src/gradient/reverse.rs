//! Reverse mode: cotangents from the root to the leaves.

use super::algebra::{broadcast_to, build, reduce_to, rename, row_names, sum};
use super::folds::{fold_weight, pull_scan};
use super::inline::expand;
use super::maps::{FreshFields, pull_index};
use super::rows::derivatives;
use super::{Ties, check_float, has_floats};
use crate::error::Error;
use crate::expr::{Expr, Node, topological_order};
use crate::field::Field;
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BTreeSet;

/// Returns the derivatives of a loss with respect to expressions that occur in `root`, in the order
/// of `wrt`. `seed` is the derivative of the loss with respect to each value of `root`; it may lack
/// fields of `root`. Each derivative has the fields of its expression; `None` for an expression
/// that does not occur or does not change the loss.
///
/// # Errors
/// Returns [`Error::NoDerivative`] in three cases: the values of an expression of `wrt` are not
/// floats; a node that depends on such an expression has no derivative; or any user-defined
/// operator in `root` has a loop or a struct. Also returns the errors of the constructors of
/// expressions.
pub fn pullback(root: &Expr, seed: &Expr, wrt: &[Expr], ties: Ties) -> Result<Vec<Option<Expr>>, Error> {
    wrt.iter().try_for_each(check_float)?;
    let is_leaf = |e: &Expr| wrt.contains(e);
    let root = expand(root, &is_leaf)?;
    let nodes = topological_order([&root], |e| !is_leaf(e));
    let mut pass = ReversePass { ties, fresh: FreshFields::new(fields_of(&nodes)), cotangents: FxHashMap::default() };
    let mut active: FxHashSet<usize> = FxHashSet::default();
    for e in &nodes {
        let depends = || e.node().args().iter().any(|arg| active.contains(&arg.address()));
        if has_floats(e) && (is_leaf(e) || depends()) {
            active.insert(e.address());
        }
    }
    pass.add(&root, seed.clone())?;
    let mut found: Vec<Vec<Expr>> = vec![Vec::new(); wrt.len()];
    for e in nodes.iter().rev().filter(|e| active.contains(&e.address())) {
        let Some(cotangent) = sum(pass.cotangents.remove(&e.address()).unwrap_or_default())? else { continue };
        match wrt.iter().position(|leaf| leaf == e) {
            Some(k) => found[k].push(cotangent),
            None => pass.pull(e, cotangent, &active)?,
        }
    }
    let gradient = |(terms, e): (Vec<Expr>, &Expr)| sum(terms)?.map(|total| broadcast_to(total, e.info())).transpose();
    found.into_iter().zip(wrt).map(gradient).collect()
}

struct ReversePass {
    ties: Ties,
    fresh: FreshFields,
    /// The terms of the cotangents of nodes, by the addresses of the nodes.
    cotangents: FxHashMap<usize, Vec<Expr>>,
}

impl ReversePass {
    /// Adds a term to the cotangent of a node.
    fn add(&mut self, e: &Expr, term: Expr) -> Result<(), Error> {
        self.cotangents.entry(e.address()).or_default().push(term.cast(&e.info().dtype)?);
        Ok(())
    }

    /// Adds the terms that the cotangent of a node contributes to the cotangents of the active
    /// arguments of the node.
    fn pull(&mut self, e: &Expr, cotangent: Expr, active: &FxHashSet<usize>) -> Result<(), Error> {
        let is_active = |arg: &Expr| active.contains(&arg.address());
        match e.node() {
            Node::Table { .. } | Node::Literal(_) | Node::Coordinate(_) => Ok(()),
            Node::MapJoin { op, args } => {
                for (k, arg) in args.iter().enumerate().filter(|(_, arg)| is_active(arg)) {
                    if let Some(text) = derivatives(op, self.ties)?(k) {
                        let term = build(text, &row_names(args, e, &cotangent))?;
                        self.add(arg, reduce_to(term, e, arg)?)?;
                    }
                }
                Ok(())
            }
            Node::Aggregate { arg, .. } => self.add(arg, fold_weight(e, &cotangent, self.ties)?),
            Node::Scan { arg, .. } => self.add(arg, pull_scan(e, cotangent)?),
            Node::Relabel { arg, fields } => {
                let old = &arg.info().fields;
                let old_name = |field: &Field| fields.iter().position(|f| f == field).map(|k| old[k].clone());
                self.add(arg, rename(cotangent, old_name)?)
            }
            Node::Index { arg, .. } => {
                let term = pull_index(e, cotangent, &mut self.fresh)?;
                self.add(arg, term)
            }
            Node::Reorder { arg, .. } | Node::Reformat { arg, .. } | Node::Refill { arg, .. } => {
                self.add(arg, cotangent)
            }
        }
    }
}

/// Returns the free fields of nodes.
fn fields_of(nodes: &[Expr]) -> BTreeSet<Field> {
    nodes.iter().flat_map(|e| e.info().fields.iter().cloned()).collect()
}
