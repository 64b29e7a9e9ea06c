//! Folds that the lanes of a team share.

use super::Fault;
use super::machine::{Machine, State, Team};
use super::ops::{Fold, Rounds};
use crate::assembly::eval::BinaryFn;
use crate::grid::WARP;

impl Machine<'_> {
    /// The part that a lane has in a fold, or all of it.
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

    /// The lanes of a warp have all come to the end of a fold.
    pub(super) fn fold_together(&mut self, team: usize, fold: &Fold) {
        let lanes = &mut self.teams[team].lanes;
        let parts = (0..fold.lanes).map(|part| lanes[part % lanes.len()].parts[part]).collect();
        let whole = combined(parts, fold.op);
        for lane in lanes {
            lane.locals[fold.acc] = (fold.op)(lane.locals[fold.acc], whole);
        }
    }

    /// Shows the other warps what a lane has of a fold: its parts combined in halves, as far as these are its own.
    pub(super) fn show(&mut self, team: usize, number: usize, fold: &Fold) -> Result<(), Fault> {
        let (who, lanes) = (self.who(team, number), self.program.grid.lanes as usize);
        let mut parts = self.lane(team, number).parts.clone();
        while parts.len() > lanes {
            halve(&mut parts, fold.op);
        }
        let part = parts.get(number).copied().unwrap_or(fold.identity);
        self.teams[team].shown.store(&self.shown, number as i64, part, who)
    }

    /// Takes what all lanes have shown: each warp combines all of it, so a lane reads what those of its number in all warps have.
    pub(super) fn take(&mut self, team: usize, number: usize, fold: &Fold) -> Result<(), Fault> {
        let who = self.who(team, number);
        let Team { shown, lanes, .. } = &mut self.teams[team];
        let (count, warp) = (fold.lanes.min(lanes.len()), WARP as usize);
        for at in (number % warp..count).step_by(warp) {
            shown.load(&self.shown, at as i64, who)?;
        }
        let whole = combined(shown.elements[..count].to_vec(), fold.op);
        let acc = &mut lanes[number].locals[fold.acc];
        *acc = (fold.op)(*acc, whole);
        Ok(())
    }
}

/// Lanes of a fold combined in halves.
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
