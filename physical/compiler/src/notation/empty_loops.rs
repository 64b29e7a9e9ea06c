//! Pass `drop_empty_loops`: removes loops that provably have no rounds.
//!
//! ```text
//! Y[2] = a; for i in [0, 0) { Y[2] -= 1 }; Y[2] += b   =   Y[2] = a; Y[2] += b
//! ```
//! Otherwise, a write that never happens would get its own loop of one round, which would append
//! the coordinate a second time. Input: output of `inline_single_rounds`.

use super::order::max_rounds;
use super::visit::infallible;
use super::{Program, Stmt};

/// Removes loops that provably have no rounds.
pub fn drop_empty_loops(program: Program) -> Program {
    let body = drop_in(program.body);
    Program { body, ..program }
}

fn drop_in(stmt: Stmt) -> Stmt {
    match stmt {
        Stmt::For { extent: Some((lo, hi)), .. } if max_rounds(&lo, &hi).is_some_and(|n| n <= 0) => {
            Stmt::block(Vec::new())
        }
        other => infallible(other.map_children(&mut |s| Ok(drop_in(s)))),
    }
}
