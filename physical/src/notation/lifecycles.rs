//! Pass `lifecycles`: inserts the declares, freezes and thaws that the program leaves out.
//!
//! Input: output of `scopes`, with any part of the lifecycle of a tensor written out. Output: every
//! output and every local that is used is declared once, frozen before it is read and thawed before
//! it is written again, so that the lifecycle rules of `verify` hold.
//!
//! - An output without a declaration is declared at the start of the program, and frozen at its
//!   end.
//! - A local without one is declared in the innermost body that contains all its uses, just before
//!   the first statement of a block that uses it: a new life in every round. A local that carries
//!   values from round to round must be declared by hand.
//! - A freeze is inserted before a statement that reads or swaps a writable tensor, a thaw before a
//!   statement that writes a frozen one. A body that changes the state of an outer tensor restores
//!   it at its end.
//!
//! A statement that reads and writes one tensor is an error. So is a loop that reads and writes one
//! tensor in several statements, since each round would pay for a freeze. Exceptions are scalar and
//! dense tensors, whose freeze is free, and tensors whose freeze and thaw are written out.

use super::verify::{Rule, location};
use super::{Access, Program, Role, Stmt, TensorId};
use crate::Error;
use std::collections::{BTreeMap, BTreeSet};

/// Inserts the missing declarations, freezes and thaws.
///
/// # Errors
/// When one statement or loop reads and writes a tensor, or a lifecycle that is written out breaks
/// the rules.
pub fn lifecycles(program: Program) -> Result<Program, Error> {
    let mut body = program.body.clone();
    for k in 0..program.tensors.len() {
        let t = TensorId(k as u32);
        if program.tensors[k].role == Role::Local && !declares(&body, t) && uses(&body, t) {
            body = declare_local(body, t);
        }
    }
    let mut stmts: Vec<Stmt> = outputs(&program).filter(|t| !declares(&body, *t)).map(Stmt::Declare).collect();
    stmts.push(body);

    let mut l = Lifecycles { program: &program, life: BTreeMap::new() };
    let body = l.stmt(Stmt::block(stmts))?;
    let left_open = outputs(&program).filter(|t| l.life.get(t) == Some(&Life::Writable)).map(Stmt::Freeze);
    let body = Stmt::block([body].into_iter().chain(left_open));
    Ok(Program { body, ..program })
}

fn outputs(program: &Program) -> impl Iterator<Item = TensorId> {
    (0..program.tensors.len()).filter(|&k| program.tensors[k].role == Role::Output).map(|k| TensorId(k as u32))
}

fn declares(stmt: &Stmt, t: TensorId) -> bool {
    any(stmt, &|s| *s == Stmt::Declare(t))
}

fn uses(stmt: &Stmt, t: TensorId) -> bool {
    any(stmt, &|s| uses_itself(s, t))
}

/// Returns whether the statement itself uses the tensor, apart from nested statements.
fn uses_itself(stmt: &Stmt, t: TensorId) -> bool {
    match stmt {
        Stmt::Freeze(u) | Stmt::Thaw(u) => *u == t,
        Stmt::Swap(u, v) => *u == t || *v == t,
        Stmt::Assign { lhs, .. } if lhs.tensor == t => true,
        _ => stmt.own_reads().contains(&t),
    }
}

fn any(stmt: &Stmt, holds: &dyn Fn(&Stmt) -> bool) -> bool {
    let mut found = false;
    stmt.walk(&mut |s| found |= holds(s));
    found
}

fn declare_local(stmt: Stmt, t: TensorId) -> Stmt {
    let inside: Vec<bool> = stmt.children().iter().map(|s| uses(s, t)).collect();
    let alone = inside.iter().filter(|&&u| u).count() == 1 && !uses_itself(&stmt, t);
    if alone {
        let mut which = inside.iter();
        let descended = stmt.map_children(&mut |s| {
            Ok::<_, std::convert::Infallible>(if which.next() == Some(&true) { declare_local(s, t) } else { s })
        });
        return match descended {
            // Splices the block that contains the declaration into the enclosing block.
            Ok(Stmt::Block(stmts)) => Stmt::block(stmts),
            Ok(stmt) => stmt,
            Err(never) => match never {},
        };
    }
    match stmt {
        Stmt::Block(mut stmts) => {
            let first = stmts.iter().position(|s| uses(s, t)).expect("a block that uses it has a statement that does");
            stmts.insert(first, Stmt::Declare(t));
            Stmt::Block(stmts)
        }
        other => Stmt::block([Stmt::Declare(t), other]),
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Life {
    Writable,
    Frozen,
}

struct Lifecycles<'a> {
    program: &'a Program,
    /// The state of each declared tensor; inputs are absent.
    life: BTreeMap<TensorId, Life>,
}

impl Lifecycles<'_> {
    fn stmt(&mut self, stmt: Stmt) -> Result<Stmt, Error> {
        match stmt {
            Stmt::Block(stmts) => {
                let done = stmts.into_iter().map(|s| self.stmt(s)).collect::<Result<Vec<_>, _>>()?;
                Ok(Stmt::block(done))
            }
            Stmt::Declare(t) => {
                self.life.insert(t, Life::Writable);
                Ok(stmt)
            }
            Stmt::Freeze(t) | Stmt::Thaw(t) => {
                let to = if stmt == Stmt::Freeze(t) { Life::Frozen } else { Life::Writable };
                self.life.entry(t).and_modify(|l| *l = to);
                Ok(stmt)
            }
            Stmt::Swap(t, u) => Ok(self.turn(&[t, u], Life::Frozen).around(stmt)),
            Stmt::For { .. } | Stmt::If { .. } | Stmt::While { .. } => self.body(stmt),
            Stmt::Let { .. } => {
                let reads = stmt.own_reads();
                let turns = self.turn(&reads, Life::Frozen);
                Ok(turns.around(stmt.map_children(&mut |s| self.stmt(s))?))
            }
            Stmt::Where { .. } => stmt.map_children(&mut |s| self.stmt(s)),
            Stmt::Assign { ref lhs, .. } => {
                let (reads, written) = (stmt.own_reads(), lhs.tensor);
                if reads.contains(&written) {
                    return self.mixed(&stmt, written, "fold into it, or bind the old value by a `let` before a thaw");
                }
                let mut turns = self.turn(&reads, Life::Frozen);
                turns.0.extend(self.turn(&[written], Life::Writable).0);
                Ok(turns.around(stmt))
            }
        }
    }

    /// Processes a loop or conditional: brings tensors into the state that the first use inside
    /// needs, and restores that state after each round.
    fn body(&mut self, stmt: Stmt) -> Result<Stmt, Error> {
        let mut first = First::default();
        first.visit(&stmt);
        if let Some(t) = first.mixed.iter().find(|t| self.life.contains_key(t) && !self.turns_freely(**t)) {
            return self.mixed(&stmt, *t, "write freeze and thaw out, or use a local");
        }
        let mut turns = Turns::default();
        for (t, life) in &first.life {
            turns.0.extend(self.turn(&[*t], *life).0);
        }
        let entry = self.life.clone();
        let done = stmt.map_children::<Error>(&mut |s| {
            let inner = self.stmt(s)?;
            let mut end = Vec::new();
            for (t, life) in &entry {
                end.extend(self.turn(&[*t], *life).0);
            }
            self.life.retain(|t, _| entry.contains_key(t));
            Ok(Stmt::block([inner].into_iter().chain(end)))
        })?;
        Ok(turns.around(done))
    }

    fn turn(&mut self, tensors: &[TensorId], to: Life) -> Turns {
        let mut turns = Turns::default();
        for &t in tensors {
            if let Some(life) = self.life.get_mut(&t).filter(|l| **l != to) {
                *life = to;
                turns.0.push(if to == Life::Frozen { Stmt::Freeze(t) } else { Stmt::Thaw(t) });
            }
        }
        turns
    }

    /// Returns whether freezing the tensor costs nothing.
    fn turns_freely(&self, t: TensorId) -> bool {
        !self.program.tensors[t.index()].is_looked_up()
    }

    fn mixed(&self, stmt: &Stmt, t: TensorId, next: &str) -> Result<Stmt, Error> {
        let name = &self.program.tensors[t.index()].name;
        let at = location(self.program, &[stmt]);
        let what = format!("`{name}` is both read and written in one scope; {next}");
        Err(Error::InvalidProgram { rule: Rule::Lifecycle, at, what })
    }
}

/// Freezes and thaws to put before a statement.
#[derive(Default)]
struct Turns(Vec<Stmt>);

impl Turns {
    fn around(self, stmt: Stmt) -> Stmt {
        Stmt::block(self.0.into_iter().chain([stmt]))
    }
}

/// The first use of each tensor in a statement, and the tensors that are both read and written
/// without a freeze or thaw between.
#[derive(Default)]
struct First {
    life: BTreeMap<TensorId, Life>,
    /// The state after the last use or turn.
    last: BTreeMap<TensorId, Life>,
    mixed: BTreeSet<TensorId>,
}

impl First {
    fn visit(&mut self, stmt: &Stmt) {
        for t in stmt.own_reads() {
            self.needs(t, Life::Frozen);
        }
        match stmt {
            Stmt::Assign { lhs: Access { tensor, .. }, .. } => self.needs(*tensor, Life::Writable),
            Stmt::Declare(t) => drop(self.last.insert(*t, Life::Writable)),
            // A freeze needs a writable tensor, a thaw a frozen one.
            Stmt::Freeze(t) => self.turns(*t, Life::Writable, Life::Frozen),
            Stmt::Thaw(t) => self.turns(*t, Life::Frozen, Life::Writable),
            Stmt::Swap(t, u) => [t, u].into_iter().for_each(|t| self.needs(*t, Life::Frozen)),
            _ => {}
        }
        for s in stmt.children() {
            self.visit(s);
        }
    }

    fn needs(&mut self, t: TensorId, life: Life) {
        self.life.entry(t).or_insert(life);
        if self.last.insert(t, life).is_some_and(|was| was != life) {
            self.mixed.insert(t);
        }
    }

    fn turns(&mut self, t: TensorId, from: Life, to: Life) {
        self.needs(t, from);
        self.last.insert(t, to);
    }
}
