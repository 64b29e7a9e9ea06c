//! Cancellation of running kernels that never grow a buffer. Growth would poll for cancellation, so
//! such kernels show whether loops poll.

use redpoll_compiler::assembly::Status;
use redpoll_compiler::testing::examples::function;
use redpoll_kernels::CompiledKernel;
use redpoll_kernels::cranelift::{Effort, compile};
use redpoll_kernels::run::{Invocation, Limits};
use redpoll_kernels::testing::case::toolchain;
use std::sync::atomic::Ordering;

/// Nested loops; the outer loop has `$n` rounds. With `i64::MAX` rounds, a test ends only if the
/// function is cancelled.
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

/// Pure computation ends when it is cancelled, in both tiers; otherwise this test would not end.
#[test]
fn loops_around_loops_poll_for_cancellation() {
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

/// Runs the kernel for `rounds` rounds.
fn run(kernel: &CompiledKernel, rounds: i64, limits: &Limits) -> Status {
    let mut on = Invocation::new(kernel.signature(), [], vec![rounds], limits.clone()).unwrap();
    // SAFETY: the function accesses no memory.
    unsafe { kernel.call(&mut on, 0..1) }.unwrap()
}
