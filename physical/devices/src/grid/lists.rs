//! Lanes for folds and walks along lists, chosen by the lengths of the lists, and for folds along
//! long ranges.
//!
//! A list shorter than the team leaves lanes idle, so a team has about as many lanes as a list has
//! entries on average, up to a warp. Teams of fewer lanes share a warp. A team of several warps,
//! which is a block, shares a list that is long enough to make up for the barriers of the block.
//! Source: N. Bell, M. Garland, "Implementing sparse matrix-vector multiplication on
//! throughput-oriented processors", 2009.

use super::constants::Constants;
use super::map::{MAX_TEAM_LANES, WARP};
use redpoll_compiler::assembly::{Buffer, Expr, Function, LaneFold, Local, Stmt};
use redpoll_compiler::lower::{Binding, ListLengths, LoweredFunction, ParamSource, fold_walks_in_lanes};
use redpoll_compiler::notation::{ALL_ROUNDS, MAX_CHUNKS, Program, Role, TensorId};
use redpoll_logic::{FloatMode, LevelKind};

/// Minimum number of entries per lane for which a block is worth its barriers.
const MIN_ENTRIES_PER_LANE: f64 = 8.0;

/// Returns the number of lanes for loops of `entries` entries: 1 if there are too few entries to
/// share. The number is larger than a warp if each lane of a block gets enough entries to make up
/// for the barriers of the block.
fn lanes_for(entries: f64) -> u16 {
    let in_block = (entries / MIN_ENTRIES_PER_LANE).min(f64::from(MAX_TEAM_LANES));
    let max = entries.clamp(1.0, f64::from(WARP)).max(in_block) as u16;
    1 << max.ilog2()
}

/// Returns the cursors along lists, and the variables of loops over written coordinates, each with
/// its number of lanes. Omits lists of inputs that get one lane. Other lists, such as the lists of
/// workspaces, have unknown lengths. The lanes of a team share such a list, but the list adds no
/// lanes to the team, so its number of lanes is 1.
pub(super) fn lanes_of_cursors(program: &Program, lowered: &LoweredFunction, lists: &ListLengths) -> Vec<(Local, u16)> {
    let mut cursor_lanes = Vec::new();
    for stmt in &lowered.function.body {
        stmt.any(&mut |s| {
            if let Some((cursor, level)) = cursor(s, &lowered.bindings) {
                let is_input = program.tensors[level.0.index()].role == Role::Input;
                let lanes = lists.of_level(level).map_or(1, lanes_for);
                cursor_lanes.extend((lanes > 1 || !is_input).then_some((cursor, lanes)));
            }
            cursor_lanes.extend(loop_over_written(s, program, &lowered.bindings).map(|(var, _)| (var, 1)));
            false
        });
    }
    cursor_lanes
}

/// Returns the cursors along lists of unique coordinates, and the variables of loops over the
/// written coordinates of byte maps, each with the array of the coordinates.
pub(super) fn coordinates_of_cursors(
    program: &Program,
    LoweredFunction { function, bindings, .. }: &LoweredFunction,
) -> Vec<(Local, Buffer)> {
    let mut found = Vec::new();
    for stmt in &function.body {
        stmt.any(&mut |s| {
            if let Some((cursor, (tensor, level))) = cursor(s, bindings) {
                let format = &program.tensors[tensor.index()].ty.format.levels[level];
                let coordinates = Binding::Level { tensor, level, array: 1 };
                let array = bindings.iter().position(|binding| *binding == coordinates);
                let is_list = matches!(format.kind, LevelKind::SparseList | LevelKind::ByteMap | LevelKind::Hash);
                found.extend(array.filter(|_| is_list && format.unique).map(|k| (cursor, Buffer(k as u32))));
            }
            found.extend(loop_over_written(s, program, bindings));
            false
        });
    }
    found
}

/// Returns the function of a program with numbers of lanes that suit teams. Walks that only fold
/// become folds in lanes if their cursors have several lanes. Folds along lists get the lanes of
/// their cursors, and folds along ranges that are provably too long for a warp get a number of
/// lanes for the length of the range. Other folds keep their lanes.
pub(super) fn widen_folds(lowered: &LoweredFunction, cursor_lanes: &[(Local, u16)], mode: FloatMode) -> Function {
    let in_lanes: Vec<_> = cursor_lanes.iter().filter(|(_, lanes)| *lanes > 1).copied().collect();
    let mut function = fold_walks_in_lanes(lowered.function.clone(), &in_lanes, mode);
    let param = |source: &ParamSource| match source {
        ParamSource::Dimension(n) => i64::try_from(*n).ok(),
        _ => None,
    };
    let constants = Constants::of(&lowered.function, lowered.params.iter().map(param).collect());
    let of_fold = |fold: &LaneFold| {
        let of_list = in_lanes.iter().find(|(cursor, _)| fold.lo == Expr::Local(*cursor)).map(|(_, lanes)| *lanes);
        of_list.or_else(|| lanes_for_range(fold, &constants)).unwrap_or(fold.lanes)
    };
    function.body.iter_mut().for_each(|s| widen(s, &of_fold));
    function
}

/// Returns the number of lanes for a fold over a range that is provably too long for a warp. If the
/// range depends on the chunk, the range over all rounds is divided by `MAX_CHUNKS`.
fn lanes_for_range(fold: &LaneFold, constants: &Constants<'_>) -> Option<u16> {
    let length =
        |chunk| Some(constants.value(&fold.hi, chunk)?.saturating_sub(constants.value(&fold.lo, chunk)?) as f64);
    let entries = length(None).or_else(|| Some(length(Some(&ALL_ROUNDS))? / MAX_CHUNKS as f64))?;
    Some(lanes_for(entries)).filter(|lanes| *lanes > WARP as u16)
}

/// Returns the cursor that a statement sets to the start of a list, and the level of the list.
fn cursor(stmt: &Stmt, bindings: &[Binding]) -> Option<(Local, (TensorId, usize))> {
    let Stmt::Assign(cursor, Expr::Load { buffer: Buffer(k), .. }) = stmt else { return None };
    match bindings.get(*k as usize)? {
        Binding::Level { tensor, level, array: 0 } => Some((*cursor, (*tensor, *level))),
        _ => None,
    }
}

/// Returns the variable of a loop over the written coordinates of a byte map at the outermost
/// level, and the array of these coordinates. A byte map notes a coordinate when it is first
/// written, so no coordinate occurs twice.
fn loop_over_written(stmt: &Stmt, program: &Program, bindings: &[Binding]) -> Option<(Local, Buffer)> {
    let Stmt::For { var, body, .. } = stmt else { return None };
    let Some(Stmt::Assign(_, Expr::Load { buffer, at })) = body.first() else { return None };
    let Binding::Level { tensor, level: 0, array: 1 } = bindings.get(buffer.index())? else { return None };
    let kind = program.tensors[tensor.index()].ty.format.levels[0].kind;
    (**at == Expr::Local(*var) && kind == LevelKind::ByteMap).then_some((*var, *buffer))
}

/// Sets the number of lanes of each fold to the number that `of_fold` returns.
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
        let of = [0.5, 1.0, 3.9, 31.0, 32.0, 511.0, 512.0, 1500.0, 2048.0, 1e18].map(lanes_for);
        assert_eq!(of, [1, 1, 2, 16, 32, 32, 64, 128, 256, 256]);
    }
}
