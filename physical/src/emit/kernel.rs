//! Kernels in memory, whatever made their machine code.

use super::cranelift;
use crate::Error;
use crate::assembly::{MathFn, Status};
use crate::run::{Entry, Invocation, Signature};
use std::any::Any;
use std::ops::Range;
use std::sync::Arc;

/// A function as machine code in this process.
///
/// Clones share the code, which is freed with the last of them.
#[derive(Clone)]
pub struct Kernel {
    entry: Entry,
    signature: Arc<Signature>,
    /// Keeps the code in memory.
    _code: Arc<dyn Any + Send + Sync>,
}

impl Kernel {
    /// A kernel at an address within code that lives as long as `code` does. It is the generator's word that the code was
    /// made for that signature.
    pub(super) fn new(entry: Entry, signature: Arc<Signature>, code: Arc<dyn Any + Send + Sync>) -> Kernel {
        Kernel { entry, signature, _code: code }
    }

    /// What invocations for it are made from.
    pub fn signature(&self) -> &Arc<Signature> {
        &self.signature
    }

    /// Runs the kernel over a chunk.
    ///
    /// # Safety
    /// Loads, stores, sorts of the function must stay inside of its buffers for these inputs, parameters and chunk, as
    /// lowering guarantees for validated tensors and as the interpreter checks. Bytes of `bool` inputs are 0 or 1.
    ///
    /// # Errors
    /// [`Error::InvalidInvocation`] when the invocation was made for another signature; [`Error::UnknownStatus`] when the
    /// code returns what no generator lets it return.
    pub unsafe fn call(&self, on: &mut Invocation, chunk: Range<i64>) -> Result<Status, Error> {
        on.check(&self.signature)?;
        let mut frame = on.frame(chunk);
        frame.trampoline = cranelift::trampoline();
        frame.math = MathFn::addresses().as_ptr();
        // SAFETY: the frame was made from an exclusive borrow of an invocation of this kernel's signature, so slots and
        // parameters are as many and as typed as the code expects; the caller answers for the bounds.
        let code = unsafe { (self.entry)(&raw mut frame) };
        on.adopt_capacity();
        Status::from_code(code).ok_or(Error::UnknownStatus(code))
    }
}
