//! Functions as text, for tests of Assembly and of code generators, and checks that all engines
//! agree on them.

use super::text::parse;
use super::{BufferDecl, BufferRole, Function, Interpreter, Status};
use crate::emit::CompiledKernel;
use crate::emit::c::{CacheFolder, Toolchain, ToolchainOptions};
use crate::emit::cranelift::{self, Effort};
use crate::grid::{self, GridRunner, Launch, LaunchOutcome, MemorySpace, WindowExtent};
use crate::run::{Invocation, Limits, Signature};
use arrow::buffer::Buffer as ArrowBuffer;
use std::ops::Range;
use std::sync::LazyLock;

/// `y[i] += A[i, k] * x[k]` over compressed rows.
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

/// The union of two sorted lists with values; values at equal coordinates are added.
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

/// Parses a function and asserts that it passes the verifier.
pub(crate) fn function(text: &str) -> Function {
    let function = parse(text).unwrap();
    assert_eq!(super::verify(&function), []);
    function
}

/// A function with the memory and chunk of a run.
pub(crate) struct EngineCase {
    pub(crate) function: Function,
    pub(crate) inputs: Vec<ArrowBuffer>,
    pub(crate) params: Vec<i64>,
    pub(crate) chunk: Range<i64>,
}

impl EngineCase {
    pub(crate) fn new(function: Function, inputs: &[ArrowBuffer], params: &[i64], chunk: Range<i64>) -> EngineCase {
        EngineCase { function, inputs: inputs.to_vec(), params: params.to_vec(), chunk }
    }

    /// Makes new memory for a run.
    pub(crate) fn invocation(&self) -> Invocation {
        let signature = Signature::of(&self.function);
        Invocation::new(&signature, self.inputs.clone(), self.params.clone(), Limits::default()).unwrap()
    }

    /// Runs the function by the interpreter.
    pub(crate) fn interpret(&self) -> (Status, Invocation) {
        let mut on = self.invocation();
        let program = Interpreter::new(&self.function).unwrap().with_iteration_limit(1 << 20);
        match program.run(&mut on, self.chunk.clone(), &mut super::Counts::default()) {
            Ok(status) => (status, on),
            Err(error) => panic!("{error}\n{}", self.function),
        }
    }

    /// Asserts that a kernel of the function agrees with the interpreter's run.
    pub(crate) fn assert_agrees(&self, kernel: &CompiledKernel, (status, expected): &(Status, Invocation)) {
        let mut found = self.invocation();
        // SAFETY: the interpreter has run the same function on the same buffers without an access
        // out of bounds.
        let found_status = unsafe { kernel.call(&mut found, self.chunk.clone()) }.unwrap();
        assert_eq!(found_status, *status, "{}", self.function);
        assert_same(&self.function, expected, &found);
    }

    /// Asserts that a grid of one chunk and a team of `lanes` lanes agrees with the interpreter's
    /// run.
    fn assert_agrees_as_grid(&self, lanes: u32, seed: u64, (status, expected): &(Status, Invocation)) {
        let function = &self.function;
        let owned = if seed.is_multiple_of(3) { MemorySpace::Chunk } else { MemorySpace::Team };
        let space = |decl: &BufferDecl| if decl.role == BufferRole::Input { MemorySpace::Input } else { owned };
        let spaces: Vec<MemorySpace> = function.buffers.iter().map(space).collect();
        let program = grid::GridProgram::new(grid::map_to(function, spaces.clone(), lanes, &grid::Walks::none()))
            .unwrap()
            .with_step_limit(1 << 27);
        let mut capacity = 16;
        let launched = loop {
            let extent = |space: &MemorySpace| match space {
                MemorySpace::Input => vec![],
                _ => vec![WindowExtent { first: 0, len: 0, capacity }],
            };
            let (inputs, chunks) = (&self.invocation(), std::slice::from_ref(&self.chunk));
            let windows = spaces.iter().map(extent).collect();
            let launched =
                program.run(&Launch { inputs, chunks, sections: &[], windows, unfilled: &[], teams: 1, seed });
            let launched = launched.unwrap_or_else(|e| panic!("{e}\n{}", program.grid()));
            if launched.outcome != LaunchOutcome::OutOfCapacity {
                break launched;
            }
            capacity *= 4;
        };
        assert_eq!(launched.outcome, LaunchOutcome::Status(*status), "{}", program.grid());
        for (k, windows) in launched.windows.iter().enumerate() {
            for window in windows {
                let buffer = super::Buffer(k as u32);
                let expected: Vec<u64> = (0..expected.len(buffer)).map(|at| expected.read(buffer, at)).collect();
                assert_eq!(window.elements(), expected, "{}\n{}", function.buffers[k].name, program.grid());
            }
        }
    }
}

/// Runs a function by the interpreter, as machine code of the instant tier and as a grid on the
/// same inputs. Asserts that statuses and owned buffers agree; returns the status and the
/// interpreter's invocation.
pub(crate) fn run_both(
    function: &Function,
    inputs: &[ArrowBuffer],
    params: &[i64],
    chunk: Range<i64>,
) -> (Status, Invocation) {
    let case = EngineCase::new(function.clone(), inputs, params, chunk);
    let expected = case.interpret();
    for effort in [Effort::Quick, Effort::Full] {
        case.assert_agrees(&cranelift::compile(function, effort).unwrap(), &expected);
    }
    for (seed, lanes) in [1, 4, 32, 64, 256].into_iter().enumerate() {
        case.assert_agrees_as_grid(lanes, seed as u64, &expected);
    }
    expected
}

/// Runs functions by every engine, those of the optimizing tier from one translation unit. Asserts
/// that all agree; returns statuses and invocations of the interpreter.
pub(crate) fn run_all(cases: &[EngineCase]) -> Vec<(Status, Invocation)> {
    let functions: Vec<&Function> = cases.iter().map(|case| &case.function).collect();
    let kernels = toolchain().compile(&functions).unwrap();
    let run = |(case, kernel): (&EngineCase, &CompiledKernel)| {
        let expected = run_both(&case.function, &case.inputs, &case.params, case.chunk.clone());
        case.assert_agrees(kernel, &expected);
        expected
    };
    cases.iter().zip(&kernels).map(run).collect()
}

/// Returns the toolchain of tests, without a cache on disk.
///
/// # Panics
/// When there is no C compiler, so that a missing test of the optimizing tier is noticed.
pub(crate) fn toolchain() -> &'static Toolchain {
    static TOOLCHAIN: LazyLock<Toolchain> =
        LazyLock::new(|| Toolchain::new(ToolchainOptions { cache: CacheFolder::Off, ..ToolchainOptions::default() }));
    if let Err(error) = TOOLCHAIN.compiler() {
        panic!("the optimizing tier cannot be tested: {error}");
    }
    &TOOLCHAIN
}

/// Asserts that the buffers of two invocations are equal up to the lengths of `expected`.
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
