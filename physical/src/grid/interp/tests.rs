//! Windows that begin in the memory of a block have the same contents as windows outside, and each
//! step of their move is needed.

use super::ops::Op;
use super::{BLOCK_BYTES, Fault, Program};
use crate::Error;
use crate::assembly::text::parse;
use crate::assembly::{Buffer, Local, Status};
use crate::grid::rounds::with_rounds;
use crate::grid::tests::{grid, run};
use crate::grid::{End, Place, Walks, map_to};
use crate::testing::windows::{self, GROWING, ROUNDS, STORED};
use arrow::buffer::Buffer as ArrowBuffer;
use redpoll_logic::FloatMode;

fn program(text: &str, lanes: u32) -> Program {
    let windows = text.matches("owned").count() - 1;
    Program::trusting(grid(text, &[vec![Place::Team; windows], vec![Place::Shared]].concat(), lanes))
}

/// Returns the results of a program, run by one team over two chunks.
fn left(program: &Program, seed: usize) -> Result<Vec<u64>, Error> {
    let y = Buffer(program.grid().places.len() as u32 - 1);
    let launched = run(program, &[], &[0..15, 15..ROUNDS as i64], (ROUNDS, 1, seed as u64))?;
    assert_eq!(launched.end, End::Status(Status::Done));
    Ok(launched.windows[y.index()][0].elements().to_vec())
}

/// Returns the seeds under which windows move.
fn moving() -> impl Iterator<Item = usize> {
    (0..2 * BLOCK_BYTES.len()).filter(|seed| (1..ROUNDS * 8).contains(&BLOCK_BYTES[seed % BLOCK_BYTES.len()]))
}

/// Returns the seed under which all windows are outside from the start.
fn outside() -> usize {
    BLOCK_BYTES.iter().position(|bytes| *bytes == 0).unwrap()
}

/// Growth, swaps, sorts, and the contents that pass from a chunk to the next do not depend on where
/// windows live.
#[test]
fn windows_hold_the_same_in_the_memory_of_a_block() {
    for text in windows::ALL {
        for lanes in [1, 4, 32, 64, 256] {
            let program = program(text, lanes);
            let expected = left(&program, outside()).unwrap_or_else(|e| panic!("{e}\n{}", program.grid()));
            for seed in 0..2 * BLOCK_BYTES.len() {
                let found = left(&program, seed).unwrap_or_else(|e| panic!("{e}\n{}", program.grid()));
                assert_eq!(found, expected, "{seed}\n{}", program.grid());
            }
        }
    }
}

/// Sums by all lanes of a block.
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

fn sums(program: &Program, seed: u64) -> Result<Vec<u64>, Error> {
    let numbers = (0..600).map(|k| 1.0 / f64::from(k + 1)).collect::<Vec<f64>>();
    let launched = run(program, &[ArrowBuffer::from_vec(numbers)], &[0..3, 3..5], (600, 1, seed))?;
    Ok(launched.windows[1][0].elements()[..5].to_vec())
}

/// Asserts that a missing barrier before or after a step that combines partial results is found.
fn barriers_are_missed(program: &dyn Fn(u32) -> Program, takes: fn(&Op) -> bool) {
    for lanes in [64, 256] {
        let take = step(&program(lanes), takes);
        for barrier in [take - 1, take + 1] {
            assert!(matches!(program(lanes).code.ops[barrier], Op::Barrier));
            for seed in 0..3 {
                let found = sums(&without(program(lanes), barrier), seed);
                let is_seen = matches!(found, Err(Error::Grid(Fault::Race { .. } | Fault::Unwritten { .. })));
                assert!(is_seen, "{found:?}");
            }
        }
    }
}

/// Sums have the same bits for any number of lanes. Warps read no partial results that are not yet
/// published, and overwrite none that are still to be read.
#[test]
fn warps_wait_for_each_other_in_folds() {
    let program = |lanes: u32| Program::trusting(grid(SUMS, &[Place::Shared], lanes));
    let expected = sums(&program(1), 0).unwrap();
    for lanes in [4, 32, 64, 256] {
        (0..3).for_each(|seed| assert_eq!(sums(&program(lanes), seed).unwrap(), expected, "{lanes}"));
    }
    barriers_are_missed(&program, |op| matches!(op, Op::Take(_)));
}

/// Sums of the small values along a list, which lanes fold in a spread loop, and their number.
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

/// Warps read no accumulators that are not yet published, and overwrite none that are still to be
/// read.
#[test]
fn warps_wait_for_each_other_behind_walks() {
    let walks = Walks { lanes: vec![(Local(3), 64)], distinct: vec![], mode: FloatMode::default() };
    let (function, walks) = with_rounds(parse(WALKED).unwrap(), walks);
    let program = |lanes: u32| {
        let grid = map_to(&function, vec![Place::Input, Place::Shared], lanes, &walks);
        assert_eq!(grid.to_string().contains("folding"), lanes > 1, "{grid}");
        Program::new(grid).unwrap()
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
    barriers_are_missed(&program, |op| matches!(op, Op::TakePart(_)));
}

/// Returns the program without one step.
fn without(mut program: Program, step: usize) -> Program {
    program.code.ops[step] = Op::Goto(step + 1);
    program
}

fn step(program: &Program, is: impl Fn(&Op) -> bool) -> usize {
    program.code.ops.iter().position(is).expect("there is such a step")
}

/// Lanes copy elements that others have stored, and read elements that others have copied.
#[test]
fn a_missing_barrier_of_a_move_is_a_race() {
    for (text, behind) in [(STORED, false), (GROWING, true)] {
        for seed in moving() {
            let whole = program(text, 4);
            let copy = step(&whole, |op| matches!(op, Op::Copy(_)));
            let barrier = if behind { copy + 1 } else { copy - 1 };
            assert!(matches!(whole.code.ops[barrier], Op::Barrier));
            let found = left(&without(whole, barrier), seed);
            assert!(matches!(found, Err(Error::Grid(Fault::Race { .. }))), "{found:?}");
        }
    }
}

/// A move keeps the contents of a window.
#[test]
fn a_move_that_copies_nothing_is_seen() {
    let whole = program(GROWING, 4);
    let copy = step(&whole, |op| matches!(op, Op::Copy(_)));
    let (expected, broken) = (left(&whole, outside()).unwrap(), without(whole, copy));
    for seed in moving() {
        assert_ne!(left(&broken, seed).unwrap(), expected);
    }
}

/// Elements of a share are initialized by the team itself, not by the block.
#[test]
fn a_share_that_nobody_has_made_is_seen() {
    let whole = program(GROWING, 4);
    let make = step(&whole, |op| matches!(op, Op::Make(_)));
    let broken = without(whole, make);
    for seed in moving() {
        let found = left(&broken, seed);
        assert!(matches!(found, Err(Error::Grid(Fault::Unwritten { .. }))), "{found:?}");
    }
}

/// Lanes must not access a share before it is initialized.
#[test]
fn a_missing_barrier_behind_the_making_of_a_share_is_a_race() {
    let whole = program(GROWING, 4);
    let barrier = whole.code.start - 1;
    assert!(matches!(whole.code.ops[barrier], Op::Barrier));
    let broken = without(whole, barrier);
    for seed in moving() {
        let found = left(&broken, seed);
        let is_seen = matches!(found, Err(Error::Grid(Fault::Race { .. } | Fault::Unwritten { .. })));
        assert!(is_seen, "{found:?}");
    }
}
