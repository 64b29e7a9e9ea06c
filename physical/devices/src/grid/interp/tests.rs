//! Tests of windows that begin in the memory of a block. The tests check that these windows get the
//! same contents as windows outside of the block, and that a missing step is found: the
//! initialization of a window, or the copy or a barrier of its move out of the block. Other tests
//! cover the exchange of partial results between warps.

use super::ops::LaneStep;
use super::{BLOCK_BYTES, GridFault, GridProgram};
use crate::Error;
use crate::grid::rounds::walks_to_loops;
use crate::grid::tests::{grid, run};
use crate::grid::{LaunchOutcome, MemorySpace, Walks, map_to};
use crate::testing::windows::{self, GROWING, ROUNDS, STORED};
use arrow_buffer::Buffer as ArrowBuffer;
use redpoll_compiler::assembly::text::parse;
use redpoll_compiler::assembly::{Buffer, Local, Status};

fn program(text: &str, lanes: u32) -> GridProgram {
    let windows = text.matches("owned").count() - 1;
    GridProgram::new_unchecked(grid(
        text,
        &[vec![MemorySpace::Team; windows], vec![MemorySpace::Shared]].concat(),
        lanes,
    ))
}

/// Returns the results of a program, run by one team over two chunks.
fn results(program: &GridProgram, seed: usize) -> Result<Vec<u64>, Error> {
    let y = Buffer(program.grid().spaces.len() as u32 - 1);
    let launched = run(program, &[], &[0..15, 15..ROUNDS as i64], (ROUNDS, 1, seed as u64))?;
    assert_eq!(launched.outcome, LaunchOutcome::Status(Status::Done));
    Ok(launched.windows[y.index()][0].elements().to_vec())
}

/// Returns the seeds under which windows move.
fn seeds_with_moves() -> impl Iterator<Item = usize> {
    (0..2 * BLOCK_BYTES.len()).filter(|seed| (1..ROUNDS * 8).contains(&BLOCK_BYTES[seed % BLOCK_BYTES.len()]))
}

/// Returns the seed under which all windows are outside from the start.
fn seed_without_shares() -> usize {
    BLOCK_BYTES.iter().position(|bytes| *bytes == 0).unwrap()
}

/// Growth, swaps, sorts, and the contents that pass from a chunk to the next do not depend on where
/// windows live.
#[test]
fn windows_have_equal_contents_in_block_memory() {
    for text in windows::ALL {
        for lanes in [1, 4, 32, 64, 256] {
            let program = program(text, lanes);
            let expected =
                results(&program, seed_without_shares()).unwrap_or_else(|e| panic!("{e}\n{}", program.grid()));
            for seed in 0..2 * BLOCK_BYTES.len() {
                let found = results(&program, seed).unwrap_or_else(|e| panic!("{e}\n{}", program.grid()));
                assert_eq!(found, expected, "{seed}\n{}", program.grid());
            }
        }
    }
}

/// A function that computes sums with all lanes of a block.
const SUMS: &str = "\
fn sums($n) {
  input x: value f64
  owned y: value f64 fill 0.0
  local lo: i64 local hi: i64 local k: i64 local p: i64 local v: f64
  chunk lo, hi
  v = 0.0
  for k in lo..hi {
    fold v by + from 0.0 lanes 256 for p in k..$n: x[p]
  }
  y[lo] = v
}";

fn sums(program: &GridProgram, seed: u64) -> Result<Vec<u64>, Error> {
    let numbers = (0..600).map(|k| 1.0 / f64::from(k + 1)).collect::<Vec<f64>>();
    let launched = run(program, &[ArrowBuffer::from_vec(numbers)], &[0..3, 3..5], (600, 1, seed))?;
    Ok(launched.windows[1][0].elements()[..5].to_vec())
}

/// Asserts that a missing barrier before or after a step that combines partial results is found.
fn check_missing_barriers(program: &dyn Fn(u32) -> GridProgram, combines: fn(&LaneStep) -> bool) {
    for lanes in [64, 256] {
        let combine = step(&program(lanes), combines);
        for barrier in [combine - 1, combine + 1] {
            assert!(matches!(program(lanes).code.steps[barrier], LaneStep::Barrier));
            for seed in 0..3 {
                let found = sums(&without(program(lanes), barrier), seed);
                let is_found = matches!(found, Err(Error::Grid(GridFault::Race { .. } | GridFault::Unwritten { .. })));
                assert!(is_found, "{found:?}");
            }
        }
    }
}

/// Sums have the same bits for any number of lanes. Warps read partial results only after these are
/// published, and overwrite partial results only after these have been read.
#[test]
fn warps_wait_for_each_other_in_folds() {
    let program = |lanes: u32| GridProgram::new_unchecked(grid(SUMS, &[MemorySpace::Shared], lanes));
    let expected = sums(&program(1), 0).unwrap();
    for lanes in [4, 32, 64, 256] {
        (0..3).for_each(|seed| assert_eq!(sums(&program(lanes), seed).unwrap(), expected, "{lanes}"));
    }
    check_missing_barriers(&program, |op| matches!(op, LaneStep::CombineFold(_)));
}

/// A function that sums and counts the small values along a list. Lanes fold the sum and the count
/// in a spread loop.
const WALKED: &str = "\
fn walked($n) {
  input x: value f64
  owned y: value f64 fill 0.0
  local lo: i64 local hi: i64 local k: i64 local q: i64 local v: f64 local count: i64
  chunk lo, hi
  for k in lo..hi {
    v = 0.0
    count = 0
    q = k
    while q < $n {
      if x[q] < 0.4 {
        v = v + x[q]
        count = count + 1
      }
      q = q + 1
    }
    y[k] = v + f64(count)
  }
}";

/// Warps read accumulators only after these are published, and overwrite accumulators only after
/// these have been read.
#[test]
fn warps_wait_for_each_other_after_walks() {
    let walks = Walks { lanes: vec![(Local(3), 64)], ..Walks::none() };
    let (function, walks) = walks_to_loops(parse(WALKED).unwrap(), walks);
    let program = |lanes: u32| {
        let grid = map_to(&function, vec![MemorySpace::Input, MemorySpace::Shared], lanes, &walks);
        assert_eq!(grid.to_string().contains("folding"), lanes > 1, "{grid}");
        GridProgram::new(grid).unwrap()
    };
    let close = |found: &[u64], expected: &[u64]| {
        let [found, expected] = [found, expected].map(|all| all.iter().map(|bits| f64::from_bits(*bits)));
        found.zip(expected).all(|(a, b)| (a - b).abs() < 1e-9)
    };
    let expected = sums(&program(1), 0).unwrap();
    for lanes in [4, 32, 64, 256] {
        let first = sums(&program(lanes), 0).unwrap();
        assert!(close(&first, &expected), "{lanes}");
        (1..3).for_each(|seed| assert_eq!(sums(&program(lanes), seed).unwrap(), first, "{lanes}"));
    }
    check_missing_barriers(&program, |op| matches!(op, LaneStep::CombineAccumulator(_)));
}

/// Returns the program without one step.
fn without(mut program: GridProgram, step: usize) -> GridProgram {
    program.code.steps[step] = LaneStep::Jump(step + 1);
    program
}

fn step(program: &GridProgram, predicate: impl Fn(&LaneStep) -> bool) -> usize {
    program.code.steps.iter().position(predicate).expect("the program has such a step")
}

/// Lanes copy elements that other lanes have stored, and read elements that other lanes have
/// copied, so barriers are required before and after the copy.
#[test]
fn a_missing_barrier_of_a_move_is_a_race() {
    for (text, after) in [(STORED, false), (GROWING, true)] {
        for seed in seeds_with_moves() {
            let valid = program(text, 4);
            let copy = step(&valid, |op| matches!(op, LaneStep::CopyShare(_)));
            let barrier = if after { copy + 1 } else { copy - 1 };
            assert!(matches!(valid.code.steps[barrier], LaneStep::Barrier));
            let found = results(&without(valid, barrier), seed);
            assert!(matches!(found, Err(Error::Grid(GridFault::Race { .. }))), "{found:?}");
        }
    }
}

/// If a move does not copy the contents of a window, the results differ.
#[test]
fn a_move_without_a_copy_is_found() {
    let valid = program(GROWING, 4);
    let copy = step(&valid, |op| matches!(op, LaneStep::CopyShare(_)));
    let (expected, broken) = (results(&valid, seed_without_shares()).unwrap(), without(valid, copy));
    for seed in seeds_with_moves() {
        assert_ne!(results(&broken, seed).unwrap(), expected);
    }
}

/// A team must initialize the elements of its share, since the memory of a block is uninitialized.
#[test]
fn an_uninitialized_share_is_found() {
    let valid = program(GROWING, 4);
    let initialize = step(&valid, |op| matches!(op, LaneStep::InitializeShare(_)));
    let broken = without(valid, initialize);
    for seed in seeds_with_moves() {
        let found = results(&broken, seed);
        assert!(matches!(found, Err(Error::Grid(GridFault::Unwritten { .. }))), "{found:?}");
    }
}

/// Lanes must not access a share before it is initialized.
#[test]
fn a_missing_barrier_after_the_initialization_of_a_share_is_found() {
    let valid = program(GROWING, 4);
    let barrier = valid.code.start - 1;
    assert!(matches!(valid.code.steps[barrier], LaneStep::Barrier));
    let broken = without(valid, barrier);
    for seed in seeds_with_moves() {
        let found = results(&broken, seed);
        let is_found = matches!(found, Err(Error::Grid(GridFault::Race { .. } | GridFault::Unwritten { .. })));
        assert!(is_found, "{found:?}");
    }
}
