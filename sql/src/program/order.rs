//! The order of fields in which leaves are stored, so that one order of loops walks them all.

use crate::claim::{FieldId, LeafId, Region};
use std::collections::BTreeSet;

/// Orders of more fields than this are not compared.
const MOST_COMPARED: usize = 6;

/// All fields, from the first group on, each after one that it shares a leaf with: what is folded last is innermost, and
/// a product of matrices is computed row by row. Where rows are joined with themselves, the first of the orders in which
/// their leaves become the fewest tensors: a tensor that is read twice is stored once, held once, and one whose rows and
/// columns are told apart, as those of a graph whose edges all lead to larger numbers, is not turned around.
pub(super) fn field_order(region: &Region, active: &[bool]) -> Vec<FieldId> {
    let first = first_order(region);
    let inputs: Vec<usize> = (0..region.leaves.len()).filter_map(|leaf| region.input(leaf)).collect();
    let distinct: BTreeSet<&usize> = inputs.iter().collect();
    if distinct.len() == inputs.len() || first.len() > MOST_COMPARED {
        return first;
    }
    let start = region.group_fields().first().copied();
    let mut best = (tensors(region, active, &first), first);
    each_order(region, start, &mut Vec::new(), &mut |order| {
        let count = tensors(region, active, order);
        if count < best.0 {
            best = (count, order.to_vec());
        }
    });
    best.1
}

/// The order in which fields are met from the first group, or the one of most leaves, on.
fn first_order(region: &Region) -> Vec<FieldId> {
    let leaves = |field: FieldId| leaves_of(region, field).len();
    let mut starts: Vec<FieldId> = (0..region.fields.len()).collect();
    starts.sort_by_key(|&f| std::cmp::Reverse(leaves(f)));
    let mut order = Vec::new();
    for start in region.group_fields().into_iter().take(1).chain(starts) {
        if order.contains(&start) {
            continue;
        }
        let mut next = order.len();
        order.push(start);
        while next < order.len() {
            for leaf in leaves_of(region, order[next]) {
                let mut own: Vec<FieldId> = region.fields_of(leaf).filter(|f| !order.contains(f)).collect();
                own.sort_by_key(|&f| std::cmp::Reverse(leaves(f)));
                order.extend(own);
            }
            next += 1;
        }
    }
    order
}

/// Shows all orders of fields that begin with some, or else with one, in which each field comes after one that it shares a
/// leaf with, as long as there is one.
fn each_order(region: &Region, start: Option<FieldId>, order: &mut Vec<FieldId>, show: &mut dyn FnMut(&[FieldId])) {
    let rest: Vec<FieldId> = (0..region.fields.len()).filter(|f| !order.contains(f)).collect();
    if rest.is_empty() {
        return show(order);
    }
    let met: BTreeSet<LeafId> = order.iter().flat_map(|&f| leaves_of(region, f)).collect();
    let next: Vec<FieldId> = match start.filter(|_| order.is_empty()) {
        Some(start) => vec![start],
        None => rest.iter().copied().filter(|&f| !met.is_disjoint(&leaves_of(region, f))).collect(),
    };
    for field in if next.is_empty() { rest } else { next } {
        order.push(field);
        each_order(region, start, order, show);
        order.pop();
    }
}

fn leaves_of(region: &Region, field: FieldId) -> BTreeSet<LeafId> {
    region.fields[field].columns.iter().flatten().map(|c| c.leaf).collect()
}

/// How many tensors the leaves with rows become, if their values are alike: those of the same columns in the same order are
/// one.
fn tensors(region: &Region, active: &[bool], order: &[FieldId]) -> usize {
    let stored = |leaf: LeafId| {
        let input = region.input(leaf)?;
        let own = order.iter().filter(|&&field| active[field]).filter_map(|&field| {
            let columns = region.fields[field].columns.iter().flatten().filter(|c| c.leaf == leaf);
            let columns: Vec<usize> =
                columns.filter_map(|&c| region.input_column(c)).map(|(_, column)| column).collect();
            Some(columns).filter(|columns| !columns.is_empty())
        });
        Some((input, own.collect::<Vec<_>>()))
    };
    (0..region.leaves.len()).filter_map(stored).collect::<BTreeSet<_>>().len()
}
