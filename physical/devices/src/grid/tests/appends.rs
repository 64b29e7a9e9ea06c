//! Tests of appends by the lanes of a team: the mapping, the order of the appended elements, and
//! broken mappings.

use super::broken::{changed, faults};
use super::{function, launch, launch_until, one};
use crate::Error;
use crate::grid::rounds::walks_to_loops;
use crate::grid::{
    ActiveLanes, Grid, GridFault, GridProgram, LaunchOutcome, LaunchResult, MemorySpace, RoundCounter, Stmt, TeamStmt,
    Walks, map_to, verify,
};
use arrow_buffer::Buffer as ArrowBuffer;
use redpoll_compiler::assembly::{Buffer, Local, Status};

/// A function that sums by coordinate, and lists the coordinates in the order of their first entry.
const TOUCHED: &str = "\
fn touched($n) {
  input a: index i64
  input b: index i64
  owned sum: value i64 fill 0
  owned map: value i64 fill 0
  owned list: index i64 fill 0
  owned length: index i64 fill 0
  local lo: i64 local hi: i64 local q: i64 local i: i64 local n: i64 local k: i64
  chunk lo, hi
  grow sum, $n
  grow map, $n
  grow length, 1
  n = 0
  for k in 0..3 {
    q = k * 16
    while q < ((k + 1) * 16) {
      i = a[q]
      sum[i] = sum[i] + b[q]
      if not(map[i] != 0) {
        grow list, n + 1
        list[n] = i
        n = n + 1
        map[i] = 1
      }
      q = q + 1
    }
  }
  length[0] = n
}";
/// The cursor of the walk.
const Q: Local = Local(2);
/// The counter.
const N: Local = Local(4);

/// A function that appends pairs: the sum of an entry and a second counter, and the position of the
/// entry. The appends are under two conditions, the second in the `else` branch of the first. The
/// function also folds the appended entries, and stores after the conditions.
const NESTED: &str = "\
fn nested($n) {
  input a: index i64
  input b: index i64
  owned seen: value i64 fill 0
  owned flags: value i64 fill 0
  owned list: index i64 fill 0
  owned length: index i64 fill 0
  local lo: i64 local hi: i64 local q: i64 local i: i64 local n: i64 local m: i64 local s: i64
  chunk lo, hi
  grow seen, $n
  grow flags, $n
  grow length, 3
  n = 0
  m = 5
  s = 0
  q = 0
  while q < $n {
    i = b[q]
    if (i & 1) == 0 {
      flags[q] = i
    } else {
      flags[q] = 7
      if (i & 2) == 0 {
        grow list, n + 2
        list[n] = i + m
        list[n + 1] = q
        s = s + i
        n = n + 2
        m = m + 3
      } else {
        flags[q] = 8
      }
      seen[q] = flags[q]
    }
    seen[q] = seen[q] + a[q]
    q = q + 1
  }
  length[0] = n
  length[1] = m
  length[2] = s
}";

/// A function that appends one element in every round.
const COPIED: &str = "\
fn copied($n) {
  input a: index i64
  input b: index i64
  owned sum: value i64 fill 0
  owned map: value i64 fill 0
  owned list: index i64 fill 0
  owned length: index i64 fill 0
  local lo: i64 local hi: i64 local q: i64 local i: i64 local n: i64
  chunk lo, hi
  grow length, 1
  n = 0
  q = 3
  while q < $n {
    i = a[q]
    grow list, n + 1
    list[n] = i * b[q]
    n = n + 1
    q = q + 1
  }
  length[0] = n
}";

/// The array of the list in each of these functions.
const LIST: Buffer = Buffer(4);

fn grid_of(text: &str, lanes: u32, list: MemorySpace) -> Grid {
    let coordinates = vec![(Q, Buffer(0))];
    let walks = Walks { lanes: vec![(Q, 4)], list_coordinates: coordinates, ..Walks::none() };
    let (function, walks) = walks_to_loops(function(text), walks);
    let (input, chunk) = (MemorySpace::Input, MemorySpace::Chunk);
    map_to(&function, vec![input, input, chunk, chunk, list, chunk], lanes, &walks)
}

/// Returns 48 coordinates, distinct in each group of 16, and 48 numbers.
fn lists() -> [ArrowBuffer; 2] {
    let coordinates = (0..48).map(|q| q % 16 * (q / 16 + 1)).collect::<Vec<i64>>();
    [coordinates, (0..48).map(|q| q * q % 23).collect()].map(ArrowBuffer::from_vec)
}

fn run(grid: &Grid, seed: u64) -> Result<LaunchResult, Error> {
    launch(grid, &lists(), &one(1), (48, 1, seed))
}

/// Returns the elements of the owned buffers.
fn results(launched: &LaunchResult) -> Vec<Vec<u64>> {
    launched.windows[2..].iter().map(|windows| windows[0].elements().to_vec()).collect()
}

/// Appended elements are in the order of the rounds, for teams of any size, and the lanes share the
/// rounds evenly.
#[test]
fn lanes_append_in_the_order_of_rounds() {
    for (text, rounds) in [(TOUCHED, 48), (NESTED, 48), (COPIED, 45)] {
        let serial = run(&grid_of(text, 1, MemorySpace::Team), 0).unwrap();
        let expected = results(&serial);
        assert!(expected[2].len() > 8, "{expected:?}");
        for lanes in [2, 4, 32, 64, 256] {
            for space in [MemorySpace::Team, MemorySpace::Chunk] {
                let valid = grid_of(text, lanes, space);
                assert_eq!(verify(&valid), [], "{valid}");
                assert!(valid.to_string().contains(" appending "), "{valid}");
                for seed in 0..8 {
                    let launched = run(&valid, seed).unwrap_or_else(|e| panic!("{e}\n{valid}"));
                    assert_eq!(launched.outcome, LaunchOutcome::Status(Status::Done));
                    assert_eq!(results(&launched), expected, "{valid}");
                    let most =
                        if text == TOUCHED { 3 * 16_u64.div_ceil(lanes.into()) } else { 48_u64.div_ceil(lanes.into()) };
                    assert_eq!(launched.rounds.iter().sum::<u64>(), rounds);
                    assert!(launched.rounds.iter().all(|rounds| *rounds <= most), "{:?}", launched.rounds);
                }
            }
        }
    }
}

/// Lanes request growth for exactly the elements that they append.
#[test]
fn lanes_grow_lists_to_their_length() {
    for lanes in [1, 4, 64] {
        let launched = run(&grid_of(NESTED, lanes, MemorySpace::Chunk), 1).unwrap();
        let list = &launched.windows[LIST.index()][0];
        assert_eq!(list.requested as u64, launched.windows[5][0].elements()[0]);
    }
}

/// A function that only counts requests the same growth as the function that stores.
#[test]
fn lanes_count_appended_elements() {
    let counted = COPIED.replace("    list[n] = i * b[q]\n", "");
    for lanes in [1, 4, 64] {
        let valid = grid_of(&counted, lanes, MemorySpace::Measured);
        assert_eq!(verify(&valid), [], "{valid}");
        assert_eq!(valid.to_string().contains(" appending "), lanes > 1, "{valid}");
        assert_eq!(run(&valid, 3).unwrap().windows[LIST.index()][0].requested, 45);
    }
}

/// If a launch is cancelled during a loop whose rounds append, the lanes of a team leave the loop
/// together, at a poll by the first lane.
#[test]
fn lanes_that_append_leave_together() {
    let valid = grid_of(COPIED, 4, MemorySpace::Chunk);
    assert!(valid.to_string().contains("poll lead"), "{valid}");
    for seed in 0..24 {
        let launched = launch_until(&valid, &lists(), &one(1), (48, 1, seed), 10 + 3 * seed).unwrap();
        assert_eq!(launched.outcome, LaunchOutcome::Status(Status::Cancelled));
    }
    let broken = changed(&valid, &mut |body, k| {
        let is_poll = body[k] == Stmt::Extension(TeamStmt::Poll(ActiveLanes::Lead));
        if is_poll {
            body[k] = Stmt::Extension(TeamStmt::Poll(ActiveLanes::Each));
        }
        is_poll
    });
    assert!(faults(&broken).contains("a poll for cancellation by each lane"), "{}", faults(&broken));
}

/// Loops whose rounds append are not spread if they violate a condition of `grid::appends`.
#[test]
fn rounds_that_depend_on_appends_are_not_spread() {
    let changes: [(&str, &str, &str); 9] = [
        // The counter is read by the condition, by a stored value, and after its increase.
        (TOUCHED, "if not(map[i] != 0)", "if not(map[i] != n)"),
        (TOUCHED, "sum[i] = sum[i] + b[q]", "sum[i] = sum[i] + n"),
        (TOUCHED, "map[i] = 1", "map[i] = n"),
        // The list is read.
        (TOUCHED, "sum[i] = sum[i] + b[q]", "sum[i] = sum[i] + list[0]"),
        // The positions of two rounds are not proved to differ.
        (TOUCHED, "list[n] = i", "list[n + 1] = i"),
        (TOUCHED, "list[n] = i", "list[n * 0] = i"),
        (TOUCHED, "list[n] = i", "list[n] = i\n        list[0] = i"),
        // Growth does not depend on the counter alone.
        (TOUCHED, "grow list, n + 1", "grow list, n + q"),
        // The counter is increased by a number that depends on the round.
        (TOUCHED, "n = n + 1", "n = n + q"),
    ];
    for (text, from, to) in changes {
        assert!(text.contains(from));
        let grid = grid_of(&text.replace(from, to), 4, MemorySpace::Team);
        assert!(!grid.to_string().contains("spread"), "{to}: {grid}");
    }
    let in_a_loop =
        TOUCHED.replace("      if not", "      while not").replace("map[i] = 1\n", "map[i] = 1\n        break\n");
    let grid = grid_of(&in_a_loop, 4, MemorySpace::Team);
    assert!(!grid.to_string().contains("spread"), "{grid}");
}

/// Returns a grid with a change to the loop that appends.
fn broken(text: &str, lanes: u32, edit: impl Fn(&mut Vec<RoundCounter>, &mut Vec<Stmt>)) -> Grid {
    changed(&grid_of(text, lanes, MemorySpace::Team), &mut |body, k| {
        let Stmt::Extension(TeamStmt::Spread { counters, body, .. }) = &mut body[k] else { return false };
        edit(counters, body);
        true
    })
}

/// Lanes that do not exchange their numbers of appended elements store at the same positions. The
/// verifier and the interpreter report such grids.
#[test]
fn appends_without_an_exchange_are_found() {
    for lanes in [4, 64] {
        let broken = broken(TOUCHED, lanes, |counters, _| counters.clear());
        assert!(faults(&broken).contains("not proved independent"), "{}", faults(&broken));
        assert!(faults(&broken).contains("growth in a spread loop"), "{}", faults(&broken));
        for seed in 0..8 {
            let found = run(&broken, seed).map(|launched| launched.outcome);
            assert!(matches!(found, Err(Error::Grid(GridFault::Race { .. }))), "{found:?}");
        }
    }
}

/// If a counter advances by fewer elements than a round stores, lanes store at the same positions.
#[test]
fn counters_with_another_step_are_found() {
    let broken = broken(NESTED, 4, |counters, _| {
        counters.iter_mut().filter(|counter| counter.local == N).for_each(|counter| counter.by = 1);
    });
    assert!(faults(&broken).contains("differ from those at which its rounds append"), "{}", faults(&broken));
    let races = (0..8).filter(|seed| matches!(run(&broken, *seed), Err(Error::Grid(GridFault::Race { .. })))).count();
    assert_eq!(races, 8);
}

/// The interpreter reports rounds that append the same coordinate at the same time. The verifier
/// rejects a grid whose coordinates are not known to be unique.
#[test]
fn rounds_that_append_the_same_coordinate_are_found() {
    let repeated = [(0..48).map(|q| q / 2).collect::<Vec<i64>>(), vec![1; 48]].map(ArrowBuffer::from_vec);
    let valid = grid_of(TOUCHED, 4, MemorySpace::Team);
    for seed in 0..8 {
        let found = launch(&valid, &repeated, &one(1), (48, 1, seed)).map(|launched| launched.outcome);
        assert!(matches!(found, Err(Error::Grid(GridFault::Race { .. }))), "{found:?}");
    }
    let mut unknown = valid;
    unknown.list_coordinates.clear();
    assert!(faults(&unknown).contains("not proved independent"), "{}", faults(&unknown));
}

/// A missing barrier between the append of an element and a load by another lane is found.
#[test]
fn a_missing_barrier_after_appends_is_found() {
    let read = TOUCHED.replace("  length[0] = n\n", "  for k in 0..n {\n    map[k] = list[n - (k + 1)]\n  }\n");
    for lanes in [4, 64] {
        let valid = grid_of(&read, lanes, MemorySpace::Team);
        assert_eq!(faults(&valid), "");
        let barriers = valid.body.iter().filter(|s| **s == Stmt::Extension(TeamStmt::Barrier)).count();
        assert!(barriers > 0, "{valid}");
        run(&valid, 1).unwrap();
        let mut broken = valid.clone();
        broken.body.retain(|s| *s != Stmt::Extension(TeamStmt::Barrier));
        assert!(faults(&broken).contains("a barrier is missing"), "{}", faults(&broken));
        let races = (0..8).filter(|seed| matches!(run(&broken, *seed), Err(Error::Grid(GridFault::Race { .. }))));
        assert!(races.count() > 0, "{broken}");
    }
}

/// If a window is too small, all lanes end the chunk, and the launch reports the length that they
/// requested.
#[test]
fn small_windows_are_reported_by_all_lanes() {
    for lanes in [1, 4, 64] {
        let grid = grid_of(&COPIED.replace("q < $n", "q < 48"), lanes, MemorySpace::Chunk);
        let program = GridProgram::new(grid).unwrap();
        let launched = super::run(&program, &lists(), &one(1), (20, 1, 5)).unwrap();
        assert_eq!(launched.outcome, LaunchOutcome::OutOfCapacity);
        assert!(launched.windows[LIST.index()][0].requested > 20);
    }
}
