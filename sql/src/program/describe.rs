//! The text of a region in `EXPLAIN`.

use crate::claim::{
    Combinations, Comparison, FieldId, GroupColumn, GroupedJoin, Leaf, LeafColumn, LeafRole, LeafSource, OuterJoin,
    Region,
};
use std::fmt::Write;

/// Describes a region as text: its groups, its aggregates, its leaves with their fields, the
/// comparisons of its fields, its conditions, and its computed leaves.
pub fn describe(region: &Region) -> String {
    let Region { join, aggregates } = region;
    let mut text = String::new();
    let aggregates = aggregates.iter().map(|aggregate| aggregate.as_dyn().describe(join));
    let groups = join.groups.iter().map(|g| group(join, *g));
    let _ = write!(text, "groups=[{}], aggregates=[{}]", list(groups), list(aggregates));
    let leaves = join.leaves.iter().enumerate().filter(|(_, leaf)| combinations(leaf).is_none());
    let leaves = leaves.map(|(k, leaf)| {
        let kind = match (&leaf.source, leaf.role) {
            (LeafSource::Tensor { .. }, LeafRole::Join) => "tensor ",
            (LeafSource::Tensor { .. }, LeafRole::SemiJoin) => "semi tensor ",
            (_, LeafRole::Join) => "",
            (_, LeafRole::SemiJoin) => "semi ",
            (_, LeafRole::AntiJoin) => "anti ",
        };
        let outer = |o: &&OuterJoin| o.padded == k || o.full && o.kept == k;
        let outer = if join.outers.iter().any(|o| outer(&o)) { "optional " } else { "" };
        format!("{outer}{kind}{}({})", leaf.name, list(join.fields_of(k).map(|f| field(join, f))))
    });
    let _ = write!(text, ", join=[{}]", list(leaves));
    if !join.masks.is_empty() {
        let masks = join.masks.iter().map(|mask| {
            let comparison = match mask.comparison {
                Comparison::Lt => "<",
                Comparison::Le => "<=",
                Comparison::Gt => ">",
                Comparison::Ge => ">=",
                Comparison::Ne => "<>",
            };
            format!("{} {comparison} {}", field(join, mask.left), field(join, mask.right))
        });
        let _ = write!(text, ", where=[{}]", list(masks));
    }
    for (title, has_condition) in [("conditions", true), ("computed", false)] {
        let is_listed = |leaf: &&Leaf| combinations(leaf).is_some_and(|c| c.condition.is_some() == has_condition);
        let names: Vec<String> = join.leaves.iter().filter(is_listed).map(|leaf| leaf.name.clone()).collect();
        if !names.is_empty() {
            let _ = write!(text, ", {title}=[{}]", names.join(", "));
        }
    }
    text
}

/// Returns the combinations of a computed leaf; `None` for other leaves.
fn combinations(leaf: &Leaf) -> Option<&Combinations> {
    match &leaf.source {
        LeafSource::Computed(combinations) => Some(combinations),
        LeafSource::Input { .. } | LeafSource::Tensor { .. } => None,
    }
}

fn list(parts: impl Iterator<Item = String>) -> String {
    parts.collect::<Vec<_>>().join(", ")
}

fn field(join: &GroupedJoin, field: FieldId) -> String {
    join.fields[field].name.clone()
}

/// Returns the name of a group column; for the keys of a full outer join, the `coalesce` of both
/// keys.
fn group(join: &GroupedJoin, group: GroupColumn) -> String {
    let parts = join.fields[group.field].columns.iter().map(|columns| columns[group.part]);
    let name = |column: LeafColumn| join.column(column).name.clone();
    let is_key = |c: &LeafColumn| {
        let of = |outer: &OuterJoin| {
            let is = |leaf: usize, column: usize| *c == LeafColumn { leaf, column };
            outer.full && outer.keys.iter().any(|(kept, own)| is(outer.kept, *kept) || is(outer.padded, *own))
        };
        join.outers.iter().any(of)
    };
    let keys: Vec<LeafColumn> = parts.clone().filter(is_key).collect();
    match keys.len() {
        0 | 1 => parts.take(1).map(name).collect(),
        _ => format!("coalesce({})", list(keys.into_iter().map(name))),
    }
}
