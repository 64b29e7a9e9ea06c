//! Functions with the inputs of a run, and checks that generated code agrees with the interpreter.

use crate::c::{Toolchain, ToolchainOptions};
use crate::run::{Invocation, Limits};
use crate::{CacheFolder, CompiledKernel};
use arrow_buffer::Buffer as ArrowBuffer;
use redpoll_compiler::assembly::{Buffer, Buffers, Counts, Function, Interpreter, Signature, Status};
use std::ops::Range;
use std::sync::LazyLock;

/// A function with the inputs, the parameters and the chunk of a run.
pub struct FunctionCase {
    /// The function.
    pub function: Function,
    /// The inputs, in the order of the function's buffers.
    pub inputs: Vec<ArrowBuffer>,
    /// The parameters.
    pub params: Vec<i64>,
    /// The chunk.
    pub chunk: Range<i64>,
}

impl FunctionCase {
    /// Makes a case.
    pub fn new(function: Function, inputs: &[ArrowBuffer], params: &[i64], chunk: Range<i64>) -> FunctionCase {
        FunctionCase { function, inputs: inputs.to_vec(), params: params.to_vec(), chunk }
    }

    /// Makes new memory for a run.
    pub fn invocation(&self) -> Invocation {
        let signature = Signature::of(&self.function);
        Invocation::new(&signature, self.inputs.clone(), self.params.clone(), Limits::default()).unwrap()
    }

    /// Runs the function in the interpreter.
    pub fn interpret(&self) -> (Status, Invocation) {
        let mut on = self.invocation();
        let program = Interpreter::new(&self.function).unwrap().with_iteration_limit(1 << 20);
        match program.run(&mut on, self.chunk.clone(), &mut Counts::default()) {
            Ok(status) => (status, on),
            Err(error) => panic!("{error}\n{}", self.function),
        }
    }

    /// Asserts that a kernel of the function agrees with the interpreter's run.
    pub fn assert_agrees(&self, kernel: &CompiledKernel, (status, expected): &(Status, Invocation)) {
        let mut found = self.invocation();
        // SAFETY: the interpreter has run the same function on the same buffers without an access
        // out of bounds.
        let found_status = unsafe { kernel.call(&mut found, self.chunk.clone()) }.unwrap();
        assert_eq!(found_status, *status, "{}", self.function);
        assert_same(&self.function, expected, &found);
    }
}

/// Returns the toolchain of tests, without a cache on disk.
///
/// # Panics
/// If there is no C compiler, so that the tests of the optimizing tier are not skipped silently.
pub fn toolchain() -> &'static Toolchain {
    static TOOLCHAIN: LazyLock<Toolchain> =
        LazyLock::new(|| Toolchain::new(ToolchainOptions { cache: CacheFolder::Off, ..ToolchainOptions::default() }));
    if let Err(error) = TOOLCHAIN.compiler() {
        panic!("the optimizing tier cannot be tested: {error}");
    }
    &TOOLCHAIN
}

/// Asserts that the buffers of two invocations have equal capacities, and equal elements up to the
/// lengths of `expected`.
fn assert_same(function: &Function, expected: &Invocation, found: &Invocation) {
    for (k, decl) in function.buffers.iter().enumerate() {
        let buffer = Buffer(k as u32);
        assert_eq!(expected.capacity(buffer), found.capacity(buffer), "capacity of {}\n{function}", decl.name);
        for at in 0..expected.len(buffer) {
            let (expected, found) = (expected.element(buffer, at), found.element(buffer, at));
            assert_eq!(expected, found, "{}[{at}]\n{function}", decl.name);
        }
    }
}
