//! The storage order of fields, chosen so that one loop order is concordant with all leaves.

use crate::claim::{FieldId, GroupedJoin, LeafId};
use std::collections::BTreeSet;

/// The largest number of fields for which all orders are compared.
const MAX_COMPARED_FIELDS: usize = 6;

/// Returns an order of all fields. The order begins with the first group field, if there is a
/// group. Each later field shares a leaf with an earlier field, if possible. So a product of
/// matrices is computed row by row.
///
/// If leaves share an input, and there are at most [`MAX_COMPARED_FIELDS`] fields, all such orders
/// are compared, and one in which the leaves become the fewest tensors is returned. A tensor that
/// is read twice is then stored once where possible, and no transposed copy of the tensor is
/// needed.
pub(super) fn field_order(join: &GroupedJoin, active: &[bool]) -> Vec<FieldId> {
    let first = first_order(join);
    let inputs: Vec<usize> = (0..join.leaves.len()).filter_map(|leaf| join.input(leaf)).collect();
    let distinct: BTreeSet<&usize> = inputs.iter().collect();
    if distinct.len() == inputs.len() || first.len() > MAX_COMPARED_FIELDS {
        return first;
    }
    let start = join.group_fields().first().copied();
    let mut best = (count_tensors(join, active, &first), first);
    each_order(join, start, &mut Vec::new(), &mut |order| {
        let count = count_tensors(join, active, order);
        if count < best.0 {
            best = (count, order.to_vec());
        }
    });
    best.1
}

/// Returns the fields in breadth-first order from the first group field, or, if there is no group,
/// from the field that the most leaves have.
fn first_order(join: &GroupedJoin) -> Vec<FieldId> {
    let leaves = |field: FieldId| leaves_of(join, field).len();
    let mut starts: Vec<FieldId> = (0..join.fields.len()).collect();
    starts.sort_by_key(|&f| std::cmp::Reverse(leaves(f)));
    let mut order = Vec::new();
    for start in join.group_fields().into_iter().take(1).chain(starts) {
        if order.contains(&start) {
            continue;
        }
        let mut next = order.len();
        order.push(start);
        while next < order.len() {
            for leaf in leaves_of(join, order[next]) {
                let mut new_fields: Vec<FieldId> = join.fields_of(leaf).filter(|f| !order.contains(f)).collect();
                new_fields.sort_by_key(|&f| std::cmp::Reverse(leaves(f)));
                order.extend(new_fields);
            }
            next += 1;
        }
    }
    order
}

/// Calls `visit` with each order of all fields that extends `order`. If `order` is empty, each
/// order begins with `start`, if `start` is given. Each later field shares a leaf with an earlier
/// field, if possible.
fn each_order(join: &GroupedJoin, start: Option<FieldId>, order: &mut Vec<FieldId>, visit: &mut dyn FnMut(&[FieldId])) {
    let rest: Vec<FieldId> = (0..join.fields.len()).filter(|f| !order.contains(f)).collect();
    if rest.is_empty() {
        return visit(order);
    }
    let reached: BTreeSet<LeafId> = order.iter().flat_map(|&f| leaves_of(join, f)).collect();
    let next: Vec<FieldId> = match start.filter(|_| order.is_empty()) {
        Some(start) => vec![start],
        None => rest.iter().copied().filter(|&f| !reached.is_disjoint(&leaves_of(join, f))).collect(),
    };
    for field in if next.is_empty() { rest } else { next } {
        order.push(field);
        each_order(join, start, order, visit);
        order.pop();
    }
}

fn leaves_of(join: &GroupedJoin, field: FieldId) -> BTreeSet<LeafId> {
    join.fields[field].columns.iter().flatten().map(|c| c.leaf).collect()
}

/// Returns the number of distinct tensors that leaves with inputs become, if all these tensors have
/// the same kind of values. Leaves with the same columns of one input, in the same order, share a
/// tensor.
fn count_tensors(join: &GroupedJoin, active: &[bool], order: &[FieldId]) -> usize {
    let tensor_key = |leaf: LeafId| {
        let input = join.input(leaf)?;
        let fields = order.iter().filter(|&&field| active[field]).filter_map(|&field| {
            let columns = join.fields[field].columns.iter().flatten().filter(|c| c.leaf == leaf);
            let columns: Vec<usize> = columns.filter_map(|&c| join.input_column(c)).map(|(_, column)| column).collect();
            Some(columns).filter(|columns| !columns.is_empty())
        });
        Some((input, fields.collect::<Vec<_>>()))
    };
    (0..join.leaves.len()).filter_map(tensor_key).collect::<BTreeSet<_>>().len()
}
