//! Golden kernels: the Assembly of small programs, reviewed like code. `UPDATE_EXPECT=1` rewrites
//! the snapshots.

use crate::lower::{LoweringOptions, lower};
use crate::testing::normal_form;
use expect_test::{Expect, expect};

#[expect(clippy::needless_pass_by_value, reason = "an inline snapshot is written where it is passed")]
fn check(text: &str, expected: Expect) {
    let printed = lower(&normal_form(text), &[], LoweringOptions::default()).function.to_string();
    let is_code = |line: &&str| !["  local ", "  input ", "  owned ", "  chunk "].iter().any(|d| line.starts_with(d));
    expected.assert_eq(&printed.lines().filter(is_code).map(|l| format!("{l}\n")).collect::<String>());
}

#[test]
fn spmv() {
    check(
        "(program (input A (type (shape 4 5) f64 0.0 csr)) (input x (type (shape 5) f64 0.0 dense))
           (output y (type (shape 4) f64 0.0 dense))
           (for i (for j (+= (y i) (* (A i j) (x j))))))",
        expect![[r#"
            fn kernel($n4, $n5) {
              grow lengths, 1
              grow y.val, $n4
              #2 = max(0, chunk_lo)
              #3 = min($n4, chunk_hi)
              if #2 < #3 {
                for #4 in #2..#3 {
                  acc = 0.0
                  q = A.ptr1[#4]
                  q_end = A.ptr1[#4 + 1]
                  while q < q_end {
                    #8 = A.idx1[q]
                    acc = acc + (A.val[q] * x.val[#8])
                    q = q + 1
                  }
                  y.val[#4] = acc
                }
              }
              lengths[0] = $n4
            }
        "#]],
    );
}

/// A walk with lanes becomes one fold in lanes; without a request, as above, short walks stay
/// loops.
#[test]
fn spmv_in_lanes() {
    check(
        "(program (input A (type (shape 4 5) f64 0.0 csr)) (input x (type (shape 5) f64 0.0 dense))
           (output y (type (shape 4) f64 0.0 dense))
           (for i (lanes-for 4 j (+= (y i) (* (A i j) (x j))))))",
        expect![[r#"
            fn kernel($n4, $n5) {
              grow lengths, 1
              grow y.val, $n4
              #2 = max(0, chunk_lo)
              #3 = min($n4, chunk_hi)
              if #2 < #3 {
                for #4 in #2..#3 {
                  acc = 0.0
                  #6 = A.ptr1[#4]
                  q_end = A.ptr1[#4 + 1]
                  fold acc by + from 0.0 lanes 4 for #10 in #6..q_end: A.val[#10] * x.val[A.idx1[#10]]
                  y.val[#4] = acc
                }
              }
              lengths[0] = $n4
            }
        "#]],
    );
}

#[test]
fn spgemm() {
    check(
        "(program (input A (type (shape 4 5) f64 0.0 csr)) (input B (type (shape 5 3) f64 0.0 csr))
           (output C (type (shape 4 3) f64 0.0 csr)) (local w (type (shape 3) f64 0.0 (byte-map (element))))
           (for i (where (for j (init (C i j) (w j)))
                         (for k (for j (+= (w j) (* (A i k) (B k j))))))))",
        expect![[r#"
            fn kernel($n4, $n5, $n3) {
              touched = 0
              grow lengths, 3
              len = lengths[1]
              grow C.ptr1, $n4 + 1
              #4 = max(0, chunk_lo)
              #5 = min($n4, chunk_hi)
              if #4 < #5 {
                for #6 in #4..#5 {
                  for #7 in 0..touched {
                    #8 = w.idx0[#7]
                    w.map0[#8] = 0_u8
                    w.val[#8] = 0.0
                  }
                  touched = 0
                  grow w.map0, $n3
                  grow w.val, $n3
                  #9 = A.ptr1[#6]
                  #10 = A.ptr1[#6 + 1]
                  while #9 < #10 {
                    #11 = A.idx1[#9]
                    #13 = B.ptr1[#11]
                    #14 = B.ptr1[#11 + 1]
                    while #13 < #14 {
                      #15 = B.idx1[#13]
                      w.val[#15] = w.val[#15] + (A.val[#9] * B.val[#13])
                      if not(w.map0[#15] != 0_u8) {
                        grow w.idx0, touched + 1
                        w.idx0[touched] = #15
                        touched = touched + 1
                        w.map0[#15] = 1_u8
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
                  w.ptr0[1] = touched
                  #18 = w.ptr0[0]
                  #19 = w.ptr0[1]
                  while #18 < #19 {
                    #20 = w.idx0[#18]
                    grow C.val, len + 1
                    C.val[len] = w.val[#20]
                    grow C.idx1, len + 1
                    C.idx1[len] = #20
                    len = len + 1
                    #18 = #18 + 1
                  }
                  C.ptr1[#6 + 1] = len
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
                end = max(end, C.ptr1[#26 + 1])
                C.ptr1[#26 + 1] = end
              }
              lengths[0] = $n4 + 1
              lengths[1] = len
              lengths[2] = len
              for #28 in 0..touched {
                #29 = w.idx0[#28]
                w.map0[#29] = 0_u8
                w.val[#29] = 0.0
              }
              touched = 0
              grow w.map0, $n3
              grow w.val, $n3
            }
        "#]],
    );
}

#[test]
fn triangles() {
    check(
        "(program (input E (type (shape 6 6) i64 0 csr)) (output n (type (shape) i64 0 dense))
           (for i (for j (for k (+= (n) (* (E i j) (* (E j k) (E i k))))))))",
        expect![[r#"
            fn kernel($n6) {
              grow lengths, 1
              n = 0
              #3 = max(0, chunk_lo)
              #4 = min($n6, chunk_hi)
              if #3 < #4 {
                for #5 in #3..#4 {
                  #6 = E.ptr1[#5]
                  #7 = E.ptr1[#5 + 1]
                  while #6 < #7 {
                    #8 = E.idx1[#6]
                    #10 = E.ptr1[#8]
                    #11 = E.ptr1[#8 + 1]
                    #13 = E.ptr1[#5]
                    #14 = E.ptr1[#5 + 1]
                    while (#10 < #11) & (#13 < #14) {
                      #12 = E.idx1[#10]
                      #15 = E.idx1[#13]
                      p = min(#12, #15)
                      if (#12 == p) & (#15 == p) {
                        n = n + (E.val[#6] * (E.val[#10] * E.val[#13]))
                      }
                      #10 = #10 + i64(#12 == p)
                      #13 = #13 + i64(#15 == p)
                    }
                    #6 = #6 + 1
                  }
                }
              }
              grow n.val, 1
              n.val[0] = n
              lengths[0] = 1
            }
        "#]],
    );
}

#[test]
fn mttkrp() {
    check(
        "(program (input B (type (shape 4 5 6) f64 0.0 csf)) (input C (type (shape 5 8) f64 0.0 dense))
           (input D (type (shape 6 8) f64 0.0 dense)) (output A (type (shape 4 8) f64 0.0 dense))
           (for i (for k (for l (for j (+= (A i j) (* (B i k l) (* (C k j) (D l j)))))))))",
        expect![[r#"
            fn kernel($n4, $n5, $n6, $n8) {
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
                  #7 = B.idx0[#5]
                  if #4 < (#7 + 1) {
                    break
                  }
                  #12 = B.ptr1[#5]
                  #13 = B.ptr1[#5 + 1]
                  while #12 < #13 {
                    #14 = B.idx1[#12]
                    #16 = B.ptr2[#12]
                    #17 = B.ptr2[#12 + 1]
                    while #16 < #17 {
                      #18 = B.idx2[#16]
                      #20 = #14 * $n8
                      #21 = #18 * $n8
                      #22 = #7 * $n8
                      for j in 0..$n8 {
                        A.val[#22 + j] = A.val[#22 + j] + (B.val[#16] * (C.val[#20 + j] * D.val[#21 + j]))
                      }
                      #16 = #16 + 1
                    }
                    #12 = #12 + 1
                  }
                  #5 = #5 + 1
                }
              }
              positions = $n4 * $n8
              lengths[0] = positions
            }
        "#]],
    );
}

#[test]
fn union() {
    check(
        "(program (input A (type (shape 9) f64 0.0 csf)) (input B (type (shape 9) f64 0.0 csf))
           (output C (type (shape 9) f64 0.0 csf))
           (for i (init (C i) (+ (A i) (B i)))))",
        expect![[r#"
            fn kernel($n9) {
              grow lengths, 3
              len = lengths[1]
              grow C.ptr0, 2
              #3 = max(0, chunk_lo)
              #4 = min($n9, chunk_hi)
              if #3 < #4 {
                #5 = A.ptr0[0]
                #6 = A.ptr0[1]
                #8 = B.ptr0[0]
                #9 = B.ptr0[1]
                if #5 < #6 {
                  if A.idx0[#5] < #3 {
                    #11 = 1
                    while (#5 + #11) < #6 {
                      if not(A.idx0[#5 + #11] < #3) {
                        break
                      }
                      #5 = #5 + #11
                      #11 = #11 + #11
                    }
                    #12 = min(#5 + #11, #6)
                    while (#5 + 1) < #12 {
                      #13 = (#5 + #12) >> 1
                      if A.idx0[#13] < #3 {
                        #5 = #13
                      } else {
                        #12 = #13
                      }
                    }
                    #5 = #12
                  }
                }
                if #8 < #9 {
                  if B.idx0[#8] < #3 {
                    #14 = 1
                    while (#8 + #14) < #9 {
                      if not(B.idx0[#8 + #14] < #3) {
                        break
                      }
                      #8 = #8 + #14
                      #14 = #14 + #14
                    }
                    #15 = min(#8 + #14, #9)
                    while (#8 + 1) < #15 {
                      #16 = (#8 + #15) >> 1
                      if B.idx0[#16] < #3 {
                        #8 = #16
                      } else {
                        #15 = #16
                      }
                    }
                    #8 = #15
                  }
                }
                while (#5 < #6) & (#8 < #9) {
                  #7 = A.idx0[#5]
                  #10 = B.idx0[#8]
                  #18 = min(#7, #10)
                  if #4 < (#18 + 1) {
                    break
                  }
                  if #7 == #18 {
                    if #10 == #18 {
                      grow C.val, len + 1
                      C.val[len] = A.val[#5] + B.val[#8]
                      grow C.idx0, len + 1
                      C.idx0[len] = #18
                      len = len + 1
                      #5 = #5 + 1
                      #8 = #8 + 1
                    } else {
                      grow C.val, len + 1
                      C.val[len] = A.val[#5]
                      grow C.idx0, len + 1
                      C.idx0[len] = #18
                      len = len + 1
                      #5 = #5 + 1
                    }
                  } else {
                    if #10 == #18 {
                      grow C.val, len + 1
                      C.val[len] = B.val[#8]
                      grow C.idx0, len + 1
                      C.idx0[len] = #18
                      len = len + 1
                      #8 = #8 + 1
                    }
                  }
                }
                while (#5 < #6) | (#8 < #9) {
                  if #5 < #6 {
                    #7 = A.idx0[#5]
                    #22 = #7
                  } else {
                    #22 = 4611686018427387903
                  }
                  if #8 < #9 {
                    #10 = B.idx0[#8]
                    #23 = #10
                  } else {
                    #23 = 4611686018427387903
                  }
                  #24 = min(#22, #23)
                  if #4 < (#24 + 1) {
                    break
                  }
                  if #22 == #24 {
                    if #23 == #24 {
                      grow C.val, len + 1
                      C.val[len] = A.val[#5] + B.val[#8]
                      grow C.idx0, len + 1
                      C.idx0[len] = #24
                      len = len + 1
                      #5 = #5 + 1
                      #8 = #8 + 1
                    } else {
                      grow C.val, len + 1
                      C.val[len] = A.val[#5]
                      grow C.idx0, len + 1
                      C.idx0[len] = #24
                      len = len + 1
                      #5 = #5 + 1
                    }
                  } else {
                    if #23 == #24 {
                      grow C.val, len + 1
                      C.val[len] = B.val[#8]
                      grow C.idx0, len + 1
                      C.idx0[len] = #24
                      len = len + 1
                      #8 = #8 + 1
                    }
                  }
                }
                C.ptr0[1] = len
              }
              if not(len < 2147483648) {
                return position_overflow
              }
              grow C.ptr0, 2
              C.ptr0[1] = len
              lengths[0] = 2
              lengths[1] = len
              lengths[2] = len
            }
        "#]],
    );
}

#[test]
fn galloping_intersection() {
    check(
        "(program (input A (type (shape 9) f64 0.0 csf)) (input B (type (shape 9) f64 0.0 csf))
           (output s (type (shape) f64 0.0 dense))
           (for i (+= (s) (* (A (gallop i)) (B (gallop i))))))",
        expect![[r#"
            fn kernel($n9) {
              grow lengths, 1
              s = 0.0
              #3 = max(0, chunk_lo)
              #4 = min($n9, chunk_hi)
              if #3 < #4 {
                #5 = A.ptr0[0]
                #6 = A.ptr0[1]
                #8 = B.ptr0[0]
                #9 = B.ptr0[1]
                if #5 < #6 {
                  if A.idx0[#5] < #3 {
                    #11 = 1
                    while (#5 + #11) < #6 {
                      if not(A.idx0[#5 + #11] < #3) {
                        break
                      }
                      #5 = #5 + #11
                      #11 = #11 + #11
                    }
                    #12 = min(#5 + #11, #6)
                    while (#5 + 1) < #12 {
                      #13 = (#5 + #12) >> 1
                      if A.idx0[#13] < #3 {
                        #5 = #13
                      } else {
                        #12 = #13
                      }
                    }
                    #5 = #12
                  }
                }
                if #8 < #9 {
                  if B.idx0[#8] < #3 {
                    #14 = 1
                    while (#8 + #14) < #9 {
                      if not(B.idx0[#8 + #14] < #3) {
                        break
                      }
                      #8 = #8 + #14
                      #14 = #14 + #14
                    }
                    #15 = min(#8 + #14, #9)
                    while (#8 + 1) < #15 {
                      #16 = (#8 + #15) >> 1
                      if B.idx0[#16] < #3 {
                        #8 = #16
                      } else {
                        #15 = #16
                      }
                    }
                    #8 = #15
                  }
                }
                while (#5 < #6) & (#8 < #9) {
                  #7 = A.idx0[#5]
                  #10 = B.idx0[#8]
                  p = max(#7, #10)
                  if #4 < (p + 1) {
                    break
                  }
                  if #7 < p {
                    if #5 < #6 {
                      if A.idx0[#5] < p {
                        #18 = 1
                        while (#5 + #18) < #6 {
                          if not(A.idx0[#5 + #18] < p) {
                            break
                          }
                          #5 = #5 + #18
                          #18 = #18 + #18
                        }
                        #19 = min(#5 + #18, #6)
                        while (#5 + 1) < #19 {
                          #20 = (#5 + #19) >> 1
                          if A.idx0[#20] < p {
                            #5 = #20
                          } else {
                            #19 = #20
                          }
                        }
                        #5 = #19
                      }
                    }
                    if not(#5 < #6) {
                      break
                    }
                    #7 = A.idx0[#5]
                  }
                  if #10 < p {
                    if #8 < #9 {
                      if B.idx0[#8] < p {
                        #21 = 1
                        while (#8 + #21) < #9 {
                          if not(B.idx0[#8 + #21] < p) {
                            break
                          }
                          #8 = #8 + #21
                          #21 = #21 + #21
                        }
                        #22 = min(#8 + #21, #9)
                        while (#8 + 1) < #22 {
                          #23 = (#8 + #22) >> 1
                          if B.idx0[#23] < p {
                            #8 = #23
                          } else {
                            #22 = #23
                          }
                        }
                        #8 = #22
                      }
                    }
                    if not(#8 < #9) {
                      break
                    }
                    #10 = B.idx0[#8]
                  }
                  if (#7 == p) & (#10 == p) {
                    s = s + (A.val[#5] * B.val[#8])
                  }
                  #5 = #5 + i64(#7 == p)
                  #8 = #8 + i64(#10 == p)
                }
              }
              grow s.val, 1
              s.val[0] = s
              lengths[0] = 1
            }
        "#]],
    );
}

#[test]
fn sum_of_runs() {
    check(
        "(program (input A (type (shape 9) f64 2.0 csf)) (output s (type (shape) f64 0.0 dense))
           (for i (+= (s) (A i))))",
        expect![[r#"
            fn kernel($n9) {
              grow lengths, 1
              s = 0.0
              #3 = max(0, chunk_lo)
              #4 = min($n9, chunk_hi)
              if #3 < #4 {
                q = A.ptr0[0]
                q_end = A.ptr0[1]
                if q < q_end {
                  if A.idx0[q] < #3 {
                    step = 1
                    while (q + step) < q_end {
                      if not(A.idx0[q + step] < #3) {
                        break
                      }
                      q = q + step
                      step = step + step
                    }
                    hi = min(q + step, q_end)
                    while (q + 1) < hi {
                      mid = (q + hi) >> 1
                      if A.idx0[mid] < #3 {
                        q = mid
                      } else {
                        hi = mid
                      }
                    }
                    q = hi
                  }
                }
                cur = #3
                while q < q_end {
                  i = A.idx0[q]
                  if #4 < (i + 1) {
                    break
                  }
                  if cur < i {
                    #12 = i - cur
                    s = s + (2.0 * f64(#12))
                  }
                  s = s + A.val[q]
                  q = q + 1
                  cur = i + 1
                }
                if cur < #4 {
                  #13 = #4 - cur
                  s = s + (2.0 * f64(#13))
                }
              }
              grow s.val, 1
              s.val[0] = s
              lengths[0] = 1
            }
        "#]],
    );
}

#[test]
fn xor_with_fill_true() {
    check(
        "(program (input A (type (shape 9) bool true csf)) (input B (type (shape 9) bool false csf))
           (output C (type (shape 9) bool true csf))
           (for i (init (C i) (xor (A i) (B i)))))",
        expect![[r#"
            fn kernel($n9) {
              grow lengths, 3
              len = lengths[1]
              grow C.ptr0, 2
              #3 = max(0, chunk_lo)
              #4 = min($n9, chunk_hi)
              if #3 < #4 {
                #5 = A.ptr0[0]
                #6 = A.ptr0[1]
                #8 = B.ptr0[0]
                #9 = B.ptr0[1]
                if #5 < #6 {
                  if A.idx0[#5] < #3 {
                    #11 = 1
                    while (#5 + #11) < #6 {
                      if not(A.idx0[#5 + #11] < #3) {
                        break
                      }
                      #5 = #5 + #11
                      #11 = #11 + #11
                    }
                    #12 = min(#5 + #11, #6)
                    while (#5 + 1) < #12 {
                      #13 = (#5 + #12) >> 1
                      if A.idx0[#13] < #3 {
                        #5 = #13
                      } else {
                        #12 = #13
                      }
                    }
                    #5 = #12
                  }
                }
                if #8 < #9 {
                  if B.idx0[#8] < #3 {
                    #14 = 1
                    while (#8 + #14) < #9 {
                      if not(B.idx0[#8 + #14] < #3) {
                        break
                      }
                      #8 = #8 + #14
                      #14 = #14 + #14
                    }
                    #15 = min(#8 + #14, #9)
                    while (#8 + 1) < #15 {
                      #16 = (#8 + #15) >> 1
                      if B.idx0[#16] < #3 {
                        #8 = #16
                      } else {
                        #15 = #16
                      }
                    }
                    #8 = #15
                  }
                }
                while (#5 < #6) & (#8 < #9) {
                  #7 = A.idx0[#5]
                  #10 = B.idx0[#8]
                  #18 = min(#7, #10)
                  if #4 < (#18 + 1) {
                    break
                  }
                  if #7 == #18 {
                    if #10 == #18 {
                      grow C.val, len + 1
                      C.val[len] = A.val[#5] ^ B.val[#8]
                      grow C.idx0, len + 1
                      C.idx0[len] = #18
                      len = len + 1
                      #5 = #5 + 1
                      #8 = #8 + 1
                    } else {
                      grow C.val, len + 1
                      C.val[len] = A.val[#5]
                      grow C.idx0, len + 1
                      C.idx0[len] = #18
                      len = len + 1
                      #5 = #5 + 1
                    }
                  } else {
                    if #10 == #18 {
                      grow C.val, len + 1
                      C.val[len] = true ^ B.val[#8]
                      grow C.idx0, len + 1
                      C.idx0[len] = #18
                      len = len + 1
                      #8 = #8 + 1
                    }
                  }
                }
                while (#5 < #6) | (#8 < #9) {
                  if #5 < #6 {
                    #7 = A.idx0[#5]
                    #22 = #7
                  } else {
                    #22 = 4611686018427387903
                  }
                  if #8 < #9 {
                    #10 = B.idx0[#8]
                    #23 = #10
                  } else {
                    #23 = 4611686018427387903
                  }
                  #24 = min(#22, #23)
                  if #4 < (#24 + 1) {
                    break
                  }
                  if #22 == #24 {
                    if #23 == #24 {
                      grow C.val, len + 1
                      C.val[len] = A.val[#5] ^ B.val[#8]
                      grow C.idx0, len + 1
                      C.idx0[len] = #24
                      len = len + 1
                      #5 = #5 + 1
                      #8 = #8 + 1
                    } else {
                      grow C.val, len + 1
                      C.val[len] = A.val[#5]
                      grow C.idx0, len + 1
                      C.idx0[len] = #24
                      len = len + 1
                      #5 = #5 + 1
                    }
                  } else {
                    if #23 == #24 {
                      grow C.val, len + 1
                      C.val[len] = true ^ B.val[#8]
                      grow C.idx0, len + 1
                      C.idx0[len] = #24
                      len = len + 1
                      #8 = #8 + 1
                    }
                  }
                }
                C.ptr0[1] = len
              }
              if not(len < 2147483648) {
                return position_overflow
              }
              grow C.ptr0, 2
              C.ptr0[1] = len
              lengths[0] = 2
              lengths[1] = len
              lengths[2] = len
            }
        "#]],
    );
}

/// A coordinate loaded from a byte is not compared with bounds that every byte satisfies.
#[test]
fn histogram_of_bytes() {
    check(
        "(program (input P (type (shape 5) u8 0 dense)) (output y (type (shape 256) i64 0 dense))
           (output z (type (shape 9) i64 0 dense))
           (for i (let p (cast-i64 (P i)) (block
             (if (and (ge p 0) (lt p 256)) (+= (y p) 1)) (if (and (ge p 0) (lt p 9)) (+= (z p) 1))))))",
        expect![[r#"
            fn kernel($n5, $n256, $n9) {
              grow lengths, 2
              grow y.val, $n256
              grow z.val, $n9
              #2 = max(0, chunk_lo)
              #3 = min($n5, chunk_hi)
              if #2 < #3 {
                for i in #2..#3 {
                  v = i64(P.val[i])
                  y.val[v] = y.val[v] + 1
                  if v < 9 {
                    z.val[v] = z.val[v] + 1
                  }
                }
              }
              lengths[0] = $n256
              lengths[1] = $n9
            }
        "#]],
    );
}
