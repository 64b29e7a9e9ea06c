//! The check that the rounds of loops can run in any order.

use super::super::linear::{Atom, Linear};
use super::super::{Access, Index, Program, Stmt, TensorId, Write};
use redpoll_logic::FloatMode;
use std::collections::BTreeMap;

/// Checks that the rounds of some loops of a statement can run in any order. Tensors of an outer
/// scope must not change their state, and must not be both read and written. All writes of such a
/// tensor must be folds by one associative and commutative operator, or `init`s. A single overwrite
/// is also allowed if the index of each loop is the only atom of one of its subscripts.
pub(super) fn check_order_independence(
    program: &Program,
    stmt: &Stmt,
    loops: &[Index],
    mode: FloatMode,
) -> Result<(), String> {
    let name = |t: TensorId| &program.tensors[t.index()].name;
    let mut own = Vec::new();
    let mut writes: BTreeMap<TensorId, Vec<(&Access, &Write)>> = BTreeMap::new();
    let mut changed = Vec::new();
    stmt.walk(&mut |s| match s {
        Stmt::Declare(t) => own.push(*t),
        Stmt::Assign { lhs, write, .. } => writes.entry(lhs.tensor).or_default().push((lhs, write)),
        Stmt::Freeze(t) | Stmt::Thaw(t) => changed.push(*t),
        Stmt::Swap(t, u) => changed.extend([*t, *u]),
        _ => {}
    });
    // Tensors declared in a round are local to the round.
    writes.retain(|t, _| !own.contains(t));
    if let Some(t) = changed.iter().find(|t| !own.contains(t)) {
        return Err(format!("`{}` is frozen, thawed or swapped within the loops", name(*t)));
    }
    let mut read = None;
    stmt.walk(&mut |s| read = read.or(s.direct_reads().into_iter().find(|t| writes.contains_key(t))));
    if let Some(t) = read {
        return Err(format!("`{}` is read and written in the loops", name(t)));
    }
    for (tensor, writes) in &writes {
        let dtype = &program.tensors[tensor.index()].ty.dtype;
        let (first, rest) = (writes[0].1, &writes[1..]);
        let is_independent = match first {
            Write::Fold(op) => {
                let one = rest.iter().all(|(_, write)| *write == first);
                let own = op.signature(&[dtype.clone(), dtype.clone()]).is_ok_and(|s| s.result == *dtype);
                one && own && op.is_associative(dtype, mode) && op.is_commutative(dtype, mode)
            }
            // `init` writes each entry at most once.
            Write::Init => rest.iter().all(|(_, write)| **write == Write::Init),
            Write::Overwrite => rest.is_empty() && loops.iter().all(|i| determines(writes[0].0, *i)),
        };
        if !is_independent {
            return Err(format!(
                "another order of rounds may change `{}`, whose writes are not folds by one associative and \
                 commutative operator",
                name(*tensor)
            ));
        }
    }
    Ok(())
}

/// Returns whether the index is the only atom of one subscript, so that different rounds write
/// different entries.
fn determines(access: &Access, index: Index) -> bool {
    access
        .subscripts
        .iter()
        .any(|s| Linear::of(&s.at).is_some_and(|at| matches!(at.terms[..], [(Atom::Index(i), _)] if i == index)))
}
