//! Functions that tests of Assembly and of code generators share, as text.

use super::text::parse;
use super::{Function, Program, Status};
use crate::run::{Invocation, Limits, Signature};
use arrow::buffer::Buffer as ArrowBuffer;
use std::ops::Range;

/// `y[i] += A[i, k] * x[k]` over rows in compressed form.
pub(crate) const SPMV: &str = "\
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

/// The union of two sorted lists with values, summed where both have a coordinate.
pub(crate) const MERGE: &str = "\
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
pub(crate) const DOT: &str = "\
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

/// Reads a function that is known to be right.
pub(crate) fn function(text: &str) -> Function {
    let function = parse(text).unwrap();
    assert_eq!(super::verify(&function), []);
    function
}

/// Runs a function by interpretation and as machine code on the same inputs; asserts that statuses and owned buffers
/// agree, and returns the status and the interpreter's invocation.
pub(crate) fn run_both(
    function: &Function,
    inputs: &[ArrowBuffer],
    params: &[i64],
    chunk: Range<i64>,
) -> (Status, Invocation) {
    let signature = Signature::of(function);
    let invocation = || Invocation::new(&signature, inputs.to_vec(), params.to_vec(), Limits::default()).unwrap();
    let mut expected = invocation();
    let program = Program::new(function).unwrap().with_iteration_limit(1 << 20);
    let expected_status = match program.run(&mut expected, chunk.clone(), &mut super::Counts::default()) {
        Ok(status) => status,
        Err(error) => panic!("{error}\n{function}"),
    };
    let mut found = invocation();
    let kernel = crate::emit::cranelift::compile(function).unwrap();
    // SAFETY: the interpreter has just run the same function on the same buffers without leaving them.
    let status = unsafe { kernel.call(&mut found, chunk) }.unwrap();
    assert_eq!(status, expected_status, "{function}");
    assert_same(function, &expected, &found);
    (status, expected)
}

/// Asserts that two invocations hold equal buffers, as far as the first knows them.
pub(crate) fn assert_same(function: &Function, expected: &Invocation, found: &Invocation) {
    for (k, decl) in function.buffers.iter().enumerate() {
        let buffer = super::Buffer(k as u32);
        assert_eq!(expected.capacity(buffer), found.capacity(buffer), "room of {}\n{function}", decl.name);
        for at in 0..expected.len(buffer) {
            let (expected, found) = (expected.element(buffer, at), found.element(buffer, at));
            assert_eq!(expected, found, "{}[{at}]\n{function}", decl.name);
        }
    }
}
