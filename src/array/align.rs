//! Alignment of operands: by name, or by position with broadcasting.

use super::error::Cause;
use super::state::{State, Style, position, positions};
use redpoll_logic::op::Op;
use redpoll_logic::{Affine, Expr, Field, IndexMap, Subscript};

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
    let shapes: Vec<Vec<u64>> = states.iter().map(State::shape).collect();
    let rank = shapes.iter().map(Vec::len).max().unwrap_or(0);
    let mut common = vec![1; rank];
    for (k, size) in common.iter_mut().enumerate() {
        let sizes = || shapes.iter().filter_map(|s| (k + s.len()).checked_sub(rank).map(|at| s[at]));
        *size = sizes().find(|n| *n != 1).unwrap_or(1);
        if sizes().any(|n| n != 1 && n != *size) {
            let (mode, found) = (rank - k, sizes().collect());
            return Err(Cause::Broadcast { shapes, mode, found });
        }
    }
    let fields: Vec<Vec<Field>> = shapes.iter().map(|s| (rank - s.len()..rank).map(position).collect()).collect();
    one_place_modes(states.iter().zip(&fields))
}

/// The expressions of arrays with their modes labelled. A mode of size 1 whose label is that of a larger mode is read at
/// 0, so that it joins every place.
pub(crate) fn one_place_modes<'s>(
    labelled: impl IntoIterator<Item = (&'s State, &'s Vec<Field>), IntoIter: Clone>,
) -> Result<Vec<Expr>, Cause> {
    let labelled = labelled.into_iter();
    let size = |field: &Field| {
        let sizes = labelled.clone().filter_map(|(state, fields)| {
            let at = fields.iter().position(|f| f == field)?;
            Some(state.shape()[at])
        });
        sizes.into_iter().find(|n| *n != 1).unwrap_or(1)
    };
    let expr = |(state, fields): (&State, &Vec<Field>)| {
        let expr = state.labelled(fields)?;
        let repeated = fields.iter().zip(state.shape()).filter(|(f, n)| *n == 1 && size(f) != 1);
        let coordinates: Vec<_> = repeated.map(|(f, _)| (f.clone(), Subscript::Affine(Affine::constant(0)))).collect();
        if coordinates.is_empty() {
            return Ok(expr);
        }
        Ok(expr.index(IndexMap { coordinates, dimensions: Vec::new(), outside: None })?)
    };
    labelled.clone().map(expr).collect()
}
