//! Intersections by the lanes of a team: the mapping, the sharing of rounds, and results equal to
//! those of merged lists.

use super::golden::check_plan;
use super::{function, launch, one, values};
use crate::Error;
use crate::assembly::{BinaryOp, Buffer, Expr, Local, Param, Status};
use crate::grid::rounds::walks_to_loops;
use crate::grid::{
    Grid, GridFault, LaunchOutcome, LaunchResult, MemorySpace, Stmt, TeamSize, TeamStmt, Walks, map_to, to_serial,
    verify,
};
use crate::kernel::{Kernel, KernelEngine};
use crate::testing::skewed;
use arrow::buffer::Buffer as ArrowBuffer;
use expect_test::{Expect, expect};
use redpoll_logic::{FloatMode, Scalar};

fn check(number: usize, expected: Expect) {
    let (draft, _) = skewed::draft(skewed::INTERSECTIONS[number]);
    check_plan(&draft.grids(TeamSize::Automatic), expected);
}

/// Searches and folds by lanes agree with merges on the CPU.
#[test]
fn searches_agree_with_merges() {
    for text in skewed::INTERSECTIONS {
        let (draft, inputs) = skewed::draft(text);
        let expected = values(&Kernel::compile(&draft, KernelEngine::Interpreter).unwrap(), &inputs);
        for lanes in [1, 4, 32, 64, 256] {
            let plan = draft.grids(TeamSize::Exact(lanes));
            assert_eq!(plan.run.to_string().contains("spread"), lanes > 1, "{}", plan.run);
            let found = values(&Kernel::in_teams(&draft, lanes).unwrap(), &inputs);
            assert_eq!(found, expected, "{text}\n{}", plan.run);
        }
    }
}

#[test]
fn triangles() {
    check(
        0,
        expect![[r#"
            grid kernel($n30) lanes 8 {
              chunk n.val: value i64 fill 0
              chunk lengths: index i64 fill 0
              grow lengths, 1
              n = 0
              #3 = max(0, chunk_lo)
              #4 = min($n30, chunk_hi)
              if #3 < #4 {
                for #5 in #3..#4 {
                  poll lead
                  #6 = E.ptr1[#5]
                  #7 = E.ptr1[#5 + 1]
                  while #6 < #7 {
                    poll lead
                    #8 = E.idx1[#6]
                    #10 = E.ptr1[#8]
                    #11 = E.ptr1[#8 + 1]
                    #13 = E.ptr1[#5]
                    #14 = E.ptr1[#5 + 1]
                    spread #10 in #10..#11 folding n by + from 0 {
                      #16 = #13
                      #12 = E.idx1[#10]
                      if #16 < #14 {
                        if E.idx1[#16] < #12 {
                          step = 1
                          while (#16 + step) < #14 {
                            if not(E.idx1[#16 + step] < #12) {
                              break
                            }
                            #16 = #16 + step
                            step = step + step
                          }
                          hi = min(#16 + step, #14)
                          while (#16 + 1) < hi {
                            mid = (#16 + hi) >> 1
                            if E.idx1[mid] < #12 {
                              #16 = mid
                            } else {
                              hi = mid
                            }
                          }
                          #16 = hi
                        }
                      }
                      if #16 < #14 {
                        #15 = E.idx1[#16]
                        if #15 == #12 {
                          n = n + (E.val[#6] * (E.val[#10] * E.val[#16]))
                        }
                      }
                    }
                    #6 = #6 + 1
                  }
                }
              }
              grow n.val, 1
              lead n.val[0] = n
              lead lengths[0] = 1
            }

        "#]],
    );
}

/// Positions of an output in the pattern of a list belong to the rounds of the list.
#[test]
fn products_in_a_pattern() {
    check(
        2,
        expect![[r#"
            grid kernel($n7, $n60, $positions0) lanes 16 {
              shared C.val: value f64 fill 0.0
              chunk lengths: index i64 fill 0
              grow lengths, 1
              grow C.val, $positions0
              #2 = max(0, chunk_lo)
              #3 = min($n7, chunk_hi)
              if #2 < #3 {
                for #4 in #2..#3 {
                  poll lead
                  #5 = A.ptr1[#4]
                  #6 = A.ptr1[#4 + 1]
                  #8 = B.ptr1[#4]
                  #9 = B.ptr1[#4 + 1]
                  barrier
                  spread #5 in #5..#6 {
                    #11 = #8
                    #7 = A.idx1[#5]
                    if #11 < #9 {
                      if B.idx1[#11] < #7 {
                        step = 1
                        while (#11 + step) < #9 {
                          if not(B.idx1[#11 + step] < #7) {
                            break
                          }
                          #11 = #11 + step
                          step = step + step
                        }
                        hi = min(#11 + step, #9)
                        while (#11 + 1) < hi {
                          mid = (#11 + hi) >> 1
                          if B.idx1[mid] < #7 {
                            #11 = mid
                          } else {
                            hi = mid
                          }
                        }
                        #11 = hi
                      }
                    }
                    if #11 < #9 {
                      #10 = B.idx1[#11]
                      if #10 == #7 {
                        each C.val[#5] = C.val[#5] + (A.val[#5] * B.val[#11])
                      }
                    }
                  }
                }
              }
              lead lengths[0] = $positions0
            }

        "#]],
    );
}

/// The list is searched for the end of the chunk.
#[test]
fn products_of_vectors() {
    check(
        4,
        expect![[r#"
            grid kernel($n90) lanes 32 {
              chunk s.val: value f32 fill 0.0_f32
              chunk lengths: index i64 fill 0
              grow lengths, 1
              s = 0.0_f32
              #3 = max(0, chunk_lo)
              #4 = min($n90, chunk_hi)
              if #3 < #4 {
                #5 = x.ptr0[0]
                #6 = x.ptr0[1]
                #8 = y.ptr0[0]
                #9 = y.ptr0[1]
                if #5 < #6 {
                  if x.idx0[#5] < #3 {
                    #11 = 1
                    while (#5 + #11) < #6 {
                      if not(x.idx0[#5 + #11] < #3) {
                        break
                      }
                      #5 = #5 + #11
                      #11 = #11 + #11
                    }
                    #12 = min(#5 + #11, #6)
                    while (#5 + 1) < #12 {
                      #13 = (#5 + #12) >> 1
                      if x.idx0[#13] < #3 {
                        #5 = #13
                      } else {
                        #12 = #13
                      }
                    }
                    #5 = #12
                  }
                }
                if #8 < #9 {
                  if y.idx0[#8] < #3 {
                    #14 = 1
                    while (#8 + #14) < #9 {
                      if not(y.idx0[#8 + #14] < #3) {
                        break
                      }
                      #8 = #8 + #14
                      #14 = #14 + #14
                    }
                    #15 = min(#8 + #14, #9)
                    while (#8 + 1) < #15 {
                      #16 = (#8 + #15) >> 1
                      if y.idx0[#16] < #3 {
                        #8 = #16
                      } else {
                        #15 = #16
                      }
                    }
                    #8 = #15
                  }
                }
                #17 = #5
                if #5 < #6 {
                  if x.idx0[#5] < #4 {
                    #19 = 1
                    while (#5 + #19) < #6 {
                      if not(x.idx0[#5 + #19] < #4) {
                        break
                      }
                      #5 = #5 + #19
                      #19 = #19 + #19
                    }
                    #20 = min(#5 + #19, #6)
                    while (#5 + 1) < #20 {
                      #21 = (#5 + #20) >> 1
                      if x.idx0[#21] < #4 {
                        #5 = #21
                      } else {
                        #20 = #21
                      }
                    }
                    #5 = #20
                  }
                }
                last = #5
                #5 = #17
                #26 = #5
                spread #5 in #26..last folding s by + from 0.0_f32 {
                  poll each
                  #22 = #8
                  #7 = x.idx0[#5]
                  if #22 < #9 {
                    if y.idx0[#22] < #7 {
                      #23 = 1
                      while (#22 + #23) < #9 {
                        if not(y.idx0[#22 + #23] < #7) {
                          break
                        }
                        #22 = #22 + #23
                        #23 = #23 + #23
                      }
                      #24 = min(#22 + #23, #9)
                      while (#22 + 1) < #24 {
                        #25 = (#22 + #24) >> 1
                        if y.idx0[#25] < #7 {
                          #22 = #25
                        } else {
                          #24 = #25
                        }
                      }
                      #22 = #24
                    }
                  }
                  if #22 < #9 {
                    #10 = y.idx0[#22]
                    if #10 == #7 {
                      s = s + (x.val[#5] * y.val[#22])
                    }
                  }
                }
                #5 = max(#26, last)
              }
              grow s.val, 1
              lead s.val[0] = s
              lead lengths[0] = 1
            }

        "#]],
    );
}

/// The sum of products of two lists: one leads, and the other is searched from its start.
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
    Walks { lanes: vec![(Q, 4)], list_coordinates: vec![], mode }
}

/// Returns the products for a team of four lanes.
fn products() -> Grid {
    products_by(4)
}

fn products_by(lanes: u32) -> Grid {
    let (function, walks) = walks_to_loops(function(PRODUCTS), walks(FloatMode::default()));
    map_to(&function, vec![MemorySpace::Input, MemorySpace::Input, MemorySpace::Chunk], lanes, &walks)
}

/// Multiplies the multiples of 2 below 96 with the multiples of 3 below 144.
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

/// Returns the products with a change to the spread loop.
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
            *stmt = Stmt::Extension(TeamStmt::Spread { var: Q, lo, hi, folds: folds.clone(), body });
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

/// Values that are added at the coordinates of a list.
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

/// Positions given by coordinates belong to rounds only if no coordinate repeats.
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
