//! The interpreter of Assembly as a backend.

use super::{Backend, Code};
use crate::Error;
use crate::run::Invocation;
use redpoll_compiler::assembly::{Counts, Interpreter, Status};
use redpoll_compiler::lower::Draft;
use std::borrow::Cow;
use std::ops::Range;

/// The bounds-checked interpreter of Assembly, which counts the work.
#[derive(Clone, Copy, Debug)]
pub(super) struct InterpreterBackend;

impl Backend for InterpreterBackend {
    fn name(&self) -> Cow<'static, str> {
        "assembly interpreter".into()
    }

    fn compile(&self, drafts: &[&Draft]) -> Result<Vec<Box<dyn Code>>, Error> {
        drafts.iter().map(|draft| Ok(Box::new(Interpreter::new(draft.function())?) as Box<dyn Code>)).collect()
    }
}

impl Code for Interpreter {
    unsafe fn call(&self, invocation: &mut Invocation, chunk: Range<i64>) -> Result<(Status, Option<Counts>), Error> {
        let mut counts = Counts::default();
        let status = self.run(invocation, chunk, &mut counts)?;
        Ok((status, Some(counts)))
    }

    fn reserves(&self) -> bool {
        false
    }

    fn limit_rounds(&mut self, limit: u64) {
        self.set_iteration_limit(limit);
    }
}
