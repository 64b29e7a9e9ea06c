//! The verifier of grids, which checks these rules and no others:
//!
//! 1. The body of the grid, converted to the statements that a single lane runs, equals the body of
//!    its function. The function passes the verifier of Assembly.
//! 2. There are as many memory spaces as buffers, and exactly the inputs have
//!    [`MemorySpace::Input`]. The number of lanes of a team is a power of two up to 256.
//! 3. Outside spread loops only the first lane stores; inside spread loops each lane stores.
//!    Measured and unused buffers are neither loaded from nor stored into.
//! 4. The rounds of a spread loop are independent apart from its folds and appends. This rule
//!    assumes that the coordinates in [`Grid::list_coordinates`] are unique. The bounds read
//!    nothing that the loop stores. Each fold starts from the identity of its operator, and every
//!    local carried from round to round is a fold or a counter. A spread loop contains no other
//!    spread loop, no barrier, sort, swap or return, and no growth other than to append. The loop
//!    declares exactly the counters at which its rounds append.
//! 5. Atomic operations act on shared integers of 32 or 64 bits, by operators whose order does not
//!    matter, and nothing else accesses these buffers.
//! 6. Swaps exchange windows of one memory space; only windows are sorted. Windows are buffers with
//!    [`MemorySpace::Chunk`] or [`MemorySpace::Team`].
//! 7. Barriers stand wherever they are required; a team of one lane has no barriers and no spread
//!    loops.
//! 8. Outside spread loops the first lane polls for cancellation for all; in a spread loop each
//!    lane polls, at the start of a round. If rounds append, the first lane polls for all lanes at
//!    the start of the body.
//! 9. The bounds of sections are assigned by top-level statements of the body.

use super::appends::appends_of_rounds;
use super::barriers::with_barriers;
use super::independence::{RoundFacts, count_reads};
use super::map::{atomic_op, can_spread};
use super::nodes::{ActiveLanes, Grid, MemorySpace, Stmt, TeamStmt, to_serial};
use super::rounds::{coordinates_of, folds_of_rounds};
use redpoll_compiler::assembly::{self, Buffer, BufferRole, Expr, RuleViolation};
use redpoll_logic::FloatMode;

/// Checks the rules of the module documentation; returns the violations, none if all rules hold.
pub fn verify(grid: &Grid) -> Vec<RuleViolation> {
    let mut faults = assembly::verify(&grid.function);
    let mut fault = |message: &str| faults.push(RuleViolation { at: "grid".into(), message: message.into() });
    if to_serial(&grid.body) != grid.function.body {
        fault("the body of the grid differs from the body of its function");
    }
    if grid.spaces.len() != grid.function.buffers.len() {
        fault("the numbers of memory spaces and of buffers differ");
        return faults;
    }
    if !grid.lanes.is_power_of_two() || grid.lanes > super::MAX_TEAM_LANES {
        fault("the number of lanes of a team is not a power of two up to 256");
    }
    let role = |space: MemorySpace| if space == MemorySpace::Input { BufferRole::Input } else { BufferRole::Owned };
    if grid.function.buffers.iter().zip(&grid.spaces).any(|(decl, space)| decl.role != role(*space)) {
        fault("a buffer is in the memory space of inputs but is not an input, or the reverse");
    }
    if !faults.is_empty() {
        return faults;
    }
    let reads = count_reads(&grid.function, &grid.function.body);
    let mut checker = GridChecker { grid, reads, path: Vec::new(), appending: false, faults };
    checker.block("body", &grid.body, ActiveLanes::Lead);
    checker.check_barriers();
    checker.faults
}

struct GridChecker<'g> {
    grid: &'g Grid,
    reads: Vec<u32>,
    path: Vec<String>,
    /// Set inside a spread loop whose rounds append.
    appending: bool,
    faults: Vec<RuleViolation>,
}

impl GridChecker<'_> {
    fn fault(&mut self, message: impl Into<String>) {
        self.faults.push(RuleViolation { at: self.path.join("."), message: message.into() });
    }

    fn block(&mut self, name: &str, body: &[Stmt], expected: ActiveLanes) {
        self.path.push(name.into());
        for (k, stmt) in body.iter().enumerate() {
            self.path.push(k.to_string());
            self.stmt(stmt, expected);
            self.path.pop();
        }
        self.path.pop();
    }

    fn space(&self, buffer: Buffer) -> MemorySpace {
        self.grid.spaces[buffer.index()]
    }

    fn name(&self, buffer: Buffer) -> String {
        self.grid.function.buffers[buffer.index()].name.clone()
    }

    fn check_exprs(&mut self, exprs: &[&Expr]) {
        for e in exprs {
            let mut measured = None;
            e.any(&mut |e| {
                if let Expr::Load { buffer, .. } = e
                    && !self.space(*buffer).has_memory()
                {
                    measured = Some(*buffer);
                }
                measured.is_some()
            });
            if let Some(buffer) = measured {
                let name = self.name(buffer);
                self.fault(format!("load from `{name}`, which has no memory"));
            }
        }
    }

    fn check_store(&mut self, buffer: Buffer, found: ActiveLanes, expected: ActiveLanes) {
        if found != expected {
            let name = self.name(buffer);
            self.fault(format!("a store into `{name}` by {}, expected {}", lanes(found), lanes(expected)));
        }
        if !self.space(buffer).has_memory() {
            let name = self.name(buffer);
            self.fault(format!("store into `{name}`, which has no memory"));
        }
    }

    fn reject_in_spread(&mut self, what: &str, expected: ActiveLanes) {
        if expected == ActiveLanes::Each {
            self.fault(format!("{what} in a spread loop, whose lanes run independently"));
        }
    }

    fn check_windows(&mut self, what: &str, buffers: &[Buffer]) {
        for buffer in buffers {
            if !matches!(self.space(*buffer), MemorySpace::Chunk | MemorySpace::Team) {
                let name = self.name(*buffer);
                self.fault(format!("{what} of `{name}`, which is not a window"));
            }
        }
    }

    fn stmt(&mut self, stmt: &Stmt, expected: ActiveLanes) {
        match stmt {
            Stmt::Assign(_, e) => self.check_exprs(&[e]),
            // The path of a top-level statement has two components: `body` and the statement's
            // number.
            Stmt::Extension(TeamStmt::Section(..)) if self.path.len() > 2 => {
                self.fault("the bounds of a section are assigned inside another statement");
            }
            Stmt::Extension(TeamStmt::Section(..)) => {}
            Stmt::Store { active: found, buffer, at, value } => {
                self.check_exprs(&[at, value]);
                self.check_store(*buffer, *found, expected);
            }
            Stmt::Extension(TeamStmt::Atomic { active: found, buffer, at, value, op }) => {
                self.check_exprs(&[at, value]);
                self.check_store(*buffer, *found, expected);
                if self.space(*buffer) != MemorySpace::Shared || atomic_op(&self.grid.function, *buffer) != Some(*op) {
                    let name = self.name(*buffer);
                    self.fault(format!("expected atomic operations by one operator as the only accesses to `{name}`"));
                }
            }
            Stmt::If { cond, then, other } => {
                self.check_exprs(&[cond]);
                self.block("then", then, expected);
                self.block("else", other, expected);
            }
            Stmt::While { cond, body } => {
                self.check_exprs(&[cond]);
                self.block("while", body, expected);
            }
            Stmt::For { lo, hi, body, .. } => {
                self.check_exprs(&[lo, hi]);
                self.block("for", body, expected);
            }
            Stmt::Extension(TeamStmt::Spread { var, lo, hi, folds, counters, body }) => {
                self.check_exprs(&[lo, hi]);
                self.reject_in_spread("a spread loop", expected);
                let atomic = |b: Buffer| is_atomic(&self.grid.body, b);
                let (function, rounds) = (&self.grid.function, to_serial(body));
                let found = folds_of_rounds(function, &rounds, &self.reads, FloatMode::default());
                if folds.iter().any(|fold| !found.contains(fold)) {
                    self.fault("a spread loop declares a fold that its rounds do not perform, or a wrong identity");
                }
                let appends = appends_of_rounds(function, &rounds).filter(|_| !counters.is_empty());
                if appends.as_ref().map_or(&[][..], |appends| &appends.counters) != counters {
                    self.fault("the counters of a spread loop differ from those at which its rounds append");
                }
                let rounds = (*var, lo, hi, &rounds[..]);
                let facts = RoundFacts {
                    folds,
                    coordinates: coordinates_of(&self.grid.list_coordinates, *var),
                    appends: appends.as_ref(),
                    atomic: &atomic,
                };
                if self.grid.lanes == 1 || !can_spread(function, rounds, &self.reads, facts) {
                    self.fault("the rounds of a spread loop are not proved independent");
                }
                if body.iter().skip(1).any(|s| s.any(&mut is_poll)) {
                    self.fault("a lane polls for cancellation in the middle of a round");
                }
                // A poll for the whole team is not part of the rounds.
                let polling = body.first().filter(|s| !counters.is_empty() && is_poll(s));
                polling.into_iter().for_each(|poll| self.stmt(poll, ActiveLanes::Lead));
                self.appending = !counters.is_empty();
                self.block("spread", &body[usize::from(polling.is_some())..], ActiveLanes::Each);
                self.appending = false;
            }
            Stmt::Lanes(fold) => self.check_exprs(&[&fold.lo, &fold.hi, &fold.value]),
            Stmt::Extension(TeamStmt::Poll(found)) if *found != expected => {
                self.fault(format!("a poll for cancellation by {}, expected {}", lanes(*found), lanes(expected)));
            }
            Stmt::Extension(TeamStmt::Poll(_)) => {}
            Stmt::Extension(TeamStmt::Barrier) => self.reject_in_spread("a barrier", expected),
            Stmt::Grow { len, .. } => {
                self.check_exprs(&[len]);
                if !self.appending {
                    self.reject_in_spread("growth", expected);
                }
            }
            Stmt::Sort { buffer, lo, hi } => {
                self.check_exprs(&[lo, hi]);
                self.reject_in_spread("a sort", expected);
                self.check_windows("a sort", &[*buffer]);
            }
            Stmt::SortBy { perm, major, minor, lo, hi } => {
                self.check_exprs(&[lo, hi]);
                self.reject_in_spread("a sort", expected);
                self.check_windows("a sort", &[*perm, *major, *minor]);
            }
            Stmt::Swap(a, b) => {
                self.reject_in_spread("a swap", expected);
                self.check_windows("a swap", &[*a, *b]);
                if self.space(*a) != self.space(*b) {
                    self.fault("a swap of windows in different memory spaces");
                }
            }
            Stmt::Return(_) => self.reject_in_spread("a return", expected),
            Stmt::Break => {}
        }
    }

    fn check_barriers(&mut self) {
        let count = |body: &[Stmt]| {
            let mut count = 0;
            body.iter().for_each(|s| {
                s.any(&mut |s| {
                    count += u32::from(*s == Stmt::Extension(TeamStmt::Barrier));
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

/// Returns the name of the lanes in messages.
fn lanes(active: ActiveLanes) -> &'static str {
    match active {
        ActiveLanes::Lead => "the first lane",
        ActiveLanes::Each => "each lane",
    }
}

fn is_poll(stmt: &Stmt) -> bool {
    matches!(stmt, Stmt::Extension(TeamStmt::Poll(_)))
}

/// Returns whether atomic operations access a buffer.
fn is_atomic(body: &[Stmt], buffer: Buffer) -> bool {
    body.iter()
        .any(|s| s.any(&mut |s| matches!(s, Stmt::Extension(TeamStmt::Atomic { buffer: b, .. }) if *b == buffer)))
}
