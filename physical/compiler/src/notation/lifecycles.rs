//! Pass `insert_lifecycles`: inserts the declares, freezes and thaws that the program leaves out.
//!
//! Input: output of `resolve_scopes`, in which any part of the lifecycle of a tensor may be written
//! out. Output: every output and every local that is used is declared, frozen before it is read and
//! thawed before it is written again. The lifecycle rules of `verify` then hold, unless the parts
//! that are written out break them.
//!
//! - An output without a declaration is declared at the start of the program. An output that is
//!   writable at the end of the program is frozen there.
//! - A local without a declaration is declared in the innermost body that contains all its uses,
//!   just before the first statement of that body that uses the local. So the local has a new life
//!   in every round. A local that carries values from round to round must be declared by hand.
//! - A freeze is inserted before a statement that reads or swaps a writable tensor, a thaw before a
//!   statement that writes a frozen tensor. A body that changes the state of an outer tensor
//!   restores that state at its end.
//!
//! An assignment that reads and writes one tensor is an error. So is a loop, `if` or `while` that
//! reads and writes one tensor of an outer scope in several statements, since each round would pay
//! for a freeze. Exceptions to this second rule are scalar and dense tensors, whose freeze is free,
//! and tensors whose freeze and thaw are written out.

use super::verify::{ProgramRule, location};
use super::{Access, Program, Role, Stmt, TensorId};
use crate::Error;
use std::collections::{BTreeMap, BTreeSet};

/// Inserts the missing declarations, freezes and thaws.
///
/// # Errors
/// When an assignment, a loop, an `if` or a `while` reads and writes a tensor, unless the rules of
/// the module allow it. `verify` checks the lifecycles that are written out.
pub fn insert_lifecycles(program: Program) -> Result<Program, Error> {
    let mut body = program.body.clone();
    for k in 0..program.tensors.len() {
        let t = TensorId(k as u32);
        if program.tensors[k].role == Role::Local && !declares(&body, t) && uses(&body, t) {
            body = declare_local(body, t);
        }
    }
    let mut stmts: Vec<Stmt> = output_ids(&program).filter(|t| !declares(&body, *t)).map(Stmt::Declare).collect();
    stmts.push(body);

    let mut l = LifecycleInserter { program: &program, states: BTreeMap::new() };
    let body = l.stmt(Stmt::block(stmts))?;
    let open_outputs =
        output_ids(&program).filter(|t| l.states.get(t) == Some(&WriteState::Writable)).map(Stmt::Freeze);
    let body = Stmt::block([body].into_iter().chain(open_outputs));
    Ok(Program { body, ..program })
}

fn output_ids(program: &Program) -> impl Iterator<Item = TensorId> {
    (0..program.tensors.len()).filter(|&k| program.tensors[k].role == Role::Output).map(|k| TensorId(k as u32))
}

fn declares(stmt: &Stmt, t: TensorId) -> bool {
    any(stmt, &|s| *s == Stmt::Declare(t))
}

fn uses(stmt: &Stmt, t: TensorId) -> bool {
    any(stmt, &|s| uses_directly(s, t))
}

/// Returns whether the statement itself uses the tensor, apart from nested statements.
fn uses_directly(stmt: &Stmt, t: TensorId) -> bool {
    match stmt {
        Stmt::Freeze(u) | Stmt::Thaw(u) => *u == t,
        Stmt::Swap(u, v) => *u == t || *v == t,
        Stmt::Assign { lhs, .. } if lhs.tensor == t => true,
        _ => stmt.direct_reads().contains(&t),
    }
}

fn any(stmt: &Stmt, holds: &dyn Fn(&Stmt) -> bool) -> bool {
    let mut found = false;
    stmt.walk(&mut |s| found |= holds(s));
    found
}

fn declare_local(stmt: Stmt, t: TensorId) -> Stmt {
    let inside: Vec<bool> = stmt.children().iter().map(|s| uses(s, t)).collect();
    let is_single = inside.iter().filter(|&&u| u).count() == 1 && !uses_directly(&stmt, t);
    if is_single {
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
            let first = stmts.iter().position(|s| uses(s, t)).expect("a statement of the block uses the local");
            stmts.insert(first, Stmt::Declare(t));
            Stmt::Block(stmts)
        }
        other => Stmt::block([Stmt::Declare(t), other]),
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum WriteState {
    Writable,
    Frozen,
}

struct LifecycleInserter<'a> {
    program: &'a Program,
    /// The state of each declared tensor; inputs are absent.
    states: BTreeMap<TensorId, WriteState>,
}

impl LifecycleInserter<'_> {
    fn stmt(&mut self, stmt: Stmt) -> Result<Stmt, Error> {
        match stmt {
            Stmt::Block(stmts) => {
                let rebuilt = stmts.into_iter().map(|s| self.stmt(s)).collect::<Result<Vec<_>, _>>()?;
                Ok(Stmt::block(rebuilt))
            }
            Stmt::Declare(t) => {
                self.states.insert(t, WriteState::Writable);
                Ok(stmt)
            }
            Stmt::Freeze(t) | Stmt::Thaw(t) => {
                let to = if stmt == Stmt::Freeze(t) { WriteState::Frozen } else { WriteState::Writable };
                self.states.entry(t).and_modify(|l| *l = to);
                Ok(stmt)
            }
            Stmt::Swap(t, u) => Ok(self.change_state(&[t, u], WriteState::Frozen).before(stmt)),
            Stmt::For { .. } | Stmt::If { .. } | Stmt::While { .. } => self.scope(stmt),
            Stmt::Let { .. } => {
                let reads = stmt.direct_reads();
                let changes = self.change_state(&reads, WriteState::Frozen);
                Ok(changes.before(stmt.map_children(&mut |s| self.stmt(s))?))
            }
            Stmt::Where { .. } => stmt.map_children(&mut |s| self.stmt(s)),
            Stmt::Assign { ref lhs, .. } => {
                let (reads, written) = (stmt.direct_reads(), lhs.tensor);
                if reads.contains(&written) {
                    return self.mixed_use_error(
                        &stmt,
                        written,
                        "fold into it, or bind the old value by a `let` before a thaw",
                    );
                }
                let mut changes = self.change_state(&reads, WriteState::Frozen);
                changes.0.extend(self.change_state(&[written], WriteState::Writable).0);
                Ok(changes.before(stmt))
            }
        }
    }

    /// Processes a loop or conditional: brings tensors into the state that the first use inside
    /// needs, and restores that state after each round.
    fn scope(&mut self, stmt: Stmt) -> Result<Stmt, Error> {
        let mut first = FirstUses::default();
        first.visit(&stmt);
        if let Some(t) = first.mixed_uses.iter().find(|t| self.states.contains_key(t) && !self.has_free_freeze(**t)) {
            return self.mixed_use_error(&stmt, *t, "write out `freeze` and `thaw`, or use a local");
        }
        let mut changes = StateChanges::default();
        for (t, state) in &first.states {
            changes.0.extend(self.change_state(&[*t], *state).0);
        }
        let initial_states = self.states.clone();
        let rebuilt = stmt.map_children::<Error>(&mut |s| {
            let inner = self.stmt(s)?;
            let mut end = Vec::new();
            for (t, state) in &initial_states {
                end.extend(self.change_state(&[*t], *state).0);
            }
            self.states.retain(|t, _| initial_states.contains_key(t));
            Ok(Stmt::block([inner].into_iter().chain(end)))
        })?;
        Ok(changes.before(rebuilt))
    }

    fn change_state(&mut self, tensors: &[TensorId], to: WriteState) -> StateChanges {
        let mut changes = StateChanges::default();
        for &t in tensors {
            if let Some(state) = self.states.get_mut(&t).filter(|l| **l != to) {
                *state = to;
                changes.0.push(if to == WriteState::Frozen { Stmt::Freeze(t) } else { Stmt::Thaw(t) });
            }
        }
        changes
    }

    /// Returns whether freezing the tensor costs nothing.
    fn has_free_freeze(&self, t: TensorId) -> bool {
        !self.program.tensors[t.index()].is_looked_up()
    }

    fn mixed_use_error(&self, stmt: &Stmt, t: TensorId, next: &str) -> Result<Stmt, Error> {
        let name = &self.program.tensors[t.index()].name;
        let at = location(self.program, &[stmt]);
        let what = format!("`{name}` is both read and written in one scope; {next}");
        Err(Error::InvalidProgram { rule: ProgramRule::Lifecycle, at, what })
    }
}

/// Freezes and thaws to put before a statement.
#[derive(Default)]
struct StateChanges(Vec<Stmt>);

impl StateChanges {
    fn before(self, stmt: Stmt) -> Stmt {
        Stmt::block(self.0.into_iter().chain([stmt]))
    }
}

/// The first use of each tensor in a statement, and the tensors that are both read and written
/// without a freeze or thaw between.
#[derive(Default)]
struct FirstUses {
    states: BTreeMap<TensorId, WriteState>,
    /// The state after the last use or change of state.
    last_states: BTreeMap<TensorId, WriteState>,
    mixed_uses: BTreeSet<TensorId>,
}

impl FirstUses {
    fn visit(&mut self, stmt: &Stmt) {
        for t in stmt.direct_reads() {
            self.record_use(t, WriteState::Frozen);
        }
        match stmt {
            Stmt::Assign { lhs: Access { tensor, .. }, .. } => self.record_use(*tensor, WriteState::Writable),
            Stmt::Declare(t) => drop(self.last_states.insert(*t, WriteState::Writable)),
            // A freeze needs a writable tensor, and a thaw needs a frozen tensor.
            Stmt::Freeze(t) => self.record_change(*t, WriteState::Writable, WriteState::Frozen),
            Stmt::Thaw(t) => self.record_change(*t, WriteState::Frozen, WriteState::Writable),
            Stmt::Swap(t, u) => [t, u].into_iter().for_each(|t| self.record_use(*t, WriteState::Frozen)),
            _ => {}
        }
        for s in stmt.children() {
            self.visit(s);
        }
    }

    fn record_use(&mut self, t: TensorId, state: WriteState) {
        self.states.entry(t).or_insert(state);
        if self.last_states.insert(t, state).is_some_and(|previous| previous != state) {
            self.mixed_uses.insert(t);
        }
    }

    fn record_change(&mut self, t: TensorId, from: WriteState, to: WriteState) {
        self.record_use(t, from);
        self.last_states.insert(t, to);
    }
}
