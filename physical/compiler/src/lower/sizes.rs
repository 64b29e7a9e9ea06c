//! Names of sizes for readers: a size is named after an index that iterates over all of it, or else
//! after its tensor and mode. In the code that runs, equal sizes share one parameter instead.

use super::level::LevelId;
use crate::notation::{Expr, Index, Program, Stmt, TensorId};
use redpoll_logic::Scalar;
use std::collections::HashMap;

/// The names of sizes. Modes that the same index accesses from end to end share a name, and so do
/// indices that access the same mode from end to end.
pub(crate) struct SizeNames {
    modes: HashMap<(TensorId, usize), String>,
    loops: Vec<String>,
}

impl SizeNames {
    /// Returns the names for a program in normal form.
    pub(super) fn of(program: &Program) -> SizeNames {
        let accesses = full_accesses(program);
        // The class of an index is the least index that shares its name.
        let mut class: Vec<usize> = (0..program.indices.len()).collect();
        for indices in accesses.values() {
            let merged: Vec<usize> = indices.iter().map(|index| class[index.index()]).collect();
            let least = *merged.iter().min().expect("an accessed mode has an index");
            class.iter_mut().filter(|c| merged.contains(c)).for_each(|c| *c = least);
        }
        let loops: Vec<String> = class.iter().map(|c| format!("n_{}", program.indices[*c])).collect();
        let mut modes = HashMap::new();
        for (tensor, decl) in (0..).map(TensorId).zip(&program.tensors) {
            for mode in 0..decl.ty.format.levels.len() {
                let name = match accesses.get(&(tensor, mode)) {
                    Some(indices) => loops[indices[0].index()].clone(),
                    None => format!("{}_n{mode}", decl.name),
                };
                modes.insert((tensor, mode), name);
            }
        }
        SizeNames { modes, loops }
    }

    /// Returns the name of the size of a storage mode.
    pub(crate) fn of_mode(&self, at: LevelId) -> String {
        self.modes[&(at.tensor, at.level)].clone()
    }

    /// Returns the name of the size that ends a loop.
    pub(crate) fn of_loop(&self, index: Index) -> &str {
        &self.loops[index.index()]
    }
}

/// Returns for each storage mode the indices that access it, and whose loops iterate over it from
/// end to end.
fn full_accesses(program: &Program) -> HashMap<(TensorId, usize), Vec<Index>> {
    let shapes: Vec<Vec<u64>> = program.tensors.iter().map(|t| t.ty.format.storage_shape(&t.ty.shape)).collect();
    let mut sizes: HashMap<Index, u64> = HashMap::new();
    let mut accesses: HashMap<(TensorId, usize), Vec<Index>> = HashMap::new();
    program.body.walk(&mut |stmt| {
        let target = match stmt {
            Stmt::For { index, extent: Some((lo, Expr::Literal(Scalar::I64(hi)))), .. }
                if *lo == Expr::Literal(Scalar::I64(0)) =>
            {
                sizes.insert(*index, *hi as u64);
                None
            }
            Stmt::Assign { lhs, .. } => Some(lhs),
            _ => None,
        };
        for access in stmt.exprs().into_iter().flat_map(Expr::accesses).chain(target) {
            let shape = &shapes[access.tensor.index()];
            for (mode, subscript) in access.subscripts.iter().enumerate() {
                if let Expr::Index(index) = subscript.at
                    && sizes.get(&index) == shape.get(mode)
                {
                    accesses.entry((access.tensor, mode)).or_default().push(index);
                }
            }
        }
    });
    accesses
}
