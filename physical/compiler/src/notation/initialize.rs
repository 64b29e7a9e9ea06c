//! Pass `initialize`: an overwrite that writes each entry at most once becomes an `init`.
//!
//! ```text
//! C[i, j] = r  =  init C[i, j] = r     the only write of C, which writes each entry at most once
//! ```
//! Before such a write, the entry has the fill value, so the write can skip a value that equals the
//! fill value: a row copied from a workspace keeps the pattern of the workspace. Input: output of
//! `join_rounds`.
//!
//! A write touches each entry at most once if every loop since the declaration that may run more
//! than once resolves a subscript of the write. The deepest atom of the subscript of mode `k` is
//! the index of a loop inside of the loops that resolve the outer modes, so different rounds have
//! different coordinates.

use super::linear::{Atom, Linear};
use super::visit::infallible;
use super::{Expr, Program, Stmt, TensorId, Write};

/// Turns overwrites into `init`s where that provably does not change the result.
pub fn initialize(program: Program) -> Program {
    let single_overwrites: Vec<TensorId> =
        (0..program.tensors.len() as u32).map(TensorId).filter(|t| has_single_overwrite(&program, *t)).collect();
    let mut body = program.body.clone();
    for t in single_overwrites {
        let mut initializer = Initializer { tensor: t, live: false, loops: Vec::new() };
        body = initializer.stmt(body);
    }
    Program { body, ..program }
}

/// Returns whether a single overwrite is the only write of a tensor, and the tensor is not swapped.
fn has_single_overwrite(program: &Program, t: TensorId) -> bool {
    let (mut overwrites, mut others) = (0, 0);
    program.body.walk(&mut |s| match s {
        Stmt::Assign { lhs, write: Write::Overwrite, .. } if lhs.tensor == t => overwrites += 1,
        Stmt::Assign { lhs, .. } if lhs.tensor == t => others += 1,
        Stmt::Swap(u, v) if [u, v].contains(&&t) => others += 1,
        _ => {}
    });
    (overwrites, others) == (1, 0)
}

struct Initializer {
    tensor: TensorId,
    /// True if the tensor has been declared.
    live: bool,
    /// The loops since the declaration that may run more than once; `None` for a `while`, which has
    /// no index.
    loops: Vec<Option<Atom>>,
}

impl Initializer {
    fn stmt(&mut self, stmt: Stmt) -> Stmt {
        match stmt {
            Stmt::Declare(t) if t == self.tensor => {
                self.live = true;
                self.loops.clear();
                stmt
            }
            Stmt::Assign { lhs, write, rhs } if lhs.tensor == self.tensor => {
                let resolving_loops: Vec<Atom> =
                    lhs.subscripts.iter().filter_map(|s| self.resolving_loop(&s.at)).collect();
                let once = self.live && self.loops.iter().all(|l| l.is_some_and(|l| resolving_loops.contains(&l)));
                Stmt::Assign { lhs, write: if once { Write::Init } else { write }, rhs }
            }
            stmt => {
                let repeated = match &stmt {
                    Stmt::While { .. } => Some(None),
                    Stmt::For { index, extent, .. } if !runs_at_most_once(extent.as_ref()) => {
                        Some(Some(Atom::Index(*index)))
                    }
                    _ => None,
                };
                let (depth, live) = (self.loops.len(), self.live);
                self.loops.extend(repeated);
                let has_body = matches!(stmt, Stmt::While { .. } | Stmt::For { .. } | Stmt::If { .. });
                let rebuilt = infallible(stmt.map_children(&mut |s| Ok(self.stmt(s))));
                if has_body {
                    self.live = live;
                    self.loops.truncate(depth);
                }
                rebuilt
            }
        }
    }

    /// Returns the loop that resolves a subscript: the innermost of `loops` whose index occurs in
    /// the subscript.
    fn resolving_loop(&self, subscript: &Expr) -> Option<Atom> {
        let atoms = subscript.atoms();
        self.loops.iter().rev().flatten().find(|l| atoms.contains(l)).copied()
    }
}

fn runs_at_most_once(extent: Option<&(Expr, Expr)>) -> bool {
    extent.and_then(|(lo, hi)| Linear::distance(lo, hi)).is_some_and(|rounds| rounds <= 1)
}
