//! Kernels in memory, independent of the generator of their machine code.

use crate::run::{EntryPoint, Invocation};
use crate::{Error, cranelift};
use redpoll_compiler::assembly::{Buffers, MathFn, Signature, Status};
use std::any::Any;
use std::ops::Range;
use std::sync::{Arc, Weak};

/// A function as machine code in this process.
///
/// Clones share the code, which stays in memory as long as any of them.
#[derive(Clone)]
pub struct CompiledKernel {
    entry: EntryPoint,
    signature: Arc<Signature>,
    /// Keeps the code in memory.
    code: Arc<dyn Any + Send + Sync>,
}

impl CompiledKernel {
    /// Creates a kernel from an entry point in code that stays valid as long as `code` lives. The
    /// generator guarantees that the code was compiled for `signature`.
    pub(crate) fn new(
        entry: EntryPoint,
        signature: Arc<Signature>,
        code: Arc<dyn Any + Send + Sync>,
    ) -> CompiledKernel {
        CompiledKernel { entry, signature, code }
    }

    /// Returns a reference that does not keep the code in memory.
    pub(crate) fn code(&self) -> CodeRef {
        CodeRef { entry: self.entry, code: Arc::downgrade(&self.code) }
    }

    /// Returns the signature that invocations of the kernel are created with.
    pub fn signature(&self) -> &Arc<Signature> {
        &self.signature
    }

    /// Runs the kernel over a chunk.
    ///
    /// # Safety
    /// For these inputs, parameters and chunk, all loads, stores and sorts of the function must
    /// stay in the bounds of its buffers. Lowering guarantees this for validated tensors, and the
    /// interpreter checks it. Bytes of `bool` inputs must be 0 or 1.
    ///
    /// # Errors
    /// [`Error::InvalidInvocation`] if the invocation was created for another signature;
    /// [`Error::UnknownStatus`] if the code returns a value that no generator emits.
    pub unsafe fn call(&self, invocation: &mut Invocation, chunk: Range<i64>) -> Result<Status, Error> {
        invocation.signature().check(&self.signature)?;
        let mut frame = invocation.frame(chunk);
        frame.trampoline = cranelift::trampoline();
        frame.math = MathFn::addresses().as_ptr();
        // SAFETY: the frame was created from an exclusive borrow of an invocation of this kernel's
        // signature, so the slots and parameters have the number and types that the code expects.
        // The caller guarantees the bounds.
        let code = unsafe { (self.entry)(&raw mut frame) };
        invocation.extend_to_capacity();
        Status::from_code(code).ok_or(Error::UnknownStatus(code))
    }
}

/// A reference to machine code that does not keep the code in memory.
pub(crate) struct CodeRef {
    entry: EntryPoint,
    code: Weak<dyn Any + Send + Sync>,
}

impl CodeRef {
    /// Returns a kernel with the code, or `None` if the code was freed. The caller guarantees that
    /// the code was compiled for a signature that differs from `signature` only in names and in the
    /// fills of buffers.
    pub(crate) fn kernel(&self, signature: Arc<Signature>) -> Option<CompiledKernel> {
        Some(CompiledKernel::new(self.entry, signature, self.code.upgrade()?))
    }

    /// Returns whether `self` and `other` refer to the same code.
    #[cfg(test)]
    pub(crate) fn is_same(&self, other: &CodeRef) -> bool {
        self.code.ptr_eq(&other.code)
    }

    /// Returns whether the code is in memory.
    pub(crate) fn is_loaded(&self) -> bool {
        self.code.strong_count() > 0
    }
}
