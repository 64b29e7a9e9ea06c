//! The body of a grid as steps with jumps, so that lanes can be stopped between any two of them.

use crate::assembly::eval::{BinaryFn, binary_fn};
use crate::assembly::{Buffer, Function, LaneFold, Node, Status};
use crate::grid::{Folded, Grid, Place, Side, Stmt, WARP, Writer};

/// A step of a lane. Numbers of steps are places in the list.
pub(super) enum Op {
    Assign(usize, Node),
    Section(usize, Side),
    Store(Writer, Buffer, Node, Node),
    Atomic(Writer, Buffer, Node, BinaryFn, Node),
    /// Goes on there unless it holds.
    Unless(Node, usize),
    Goto(usize),
    /// The first round of a loop, or on behind it. The last local is where it ends.
    Begin {
        var: usize,
        end: usize,
        lo: Node,
        hi: Node,
        rounds: Rounds,
        behind: usize,
    },
    /// The next round of a loop, if there is one.
    Next {
        var: usize,
        end: usize,
        rounds: Rounds,
        body: usize,
    },
    Fold(Fold),
    /// Shows the other lanes of a team of several warps what this one has of a fold.
    Show(Fold),
    /// Takes what all lanes have shown.
    Take(Fold),
    /// A lane folds from the identity on, and keeps what there was before.
    Apart(Vec<Part>),
    /// What the lanes of a warp have folded apart comes together.
    Together(Vec<Part>),
    /// The same in a team of several warps: shows the others what this lane has folded apart.
    ShowPart(Part),
    /// Takes what all lanes have shown of that.
    TakePart(Part),
    Barrier,
    Ask(Asking),
    /// The chunk ends if a lane has left the loop because the launch is to end.
    Agree,
    Grow(Buffer, Node),
    /// Growth of a window that may be in the memory of a block: where it has to move outside, that is what comes next.
    GrowOrMove {
        buffer: Buffer,
        len: Node,
        behind: usize,
    },
    /// Makes the elements of a share, each by one lane.
    Make(Buffer),
    /// Copies what there is of a share to the window outside, each element by one lane.
    Copy(Buffer),
    /// Goes on with the window outside.
    Move(Buffer),
    Sort(Buffer, Node, Node),
    SortBy([Buffer; 3], Node, Node),
    Swap(Buffer, Buffer),
    Return(Status),
}

/// Who asks whether the launch is to end.
#[derive(Clone, Copy)]
pub(super) enum Asking {
    /// One lane for all.
    Team,
    /// A lane, which goes on there if so.
    Round(usize),
    /// A lane, which ends alone.
    Alone,
}

/// Which rounds of a loop a lane takes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Rounds {
    All,
    Own,
}

/// A fold in lanes; each lane alone does all of it where rounds are spread already.
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

/// A local that the rounds of a loop fold into.
#[derive(Clone, Copy)]
pub(super) struct Part {
    pub(super) acc: usize,
    /// Where a lane keeps what there was before.
    pub(super) before: usize,
    pub(super) op: BinaryFn,
    pub(super) identity: u64,
}

const VERIFIED: &str = "the function was verified";

/// The body of a grid as steps.
pub(super) struct Code {
    pub(super) ops: Vec<Op>,
    /// Where a chunk begins; a team begins its first one at the very beginning.
    pub(super) start: usize,
    /// How many locals there are: those of the function and the ends of loops.
    pub(super) locals: usize,
}

/// The steps of a grid.
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
    /// For each loop around the jumps that leave it.
    loops: Vec<Vec<usize>>,
    /// In a loop whose rounds are spread.
    spread: bool,
}

impl Steps<'_> {
    fn block(&mut self, body: &[Stmt]) {
        body.iter().for_each(|s| self.stmt(s));
    }

    fn node(&self, e: &crate::assembly::Expr) -> Node {
        Node::new(self.function, e)
    }

    /// A jump whose end is not known yet.
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
                    // The lanes of a warp come together by themselves, warps at barriers alone.
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
