//! Pass `drop_empty_loops`: removes loops that provably have no rounds.
//!
//! ```text
//! Y[2] = a; for i in [0, 0) { Y[2] -= 1 }; Y[2] += b   =   Y[2] = a; Y[2] += b
//! ```
//! Otherwise, a write that never happens would get its own loop of one round, which would append
//! the coordinate a second time. Input: output of `inline_single_rounds`.

use super::order::max_rounds;
use super::visit::infallible;
use super::{Expr, Program, Stmt};

/// Removes loops that provably have no rounds. Loops without rounds stay in the body of a `while`
/// if the body would otherwise write no scalar of the condition. So the rule **while** of the
/// module `verify` holds after the pass, too.
pub fn drop_empty_loops(program: Program) -> Program {
    let body = drop_in(program.body);
    Program { body, ..program }
}

fn drop_in(stmt: Stmt) -> Stmt {
    match stmt {
        Stmt::For { extent: Some((lo, hi)), .. } if max_rounds(&lo, &hi).is_some_and(|n| n <= 0) => {
            Stmt::block(Vec::new())
        }
        Stmt::While { cond, body } => {
            let dropped = drop_in((*body).clone());
            let body = if writes_scalar_of(&dropped, &cond) { dropped } else { *body };
            Stmt::While { cond, body: Box::new(body) }
        }
        other => infallible(other.map_children(&mut |s| Ok(drop_in(s)))),
    }
}

/// Returns whether a statement writes a tensor that a condition reads.
fn writes_scalar_of(stmt: &Stmt, cond: &Expr) -> bool {
    let mut found = false;
    let read = cond.accesses();
    stmt.walk(&mut |s| {
        found |= matches!(s, Stmt::Assign { lhs, .. } if read.iter().any(|a| a.tensor == lhs.tensor));
    });
    found
}
