//! Workspaces of accesses. Each round of the outer loops fixes a fiber and copies it once; every
//! round of the inner loops reads the copy.

use super::coordinates::size;
use super::{Innermost, QueryTranslator, Role, access, invalid};
use crate::Error;
use crate::notation::{Expr, Rounds, Stmt, TensorId, Write};
use redpoll_logic::physical::{Access, StorageCoordinate, TemporaryNest, Workspace};
use redpoll_logic::{Alias, TensorType};
use std::sync::Arc;

/// The workspace of accesses to one fiber.
pub(super) struct AccessWorkspace<'a> {
    tensor: &'a Alias,
    /// The outer coordinates, which fix the fiber.
    fixed: &'a [StorageCoordinate],
    workspace: &'a Workspace,
    local: TensorId,
}

impl AccessWorkspace<'_> {
    fn covers(&self, access: &Access, workspace: &Workspace) -> bool {
        self.tensor == &access.tensor && self.workspace == workspace && access.subscripts.starts_with(self.fixed)
    }
}

impl<'a> QueryTranslator<'a> {
    /// Opens the workspaces that are filled inside of the current loops, for accesses in the loops
    /// from number `depth` on. Returns each new workspace with the statement that fills it.
    pub(super) fn open_access_workspaces(
        &mut self,
        groups: &'a [TemporaryNest],
        depth: usize,
        innermost: &Innermost<'_, 'a>,
    ) -> Result<Vec<(TensorId, Stmt)>, Error> {
        let query = self.query;
        let mut accesses: Vec<&'a Access> = Vec::new();
        groups.iter().filter(|g| g.depth >= depth).for_each(|g| accesses.extend(g.accesses()));
        match innermost {
            Innermost::Outputs(_) => query.outputs.iter().for_each(|o| accesses.extend(o.accesses())),
            Innermost::Folds(folds, _) => folds.iter().for_each(|f| accesses.extend(f.value.accesses())),
        }
        let mut fills = Vec::new();
        for access in accesses {
            let Some(workspace) = access.workspace.as_ref().filter(|w| w.depth == self.loops.len()) else { continue };
            if !self.access_workspaces.iter().any(|open| open.covers(access, workspace)) {
                fills.extend(self.fill(access, workspace)?);
            }
        }
        Ok(fills)
    }

    /// Brings the workspace of an access into scope, and returns its local with the statement that
    /// fills it. Returns `None` for a tensor with a dimension of 0, which needs no workspace.
    fn fill(&mut self, a: &'a Access, workspace: &'a Workspace) -> Result<Option<(TensorId, Stmt)>, Error> {
        let (tensor, ty) = self.input(&a.tensor)?;
        if ty.shape.contains(&0) {
            return Ok(None);
        }
        let sizes = ty.format.storage_shape(&ty.shape);
        let first = sizes.len().checked_sub(workspace.format.levels.len()).ok_or_else(|| {
            invalid(format!("the workspace of an access to `{}` has more levels than the tensor", a.tensor))
        })?;
        let (fixed, shape) = (&a.subscripts[..first], sizes[first..].to_vec());
        let local_ty = TensorType {
            shape: shape.clone(),
            dtype: ty.dtype.clone(),
            fill: ty.fill.clone(),
            format: workspace.format.clone(),
        };
        let local = self.declare(&format!("{}_workspace", a.tensor), Arc::new(local_ty), Role::Local);
        let mut at = fixed.iter().map(|coordinate| self.coordinate(coordinate)).collect::<Result<Vec<_>, _>>()?;
        let loops = (first..sizes.len()).map(|k| Ok((self.new_index(&format!("c{k}")), size(sizes[k])?)));
        let loops = loops.collect::<Result<Vec<_>, Error>>()?;
        let open: Vec<Expr> = loops.iter().map(|(index, _)| Expr::Index(*index)).collect();
        at.extend(open.iter().cloned());
        let mut from = access(tensor, at);
        from.subscripts.iter_mut().zip(&a.protocols[..first]).for_each(|(s, protocol)| s.protocol = *protocol);
        let copy = Stmt::Assign { lhs: access(local, open), write: Write::Init, rhs: Expr::Access(from) };
        let nest = loops.into_iter().rev().fold(copy, |body, (index, end)| {
            let extent = Some((Expr::int(0), end));
            Stmt::For { index, extent, rounds: Rounds::Ordered, body: Box::new(body) }
        });
        self.access_workspaces.push(AccessWorkspace { tensor: &a.tensor, fixed, workspace, local });
        Ok(Some((local, Stmt::block([nest, Stmt::Freeze(local)]))))
    }

    /// Returns a read of the workspace that holds the fiber.
    pub(super) fn read_workspace(&self, a: &Access, workspace: &Workspace) -> Result<Expr, Error> {
        let found = self.access_workspaces.iter().find(|open| open.covers(a, workspace)).ok_or_else(|| {
            invalid(format!(
                "the workspace of an access to `{}` under {} loops is not in scope",
                a.tensor, workspace.depth
            ))
        })?;
        let first = found.fixed.len();
        let at = a.subscripts[first..]
            .iter()
            .map(|coordinate| self.coordinate(coordinate))
            .collect::<Result<Vec<_>, _>>()?;
        let mut read = access(found.local, at);
        read.subscripts.iter_mut().zip(&a.protocols[first..]).for_each(|(s, protocol)| s.protocol = *protocol);
        Ok(Expr::Access(read))
    }
}
