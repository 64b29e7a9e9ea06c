//! Teams and lanes, scheduled at random.

use super::memory::{AccessKind, AccessPoint, Window};
use super::ops::{LaneStep, PollScope, RoundSet};
use super::{BLOCK_BYTES, GridFault, GridProgram, Launch, LaunchOutcome, LaunchResult};
use crate::grid::{ActiveLanes, MAX_TEAM_LANES, MemorySpace, SectionBound, share_bytes, shares};
use redpoll_compiler::assembly::{
    Buffer, BufferClass, BufferDecl, BufferRole, Buffers, ExprMemory, InterpFault, ResolvedExpr, Status,
};
use redpoll_kernels::run::Invocation;
use redpoll_logic::{Prim, Scalar};
use std::ops::Range;
use std::sync::atomic::Ordering;

/// Maximum number of steps that a lane takes in a row.
const MAX_STEPS_IN_A_ROW: u64 = 12;

/// The state of a launch.
pub(super) struct GridMachine<'a> {
    pub(super) program: &'a GridProgram,
    inputs: &'a Invocation,
    chunks: &'a [Range<i64>],
    sections: &'a [Range<i64>],
    arena: Vec<Window>,
    /// For each buffer, the indices of its windows in the arena.
    slots: Vec<Vec<usize>>,
    pub(super) teams: Vec<Team>,
    /// The outcome of each chunk.
    outcomes: Vec<Option<LaunchOutcome>>,
    steps: u64,
    random: u64,
    /// The declaration of the exchange buffers of all teams.
    pub(super) exchange_decl: BufferDecl,
    /// Number of rounds of spread loops that each lane has run.
    #[cfg(test)]
    rounds: Vec<u64>,
}

/// A group of lanes that wait for each other.
pub(super) struct Team {
    /// The chunk that the team runs.
    chunk: usize,
    barriers_passed: u32,
    pub(super) lanes: Vec<Lane>,
    /// The exchange buffer between the lanes of several warps.
    pub(super) exchange: Window,
}

impl Team {
    /// Separates the accesses so far from later ones.
    pub(super) fn pass_barrier(&mut self) {
        self.barriers_passed += 1;
    }
}

pub(super) struct Lane {
    pub(super) at: usize,
    pub(super) locals: Vec<u64>,
    /// For each buffer, the index of its window in the arena.
    view: Vec<usize>,
    pub(super) state: LaneState,
    /// The lane's partial results of a fold.
    pub(super) parts: Vec<u64>,
    /// Set when the lane has left a loop because the launch is cancelled.
    is_cancelled: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum LaneState {
    Running,
    /// Waits for the lanes of its team.
    Waiting,
    Ended(LaunchOutcome),
}

/// The memory that expressions of a lane read.
struct LaneMemory<'m> {
    inputs: &'m Invocation,
    arena: &'m mut [Window],
    view: &'m [usize],
    decls: &'m [BufferDecl],
    point: AccessPoint,
}

impl ExprMemory for LaneMemory<'_> {
    type Fault = GridFault;

    fn param(&self, number: usize) -> i64 {
        self.inputs.params()[number]
    }

    fn load(&mut self, buffer: Buffer, at: i64) -> Result<u64, GridFault> {
        let decl = &self.decls[buffer.index()];
        if decl.role == BufferRole::Owned {
            return self.arena[self.view[buffer.index()]].load(decl, at, self.point);
        }
        let len = self.inputs.len(buffer);
        let element = usize::try_from(at).ok().filter(|at| *at < len).ok_or_else(|| InterpFault::OutOfBounds {
            access: "load",
            buffer: decl.name.clone(),
            index: at,
            len,
        })?;
        let bits = self.inputs.read(buffer, element);
        if decl.prim == Prim::Bool && bits > 1 {
            return Err(InterpFault::NotBool { buffer: decl.name.clone(), index: at, byte: bits }.into());
        }
        Ok(bits)
    }
}

impl<'a> GridMachine<'a> {
    pub(super) fn new(program: &'a GridProgram, launch: &Launch<'a>) -> GridMachine<'a> {
        let (mut arena, mut slots) = (Vec::new(), Vec::new());
        let bytes = BLOCK_BYTES[launch.seed as usize % BLOCK_BYTES.len()];
        let shares = shares(&program.grid, launch.inputs.params(), bytes);
        assert!(share_bytes(&program.grid, &shares) <= bytes, "the shares of a team exceed the memory of its block");
        let buffers = (0..).map(Buffer).zip(&program.signature.buffers);
        for (((buffer, decl), extents), share) in buffers.zip(&launch.windows).zip(shares) {
            let from = arena.len();
            let is_uninitialized = launch.unfilled.contains(&buffer);
            arena.extend(extents.iter().map(|e| Window::new(decl, *e, is_uninitialized)));
            let mut windows: Vec<usize> = (from..arena.len()).collect();
            if share > 0 {
                for slot in &mut windows {
                    arena.push(Window::of_block(decl, share, Some(*slot)));
                    *slot = arena.len() - 1;
                }
            }
            slots.push(windows);
        }
        let lane = || Lane {
            at: 0,
            locals: Vec::new(),
            view: Vec::new(),
            state: LaneState::Running,
            parts: Vec::new(),
            is_cancelled: false,
        };
        let lanes = || (0..program.grid.lanes).map(|_| lane()).collect();
        let fill = Scalar::U64(0);
        let (name, prim, class) = ("exchange buffer of a team".into(), Prim::U64, BufferClass::Value);
        let exchange_decl = BufferDecl { name, prim, class, role: BufferRole::Owned, fill };
        let team = |chunk: usize| {
            let mut exchange = Window::of_block(&exchange_decl, MAX_TEAM_LANES as usize, None);
            exchange.grow(MAX_TEAM_LANES as usize);
            Team { chunk, barriers_passed: 0, lanes: lanes(), exchange }
        };
        let teams = (0..launch.teams.min(launch.chunks.len())).map(team).collect();
        let mut machine = GridMachine {
            program,
            inputs: launch.inputs,
            chunks: launch.chunks,
            sections: launch.sections,
            arena,
            slots,
            teams,
            outcomes: vec![None; launch.chunks.len()],
            steps: 0,
            random: launch.seed,
            exchange_decl,
            #[cfg(test)]
            rounds: vec![0; program.grid.lanes as usize],
        };
        (0..machine.teams.len()).for_each(|team| machine.begin_chunk(team, 0));
        machine
    }

    pub(super) fn run(mut self) -> Result<LaunchResult, GridFault> {
        let lanes = self.program.grid.lanes as usize;
        let mut busy: Vec<usize> = (0..self.teams.len()).collect();
        while !busy.is_empty() {
            let choice = self.random_below(busy.len() as u64) as usize;
            let team = busy[choice];
            let mut lane = self.random_below(lanes as u64) as usize;
            // Searches for a lane that can run, starting at the chosen lane.
            let runs = |team: &Team, lane: usize| team.lanes[lane].state == LaneState::Running;
            let next = (0..lanes).map(|k| (lane + k) % lanes).find(|lane| runs(&self.teams[team], *lane));
            match next {
                Some(next) => {
                    lane = next;
                    for _ in 0..=self.random_below(MAX_STEPS_IN_A_ROW) {
                        if !runs(&self.teams[team], lane) {
                            break;
                        }
                        self.step(team, lane)?;
                    }
                }
                None => {
                    if !self.synchronize(team)? {
                        busy.swap_remove(choice);
                    }
                }
            }
        }
        self.finish()
    }

    fn finish(self) -> Result<LaunchResult, GridFault> {
        let outcome = LaunchOutcome::combine(&self.outcomes.iter().copied().flatten().collect::<Vec<LaunchOutcome>>());
        if outcome == LaunchOutcome::Status(Status::Done) {
            self.check_results()?;
        }
        let mut arena: Vec<Option<Window>> = self.arena.into_iter().map(Some).collect();
        let mut into_result = |slot: &usize| arena[*slot].take().expect("each window has one slot").into_result();
        let windows = self.slots.iter().map(|slots| slots.iter().map(&mut into_result).collect()).collect();
        Ok(LaunchResult {
            outcome,
            windows,
            time: None,
            #[cfg(test)]
            rounds: self.rounds,
        })
    }

    /// Checks that results whose windows were allocated in full before the launch are fully
    /// initialized.
    fn check_results(&self) -> Result<(), GridFault> {
        let grid = &self.program.grid;
        for (k, (decl, space)) in grid.function.buffers.iter().zip(&grid.spaces).enumerate() {
            let windows = self.slots[k].iter().map(|slot| &self.arena[*slot]);
            let mut windows =
                windows.filter(|_| matches!(space, MemorySpace::Shared | MemorySpace::Rounds | MemorySpace::Sections));
            if let Some(index) = windows.find_map(Window::unwritten) {
                return Err(GridFault::UnwrittenResult { buffer: decl.name.clone(), index });
            }
        }
        Ok(())
    }

    /// Returns a random number below `n`. Source: G. L. Steele, D. Lea, C. H. Flood, "Fast
    /// splittable pseudorandom number generators", 2014 (SplitMix64).
    fn random_below(&mut self, n: u64) -> u64 {
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.random;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % n
    }

    /// Returns the buffer and the number of its window for the current chunk of a team; `None` for
    /// buffers without windows.
    fn slot(&self, buffer: usize, team: usize) -> Option<(usize, usize)> {
        let number = match self.program.grid.spaces[buffer] {
            MemorySpace::Input | MemorySpace::Unused => return None,
            MemorySpace::Shared => 0,
            MemorySpace::Sections if self.slots[buffer].len() == 1 => 0,
            MemorySpace::Sections => self.teams[team].chunk,
            MemorySpace::Rounds | MemorySpace::Chunk | MemorySpace::Measured => self.teams[team].chunk,
            MemorySpace::Team => team,
        };
        Some((buffer, number))
    }

    /// Sets the lanes of a team to step `at`, at the start of the team's chunk.
    fn begin_chunk(&mut self, team: usize, at: usize) {
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
            (lane.at, lane.state, lane.is_cancelled) = (at, LaneState::Running, false);
        }
    }

    pub(super) fn access_point(&self, team: usize, lane: usize) -> AccessPoint {
        AccessPoint { team: team as u32, lane: lane as u32, barriers_passed: self.teams[team].barriers_passed }
    }

    /// Evaluates an expression for a lane.
    pub(super) fn eval(&mut self, team: usize, lane: usize, node: &ResolvedExpr) -> Result<u64, GridFault> {
        let point = self.access_point(team, lane);
        let Lane { locals, view, .. } = &self.teams[team].lanes[lane];
        let decls = &self.program.grid.function.buffers;
        node.eval(locals, &mut LaneMemory { inputs: self.inputs, arena: &mut self.arena, view, decls, point })
    }

    pub(super) fn lane(&mut self, team: usize, lane: usize) -> &mut Lane {
        &mut self.teams[team].lanes[lane]
    }

    /// Returns whether the launch is cancelled.
    fn launch_is_cancelled(&self) -> bool {
        self.steps >= self.program.cancelled_at || self.inputs.limits().cancel.load(Ordering::Relaxed)
    }

    pub(super) fn count_step(&mut self) -> Result<(), GridFault> {
        self.steps += 1;
        let limit = self.program.step_limit;
        if self.steps > limit { Err(InterpFault::TooManyIterations(limit).into()) } else { Ok(()) }
    }

    #[cfg(test)]
    pub(super) fn count_round(&mut self, lane: usize, rounds: RoundSet, was_entered: bool) {
        self.rounds[lane] += u64::from(was_entered && rounds == RoundSet::Own);
    }

    /// Runs one step of a lane.
    fn step(&mut self, team: usize, number: usize) -> Result<(), GridFault> {
        self.count_step()?;
        let program = self.program;
        let at = self.teams[team].lanes[number].at;
        self.lane(team, number).at = at + 1;
        match &program.code.steps[at] {
            LaneStep::Assign(local, value) => {
                let value = self.eval(team, number, value)?;
                self.lane(team, number).locals[*local] = value;
            }
            LaneStep::Section(local, side) => {
                let section = &self.sections[self.teams[team].chunk];
                let bound = if *side == SectionBound::First { section.start } else { section.end };
                self.lane(team, number).locals[*local] = bound as u64;
            }
            LaneStep::Store(active, buffer, at, value) => {
                if *active == ActiveLanes::Each || number == 0 {
                    let at = self.eval(team, number, at)? as i64;
                    let value = self.eval(team, number, value)?;
                    let (window, decl, point) = self.window(*buffer, team, number);
                    window.store(decl, at, value, point)?;
                }
            }
            LaneStep::Atomic(active, buffer, at, op, value) => {
                if *active == ActiveLanes::Each || number == 0 {
                    let at = self.eval(team, number, at)? as i64;
                    let value = self.eval(team, number, value)?;
                    let (window, decl, point) = self.window(*buffer, team, number);
                    let element = window.check_access(decl, at, point, AccessKind::Atomic)?;
                    let value = op(window.elements[element], value);
                    window.set(decl, element, value)?;
                }
            }
            LaneStep::JumpUnless(cond, to) => {
                if self.eval(team, number, cond)? == 0 {
                    self.lane(team, number).at = *to;
                }
            }
            LaneStep::Jump(to) => self.lane(team, number).at = *to,
            LaneStep::BeginLoop { var, end, lo, hi, rounds, after } => {
                let (lo, hi) = (self.eval(team, number, lo)? as i64, self.eval(team, number, hi)? as i64);
                let first = if *rounds == RoundSet::Own { lo.saturating_add(number as i64) } else { lo };
                let lane = self.lane(team, number);
                lane.locals[*end] = hi as u64;
                match first < hi {
                    true => lane.locals[*var] = first as u64,
                    false => lane.at = *after,
                }
                #[cfg(test)]
                self.count_round(number, *rounds, first < hi);
            }
            LaneStep::NextRound { var, end, rounds, body } => {
                let step = if *rounds == RoundSet::Own { i64::from(program.grid.lanes) } else { 1 };
                let lane = self.lane(team, number);
                let next = (lane.locals[*var] as i64).saturating_add(step);
                if next < lane.locals[*end] as i64 {
                    lane.locals[*var] = next as u64;
                    lane.at = *body;
                }
                #[cfg(test)]
                self.count_round(number, *rounds, self.teams[team].lanes[number].at == *body);
            }
            LaneStep::Batch(batches, step) => self.batch_step((team, number), batches, step)?,
            LaneStep::Fold(fold) => self.fold(team, number, fold)?,
            LaneStep::PublishFold(fold) => self.publish_fold(team, number, fold)?,
            LaneStep::CombineFold(fold) => self.combine_fold(team, number, fold)?,
            LaneStep::SaveAccumulators(parts) => self.save_accumulators(team, number, parts),
            LaneStep::PublishAccumulator(part) => self.publish_accumulator(team, number, *part)?,
            LaneStep::CombineAccumulator(part) => self.combine_accumulator(team, number, *part)?,
            LaneStep::Poll(PollScope::Round(to)) if self.launch_is_cancelled() => {
                let lane = self.lane(team, number);
                (lane.at, lane.is_cancelled) = (*to, true);
            }
            LaneStep::Poll(PollScope::Lane) if self.launch_is_cancelled() => {
                self.lane(team, number).state = LaneState::Ended(LaunchOutcome::Status(Status::Cancelled));
            }
            LaneStep::Poll(PollScope::Round(_) | PollScope::Lane) => {}
            LaneStep::Barrier
            | LaneStep::Poll(PollScope::Team)
            | LaneStep::CheckCancelled
            | LaneStep::CombineAccumulators(_)
            | LaneStep::Sort(..)
            | LaneStep::SortBy(..) => {
                self.lane(team, number).state = LaneState::Waiting;
            }
            LaneStep::Grow(buffer, len) => {
                let len = usize::try_from(self.eval(team, number, len)? as i64).unwrap_or(0);
                self.grow(team, number, *buffer, len);
            }
            LaneStep::GrowOrMove { buffer, len, after } => {
                let len = usize::try_from(self.eval(team, number, len)? as i64).unwrap_or(0);
                if !self.must_move_out(team, number, *buffer, len) {
                    self.lane(team, number).at = *after;
                    self.grow(team, number, *buffer, len);
                }
            }
            LaneStep::InitializeShare(buffer) => {
                let (window, decl, point) = self.window(*buffer, team, number);
                if window.outside.is_some() {
                    let mut elements = (number..window.elements.len()).step_by(program.grid.lanes as usize);
                    elements.try_for_each(|element| window.initialize(decl, element, point))?;
                }
            }
            LaneStep::CopyShare(buffer) => self.copy_share(team, number, *buffer)?,
            LaneStep::MoveOut(buffer) => {
                let (share, ..) = self.window(*buffer, team, number);
                let (outside, requested) = (share.outside.expect("only shares move out"), share.requested);
                self.lane(team, number).view[buffer.index()] = outside;
                self.grow(team, number, *buffer, requested);
            }
            LaneStep::Swap(a, b) => self.lane(team, number).view.swap(a.index(), b.index()),
            LaneStep::Return(status) => {
                self.lane(team, number).state = LaneState::Ended(LaunchOutcome::Status(*status));
            }
        }
        Ok(())
    }

    fn window(&mut self, buffer: Buffer, team: usize, lane: usize) -> (&mut Window, &BufferDecl, AccessPoint) {
        let point = self.access_point(team, lane);
        let slot = self.teams[team].lanes[lane].view[buffer.index()];
        (&mut self.arena[slot], &self.program.grid.function.buffers[buffer.index()], point)
    }

    fn grow(&mut self, team: usize, lane: usize, buffer: Buffer, len: usize) {
        let space = self.program.grid.spaces[buffer.index()];
        let (window, ..) = self.window(buffer, team, lane);
        match space {
            MemorySpace::Input | MemorySpace::Shared | MemorySpace::Rounds | MemorySpace::Sections => {}
            MemorySpace::Unused => unreachable!("unused buffers do not grow"),
            MemorySpace::Measured => window.requested = window.requested.max(len),
            MemorySpace::Chunk | MemorySpace::Team => {
                window.requested = window.requested.max(len);
                if len <= window.capacity {
                    window.grow(len);
                } else {
                    self.lane(team, lane).state = LaneState::Ended(LaunchOutcome::OutOfCapacity);
                }
            }
        }
    }

    /// Returns whether a window that grows to `len` outgrows its share of the memory of a block,
    /// but fits outside of the block. If so, records `len` as requested.
    fn must_move_out(&mut self, team: usize, lane: usize, buffer: Buffer, len: usize) -> bool {
        let (window, ..) = self.window(buffer, team, lane);
        let Some(outside) = window.outside.filter(|_| len > window.capacity) else { return false };
        // Without capacity outside, growth ends the chunk.
        let fits = len <= self.arena[outside].capacity;
        if fits {
            let (window, ..) = self.window(buffer, team, lane);
            window.requested = window.requested.max(len);
        }
        fits
    }

    /// Copies a lane's elements of a share to the window outside.
    fn copy_share(&mut self, team: usize, lane: usize, buffer: Buffer) -> Result<(), GridFault> {
        let (slot, point) = (self.teams[team].lanes[lane].view[buffer.index()], self.access_point(team, lane));
        let decl = &self.program.grid.function.buffers[buffer.index()];
        let (len, outside) = (self.arena[slot].len, self.arena[slot].outside.expect("only shares move out"));
        self.arena[outside].grow(len);
        for at in (lane..len).step_by(self.program.grid.lanes as usize) {
            let value = self.arena[slot].load(decl, at as i64, point)?;
            self.arena[outside].store(decl, at as i64, value, point)?;
        }
        Ok(())
    }

    /// Completes the step at which all lanes of a team wait, or ends the chunk if all lanes have
    /// ended. Returns `false` if the team runs no more chunks.
    fn synchronize(&mut self, number: usize) -> Result<bool, GridFault> {
        let divergence = GridFault::Divergence(number as u32);
        let team = &self.teams[number];
        let first = &team.lanes[0];
        let (at, state) = (first.at, first.state);
        if team.lanes.iter().any(|lane| lane.state != state || (state == LaneState::Waiting && lane.at != at)) {
            return Err(divergence);
        }
        if let LaneState::Ended(outcome) = state {
            return Ok(self.end_chunk(number, outcome));
        }
        let program = self.program;
        match &program.code.steps[at - 1] {
            LaneStep::Fold(fold) => self.combine_warp_fold(number, fold),
            LaneStep::CombineAccumulators(parts) => self.combine_warp_accumulators(number, parts),
            LaneStep::Batch(batches, _) => self.rank_lanes(number, batches),
            op @ (LaneStep::Poll(_) | LaneStep::CheckCancelled) => {
                let stops = matches!(op, LaneStep::Poll(_)) && self.launch_is_cancelled();
                if stops || self.teams[number].lanes.iter().any(|lane| lane.is_cancelled) {
                    let end = LaneState::Ended(LaunchOutcome::Status(Status::Cancelled));
                    self.teams[number].lanes.iter_mut().for_each(|lane| lane.state = end);
                    return Ok(true);
                }
            }
            op => {
                self.teams[number].pass_barrier();
                match op {
                    LaneStep::Sort(buffer, lo, hi) => self.sort(number, [*buffer; 3], (lo, hi))?,
                    LaneStep::SortBy(buffers, lo, hi) => self.sort(number, *buffers, (lo, hi))?,
                    _ => {}
                }
                self.teams[number].pass_barrier();
            }
        }
        self.teams[number].lanes.iter_mut().for_each(|lane| lane.state = LaneState::Running);
        Ok(true)
    }

    /// Ends the chunk of a team, and begins the team's next chunk. Returns `false` if there is no
    /// next chunk, or if the team must stop. A team with workspaces must stop after a window was
    /// too small, because the contents of the workspaces are then invalid.
    fn end_chunk(&mut self, number: usize, outcome: LaunchOutcome) -> bool {
        let chunk = self.teams[number].chunk;
        self.outcomes[chunk] = Some(outcome);
        for buffer in 0..self.slots.len() {
            if let Some((buffer, slot)) = self.slot(buffer, number) {
                self.slots[buffer][slot] = self.teams[number].lanes[0].view[buffer];
            }
        }
        let next = chunk + self.teams.len();
        if outcome == LaunchOutcome::OutOfCapacity && self.program.grid.spaces.contains(&MemorySpace::Team) {
            // The team's later chunks cannot run, so they get the same outcome.
            (next..self.chunks.len()).step_by(self.teams.len()).for_each(|chunk| self.outcomes[chunk] = Some(outcome));
            return false;
        }
        if next >= self.chunks.len() {
            return false;
        }
        self.teams[number].chunk = next;
        self.teams[number].barriers_passed += 1;
        self.begin_chunk(number, self.program.code.start);
        true
    }

    /// Sorts a range of the first buffer by the other two, or by its own elements if all three are
    /// the same.
    fn sort(
        &mut self,
        team: usize,
        buffers: [Buffer; 3],
        (lo, hi): (&ResolvedExpr, &ResolvedExpr),
    ) -> Result<(), GridFault> {
        let (lo, hi) = (self.eval(team, 0, lo)? as i64, self.eval(team, 0, hi)? as i64);
        let [target, major, minor] = buffers;
        let mut keyed = Vec::new();
        for at in lo..hi {
            let (window, decl, point) = self.window(target, team, 0);
            let k = window.load(decl, at, point)?;
            if target == major {
                // The key is signed; the sort below replaces it for elements of `u64`.
                keyed.push(((k as i64, 0), k));
                continue;
            }
            let (window, decl, point) = self.window(major, team, 0);
            let first = window.load(decl, k as i64, point)? as i64;
            let (window, decl, point) = self.window(minor, team, 0);
            keyed.push(((first, window.load(decl, k as i64, point)? as i64), k));
        }
        let unsigned = self.program.grid.function.buffers[target.index()].prim == Prim::U64 && target == major;
        keyed.sort_by_key(|((a, b), k)| if unsigned { (0, 0, *k as i128) } else { (*a, *b, i128::from(*k as i64)) });
        for (at, (_, k)) in (lo..hi).zip(keyed) {
            let (window, decl, point) = self.window(target, team, 0);
            window.store(decl, at, k, point)?;
        }
        Ok(())
    }
}
