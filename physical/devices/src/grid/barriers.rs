//! Barriers between conflicting accesses to one array by different lanes.
//!
//! Outside spread loops every lane evaluates conditions and assignments, but only the first lane
//! evaluates the operands of a store and stores. A barrier is required between a store and a later
//! access by another lane, and between a read and a later store by another lane. It is placed as
//! late as possible: right before the second access. The pass compares arrays only, not elements.

use super::nodes::{ActiveLanes, Stmt, TeamStmt};
use redpoll_compiler::assembly::{Buffer, BufferRole, Expr, Function};

/// The kinds of accesses to one array: reads and writes, by the first lane or by each lane.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
struct Accesses {
    lead_reads: bool,
    lead_writes: bool,
    each_reads: bool,
    each_writes: bool,
}

impl Accesses {
    fn conflicts_with(self, next: Accesses) -> bool {
        let Accesses { lead_reads, lead_writes, each_reads, each_writes } = self;
        let reads = next.lead_reads || next.each_reads;
        let writes = next.lead_writes || next.each_writes;
        each_writes && (reads || writes)
            || each_reads && writes
            || lead_writes && (next.each_reads || next.each_writes)
            || lead_reads && next.each_writes
    }

    fn union(self, other: Accesses) -> Accesses {
        Accesses {
            lead_reads: self.lead_reads || other.lead_reads,
            lead_writes: self.lead_writes || other.lead_writes,
            each_reads: self.each_reads || other.each_reads,
            each_writes: self.each_writes || other.each_writes,
        }
    }
}

/// The accesses to each array, since the last barrier or by one statement.
#[derive(Clone, PartialEq, Eq)]
struct Pending(Vec<Accesses>);

impl Pending {
    fn conflicts_with(&self, next: &Pending) -> bool {
        self.0.iter().zip(&next.0).any(|(a, b)| a.conflicts_with(*b))
    }

    fn union(&self, other: &Pending) -> Pending {
        Pending(self.0.iter().zip(&other.0).map(|(a, b)| a.union(*b)).collect())
    }
}

/// Inserts the barriers that a team of several lanes requires.
pub(super) fn with_barriers(function: &Function, body: Vec<Stmt>) -> Vec<Stmt> {
    let pass = BarrierPass { function };
    let none = pass.no_accesses();
    pass.block(body, none).0
}

struct BarrierPass<'f> {
    function: &'f Function,
}

impl BarrierPass<'_> {
    fn no_accesses(&self) -> Pending {
        Pending(vec![Accesses::default(); self.function.buffers.len()])
    }

    fn add_reads(&self, e: &Expr, active: ActiveLanes, into: &mut Pending) {
        e.any(&mut |e| {
            if let Expr::Load { buffer, .. } = e
                && self.function.buffers[buffer.index()].role == BufferRole::Owned
            {
                let accesses = &mut into.0[buffer.index()];
                match active {
                    ActiveLanes::Lead => accesses.lead_reads = true,
                    ActiveLanes::Each => accesses.each_reads = true,
                }
            }
            false
        });
    }

    fn reads_of(&self, exprs: &[&Expr]) -> Pending {
        let mut found = self.no_accesses();
        exprs.iter().for_each(|e| self.add_reads(e, ActiveLanes::Each, &mut found));
        found
    }

    fn add_store(&self, active: ActiveLanes, buffer: Buffer, (at, value): (&Expr, &Expr), into: &mut Pending) {
        self.add_reads(at, active, into);
        self.add_reads(value, active, into);
        match active {
            ActiveLanes::Lead => into.0[buffer.index()].lead_writes = true,
            ActiveLanes::Each => into.0[buffer.index()].each_writes = true,
        }
    }

    /// Adds the accesses of a statement and of its bodies to `into`.
    fn add_accesses(&self, stmt: &Stmt, into: &mut Pending) {
        match stmt {
            Stmt::Store { active, buffer, at, value } => self.add_store(*active, *buffer, (at, value), into),
            // Atomic operations are the only accesses to their buffers.
            Stmt::Extension(TeamStmt::Atomic { active, at, value, .. }) => {
                self.add_reads(at, *active, into);
                self.add_reads(value, *active, into);
            }
            Stmt::Assign(_, e) | Stmt::If { cond: e, .. } | Stmt::While { cond: e, .. } | Stmt::Grow { len: e, .. } => {
                self.add_reads(e, ActiveLanes::Each, into);
            }
            Stmt::For { lo, hi, .. } | Stmt::Extension(TeamStmt::Spread { lo, hi, .. }) => {
                self.add_reads(lo, ActiveLanes::Each, into);
                self.add_reads(hi, ActiveLanes::Each, into);
            }
            Stmt::Lanes(fold) => {
                [&fold.lo, &fold.hi, &fold.value].iter().for_each(|e| self.add_reads(e, ActiveLanes::Each, into));
            }
            // Sorts bring their own barriers.
            Stmt::Sort { .. } | Stmt::SortBy { .. } => {}
            Stmt::Swap(a, b) => [a, b].iter().for_each(|b| into.0[b.index()].each_writes = true),
            Stmt::Break | Stmt::Return(_) => {}
            Stmt::Extension(TeamStmt::Section(..) | TeamStmt::Poll(_) | TeamStmt::Barrier) => {}
        }
        stmt.bodies().into_iter().flatten().for_each(|s| self.add_accesses(s, into));
    }

    /// Inserts barriers into a block, given the accesses pending before it; also returns the
    /// accesses pending after it.
    fn block(&self, body: Vec<Stmt>, mut pending: Pending) -> (Vec<Stmt>, Pending) {
        let mut out = Vec::new();
        for stmt in body {
            let mut first = match &stmt {
                Stmt::If { cond: e, .. } | Stmt::While { cond: e, .. } => self.reads_of(&[e]),
                Stmt::For { lo, hi, .. } => self.reads_of(&[lo, hi]),
                _ => {
                    let mut all = self.no_accesses();
                    self.add_accesses(&stmt, &mut all);
                    all
                }
            };
            // A sort begins with a barrier, before it reads its bounds.
            if matches!(stmt, Stmt::Extension(TeamStmt::Barrier) | Stmt::Sort { .. } | Stmt::SortBy { .. }) {
                (pending, first) = (self.no_accesses(), self.no_accesses());
            }
            if pending.conflicts_with(&first) {
                out.push(Stmt::Extension(TeamStmt::Barrier));
                pending = self.no_accesses();
            }
            let stmt = match stmt {
                Stmt::If { cond, then, other } => {
                    pending = pending.union(&first);
                    let (then, after_then) = self.block(then, pending.clone());
                    let (other, after_other) = self.block(other, pending);
                    pending = after_then.union(&after_other);
                    Stmt::If { cond, then, other }
                }
                Stmt::While { cond, body } => {
                    let body = self.rounds(&body, &first, &mut pending);
                    Stmt::While { cond, body }
                }
                Stmt::For { var, lo, hi, body } => {
                    pending = pending.union(&first);
                    let body = self.rounds(&body, &self.no_accesses(), &mut pending);
                    Stmt::For { var, lo, hi, body }
                }
                // A swap exchanges addresses only, so it leaves no accesses pending. Earlier
                // accesses to its arrays caused a barrier above.
                Stmt::Swap(a, b) => Stmt::Swap(a, b),
                stmt => {
                    pending = pending.union(&first);
                    stmt
                }
            };
            out.push(stmt);
        }
        (out, pending)
    }

    /// Inserts barriers into the rounds of a loop whose condition has the accesses `cond`. Accesses
    /// pending after a round are pending before the next.
    fn rounds(&self, body: &[Stmt], cond: &Pending, pending: &mut Pending) -> Vec<Stmt> {
        let mut entry = pending.union(cond);
        loop {
            let (mut rounds, mut after) = self.block(body.to_vec(), entry.clone());
            if after.conflicts_with(cond) {
                rounds.push(Stmt::Extension(TeamStmt::Barrier));
                after = self.no_accesses();
            }
            let next = entry.union(&after).union(cond);
            if next == entry {
                // A `break` may end the loop after any part of a round.
                let mut all = self.no_accesses();
                if rounds.iter().any(|s| s.any(&mut |s| matches!(s, Stmt::Break))) {
                    rounds.iter().for_each(|s| self.add_accesses(s, &mut all));
                }
                *pending = entry.union(&all);
                return rounds;
            }
            entry = next;
        }
    }
}
