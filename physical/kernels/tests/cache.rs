//! Tests of the cache of compiled kernels with many processes at once, and with a process that is
//! killed.
//!
//! Each child process runs the test `child` of this binary again. An environment variable names the
//! folder of the cache; without the variable, the test does nothing.

use redpoll_compiler::assembly::text::parse;
use redpoll_compiler::assembly::{Buffer, Signature};
use redpoll_kernels::CacheFolder;
use redpoll_kernels::c::{Toolchain, ToolchainOptions};
use redpoll_kernels::run::{Invocation, Limits};
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// Environment variable that names the folder of the cache to a child.
const FOLDER: &str = "REDPOLL_TEST_CACHE_FOLDER";

/// A function that stores `k + 2` at each position `k` below `$n`.
const NUMBERS: &str = "\
fn numbers($n) {
  owned out: value i64 fill 0
  local lo: i64
  local hi: i64
  local i: i64
  chunk lo, hi
  grow out, $n
  for i in 0..$n {
    out[i] = i + 2
  }
}
";

/// Compiles the kernel or finds it in the cache, runs the kernel, and prints the counters. Acts in
/// child processes only.
#[test]
fn child() {
    let Some(folder) = std::env::var_os(FOLDER) else { return };
    let toolchain =
        Toolchain::new(ToolchainOptions { cache: CacheFolder::At(folder.into()), ..ToolchainOptions::default() });
    let function = parse(NUMBERS).unwrap();
    let kernel = &toolchain.compile(&[&function]).unwrap()[0];
    let mut on = Invocation::new(&Signature::of(&function), [], vec![1000], Limits::default()).unwrap();
    // SAFETY: the function grows its buffer before it stores.
    unsafe { kernel.call(&mut on, 0..1) }.unwrap();
    let out = on.take(Buffer(0), 1000).unwrap();
    assert!(out.typed_data::<i64>().iter().copied().eq(2..1002));
    assert_eq!(toolchain.cache_fault(), None);
    let counters = toolchain.counters();
    eprintln!("disk {} compiled {}", counters.disk, counters.compiled);
}

fn start(folder: &Path) -> Child {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["child", "--exact", "--nocapture"]).env(FOLDER, folder).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.spawn().unwrap()
}

/// Returns the output of a child, which must have succeeded.
fn output_of(child: Child) -> String {
    let output = child.wait_with_output().unwrap();
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{text}\n{}", String::from_utf8_lossy(&output.stdout));
    text
}

#[test]
fn eight_processes_share_a_cache() {
    let folder = tempfile::tempdir().unwrap();
    let children: Vec<Child> = (0..8).map(|_| start(folder.path())).collect();
    let compiled = children.into_iter().map(output_of).filter(|text| text.contains("compiled 1")).count();
    assert!(compiled >= 1);
    let warm = output_of(start(folder.path()));
    assert!(warm.contains("disk 1 compiled 0"), "{warm}");
}

/// A process that is killed while it fills the cache leaves no incomplete entry.
#[test]
fn a_killed_process_leaves_no_entry() {
    let folder = tempfile::tempdir().unwrap();
    let mut child = start(folder.path());
    // The folder is no longer empty once the child writes the note on its compiler, right before it
    // compiles.
    while std::fs::read_dir(folder.path()).unwrap().next().is_none() {
        std::thread::yield_now();
        assert!(child.try_wait().unwrap().is_none(), "the child ended without creating a file");
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let next = output_of(start(folder.path()));
    assert!(next.contains("compiled 1") || next.contains("disk 1"), "{next}");
    let warm = output_of(start(folder.path()));
    assert!(warm.contains("disk 1 compiled 0"), "{warm}");
}
