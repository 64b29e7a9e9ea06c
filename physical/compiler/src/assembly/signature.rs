//! Signatures: the buffers and parameters of a function.

use super::{BufferDecl, BufferRole, Function};
use std::sync::Arc;

/// The part of a function that a caller needs to run it.
#[derive(Clone, PartialEq, Debug)]
pub struct Signature {
    /// The buffers.
    pub buffers: Vec<BufferDecl>,
    /// The names of the parameters.
    pub params: Vec<String>,
}

impl Signature {
    /// Makes the signature of a function, to be shared by its kernels and invocations.
    pub fn of(function: &Function) -> Arc<Signature> {
        Arc::new(Signature { buffers: function.buffers.clone(), params: function.params.clone() })
    }

    /// Returns the number of input buffers.
    pub fn inputs(&self) -> usize {
        self.buffers.iter().filter(|b| b.role == BufferRole::Input).count()
    }
}
