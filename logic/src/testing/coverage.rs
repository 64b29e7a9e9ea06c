//! Coverage counters of random cases.

use super::RandomCase;
use crate::dtype::{DType, Prim};
use crate::expr::{Expr, Node};
use crate::op::Builtin;
use crate::scalar::Scalar;
use std::collections::BTreeMap;
use std::fmt;

/// The number of occurrences of each construct: operators, folds, dtypes, node kinds, sizes of
/// joins, kinds of index maps, classes of fill values, and properties of whole cases. Names are
/// `dtype f64`, `op +`, `fold min`, `node mapjoin`, `fill inf`, `case two aggregates` and so on; a
/// `case` name counts once for each case. Tests of the engine add other names, such as the names of
/// levels and protocols.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Coverage {
    counts: BTreeMap<String, u64>,
}

/// Names that every sufficiently long run covers, besides the operators and dtypes.
const EXPECTED_NAMES: &[&str] = &[
    "case two aggregates",
    "case nested aggregates",
    "case two queries",
    "case two outputs",
    "case repeated field",
    "case repeated expression",
    "case dimension 0",
    "case dimension 1",
    "fill zero",
    "fill one",
    "fill inf",
    "fill other",
    "join of 2",
    "join of 3",
    "join of 4",
    "map affine",
    "map blocks",
    "map outside",
    "fold beside a window",
    "scan beside a coordinate",
    "node aggregate",
    "node coordinate",
    "node index",
    "node literal",
    "node mapjoin",
    "node reformat",
    "node relabel",
    "node reorder",
    "node scan",
    "node table",
];

impl Coverage {
    /// Increments the counter of a name.
    pub fn increment(&mut self, name: impl Into<String>) {
        *self.counts.entry(name.into()).or_default() += 1;
    }

    /// Returns the counter of a name.
    pub fn count(&self, name: &str) -> u64 {
        self.counts.get(name).copied().unwrap_or(0)
    }

    /// Counts all names that occur in a case.
    pub fn add(&mut self, case: &RandomCase) {
        let mut shape = CaseShape::default();
        for query in &case.plan.queries {
            self.expr(&query.expr, 0, &mut shape);
        }
        let outputs = case.plan.produces.len();
        for (occurs, name) in [
            (shape.aggregates > 1, "case two aggregates"),
            (shape.nested, "case nested aggregates"),
            (case.plan.queries.len() > 1, "case two queries"),
            (outputs > 1, "case two outputs"),
            (shape.repeated_field, "case repeated field"),
            (shape.repeated_expr, "case repeated expression"),
            (shape.sizes.contains(&0), "case dimension 0"),
            (shape.sizes.contains(&1), "case dimension 1"),
        ] {
            if occurs {
                self.increment(name);
            }
        }
    }

    /// Returns the names that every sufficiently long run covers, including all built-in operators
    /// and dtypes.
    pub fn expected() -> Vec<String> {
        let ops = Builtin::ALL.iter().map(|b| format!("op {}", b.name()));
        let dtypes = Prim::ALL.iter().map(|p| format!("dtype {p}"));
        ops.chain(dtypes).chain(EXPECTED_NAMES.iter().map(ToString::to_string)).collect()
    }

    /// Lists those of the given names that were counted fewer than `at_least` times, with their
    /// counters.
    pub fn missing(&self, names: &[String], at_least: u64) -> Vec<String> {
        names.iter().filter(|n| self.count(n) < at_least).map(|n| format!("{n}: {}", self.count(n))).collect()
    }

    fn expr(&mut self, expr: &Expr, aggregates: usize, shape: &mut CaseShape) {
        let inside = aggregates + usize::from(matches!(expr.node(), Node::Aggregate { .. }));
        shape.sizes.extend(expr.info().dimensions.iter().flatten());
        if matches!(expr.node(), Node::Aggregate { .. } | Node::MapJoin { .. }) {
            shape.repeated_expr |= shape.joins_and_folds.contains(expr);
            shape.joins_and_folds.push(expr.clone());
        }
        if let DType::Prim(p) = &expr.info().dtype {
            self.increment(format!("dtype {p}"));
        }
        let name = match expr.node() {
            Node::Table { fields, ty, .. } => {
                self.increment(format!("fill {}", fill_class(&ty.fill)));
                shape.repeated_field |= (1..fields.len()).any(|k| fields[..k].contains(&fields[k]));
                "table"
            }
            Node::Literal(_) => "literal",
            Node::Coordinate(_) => "coordinate",
            Node::MapJoin { op, args } => {
                self.increment(format!("op {op}"));
                self.increment(format!("join of {}", args.len()));
                let is = |arg: &Expr, of: fn(&Node) -> bool| of(arg.node());
                let scan = args.iter().any(|a| is(a, |n| matches!(n, Node::Scan { .. })));
                if scan && args.iter().any(|a| is(a, |n| matches!(n, Node::Coordinate(_)))) {
                    self.increment("scan beside a coordinate");
                }
                let operand = |arg: &Expr| match arg.node() {
                    Node::Aggregate { arg, .. } => Some(arg.clone()),
                    _ => None,
                };
                let operands: Vec<Expr> = args.iter().filter_map(operand).collect();
                let is_window = |e: &Expr| matches!(e.node(), Node::Index { arg, .. } if operands.contains(arg));
                if operands.iter().any(is_window) {
                    self.increment("fold beside a window");
                }
                "mapjoin"
            }
            Node::Aggregate { op, .. } => {
                self.increment(format!("op {op}"));
                self.increment(format!("fold {op}"));
                shape.aggregates += 1;
                shape.nested |= inside > 1;
                "aggregate"
            }
            Node::Scan { op, .. } => {
                self.increment(format!("op {op}"));
                "scan"
            }
            Node::Reorder { .. } => "reorder",
            Node::Relabel { .. } => "relabel",
            Node::Index { map, .. } => {
                let blocks = map.coordinates.iter().any(|(_, s)| !matches!(s, crate::affine::Subscript::Affine(_)));
                self.increment(if blocks { "map blocks" } else { "map affine" });
                if map.outside.is_some() {
                    self.increment("map outside");
                }
                "index"
            }
            Node::Reformat { .. } => "reformat",
            Node::Refill { .. } => "refill",
        };
        self.increment(format!("node {name}"));
        expr.node().args().iter().for_each(|arg| self.expr(arg, inside, shape));
    }
}

#[derive(Default)]
struct CaseShape {
    aggregates: usize,
    nested: bool,
    /// Whether a tensor is read with one field for several modes.
    repeated_field: bool,
    /// Whether a join or fold occurs twice.
    repeated_expr: bool,
    joins_and_folds: Vec<Expr>,
    sizes: Vec<u64>,
}

fn fill_class(fill: &Scalar) -> &'static str {
    match fill.to_f64() {
        Some(0.0) => "zero",
        Some(1.0) => "one",
        Some(x) if x.is_infinite() => "inf",
        Some(x) if x.is_nan() => "nan",
        _ => "other",
    }
}

impl fmt::Display for Coverage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.counts.iter().try_for_each(|(name, n)| writeln!(f, "{n:8} {name}"))
    }
}
