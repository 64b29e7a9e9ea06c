//! Lookup and replacement of the loops of a program by name, and chains of nested loops.

use super::super::linear::Linear;
use super::super::text::label;
use super::super::types::dtype_of;
use super::super::{Expr, Index, Program, Rounds, Stmt, Var};
use std::collections::BTreeSet;

/// The parts of a loop with an extent.
#[derive(Clone)]
pub(super) struct ForLoop {
    pub(super) index: Index,
    pub(super) extent: (Expr, Expr),
    pub(super) rounds: Rounds,
    pub(super) body: Box<Stmt>,
}

impl ForLoop {
    /// Returns the number of rounds if it is constant.
    pub(super) fn length(&self) -> Option<i128> {
        let [lo, hi] = [&self.extent.0, &self.extent.1].map(Linear::of);
        let length = hi?.plus(&lo?.times(-1)?)?.as_constant()?;
        Some(i128::from(length.max(0)))
    }

    /// Returns the bounds if they are literals.
    pub(super) fn bounds(&self) -> Option<(i64, i64)> {
        self.extent.0.as_int().zip(self.extent.1.as_int())
    }
}

impl From<ForLoop> for Stmt {
    fn from(l: ForLoop) -> Stmt {
        Stmt::For { index: l.index, extent: Some(l.extent), rounds: l.rounds, body: l.body }
    }
}

impl Stmt {
    /// Returns the parts of the statement if it is a loop with an extent; else the statement.
    pub(super) fn into_loop(self) -> Result<ForLoop, Stmt> {
        match self {
            Stmt::For { index, extent: Some(extent), rounds, body } => Ok(ForLoop { index, extent, rounds, body }),
            other => Err(other),
        }
    }
}

/// Returns the index of the only loop of the given name.
pub(super) fn find(program: &Program, name: &str) -> Result<Index, String> {
    let (mut found, mut others) = (Vec::new(), BTreeSet::new());
    program.body.walk(&mut |s| {
        if let Stmt::For { index, .. } = s {
            match program.indices[index.index()].as_str() {
                other if other != name => drop(others.insert(format!("`{other}`"))),
                _ => found.push(*index),
            }
        }
    });
    match found[..] {
        [index] => Ok(index),
        [] if others.is_empty() => Err("there are no loops".to_owned()),
        [] => {
            let are = if others.len() == 1 { "only loop is" } else { "loops are" };
            let others = others.into_iter().collect::<Vec<_>>().join(", ");
            Err(format!("there is no loop of `{name}`; the {are} {others}"))
        }
        _ => Err(format!("there are {} loops of `{name}`; give each a name of its own", found.len())),
    }
}

/// Replaces the loop of an index in a statement.
pub(super) fn replace(
    stmt: Stmt,
    index: Index,
    with: &mut dyn FnMut(ForLoop) -> Result<Stmt, String>,
) -> Result<Stmt, String> {
    match stmt.into_loop() {
        Ok(l) if l.index == index => with(l),
        Ok(l) => Stmt::from(l).map_children(&mut |s| replace(s, index, with)),
        Err(other) => other.map_children(&mut |s| replace(s, index, with)),
    }
}

/// Replaces the loop of an index in a program. If the rounds of the loop change a tensor that its
/// extent reads, the extent is evaluated before the loop. `with` may add to the tables of the
/// program.
pub(super) fn replace_once(
    mut program: Program,
    index: Index,
    with: impl FnOnce(&mut Program, ForLoop) -> Result<Stmt, String>,
) -> Result<Program, String> {
    let mut found = None;
    replace(program.body.clone(), index, &mut |l| {
        found = Some(l);
        Ok(Stmt::Block(Vec::new()))
    })?;
    let Some(l) = found else { return Ok(program) };
    let (l, variables) = evaluate_extent(&mut program, l)?;
    let stmt = with(&mut program, l)?;
    let wrap = |body, (var, value)| Stmt::Let { var, value, body: Box::new(body) };
    let stmt = variables.into_iter().fold(stmt, wrap);
    let body = replace(program.body, index, &mut |_| Ok(stmt.clone()))?;
    Ok(Program { body, ..program })
}

/// Replaces each end of an extent by a variable, if the end reads a tensor that the rounds change.
/// Returns the variables with their values.
fn evaluate_extent(program: &mut Program, l: ForLoop) -> Result<(ForLoop, Vec<(Var, Expr)>), String> {
    let mut changed = Vec::new();
    l.body.walk(&mut |s| match s {
        Stmt::Assign { lhs, .. } => changed.push(lhs.tensor),
        Stmt::Declare(t) | Stmt::Thaw(t) => changed.push(*t),
        Stmt::Swap(t, u) => changed.extend([*t, *u]),
        _ => {}
    });
    let mut variables = Vec::new();
    let mut evaluate = |end: Expr| {
        if !end.accesses().into_iter().any(|access| changed.contains(&access.tensor)) {
            return Ok(end);
        }
        let var = new_variable(program, "end", &end)?;
        variables.push((var, end));
        Ok::<_, String>(Expr::Var(var))
    };
    let extent = (evaluate(l.extent.0)?, evaluate(l.extent.1)?);
    Ok((ForLoop { extent, ..l }, variables))
}

/// Adds a variable for a value.
pub(super) fn new_variable(program: &mut Program, name: &str, value: &Expr) -> Result<Var, String> {
    program.vars.push((name.to_owned(), dtype_of(program, value)?));
    Ok(Var(program.vars.len() as u32 - 1))
}

/// Unwraps blocks of a single statement.
pub(super) fn unwrap_block(mut stmt: Stmt) -> Stmt {
    while let Stmt::Block(stmts) = &mut stmt
        && stmts.len() == 1
    {
        stmt = stmts.swap_remove(0);
    }
    stmt
}

/// A statement of a chain, in which each statement is the whole body of the previous statement.
#[derive(Clone)]
pub(super) enum ChainLink {
    Loop(ForLoop),
    If(Expr),
    Let(Var, Expr),
}

/// Splits a loop into the chain of links down to the innermost loop of `indices`, and the statement
/// inside of this chain.
pub(super) fn split_chain(
    program: &Program,
    top: ForLoop,
    indices: &[Index],
) -> Result<(Vec<ChainLink>, Stmt), String> {
    let mut links = Vec::new();
    let mut remaining = indices.to_vec();
    let mut stmt = Stmt::from(top);
    while !remaining.is_empty() {
        stmt = match stmt.into_loop() {
            Ok(mut l) => {
                remaining.retain(|i| *i != l.index);
                let body = std::mem::replace(&mut *l.body, Stmt::Block(Vec::new()));
                links.push(ChainLink::Loop(l));
                body
            }
            Err(Stmt::If { cond, body }) => {
                links.push(ChainLink::If(cond));
                *body
            }
            Err(Stmt::Let { var, value, body }) => {
                links.push(ChainLink::Let(var, value));
                *body
            }
            Err(Stmt::Block(mut stmts)) if stmts.len() == 1 => stmts.swap_remove(0),
            Err(other) => {
                let what = label(program, &other).unwrap_or_else(|| "several statements".to_owned());
                let names: Vec<String> =
                    remaining.iter().map(|i| format!("`{}`", program.indices[i.index()])).collect();
                let names = names.join(", ");
                return Err(format!(
                    "only loops, conditions and variables may stand between the outermost loop and the loop of {names}, \
                     found `{what}`"
                ));
            }
        };
    }
    Ok((links, stmt))
}

impl ChainLink {
    /// Wraps the link around a statement.
    pub(super) fn wrap(self, body: Stmt) -> Stmt {
        let body = Box::new(body);
        match self {
            ChainLink::Loop(l) => ForLoop { body, ..l }.into(),
            ChainLink::If(cond) => Stmt::If { cond, body },
            ChainLink::Let(var, value) => Stmt::Let { var, value, body },
        }
    }
}
