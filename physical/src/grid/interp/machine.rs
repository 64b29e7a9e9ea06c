//! Teams and lanes, scheduled at random.

use super::memory::{Access, Who, Window};
use super::ops::{Asking, Op, Rounds};
use super::{BLOCK_BYTES, End, Fault, Launch, Launched, Program};
use crate::assembly::{Buffer, BufferClass, BufferDecl, BufferRole, InterpError, Memory, Node, Status};
use crate::grid::{MOST_LANES, Place, Side, Writer, share_bytes, shares};
use crate::run::Invocation;
use redpoll_logic::{Prim, Scalar};
use std::ops::Range;
use std::sync::atomic::Ordering;

/// Maximum number of steps that a lane takes in a row.
const MOST_IN_A_ROW: u64 = 12;

/// The state of a launch.
pub(super) struct Machine<'a> {
    pub(super) program: &'a Program,
    inputs: &'a Invocation,
    chunks: &'a [Range<i64>],
    sections: &'a [Range<i64>],
    arena: Vec<Window>,
    /// For each buffer, the indices of its windows in the arena.
    slots: Vec<Vec<usize>>,
    pub(super) teams: Vec<Team>,
    /// The outcome of each chunk.
    ends: Vec<Option<End>>,
    steps: u64,
    random: u64,
    /// The declaration of the exchange buffer between lanes, for messages of faults.
    pub(super) shown: BufferDecl,
    /// Number of rounds of spread loops by lane.
    #[cfg(test)]
    rounds: Vec<u64>,
}

/// Lanes that wait for each other.
pub(super) struct Team {
    /// The chunk that the team runs.
    chunk: usize,
    passed: u32,
    pub(super) lanes: Vec<Lane>,
    /// The exchange buffer between the lanes of several warps.
    pub(super) shown: Window,
}

pub(super) struct Lane {
    at: usize,
    pub(super) locals: Vec<u64>,
    /// The index in the arena of each buffer's window.
    view: Vec<usize>,
    pub(super) state: State,
    /// The lane's partial results of a fold.
    pub(super) parts: Vec<u64>,
    /// Set when the lane has left a loop because the launch is cancelled.
    stopped: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    Runs,
    /// Waits for the lanes of its team.
    Waits,
    Ended(End),
}

/// The memory that expressions of a lane read.
struct View<'m> {
    inputs: &'m Invocation,
    arena: &'m mut [Window],
    view: &'m [usize],
    decls: &'m [BufferDecl],
    who: Who,
}

impl Memory for View<'_> {
    type Fault = Fault;

    fn param(&self, number: usize) -> i64 {
        self.inputs.params()[number]
    }

    fn load(&mut self, buffer: Buffer, at: i64) -> Result<u64, Fault> {
        let decl = &self.decls[buffer.index()];
        if decl.role == BufferRole::Owned {
            return self.arena[self.view[buffer.index()]].load(decl, at, self.who);
        }
        let len = self.inputs.len(buffer);
        let element = usize::try_from(at).ok().filter(|at| *at < len).ok_or_else(|| InterpError::OutOfBounds {
            access: "load",
            buffer: decl.name.clone(),
            index: at,
            len,
        })?;
        let bits = self.inputs.read(buffer, element);
        if decl.prim == Prim::Bool && bits > 1 {
            return Err(InterpError::NotBool { buffer: decl.name.clone(), index: at, byte: bits }.into());
        }
        Ok(bits)
    }
}

impl<'a> Machine<'a> {
    pub(super) fn new(program: &'a Program, launch: &Launch<'a>) -> Machine<'a> {
        let (mut arena, mut slots) = (Vec::new(), Vec::new());
        let bytes = BLOCK_BYTES[launch.seed as usize % BLOCK_BYTES.len()];
        let shares = shares(&program.grid, launch.inputs.params(), bytes);
        assert!(
            share_bytes(&program.grid, &shares) <= bytes,
            "a team has more of the memory of its block than there is"
        );
        let buffers = (0..).map(Buffer).zip(&program.signature.buffers);
        for (((buffer, decl), extents), share) in buffers.zip(&launch.windows).zip(shares) {
            let from = arena.len();
            let is_raw = launch.unfilled.contains(&buffer);
            arena.extend(extents.iter().map(|e| Window::new(decl, *e, is_raw)));
            let mut own: Vec<usize> = (from..arena.len()).collect();
            if share > 0 {
                for slot in &mut own {
                    arena.push(Window::of_block(decl, share, Some(*slot)));
                    *slot = arena.len() - 1;
                }
            }
            slots.push(own);
        }
        let lane = || Lane {
            at: 0,
            locals: Vec::new(),
            view: Vec::new(),
            state: State::Runs,
            parts: Vec::new(),
            stopped: false,
        };
        let lanes = || (0..program.grid.lanes).map(|_| lane()).collect();
        let fill = Scalar::U64(0);
        let (name, prim, class) = ("what lanes show each other".into(), Prim::U64, BufferClass::Value);
        let shown = BufferDecl { name, prim, class, role: BufferRole::Owned, fill };
        let team = |chunk: usize| {
            let mut shown = Window::of_block(&shown, MOST_LANES as usize, None);
            shown.grow(MOST_LANES as usize);
            Team { chunk, passed: 0, lanes: lanes(), shown }
        };
        let teams = (0..launch.teams.min(launch.chunks.len())).map(team).collect();
        let mut machine = Machine {
            program,
            inputs: launch.inputs,
            chunks: launch.chunks,
            sections: launch.sections,
            arena,
            slots,
            teams,
            ends: vec![None; launch.chunks.len()],
            steps: 0,
            random: launch.seed,
            shown,
            #[cfg(test)]
            rounds: vec![0; program.grid.lanes as usize],
        };
        (0..machine.teams.len()).for_each(|team| machine.begin(team, 0));
        machine
    }

    pub(super) fn run(mut self) -> Result<Launched, Fault> {
        let lanes = self.program.grid.lanes as usize;
        let mut busy: Vec<usize> = (0..self.teams.len()).collect();
        while !busy.is_empty() {
            let drawn = self.below(busy.len() as u64) as usize;
            let team = busy[drawn];
            let mut lane = self.below(lanes as u64) as usize;
            // The first lane from the drawn one on that can run.
            let runs = |team: &Team, lane: usize| team.lanes[lane].state == State::Runs;
            let next = (0..lanes).map(|k| (lane + k) % lanes).find(|lane| runs(&self.teams[team], *lane));
            match next {
                Some(next) => {
                    lane = next;
                    for _ in 0..=self.below(MOST_IN_A_ROW) {
                        if !runs(&self.teams[team], lane) {
                            break;
                        }
                        self.step(team, lane)?;
                    }
                }
                None => {
                    if !self.meet(team)? {
                        busy.swap_remove(drawn);
                    }
                }
            }
        }
        self.finish()
    }

    fn finish(self) -> Result<Launched, Fault> {
        let end = End::of_all(&self.ends.iter().copied().flatten().collect::<Vec<End>>());
        if end == End::Status(Status::Done) {
            self.check_results()?;
        }
        let mut arena: Vec<Option<Window>> = self.arena.into_iter().map(Some).collect();
        let mut take = |slot: &usize| arena[*slot].take().expect("each window has one slot").left();
        let windows = self.slots.iter().map(|slots| slots.iter().map(&mut take).collect()).collect();
        Ok(Launched {
            end,
            windows,
            time: None,
            #[cfg(test)]
            rounds: self.rounds,
        })
    }

    /// Checks that results that are returned without a copy are fully initialized.
    fn check_results(&self) -> Result<(), Fault> {
        let grid = &self.program.grid;
        for (k, (decl, place)) in grid.function.buffers.iter().zip(&grid.places).enumerate() {
            let windows = self.slots[k].iter().map(|slot| &self.arena[*slot]);
            let mut windows = windows.filter(|_| matches!(place, Place::Shared | Place::Rounds));
            if let Some(index) = windows.find_map(Window::unwritten) {
                return Err(Fault::Left { buffer: decl.name.clone(), index });
            }
        }
        Ok(())
    }

    /// Returns a random number below `n`. Source: G. L. Steele, D. Lea, C. H. Flood, "Fast
    /// splittable pseudorandom number generators", 2014 (SplitMix64).
    fn below(&mut self, n: u64) -> u64 {
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.random;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % n
    }

    /// Returns the window of a buffer for the current chunk of a team, as buffer and number.
    fn slot(&self, buffer: usize, team: usize) -> Option<(usize, usize)> {
        let number = match self.program.grid.places[buffer] {
            Place::Input => return None,
            Place::Shared => 0,
            Place::Rounds | Place::Chunk | Place::Measured => self.teams[team].chunk,
            Place::Team => team,
        };
        Some((buffer, number))
    }

    /// Sets the lanes of a team to step `at`, at the start of the team's chunk.
    fn begin(&mut self, team: usize, at: usize) {
        let function = &self.program.grid.function;
        let view: Vec<usize> = (0..function.buffers.len())
            .map(|k| self.slot(k, team).map_or(usize::MAX, |(buffer, number)| self.slots[buffer][number]))
            .collect();
        let chunk = &self.chunks[self.teams[team].chunk];
        for lane in &mut self.teams[team].lanes {
            // Locals do not carry values from one chunk to the next.
            lane.locals = vec![0xdead_beef; self.program.code.locals];
            lane.locals[function.chunk.0.index()] = chunk.start as u64;
            lane.locals[function.chunk.1.index()] = chunk.end as u64;
            lane.view.clone_from(&view);
            (lane.at, lane.state, lane.stopped) = (at, State::Runs, false);
        }
    }

    pub(super) fn who(&self, team: usize, lane: usize) -> Who {
        Who { team: team as u32, lane: lane as u32, passed: self.teams[team].passed }
    }

    /// Evaluates an expression for a lane.
    pub(super) fn eval(&mut self, team: usize, lane: usize, node: &Node) -> Result<u64, Fault> {
        let who = self.who(team, lane);
        let Lane { locals, view, .. } = &self.teams[team].lanes[lane];
        let decls = &self.program.grid.function.buffers;
        node.eval(locals, &mut View { inputs: self.inputs, arena: &mut self.arena, view, decls, who })
    }

    pub(super) fn lane(&mut self, team: usize, lane: usize) -> &mut Lane {
        &mut self.teams[team].lanes[lane]
    }

    /// Returns whether the launch is cancelled.
    fn is_cancelled(&self) -> bool {
        self.steps >= self.program.cancelled_at || self.inputs.limits().cancel.load(Ordering::Relaxed)
    }

    pub(super) fn count_step(&mut self) -> Result<(), Fault> {
        self.steps += 1;
        let limit = self.program.step_limit;
        if self.steps > limit { Err(InterpError::TooManyIterations(limit).into()) } else { Ok(()) }
    }

    #[cfg(test)]
    fn count_round(&mut self, lane: usize, rounds: Rounds, taken: bool) {
        self.rounds[lane] += u64::from(taken && rounds == Rounds::Own);
    }

    /// Runs one step of a lane.
    fn step(&mut self, team: usize, number: usize) -> Result<(), Fault> {
        self.count_step()?;
        let program = self.program;
        let at = self.teams[team].lanes[number].at;
        self.lane(team, number).at = at + 1;
        match &program.code.ops[at] {
            Op::Assign(local, value) => {
                let value = self.eval(team, number, value)?;
                self.lane(team, number).locals[*local] = value;
            }
            Op::Section(local, side) => {
                let section = &self.sections[self.teams[team].chunk];
                let bound = if *side == Side::First { section.start } else { section.end };
                self.lane(team, number).locals[*local] = bound as u64;
            }
            Op::Store(by, buffer, at, value) => {
                if *by == Writer::Each || number == 0 {
                    let at = self.eval(team, number, at)? as i64;
                    let value = self.eval(team, number, value)?;
                    let (window, decl, who) = self.window(*buffer, team, number);
                    window.store(decl, at, value, who)?;
                }
            }
            Op::Atomic(by, buffer, at, op, value) => {
                if *by == Writer::Each || number == 0 {
                    let at = self.eval(team, number, at)? as i64;
                    let value = self.eval(team, number, value)?;
                    let (window, decl, who) = self.window(*buffer, team, number);
                    let element = window.touch(decl, at, who, Access::Atomic)?;
                    let value = op(window.elements[element], value);
                    window.put(decl, element, value)?;
                }
            }
            Op::Unless(cond, to) => {
                if self.eval(team, number, cond)? == 0 {
                    self.lane(team, number).at = *to;
                }
            }
            Op::Goto(to) => self.lane(team, number).at = *to,
            Op::Begin { var, end, lo, hi, rounds, behind } => {
                let (lo, hi) = (self.eval(team, number, lo)? as i64, self.eval(team, number, hi)? as i64);
                let first = if *rounds == Rounds::Own { lo.saturating_add(number as i64) } else { lo };
                let lane = self.lane(team, number);
                lane.locals[*end] = hi as u64;
                match first < hi {
                    true => lane.locals[*var] = first as u64,
                    false => lane.at = *behind,
                }
                #[cfg(test)]
                self.count_round(number, *rounds, first < hi);
            }
            Op::Next { var, end, rounds, body } => {
                let step = if *rounds == Rounds::Own { i64::from(program.grid.lanes) } else { 1 };
                let lane = self.lane(team, number);
                let next = (lane.locals[*var] as i64).saturating_add(step);
                if next < lane.locals[*end] as i64 {
                    lane.locals[*var] = next as u64;
                    lane.at = *body;
                }
                #[cfg(test)]
                self.count_round(number, *rounds, self.teams[team].lanes[number].at == *body);
            }
            Op::Fold(fold) => self.fold(team, number, fold)?,
            Op::Show(fold) => self.show(team, number, fold)?,
            Op::Take(fold) => self.take(team, number, fold)?,
            Op::Apart(parts) => self.apart(team, number, parts),
            Op::ShowPart(part) => self.show_part(team, number, *part)?,
            Op::TakePart(part) => self.take_part(team, number, *part)?,
            Op::Ask(Asking::Round(to)) if self.is_cancelled() => {
                let lane = self.lane(team, number);
                (lane.at, lane.stopped) = (*to, true);
            }
            Op::Ask(Asking::Alone) if self.is_cancelled() => {
                self.lane(team, number).state = State::Ended(End::Status(Status::Cancelled));
            }
            Op::Ask(Asking::Round(_) | Asking::Alone) => {}
            Op::Barrier | Op::Ask(Asking::Team) | Op::Agree | Op::Together(_) | Op::Sort(..) | Op::SortBy(..) => {
                self.lane(team, number).state = State::Waits;
            }
            Op::Grow(buffer, len) => {
                let len = usize::try_from(self.eval(team, number, len)? as i64).unwrap_or(0);
                self.grow(team, number, *buffer, len);
            }
            Op::GrowOrMove { buffer, len, behind } => {
                let len = usize::try_from(self.eval(team, number, len)? as i64).unwrap_or(0);
                if !self.has_to_move(team, number, *buffer, len) {
                    self.lane(team, number).at = *behind;
                    self.grow(team, number, *buffer, len);
                }
            }
            Op::Make(buffer) => {
                let (window, decl, who) = self.window(*buffer, team, number);
                if window.outside.is_some() {
                    let mut own = (number..window.elements.len()).step_by(program.grid.lanes as usize);
                    own.try_for_each(|element| window.make(decl, element, who))?;
                }
            }
            Op::Copy(buffer) => self.copy(team, number, *buffer)?,
            Op::Move(buffer) => {
                let (share, ..) = self.window(*buffer, team, number);
                let (outside, asked) = (share.outside.expect("a share is what moves"), share.asked);
                self.lane(team, number).view[buffer.index()] = outside;
                self.grow(team, number, *buffer, asked);
            }
            Op::Swap(a, b) => self.lane(team, number).view.swap(a.index(), b.index()),
            Op::Return(status) => self.lane(team, number).state = State::Ended(End::Status(*status)),
        }
        Ok(())
    }

    fn window(&mut self, buffer: Buffer, team: usize, lane: usize) -> (&mut Window, &BufferDecl, Who) {
        let who = self.who(team, lane);
        let slot = self.teams[team].lanes[lane].view[buffer.index()];
        (&mut self.arena[slot], &self.program.grid.function.buffers[buffer.index()], who)
    }

    fn grow(&mut self, team: usize, lane: usize, buffer: Buffer, len: usize) {
        let place = self.program.grid.places[buffer.index()];
        let (window, ..) = self.window(buffer, team, lane);
        match place {
            Place::Input | Place::Shared | Place::Rounds => {}
            Place::Measured => window.asked = window.asked.max(len),
            Place::Chunk | Place::Team => {
                window.asked = window.asked.max(len);
                if len <= window.room {
                    window.grow(len);
                } else {
                    self.lane(team, lane).state = State::Ended(End::NoRoom);
                }
            }
        }
    }

    /// Returns whether a window that grows to `len` outgrows the memory of its block and fits
    /// outside.
    fn has_to_move(&mut self, team: usize, lane: usize, buffer: Buffer, len: usize) -> bool {
        let (window, ..) = self.window(buffer, team, lane);
        let Some(outside) = window.outside.filter(|_| len > window.room) else { return false };
        // Without capacity outside, growth ends the chunk.
        let fits = len <= self.arena[outside].room;
        if fits {
            let (window, ..) = self.window(buffer, team, lane);
            window.asked = window.asked.max(len);
        }
        fits
    }

    /// Copies a lane's elements of a share to the window outside.
    fn copy(&mut self, team: usize, lane: usize, buffer: Buffer) -> Result<(), Fault> {
        let (slot, who) = (self.teams[team].lanes[lane].view[buffer.index()], self.who(team, lane));
        let decl = &self.program.grid.function.buffers[buffer.index()];
        let (len, outside) = (self.arena[slot].len, self.arena[slot].outside.expect("a share is what moves"));
        self.arena[outside].grow(len);
        for at in (lane..len).step_by(self.program.grid.lanes as usize) {
            let value = self.arena[slot].load(decl, at as i64, who)?;
            self.arena[outside].store(decl, at as i64, value, who)?;
        }
        Ok(())
    }

    /// Completes the step at which all lanes of a team wait. Returns `false` if the team has no
    /// more chunks.
    fn meet(&mut self, number: usize) -> Result<bool, Fault> {
        let apart = Fault::Apart(number as u32);
        let team = &self.teams[number];
        let first = &team.lanes[0];
        let (at, state) = (first.at, first.state);
        if team.lanes.iter().any(|lane| lane.state != state || (state == State::Waits && lane.at != at)) {
            return Err(apart);
        }
        if let State::Ended(end) = state {
            return Ok(self.end(number, end));
        }
        let program = self.program;
        match &program.code.ops[at - 1] {
            Op::Fold(fold) => self.fold_together(number, fold),
            Op::Together(parts) => self.parts_together(number, parts),
            op @ (Op::Ask(_) | Op::Agree) => {
                let stopped = matches!(op, Op::Ask(_)) && self.is_cancelled();
                if stopped || self.teams[number].lanes.iter().any(|lane| lane.stopped) {
                    let end = State::Ended(End::Status(Status::Cancelled));
                    self.teams[number].lanes.iter_mut().for_each(|lane| lane.state = end);
                    return Ok(true);
                }
            }
            op => {
                self.teams[number].passed += 1;
                match op {
                    Op::Sort(buffer, lo, hi) => self.sort(number, [*buffer; 3], (lo, hi))?,
                    Op::SortBy(buffers, lo, hi) => self.sort(number, *buffers, (lo, hi))?,
                    _ => {}
                }
                self.teams[number].passed += 1;
            }
        }
        self.teams[number].lanes.iter_mut().for_each(|lane| lane.state = State::Runs);
        Ok(true)
    }

    /// Ends the chunk of a team, and begins its next one; returns `false` if there is none.
    fn end(&mut self, number: usize, end: End) -> bool {
        let chunk = self.teams[number].chunk;
        self.ends[chunk] = Some(end);
        for buffer in 0..self.slots.len() {
            if let Some((buffer, slot)) = self.slot(buffer, number) {
                self.slots[buffer][slot] = self.teams[number].lanes[0].view[buffer];
            }
        }
        let next = chunk + self.teams.len();
        if end == End::NoRoom && self.program.grid.places.contains(&Place::Team) {
            // The contents of a workspace are invalid for the next chunk.
            (next..self.chunks.len()).step_by(self.teams.len()).for_each(|chunk| self.ends[chunk] = Some(end));
            return false;
        }
        if next >= self.chunks.len() {
            return false;
        }
        self.teams[number].chunk = next;
        self.teams[number].passed += 1;
        self.begin(number, self.program.code.start);
        true
    }

    /// Sorts a range of the first buffer by the other two, or by its own elements if all three are
    /// the same.
    fn sort(&mut self, team: usize, buffers: [Buffer; 3], (lo, hi): (&Node, &Node)) -> Result<(), Fault> {
        let (lo, hi) = (self.eval(team, 0, lo)? as i64, self.eval(team, 0, hi)? as i64);
        let [target, major, minor] = buffers;
        let mut keyed = Vec::new();
        for at in lo..hi {
            let (window, decl, who) = self.window(target, team, 0);
            let k = window.load(decl, at, who)?;
            if target == major {
                // Indices compare as integers, including those of 64 bits.
                keyed.push(((k as i64, 0), k));
                continue;
            }
            let (window, decl, who) = self.window(major, team, 0);
            let first = window.load(decl, k as i64, who)? as i64;
            let (window, decl, who) = self.window(minor, team, 0);
            keyed.push(((first, window.load(decl, k as i64, who)? as i64), k));
        }
        let unsigned = self.program.grid.function.buffers[target.index()].prim == Prim::U64 && target == major;
        keyed.sort_by_key(|((a, b), k)| if unsigned { (0, 0, *k as i128) } else { (*a, *b, i128::from(*k as i64)) });
        for (at, (_, k)) in (lo..hi).zip(keyed) {
            let (window, decl, who) = self.window(target, team, 0);
            window.store(decl, at, k, who)?;
        }
        Ok(())
    }
}
