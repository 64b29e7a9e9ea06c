//! Conditions that are ranges of coordinates: scans and kernels read only the entries within the
//! ranges.

use super::{ModeRange, TensorColumn, TensorTable};
use datafusion::catalog::TableProvider;
use datafusion::common::ScalarValue;
use datafusion::logical_expr::{Between, BinaryExpr, Expr, Operator};
use std::ops::Range;

/// Returns the range of coordinates that passes a condition on a tensor's table; `None` if the
/// condition is not a comparison of a column of coordinates with integers, by `<`, `<=`, `>`, `>=`,
/// `=` or `BETWEEN`.
pub(crate) fn range_of(condition: &Expr, table: &TensorTable) -> Option<ModeRange> {
    let mode = |e: &Expr| match e {
        Expr::Column(column) => match table.column(table.schema().index_of(&column.name).ok()?) {
            TensorColumn::Mode(mode) => Some(mode),
            TensorColumn::Value => None,
        },
        _ => None,
    };
    let (mode, low, high) = match condition {
        Expr::BinaryExpr(BinaryExpr { left, op, right }) => {
            let (mode, op, bound) = match (mode(left), mode(right)) {
                (Some(mode), None) => (mode, *op, integer(right)?),
                (None, Some(mode)) => (mode, op.swap()?, integer(left)?),
                _ => return None,
            };
            match op {
                Operator::Lt => (mode, 0, bound),
                Operator::LtEq => (mode, 0, bound + 1),
                Operator::Gt => (mode, bound + 1, i128::MAX),
                Operator::GtEq => (mode, bound, i128::MAX),
                Operator::Eq => (mode, bound, bound + 1),
                _ => return None,
            }
        }
        Expr::Between(Between { expr, negated: false, low, high }) => (mode(expr)?, integer(low)?, integer(high)? + 1),
        _ => return None,
    };
    let size = i128::from(table.shape()[mode]);
    // Both bounds are clamped to the dimension, which fits 64 bits.
    let [low, high] = [low, high].map(|bound| bound.clamp(0, size) as u64);
    Some(ModeRange { mode, low, high: high.max(low) })
}

fn integer(e: &Expr) -> Option<i128> {
    match e {
        Expr::Literal(ScalarValue::Int64(Some(v)), _) => Some(i128::from(*v)),
        _ => None,
    }
}

/// Returns the coordinates of each mode that are within all ranges.
pub(crate) fn window(shape: &[u64], ranges: &[ModeRange]) -> Vec<Range<u64>> {
    let mut window: Vec<Range<u64>> = shape.iter().map(|&size| 0..size).collect();
    for range in ranges {
        let mode = &mut window[range.mode];
        mode.start = mode.start.max(range.low);
        mode.end = mode.end.min(range.high).max(mode.start);
    }
    window
}
