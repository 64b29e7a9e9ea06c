//! Tests of intersections by the lanes of a team: the mapping, the sharing of rounds, and agreement
//! with merges of lists.

use super::{function, launch, one, values};
use crate::Error;
use crate::grid::rounds::walks_to_loops;
use crate::grid::{
    Grid, GridFault, GridPlan, LaunchOutcome, LaunchResult, MemorySpace, Stmt, TeamSize, TeamStmt, Walks, map_to,
    to_serial, verify,
};
use crate::launch::grid_interpreter_in_teams;
use arrow_buffer::Buffer as ArrowBuffer;
use redpoll_compiler::assembly::{BinaryOp, Buffer, Expr, Local, Param, Status};
use redpoll_compiler::testing::skewed;
use redpoll_kernels::backend;
use redpoll_kernels::kernel::Kernel;
use redpoll_logic::{FloatMode, Scalar};

/// Searches and folds by lanes give the results of merges by the interpreter of Assembly.
#[test]
fn searches_agree_with_merges() {
    for text in skewed::INTERSECTIONS {
        let (draft, inputs) = skewed::draft(text);
        let expected = values(&Kernel::compile(&draft, &backend::interpreter()).unwrap(), &inputs);
        for lanes in [1, 4, 32, 64, 256] {
            let plan = GridPlan::of(&draft, TeamSize::Exact(lanes));
            assert_eq!(plan.run.to_string().contains("spread"), lanes > 1, "{}", plan.run);
            let found = values(&Kernel::compile(&draft, &grid_interpreter_in_teams(lanes)).unwrap(), &inputs);
            assert_eq!(found, expected, "{text}\n{}", plan.run);
        }
    }
}

/// A function that sums, over the common coordinates of two lists, the product of the two
/// positions. One list leads, and each round searches the other list from its start.
const PRODUCTS: &str = "\
fn products($n) {
  input a: index i64
  input b: index i64
  owned s: value i64 fill 0
  local lo: i64 local hi: i64 local q: i64 local r: i64 local i: i64 local acc: i64
  chunk lo, hi
  grow s, 1
  acc = s[0]
  q = 0
  while q < $n {
    i = a[q]
    r = 0
    while (r + 1) < $n {
      if not(b[r] < i) {
        break
      }
      r = r + 1
    }
    if b[r] == i {
      acc = acc + (q * r)
    }
    q = q + 1
  }
  s[0] = acc
}";
/// The cursor of the leading list.
const Q: Local = Local(2);

/// Returns the walk of the leading list, in four lanes.
fn walks(mode: FloatMode) -> Walks {
    Walks { lanes: vec![(Q, 4)], mode, ..Walks::none() }
}

/// Returns the grid of [`PRODUCTS`] for a team of four lanes.
fn products() -> Grid {
    products_by(4)
}

fn products_by(lanes: u32) -> Grid {
    let (function, walks) = walks_to_loops(function(PRODUCTS), walks(FloatMode::default()));
    map_to(&function, vec![MemorySpace::Input, MemorySpace::Input, MemorySpace::Chunk], lanes, &walks)
}

/// Runs a grid of [`PRODUCTS`] over two lists: the multiples of 2 below 96, and the multiples of 3
/// below 144.
fn run(grid: &Grid, seed: u64) -> LaunchResult {
    let lists = [2, 3].map(|by| ArrowBuffer::from_vec((0..48).map(|k| k * by).collect::<Vec<i64>>()));
    let launched = launch(grid, &lists, &one(1), (48, 1, seed)).unwrap_or_else(|e| panic!("{e}\n{grid}"));
    assert_eq!(launched.outcome, LaunchOutcome::Status(Status::Done));
    launched
}

/// Lanes share the rounds of the leading list evenly.
#[test]
fn lanes_share_the_rounds_of_the_leader() {
    // The coordinate `6 * k` is at position `3 * k` of one list and at `2 * k` of the other.
    let expected = (0..16).map(|k| 3 * k * 2 * k).sum::<u64>();
    for (lanes, most) in [(4, 12), (32, 2), (64, 1)] {
        let valid = products_by(lanes);
        assert_eq!(verify(&valid), [], "{valid}");
        for seed in 0..8 {
            let launched = run(&valid, seed);
            assert_eq!(launched.rounds.iter().sum::<u64>(), 48);
            assert!(launched.rounds.iter().all(|rounds| *rounds <= most), "{:?}", launched.rounds);
            assert_eq!(launched.windows[2][0].elements(), [expected]);
        }
    }
}

/// Returns the grid of [`PRODUCTS`] with a change to the spread loop.
fn broken(change: impl Fn(&mut Stmt)) -> Grid {
    let mut grid = products();
    let shared = grid
        .body
        .iter_mut()
        .find(|s| matches!(s, Stmt::Extension(TeamStmt::Spread { .. })))
        .expect("the loop is shared");
    change(shared);
    grid.function.body = to_serial(&grid.body);
    grid
}

fn faults(grid: &Grid) -> String {
    verify(grid).iter().map(|f| format!("{f}\n")).collect()
}

/// Each lane's partial result counts exactly once.
#[test]
fn partial_results_that_are_lost_or_counted_again_are_found() {
    let expected = run(&products(), 0).windows[2][0].elements().to_vec();
    let without_fold = broken(|s| {
        let Stmt::Extension(TeamStmt::Spread { folds, .. }) = s else { return };
        folds.clear();
    });
    assert!(faults(&without_fold).contains("not proved independent"), "{}", faults(&without_fold));
    assert_ne!(run(&without_fold, 0).windows[2][0].elements(), expected);
    let wrong_identity = broken(|s| {
        let Stmt::Extension(TeamStmt::Spread { folds, .. }) = s else { return };
        folds[0].identity = Scalar::I64(1);
    });
    assert!(faults(&wrong_identity).contains("a wrong identity"), "{}", faults(&wrong_identity));
    assert_ne!(run(&wrong_identity, 0).windows[2][0].elements(), expected);
    let wrong_operator = broken(|s| {
        let Stmt::Extension(TeamStmt::Spread { folds, .. }) = s else { return };
        folds[0].op = BinaryOp::Max;
    });
    assert!(faults(&wrong_operator).contains("a fold that its rounds do not perform"), "{}", faults(&wrong_operator));
    assert_ne!(run(&wrong_operator, 0).windows[2][0].elements(), expected);
}

/// Loops whose searches continue from an earlier round are not spread.
#[test]
fn searches_that_continue_from_earlier_rounds_are_not_spread() {
    let start = |text: &str| text.replace("    r = 0\n", "").replace("  q = 0\n", "  q = 0\n  r = 0\n");
    let (merge, walks) = walks_to_loops(function(&start(PRODUCTS)), walks(FloatMode::default()));
    let grid = map_to(&merge, vec![MemorySpace::Input, MemorySpace::Input, MemorySpace::Chunk], 4, &walks);
    assert!(!grid.to_string().contains("spread"), "{grid}");
    let mut carried = grid.clone();
    let Some(Stmt::Extension(TeamStmt::Spread { folds, .. })) =
        products().body.into_iter().find(|s| matches!(s, Stmt::Extension(TeamStmt::Spread { .. })))
    else {
        panic!("the loop is shared")
    };
    for stmt in &mut carried.body {
        if let Stmt::While { body, .. } = stmt {
            let (lo, hi) = (Expr::Const(Scalar::I64(0)), Expr::Param(Param(0)));
            let body = body[..body.len() - 1].to_vec();
            *stmt =
                Stmt::Extension(TeamStmt::Spread { var: Q, lo, hi, folds: folds.clone(), counters: Vec::new(), body });
        }
    }
    carried.function.body = to_serial(&carried.body);
    assert!(faults(&carried).contains("not proved independent"), "{}", faults(&carried));
}

/// Loops that read an accumulator for anything but its fold are not spread.
#[test]
fn folds_that_the_loop_reads_are_not_spread() {
    let read = PRODUCTS.replace("if b[r] == i", "if (b[r] + acc) == i");
    let (function, walks) = walks_to_loops(function(&read), walks(FloatMode::default()));
    let grid = map_to(&function, vec![MemorySpace::Input, MemorySpace::Input, MemorySpace::Chunk], 4, &walks);
    assert!(!grid.to_string().contains("spread"), "{grid}");
}

/// Folds of floats in program order are not spread.
#[test]
fn floats_in_program_order_are_not_spread() {
    let floats = PRODUCTS.replace("s: value i64 fill 0", "s: value f64 fill 0.0").replace("acc: i64", "acc: f64");
    let floats = floats.replace("acc + (q * r)", "acc + f64(q * r)");
    let shared = |mode| !walks_to_loops(function(&floats), walks(mode)).1.lanes.is_empty();
    assert!(shared(FloatMode::default()));
    assert!(!shared(FloatMode::StrictIeee));
}

/// A function that adds values at the coordinates of a list.
const SCATTERED: &str = "\
fn scattered($n) {
  input a: index i64
  input b: index i64
  owned y: value i64 fill 0
  local lo: i64 local hi: i64 local q: i64
  chunk lo, hi
  grow y, $n
  q = 0
  while q < $n {
    y[a[q]] = y[a[q]] + b[q]
    q = q + 1
  }
}";

/// Rounds that write at the coordinates of a list are independent only if no coordinate repeats.
#[test]
fn repeated_coordinates_are_found() {
    let spread = |list_coordinates: Vec<(Local, Buffer)>| {
        let walks = Walks { list_coordinates, ..walks(FloatMode::default()) };
        let (function, walks) = walks_to_loops(function(SCATTERED), walks);
        map_to(&function, vec![MemorySpace::Input, MemorySpace::Input, MemorySpace::Chunk], 4, &walks)
    };
    assert!(!spread(vec![]).to_string().contains("spread"));
    assert!(!spread(vec![(Q, Buffer(1))]).to_string().contains("spread"), "the other array has no coordinates");
    let grid = spread(vec![(Q, Buffer(0))]);
    assert_eq!(verify(&grid), [], "{grid}");
    assert!(grid.to_string().contains("spread"), "{grid}");
    let scatter = |coordinates: Vec<i64>, seed| {
        let lists = [coordinates, (0..16).collect()].map(ArrowBuffer::from_vec);
        launch(&grid, &lists, &one(1), (16, 1, seed))
    };
    for seed in 0..8 {
        let backwards = scatter((0..16).rev().collect(), seed).unwrap();
        assert_eq!(backwards.windows[2][0].elements(), (0..16).rev().collect::<Vec<u64>>());
        let repeated = scatter((0..16).map(|k| k / 2).collect(), seed).map(|launched| launched.outcome);
        assert!(matches!(repeated, Err(Error::Grid(GridFault::Race { .. }))), "{repeated:?}");
    }
    let mut unknown = grid.clone();
    unknown.list_coordinates.clear();
    assert!(faults(&unknown).contains("not proved independent"), "{}", faults(&unknown));
}
