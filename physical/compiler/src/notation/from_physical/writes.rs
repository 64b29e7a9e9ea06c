//! Writes of outputs: plain writes, scatters, and writes through a workspace.

use super::coordinates::{block_end, diagonal_conditions, join_block, level_of_mode, size, storage_coordinate};
use super::{QueryTranslator, Role, access, invalid};
use crate::Error;
use crate::notation::{Expr, Rounds, Stmt, TensorId, Var, Write};
use redpoll_logic::op::Builtin;
use redpoll_logic::physical::{StorageCoordinate, Workspace};
use redpoll_logic::{ComputedFills, DType, FloatMode, Scalar, StorageMode, TensorType};
use std::sync::Arc;

/// The destination of an output's values.
pub(super) struct OutputTarget {
    pub(super) tensor: TensorId,
    /// The workspace, while the loops write it.
    pub(super) workspace: Option<OutputWorkspace>,
}

pub(super) struct OutputWorkspace {
    tensor: TensorId,
    /// The storage modes of the output that the workspace covers, in their order.
    modes: Vec<usize>,
}

/// Returns the condition that a value differs from the fill value in some bit, with all NaN taken
/// as equal. Values that do not meet the condition can be dropped without loss.
fn differs_from_fill(value: Expr, fill: &Scalar) -> Expr {
    if fill.is_nan() {
        return Expr::call(Builtin::Not, [Expr::call(Builtin::IsNan, [value])]);
    }
    let is_different = Expr::call(Builtin::Ne, [value.clone(), Expr::Literal(fill.clone())]);
    match (fill.prim(), fill.to_f64()) {
        (Some(prim), Some(0.0)) if prim.is_float() => {
            let sign = Expr::call(Builtin::Copysign, [Expr::Literal(Scalar::one(prim)), value]);
            let own = fill.to_f64().map_or(1.0, |fill| 1f64.copysign(fill));
            let own = Scalar::F64(own).cast(prim).unwrap_or_else(|| Scalar::one(prim));
            Expr::call(Builtin::Or, [is_different, Expr::call(Builtin::Ne, [sign, Expr::Literal(own)])])
        }
        _ => is_different,
    }
}

/// The variables and conditions around a write at computed coordinates, which ensure that the
/// coordinates are in bounds.
#[derive(Default)]
struct BoundsGuard {
    lets: Vec<(Var, Expr)>,
    conds: Vec<Expr>,
}

impl BoundsGuard {
    fn wrap(self, stmt: Stmt) -> Stmt {
        let guarded = match self.conds.len() {
            0 => stmt,
            _ => Stmt::If { cond: Expr::call(Builtin::And, self.conds), body: Box::new(stmt) },
        };
        self.lets.into_iter().rev().fold(guarded, |body, (var, value)| Stmt::Let { var, value, body: Box::new(body) })
    }
}

impl QueryTranslator<'_> {
    /// Returns the write of output `k` in the innermost loop.
    pub(super) fn write(&mut self, k: usize, target: &OutputTarget) -> Result<Stmt, Error> {
        let output = &self.query.outputs[k];
        let (lhs, guard) = match &target.workspace {
            None => {
                let modes: Vec<usize> = (0..self.output_coordinates[k].len()).collect();
                let (at, guard) = self.coordinates(k, &modes)?;
                (access(target.tensor, at), guard)
            }
            Some(workspace) => {
                let (at, guard) = self.coordinates(k, &workspace.modes)?;
                let modes = &self.tensors[workspace.tensor.index()].ty.format.modes;
                let at = modes
                    .iter()
                    .map(|m| storage_coordinate(*m, at[m.mode()].clone()))
                    .collect::<Result<Vec<_>, _>>()?;
                (access(workspace.tensor, at), guard)
            }
        };
        let write = output.fold.clone().map_or(Write::Init, Write::Fold);
        let rhs = self.point(&output.value)?;
        Ok(match output.computed_fills {
            ComputedFills::Keep => guard.wrap(Stmt::Assign { lhs, write, rhs }),
            ComputedFills::Drop => {
                let var = Var(self.vars.len() as u32);
                self.vars.push((format!("value{}", var.0), output.ty.dtype.clone()));
                let cond = differs_from_fill(Expr::Var(var), &output.ty.fill);
                let assign = Stmt::Assign { lhs, write, rhs: Expr::Var(var) };
                let body = Box::new(Stmt::If { cond, body: Box::new(assign) });
                guard.wrap(Stmt::Let { var, value: rhs, body })
            }
        })
    }

    /// Returns the coordinates of some storage modes of output `k`, with their guard.
    fn coordinates(&mut self, k: usize, modes: &[usize]) -> Result<(Vec<Expr>, BoundsGuard), Error> {
        let ty = self.query.outputs[k].ty.clone();
        let sizes = ty.format.storage_shape(&ty.shape);
        let (mut at, mut guard) = (Vec::new(), BoundsGuard::default());
        for &m in modes {
            let value = self.coordinate(&self.output_coordinates[k][m])?;
            if let StorageCoordinate::Subscript(_) = self.output_coordinates[k][m] {
                at.push(value);
                continue;
            }
            let var = Var(self.vars.len() as u32);
            self.vars.push((format!("at{}", var.0), DType::I64));
            guard.lets.push((var, value));
            let value = Expr::Var(var);
            guard.conds.push(Expr::call(Builtin::Ge, [value.clone(), Expr::int(0)]));
            guard.conds.push(Expr::call(Builtin::Lt, [value.clone(), size(sizes[m])?]));
            if let StorageMode::Inner { mode, block } = ty.format.modes[m] {
                // The padding of a ragged last block is outside of the tensor.
                let outer = ty.format.modes.iter().position(|s| *s == StorageMode::Outer { mode, block });
                if let Some(o) = outer.and_then(|o| modes.iter().position(|&m| m == o)) {
                    let mode_coordinate = join_block(block, &at[o], &value)?;
                    guard.conds.push(Expr::call(Builtin::Lt, [mode_coordinate, size(ty.shape[mode])?]));
                }
            }
            at.push(value);
        }
        for (value, &m) in at.iter().zip(modes) {
            if let (StorageMode::Skew { mode, by }, StorageCoordinate::Computed(_)) =
                (ty.format.modes[m], &self.output_coordinates[k][m])
            {
                // The ends of diagonals are outside of the tensor too.
                let along = level_of_mode(&ty, by)?;
                let along = match modes.iter().position(|&m| m == along) {
                    Some(position) => at[position].clone(),
                    None => self.coordinate(&self.output_coordinates[k][along])?,
                };
                guard.conds.extend(diagonal_conditions(value.clone(), along, ty.shape[by], ty.shape[mode])?);
            }
        }
        Ok((at, guard))
    }

    /// Declares the workspaces at `depth`; returns the numbers of their outputs.
    pub(super) fn open_output_workspaces(
        &mut self,
        depth: usize,
        targets: &mut [OutputTarget],
    ) -> Result<Vec<usize>, Error> {
        let mut opened = Vec::new();
        for (k, output) in self.query.outputs.iter().enumerate() {
            let Some(Workspace { format, .. }) = output.workspace.as_ref().filter(|w| w.depth == depth) else {
                continue;
            };
            // The subscripts as written leave the outer part of a one-block mode open, although its
            // coordinate is always 0.
            let open = |m: &usize| !self.is_fixed(&output.subscripts[*m]);
            let written: Vec<usize> = (0..output.subscripts.len()).filter(open).collect();
            // The resolved subscripts have affine forms in place of parts of blocks, so they also
            // fix a mode if the outer loops determine its block. The rank of the workspace shows
            // whether the plan left open the modes of `written` or those of `proved`.
            let proved =
                (0..self.output_coordinates[k].len()).filter(|&m| !self.is_fixed(&self.output_coordinates[k][m]));
            let modes = if format.rank() == written.len() { written } else { proved.collect() };
            if format.rank() != modes.len() || format.levels.len() != format.modes.len() {
                return Err(invalid(format!(
                    "the workspace of `{}` has rank {}, but its {depth} loops leave {} storage modes open",
                    output.alias,
                    format.rank(),
                    modes.len()
                )));
            }
            let sizes = output.ty.format.storage_shape(&output.ty.shape);
            let fill = match &output.fold {
                Some(op) if !self.writes_distinct_entries(k) => {
                    op.fold_identity(&output.ty.dtype, FloatMode::default()).ok_or_else(|| {
                        invalid(format!(
                            "the workspace of `{}` is folded into it by `{op}`, which has no identity to start from",
                            output.alias
                        ))
                    })?
                }
                _ => output.ty.fill.clone(),
            };
            let shape = modes.iter().map(|&m| sizes[m]).collect();
            let ty = TensorType { shape, dtype: output.ty.dtype.clone(), fill, format: format.clone() };
            let tensor = self.declare(&format!("{}_workspace", output.alias), Arc::new(ty), Role::Local);
            targets[k].workspace = Some(OutputWorkspace { tensor, modes });
            opened.push(k);
        }
        Ok(opened)
    }

    /// Returns the statement that fills the workspaces with `inner`, and then copies or folds each
    /// workspace into its output.
    pub(super) fn close_output_workspaces(
        &mut self,
        opened: &[usize],
        targets: &mut [OutputTarget],
        inner: Stmt,
    ) -> Result<Stmt, Error> {
        let (mut declares, mut freezes, mut copies) = (Vec::new(), Vec::new(), Vec::new());
        for &k in opened {
            let workspace = targets[k].workspace.take().expect("the workspace was opened at this depth");
            declares.push(Stmt::Declare(workspace.tensor));
            freezes.push(Stmt::Freeze(workspace.tensor));
            copies.push(self.copy(k, targets[k].tensor, &workspace)?);
        }
        let producer = Box::new(Stmt::block([inner].into_iter().chain(freezes)));
        let stmt = Stmt::Where { consumer: Box::new(Stmt::block(copies)), producer };
        Ok(Stmt::block(declares.into_iter().chain([stmt])))
    }

    /// Returns the loops that copy or fold a workspace into its output. The loops run over the open
    /// storage modes of the output, in storage order.
    fn copy(&mut self, k: usize, target: TensorId, workspace: &OutputWorkspace) -> Result<Stmt, Error> {
        let output = &self.query.outputs[k];
        let (ty, sizes) = (&output.ty, output.ty.format.storage_shape(&output.ty.shape));
        let fixed: Vec<usize> = (0..sizes.len()).filter(|m| !workspace.modes.contains(m)).collect();
        let (fixed_coordinates, guard) = self.coordinates(k, &fixed)?;
        let mut at: Vec<Option<Expr>> = vec![None; sizes.len()];
        for (m, e) in fixed.into_iter().zip(fixed_coordinates) {
            at[m] = Some(e);
        }
        let mut loops = Vec::new();
        for &m in &workspace.modes {
            let hi = match ty.format.modes[m] {
                // The last block may be ragged. The outer part of the mode is fixed, or the index
                // of an outer loop.
                StorageMode::Inner { mode, block } => {
                    let outer = ty.format.modes.iter().position(|s| *s == StorageMode::Outer { mode, block });
                    let outer = outer.and_then(|o| at[o].clone()).ok_or_else(|| {
                        invalid(format!("the format of `{}` has blocks without their outer part", output.alias))
                    })?;
                    block_end(block, ty.shape[mode], outer)?
                }
                StorageMode::Whole { .. } | StorageMode::Outer { .. } | StorageMode::Skew { .. } => size(sizes[m])?,
            };
            let index = self.new_index(&format!("c{m}"));
            at[m] = Some(Expr::Index(index));
            loops.push((index, hi));
        }
        let at: Vec<Expr> = at.into_iter().map(|e| e.expect("a mode is fixed or has a loop")).collect();
        let modes = &self.tensors[workspace.tensor.index()].ty.format.modes;
        let from = modes.iter().map(|s| storage_coordinate(*s, at[workspace.modes[s.mode()]].clone()));
        let rhs = Expr::Access(access(workspace.tensor, from.collect::<Result<Vec<_>, _>>()?));
        let write = match &output.fold {
            Some(op) if !self.writes_distinct_entries(k) => Write::Fold(op.clone()),
            _ => Write::Init,
        };
        let assign = Stmt::Assign { lhs: access(target, at), write, rhs };
        Ok(guard.wrap(loops.into_iter().rev().fold(assign, |body, (index, hi)| {
            let extent = Some((Expr::int(0), hi));
            Stmt::For { index, extent, rounds: Rounds::Ordered, body: Box::new(body) }
        })))
    }
}
