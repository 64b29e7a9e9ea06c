//! The instant tier as a backend.

use super::{Backend, Code};
use crate::cranelift::{self, Effort};
use crate::run::Invocation;
use crate::{CompiledKernel, Error};
use redpoll_compiler::assembly::{Counts, Status};
use redpoll_compiler::lower::Draft;
use std::borrow::Cow;
use std::ops::Range;

/// Machine code by Cranelift.
#[derive(Clone, Copy, Debug)]
pub(super) struct InstantBackend;

impl Backend for InstantBackend {
    fn name(&self) -> Cow<'static, str> {
        "instant".into()
    }

    fn compile(&self, drafts: &[&Draft]) -> Result<Vec<Box<dyn Code>>, Error> {
        let compile = |draft: &&Draft| {
            let kernel = cranelift::compile_shared(draft.function(), Effort::for_draft(draft))?;
            Ok(Box::new(kernel) as Box<dyn Code>)
        };
        drafts.iter().map(compile).collect()
    }

    fn forms(&self, draft: &Draft) -> Result<Vec<(&'static str, String)>, Error> {
        Ok(vec![("clif", cranelift::clif(draft.function())?)])
    }
}

impl Code for CompiledKernel {
    unsafe fn call(&self, invocation: &mut Invocation, chunk: Range<i64>) -> Result<(Status, Option<Counts>), Error> {
        // SAFETY: the caller guarantees the bounds.
        Ok((unsafe { CompiledKernel::call(self, invocation, chunk)? }, None))
    }
}
