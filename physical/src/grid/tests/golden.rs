//! Golden grids of small programs, to be reviewed like code. `UPDATE_EXPECT=1` rewrites them.

use crate::grid::{GridPlan, ListLengths, TeamSize};
use crate::lower::{LoweringOptions, lower};
use crate::testing::{normal_form, skewed};
use expect_test::{Expect, expect};
use redpoll_logic::FloatMode;

fn check(text: &str, expected: Expect) {
    let program = normal_form(text);
    let plan = GridPlan::of(
        &program,
        &lower(&program, &[], LoweringOptions::default()),
        TeamSize::Automatic,
        Some((&ListLengths::default(), FloatMode::default())),
    );
    check_plan(&plan, expected);
}

#[expect(clippy::needless_pass_by_value, reason = "an inline snapshot is written where it is passed")]
pub(super) fn check_plan(plan: &GridPlan, expected: Expect) {
    let printed: String = plan.count.iter().chain([&plan.run]).map(|grid| format!("{grid}\n")).collect();
    let is_code = |line: &&str| !["  local ", "  input ", "  chunk chunk"].iter().any(|d| line.starts_with(d));
    expected.assert_eq(&printed.lines().filter(is_code).map(|l| format!("{l}\n")).collect::<String>());
}

/// Rows are spread over the lanes of a warp.
#[test]
fn spmv() {
    check(
        "(program (input A (type (shape 4 5) f64 0.0 csr)) (input x (type (shape 5) f64 0.0 dense))
           (output y (type (shape 4) f64 0.0 dense))
           (for i (for j (+= (y i) (* (A i j) (x j))))))",
        expect![[r#"
            grid kernel($n4, $n5) lanes 32 {
              rounds y.val: value f64 fill 0.0
              chunk lengths: index i64 fill 0
              first = section first
              last = section last
              grow lengths, 1
              grow y.val, $n4
              #2 = max(0, chunk_lo)
              #3 = min($n4, chunk_hi)
              if #2 < #3 {
                spread #4 in #2..#3 {
                  poll each
                  acc = 0.0
                  q = max(A.ptr1[#4], first)
                  q_end = min(A.ptr1[#4 + 1], last)
                  while q < q_end {
                    #8 = A.idx1[q]
                    acc = acc + (A.val[q] * x.val[#8])
                    q = q + 1
                  }
                  each y.val[#4] = acc
                }
              }
              lead lengths[0] = $n4
            }

        "#]],
    );
}

/// The lanes of a team share a row if rows are long.
#[test]
fn long_rows() {
    let (draft, _) = skewed::draft(skewed::PROGRAMS[0]);
    check_plan(
        &draft.grids(TeamSize::Automatic),
        expect![[r#"
            grid kernel($n7, $n60) lanes 16 {
              rounds y.val: value f64 fill 0.0
              chunk lengths: index i64 fill 0
              first = section first
              last = section last
              grow lengths, 1
              grow y.val, $n7
              #2 = max(0, chunk_lo)
              #3 = min($n7, chunk_hi)
              if #2 < #3 {
                for #4 in #2..#3 {
                  poll lead
                  acc = 0.0
                  #6 = max(A.ptr1[#4], first)
                  q_end = min(A.ptr1[#4 + 1], last)
                  fold acc by + from 0.0 lanes 16 for #10 in #6..q_end: A.val[#10] * x.val[A.idx1[#10]]
                  lead y.val[#4] = acc
                }
              }
              lead lengths[0] = $n7
            }

        "#]],
    );
}

/// A row is counted, then filled; each team has a workspace.
#[test]
fn spgemm() {
    check(
        "(program (input A (type (shape 4 5) f64 0.0 csr)) (input B (type (shape 5 3) f64 0.0 csr))
           (output C (type (shape 4 3) f64 0.0 csr)) (local w (type (shape 3) f64 0.0 (byte-map (element))))
           (for i (where (for j (init (C i j) (w j)))
                         (for k (for j (+= (w j) (* (A i k) (B k j))))))))",
        expect![[r#"
            grid kernel($n4, $n5, $n3) lanes 1 {
              measured C.ptr1: index i32 fill 0_i32
              measured C.idx1: index u32 fill 0_u32
              measured C.val: value f64 fill 0.0
              team w.ptr0: index i32 fill 0_i32
              team w.idx0: index u32 fill 0_u32
              team w.map0: value u8 fill 0_u8
              measured w.val: value f64 fill 0.0
              chunk lengths: index i64 fill 0
              touched = 0
              grow lengths, 3
              len = lengths[1]
              grow C.ptr1, $n4 + 1
              #4 = max(0, chunk_lo)
              #5 = min($n4, chunk_hi)
              if #4 < #5 {
                for #6 in #4..#5 {
                  poll lead
                  for #7 in 0..touched {
                    poll lead
                    #8 = w.idx0[#7]
                    lead w.map0[#8] = 0_u8
                  }
                  touched = 0
                  grow w.map0, $n3
                  grow w.val, $n3
                  #9 = A.ptr1[#6]
                  #10 = A.ptr1[#6 + 1]
                  while #9 < #10 {
                    poll lead
                    #11 = A.idx1[#9]
                    #13 = B.ptr1[#11]
                    #14 = B.ptr1[#11 + 1]
                    while #13 < #14 {
                      poll lead
                      #15 = B.idx1[#13]
                      if not(w.map0[#15] != 0_u8) {
                        grow w.idx0, touched + 1
                        lead w.idx0[touched] = #15
                        touched = touched + 1
                        lead w.map0[#15] = 1_u8
                      }
                      #13 = #13 + 1
                    }
                    #9 = #9 + 1
                  }
                  sort w.idx0 in 0..touched
                  grow w.ptr0, 2
                  if not(touched < 2147483648) {
                    return position_overflow
                  }
                  lead w.ptr0[1] = touched
                  #18 = w.ptr0[0]
                  #19 = w.ptr0[1]
                  while #18 < #19 {
                    poll lead
                    grow C.val, len + 1
                    grow C.idx1, len + 1
                    len = len + 1
                    #18 = #18 + 1
                  }
                }
              }
              if not(len < 2147483648) {
                return position_overflow
              }
              grow C.ptr1, $n4 + 1
              lead lengths[0] = $n4 + 1
              lead lengths[1] = len
              lead lengths[2] = len
              for #28 in 0..touched {
                poll lead
                #29 = w.idx0[#28]
                lead w.map0[#29] = 0_u8
              }
              touched = 0
              grow w.map0, $n3
              grow w.val, $n3
            }

            grid kernel($n4, $n5, $n3) lanes 1 {
              rounds C.ptr1: index i32 fill 0_i32
              chunk C.idx1: index u32 fill 0_u32
              chunk C.val: value f64 fill 0.0
              team w.ptr0: index i32 fill 0_i32
              team w.idx0: index u32 fill 0_u32
              team w.map0: value u8 fill 0_u8
              team w.val: value f64 fill 0.0
              chunk lengths: index i64 fill 0
              touched = 0
              grow lengths, 3
              len = lengths[1]
              grow C.ptr1, $n4 + 1
              #4 = max(0, chunk_lo)
              #5 = min($n4, chunk_hi)
              if #4 < #5 {
                for #6 in #4..#5 {
                  poll lead
                  for #7 in 0..touched {
                    poll lead
                    #8 = w.idx0[#7]
                    lead w.map0[#8] = 0_u8
                    lead w.val[#8] = 0.0
                  }
                  touched = 0
                  grow w.map0, $n3
                  grow w.val, $n3
                  #9 = A.ptr1[#6]
                  #10 = A.ptr1[#6 + 1]
                  while #9 < #10 {
                    poll lead
                    #11 = A.idx1[#9]
                    #13 = B.ptr1[#11]
                    #14 = B.ptr1[#11 + 1]
                    while #13 < #14 {
                      poll lead
                      #15 = B.idx1[#13]
                      lead w.val[#15] = w.val[#15] + (A.val[#9] * B.val[#13])
                      if not(w.map0[#15] != 0_u8) {
                        grow w.idx0, touched + 1
                        lead w.idx0[touched] = #15
                        touched = touched + 1
                        lead w.map0[#15] = 1_u8
                      }
                      #13 = #13 + 1
                    }
                    #9 = #9 + 1
                  }
                  sort w.idx0 in 0..touched
                  grow w.ptr0, 2
                  if not(touched < 2147483648) {
                    return position_overflow
                  }
                  lead w.ptr0[1] = touched
                  #18 = w.ptr0[0]
                  #19 = w.ptr0[1]
                  while #18 < #19 {
                    poll lead
                    #20 = w.idx0[#18]
                    grow C.val, len + 1
                    lead C.val[len] = w.val[#20]
                    grow C.idx1, len + 1
                    lead C.idx1[len] = #20
                    len = len + 1
                    #18 = #18 + 1
                  }
                  lead C.ptr1[#6 + 1] = len
                }
              }
              #23 = max(min(chunk_lo, $n4), 0)
              #24 = max(min(chunk_hi, $n4), 0)
              if not(len < 2147483648) {
                return position_overflow
              }
              grow C.ptr1, $n4 + 1
              end = C.ptr1[#23]
              for #26 in #23..#24 {
                poll lead
                end = max(end, C.ptr1[#26 + 1])
                lead C.ptr1[#26 + 1] = end
              }
              lead lengths[0] = $n4 + 1
              lead lengths[1] = len
              lead lengths[2] = len
              for #28 in 0..touched {
                poll lead
                #29 = w.idx0[#28]
                lead w.map0[#29] = 0_u8
                lead w.val[#29] = 0.0
              }
              touched = 0
              grow w.map0, $n3
              grow w.val, $n3
            }

        "#]],
    );
}

/// The innermost loop is spread.
#[test]
fn mttkrp() {
    check(
        "(program (input B (type (shape 4 5 6) f64 0.0 csf)) (input C (type (shape 5 8) f64 0.0 dense))
           (input D (type (shape 6 8) f64 0.0 dense)) (output A (type (shape 4 8) f64 0.0 dense))
           (for i (for k (for l (for j (+= (A i j) (* (B i k l) (* (C k j) (D l j)))))))))",
        expect![[r#"
            grid kernel($n4, $n5, $n6, $n8) lanes 32 {
              rounds A.val: value f64 fill 0.0
              chunk lengths: index i64 fill 0
              first = section first
              last = section last
              grow lengths, 1
              p = $n4 * $n8
              grow A.val, p
              #3 = max(0, chunk_lo)
              #4 = min($n4, chunk_hi)
              if #3 < #4 {
                #5 = B.ptr0[0]
                #6 = B.ptr0[1]
                if #5 < #6 {
                  if B.idx0[#5] < #3 {
                    step = 1
                    while (#5 + step) < #6 {
                      if not(B.idx0[#5 + step] < #3) {
                        break
                      }
                      #5 = #5 + step
                      step = step + step
                    }
                    hi = min(#5 + step, #6)
                    while (#5 + 1) < hi {
                      mid = (#5 + hi) >> 1
                      if B.idx0[mid] < #3 {
                        #5 = mid
                      } else {
                        hi = mid
                      }
                    }
                    #5 = hi
                  }
                }
                while #5 < #6 {
                  poll lead
                  #7 = B.idx0[#5]
                  if #4 < (#7 + 1) {
                    break
                  }
                  #12 = max(B.ptr1[#5], first)
                  #13 = min(B.ptr1[#5 + 1], last)
                  while #12 < #13 {
                    poll lead
                    #14 = B.idx1[#12]
                    #16 = B.ptr2[#12]
                    #17 = B.ptr2[#12 + 1]
                    while #16 < #17 {
                      poll lead
                      #18 = B.idx2[#16]
                      #20 = #14 * $n8
                      #21 = #18 * $n8
                      #22 = #7 * $n8
                      barrier
                      spread j in 0..$n8 {
                        each A.val[#22 + j] = A.val[#22 + j] + (B.val[#16] * (C.val[#20 + j] * D.val[#21 + j]))
                      }
                      #16 = #16 + 1
                    }
                    #12 = #12 + 1
                  }
                  #5 = #5 + 1
                }
              }
              positions = $n4 * $n8
              lead lengths[0] = positions
            }

        "#]],
    );
}

/// The fold has the lanes of the team.
#[test]
fn dense_products() {
    check(
        "(program (input A (type (shape 4 5) f64 0.0 dense)) (input x (type (shape 5) f64 0.0 dense))
           (output y (type (shape 4) f64 0.0 dense))
           (for i (for j (+= (y i) (* (A i j) (x j))))))",
        expect![[r#"
            grid kernel($n4, $n5) lanes 16 {
              shared y.val: value f64 fill 0.0
              chunk lengths: index i64 fill 0
              grow lengths, 1
              grow y.val, $n4
              #2 = max(0, chunk_lo)
              #3 = min($n4, chunk_hi)
              if #2 < #3 {
                for i in #2..#3 {
                  poll lead
                  acc = 0.0
                  row = i * $n5
                  fold acc by + from 0.0 lanes 16 for j in 0..$n5: A.val[row + j] * x.val[j]
                  lead y.val[i] = acc
                }
              }
              lead lengths[0] = $n4
            }

        "#]],
    );
}

/// Counts of integers are added in place by atomic operations.
#[test]
fn columns() {
    check(
        "(program (input A (type (shape 4 5) i64 0 csr)) (output s (type (shape 5) i64 0 dense))
           (for i (for j (+= (s j) (A i j)))))",
        expect![[r#"
            grid kernel($n4, $n5) lanes 32 {
              shared s.val: value i64 fill 0
              chunk lengths: index i64 fill 0
              first = section first
              last = section last
              grow lengths, 1
              grow s.val, $n5
              #2 = max(0, chunk_lo)
              #3 = min($n4, chunk_hi)
              if #2 < #3 {
                spread #4 in #2..#3 {
                  poll each
                  q = max(A.ptr1[#4], first)
                  q_end = min(A.ptr1[#4 + 1], last)
                  while q < q_end {
                    #7 = A.idx1[q]
                    atomic each s.val[#7] + A.val[q]
                    q = q + 1
                  }
                }
              }
              lead lengths[0] = $n5
            }

        "#]],
    );
}

/// Sums of floats are partial results of the chunks, which are folded in the order of the chunks.
#[test]
fn column_sums() {
    check(
        "(program (input A (type (shape 4 5) f64 0.0 csr)) (output s (type (shape 5) f64 0.0 dense))
           (for i (for j (+= (s j) (A i j)))))",
        expect![[r#"
            grid kernel($n4, $n5) lanes 1 {
              chunk s.val: value f64 fill 0.0
              chunk lengths: index i64 fill 0
              first = section first
              last = section last
              grow lengths, 1
              grow s.val, $n5
              #2 = max(0, chunk_lo)
              #3 = min($n4, chunk_hi)
              if #2 < #3 {
                for #4 in #2..#3 {
                  poll lead
                  q = max(A.ptr1[#4], first)
                  q_end = min(A.ptr1[#4 + 1], last)
                  while q < q_end {
                    poll lead
                    #7 = A.idx1[q]
                    lead s.val[#7] = s.val[#7] + A.val[q]
                    q = q + 1
                  }
                }
              }
              lead lengths[0] = $n5
            }

        "#]],
    );
}
