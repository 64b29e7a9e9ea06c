//! Plans in text, for the operators and the nodes of Logic.

use redpoll_logic::op::{Arity, Builtin, Op};
use redpoll_logic::{FloatMode, Prim};

/// Names and expressions for nodes other than joins and folds: coordinates, index maps, scans, and
/// nodes that reorder, rename or store.
const NODES: &[(&str, &str)] = &[
    ("coordinate", "(mapjoin ifelse (table A i j) (coordinate i) 0)"),
    ("window", "(index (window i 5 50) (table A i j))"),
    ("offset", "(index (offset i 1 0) (table A i j))"),
    ("reverse", "(index (reverse j) (table A i j))"),
    ("reorder", "(reorder (mapjoin + (table A i j) (table B i j)) j i)"),
    ("relabel", "(relabel (mapjoin + (table A i j) (table B i j)) k l)"),
    ("reformat", "(reformat coo (mapjoin + (table A i j) (table B i j)))"),
    ("refill", "(refill 1 (mapjoin exp (table A i j)))"),
    ("diagonal", "(aggregate + 0 (mapjoin ifelse (mapjoin eq (coordinate i) (coordinate j)) (table A i j) 0) i)"),
    ("scan of a product", "(mapjoin * (table A i j) (scan + (table A i j) j))"),
];

/// Returns the name and the text of each plan.
pub(crate) fn plans() -> Vec<(String, String)> {
    let named = NODES.iter().map(|(name, body)| ((*name).to_owned(), (*body).to_owned()));
    let operators = Builtin::ALL.iter().flat_map(|op| operator_bodies(*op));
    let plan = |(name, body): (String, String)| (name, format!("(plan (query y {body}) (produces y))"));
    named.chain(operators).map(plan).collect()
}

/// Returns named expressions with an operator: a join and, if the operator folds and has an
/// identity, folds over each mode and over both modes. Returns none for operators whose results are
/// pairs with coordinates.
fn operator_bodies(op: Builtin) -> Vec<(String, String)> {
    let name = op.name();
    let integers = matches!(
        op,
        Builtin::BitAnd | Builtin::BitOr | Builtin::BitXor | Builtin::BitNot | Builtin::Shl | Builtin::Shr
    );
    let (a, b) = if integers { ("(table I i j)", "(table I i j)") } else { ("(table A i j)", "(table B i j)") };
    let pair = |table: &str| format!("(mapjoin pair {table} (coordinate j))");
    let join = match (op, op.arity()) {
        (Builtin::Ldexp, _) => format!("(mapjoin ldexp {a} (table I i j))"),
        (Builtin::IfElse, _) => format!("(mapjoin ifelse {a} {a} {b})"),
        // Pairs with coordinates are dense.
        (Builtin::Pair | Builtin::MinBy | Builtin::MaxBy, _) => return Vec::new(),
        (Builtin::First | Builtin::Second, _) => format!("(mapjoin {name} {})", pair(a)),
        (_, Arity::Exact(1)) => format!("(mapjoin {name} {a})"),
        _ => format!("(mapjoin {name} {a} {b})"),
    };
    let mut bodies = vec![(name.to_owned(), join)];
    let prim = match op {
        Builtin::And | Builtin::Or | Builtin::Xor => Prim::Bool,
        _ if integers => Prim::I64,
        _ => Prim::F64,
    };
    let is_fold = !matches!(op.arity(), Arity::Exact(1 | 3)) && !matches!(op, Builtin::Second);
    if let Some(init) = Op::from(op).fold_identity(&prim.into(), FloatMode::Relaxed).filter(|_| is_fold) {
        for fields in ["i", "j", "i j"] {
            bodies.push((format!("fold {name} {fields}"), format!("(aggregate {name} {init} {a} {fields})")));
        }
    }
    bodies
}
