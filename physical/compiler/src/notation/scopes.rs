//! Pass `resolve_scopes`: gives each loop and each `let` an index or variable of its own.
//!
//! Input: any program whose tables are well-formed. Output: the same program with indices and
//! variables numbered in the order of their binders. Later passes can then key facts by an index
//! alone, and move statements without capture. Names stay unchanged, and may repeat.

use super::verify::{ProgramRule, location};
use super::{Expr, Index, Program, Stmt, Var, tables};
use crate::Error;
use std::collections::HashMap;

/// Gives each loop and each `let` an index or variable of its own.
///
/// # Errors
/// When tables are malformed, or an index or variable is used outside of its binder.
pub fn resolve_scopes(program: Program) -> Result<Program, Error> {
    tables::check(&program)?;
    let mut s = ScopeResolver {
        old: &program,
        indices: Vec::new(),
        vars: Vec::new(),
        index: HashMap::new(),
        var: HashMap::new(),
    };
    let body = s.stmt(program.body.clone())?;
    let (indices, vars) = (s.indices, s.vars);
    Ok(Program { indices, vars, body, ..program })
}

struct ScopeResolver<'a> {
    old: &'a Program,
    indices: Vec<String>,
    vars: Vec<(String, redpoll_logic::DType)>,
    index: HashMap<Index, Index>,
    var: HashMap<Var, Var>,
}

impl ScopeResolver<'_> {
    fn stmt(&mut self, stmt: Stmt) -> Result<Stmt, Error> {
        // The extent of a loop and the value of a `let` are outside of the scope that the statement
        // opens.
        if let Some(what) = stmt.exprs().into_iter().find_map(|e| self.find_unbound(e)) {
            return Err(Error::InvalidProgram { rule: ProgramRule::Scope, at: location(self.old, &[&stmt]), what });
        }
        let stmt = stmt.map_exprs::<Error>(&mut |e| Ok(self.rename(e)))?;
        match stmt {
            Stmt::For { index, extent, rounds, body } => {
                let fresh = Index(self.indices.len() as u32);
                self.indices.push(self.old.indices[index.index()].clone());
                let outer = self.index.insert(index, fresh);
                let body = Box::new(self.stmt(*body)?);
                restore(&mut self.index, index, outer);
                Ok(Stmt::For { index: fresh, extent, rounds, body })
            }
            Stmt::Let { var, value, body } => {
                let fresh = Var(self.vars.len() as u32);
                self.vars.push(self.old.vars[var.index()].clone());
                let outer = self.var.insert(var, fresh);
                let body = Box::new(self.stmt(*body)?);
                restore(&mut self.var, var, outer);
                Ok(Stmt::Let { var: fresh, value, body })
            }
            other => other.map_children(&mut |s| self.stmt(s)),
        }
    }

    /// Returns the message for an expression with an unbound index or variable.
    fn find_unbound(&self, expr: &Expr) -> Option<String> {
        let mut found = None;
        expr.walk(&mut |e| match e {
            Expr::Index(i) if !self.index.contains_key(i) => {
                found = Some(format!("index `{}` is not bound here", self.old.indices[i.index()]));
            }
            Expr::Var(v) if !self.var.contains_key(v) => {
                found = Some(format!("variable `{}` is not bound here", self.old.vars[v.index()].0));
            }
            _ => {}
        });
        found
    }

    fn rename(&self, expr: Expr) -> Expr {
        match expr {
            Expr::Index(i) => Expr::Index(self.index[&i]),
            Expr::Var(v) => Expr::Var(self.var[&v]),
            other => other,
        }
    }
}

fn restore<K: std::hash::Hash + Eq, V>(map: &mut HashMap<K, V>, key: K, outer: Option<V>) {
    match outer {
        Some(v) => map.insert(key, v),
        None => map.remove(&key),
    };
}
