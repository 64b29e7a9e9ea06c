//! Functions as text, and their parser, for tests of Assembly and of code generators.

use crate::assembly::text::parse;
use crate::assembly::{Function, verify};

/// `y[i] += A[i, k] * x[k]` over compressed rows.
pub const SPMV: &str = "\
fn spmv($rows) {
  input A.ptr: index i32
  input A.idx: index u32
  input A.val: value f64
  input x.val: value f64
  owned y.val: value f64 fill 0.0
  local lo: i64
  local hi: i64
  local i: i64
  local p: i64
  local q: i64
  local acc: f64
  chunk lo, hi
  grow y.val, $rows
  for i in lo..hi {
    p = A.ptr[i]
    q = A.ptr[i + 1]
    acc = 0.0
    while p < q {
      acc = acc + (A.val[p] * x.val[A.idx[p]])
      p = p + 1
    }
    y.val[i] = acc
  }
}
";

/// The union of two sorted lists with values; values at equal coordinates are added.
pub const MERGE: &str = "\
fn merge($n_a, $n_b) {
  input A.idx: index u32
  input A.val: value f64
  input B.idx: index u32
  input B.val: value f64
  owned C.idx: index u32 fill 0_u32
  owned C.val: value f64 fill 0.0
  owned C.ptr: index i32 fill 0_i32
  local lo: i64
  local hi: i64
  local p: i64
  local q: i64
  local r: i64
  local a: i64
  local b: i64
  local k: i64
  local v: f64
  chunk lo, hi
  p = 0
  q = 0
  r = 0
  while (p < $n_a) | (q < $n_b) {
    a = 4294967295
    if p < $n_a {
      a = A.idx[p]
    }
    b = 4294967295
    if q < $n_b {
      b = B.idx[q]
    }
    k = min(a, b)
    v = 0.0
    if a == k {
      v = v + A.val[p]
      p = p + 1
    }
    if b == k {
      v = v + B.val[q]
      q = q + 1
    }
    grow C.idx, r + 1
    grow C.val, r + 1
    C.idx[r] = k
    C.val[r] = v
    r = r + 1
  }
  grow C.ptr, 2
  C.ptr[1] = r
}
";

/// The inner product of two dense vectors by a fold in eight lanes.
pub const DOT: &str = "\
fn dot() {
  input a: value f64
  input b: value f64
  owned c: value f64 fill 0.0
  local lo: i64
  local hi: i64
  local p: i64
  local acc: f64
  chunk lo, hi
  grow c, 1
  acc = 0.0
  fold acc by + from 0.0 lanes 8 for p in lo..hi: a[p] * b[p]
  c[0] = acc
}
";

/// Parses a function and asserts that it passes the verifier.
pub fn function(text: &str) -> Function {
    let function = parse(text).unwrap();
    assert_eq!(verify(&function), []);
    function
}
