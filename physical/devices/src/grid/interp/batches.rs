//! Spread loops whose rounds append: the steps of a batch, which has at most one round for each
//! lane.
//!
//! A lane runs its round up to the block that appends, or to the condition that excludes the block,
//! and arrives at the exchange. There the team ranks the lanes that append. All lanes grow windows,
//! and then each lane continues its own round. If no condition is around the block, all rounds
//! append, and each lane knows its rank without an exchange.

use super::machine::{GridMachine, LaneState};
use super::ops::{LaneStep, PollScope, StepBuilder};
use crate::grid::{AppendingRounds, Branch, RoundCounter, Stmt, WARP};
use redpoll_compiler::assembly::{Expr, ResolvedExpr};

/// The locals of a loop whose rounds append.
#[derive(Clone)]
pub(super) struct Batches {
    var: usize,
    /// The local with the upper bound.
    end: usize,
    /// The local with the first round of the batch.
    first: usize,
    /// The local with the step at which the lane's round continues.
    resume: usize,
    /// The local with the number of appending rounds of the batch before the lane's round. Between
    /// arrival and exchange, the local is 1 if the lane's round appends, and 0 otherwise.
    rank: usize,
    /// The local with the number of appending rounds of the batch.
    count: usize,
    counters: Vec<BatchCounter>,
}

#[derive(Clone, Copy)]
struct BatchCounter {
    local: usize,
    /// The local that saves the value from before the batch.
    saved: usize,
    by: i64,
}

/// A step of a batch.
pub(super) enum BatchStep {
    /// Enters the first batch of a loop, or jumps past the loop.
    BeginLoop { lo: ResolvedExpr, hi: ResolvedExpr, after: usize },
    /// Begins the round of a lane; a lane without a round jumps to `idle`.
    BeginRound { idle: usize },
    /// Arrives at the exchange. Records whether the round appends, and the step at which it
    /// continues.
    Arrive { appends: bool, resume: usize },
    /// Ranks the lanes that append.
    Exchange,
    /// Ranks the lanes of a batch whose rounds all append.
    RankAll,
    /// Sets the counters for growth; jumps to `after` if no round appends.
    BeginGrowth { after: usize },
    /// Sets the counters of the lane's round, and continues the round.
    Resume,
    /// Sets the counters after the batch, and enters the next batch, if there is one.
    NextBatch { head: usize },
}

impl StepBuilder<'_> {
    /// Adds the steps of a spread loop whose rounds append.
    pub(super) fn batches(&mut self, var: usize, (lo, hi): (&Expr, &Expr), counters: &[RoundCounter], body: &[Stmt]) {
        let batches = self.batches_of(var, counters);
        let AppendingRounds { poll, body, path, growth, appends } = AppendingRounds::of(body, counters);
        let add = |builder: &mut Self, step: BatchStep| builder.push(LaneStep::Batch(batches.clone(), step));
        let step = BatchStep::BeginLoop { lo: self.node(lo), hi: self.node(hi), after: usize::MAX };
        let begin = add(self, step);
        let head = self.here();
        if poll.is_some() {
            self.push(LaneStep::Poll(PollScope::Team));
        }
        let begin_round = add(self, BatchStep::BeginRound { idle: usize::MAX });
        let mut leaves = Vec::new();
        self.before_block(body, &path, &mut leaves);
        let mut arrivals = vec![add(self, BatchStep::Arrive { appends: true, resume: usize::MAX })];
        let mut to_exchange = vec![self.jump()];
        for leave in leaves.into_iter().chain([begin_round]) {
            self.set_target(leave);
            arrivals.push(add(self, BatchStep::Arrive { appends: false, resume: usize::MAX }));
            to_exchange.push(self.jump());
        }
        to_exchange.into_iter().for_each(|jump| self.set_target(jump));
        add(self, if path.is_empty() { BatchStep::RankAll } else { BatchStep::Exchange });
        let begin_growth = add(self, BatchStep::BeginGrowth { after: usize::MAX });
        self.block(&growth);
        self.set_target(begin_growth);
        add(self, BatchStep::Resume);
        self.after_arrival(body, (&path, &appends), &arrivals);
        self.set_target(*arrivals.last().expect("lanes without a round arrive"));
        add(self, BatchStep::NextBatch { head });
        self.set_target(begin);
    }

    fn batches_of(&mut self, var: usize, counters: &[RoundCounter]) -> Batches {
        let [end, first, resume, rank, count] = [(); 5].map(|()| self.new_local());
        let counter = |c: &RoundCounter| BatchCounter { local: c.local.index(), saved: self.new_local(), by: c.by };
        Batches { var, end, first, resume, rank, count, counters: counters.iter().map(counter).collect() }
    }

    /// Adds the steps of a round before the block at the end of a path. `leaves` gets the jumps of
    /// rounds that do not reach the block, outermost first.
    fn before_block(&mut self, body: &[Stmt], path: &[(usize, Branch)], leaves: &mut Vec<usize>) {
        let Some(((at, branch), path)) = path.split_first() else { return };
        self.block(&body[..*at]);
        let Stmt::If { cond, .. } = &body[*at] else { unreachable!("a path leads through `if` statements") };
        let cond = self.node(cond);
        let jump = self.push(LaneStep::JumpUnless(cond, usize::MAX));
        leaves.push(match branch {
            Branch::Then => jump,
            Branch::Other => {
                let leave = self.jump();
                self.set_target(jump);
                leave
            }
        });
        self.before_block(branch.of(&body[*at]).0, path, leaves);
    }

    /// Adds the steps of a round after its arrival. `arrivals` has the steps of arrival in this
    /// order: of rounds that append; of rounds that a condition excludes, one step for each
    /// condition, outermost first; of lanes without a round.
    fn after_arrival(&mut self, body: &[Stmt], (path, appends): (&[(usize, Branch)], &[Stmt]), arrivals: &[usize]) {
        let Some(((at, branch), path)) = path.split_first() else {
            self.set_target(arrivals[0]);
            return self.block(appends);
        };
        let (inner, other) = branch.of(&body[*at]);
        let inner_arrivals = [&arrivals[..1], &arrivals[2..]].concat();
        self.after_arrival(inner, (path, appends), &inner_arrivals);
        let end = self.jump();
        self.set_target(arrivals[1]);
        self.block(other);
        self.set_target(end);
        self.block(&body[at + 1..]);
    }
}

impl BatchStep {
    /// Returns the target of the step, if it has one.
    pub(super) fn target(&mut self) -> Option<&mut usize> {
        match self {
            BatchStep::BeginLoop { after: to, .. }
            | BatchStep::BeginRound { idle: to }
            | BatchStep::Arrive { resume: to, .. }
            | BatchStep::BeginGrowth { after: to }
            | BatchStep::NextBatch { head: to } => Some(to),
            BatchStep::Exchange | BatchStep::RankAll | BatchStep::Resume => None,
        }
    }
}

impl GridMachine<'_> {
    /// Runs a step of a batch.
    pub(super) fn batch_step(
        &mut self,
        (team, number): (usize, usize),
        batches: &Batches,
        step: &BatchStep,
    ) -> Result<(), super::GridFault> {
        let team_lanes = i64::from(self.program.grid.lanes);
        match step {
            BatchStep::BeginLoop { lo, hi, after } => {
                let (lo, hi) = (self.eval(team, number, lo)?, self.eval(team, number, hi)?);
                let lane = self.lane(team, number);
                (lane.locals[batches.first], lane.locals[batches.end]) = (lo, hi);
                if lo as i64 >= hi as i64 {
                    lane.at = *after;
                }
            }
            BatchStep::BeginRound { idle } => {
                let lane = self.lane(team, number);
                for counter in &batches.counters {
                    lane.locals[counter.saved] = lane.locals[counter.local];
                }
                let round = (lane.locals[batches.first] as i64).saturating_add(number as i64);
                let is_idle = round >= lane.locals[batches.end] as i64;
                match is_idle {
                    true => lane.at = *idle,
                    false => lane.locals[batches.var] = round as u64,
                }
                #[cfg(test)]
                self.count_round(number, super::ops::RoundSet::Own, !is_idle);
            }
            BatchStep::Arrive { appends, resume } => {
                let lane = self.lane(team, number);
                (lane.locals[batches.rank], lane.locals[batches.resume]) = (u64::from(*appends), *resume as u64);
            }
            BatchStep::Exchange => self.lane(team, number).state = LaneState::Waiting,
            BatchStep::RankAll => {
                let lane = self.lane(team, number);
                let rounds = (lane.locals[batches.end] as i64).saturating_sub(lane.locals[batches.first] as i64);
                (lane.locals[batches.rank], lane.locals[batches.count]) =
                    (number as u64, rounds.min(team_lanes) as u64);
            }
            BatchStep::BeginGrowth { after } => {
                let lane = self.lane(team, number);
                match lane.locals[batches.count] {
                    0 => lane.at = *after,
                    count => lane.set_counters(batches, count - 1),
                }
            }
            BatchStep::Resume => {
                let lane = self.lane(team, number);
                lane.set_counters(batches, lane.locals[batches.rank]);
                lane.at = lane.locals[batches.resume] as usize;
            }
            BatchStep::NextBatch { head } => {
                let lane = self.lane(team, number);
                lane.set_counters(batches, lane.locals[batches.count]);
                let first = (lane.locals[batches.first] as i64).saturating_add(team_lanes);
                lane.locals[batches.first] = first as u64;
                if first < lane.locals[batches.end] as i64 {
                    lane.at = *head;
                }
            }
        }
        Ok(())
    }

    /// Ranks the lanes of a team, all of which have arrived. In a team of several warps, lanes
    /// exchange counts through memory, so the exchange is a barrier, too.
    pub(super) fn rank_lanes(&mut self, team: usize, batches: &Batches) {
        let mut count = 0;
        for lane in &mut self.teams[team].lanes {
            let appends = lane.locals[batches.rank];
            lane.locals[batches.rank] = count;
            count += appends;
        }
        self.teams[team].lanes.iter_mut().for_each(|lane| lane.locals[batches.count] = count);
        if self.program.grid.lanes > WARP {
            self.teams[team].pass_barrier();
        }
    }
}

impl super::machine::Lane {
    /// Sets the counters to their values after `rank` appending rounds of the batch.
    fn set_counters(&mut self, batches: &Batches, rank: u64) {
        for BatchCounter { local, saved, by } in &batches.counters {
            self.locals[*local] = self.locals[*saved].wrapping_add(rank.wrapping_mul(*by as u64));
        }
    }
}
