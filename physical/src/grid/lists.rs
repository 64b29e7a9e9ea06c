//! Folds along lists by the lanes of a team: how many lanes a fold has is chosen by how long the lists are.
//!
//! A list that is shorter than the team leaves lanes without work, so there are as many as a list has places, on average:
//! teams of fewer lanes share a warp. Source: N. Bell, M. Garland, "Implementing sparse matrix-vector multiplication on
//! throughput-oriented processors", 2009.

use super::map::WARP;
use crate::assembly::{Buffer, Expr, Function, Local, Stmt};
use crate::lower::{Binding, Lengths, walks_in_lanes};
use crate::notation::{Program, Role, TensorId};
use crate::storage::Tensor;
use redpoll_logic::{FloatMode, LevelKind};

/// How long the lists of inputs are on average, by tensor and level; nothing is known of the others.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Lists(Lengths);

impl Lists {
    /// Those of the inputs of a program, in the order of its tensors, as far as they are at hand.
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

    /// All lists of inputs, taken to have so many entries.
    #[cfg(test)]
    pub(crate) fn all(program: &Program, entries: f64) -> Lists {
        let inputs = (0..).map(TensorId).zip(&program.tensors).filter(|(_, decl)| decl.role == Role::Input);
        let levels = inputs.flat_map(|(id, decl)| (0..decl.ty.format.levels.len()).map(move |k| (id, k)));
        Lists(levels.map(|level| (level, entries)).collect())
    }

    /// The lengths.
    pub(crate) fn lengths(&self) -> &Lengths {
        &self.0
    }

    /// The lanes for lists of a level: 1 where they are too short to be shared.
    fn lanes(&self, level: (TensorId, usize)) -> u8 {
        let length = self.0.get(&level).copied().unwrap_or(1.0);
        let most = length.clamp(1.0, f64::from(WARP)) as u8;
        1 << most.ilog2()
    }
}

/// The cursors that go along lists, each with lanes for the lengths of these, where it is to have more than one.
pub(super) fn asked(function: &Function, bindings: &[Binding], lists: &Lists) -> Vec<(Local, u8)> {
    let mut asked = Vec::new();
    for stmt in &function.body {
        stmt.any(&mut |s| {
            if let Some((cursor, level)) = cursor(s, bindings) {
                asked.push((cursor, lists.lanes(level)));
            }
            false
        });
    }
    asked.retain(|(_, lanes)| *lanes > 1);
    asked
}

/// The cursors that go along lists without coordinates that repeat, and the arrays of these.
pub(super) fn coordinates(program: &Program, function: &Function, bindings: &[Binding]) -> Vec<(Local, Buffer)> {
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

/// A function whose folds along lists have as many lanes as these cursors ask for.
pub(super) fn folds_in_lanes(function: &Function, asked: &[(Local, u8)], mode: FloatMode) -> Function {
    let mut function = walks_in_lanes(function.clone(), asked, mode);
    function.body.iter_mut().for_each(|s| widen(s, asked));
    function
}

/// A cursor that is set to where a list begins, and the level of the list.
fn cursor(stmt: &Stmt, bindings: &[Binding]) -> Option<(Local, (TensorId, usize))> {
    let Stmt::Assign(cursor, Expr::Load { buffer: Buffer(k), .. }) = stmt else { return None };
    match bindings.get(*k as usize)? {
        Binding::Level { tensor, level, array: 0 } => Some((*cursor, (*tensor, *level))),
        _ => None,
    }
}

/// Gives folds that the plan has put in lanes of a processor those of a team.
fn widen(stmt: &mut Stmt, asked: &[(Local, u8)]) {
    match stmt {
        Stmt::Lanes(fold) => {
            let cursor = asked.iter().find(|(cursor, _)| fold.lo == Expr::Local(*cursor));
            fold.lanes = cursor.map_or(fold.lanes, |(_, lanes)| *lanes);
        }
        Stmt::If { then, other, .. } => then.iter_mut().chain(other).for_each(|s| widen(s, asked)),
        Stmt::While { body, .. } | Stmt::For { body, .. } => body.iter_mut().for_each(|s| widen(s, asked)),
        _ => {}
    }
}
