//! Detection of regions whose comparisons and ranges contradict each other.

use super::grouped_join::{Comparison, FieldId, GroupedJoin, LeafSource};
use crate::table::TensorColumn;

/// Returns whether comparisons and ranges of a region contradict each other, so that no codes
/// satisfy them. Comparisons with excluding leaves are ignored, and contradictions that need
/// several `<>` are not found.
///
/// Codes are integers, so each condition except `<>` bounds a difference: `a < b` is `a - b <= -1`,
/// and a range bounds the difference of a field and a node that stands for 0. The bounds contradict
/// each other exactly if the bounds along a cycle add up to less than 0 (Bellman). The closure of
/// Floyd and Warshall finds such a cycle. A comparison `a <> b` is violated if `a - b` and `b - a`
/// are both at most 0.
pub(super) fn is_contradiction(join: &GroupedJoin) -> bool {
    let (ranges, modes) = ranges(join);
    let zero = join.fields.len() + modes;
    let mut bounds: Vec<Vec<Option<i128>>> = vec![vec![None; zero + 1]; zero + 1];
    let mut bound = |a: usize, b: usize, max: i128| {
        bounds[a][b] = Some(bounds[a][b].map_or(max, |current| current.min(max)));
    };
    for (node, low, high) in ranges {
        bound(node, zero, i128::from(high) - 1);
        bound(zero, node, -i128::from(low));
    }
    for mask in join.masks.iter().filter(|mask| mask.excluding_leaf.is_none()) {
        match mask.comparison {
            Comparison::Lt => bound(mask.left, mask.right, -1),
            Comparison::Le => bound(mask.left, mask.right, 0),
            Comparison::Gt => bound(mask.right, mask.left, -1),
            Comparison::Ge => bound(mask.right, mask.left, 0),
            Comparison::Ne => {}
        }
    }
    for k in 0..=zero {
        for a in 0..=zero {
            for b in 0..=zero {
                if let (Some(x), Some(y)) = (bounds[a][k], bounds[k][b]) {
                    bounds[a][b] = Some(bounds[a][b].map_or(x + y, |current| current.min(x + y)));
                }
            }
        }
    }
    let at_most_0 = |a: FieldId, b: FieldId| bounds[a][b].is_some_and(|bound| bound <= 0);
    let equal = |a: FieldId, b: FieldId| at_most_0(a, b) && at_most_0(b, a);
    (0..=zero).any(|k| bounds[k][k].is_some_and(|bound| bound < 0))
        || join.masks.iter().any(|mask| {
            mask.excluding_leaf.is_none() && mask.comparison == Comparison::Ne && equal(mask.left, mask.right)
        })
}

/// Returns the ranges of tensors' modes, each with the node of its mode, and the number of modes
/// without a field. The node of a mode is the index of its field. The nodes of modes without a
/// field follow the nodes of all fields.
fn ranges(join: &GroupedJoin) -> (Vec<(usize, u64, u64)>, usize) {
    let (mut node_ranges, mut other_modes) = (Vec::new(), Vec::new());
    for (leaf, source) in join.leaves.iter().map(|leaf| &leaf.source).enumerate() {
        let LeafSource::Tensor { columns, ranges, .. } = source else { continue };
        for range in ranges {
            let mode = TensorColumn::Mode(range.mode);
            let field = join
                .fields
                .iter()
                .position(|field| field.columns.iter().flatten().any(|c| c.leaf == leaf && columns[c.column] == mode));
            let node = field.unwrap_or_else(|| {
                let index = other_modes.iter().position(|mode| *mode == (leaf, range.mode));
                join.fields.len()
                    + index.unwrap_or_else(|| {
                        other_modes.push((leaf, range.mode));
                        other_modes.len() - 1
                    })
            });
            node_ranges.push((node, range.low, range.high));
        }
    }
    (node_ranges, other_modes.len())
}
