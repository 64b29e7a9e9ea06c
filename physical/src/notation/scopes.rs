//! Pass `scopes`: every loop and every `let` binds an index or variable of its own.
//!
//! Input: any program whose tables are in order. Output: the same with indices and variables numbered in the order in
//! which they are bound; later passes may then key what they know of an index by the index alone, and move statements
//! without capture. Names stay as they are, and may repeat.

use super::verify::{Rule, location, tables};
use super::{Expr, Index, Program, Stmt, Var};
use crate::Error;
use std::collections::HashMap;

/// Gives each loop and each `let` an index or variable of its own.
///
/// # Errors
/// When tables are out of order, or an index or variable is used outside of what binds it.
pub fn scopes(program: Program) -> Result<Program, Error> {
    tables(&program)?;
    let mut s =
        Scopes { old: &program, indices: Vec::new(), vars: Vec::new(), index: HashMap::new(), var: HashMap::new() };
    let body = s.stmt(program.body.clone())?;
    let (indices, vars) = (s.indices, s.vars);
    Ok(Program { indices, vars, body, ..program })
}

struct Scopes<'a> {
    old: &'a Program,
    indices: Vec<String>,
    vars: Vec<(String, redpoll_logic::DType)>,
    index: HashMap<Index, Index>,
    var: HashMap<Var, Var>,
}

impl Scopes<'_> {
    fn stmt(&mut self, stmt: Stmt) -> Result<Stmt, Error> {
        let at = location(self.old, &[&stmt]);
        // A loop's extent and the value of a `let` are evaluated outside of what they bind.
        let stmt = stmt.map_exprs(&mut |e| self.leaf(e, &at))?;
        match stmt {
            Stmt::For { index, extent, schedule, body } => {
                let fresh = Index(self.indices.len() as u32);
                self.indices.push(self.old.indices[index.index()].clone());
                let outer = self.index.insert(index, fresh);
                let body = Box::new(self.stmt(*body)?);
                restore(&mut self.index, index, outer);
                Ok(Stmt::For { index: fresh, extent, schedule, body })
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

    fn leaf(&self, expr: Expr, at: &str) -> Result<Expr, Error> {
        let unbound = |kind: &str, name: &str| Error::InvalidProgram {
            rule: Rule::Scope,
            at: at.to_owned(),
            what: format!("{kind} `{name}` is not bound here"),
        };
        match expr {
            Expr::Index(i) => match self.index.get(&i) {
                Some(fresh) => Ok(Expr::Index(*fresh)),
                None => Err(unbound("index", &self.old.indices[i.index()])),
            },
            Expr::Var(v) => match self.var.get(&v) {
                Some(fresh) => Ok(Expr::Var(*fresh)),
                None => Err(unbound("variable", &self.old.vars[v.index()].0)),
            },
            other => Ok(other),
        }
    }
}

fn restore<K: std::hash::Hash + Eq, V>(map: &mut HashMap<K, V>, key: K, outer: Option<V>) {
    match outer {
        Some(v) => map.insert(key, v),
        None => map.remove(&key),
    };
}
