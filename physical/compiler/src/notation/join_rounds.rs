//! Pass `join_rounds`: merges loops of one round that resolve the same coordinate of an appended
//! level.
//!
//! ```text
//! for s in [e, e + 1) { Y[s] = a }; for t in [e, e + 1) { Y[t] += b }
//!     =  for s in [e, e + 1) { Y[s] = a; Y[s] += b }          Y appended to
//! ```
//! A coordinate of an appended level is appended once, so all writes to it must happen in one loop.
//! Statements between the two loops move into the merged loop. Input: output of `concordize`.

use super::linear::Linear;
use super::visit::infallible;
use super::{Expr, Index, Program, Rounds, Stmt, TensorId};

/// Merges loops of one round in the same block that write one coordinate of an appended tensor.
pub fn join_rounds(program: Program) -> Program {
    let body = join_stmt(&program, program.body.clone());
    Program { body, ..program }
}

fn join_stmt(program: &Program, stmt: Stmt) -> Stmt {
    let stmt = match stmt {
        Stmt::Block(stmts) => Stmt::block(join_block(program, stmts)),
        other => other,
    };
    infallible(stmt.map_children(&mut |s| Ok(join_stmt(program, s))))
}

fn join_block(program: &Program, mut stmts: Vec<Stmt>) -> Vec<Stmt> {
    let mut at = 0;
    while at < stmts.len() {
        while let Some(other) = find_partner(program, &stmts, at) {
            let between = stmts.splice(at + 1..=other, []).collect::<Vec<_>>();
            let Stmt::For { index, extent, rounds, body } = stmts.remove(at) else {
                unreachable!("partners are loops")
            };
            let mut bodies = vec![*body];
            for stmt in between {
                bodies.push(match stmt {
                    Stmt::For { index: own, extent: same, body, .. } if same == extent => {
                        body.with_index(own, &Expr::Index(index))
                    }
                    other => other,
                });
            }
            stmts.insert(at, Stmt::For { index, extent, rounds, body: Box::new(Stmt::block(bodies)) });
        }
        at += 1;
    }
    stmts
}

/// Returns the index of a later statement that is a loop at the same coordinate and appends to one
/// of the same tensors. No statement between the two changes the state of a tensor.
fn find_partner(program: &Program, stmts: &[Stmt], at: usize) -> Option<usize> {
    let (lo, tensors) = appending_loop(program, &stmts[at])?;
    let unchanged = stmts[at..].iter().take_while(|s| !s.changes_lifecycles()).count();
    (at + 1..at + unchanged).find(|&other| {
        appending_loop(program, &stmts[other])
            .is_some_and(|(same, own)| same == lo && own.iter().any(|t| tensors.contains(t)))
    })
}

/// Returns the coordinate of a loop of one round, and the tensors of which the loop resolves an
/// appended level; `None` if there are no such tensors, for a parallel loop, and for other
/// statements.
fn appending_loop<'a>(program: &Program, stmt: &'a Stmt) -> Option<(&'a Expr, Vec<TensorId>)> {
    let Stmt::For { index, extent: Some((lo, hi)), rounds, body } = stmt else { return None };
    if *rounds == Rounds::Parallel || Linear::distance(lo, hi) != Some(1) {
        return None;
    }
    let tensors = appended_tensors(program, body, *index);
    (!tensors.is_empty()).then_some((lo, tensors))
}

/// Returns the tensors that a statement writes with the given index as the subscript of an appended
/// level.
fn appended_tensors(program: &Program, body: &Stmt, index: Index) -> Vec<TensorId> {
    let mut found = Vec::new();
    body.walk(&mut |s| {
        if let Stmt::Assign { lhs, .. } = s {
            let appended = program.tensors[lhs.tensor.index()].appended_levels();
            if lhs.subscripts.iter().take(appended).any(|s| s.at == Expr::Index(index)) {
                found.push(lhs.tensor);
            }
        }
    });
    found
}
