//! The text of a region in `EXPLAIN`.

use crate::claim::{
    Aggregate, Comparison, Extremum, FieldId, GroupColumn, LeafColumn, LeafRole, LeafSource, OuterJoin, Region,
    SumOfProducts, SumTerm,
};
use crate::number::Number;
use std::fmt::Write;

/// Returns the groups, aggregates, leaves with their fields, and conditions of a region as text.
pub fn describe(region: &Region) -> String {
    let mut text = String::new();
    let aggregates = region.aggregates.iter().map(|a| aggregate(region, a));
    let groups = region.groups.iter().map(|g| group(region, *g));
    let _ = write!(text, "groups=[{}], aggregates=[{}]", list(groups), list(aggregates));
    let leaves = region.leaves.iter().enumerate().map(|(k, leaf)| {
        let kind = match (&leaf.source, leaf.role) {
            (LeafSource::Tensor { .. }, LeafRole::Join) => "tensor ",
            (LeafSource::Tensor { .. }, LeafRole::SemiJoin) => "semi tensor ",
            (LeafSource::Input { .. }, LeafRole::Join) => "",
            (LeafSource::Input { .. }, LeafRole::SemiJoin) => "semi ",
            (_, LeafRole::AntiJoin) => "anti ",
        };
        let outer = |o: &&OuterJoin| o.padded == k || o.full && o.kept == k;
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
        let of = |outer: &OuterJoin| {
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
        Aggregate::Extreme { extremum: Extremum::Min, column, .. } => format!("min({})", region.column(*column).name),
        Aggregate::Extreme { extremum: Extremum::Max, column, .. } => format!("max({})", region.column(*column).name),
        Aggregate::Fold { semiring, factors, .. } => {
            format!("{} of {}({})", semiring.plus().name(), semiring.times().name(), columns(region, factors))
        }
        Aggregate::CountDistinct { column, .. } => format!("count(distinct {})", region.column(*column).name),
        Aggregate::SumDistinct { column, mean, .. } => {
            let name = if *mean { "avg" } else { "sum" };
            format!("{name}(distinct {})", region.column(*column).name)
        }
    }
}

fn sum(region: &Region, sum: &SumOfProducts) -> String {
    let cases = sum.cases.iter().map(|case| match &case.guards[..] {
        [] => terms(region, &case.terms),
        guards => format!("{} where {}", terms(region, &case.terms), columns(region, guards)),
    });
    let suffix = match sum.ty {
        Number::I64 | Number::Decimal(_) => "",
        Number::U64 => " as u64",
        Number::F64 => " as f64",
    };
    cases.collect::<Vec<_>>().join("; ") + suffix
}

fn terms(region: &Region, terms: &[SumTerm]) -> String {
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
