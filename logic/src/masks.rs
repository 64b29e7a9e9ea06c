//! Detection of masks that no coordinates satisfy, such as `i < j and j < i`.
//!
//! A mask compares a coordinate plus a constant with another coordinate or with a number, by any
//! comparison except `ne`. The masks under one `and` are upper bounds of differences: between two
//! coordinates, or between a coordinate and 0. The masks contradict each other exactly if the graph
//! of these bounds has a cycle of negative length (C. E. Leiserson, J. B. Saxe, *A mixed-integer
//! linear programming problem which is efficiently solvable*, 1988). Sizes are ignored: a mask that
//! no coordinates satisfy only because of the sizes of the data at hand is no contradiction.

use crate::error::Error;
use crate::expr::{Expr, Node};
use crate::field::Field;
use crate::op::{Builtin, Op};
use crate::plan::Plan;
use std::collections::HashSet;

/// Checks that the masks under each `and` of a plan do not contradict each other.
///
/// # Errors
/// Returns the query and all masks of the first `and` whose masks contradict each other.
pub fn check_masks(plan: &Plan) -> Result<(), Error> {
    let mut visited = HashSet::new();
    for query in &plan.queries {
        if let Some(masks) = find_contradiction(&query.expr, &mut visited) {
            let masks: Vec<String> = masks.iter().map(ToString::to_string).collect();
            let problem = match &masks[..] {
                [mask] => format!("no coordinates satisfy {mask}; remove this mask"),
                _ => format!("no coordinates satisfy {} together; remove one of these masks", masks.join(" and ")),
            };
            return Err(Error::Plan { location: format!("query `{}`", query.alias), problem });
        }
    }
    Ok(())
}

/// Returns the masks of the first `and` whose masks contradict each other.
fn find_contradiction<'a>(expr: &'a Expr, visited: &mut HashSet<usize>) -> Option<Vec<&'a Expr>> {
    if !visited.insert(expr.address()) {
        return None;
    }
    if is_and(expr) {
        let mut masks = Vec::new();
        collect_masks(expr, &mut masks);
        let bounds: Vec<DifferenceBound> = masks.iter().flat_map(|(_, bounds)| bounds.iter().cloned()).collect();
        if are_contradictory(&bounds) {
            return Some(masks.into_iter().map(|(mask, _)| mask).collect());
        }
    }
    expr.node().args().iter().find_map(|arg| find_contradiction(arg, visited))
}

fn is_and(expr: &Expr) -> bool {
    matches!(expr.node(), Node::MapJoin { op: Op::Builtin(Builtin::And), .. })
}

/// The bound `a - b <= c` on coordinates; `None` stands for the number 0.
#[derive(Clone)]
struct DifferenceBound {
    a: Option<Field>,
    b: Option<Field>,
    c: i64,
}

/// Collects the masks among the arguments of an `and`, nested `and`s included, with the bounds of
/// each mask.
fn collect_masks<'a>(expr: &'a Expr, masks: &mut Vec<(&'a Expr, Vec<DifferenceBound>)>) {
    for arg in expr.node().args() {
        match difference_bounds(arg) {
            Some(bounds) => masks.push((arg, bounds)),
            None if is_and(arg) => collect_masks(arg, masks),
            None => {}
        }
    }
}

fn difference_bounds(mask: &Expr) -> Option<Vec<DifferenceBound>> {
    let Node::MapJoin { op: Op::Builtin(op), args } = mask.node() else { return None };
    let [left, right] = &args[..] else { return None };
    // Upper bounds of `left - right` and of `right - left`.
    let (at_most, at_least) = match op {
        Builtin::Lt => (Some(-1), None),
        Builtin::Le => (Some(0), None),
        Builtin::Gt => (None, Some(-1)),
        Builtin::Ge => (None, Some(0)),
        Builtin::Eq => (Some(0), Some(0)),
        _ => return None,
    };
    let ((left, l), (right, r)) = (match_linear(left)?, match_linear(right)?);
    if left.is_none() && right.is_none() {
        return None;
    }
    let upper = at_most.map(|c: i64| {
        Some(DifferenceBound { a: left.clone(), b: right.clone(), c: c.checked_add(r.checked_sub(l)?)? })
    });
    let lower = at_least.map(|c: i64| {
        Some(DifferenceBound { a: right.clone(), b: left.clone(), c: c.checked_add(l.checked_sub(r)?)? })
    });
    upper.into_iter().chain(lower).collect()
}

/// Matches a coordinate plus a number, or a number alone.
fn match_linear(expr: &Expr) -> Option<(Option<Field>, i64)> {
    match expr.node() {
        Node::Coordinate(field) => Some((Some(field.clone()), 0)),
        Node::Literal(value) => Some((None, i64::try_from(value.to_i128()?).ok()?)),
        Node::MapJoin { op: Op::Builtin(op @ (Builtin::Add | Builtin::Sub)), args } => {
            let [a, b] = &args[..] else { return None };
            let ((a, x), (b, y)) = (match_linear(a)?, match_linear(b)?);
            match (op, a, b) {
                (Builtin::Add, a, None) => Some((a, x.checked_add(y)?)),
                (Builtin::Add, None, b) => Some((b, x.checked_add(y)?)),
                (Builtin::Sub, a, None) => Some((a, x.checked_sub(y)?)),
                _ => None,
            }
        }
        _ => None,
    }
}

/// Returns whether no coordinates satisfy all bounds, by Bellman-Ford from a virtual source.
fn are_contradictory(bounds: &[DifferenceBound]) -> bool {
    let mut vertices: Vec<&Option<Field>> = bounds.iter().flat_map(|bound| [&bound.a, &bound.b]).collect();
    vertices.sort();
    vertices.dedup();
    let number = |v: &Option<Field>| vertices.binary_search(&v).expect("every vertex is listed");
    let mut edges: Vec<(usize, usize, i128)> =
        bounds.iter().map(|bound| (number(&bound.b), number(&bound.a), i128::from(bound.c))).collect();
    // Coordinates are not negative: `0 - i <= 0`.
    if let Ok(zero) = vertices.binary_search(&&None) {
        edges.extend((0..vertices.len()).filter(|v| *v != zero).map(|v| (v, zero, 0)));
    }
    let mut distance = vec![0i128; vertices.len()];
    for _ in 0..=vertices.len() {
        let mut changed = false;
        for (from, to, length) in &edges {
            if distance[*from] + length < distance[*to] {
                (distance[*to], changed) = (distance[*from] + length, true);
            }
        }
        if !changed {
            return false;
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dtype::DType;
    use crate::format::{Format, TensorType};
    use crate::scalar::Scalar;
    use crate::text::{Catalog, parse};

    /// Asserts that contradictory masks are rejected, and satisfiable masks are accepted.
    #[test]
    fn contradictory_masks_are_rejected() {
        let fill = Scalar::Bool(false);
        let ty = TensorType { shape: vec![7, 7], dtype: DType::BOOL, fill, format: Format::dense(2) };
        let catalog: Catalog = [("A", ty)].into_iter().collect();
        let cases = [
            ("(lt (coordinate i) (coordinate j)) (lt (coordinate j) (coordinate i))", true),
            ("(le (coordinate i) (coordinate j)) (le (coordinate j) (coordinate i))", false),
            ("(lt (coordinate i) (coordinate j)) (eq (coordinate j) (coordinate i))", true),
            ("(lt (coordinate i) 3) (gt (coordinate i) 2)", true),
            ("(lt (coordinate i) 4) (gt (coordinate i) 2)", false),
            ("(lt (coordinate i) 0) (table A i j)", true),
            ("(ge (coordinate i) 100) (table A i j)", false),
            ("(le (coordinate j) (+ (coordinate i) 2)) (ge (coordinate j) (+ (coordinate i) 3))", true),
            ("(le (coordinate j) (+ (coordinate i) 3)) (ge (coordinate j) (+ (coordinate i) 3))", false),
            ("(lt (coordinate i) (coordinate j)) (and (table A i j) (lt (coordinate j) (coordinate i)))", true),
            ("(lt (coordinate i) 2) (not (lt (coordinate i) 2))", false),
        ];
        for (masks, contradictory) in cases {
            // Expands the operators to `mapjoin` forms.
            let masks = ["lt", "le", "gt", "ge", "eq", "not", "and", "+"]
                .iter()
                .fold(masks.to_owned(), |text, op| text.replace(&format!("({op} "), &format!("(mapjoin {op} ")));
            let text = format!("(plan (query C (mapjoin and (table A i j) {masks})) (produces C))");
            let plan = parse(&text, &catalog).unwrap_or_else(|e| panic!("{text}: {e}"));
            let found = check_masks(&plan);
            assert_eq!(found.is_err(), contradictory, "{text}: {found:?}");
            if let Err(error) = found {
                let error = error.to_string();
                assert!(error.starts_with("query `C`: no coordinates satisfy (mapjoin "), "{error}");
            }
        }
    }
}
