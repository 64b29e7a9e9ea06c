//! The text of a region in `EXPLAIN`.

use crate::claim::{
    Aggregate, Comparison, End, FieldId, GroupColumn, LeafColumn, Number, Outer, Region, Role, Source, Sum, Term,
};
use std::fmt::Write;

/// Returns the groups, aggregates, leaves with their fields, and conditions of a region as text.
pub fn show(region: &Region) -> String {
    let mut text = String::new();
    let aggregates = region.aggregates.iter().map(|a| aggregate(region, a));
    let groups = region.groups.iter().map(|g| group(region, *g));
    let _ = write!(text, "groups=[{}], aggregates=[{}]", list(groups), list(aggregates));
    let leaves = region.leaves.iter().enumerate().map(|(k, leaf)| {
        let kind = match (&leaf.source, leaf.role) {
            (Source::Tensor { .. }, Role::Joins) => "tensor ",
            (Source::Tensor { .. }, Role::Filters) => "exists tensor ",
            (Source::Input { .. }, Role::Joins) => "",
            (Source::Input { .. }, Role::Filters) => "exists ",
            (_, Role::Excludes) => "without ",
        };
        let outer = |o: &&Outer| o.padded == k || o.full && o.kept == k;
        let outer = if region.outers.iter().any(|o| outer(&o)) { "optional " } else { "" };
        format!("{outer}{kind}{}({})", leaf.name, list(region.fields_of(k).map(|f| field(region, f))))
    });
    let _ = write!(text, ", join=[{}]", list(leaves));
    if !region.masks.is_empty() {
        let masks = region.masks.iter().map(|mask| {
            let comparison = match mask.comparison {
                Comparison::Lt => "<",
                Comparison::Le => "<=",
                Comparison::Gt => ">",
                Comparison::Ge => ">=",
                Comparison::Ne => "<>",
            };
            format!("{} {comparison} {}", field(region, mask.left), field(region, mask.right))
        });
        let _ = write!(text, ", where=[{}]", list(masks));
    }
    if !region.conditions.is_empty() {
        let _ = write!(text, ", conditions=[{}]", list(region.conditions.iter().map(|c| c.name.clone())));
    }
    text
}

fn list(parts: impl Iterator<Item = String>) -> String {
    parts.collect::<Vec<_>>().join(", ")
}

fn field(region: &Region, field: FieldId) -> String {
    region.fields[field].name.clone()
}

/// Returns the name of a group column; `coalesce` of both keys if they are those of a full outer
/// join.
fn group(region: &Region, group: GroupColumn) -> String {
    let parts = region.fields[group.field].columns.iter().map(|columns| columns[group.part]);
    let name = |column: LeafColumn| region.column(column).name.clone();
    let is_key = |c: &LeafColumn| {
        let of = |outer: &Outer| {
            let is = |leaf: usize, column: usize| *c == LeafColumn { leaf, column };
            outer.full && outer.keys.iter().any(|(kept, own)| is(outer.kept, *kept) || is(outer.padded, *own))
        };
        region.outers.iter().any(of)
    };
    let keys: Vec<LeafColumn> = parts.clone().filter(is_key).collect();
    match keys.len() {
        0 | 1 => parts.take(1).map(name).collect(),
        _ => format!("coalesce({})", list(keys.into_iter().map(name))),
    }
}

fn columns(region: &Region, columns: &[LeafColumn]) -> String {
    list(columns.iter().map(|&c| region.column(c).name.clone()))
}

fn aggregate(region: &Region, aggregate: &Aggregate) -> String {
    match aggregate {
        Aggregate::Count(valid) if valid.is_empty() => "count(*)".to_string(),
        Aggregate::Count(valid) => format!("count({})", columns(region, valid)),
        Aggregate::Sum(s) => format!("sum({})", sum(region, s)),
        Aggregate::Average(s) => format!("avg({})", sum(region, s)),
        Aggregate::Extreme { end: End::Min, column, .. } => format!("min({})", region.column(*column).name),
        Aggregate::Extreme { end: End::Max, column, .. } => format!("max({})", region.column(*column).name),
        Aggregate::Fold { semiring, factors, .. } => {
            format!("{} of {}({})", semiring.plus().name(), semiring.times().name(), columns(region, factors))
        }
        Aggregate::CountDistinct { column, .. } => format!("count(distinct {})", region.column(*column).name),
        Aggregate::OverDistinct { column, mean, .. } => {
            let name = if *mean { "avg" } else { "sum" };
            format!("{name}(distinct {})", region.column(*column).name)
        }
    }
}

fn sum(region: &Region, sum: &Sum) -> String {
    let cases = sum.cases.iter().map(|case| match &case.guards[..] {
        [] => terms(region, &case.terms),
        guards => format!("{} where {}", terms(region, &case.terms), columns(region, guards)),
    });
    let unit = match sum.ty {
        Number::I64 | Number::Decimal(_) => "",
        Number::U64 => " in u64",
        Number::F64 => " in f64",
    };
    cases.collect::<Vec<_>>().join("; ") + unit
}

fn terms(region: &Region, terms: &[Term]) -> String {
    let mut text = String::new();
    for (k, term) in terms.iter().enumerate() {
        text.push_str(match (k, term.negative) {
            (0, false) => "",
            (0, true) => "-",
            (_, false) => " + ",
            (_, true) => " - ",
        });
        let factors = term.factors.iter().map(|&c| region.column(c).name.clone());
        text.push_str(&factors.collect::<Vec<_>>().join(" * "));
    }
    if text.is_empty() { "0".to_owned() } else { text }
}
