//! The verifier of grids. It checks these rules and no others:
//!
//! 1. Read in order, the grid is its function, which passes the verifier of Assembly.
//! 2. There are as many places as buffers, and exactly the inputs have [`Place::Input`]. The lanes
//!    of a team are a power of two up to 256.
//! 3. Outside spread loops the first lane alone stores, inside them each lane. Measured buffers are
//!    not accessed.
//! 4. The rounds of a spread loop are independent apart from its folds, given that coordinates are
//!    unique where the grid says so, and the bounds read nothing that the loop stores. The loop
//!    folds from identities, and every local carried from round to round is folded. A spread loop
//!    contains neither another one nor anything that the team does together: barriers, growth,
//!    sorts, swaps, returns.
//! 5. Atomic operations act on shared integers of 32 or 64 bits, by operators whose order does not
//!    matter, and nothing else accesses these buffers.
//! 6. Swaps exchange windows of one place; only windows are sorted.
//! 7. Barriers stand wherever they are required; a team of one lane has no barriers and no spread
//!    loops.
//! 8. Outside spread loops the first lane polls for cancellation for all; in a spread loop each
//!    lane polls, at the start of a round.
//! 9. The bounds of sections are assigned by top-level statements of the body.

use super::barriers::with_barriers;
use super::independent::{Known, reads};
use super::map::{can_spread, folds};
use super::nodes::{Grid, Place, Stmt, Writer, serial};
use super::rounds::{coordinates_of, folds as folds_of_rounds};
use crate::assembly::{self, Buffer, BufferRole, Expr, Fault};
use redpoll_logic::FloatMode;

/// Checks the rules of the module documentation; returns the violations, none if all rules hold.
pub fn verify(grid: &Grid) -> Vec<Fault> {
    let mut faults = assembly::verify(&grid.function);
    let mut fault = |message: &str| faults.push(Fault { at: "grid".into(), message: message.into() });
    if serial(&grid.body) != grid.function.body {
        fault("the body of the grid is not that of its function");
    }
    if grid.places.len() != grid.function.buffers.len() {
        fault("there are not as many places as buffers");
        return faults;
    }
    if !grid.lanes.is_power_of_two() || grid.lanes > super::MOST_LANES {
        fault("the lanes of a team are no power of two up to 256");
    }
    let role = |place: Place| if place == Place::Input { BufferRole::Input } else { BufferRole::Owned };
    if grid.function.buffers.iter().zip(&grid.places).any(|(decl, place)| decl.role != role(*place)) {
        fault("inputs alone have the place of inputs");
    }
    if !faults.is_empty() {
        return faults;
    }
    let mut checker = Checker { grid, reads: reads(&grid.function, &grid.function.body), path: Vec::new(), faults };
    checker.block("body", &grid.body, Writer::Lead);
    checker.barriers();
    checker.faults
}

struct Checker<'g> {
    grid: &'g Grid,
    reads: Vec<u32>,
    path: Vec<String>,
    faults: Vec<Fault>,
}

impl Checker<'_> {
    fn fault(&mut self, message: impl Into<String>) {
        self.faults.push(Fault { at: self.path.join("."), message: message.into() });
    }

    fn block(&mut self, name: &str, body: &[Stmt], by: Writer) {
        self.path.push(name.into());
        for (k, stmt) in body.iter().enumerate() {
            self.path.push(k.to_string());
            self.stmt(stmt, by);
            self.path.pop();
        }
        self.path.pop();
    }

    fn place(&self, buffer: Buffer) -> Place {
        self.grid.places[buffer.index()]
    }

    fn name(&self, buffer: Buffer) -> String {
        self.grid.function.buffers[buffer.index()].name.clone()
    }

    fn exprs(&mut self, exprs: &[&Expr]) {
        for e in exprs {
            let mut measured = None;
            e.any(&mut |e| {
                if let Expr::Load { buffer, .. } = e
                    && self.place(*buffer) == Place::Measured
                {
                    measured = Some(*buffer);
                }
                measured.is_some()
            });
            if let Some(buffer) = measured {
                let name = self.name(buffer);
                self.fault(format!("load from `{name}`, which is only measured"));
            }
        }
    }

    fn writes(&mut self, buffer: Buffer, found: Writer, by: Writer) {
        if found != by {
            let name = self.name(buffer);
            let lanes = if by == Writer::Lead { "the first lane" } else { "each lane" };
            self.fault(format!("here {lanes} stores into `{name}`"));
        }
        if self.place(buffer) == Place::Measured {
            let name = self.name(buffer);
            self.fault(format!("store into `{name}`, which is only measured"));
        }
    }

    fn together(&mut self, what: &str, by: Writer) {
        if by == Writer::Each {
            self.fault(format!("{what} in a spread loop, where lanes go their own ways"));
        }
    }

    fn windows(&mut self, what: &str, buffers: &[Buffer]) {
        for buffer in buffers {
            if !matches!(self.place(*buffer), Place::Chunk | Place::Team) {
                let name = self.name(*buffer);
                self.fault(format!("{what} of `{name}`, which is no window"));
            }
        }
    }

    fn stmt(&mut self, stmt: &Stmt, by: Writer) {
        match stmt {
            Stmt::Assign(_, e) => self.exprs(&[e]),
            // The path of a top-level statement has two components: `body` and the statement's
            // number.
            Stmt::Section(..) if self.path.len() > 2 => {
                self.fault("the bounds of a section are taken within a statement");
            }
            Stmt::Section(..) => {}
            Stmt::Store { by: found, buffer, at, value } => {
                self.exprs(&[at, value]);
                self.writes(*buffer, *found, by);
            }
            Stmt::Atomic { by: found, buffer, at, value, op } => {
                self.exprs(&[at, value]);
                self.writes(*buffer, *found, by);
                if self.place(*buffer) != Place::Shared || folds(&self.grid.function, *buffer) != Some(*op) {
                    let name = self.name(*buffer);
                    self.fault(format!("`{name}` is not touched by one atomic operation alone"));
                }
            }
            Stmt::If { cond, then, other } => {
                self.exprs(&[cond]);
                self.block("then", then, by);
                self.block("else", other, by);
            }
            Stmt::While { cond, body } => {
                self.exprs(&[cond]);
                self.block("while", body, by);
            }
            Stmt::For { lo, hi, body, .. } => {
                self.exprs(&[lo, hi]);
                self.block("for", body, by);
            }
            Stmt::Spread { var, lo, hi, folds, body } => {
                self.exprs(&[lo, hi]);
                self.together("a spread loop", by);
                let atomic = |b: Buffer| is_atomic(&self.grid.body, b);
                let (function, rounds) = (&self.grid.function, serial(body));
                let known = folds_of_rounds(function, &rounds, &self.reads, FloatMode::default());
                if folds.iter().any(|fold| !known.contains(fold)) {
                    self.fault("a spread loop folds what it does not fold, or not from the identity");
                }
                let rounds = (*var, lo, hi, &rounds[..]);
                let known = Known { folds, distinct: coordinates_of(&self.grid.distinct, *var), atomic: &atomic };
                if self.grid.lanes == 1 || !can_spread(function, rounds, &self.reads, known) {
                    self.fault("the rounds of a spread loop are not known to be independent");
                }
                if body.iter().skip(1).any(|s| s.any(&mut |s| matches!(s, Stmt::Ask(_)))) {
                    self.fault("a lane asks in the middle of a round whether it is to end");
                }
                self.block("spread", body, Writer::Each);
            }
            Stmt::Lanes(fold) => self.exprs(&[&fold.lo, &fold.hi, &fold.value]),
            Stmt::Ask(found) if *found != by => {
                let lanes = if by == Writer::Lead { "the first lane" } else { "each lane" };
                self.fault(format!("here {lanes} asks whether the launch is to end"));
            }
            Stmt::Ask(_) => {}
            Stmt::Barrier => self.together("a barrier", by),
            Stmt::Grow { len, .. } => {
                self.exprs(&[len]);
                self.together("growth", by);
            }
            Stmt::Sort { buffer, lo, hi } => {
                self.exprs(&[lo, hi]);
                self.together("a sort", by);
                self.windows("a sort", &[*buffer]);
            }
            Stmt::SortBy { perm, major, minor, lo, hi } => {
                self.exprs(&[lo, hi]);
                self.together("a sort", by);
                self.windows("a sort", &[*perm, *major, *minor]);
            }
            Stmt::Swap(a, b) => {
                self.together("a swap", by);
                self.windows("a swap", &[*a, *b]);
                if self.place(*a) != self.place(*b) {
                    self.fault("windows of different places are swapped");
                }
            }
            Stmt::Return(_) => self.together("a return", by),
            Stmt::Break => {}
        }
    }

    fn barriers(&mut self) {
        let count = |body: &[Stmt]| {
            let mut count = 0;
            body.iter().for_each(|s| {
                s.any(&mut |s| {
                    count += u32::from(*s == Stmt::Barrier);
                    false
                });
            });
            count
        };
        let found = count(&self.grid.body);
        let grid = self.grid;
        if grid.lanes == 1 && found > 0
            || grid.lanes > 1 && count(&with_barriers(&grid.function, grid.body.clone())) > found
        {
            self.fault(if grid.lanes == 1 { "a barrier in a team of one lane" } else { "a barrier is missing" });
        }
    }
}

/// Returns whether atomic operations access a buffer.
fn is_atomic(body: &[Stmt], buffer: Buffer) -> bool {
    body.iter().any(|s| s.any(&mut |s| matches!(s, Stmt::Atomic { buffer: b, .. } if *b == buffer)))
}
