//! The body of a grid as steps with jumps, so that lanes can be suspended between any two steps.

use super::batches::{BatchStep, Batches};
use crate::grid::{ActiveLanes, Grid, MemorySpace, RoundFold, SectionBound, Stmt, TeamStmt, WARP};
use redpoll_compiler::assembly::eval::{BinaryFn, binary_fn};
use redpoll_compiler::assembly::{Buffer, Function, LaneFold, ResolvedExpr, Status};

/// A step of a lane. A target of a jump is an index into the list of steps.
pub(super) enum LaneStep {
    Assign(usize, ResolvedExpr),
    Section(usize, SectionBound),
    Store(ActiveLanes, Buffer, ResolvedExpr, ResolvedExpr),
    Atomic(ActiveLanes, Buffer, ResolvedExpr, BinaryFn, ResolvedExpr),
    /// Jumps if the condition is false.
    JumpUnless(ResolvedExpr, usize),
    Jump(usize),
    /// Enters the first round of a loop, or jumps past the loop. `end` is the local with the upper
    /// bound.
    BeginLoop {
        var: usize,
        end: usize,
        lo: ResolvedExpr,
        hi: ResolvedExpr,
        rounds: RoundSet,
        after: usize,
    },
    /// Enters the next round of a loop, if there is one.
    NextRound {
        var: usize,
        end: usize,
        rounds: RoundSet,
        body: usize,
    },
    /// A step of a spread loop whose rounds append.
    Batch(Batches, BatchStep),
    Fold(FoldStep),
    /// Publishes the lane's partial result of a fold, in a team of several warps.
    PublishFold(FoldStep),
    /// Combines the published partial results.
    CombineFold(FoldStep),
    /// Saves the accumulators of a lane and sets them to identities.
    SaveAccumulators(Vec<FoldAccumulator>),
    /// Combines the accumulators of the lanes, in a team of at most one warp.
    CombineAccumulators(Vec<FoldAccumulator>),
    /// Publishes the lane's accumulator, in a team of several warps.
    PublishAccumulator(FoldAccumulator),
    /// Combines the published accumulators.
    CombineAccumulator(FoldAccumulator),
    Barrier,
    Poll(PollScope),
    /// Ends the chunk if a lane has left the loop because the launch is cancelled.
    CheckCancelled,
    Grow(Buffer, ResolvedExpr),
    /// Grows a window that may be in the memory of a block. If the window has to move outside, the
    /// steps of the move follow.
    GrowOrMove {
        buffer: Buffer,
        len: ResolvedExpr,
        after: usize,
    },
    /// Initializes the elements of a share, each by one lane.
    InitializeShare(Buffer),
    /// Copies the elements of a share to the window outside, each by one lane.
    CopyShare(Buffer),
    /// Replaces the share by the window outside.
    MoveOut(Buffer),
    Sort(Buffer, ResolvedExpr, ResolvedExpr),
    SortBy([Buffer; 3], ResolvedExpr, ResolvedExpr),
    Swap(Buffer, Buffer),
    Return(Status),
}

/// The lanes that a poll stops if the launch is cancelled.
#[derive(Clone, Copy)]
pub(super) enum PollScope {
    /// All lanes of the team, which end together.
    Team,
    /// The polling lane alone, which jumps to the target.
    Round(usize),
    /// The polling lane alone, which ends.
    Lane,
}

/// The rounds of a loop that a lane runs.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum RoundSet {
    All,
    Own,
}

/// A fold in lanes; inside a spread loop each lane runs the whole fold.
pub(super) struct FoldStep {
    pub(super) acc: usize,
    pub(super) op: BinaryFn,
    pub identity: u64,
    pub(super) lanes: usize,
    pub(super) var: usize,
    pub(super) lo: ResolvedExpr,
    pub(super) hi: ResolvedExpr,
    pub(super) value: ResolvedExpr,
    pub(super) rounds: RoundSet,
}

/// An accumulator of a spread loop.
#[derive(Clone, Copy)]
pub(super) struct FoldAccumulator {
    pub(super) acc: usize,
    /// The local that saves the value from before the loop.
    pub(super) saved: usize,
    pub(super) op: BinaryFn,
    pub identity: u64,
}

const VERIFIED: &str = "the function was verified";

/// The body of a grid as steps.
pub(super) struct StepList {
    pub(super) steps: Vec<LaneStep>,
    /// The first step of the body, at which a team starts every chunk after its first. Earlier
    /// steps initialize shares; a team starts its first chunk at step 0, with these steps.
    pub(super) start: usize,
    /// Number of locals: the locals of the function, and locals added for the bounds of loops, for
    /// saved accumulators, and for batches.
    pub(super) locals: usize,
}

/// Translates a grid to steps.
pub(super) fn to_steps(grid: &Grid) -> StepList {
    let (function, spaces) = (&grid.function, &grid.spaces[..]);
    let locals = function.locals.len();
    let mut builder = StepBuilder {
        function,
        spaces,
        lanes: grid.lanes,
        steps: Vec::new(),
        locals,
        loops: Vec::new(),
        spread: false,
    };
    let team_buffers = (0..).map(Buffer).zip(spaces).filter(|(_, space)| **space == MemorySpace::Team);
    builder.steps.extend(team_buffers.map(|(buffer, _)| LaneStep::InitializeShare(buffer)));
    if !builder.steps.is_empty() {
        builder.steps.push(LaneStep::Barrier);
    }
    let start = builder.steps.len();
    builder.block(&grid.body);
    builder.steps.push(LaneStep::Return(Status::Done));
    StepList { steps: builder.steps, start, locals: builder.locals }
}

pub(super) struct StepBuilder<'f> {
    function: &'f Function,
    spaces: &'f [MemorySpace],
    lanes: u32,
    steps: Vec<LaneStep>,
    locals: usize,
    /// For each enclosing loop, the jumps that leave it.
    loops: Vec<Vec<usize>>,
    /// Set inside a spread loop.
    spread: bool,
}

impl StepBuilder<'_> {
    pub(super) fn block(&mut self, body: &[Stmt]) {
        body.iter().for_each(|s| self.stmt(s));
    }

    pub(super) fn node(&self, e: &redpoll_compiler::assembly::Expr) -> ResolvedExpr {
        ResolvedExpr::new(self.function, e)
    }

    /// Returns the index of the next step.
    pub(super) fn here(&self) -> usize {
        self.steps.len()
    }

    /// Adds a step; returns its index.
    pub(super) fn push(&mut self, step: LaneStep) -> usize {
        self.steps.push(step);
        self.steps.len() - 1
    }

    /// Adds a jump whose target is set later by `set_target`.
    pub(super) fn jump(&mut self) -> usize {
        self.push(LaneStep::Jump(usize::MAX))
    }

    /// Adds a local of the interpreter.
    pub(super) fn new_local(&mut self) -> usize {
        self.locals += 1;
        self.locals - 1
    }

    pub(super) fn set_target(&mut self, jump: usize) {
        let here = self.steps.len();
        match &mut self.steps[jump] {
            LaneStep::Jump(to) | LaneStep::JumpUnless(_, to) | LaneStep::Poll(PollScope::Round(to)) => *to = here,
            LaneStep::BeginLoop { after, .. } | LaneStep::GrowOrMove { after, .. } => *after = here,
            LaneStep::Batch(_, step) => *step.target().expect("the step has a target") = here,
            _ => unreachable!("only jumps have targets"),
        }
    }

    fn stmt(&mut self, stmt: &Stmt) {
        let op = match stmt {
            Stmt::Assign(local, value) => LaneStep::Assign(local.index(), self.node(value)),
            Stmt::Extension(TeamStmt::Section(local, bound)) => LaneStep::Section(local.index(), *bound),
            Stmt::Store { active, buffer, at, value } => {
                LaneStep::Store(*active, *buffer, self.node(at), self.node(value))
            }
            Stmt::Extension(TeamStmt::Atomic { active, buffer, at, op, value }) => {
                let prim = self.function.buffers[buffer.index()].value_prim();
                let op = binary_fn(*op, prim).expect(VERIFIED);
                LaneStep::Atomic(*active, *buffer, self.node(at), op, self.node(value))
            }
            Stmt::If { cond, then, other } => {
                let to_other = self.steps.len();
                self.steps.push(LaneStep::JumpUnless(self.node(cond), usize::MAX));
                self.block(then);
                let to_end = self.jump();
                self.set_target(to_other);
                self.block(other);
                return self.set_target(to_end);
            }
            Stmt::While { cond, body } => {
                let head = self.steps.len();
                self.steps.push(LaneStep::JumpUnless(self.node(cond), usize::MAX));
                self.loops.push(vec![head]);
                self.block(body);
                self.steps.push(LaneStep::Jump(head));
                return self.leave();
            }
            Stmt::For { var, lo, hi, body } => return self.rounds(var.index(), (lo, hi), body, RoundSet::All),
            Stmt::Extension(TeamStmt::Spread { var, lo, hi, folds, counters, body }) => {
                let accumulators: Vec<FoldAccumulator> = folds.iter().map(|fold| self.accumulator(fold)).collect();
                if !accumulators.is_empty() {
                    self.steps.push(LaneStep::SaveAccumulators(accumulators.clone()));
                }
                self.spread = true;
                match counters.is_empty() {
                    true => self.rounds(var.index(), (lo, hi), body, RoundSet::Own),
                    false => self.batches(var.index(), (lo, hi), counters, body),
                }
                self.spread = false;
                if body.contains(&Stmt::Extension(TeamStmt::Poll(ActiveLanes::Each))) {
                    self.steps.push(LaneStep::CheckCancelled);
                }
                match accumulators.is_empty() {
                    true => return,
                    false if self.lanes <= WARP => LaneStep::CombineAccumulators(accumulators),
                    false => {
                        let exchange = |accumulator| {
                            [
                                LaneStep::PublishAccumulator(accumulator),
                                LaneStep::Barrier,
                                LaneStep::CombineAccumulator(accumulator),
                                LaneStep::Barrier,
                            ]
                        };
                        return self.steps.extend(accumulators.into_iter().flat_map(exchange));
                    }
                }
            }
            Stmt::Break => {
                let jump = self.jump();
                self.loops.last_mut().expect(VERIFIED).push(jump);
                return;
            }
            Stmt::Lanes(fold) => {
                self.steps.push(LaneStep::Fold(self.fold(fold)));
                if self.lanes > WARP && !self.spread {
                    // Lanes of several warps exchange partial results between barriers. Lanes of
                    // one warp need no barriers.
                    let (publish, combine) =
                        (LaneStep::PublishFold(self.fold(fold)), LaneStep::CombineFold(self.fold(fold)));
                    self.steps.extend([publish, LaneStep::Barrier, combine, LaneStep::Barrier]);
                }
                return;
            }
            Stmt::Extension(TeamStmt::Barrier) => LaneStep::Barrier,
            Stmt::Extension(TeamStmt::Poll(ActiveLanes::Lead)) => LaneStep::Poll(PollScope::Team),
            Stmt::Extension(TeamStmt::Poll(ActiveLanes::Each)) if self.spread => {
                let jump = self.steps.len();
                self.loops.last_mut().expect(VERIFIED).push(jump);
                LaneStep::Poll(PollScope::Round(usize::MAX))
            }
            Stmt::Extension(TeamStmt::Poll(ActiveLanes::Each)) => LaneStep::Poll(PollScope::Lane),
            Stmt::Grow { buffer, len } if self.spaces[buffer.index()] == MemorySpace::Team => {
                let head = self.steps.len();
                self.steps.push(LaneStep::GrowOrMove { buffer: *buffer, len: self.node(len), after: usize::MAX });
                self.steps.extend([
                    LaneStep::Barrier,
                    LaneStep::CopyShare(*buffer),
                    LaneStep::Barrier,
                    LaneStep::MoveOut(*buffer),
                ]);
                return self.set_target(head);
            }
            Stmt::Grow { buffer, len } => LaneStep::Grow(*buffer, self.node(len)),
            Stmt::Sort { buffer, lo, hi } => LaneStep::Sort(*buffer, self.node(lo), self.node(hi)),
            Stmt::SortBy { perm, major, minor, lo, hi } => {
                LaneStep::SortBy([*perm, *major, *minor], self.node(lo), self.node(hi))
            }
            Stmt::Swap(a, b) => LaneStep::Swap(*a, *b),
            Stmt::Return(status) => LaneStep::Return(*status),
        };
        self.steps.push(op);
    }

    fn rounds(
        &mut self,
        var: usize,
        (lo, hi): (&redpoll_compiler::assembly::Expr, &redpoll_compiler::assembly::Expr),
        body: &[Stmt],
        rounds: RoundSet,
    ) {
        let end = self.new_local();
        let head = self.steps.len();
        self.steps.push(LaneStep::BeginLoop {
            var,
            end,
            lo: self.node(lo),
            hi: self.node(hi),
            rounds,
            after: usize::MAX,
        });
        self.loops.push(vec![head]);
        self.block(body);
        self.steps.push(LaneStep::NextRound { var, end, rounds, body: head + 1 });
        self.leave();
    }

    fn leave(&mut self) {
        for jump in self.loops.pop().expect("pushed before the body") {
            self.set_target(jump);
        }
    }

    fn accumulator(&mut self, fold: &RoundFold) -> FoldAccumulator {
        let saved = self.new_local();
        FoldAccumulator {
            acc: fold.acc.index(),
            saved,
            op: binary_fn(fold.op, self.function.locals[fold.acc.index()].prim).expect(VERIFIED),
            identity: fold.identity.to_bits().expect(VERIFIED),
        }
    }

    fn fold(&self, fold: &LaneFold) -> FoldStep {
        FoldStep {
            acc: fold.acc.index(),
            op: binary_fn(fold.op, self.function.locals[fold.acc.index()].prim).expect(VERIFIED),
            identity: fold.identity.to_bits().expect(VERIFIED),
            lanes: usize::from(fold.lanes),
            var: fold.var.index(),
            lo: self.node(&fold.lo),
            hi: self.node(&fold.hi),
            value: self.node(&fold.value),
            rounds: if self.spread { RoundSet::All } else { RoundSet::Own },
        }
    }
}
