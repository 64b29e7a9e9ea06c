//! The body of a grid as steps with jumps, so that lanes can be suspended between any two steps.

use crate::assembly::eval::{BinaryFn, binary_fn};
use crate::assembly::{Buffer, Function, LaneFold, Node, Status};
use crate::grid::{Folded, Grid, Place, Side, Stmt, WARP, Writer};

/// A step of a lane. A target of a jump is an index into the list of steps.
pub(super) enum Op {
    Assign(usize, Node),
    Section(usize, Side),
    Store(Writer, Buffer, Node, Node),
    Atomic(Writer, Buffer, Node, BinaryFn, Node),
    /// Jumps if the condition is false.
    Unless(Node, usize),
    Goto(usize),
    /// Enters the first round of a loop, or jumps past the loop. `end` is the local with the upper
    /// bound.
    Begin {
        var: usize,
        end: usize,
        lo: Node,
        hi: Node,
        rounds: Rounds,
        behind: usize,
    },
    /// Enters the next round of a loop, if there is one.
    Next {
        var: usize,
        end: usize,
        rounds: Rounds,
        body: usize,
    },
    Fold(Fold),
    /// Publishes the lane's partial result of a fold, in a team of several warps.
    Show(Fold),
    /// Combines the published partial results.
    Take(Fold),
    /// Saves the accumulators of a lane and sets them to identities.
    Apart(Vec<Part>),
    /// Combines the accumulators of the lanes of a warp.
    Together(Vec<Part>),
    /// Publishes the lane's accumulator, in a team of several warps.
    ShowPart(Part),
    /// Combines the published accumulators.
    TakePart(Part),
    Barrier,
    Ask(Asking),
    /// Ends the chunk if a lane has left the loop because the launch is cancelled.
    Agree,
    Grow(Buffer, Node),
    /// Grows a window that may be in the memory of a block. If the window has to move outside, the
    /// steps of the move follow.
    GrowOrMove {
        buffer: Buffer,
        len: Node,
        behind: usize,
    },
    /// Initializes the elements of a share, each by one lane.
    Make(Buffer),
    /// Copies the elements of a share to the window outside, each by one lane.
    Copy(Buffer),
    /// Replaces the share by the window outside.
    Move(Buffer),
    Sort(Buffer, Node, Node),
    SortBy([Buffer; 3], Node, Node),
    Swap(Buffer, Buffer),
    Return(Status),
}

/// The lanes that poll for cancellation.
#[derive(Clone, Copy)]
pub(super) enum Asking {
    /// One lane for all.
    Team,
    /// One lane, which then jumps to the target.
    Round(usize),
    /// One lane, which then ends alone.
    Alone,
}

/// The rounds of a loop that a lane runs.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Rounds {
    All,
    Own,
}

/// A fold in lanes; inside a spread loop each lane runs the whole fold.
pub(super) struct Fold {
    pub(super) acc: usize,
    pub(super) op: BinaryFn,
    pub(super) identity: u64,
    pub(super) lanes: usize,
    pub(super) var: usize,
    pub(super) lo: Node,
    pub(super) hi: Node,
    pub(super) value: Node,
    pub(super) rounds: Rounds,
}

/// An accumulator of a spread loop.
#[derive(Clone, Copy)]
pub(super) struct Part {
    pub(super) acc: usize,
    /// The local that saves the value from before the loop.
    pub(super) before: usize,
    pub(super) op: BinaryFn,
    pub(super) identity: u64,
}

const VERIFIED: &str = "the function was verified";

/// The body of a grid as steps.
pub(super) struct Code {
    pub(super) ops: Vec<Op>,
    /// The first step of a chunk; a team starts its first chunk at step 0.
    pub(super) start: usize,
    /// Number of locals: those of the function, the bounds of loops, and the saved accumulators.
    pub(super) locals: usize,
}

/// Translates a grid to steps.
pub(super) fn steps(grid: &Grid) -> Code {
    let (function, places) = (&grid.function, &grid.places[..]);
    let locals = function.locals.len();
    let mut steps =
        Steps { function, places, lanes: grid.lanes, ops: Vec::new(), locals, loops: Vec::new(), spread: false };
    let of_teams = (0..).map(Buffer).zip(places).filter(|(_, place)| **place == Place::Team);
    steps.ops.extend(of_teams.map(|(buffer, _)| Op::Make(buffer)));
    if !steps.ops.is_empty() {
        steps.ops.push(Op::Barrier);
    }
    let start = steps.ops.len();
    steps.block(&grid.body);
    steps.ops.push(Op::Return(Status::Done));
    Code { ops: steps.ops, start, locals: steps.locals }
}

struct Steps<'f> {
    function: &'f Function,
    places: &'f [Place],
    lanes: u32,
    ops: Vec<Op>,
    locals: usize,
    /// For each enclosing loop, the jumps that leave it.
    loops: Vec<Vec<usize>>,
    /// Set inside a spread loop.
    spread: bool,
}

impl Steps<'_> {
    fn block(&mut self, body: &[Stmt]) {
        body.iter().for_each(|s| self.stmt(s));
    }

    fn node(&self, e: &crate::assembly::Expr) -> Node {
        Node::new(self.function, e)
    }

    /// Adds a jump whose target is set later by `land`.
    fn jump(&mut self) -> usize {
        self.ops.push(Op::Goto(usize::MAX));
        self.ops.len() - 1
    }

    fn land(&mut self, jump: usize) {
        let here = self.ops.len();
        match &mut self.ops[jump] {
            Op::Goto(to) | Op::Unless(_, to) | Op::Ask(Asking::Round(to)) => *to = here,
            Op::Begin { behind, .. } | Op::GrowOrMove { behind, .. } => *behind = here,
            _ => unreachable!("jumps alone are landed"),
        }
    }

    fn stmt(&mut self, stmt: &Stmt) {
        let op = match stmt {
            Stmt::Assign(local, value) => Op::Assign(local.index(), self.node(value)),
            Stmt::Section(local, side) => Op::Section(local.index(), *side),
            Stmt::Store { by, buffer, at, value } => Op::Store(*by, *buffer, self.node(at), self.node(value)),
            Stmt::Atomic { by, buffer, at, op, value } => {
                let prim = self.function.buffers[buffer.index()].value_prim();
                let op = binary_fn(*op, prim).expect(VERIFIED);
                Op::Atomic(*by, *buffer, self.node(at), op, self.node(value))
            }
            Stmt::If { cond, then, other } => {
                let skip = self.ops.len();
                self.ops.push(Op::Unless(self.node(cond), usize::MAX));
                self.block(then);
                let over = self.jump();
                self.land(skip);
                self.block(other);
                return self.land(over);
            }
            Stmt::While { cond, body } => {
                let head = self.ops.len();
                self.ops.push(Op::Unless(self.node(cond), usize::MAX));
                self.loops.push(vec![head]);
                self.block(body);
                self.ops.push(Op::Goto(head));
                return self.leave();
            }
            Stmt::For { var, lo, hi, body } => return self.rounds(var.index(), (lo, hi), body, Rounds::All),
            Stmt::Spread { var, lo, hi, folds, body } => {
                let parts: Vec<Part> = folds.iter().map(|fold| self.part(fold)).collect();
                if !parts.is_empty() {
                    self.ops.push(Op::Apart(parts.clone()));
                }
                self.spread = true;
                self.rounds(var.index(), (lo, hi), body, Rounds::Own);
                self.spread = false;
                if body.contains(&Stmt::Ask(Writer::Each)) {
                    self.ops.push(Op::Agree);
                }
                match parts.is_empty() {
                    true => return,
                    false if self.lanes <= WARP => Op::Together(parts),
                    false => {
                        let of_part = |part| [Op::ShowPart(part), Op::Barrier, Op::TakePart(part), Op::Barrier];
                        return self.ops.extend(parts.into_iter().flat_map(of_part));
                    }
                }
            }
            Stmt::Break => {
                let jump = self.jump();
                self.loops.last_mut().expect(VERIFIED).push(jump);
                return;
            }
            Stmt::Lanes(fold) => {
                self.ops.push(Op::Fold(self.fold(fold)));
                if self.lanes > WARP && !self.spread {
                    // The lanes of one warp need no barriers; those of several warps do.
                    let (show, take) = (Op::Show(self.fold(fold)), Op::Take(self.fold(fold)));
                    self.ops.extend([show, Op::Barrier, take, Op::Barrier]);
                }
                return;
            }
            Stmt::Barrier => Op::Barrier,
            Stmt::Ask(Writer::Lead) => Op::Ask(Asking::Team),
            Stmt::Ask(Writer::Each) if self.spread => {
                let jump = self.ops.len();
                self.loops.last_mut().expect(VERIFIED).push(jump);
                Op::Ask(Asking::Round(usize::MAX))
            }
            Stmt::Ask(Writer::Each) => Op::Ask(Asking::Alone),
            Stmt::Grow { buffer, len } if self.places[buffer.index()] == Place::Team => {
                let head = self.ops.len();
                self.ops.push(Op::GrowOrMove { buffer: *buffer, len: self.node(len), behind: usize::MAX });
                self.ops.extend([Op::Barrier, Op::Copy(*buffer), Op::Barrier, Op::Move(*buffer)]);
                return self.land(head);
            }
            Stmt::Grow { buffer, len } => Op::Grow(*buffer, self.node(len)),
            Stmt::Sort { buffer, lo, hi } => Op::Sort(*buffer, self.node(lo), self.node(hi)),
            Stmt::SortBy { perm, major, minor, lo, hi } => {
                Op::SortBy([*perm, *major, *minor], self.node(lo), self.node(hi))
            }
            Stmt::Swap(a, b) => Op::Swap(*a, *b),
            Stmt::Return(status) => Op::Return(*status),
        };
        self.ops.push(op);
    }

    fn rounds(
        &mut self,
        var: usize,
        (lo, hi): (&crate::assembly::Expr, &crate::assembly::Expr),
        body: &[Stmt],
        rounds: Rounds,
    ) {
        let end = self.locals;
        self.locals += 1;
        let head = self.ops.len();
        self.ops.push(Op::Begin { var, end, lo: self.node(lo), hi: self.node(hi), rounds, behind: usize::MAX });
        self.loops.push(vec![head]);
        self.block(body);
        self.ops.push(Op::Next { var, end, rounds, body: head + 1 });
        self.leave();
    }

    fn leave(&mut self) {
        for jump in self.loops.pop().expect("pushed in front of the body") {
            self.land(jump);
        }
    }

    fn part(&mut self, fold: &Folded) -> Part {
        let before = self.locals;
        self.locals += 1;
        Part {
            acc: fold.acc.index(),
            before,
            op: binary_fn(fold.op, self.function.locals[fold.acc.index()].prim).expect(VERIFIED),
            identity: fold.identity.to_bits().expect(VERIFIED),
        }
    }

    fn fold(&self, fold: &LaneFold) -> Fold {
        Fold {
            acc: fold.acc.index(),
            op: binary_fn(fold.op, self.function.locals[fold.acc.index()].prim).expect(VERIFIED),
            identity: fold.identity.to_bits().expect(VERIFIED),
            lanes: usize::from(fold.lanes),
            var: fold.var.index(),
            lo: self.node(&fold.lo),
            hi: self.node(&fold.hi),
            value: self.node(&fold.value),
            rounds: if self.spread { Rounds::All } else { Rounds::Own },
        }
    }
}
