//! Barriers between conflicting accesses to one array by different lanes.
//!
//! Outside spread loops every lane evaluates conditions and assignments, but the first lane alone
//! performs a store and evaluates its operands. A barrier is required between a store and a later
//! access by another lane, and between a read and a later store by another lane. A barrier is
//! placed as late as possible, right before the statement of the second access. If the second
//! access is in the condition that a `while` evaluates after a round, the barrier is placed at the
//! end of the round. The pass compares arrays only, not elements.
//!
//! The accesses of each statement are collected once. Then a data-flow analysis places the
//! barriers. The analysis of a loop is repeated until the accesses pending before its rounds no
//! longer grow. Last, the barriers are inserted.

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

/// The accesses to each array: those since the last barrier, or those of one statement.
#[derive(Clone, PartialEq, Eq)]
struct Pending(Vec<Accesses>);

impl Pending {
    fn conflicts_with(&self, next: &Pending) -> bool {
        self.0.iter().zip(&next.0).any(|(a, b)| a.conflicts_with(*b))
    }

    fn clear(&mut self) {
        self.0.fill(Accesses::default());
    }

    fn union(&self, other: &Pending) -> Pending {
        Pending(self.0.iter().zip(&other.0).map(|(a, b)| a.union(*b)).collect())
    }
}

/// Inserts the barriers that a team of several lanes requires.
pub(super) fn with_barriers(function: &Function, body: Vec<Stmt>) -> Vec<Stmt> {
    let reader = AccessReader { function };
    let mut steps = reader.steps(&body);
    place_barriers(&mut steps, reader.no_accesses());
    insert_barriers(body, steps)
}

/// The accesses of a statement, and whether a barrier goes before it.
struct Step {
    /// The accesses in the condition or the bounds of the statement; all accesses, if the statement
    /// is analyzed as a whole.
    first: Pending,
    kind: StepKind,
    barrier: bool,
}

enum StepKind {
    /// No barrier goes into the statement.
    Plain,
    /// A barrier, or a sort, which begins with a barrier before it reads its bounds.
    Barrier,
    /// A swap exchanges addresses only, so it leaves no accesses pending.
    Swap,
    If([Vec<Step>; 2]),
    Loop(LoopStep),
}

struct LoopStep {
    body: Vec<Step>,
    /// The accesses of the condition that a `while` evaluates after each round; empty for a `for`.
    cond: Pending,
    /// The accesses that may be pending at a `break`: all accesses in the body, since the `break`
    /// may stand anywhere. Empty if there is no `break`.
    at_break: Pending,
    /// True if a barrier goes to the end of the body.
    barrier: bool,
    solution: Option<LoopSolution>,
}

/// Accesses pending around a loop. The solution is kept because loops around this one are analyzed
/// repeatedly, mostly with the same pending accesses.
struct LoopSolution {
    /// The accesses pending before the first round, including those of the condition or the bounds.
    before: Pending,
    /// The accesses that may be pending before a round, the first one or a later one.
    each_round: Pending,
    after: Pending,
}

/// A reader that collects the accesses of a function's statements.
struct AccessReader<'f> {
    function: &'f Function,
}

impl AccessReader<'_> {
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

    fn steps(&self, body: &[Stmt]) -> Vec<Step> {
        body.iter().map(|stmt| self.step(stmt)).collect()
    }

    fn step(&self, stmt: &Stmt) -> Step {
        let (first, kind) = match stmt {
            Stmt::If { cond, then, other } => {
                (self.reads_of(&[cond]), StepKind::If([self.steps(then), self.steps(other)]))
            }
            Stmt::While { cond, body } => {
                let first = self.reads_of(&[cond]);
                let rounds = self.loop_step(body, first.clone());
                (first, StepKind::Loop(rounds))
            }
            Stmt::For { lo, hi, body, .. } => {
                (self.reads_of(&[lo, hi]), StepKind::Loop(self.loop_step(body, self.no_accesses())))
            }
            Stmt::Extension(TeamStmt::Barrier) | Stmt::Sort { .. } | Stmt::SortBy { .. } => {
                (self.no_accesses(), StepKind::Barrier)
            }
            Stmt::Swap(..) => (self.accesses_of([stmt]), StepKind::Swap),
            _ => (self.accesses_of([stmt]), StepKind::Plain),
        };
        Step { first, kind, barrier: false }
    }

    fn loop_step(&self, body: &[Stmt], cond: Pending) -> LoopStep {
        let breaks = body.iter().any(|s| s.any(&mut |s| matches!(s, Stmt::Break)));
        let at_break = if breaks { self.accesses_of(body) } else { self.no_accesses() };
        LoopStep { body: self.steps(body), cond, at_break, barrier: false, solution: None }
    }

    fn accesses_of<'s>(&self, stmts: impl IntoIterator<Item = &'s Stmt>) -> Pending {
        let mut found = self.no_accesses();
        stmts.into_iter().for_each(|s| self.add_accesses(s, &mut found));
        found
    }
}

/// Places barriers in a block, given the accesses pending before the block; returns the accesses
/// pending after the block.
fn place_barriers(steps: &mut [Step], mut pending: Pending) -> Pending {
    for Step { first, kind, barrier } in steps {
        *barrier = pending.conflicts_with(first);
        if *barrier || matches!(kind, StepKind::Barrier) {
            pending.clear();
        }
        match kind {
            StepKind::Plain => pending = pending.union(first),
            // If accesses to the swapped arrays were pending, a barrier now stands before the swap.
            StepKind::Barrier | StepKind::Swap => {}
            StepKind::If([then, other]) => {
                pending = pending.union(first);
                pending = place_barriers(then, pending.clone()).union(&place_barriers(other, pending));
            }
            StepKind::Loop(rounds) => pending = rounds.place_barriers(pending.union(first)),
        }
    }
    pending
}

impl LoopStep {
    /// Places barriers in the rounds of a loop. Accesses pending after a round are pending before
    /// the next.
    fn place_barriers(&mut self, before: Pending) -> Pending {
        if let Some(LoopSolution { before: known, each_round, after }) = &self.solution
            && (before == *known || before == *each_round)
        {
            return after.clone();
        }
        let mut entry = before.clone();
        loop {
            let mut pending = place_barriers(&mut self.body, entry.clone());
            self.barrier = pending.conflicts_with(&self.cond);
            if self.barrier {
                pending.clear();
            }
            let next = entry.union(&pending).union(&self.cond);
            if next == entry {
                break;
            }
            entry = next;
        }
        let after = entry.union(&self.at_break);
        self.solution = Some(LoopSolution { before, each_round: entry, after: after.clone() });
        after
    }

    /// Inserts the barriers that have been placed into the body of the loop.
    fn insert_barriers(self, body: Vec<Stmt>) -> Vec<Stmt> {
        let mut body = insert_barriers(body, self.body);
        if self.barrier {
            body.push(Stmt::Extension(TeamStmt::Barrier));
        }
        body
    }
}

/// Inserts the barriers that have been placed into a block.
fn insert_barriers(body: Vec<Stmt>, steps: Vec<Step>) -> Vec<Stmt> {
    let mut out = Vec::with_capacity(body.len());
    for (stmt, step) in body.into_iter().zip(steps) {
        if step.barrier {
            out.push(Stmt::Extension(TeamStmt::Barrier));
        }
        out.push(match (stmt, step.kind) {
            (Stmt::If { cond, then, other }, StepKind::If([in_then, in_other])) => {
                Stmt::If { cond, then: insert_barriers(then, in_then), other: insert_barriers(other, in_other) }
            }
            (Stmt::While { cond, body }, StepKind::Loop(step)) => {
                Stmt::While { cond, body: step.insert_barriers(body) }
            }
            (Stmt::For { var, lo, hi, body }, StepKind::Loop(step)) => {
                Stmt::For { var, lo, hi, body: step.insert_barriers(body) }
            }
            (stmt, _) => stmt,
        });
    }
    out
}
