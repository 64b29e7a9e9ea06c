//! Folds in lanes, which the lanes of a team share or each lane runs alone, and the folds of spread
//! loops.

use super::GridFault;
use super::machine::{GridMachine, LaneState, Team};
use super::ops::{FoldAccumulator, FoldStep, RoundSet};
use crate::grid::WARP;
use redpoll_compiler::assembly::eval::BinaryFn;

impl GridMachine<'_> {
    /// Folds a lane's own elements, or all elements if each lane runs the whole fold.
    pub(super) fn fold(&mut self, team: usize, number: usize, fold: &FoldStep) -> Result<(), GridFault> {
        let (lo, hi) = (self.eval(team, number, &fold.lo)? as i64, self.eval(team, number, &fold.hi)? as i64);
        let lanes = self.program.grid.lanes as usize;
        let mut parts = vec![fold.identity; fold.lanes];
        for (k, part) in (lo..hi).zip((0..fold.lanes).cycle()) {
            if fold.rounds == RoundSet::Own && part % lanes != number {
                continue;
            }
            self.count_step()?;
            self.lane(team, number).locals[fold.var] = k as u64;
            parts[part] = (fold.op)(parts[part], self.eval(team, number, &fold.value)?);
        }
        let lane = self.lane(team, number);
        match fold.rounds {
            RoundSet::All => {
                lane.locals[fold.acc] = (fold.op)(lane.locals[fold.acc], combine_in_halves(parts, fold.op));
            }
            RoundSet::Own => lane.parts = parts,
        }
        if fold.rounds == RoundSet::Own && lanes <= WARP as usize {
            self.lane(team, number).state = LaneState::Waiting;
        }
        Ok(())
    }

    /// Combines a fold for a team of at most one warp, once all lanes have reached its end.
    pub(super) fn combine_warp_fold(&mut self, team: usize, fold: &FoldStep) {
        let lanes = &mut self.teams[team].lanes;
        let parts = (0..fold.lanes).map(|part| lanes[part % lanes.len()].parts[part]).collect();
        let result = combine_in_halves(parts, fold.op);
        for lane in lanes {
            lane.locals[fold.acc] = (fold.op)(lane.locals[fold.acc], result);
        }
    }

    /// Combines a lane's partial results of a fold in halves, and publishes the result to the other
    /// warps.
    pub(super) fn publish_fold(&mut self, team: usize, number: usize, fold: &FoldStep) -> Result<(), GridFault> {
        let lanes = self.program.grid.lanes as usize;
        let mut parts = self.lane(team, number).parts.clone();
        while parts.len() > lanes {
            halve(&mut parts, fold.op);
        }
        let part = parts.get(number).copied().unwrap_or(fold.identity);
        self.publish(team, number, part)
    }

    /// Combines the partial results that all lanes have published.
    pub(super) fn combine_fold(&mut self, team: usize, number: usize, fold: &FoldStep) -> Result<(), GridFault> {
        let result = self.combine_published(team, number, (fold.op, fold.lanes))?;
        let acc = &mut self.lane(team, number).locals[fold.acc];
        *acc = (fold.op)(*acc, result);
        Ok(())
    }

    /// Saves the accumulators of a lane and sets them to identities.
    pub(super) fn save_accumulators(&mut self, team: usize, number: usize, accumulators: &[FoldAccumulator]) {
        let lane = self.lane(team, number);
        for accumulator in accumulators {
            lane.locals[accumulator.saved] = std::mem::replace(&mut lane.locals[accumulator.acc], accumulator.identity);
        }
    }

    /// Combines the folds of a spread loop for a team of at most one warp, once all lanes have left
    /// the loop.
    pub(super) fn combine_warp_accumulators(&mut self, team: usize, accumulators: &[FoldAccumulator]) {
        let lanes = &mut self.teams[team].lanes;
        for accumulator in accumulators {
            let result =
                combine_in_halves(lanes.iter().map(|lane| lane.locals[accumulator.acc]).collect(), accumulator.op);
            lanes.iter_mut().for_each(|lane| {
                lane.locals[accumulator.acc] = (accumulator.op)(lane.locals[accumulator.saved], result);
            });
        }
    }

    /// Publishes a lane's accumulator of a spread loop to the other warps.
    pub(super) fn publish_accumulator(
        &mut self,
        team: usize,
        number: usize,
        accumulator: FoldAccumulator,
    ) -> Result<(), GridFault> {
        let value = self.lane(team, number).locals[accumulator.acc];
        self.publish(team, number, value)
    }

    /// Combines the accumulators of a spread loop that all lanes have published.
    pub(super) fn combine_accumulator(
        &mut self,
        team: usize,
        number: usize,
        accumulator: FoldAccumulator,
    ) -> Result<(), GridFault> {
        let result = self.combine_published(team, number, (accumulator.op, usize::MAX))?;
        let lane = self.lane(team, number);
        lane.locals[accumulator.acc] = (accumulator.op)(lane.locals[accumulator.saved], result);
        Ok(())
    }

    fn publish(&mut self, team: usize, number: usize, value: u64) -> Result<(), GridFault> {
        let point = self.access_point(team, number);
        self.teams[team].exchange.store(&self.exchange_decl, number as i64, value, point)
    }

    /// Combines the published values of the first `count` lanes of the team, or of all lanes if the
    /// team has fewer. Each warp combines all values: a lane reads, from each warp, the value of
    /// the lane with the same index in its warp.
    fn combine_published(
        &mut self,
        team: usize,
        number: usize,
        (op, count): (BinaryFn, usize),
    ) -> Result<u64, GridFault> {
        let point = self.access_point(team, number);
        let Team { exchange, lanes, .. } = &mut self.teams[team];
        let (count, warp) = (count.min(lanes.len()), WARP as usize);
        for at in (number % warp..count).step_by(warp) {
            exchange.load(&self.exchange_decl, at as i64, point)?;
        }
        Ok(combine_in_halves(exchange.elements[..count].to_vec(), op))
    }
}

/// Combines the lanes of a fold in halves.
fn combine_in_halves(mut parts: Vec<u64>, op: BinaryFn) -> u64 {
    while parts.len() > 1 {
        halve(&mut parts, op);
    }
    parts[0]
}

fn halve(parts: &mut Vec<u64>, op: BinaryFn) {
    let upper = parts.split_off(parts.len() / 2);
    for (part, other) in parts.iter_mut().zip(upper) {
        *part = op(*part, other);
    }
}
