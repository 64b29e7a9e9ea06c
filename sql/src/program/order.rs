//! The order of fields in which leaves are stored, so that one order of loops walks them all.

use crate::claim::{FieldId, Region};

/// All fields, from the first group on, each after one that it shares a leaf with: what is folded last is innermost, and
/// a product of matrices is computed row by row.
pub(super) fn field_order(region: &Region) -> Vec<FieldId> {
    let leaves_of = |field: FieldId| {
        let mut leaves: Vec<usize> = region.fields[field].columns.iter().flatten().map(|c| c.leaf).collect();
        leaves.sort_unstable();
        leaves.dedup();
        leaves
    };
    let mut starts: Vec<FieldId> = (0..region.fields.len()).collect();
    starts.sort_by_key(|&f| std::cmp::Reverse(leaves_of(f).len()));
    let mut order = Vec::new();
    for start in region.group_fields().into_iter().take(1).chain(starts) {
        if order.contains(&start) {
            continue;
        }
        let mut next = order.len();
        order.push(start);
        while next < order.len() {
            for leaf in leaves_of(order[next]) {
                let mut own: Vec<FieldId> = region.fields_of(leaf).filter(|f| !order.contains(f)).collect();
                own.sort_by_key(|&f| std::cmp::Reverse(leaves_of(f).len()));
                order.extend(own);
            }
            next += 1;
        }
    }
    order
}
