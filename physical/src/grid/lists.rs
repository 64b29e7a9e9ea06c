//! Lanes for folds and walks along lists, chosen by the lengths of the lists.
//!
//! A list shorter than the team leaves lanes idle, so a team has about as many lanes as a list has
//! entries on average. Teams of fewer lanes share a warp, and a block shares a list that is long
//! for a warp. Source: N. Bell, M. Garland, "Implementing sparse matrix-vector multiplication on
//! throughput-oriented processors", 2009.

use super::known::Known;
use super::map::{MOST_LANES, WARP};
use crate::assembly::{Buffer, Expr, Function, LaneFold, Local, Stmt};
use crate::lower::{Binding, Lengths, Lowered, ParamSource, walks_in_lanes};
use crate::notation::{ALL, MOST_CHUNKS, Program, Role, TensorId};
use crate::storage::Tensor;
use redpoll_logic::{FloatMode, LevelKind};

/// Entries per lane from which a block is worth its barriers.
const LEAST_OF_BLOCK: f64 = 8.0;

/// Average lengths of the lists of inputs, by tensor and level. The lengths of other lists are
/// unknown.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Lists(Lengths);

impl Lists {
    /// Measures the lists of the inputs of a program. `inputs` has the order of the program's
    /// tensors; absent inputs are skipped.
    pub fn of(program: &Program, inputs: &[Option<&Tensor>]) -> Lists {
        let of_role = (0..).map(TensorId).zip(&program.tensors).filter(|(_, decl)| decl.role == Role::Input);
        let at_hand = of_role.zip(inputs).filter_map(|((id, _), tensor)| Some((id, (*tensor)?)));
        let lengths = at_hand.flat_map(|(id, tensor)| {
            let levels = tensor.ty().format.levels.iter().enumerate();
            let lists = levels.filter(|(_, level)| level.kind == LevelKind::SparseList);
            lists.map(move |(k, _)| {
                let data = tensor.level(k);
                let lists = data.arrays[0].len().saturating_sub(1).max(1);
                ((id, k), data.arrays[1].len() as f64 / lists as f64)
            })
        });
        Lists(lengths.collect())
    }

    /// Assumes `entries` entries for every list of the inputs.
    #[cfg(test)]
    pub(crate) fn all(program: &Program, entries: f64) -> Lists {
        let inputs = (0..).map(TensorId).zip(&program.tensors).filter(|(_, decl)| decl.role == Role::Input);
        let levels = inputs.flat_map(|(id, decl)| (0..decl.ty.format.levels.len()).map(move |k| (id, k)));
        Lists(levels.map(|level| (level, entries)).collect())
    }

    /// Returns the lengths.
    pub(crate) fn lengths(&self) -> &Lengths {
        &self.0
    }

    /// Returns the number of lanes for lists of a level.
    fn lanes(&self, level: (TensorId, usize)) -> u16 {
        lanes(self.0.get(&level).copied().unwrap_or(1.0))
    }
}

/// Returns the number of lanes for loops of `places` entries: 1 if there are too few to share.
/// Loops with enough entries for each lane of a block to make up for its barriers get more than a
/// warp.
fn lanes(places: f64) -> u16 {
    let of_block = (places / LEAST_OF_BLOCK).min(f64::from(MOST_LANES));
    let most = places.clamp(1.0, f64::from(WARP)).max(of_block) as u16;
    1 << most.ilog2()
}

/// Returns the cursors along lists, each with its number of lanes, if more than one.
pub(super) fn asked(lowered: &Lowered, lists: &Lists) -> Vec<(Local, u16)> {
    let mut asked = Vec::new();
    for stmt in &lowered.function.body {
        stmt.any(&mut |s| {
            if let Some((cursor, level)) = cursor(s, &lowered.bindings) {
                asked.push((cursor, lists.lanes(level)));
            }
            false
        });
    }
    asked.retain(|(_, lanes)| *lanes > 1);
    asked
}

/// Returns the cursors along lists of unique coordinates, each with the array of the coordinates.
pub(super) fn coordinates(program: &Program, Lowered { function, bindings, .. }: &Lowered) -> Vec<(Local, Buffer)> {
    let mut found = Vec::new();
    for stmt in &function.body {
        stmt.any(&mut |s| {
            if let Some((cursor, (tensor, level))) = cursor(s, bindings) {
                let format = &program.tensors[tensor.index()].ty.format.levels[level];
                let own = Binding::Level { tensor, level, array: 1 };
                let array = bindings.iter().position(|binding| *binding == own);
                let is_list = format.kind == LevelKind::SparseList && format.unique;
                found.extend(array.filter(|_| is_list).map(|k| (cursor, Buffer(k as u32))));
            }
            false
        });
    }
    found
}

/// Returns the function of a program with its folds widened: along lists to the lanes of their
/// cursors, along ranges of provable length to the lanes for that length.
pub(super) fn folds_in_lanes(lowered: &Lowered, asked: &[(Local, u16)], mode: FloatMode) -> Function {
    let mut function = walks_in_lanes(lowered.function.clone(), asked, mode);
    let param = |source: &ParamSource| match source {
        ParamSource::Dimension(n) => i64::try_from(*n).ok(),
        _ => None,
    };
    let known = Known::of(&lowered.function, lowered.params.iter().map(param).collect());
    let of_fold = |fold: &LaneFold| {
        let of_list = asked.iter().find(|(cursor, _)| fold.lo == Expr::Local(*cursor)).map(|(_, lanes)| *lanes);
        of_list.or_else(|| of_range(fold, &known)).unwrap_or(fold.lanes)
    };
    function.body.iter_mut().for_each(|s| widen(s, &of_fold));
    function
}

/// Returns the number of lanes for a fold over a range that is provably long for a warp. If the
/// range depends on the chunk, the range over all rounds is divided by `MOST_CHUNKS`.
fn of_range(fold: &LaneFold, known: &Known<'_>) -> Option<u16> {
    let over = |chunk| Some(known.value(&fold.hi, chunk)?.saturating_sub(known.value(&fold.lo, chunk)?) as f64);
    let places = over(None).or_else(|| Some(over(Some(&ALL))? / MOST_CHUNKS as f64))?;
    Some(lanes(places)).filter(|lanes| *lanes > WARP as u16)
}

/// Returns the cursor that a statement sets to the start of a list, and the level of the list.
fn cursor(stmt: &Stmt, bindings: &[Binding]) -> Option<(Local, (TensorId, usize))> {
    let Stmt::Assign(cursor, Expr::Load { buffer: Buffer(k), .. }) = stmt else { return None };
    match bindings.get(*k as usize)? {
        Binding::Level { tensor, level, array: 0 } => Some((*cursor, (*tensor, *level))),
        _ => None,
    }
}

/// Replaces the lanes of folds, which suit a processor, by those of a team.
fn widen(stmt: &mut Stmt, of_fold: &dyn Fn(&LaneFold) -> u16) {
    match stmt {
        Stmt::Lanes(fold) => fold.lanes = of_fold(fold),
        Stmt::If { then, other, .. } => then.iter_mut().chain(other).for_each(|s| widen(s, of_fold)),
        Stmt::While { body, .. } | Stmt::For { body, .. } => body.iter_mut().for_each(|s| widen(s, of_fold)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Short lists get few lanes, and long lists get teams of more than one warp.
    #[test]
    fn teams_are_as_large_as_lists_are_long() {
        let of = [0.5, 1.0, 3.9, 31.0, 32.0, 511.0, 512.0, 1500.0, 2048.0, 1e18].map(lanes);
        assert_eq!(of, [1, 1, 2, 16, 32, 32, 64, 128, 256, 256]);
    }
}
