//! Alignment of operands: by name, or by position with broadcasting.

use super::error::Cause;
use super::state::{ArrayState, ModeStyle, is_position, position, positions};
use redpoll_logic::op::Op;
use redpoll_logic::{Affine, Expr, Field, IndexMap, Subscript};
use std::collections::HashMap;

/// Aligns arrays and applies an operator to their elements.
pub(crate) fn map(op: impl Into<Op>, states: &[ArrayState]) -> Result<ArrayState, Cause> {
    let (exprs, style) = align(states)?;
    let expr = Expr::mapjoin(op, exprs)?;
    let expr = match style {
        ModeStyle::Positional => order_positions(expr)?,
        ModeStyle::Named => expr,
    };
    Ok(ArrayState { expr, style, sources: ArrayState::sources(states) })
}

/// Reorders the fields of a positional expression in ascending order.
pub(crate) fn order_positions(expr: Expr) -> Result<Expr, Cause> {
    let fields = &expr.info().fields;
    if (0..).zip(fields).all(|(k, field)| is_position(field, k)) {
        return Ok(expr);
    }
    let ordered = positions(fields.len());
    Ok(expr.reorder(ordered)?)
}

/// Returns expressions of the arrays in which aligned modes have the same field, so that the
/// expressions join on this field. Numbered modes are aligned by [`broadcast`], named modes by
/// their names.
pub(crate) fn align(states: &[ArrayState]) -> Result<(Vec<Expr>, ModeStyle), Cause> {
    let with_modes = || states.iter().filter(|s| s.rank() > 0);
    let Some(named) = with_modes().find(|s| s.style == ModeStyle::Named) else {
        return Ok((broadcast(states)?, ModeStyle::Positional));
    };
    if let Some(numbered) = with_modes().find(|s| s.style == ModeStyle::Positional) {
        return Err(Cause::MixedStyles { names: named.expr.info().fields.clone(), shape: numbered.shape() });
    }
    let exprs: Vec<Expr> = states.iter().map(|s| s.expr.clone()).collect();
    check_sizes(&exprs, states)?;
    Ok((exprs, ModeStyle::Named))
}

/// Checks that modes of one name have equal sizes in all expressions. `states` has the operands
/// from which the expressions were made.
pub(crate) fn check_sizes(exprs: &[Expr], states: &[ArrayState]) -> Result<(), Cause> {
    for (k, expr) in exprs.iter().enumerate() {
        for (name, size) in expr.info().fields.iter().zip(&expr.info().dimensions) {
            let differs = |other: &Expr| other.info().dimension(name).is_some_and(|n| Some(n) != *size);
            if let Some(first) = exprs[..k].iter().position(differs) {
                let both = [first, k];
                let size_in = |k: usize| exprs[k].info().dimension(name).expect("sizes of arrays are constant");
                return Err(Cause::NamedSizes {
                    name: name.clone(),
                    operands: both.map(|k| k + 1),
                    shapes: both.map(|k| states[k].shape()),
                    sizes: both.map(size_in),
                });
            }
        }
    }
    Ok(())
}

/// Aligns positional arrays at their last modes. A mode of size 1 is read at coordinate 0 if it is
/// aligned with a mode of another size.
fn broadcast(states: &[ArrayState]) -> Result<Vec<Expr>, Cause> {
    let mut shapes = states.iter().map(|s| &s.expr.info().dimensions).filter(|shape| !shape.is_empty());
    let first = shapes.next();
    if shapes.all(|shape| Some(shape) == first) {
        return Ok(states.iter().map(|s| s.expr.clone()).collect());
    }
    let rank = states.iter().map(ArrayState::rank).max().unwrap_or(0);
    let labels: Vec<_> = states.iter().map(|s| (s, (rank - s.rank()..rank).map(position).collect())).collect();
    label_with_broadcast(&labels)
}

/// Labels the modes of arrays. A mode of size 1 is broadcast, that is, read at coordinate 0, if
/// another mode with its label has another size. The error reports a mode by its number from the
/// end, which is 1 for the last mode. Modes with one label must therefore have the same number from
/// the end, unless their sizes are known to be equal.
///
/// # Errors
/// Fails if modes of one label have different sizes other than 1.
pub(crate) fn label_with_broadcast(labels: &[(&ArrayState, Vec<Field>)]) -> Result<Vec<Expr>, Cause> {
    let mut common: HashMap<&Field, u64> = HashMap::new();
    for (state, fields) in labels {
        for (k, (field, size)) in fields.iter().zip(state.shape()).enumerate() {
            let common_size = common.entry(field).or_insert(1);
            if *common_size == 1 {
                *common_size = size;
            } else if size != 1 && size != *common_size {
                return Err(size_mismatch(labels, field, fields.len() - k));
            }
        }
    }
    let expr = |(state, fields): &(&ArrayState, Vec<Field>)| {
        let expr = state.label(fields)?;
        let broadcast_modes = fields.iter().zip(state.shape()).filter(|(f, n)| *n == 1 && common[f] != 1);
        let coordinates: Vec<_> =
            broadcast_modes.map(|(f, _)| (f.clone(), Subscript::Affine(Affine::constant(0)))).collect();
        if coordinates.is_empty() {
            return Ok(expr);
        }
        Ok(expr.index(IndexMap { coordinates, dimensions: Vec::new(), outside: None })?)
    };
    labels.iter().map(expr).collect()
}

/// Returns the error for modes of one label with different sizes. `mode` is the number of the mode,
/// counted from the end: 1 for the last mode.
fn size_mismatch(labels: &[(&ArrayState, Vec<Field>)], field: &Field, mode: usize) -> Cause {
    let size =
        |(state, fields): &(&ArrayState, Vec<Field>)| Some(state.shape()[fields.iter().position(|f| f == field)?]);
    let sizes = labels.iter().filter_map(size).collect();
    Cause::Broadcast { shapes: labels.iter().map(|(state, _)| state.shape()).collect(), mode, sizes }
}
