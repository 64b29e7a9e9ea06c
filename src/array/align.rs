//! Alignment of operands: by name, or by position with broadcasting.

use super::error::Cause;
use super::state::{State, Style, position, positions};
use redpoll_logic::op::Op;
use redpoll_logic::{Affine, Expr, Field, IndexMap, Subscript};
use std::collections::HashMap;

/// Applies an operator at every place of aligned arrays.
pub(crate) fn map(op: impl Into<Op>, states: &[State]) -> Result<State, Cause> {
    let (exprs, style) = aligned(states)?;
    let expr = Expr::mapjoin(op, exprs)?;
    let expr = match style {
        Style::Positional => in_order(expr)?,
        Style::Named => expr,
    };
    Ok(State { expr, style, sources: State::sources(states) })
}

/// The fields of a positional expression in ascending order.
pub(crate) fn in_order(expr: Expr) -> Result<Expr, Cause> {
    let fields = positions(expr.info().fields.len());
    Ok(if expr.info().fields == fields { expr } else { expr.reorder(fields)? })
}

/// The expressions of arrays with fields that join as the arrays align.
pub(crate) fn aligned(states: &[State]) -> Result<(Vec<Expr>, Style), Cause> {
    let with_modes = || states.iter().filter(|s| s.rank() > 0);
    let Some(named) = with_modes().find(|s| s.style == Style::Named) else {
        return Ok((broadcast(states)?, Style::Positional));
    };
    if let Some(numbered) = with_modes().find(|s| s.style == Style::Positional) {
        return Err(Cause::Styles { names: named.expr.info().fields.clone(), shape: numbered.shape() });
    }
    Ok((states.iter().map(|s| s.expr.clone()).collect(), Style::Named))
}

/// Positional arrays aligned at their last modes. A mode of size 1 that meets others is read at 0.
fn broadcast(states: &[State]) -> Result<Vec<Expr>, Cause> {
    let rank = states.iter().map(State::rank).max().unwrap_or(0);
    let labelled: Vec<_> = states.iter().map(|s| (s, (rank - s.rank()..rank).map(position).collect())).collect();
    one_place_modes(&labelled)
}

/// The expressions of arrays with their modes labelled, those of one label equally far from the last. A mode of size 1
/// whose label is that of a larger mode is read at 0, so that it joins every place.
///
/// # Errors
/// When modes of one label have different sizes, ones aside.
pub(crate) fn one_place_modes(labelled: &[(&State, Vec<Field>)]) -> Result<Vec<Expr>, Cause> {
    let mut common: HashMap<&Field, u64> = HashMap::new();
    for (state, fields) in labelled {
        for (k, (field, size)) in fields.iter().zip(state.shape()).enumerate() {
            let met = common.entry(field).or_insert(1);
            if *met == 1 {
                *met = size;
            } else if size != 1 && size != *met {
                return Err(differing_sizes(labelled, field, fields.len() - k));
            }
        }
    }
    let expr = |(state, fields): &(&State, Vec<Field>)| {
        let expr = state.labelled(fields)?;
        let repeated = fields.iter().zip(state.shape()).filter(|(f, n)| *n == 1 && common[f] != 1);
        let coordinates: Vec<_> = repeated.map(|(f, _)| (f.clone(), Subscript::Affine(Affine::constant(0)))).collect();
        if coordinates.is_empty() {
            return Ok(expr);
        }
        Ok(expr.index(IndexMap { coordinates, dimensions: Vec::new(), outside: None })?)
    };
    labelled.iter().map(expr).collect()
}

/// The sizes that the modes of a label have, which is that far from the last.
fn differing_sizes(labelled: &[(&State, Vec<Field>)], field: &Field, mode: usize) -> Cause {
    let size = |(state, fields): &(&State, Vec<Field>)| Some(state.shape()[fields.iter().position(|f| f == field)?]);
    let found = labelled.iter().filter_map(size).collect();
    Cause::Broadcast { shapes: labelled.iter().map(|(state, _)| state.shape()).collect(), mode, found }
}
