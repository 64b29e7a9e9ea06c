//! Block inputs of programs. The stored entries of an input are divided into blocks, and block
//! inputs have the bounds of these blocks. A stage computes its block inputs when it runs; users do
//! not bind them.

use redpoll_compiler::notation::{Program, TensorId};
use redpoll_logic::Alias;
use redpoll_storage::{Error, StoredBlocks, Tensor};

/// The inputs of a program whose values are computed from other inputs.
pub(crate) struct BlockInputs(Vec<DerivedInputs>);

/// The block inputs with the bounds of the blocks of the input `of`.
struct DerivedInputs {
    of: Alias,
    stored: StoredBlocks,
    begins: Alias,
    counts: Option<Alias>,
}

impl BlockInputs {
    /// Returns the block inputs of a program.
    pub(crate) fn new(program: &Program) -> BlockInputs {
        let name = |t: TensorId| Alias::from(program.tensors[t.index()].name.as_str());
        let derived = program.block_inputs.iter().map(|b| DerivedInputs {
            of: name(b.of),
            stored: b.stored.clone(),
            begins: name(b.begins),
            counts: b.counts.map(name),
        });
        BlockInputs(derived.collect())
    }

    /// Computes the block inputs from the tensors that `tensor` returns. If `tensor` returns `None`
    /// for an input, the block inputs of this input are left out.
    ///
    /// # Errors
    /// Fails if the bounds do not fit in memory.
    pub(crate) fn compute<'t>(
        &self,
        tensor: impl Fn(&Alias) -> Option<&'t Tensor>,
    ) -> Result<Vec<(Alias, Tensor)>, Error> {
        let mut inputs = Vec::new();
        for derived in &self.0 {
            let Some(of) = tensor(&derived.of) else { continue };
            let bounds = of.block_bounds(&derived.stored)?;
            inputs.push((derived.begins.clone(), bounds.begins));
            inputs.extend(derived.counts.clone().zip(bounds.counts));
        }
        Ok(inputs)
    }

    /// Returns the tensor whose outer levels a block input shares, and the number of shared levels.
    /// Returns `None` for other inputs.
    pub(crate) fn shared_levels(&self, input: &str) -> Option<(&Alias, usize)> {
        let is_of =
            |d: &&DerivedInputs| [Some(&d.begins), d.counts.as_ref()].iter().flatten().any(|n| n.as_str() == input);
        self.0.iter().find(is_of).map(|d| (&d.of, d.stored.modes.start))
    }
}
