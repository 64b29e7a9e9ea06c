//! Tests of grids: the mapping of functions, and the detection of broken mappings.

mod appends;
mod broken;
mod cancelled;
mod golden;
mod intersections;
mod sections;

use super::{
    Grid, GridProgram, GridRunner, Launch, LaunchOutcome, LaunchResult, MemorySpace, Stmt, TeamStmt, Walks,
    WindowExtent, map_to,
};
use crate::Error;
use arrow_buffer::Buffer as ArrowBuffer;
use redpoll_compiler::assembly::text::parse;
use redpoll_compiler::assembly::{Buffer, BufferRole, Function, Signature, verify};
use redpoll_kernels::kernel::Kernel;
use redpoll_kernels::run::{Invocation, Limits, Workers};
use redpoll_logic::Scalar;
use redpoll_storage::Tensor;
use std::num::NonZero;
use std::ops::Range;
use std::sync::Arc;

/// Parses a function and checks it with the verifier.
fn function(text: &str) -> Function {
    let function = parse(text).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(verify(&function), [], "{text}");
    function
}

/// Maps a function to a grid; `owned` has the memory spaces of its owned buffers in order.
pub(super) fn grid(text: &str, owned: &[MemorySpace], lanes: u32) -> Grid {
    let function = function(text);
    let mut owned = owned.iter().copied();
    let spaces = function.buffers.iter().map(|decl| match decl.role {
        BufferRole::Input => MemorySpace::Input,
        BufferRole::Owned => owned.next().expect("each owned buffer has a memory space"),
    });
    let spaces = spaces.collect();
    map_to(&function, spaces, lanes, &Walks::none())
}

/// Runs a grid that may be broken, as [`run`] does.
fn launch(
    grid: &Grid,
    inputs: &[ArrowBuffer],
    chunks: &[Range<i64>],
    by: (usize, usize, u64),
) -> Result<LaunchResult, Error> {
    launch_until(grid, inputs, chunks, by, u64::MAX)
}

/// Runs a grid that may be broken, cancelled after `step` steps.
fn launch_until(
    grid: &Grid,
    inputs: &[ArrowBuffer],
    chunks: &[Range<i64>],
    by: (usize, usize, u64),
    step: u64,
) -> Result<LaunchResult, Error> {
    let program = GridProgram::new_unchecked(grid.clone()).with_step_limit(1 << 20).with_cancellation_at(step);
    run(&program, inputs, chunks, by)
}

/// Runs a program; `by` is `(len, teams, seed)`. Each parameter of the program is `len`. Shared
/// windows have `len` elements, windows of rounds and of sections have one element for each round,
/// and windows of chunks, measured buffers and teams have capacity for `len` elements.
pub(super) fn run(
    program: &GridProgram,
    inputs: &[ArrowBuffer],
    chunks: &[Range<i64>],
    by: (usize, usize, u64),
) -> Result<LaunchResult, Error> {
    run_unfilled(program, inputs, chunks, by, &[])
}

/// Runs a program as [`run`] does, with uninitialized windows of some buffers.
fn run_unfilled(
    program: &GridProgram,
    inputs: &[ArrowBuffer],
    chunks: &[Range<i64>],
    (len, teams, seed): (usize, usize, u64),
    unfilled: &[Buffer],
) -> Result<LaunchResult, Error> {
    let grid = program.grid();
    let signature = Signature::of(&grid.function);
    let params = vec![len as i64; grid.function.params.len()];
    let inputs = Invocation::new(&signature, inputs.iter().cloned(), params, Limits::default()).unwrap();
    let growing = WindowExtent { first: 0, len: 0, capacity: len };
    let windows = grid.spaces.iter().map(|space| match space {
        MemorySpace::Input | MemorySpace::Unused => vec![],
        MemorySpace::Shared => vec![WindowExtent { first: 0, len, capacity: len }],
        MemorySpace::Rounds | MemorySpace::Sections => chunks
            .iter()
            .map(|c| WindowExtent { first: c.start, len: (c.end - c.start) as usize, capacity: 0 })
            .collect(),
        MemorySpace::Chunk | MemorySpace::Measured => vec![growing; chunks.len()],
        MemorySpace::Team => vec![growing; teams],
    });
    let windows = windows.collect();
    let all_positions = vec![i64::MIN..i64::MAX; chunks.len()];
    program.run(&Launch { inputs: &inputs, chunks, sections: &all_positions, windows, unfilled, teams, seed })
}

/// Returns the elements of a buffer's first window. Asserts that several random orders compute the
/// same elements.
fn elements(grid: &Grid, inputs: &[ArrowBuffer], chunks: &[Range<i64>], len: usize, buffer: Buffer) -> Vec<u64> {
    let mut all = (0..8).map(|seed| {
        let launched = launch(grid, inputs, chunks, (len, 2, seed)).unwrap_or_else(|e| panic!("{e}\n{grid}"));
        assert_eq!(launched.outcome, LaunchOutcome::Status(redpoll_compiler::assembly::Status::Done), "{grid}");
        launched.windows[buffer.index()][0].elements().to_vec()
    });
    let first = all.next().unwrap();
    assert!(all.all(|other| other == first), "{grid}");
    first
}

/// Returns the values of the outputs of a kernel whose loops are cut wherever they can be cut.
fn values(kernel: &Kernel, inputs: &[Tensor]) -> Vec<Vec<Scalar>> {
    let workers = Arc::new(Workers::new(NonZero::new(2).expect("not 0")).without_grain());
    let outcome = kernel.run(&inputs.iter().collect::<Vec<_>>(), &Limits::default().with_workers(&workers));
    let outputs = outcome.unwrap_or_else(|e| panic!("{e}\n{}", kernel.function())).outputs;
    outputs.iter().map(|output| output.to_dense_scalars().unwrap()).collect()
}

/// Returns one chunk of `rounds` rounds.
fn one(rounds: i64) -> Vec<Range<i64>> {
    std::iter::once(0..rounds).collect()
}

/// Each of 24 nested loops passes a value through memory and gets barriers. An analysis that
/// repeats all inner loops for each loop would take 2^24 passes.
#[test]
fn deeply_nested_loops_get_barriers() {
    const DEPTH: usize = 24;
    let locals: String = (0..DEPTH).map(|k| format!("  local k{k}: i64\n")).collect();
    let owned: String = (0..DEPTH).map(|k| format!("  owned w{k}: value i64 fill 0\n")).collect();
    let grown: String = (0..DEPTH).map(|k| format!("  grow w{k}, $n\n")).collect();
    let opened: String =
        (0..DEPTH).map(|k| format!("k{k} = 0\nwhile k{k} < $n {{\nw{k}[0] = v\nv = w{k}[0] + v\n")).collect();
    let closed: String = (0..DEPTH).rev().map(|k| format!("k{k} = k{k} + 1\n}}\n")).collect();
    let text = format!(
        "fn nested($n) {{\n{owned}  local lo: i64 local hi: i64 local v: i64\n{locals}  chunk lo, hi\n{grown}v = 1\n{opened}{closed}}}"
    );
    let grid = grid(&text, &[MemorySpace::Team; DEPTH], 4);
    let is_barrier = |s: &Stmt| matches!(s, Stmt::Extension(TeamStmt::Barrier));
    let mut barriers = 0;
    let mut body = &grid.body;
    while let Some(Stmt::While { body: rounds, .. }) = body.iter().find(|s| matches!(s, Stmt::While { .. })) {
        let in_round = rounds.iter().filter(|s| is_barrier(s)).count();
        // One barrier is between the store and the load, and one between the load and the store of
        // the next round.
        assert!(in_round >= 2, "{grid}");
        barriers += in_round;
        body = rounds;
    }
    assert!(barriers >= 2 * DEPTH, "{barriers}");
}
