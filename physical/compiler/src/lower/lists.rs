//! The lengths of the sparse lists of a program's inputs.

use super::MeanLengths;
use crate::notation::{Program, Role, TensorId};
use redpoll_logic::LevelKind;
use redpoll_storage::Tensor;

/// Average lengths of the sparse lists of inputs, by tensor and level. The lengths of other lists
/// are unknown.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct ListLengths(MeanLengths);

impl ListLengths {
    /// Measures the sparse lists of the inputs of a program. `inputs` has an element for each
    /// input, in the order of the program's tensors; absent inputs are skipped.
    pub fn of(program: &Program, inputs: &[Option<&Tensor>]) -> ListLengths {
        let of_role = (0..).map(TensorId).zip(&program.tensors).filter(|(_, decl)| decl.role == Role::Input);
        let given = of_role.zip(inputs).filter_map(|((id, _), tensor)| Some((id, (*tensor)?)));
        let lengths = given.flat_map(|(id, tensor)| {
            let levels = tensor.ty().format.levels.iter().enumerate();
            let lists = levels.filter(|(_, level)| level.kind == LevelKind::SparseList);
            lists.map(move |(k, _)| {
                let data = tensor.level(k);
                let lists = data.arrays[0].len().saturating_sub(1).max(1);
                ((id, k), data.arrays[1].len() as f64 / lists as f64)
            })
        });
        ListLengths(lengths.collect())
    }

    /// Returns the lengths for inputs in which the fibers of every level have `entries` entries on
    /// average.
    #[cfg(any(test, feature = "testing"))]
    pub fn all(program: &Program, entries: f64) -> ListLengths {
        let inputs = (0..).map(TensorId).zip(&program.tensors).filter(|(_, decl)| decl.role == Role::Input);
        let levels = inputs.flat_map(|(id, decl)| (0..decl.ty.format.levels.len()).map(move |k| (id, k)));
        ListLengths(levels.map(|level| (level, entries)).collect())
    }

    /// Returns the lengths.
    pub(crate) fn lengths(&self) -> &MeanLengths {
        &self.0
    }

    /// Returns the average number of entries of the lists of a level, if it is known.
    pub fn of_level(&self, level: (TensorId, usize)) -> Option<f64> {
        self.0.get(&level).copied()
    }
}
