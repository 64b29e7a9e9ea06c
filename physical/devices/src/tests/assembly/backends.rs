//! Checks that the interpreter, the tiers and the interpreter of grids agree on functions of
//! Assembly.

use crate::grid::{self, GridRunner, Launch, LaunchOutcome, MemorySpace, WindowExtent};
use arrow_buffer::Buffer as ArrowBuffer;
use redpoll_compiler::assembly::{
    Buffer, BufferDecl, BufferRole, Buffers, Counts, Function, Interpreter, Status, VecBuffers,
};
use redpoll_kernels::CompiledKernel;
use redpoll_kernels::cranelift::{self, Effort};
use redpoll_kernels::run::Invocation;
use redpoll_kernels::testing::case::{FunctionCase, toolchain};
use std::ops::Range;

/// Asserts that a grid agrees with the interpreter, when one team of `lanes` lanes runs one chunk.
fn assert_agrees_as_grid(case: &FunctionCase, lanes: u32, seed: u64, (status, expected): &(Status, Invocation)) {
    let function = &case.function;
    let owned = if seed.is_multiple_of(3) { MemorySpace::Chunk } else { MemorySpace::Team };
    let space = |decl: &BufferDecl| if decl.role == BufferRole::Input { MemorySpace::Input } else { owned };
    let spaces: Vec<MemorySpace> = function.buffers.iter().map(space).collect();
    let program = grid::GridProgram::new(grid::map_to(function, spaces.clone(), lanes, &grid::Walks::none()))
        .unwrap()
        .with_step_limit(1 << 27);
    let mut capacity = 16;
    let launched = loop {
        let extent = |space: &MemorySpace| match space {
            MemorySpace::Input => vec![],
            _ => vec![WindowExtent { first: 0, len: 0, capacity }],
        };
        let (inputs, chunks) = (&case.invocation(), std::slice::from_ref(&case.chunk));
        let windows = spaces.iter().map(extent).collect();
        let launched = program.run(&Launch { inputs, chunks, sections: &[], windows, unfilled: &[], teams: 1, seed });
        let launched = launched.unwrap_or_else(|e| panic!("{e}\n{}", program.grid()));
        if launched.outcome != LaunchOutcome::OutOfCapacity {
            break launched;
        }
        capacity *= 4;
    };
    assert_eq!(launched.outcome, LaunchOutcome::Status(*status), "{}", program.grid());
    for (k, windows) in launched.windows.iter().enumerate() {
        for window in windows {
            let buffer = Buffer(k as u32);
            let expected: Vec<u64> = (0..expected.len(buffer)).map(|at| expected.read(buffer, at)).collect();
            assert_eq!(window.elements(), expected, "{}\n{}", function.buffers[k].name, program.grid());
        }
    }
}

/// Maximum number of bytes of the plain vectors of a function.
const VECTOR_BYTES: usize = 1 << 28;

/// Asserts that the interpreter gives the same results over plain vectors as over the memory of
/// kernels.
fn assert_agrees_in_vectors(case: &FunctionCase, (status, expected): &(Status, Invocation)) {
    let (inputs, program) = (case.invocation(), Interpreter::new(&case.function).unwrap());
    let numbered = || (0..).map(Buffer).zip(&case.function.buffers);
    let values = numbered().filter(|(_, decl)| decl.role == BufferRole::Input);
    let values = values.map(|(buffer, _)| (0..inputs.len(buffer)).map(|at| inputs.read(buffer, at)).collect());
    let mut found = VecBuffers::new(program.signature(), values.collect(), case.params.clone(), VECTOR_BYTES).unwrap();
    let found_status = program.run(&mut found, case.chunk.clone(), &mut Counts::default()).unwrap();
    assert_eq!(found_status, *status, "{}", case.function);
    for (buffer, decl) in numbered() {
        let expected: Vec<u64> = (0..expected.len(buffer)).map(|at| expected.read(buffer, at)).collect();
        assert_eq!(found.elements(buffer), expected, "{}\n{}", decl.name, case.function);
    }
}

/// Runs a function in the interpreter, over plain vectors and over the memory of kernels; in the
/// instant tier, with each effort; and as a grid, with teams of five sizes. Asserts that statuses
/// and owned buffers agree. Returns the status and the interpreter's invocation.
pub(crate) fn run_in_process(
    function: &Function,
    inputs: &[ArrowBuffer],
    params: &[i64],
    chunk: Range<i64>,
) -> (Status, Invocation) {
    let case = FunctionCase::new(function.clone(), inputs, params, chunk);
    let expected = case.interpret();
    assert_agrees_in_vectors(&case, &expected);
    for effort in [Effort::Quick, Effort::Full] {
        case.assert_agrees(&cranelift::compile(function, effort).unwrap(), &expected);
    }
    for (seed, lanes) in [1, 4, 32, 64, 256].into_iter().enumerate() {
        assert_agrees_as_grid(&case, lanes, seed as u64, &expected);
    }
    expected
}

/// Runs functions as [`run_in_process`] does, and also in the optimizing tier, which compiles all
/// functions in one translation unit. Asserts that all runs agree. Returns the statuses and the
/// interpreter's invocations.
pub(crate) fn run_all(cases: &[FunctionCase]) -> Vec<(Status, Invocation)> {
    let functions: Vec<&Function> = cases.iter().map(|case| &case.function).collect();
    let kernels = toolchain().compile(&functions).unwrap();
    let run = |(case, kernel): (&FunctionCase, &CompiledKernel)| {
        let expected = run_in_process(&case.function, &case.inputs, &case.params, case.chunk.clone());
        case.assert_agrees(kernel, &expected);
        expected
    };
    cases.iter().zip(&kernels).map(run).collect()
}
