//! Tests that the verifier and the interpreter find broken mappings.

use super::{elements, grid, launch, one, run_unfilled};
use crate::Error;
use crate::grid::{ActiveLanes, Grid, GridFault, GridProgram, LaunchOutcome, MemorySpace, Stmt, TeamStmt, verify};
use arrow_buffer::Buffer as ArrowBuffer;
use redpoll_compiler::assembly::{Buffer, Expr, Local, Status};
use redpoll_logic::Scalar;

/// A function that computes squares, and then the sums of adjacent squares.
pub(super) const NEIGHBOURS: &str = "\
fn neighbours($n) {
  input x: value i64
  owned squares: value i64 fill 0
  owned y: value i64 fill 0
  local lo: i64 local hi: i64 local i: i64 local j: i64
  chunk lo, hi
  grow squares, $n
  for i in lo..hi {
    squares[i] = x[i] * x[i]
  }
  for j in lo..(hi - 1) {
    y[j] = squares[j] + squares[j + 1]
  }
}";

/// A function that counts the occurrences of each remainder by 4.
pub(super) const HISTOGRAM: &str = "\
fn histogram($n) {
  input x: value i64
  owned count: value i64 fill 0
  local lo: i64 local hi: i64 local i: i64
  chunk lo, hi
  grow count, $n
  for i in lo..hi {
    count[x[i] & 3] = count[x[i] & 3] + 1
  }
}";

/// A function in which a value passes through memory from statement to statement.
pub(super) const THROUGH_MEMORY: &str = "\
fn through($n) {
  owned w: value i64 fill 0
  owned y: value i64 fill 0
  local lo: i64 local hi: i64 local k: i64 local v: i64
  chunk lo, hi
  grow w, $n
  v = 1
  k = 0
  while k < $n {
    w[0] = v
    v = w[0] + v
    k = k + 1
  }
  y[lo] = v
}";

/// A function that computes prefix sums in place. Its rounds depend on each other.
const PREFIX: &str = "\
fn prefix($n) {
  owned y: value i64 fill 1
  local lo: i64 local hi: i64 local i: i64
  chunk lo, hi
  grow y, $n
  for i in (lo + 1)..hi {
    y[i] = y[i] + y[i - 1]
  }
}";

pub(super) fn numbers(n: i64) -> [ArrowBuffer; 1] {
    [ArrowBuffer::from_vec((0..n).collect::<Vec<i64>>())]
}

/// Calls `change` on the statements of a grid, innermost first, until `change` returns `true`. Each
/// call gets the list that contains the statement, and the index of the statement in the list.
fn change(body: &mut Vec<Stmt>, change: &mut dyn FnMut(&mut Vec<Stmt>, usize) -> bool) -> bool {
    for k in 0..body.len() {
        for inner in body[k].bodies_mut().into_iter().flatten() {
            if self::change(inner, change) {
                return true;
            }
        }
        if change(body, k) {
            return true;
        }
    }
    false
}

pub(super) fn changed(grid: &Grid, edit: &mut dyn FnMut(&mut Vec<Stmt>, usize) -> bool) -> Grid {
    let mut grid = grid.clone();
    assert!(change(&mut grid.body, edit), "no statement to change in\n{grid}");
    grid
}

pub(super) fn faults(grid: &Grid) -> String {
    verify(grid).iter().map(|f| format!("{f}\n")).collect()
}

/// Asserts that the verifier rejects a grid and that the interpreter finds a race in each of eight
/// random orders.
fn check_race(grid: &Grid, inputs: &[ArrowBuffer], chunks: &[std::ops::Range<i64>], expected: &str) {
    assert!(faults(grid).contains(expected), "{}\n{grid}", faults(grid));
    for seed in 0..8 {
        match launch(grid, inputs, chunks, (16, 2, seed)) {
            Err(Error::Grid(GridFault::Race { .. })) => {}
            other => panic!("expected a race, found {:?}\n{grid}", other.map(|l| l.outcome)),
        }
    }
}

/// Lanes pass data to each other only across barriers.
#[test]
fn a_missing_barrier_is_found() {
    for (text, lanes) in [(NEIGHBOURS, 4), (NEIGHBOURS, 64), (THROUGH_MEMORY, 4), (THROUGH_MEMORY, 256)] {
        let valid = grid(text, &[MemorySpace::Team, MemorySpace::Shared], lanes);
        assert_eq!(faults(&valid), "");
        let (chunks, inputs) = (one(16), numbers(16));
        let inputs = if text == NEIGHBOURS { &inputs[..] } else { &[] };
        launch(&valid, inputs, &chunks, (16, 2, 0)).unwrap_or_else(|e| panic!("{e}\n{valid}"));
        let barriers = valid.to_string().matches("barrier").count();
        assert!(barriers > 0, "{valid}");
        for number in 0..barriers {
            let mut remaining = number;
            let broken = changed(&valid, &mut |body, k| {
                let found = body[k] == Stmt::Extension(TeamStmt::Barrier)
                    && (remaining == 0 || {
                        remaining -= 1;
                        false
                    });
                if found {
                    body.remove(k);
                }
                found
            });
            check_race(&broken, inputs, &chunks, "a barrier is missing");
        }
    }
}

/// Counts that teams share need atomic operations.
#[test]
fn a_plain_store_where_an_atomic_operation_is_due_is_found() {
    let valid = grid(HISTOGRAM, &[MemorySpace::Shared], 4);
    assert_eq!(faults(&valid), "");
    let chunks = [0..5, 5..9, 9..16];
    assert_eq!(elements(&valid, &numbers(16), &chunks, 4, Buffer(1)), [4, 4, 4, 4]);
    let broken = changed(&valid, &mut |body, k| {
        let Stmt::Extension(TeamStmt::Atomic { active, buffer, at, op, value }) = body[k].clone() else { return false };
        let old = Expr::Load { buffer, at: Box::new(at.clone()) };
        body[k] = Stmt::Store { active, buffer, at, value: Expr::Binary(op, Box::new(old), Box::new(value)) };
        true
    });
    check_race(&broken, &numbers(16), &chunks, "not proved independent");
}

/// Outside spread loops a single lane stores.
#[test]
fn a_store_by_all_lanes_is_found() {
    let valid = grid(THROUGH_MEMORY, &[MemorySpace::Team, MemorySpace::Shared], 4);
    let broken = changed(&valid, &mut |body, k| match &mut body[k] {
        Stmt::Store { active, .. } => {
            *active = ActiveLanes::Each;
            true
        }
        _ => false,
    });
    check_race(&broken, &[], &one(16), "a store into `w` by each lane, expected the first lane");
}

/// Loops whose rounds depend on earlier rounds are not spread.
#[test]
fn rounds_that_depend_on_each_other_are_not_spread() {
    let valid = grid(PREFIX, &[MemorySpace::Team], 4);
    assert!(!valid.to_string().contains("spread"), "{valid}");
    assert_eq!(elements(&valid, &[], &one(16), 16, Buffer(0)), (1..=16).collect::<Vec<u64>>());
    let broken = changed(&valid, &mut |body, k| {
        let Stmt::For { var, lo, hi, body: rounds } = body[k].clone() else { return false };
        let mut rounds = rounds;
        rounds.retain(|s| *s != Stmt::Extension(TeamStmt::Barrier));
        for stmt in &mut rounds {
            if let Stmt::Store { active, .. } = stmt {
                *active = ActiveLanes::Each;
            }
        }
        body[k] =
            Stmt::Extension(TeamStmt::Spread { var, lo, hi, folds: Vec::new(), counters: Vec::new(), body: rounds });
        true
    });
    check_race(&broken, &[], &one(16), "not proved independent");
}

/// A load of an element that no growth has requested is found. A launch with a window that is too
/// small reports the length that was requested for the window.
#[test]
fn uninitialized_loads_and_small_windows_are_found() {
    let valid = grid(NEIGHBOURS, &[MemorySpace::Team, MemorySpace::Shared], 4);
    let broken = changed(&valid, &mut |body, k| {
        let Stmt::Grow { len, .. } = &mut body[k] else { return false };
        *len = Expr::Const(Scalar::I64(7));
        true
    });
    let error = launch(&broken, &numbers(16), &one(7), (16, 1, 3)).map(|l| l.outcome);
    assert!(matches!(error, Ok(LaunchOutcome::Status(Status::Done))), "{error:?}");
    let broken = changed(&broken, &mut |body, k| {
        let Stmt::Extension(TeamStmt::Spread { hi, .. }) = &mut body[k] else { return false };
        *hi = Expr::Const(Scalar::I64(0));
        true
    });
    let broken = changed(&broken, &mut |body, k| {
        let Stmt::Grow { len, .. } = &mut body[k] else { return false };
        *len = Expr::Const(Scalar::I64(3));
        true
    });
    let error = launch(&broken, &numbers(16), &one(7), (16, 1, 3)).map(|l| l.outcome).unwrap_err();
    assert!(matches!(error, Error::Grid(GridFault::Unwritten { .. })), "{error}");
    let short = launch(&valid, &numbers(16), &one(7), (16, 1, 3)).unwrap();
    assert_eq!(short.outcome, LaunchOutcome::Status(Status::Done));
    let mut small = valid.clone();
    small.spaces[1] = MemorySpace::Chunk;
    let launched = launch(
        &changed(&small, &mut |body, k| {
            let Stmt::Grow { len, .. } = &mut body[k] else { return false };
            *len = Expr::Const(Scalar::I64(40));
            true
        }),
        &numbers(16),
        &one(7),
        (16, 1, 3),
    )
    .unwrap();
    assert_eq!((launched.outcome, launched.windows[1][0].requested), (LaunchOutcome::OutOfCapacity, 40));
}

/// A lane that never reaches a barrier is found.
#[test]
fn divergent_lanes_are_found() {
    let valid = grid(NEIGHBOURS, &[MemorySpace::Team, MemorySpace::Shared], 4);
    let broken = changed(&valid, &mut |body, k| {
        let Stmt::Extension(TeamStmt::Spread { body: rounds, .. }) = &mut body[k] else { return false };
        rounds.push(Stmt::Extension(TeamStmt::Barrier));
        true
    });
    assert!(faults(&broken).contains("a barrier in a spread loop"), "{}", faults(&broken));
    let error = launch(&broken, &numbers(16), &one(6), (16, 1, 1)).map(|l| l.outcome).unwrap_err();
    assert!(matches!(error, Error::Grid(GridFault::Divergence(0))), "{error}");
}

/// The verifier finds a local of a spread loop that is read after the loop.
#[test]
fn a_local_that_leaves_a_spread_loop_is_found() {
    let valid = grid(NEIGHBOURS, &[MemorySpace::Team, MemorySpace::Shared], 4);
    let mut broken = valid.clone();
    let outer = Local(broken.function.locals.len() as u32);
    let decl = redpoll_compiler::assembly::LocalDecl { name: "outer".into(), prim: redpoll_logic::Prim::I64 };
    broken.function.locals.push(decl);
    broken.body.insert(0, Stmt::Assign(outer, Expr::Const(Scalar::I64(0))));
    let broken = changed(&broken, &mut |body, k| {
        let Stmt::Extension(TeamStmt::Spread { var, body: rounds, .. }) = &mut body[k] else { return false };
        rounds.push(Stmt::Assign(outer, Expr::Local(*var)));
        true
    });
    let mut broken = broken;
    let at = Expr::Local(broken.function.chunk.0);
    broken.body.push(Stmt::Store { active: ActiveLanes::Lead, buffer: Buffer(2), at, value: Expr::Local(outer) });
    broken.function.body = crate::grid::to_serial(&broken.body);
    assert!(faults(&broken).contains("not proved independent"), "{}", faults(&broken));
}

/// The interpreter reports an element that no lane stores, in a result that is not filled first. On
/// a device, such an element has arbitrary contents.
#[test]
fn unwritten_results_are_found() {
    const DOUBLED: &str = "\
fn doubled($n) {
  input x: value i64
  owned y: value i64 fill 0
  local lo: i64 local hi: i64 local i: i64
  chunk lo, hi
  for i in lo..hi {
    y[i] = x[i] + x[i]
  }
}";
    for space in [MemorySpace::Shared, MemorySpace::Rounds] {
        let valid = grid(DOUBLED, &[space], 4);
        let launch = |grid: &Grid| {
            let program = GridProgram::new_unchecked(grid.clone());
            run_unfilled(&program, &numbers(16), &one(16), (16, 2, 1), &[Buffer(1)]).map(|l| l.outcome)
        };
        assert_eq!(launch(&valid).unwrap(), LaunchOutcome::Status(Status::Done));
        let broken = changed(&valid, &mut |body, k| {
            let (Stmt::Extension(TeamStmt::Spread { hi, .. }) | Stmt::For { hi, .. }) = &mut body[k] else {
                return false;
            };
            *hi = Expr::Const(Scalar::I64(11));
            true
        });
        let error = launch(&broken).unwrap_err();
        let expected = GridFault::UnwrittenResult { buffer: "y".into(), index: 11 };
        assert!(matches!(&error, Error::Grid(fault) if *fault == expected), "{error}");
    }
}
