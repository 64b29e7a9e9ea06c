//! Alignment of operands: by name, or by position with broadcasting.

use super::error::Cause;
use super::state::{State, Style, position, positions};
use redpoll_logic::op::Op;
use redpoll_logic::{Affine, Expr, Field, IndexMap, Subscript};
use std::collections::HashMap;

/// Applies an operator elementwise to aligned arrays.
pub(crate) fn map(op: impl Into<Op>, states: &[State]) -> Result<State, Cause> {
    let (exprs, style) = aligned(states)?;
    let expr = Expr::mapjoin(op, exprs)?;
    let expr = match style {
        Style::Positional => in_order(expr)?,
        Style::Named => expr,
    };
    Ok(State { expr, style, sources: State::sources(states) })
}

/// Reorders the fields of a positional expression in ascending order.
pub(crate) fn in_order(expr: Expr) -> Result<Expr, Cause> {
    let fields = positions(expr.info().fields.len());
    Ok(if expr.info().fields == fields { expr } else { expr.reorder(fields)? })
}

/// Returns the expressions of the arrays, with fields labelled so that they join as the arrays
/// align.
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

/// Aligns positional arrays at their last modes. A mode of size 1 is read at 0 if another array has
/// a larger mode there.
fn broadcast(states: &[State]) -> Result<Vec<Expr>, Cause> {
    let rank = states.iter().map(State::rank).max().unwrap_or(0);
    let labelled: Vec<_> = states.iter().map(|s| (s, (rank - s.rank()..rank).map(position).collect())).collect();
    one_place_modes(&labelled)
}

/// Labels the modes of arrays. A mode of size 1 is read at 0, and so broadcast, if another mode of
/// its label is larger. Modes with the same label have the same distance from the last mode.
///
/// # Errors
/// Fails if modes of one label have different sizes other than 1.
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

/// Reports the sizes of the modes of a label, which is at mode `mode` counted from the end.
fn differing_sizes(labelled: &[(&State, Vec<Field>)], field: &Field, mode: usize) -> Cause {
    let size = |(state, fields): &(&State, Vec<Field>)| Some(state.shape()[fields.iter().position(|f| f == field)?]);
    let found = labelled.iter().filter_map(size).collect();
    Cause::Broadcast { shapes: labelled.iter().map(|(state, _)| state.shape()).collect(), mode, found }
}
