//! Inputs that cut the stored entries of other inputs into equal shares.

use redpoll_compiler::notation::{Program, Shares, TensorId};
use redpoll_logic::Alias;
use redpoll_storage::Tensor;

/// The inputs of a program whose values are computed from other inputs.
pub(crate) struct SharesOf(Vec<DerivedInput>);

/// An input with the bounds of blocks of another input, such that each block has an equal share of
/// its stored entries.
struct DerivedInput {
    name: Alias,
    of: Alias,
    modes: usize,
    blocks: u64,
}

impl SharesOf {
    /// Returns those of a program.
    pub(crate) fn new(program: &Program) -> SharesOf {
        let name = |t: TensorId| Alias::from(program.tensors[t.index()].name.as_str());
        let derived =
            |s: &Shares| DerivedInput { name: name(s.input), of: name(s.of), modes: s.modes, blocks: s.blocks };
        SharesOf(program.shares.iter().map(derived).collect())
    }

    /// Returns the inputs, computed from the tensors that `tensor` finds.
    pub(crate) fn compute<'t>(&self, tensor: impl Fn(&Alias) -> Option<&'t Tensor>) -> Vec<(Alias, Tensor)> {
        let compute = |d: &DerivedInput| Some((d.name.clone(), tensor(&d.of)?.equal_shares(d.modes, d.blocks)));
        self.0.iter().filter_map(compute).collect()
    }
}
