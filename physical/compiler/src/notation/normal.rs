//! The check of the normal form that lowering takes.

use super::linear::{Atom, Linear};
use super::text::{print_expr, print_transformation};
use super::verify::{ProgramRule, location};
use super::{Access, Expr, OPEN_DIMENSION, Program, Stmt, TensorId, Write};
use crate::Error;
use redpoll_logic::{LeafKind, Scalar};
use std::collections::HashMap;

/// Checks rules 3 to 5, 8 and 10 of the normal form (see the module `notation`), and the writes of
/// pattern leaves, in a program that passes `verify`. Loops without rounds are accepted.
pub(super) fn check(program: &Program) -> Result<(), Error> {
    let mut c = NormalFormVerifier { program, depth: HashMap::new(), declared: HashMap::new(), path: Vec::new() };
    if let Some(t) = program.tensors.iter().find(|t| t.ty.shape.contains(&OPEN_DIMENSION)) {
        return c.fail(format!("a dimension of `{}` is open", t.name));
    }
    if let Some(t) = program.schedule.first() {
        return c.fail(format!("`{}` of its schedule was not applied", print_transformation(t)));
    }
    c.stmt(&program.body)
}

struct NormalFormVerifier<'a> {
    program: &'a Program,
    /// The depth of each bound atom: one more than the number of atoms bound before it.
    depth: HashMap<Atom, usize>,
    /// The number of atoms bound before the declaration of each tensor with a level that is not
    /// dense.
    declared: HashMap<TensorId, usize>,
    path: Vec<&'a Stmt>,
}

impl<'a> NormalFormVerifier<'a> {
    fn stmt(&mut self, stmt: &'a Stmt) -> Result<(), Error> {
        self.path.push(stmt);
        for a in stmt.exprs().into_iter().flat_map(Expr::accesses) {
            self.access(a)?;
        }
        match stmt {
            Stmt::For { index, extent, .. } => {
                if extent.is_none() {
                    return self.fail("a loop has no extent".to_owned());
                }
                self.depth.insert(Atom::Index(*index), self.depth.len() + 1);
            }
            Stmt::Let { var, .. } => drop(self.depth.insert(Atom::Var(*var), self.depth.len() + 1)),
            Stmt::Declare(t) if self.program.tensors[t.index()].is_looked_up() => {
                self.declared.insert(*t, self.depth.len());
            }
            Stmt::Assign { lhs, write, rhs } => {
                self.access(lhs)?;
                self.pattern_leaf(lhs, write, rhs)?;
            }
            _ => {}
        }
        stmt.children().into_iter().try_for_each(|s| self.stmt(s))?;
        self.path.pop();
        Ok(())
    }

    fn access(&self, a: &Access) -> Result<(), Error> {
        let depth = |atom: Atom| self.depth[&atom];
        let mut resolved = self.declared.get(&a.tensor).copied().unwrap_or(0);
        for s in &a.subscripts {
            let text = || print_expr(self.program, &s.at);
            let Some(form) = Linear::of(&s.at).filter(|form| form.to_expr(&depth) == s.at) else {
                return self.fail(format!("subscript `{}` is not a linear form, deepest term first", text()));
            };
            match form.deepest(&depth) {
                Some((atom @ Atom::Index(_), _)) if depth(atom) > resolved => resolved = depth(atom),
                _ => {
                    return self.fail(format!(
                        "subscript `{}` has no separate loop inside of the loops of the outer modes",
                        text()
                    ));
                }
            }
        }
        Ok(())
    }

    /// Checks that a write to a leaf without values can only change `false` to `true`.
    fn pattern_leaf(&self, lhs: &Access, write: &Write, rhs: &Expr) -> Result<(), Error> {
        let tensor = &self.program.tensors[lhs.tensor.index()];
        let fits = match write {
            _ if tensor.ty.format.leaf != LeafKind::Pattern => true,
            Write::Init => true,
            Write::Overwrite => *rhs == Expr::Literal(Scalar::Bool(true)),
            Write::Fold(op) => op.is_disjunction(),
        };
        if fits {
            return Ok(());
        }
        let what = format!(
            "`{}` has a pattern leaf, which stores only `true`, but this write may reset an entry to `false`; fold by `or`, or give \
             the tensor values",
            tensor.name
        );
        Err(Error::InvalidProgram { rule: ProgramRule::Write, at: location(self.program, &self.path), what })
    }

    fn fail<T>(&self, what: String) -> Result<T, Error> {
        Err(Error::InvalidProgram { rule: ProgramRule::Normal, at: location(self.program, &self.path), what })
    }
}
