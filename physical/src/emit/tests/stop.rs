//! Kernels that are asked to stop while they run, and grow nothing that would tell them.

use crate::assembly::Status;
use crate::assembly::examples::{function, toolchain};
use crate::emit::Kernel;
use crate::emit::cranelift::{Effort, compile};
use crate::run::{Invocation, Limits};
use std::sync::atomic::Ordering;

/// More rounds than any test waits for.
const ENDLESS: &str = "\
fn endless($n) {
  local lo: i64
  local hi: i64
  local i: i64
  local j: i64
  local acc: i64
  chunk lo, hi
  acc = 1
  for i in 0..$n {
    for j in 0..1024 {
      acc = acc + (i * j)
    }
  }
}
";

/// Protects that a run that only computes ends when it is asked to, in both tiers. If it did not, this would not end.
#[test]
fn loops_around_loops_look_whether_they_are_to_stop() {
    let f = function(ENDLESS);
    let optimizing = toolchain().compile(&[&f]).unwrap().remove(0);
    for kernel in [compile(&f, Effort::Full).unwrap(), optimizing] {
        let limits = Limits::default();
        assert_eq!(run(&kernel, 10, &limits), Status::Done);
        std::thread::scope(|scope| {
            scope.spawn(|| limits.cancel.store(true, Ordering::Relaxed));
            assert_eq!(run(&kernel, i64::MAX, &limits), Status::Cancelled);
        });
    }
}

/// Runs the kernel for so many rounds.
fn run(kernel: &Kernel, rounds: i64, limits: &Limits) -> Status {
    let mut on = Invocation::new(kernel.signature(), [], vec![rounds], limits.clone()).unwrap();
    // SAFETY: the function touches no memory.
    unsafe { kernel.call(&mut on, 0..1) }.unwrap()
}
