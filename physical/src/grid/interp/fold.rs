//! Folds that the lanes of a team share.

use super::Fault;
use super::machine::{Machine, State, Team};
use super::ops::{Fold, Part, Rounds};
use crate::assembly::eval::BinaryFn;
use crate::grid::WARP;

impl Machine<'_> {
    /// Folds a lane's own elements, or all elements if each lane runs the whole fold.
    pub(super) fn fold(&mut self, team: usize, number: usize, fold: &Fold) -> Result<(), Fault> {
        let (lo, hi) = (self.eval(team, number, &fold.lo)? as i64, self.eval(team, number, &fold.hi)? as i64);
        let lanes = self.program.grid.lanes as usize;
        let mut parts = vec![fold.identity; fold.lanes];
        for (k, part) in (lo..hi).zip((0..fold.lanes).cycle()) {
            if fold.rounds == Rounds::Own && part % lanes != number {
                continue;
            }
            self.count_step()?;
            self.lane(team, number).locals[fold.var] = k as u64;
            parts[part] = (fold.op)(parts[part], self.eval(team, number, &fold.value)?);
        }
        let lane = self.lane(team, number);
        match fold.rounds {
            Rounds::All => lane.locals[fold.acc] = (fold.op)(lane.locals[fold.acc], combined(parts, fold.op)),
            Rounds::Own => lane.parts = parts,
        }
        if fold.rounds == Rounds::Own && lanes <= WARP as usize {
            self.lane(team, number).state = State::Waits;
        }
        Ok(())
    }

    /// Combines a fold for a team of one warp, once all lanes have reached its end.
    pub(super) fn fold_together(&mut self, team: usize, fold: &Fold) {
        let lanes = &mut self.teams[team].lanes;
        let parts = (0..fold.lanes).map(|part| lanes[part % lanes.len()].parts[part]).collect();
        let whole = combined(parts, fold.op);
        for lane in lanes {
            lane.locals[fold.acc] = (fold.op)(lane.locals[fold.acc], whole);
        }
    }

    /// Publishes a lane's partial result of a fold to the other warps, after combining the lane's
    /// own parts in halves.
    pub(super) fn show(&mut self, team: usize, number: usize, fold: &Fold) -> Result<(), Fault> {
        let lanes = self.program.grid.lanes as usize;
        let mut parts = self.lane(team, number).parts.clone();
        while parts.len() > lanes {
            halve(&mut parts, fold.op);
        }
        let part = parts.get(number).copied().unwrap_or(fold.identity);
        self.show_one(team, number, part)
    }

    /// Combines the partial results that all lanes have published.
    pub(super) fn take(&mut self, team: usize, number: usize, fold: &Fold) -> Result<(), Fault> {
        let whole = self.taken(team, number, (fold.op, fold.lanes))?;
        let acc = &mut self.lane(team, number).locals[fold.acc];
        *acc = (fold.op)(*acc, whole);
        Ok(())
    }

    /// Saves the accumulators of a lane and sets them to identities.
    pub(super) fn apart(&mut self, team: usize, number: usize, parts: &[Part]) {
        let lane = self.lane(team, number);
        for part in parts {
            lane.locals[part.before] = std::mem::replace(&mut lane.locals[part.acc], part.identity);
        }
    }

    /// Combines the folds of a spread loop for a team of one warp, once all lanes have left the
    /// loop.
    pub(super) fn parts_together(&mut self, team: usize, parts: &[Part]) {
        let lanes = &mut self.teams[team].lanes;
        for part in parts {
            let whole = combined(lanes.iter().map(|lane| lane.locals[part.acc]).collect(), part.op);
            lanes.iter_mut().for_each(|lane| lane.locals[part.acc] = (part.op)(lane.locals[part.before], whole));
        }
    }

    /// Publishes a lane's accumulator of a spread loop to the other warps.
    pub(super) fn show_part(&mut self, team: usize, number: usize, part: Part) -> Result<(), Fault> {
        let value = self.lane(team, number).locals[part.acc];
        self.show_one(team, number, value)
    }

    /// Combines the accumulators of a spread loop that all lanes have published.
    pub(super) fn take_part(&mut self, team: usize, number: usize, part: Part) -> Result<(), Fault> {
        let whole = self.taken(team, number, (part.op, usize::MAX))?;
        let lane = self.lane(team, number);
        lane.locals[part.acc] = (part.op)(lane.locals[part.before], whole);
        Ok(())
    }

    fn show_one(&mut self, team: usize, number: usize, value: u64) -> Result<(), Fault> {
        let who = self.who(team, number);
        self.teams[team].shown.store(&self.shown, number as i64, value, who)
    }

    /// Combines the values that up to `most` lanes have published. Each warp combines all values,
    /// so a lane reads those at its own number in all warps.
    fn taken(&mut self, team: usize, number: usize, (op, most): (BinaryFn, usize)) -> Result<u64, Fault> {
        let who = self.who(team, number);
        let Team { shown, lanes, .. } = &mut self.teams[team];
        let (count, warp) = (most.min(lanes.len()), WARP as usize);
        for at in (number % warp..count).step_by(warp) {
            shown.load(&self.shown, at as i64, who)?;
        }
        Ok(combined(shown.elements[..count].to_vec(), op))
    }
}

/// Combines the lanes of a fold in halves.
fn combined(mut parts: Vec<u64>, op: BinaryFn) -> u64 {
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
