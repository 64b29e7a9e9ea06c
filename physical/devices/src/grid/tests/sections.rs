//! Tests of rounds that are cut into sections: which programs can be cut, and agreement with whole
//! rounds.

use super::{function, grid, values};
use crate::Error;
use crate::grid::sections::set_section_bounds;
use crate::grid::{
    Grid, GridFault, GridPlan, GridProgram, GridRunner, Launch, LaunchOutcome, LaunchResult, MemorySpace, Stmt,
    TeamSize, TeamStmt, WindowExtent, verify,
};
use crate::launch::grid_interpreter;
use arrow_buffer::Buffer as ArrowBuffer;
use redpoll_compiler::assembly::Signature;
use redpoll_compiler::testing::skewed;
use redpoll_kernels::backend;
use redpoll_kernels::kernel::Kernel;
use redpoll_kernels::run::{Invocation, Limits};
use std::ops::Range;

/// Programs of all supported shapes are cut, and give the results of the interpreter.
#[test]
fn rounds_with_independent_positions_are_cut() {
    for text in skewed::PROGRAMS {
        let (draft, inputs) = skewed::draft(text);
        assert!(GridPlan::of(&draft, TeamSize::Automatic).sections.is_some(), "{text}\n{}", draft.function());
        let [expected, found] =
            [&backend::interpreter(), &grid_interpreter()].map(|e| Kernel::compile(&draft, e).unwrap());
        assert_eq!(values(&found, &inputs), values(&expected, &inputs), "{text}");
    }
}

/// Programs of other shapes are not cut, and give the results of the interpreter.
#[test]
fn rounds_with_dependent_positions_are_not_cut() {
    for text in skewed::WHOLE {
        let (draft, inputs) = skewed::draft(text);
        let plan = GridPlan::of(&draft, TeamSize::Automatic);
        assert_eq!(plan.sections, None, "{text}\n{}", plan.run);
        let [expected, found] =
            [&backend::interpreter(), &grid_interpreter()].map(|e| Kernel::compile(&draft, e).unwrap());
        assert_eq!(values(&found, &inputs), values(&expected, &inputs), "{text}");
    }
}

/// A function that sums the list of each round.
const SUMS: &str = "\
fn sums($n) {
  input ptr: index i64
  input x: value i64
  owned y: value i64 fill 0
  local lo: i64 local hi: i64 local i: i64 local q: i64 local end: i64 local acc: i64 local first: i64 local last: i64
  chunk lo, hi
  first = -9223372036854775808
  last = 9223372036854775807
  for i in lo..hi {
    acc = y[i]
    q = max(ptr[i], first)
    end = min(ptr[i + 1], last)
    while q < end {
      acc = acc + x[q]
      q = q + 1
    }
    y[i] = acc
  }
}";

/// Returns the grid of [`SUMS`] in sections, with results in `space`.
fn sums(space: MemorySpace) -> Grid {
    let locals = function(SUMS).locals;
    let local =
        |name: &str| locals.iter().position(|l| l.name == name).map(|k| redpoll_compiler::assembly::Local(k as u32));
    set_section_bounds(grid(SUMS, &[space], 4), ["first", "last"].map(|name| local(name).unwrap()))
}

/// Runs a grid of [`SUMS`] over two lists of four numbers, the second in two sections.
fn launch(grid: &Grid, seed: u64) -> Result<LaunchResult, Error> {
    let arrays = [vec![0i64, 4, 8], (1..=8).collect()].map(ArrowBuffer::from_vec);
    let inputs = Invocation::new(&Signature::of(&grid.function), arrays, vec![2], Limits::default()).unwrap();
    let (chunks, sections): (Vec<Range<i64>>, Vec<Range<i64>>) = (vec![0..1, 1..2, 1..2], vec![0..8, 4..6, 6..8]);
    let rows = |c: &Range<i64>| WindowExtent { first: c.start, len: 1, capacity: 1 };
    let owned = match grid.spaces[2] {
        MemorySpace::Shared => vec![WindowExtent { first: 0, len: 2, capacity: 2 }],
        _ => chunks.iter().map(rows).collect(),
    };
    let windows = vec![vec![], vec![], owned];
    GridProgram::new_unchecked(grid.clone()).run(&Launch {
        inputs: &inputs,
        chunks: &chunks,
        sections: &sections,
        windows,
        unfilled: &[],
        teams: 3,
        seed,
    })
}

/// Teams that share a round need separate partial results.
#[test]
fn sections_without_partial_results_are_found() {
    let valid = sums(MemorySpace::Rounds);
    assert_eq!(verify(&valid), []);
    for seed in 0..8 {
        let launched = launch(&valid, seed).unwrap();
        assert_eq!(launched.outcome, LaunchOutcome::Status(redpoll_compiler::assembly::Status::Done));
        let found: Vec<u64> = launched.windows[2].iter().flat_map(|w| w.elements().to_vec()).collect();
        assert_eq!(found, [1 + 2 + 3 + 4, 5 + 6, 7 + 8]);
        let broken = launch(&sums(MemorySpace::Shared), seed).map(|l| l.outcome);
        assert!(matches!(broken, Err(Error::Grid(GridFault::Race { .. }))), "{broken:?}");
    }
}

/// The verifier rejects an assignment of the bounds of a section inside a loop, since the bounds
/// stay the same throughout a chunk.
#[test]
fn bounds_within_a_loop_are_found() {
    let mut broken = sums(MemorySpace::Rounds);
    let bound = broken.body.remove(0);
    let Some(Stmt::Extension(TeamStmt::Spread { body, .. }) | Stmt::For { body, .. }) = broken.body.last_mut() else {
        panic!("{broken}")
    };
    body.insert(0, bound);
    broken.function.body = crate::grid::to_serial(&broken.body);
    assert!(faults(&broken).contains("assigned inside another statement"), "{}", faults(&broken));
}

fn faults(grid: &Grid) -> String {
    verify(grid).iter().map(|f| format!("{f}\n")).collect()
}
