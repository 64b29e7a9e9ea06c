//! Signatures: the buffers and parameters of a function.

use super::{BufferDecl, BufferRole, Function};
use crate::Error;
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

    /// Checks the number of input buffers and of parameters.
    ///
    /// # Errors
    /// [`Error::InvalidInvocation`] when a number differs from that of the signature.
    pub fn check_counts(&self, inputs: usize, params: usize) -> Result<(), Error> {
        let counts = [("input buffer", self.inputs(), inputs), ("parameter", self.params.len(), params)];
        counts.into_iter().try_for_each(|(what, expected, found)| match expected == found {
            true => Ok(()),
            false => {
                let plural = if expected == 1 { "" } else { "s" };
                Err(Error::InvalidInvocation(format!("expected {expected} {what}{plural}, found {found}")))
            }
        })
    }

    /// Checks that memory made from this signature fits a function with the signature `other`.
    ///
    /// # Errors
    /// [`Error::InvalidInvocation`] when the signatures differ.
    pub fn check(&self, other: &Signature) -> Result<(), Error> {
        if std::ptr::eq(self, other) || self == other {
            return Ok(());
        }
        Err(Error::InvalidInvocation(
            "the memory was made for a function with other buffers or parameters; make it from the signature of this \
             function"
                .into(),
        ))
    }
}
