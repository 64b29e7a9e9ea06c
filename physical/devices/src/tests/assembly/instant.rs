//! Tests of the instant tier on small kernels: known results, growth, limits, cancellation,
//! threads, vectors, and the refusal of invalid functions and invocations.

use super::backends::run_in_process;
use arrow_buffer::Buffer as ArrowBuffer;
use redpoll_compiler::assembly::{Buffer, Counts, Interpreter, Signature, Status, interpret};
use redpoll_compiler::testing::examples::{DOT, MERGE, SPMV, function};
use redpoll_kernels::cranelift::{Effort, clif, compile, compile_all, disassemble};
use redpoll_kernels::run::{Invocation, Limits};
use redpoll_kernels::{CompiledKernel, Error};
use redpoll_logic::Scalar;
use std::sync::atomic::Ordering;

fn spmv_inputs() -> Vec<ArrowBuffer> {
    vec![
        ArrowBuffer::from_vec(vec![0i32, 2, 2, 3]),
        ArrowBuffer::from_vec(vec![0u32, 2, 1]),
        ArrowBuffer::from_vec(vec![1.0f64, 2.0, 3.0]),
        ArrowBuffer::from_vec(vec![10.0f64, 20.0, 30.0]),
    ]
}

#[test]
fn spmv_multiplies_and_counts_its_work() {
    let f = function(SPMV);
    let (status, mut out) = run_in_process(&f, &spmv_inputs(), &[3], 0..3);
    assert_eq!(status, Status::Done);
    let y = out.take(Buffer(4), 3).unwrap();
    assert_eq!(y.typed_data::<f64>(), [70.0, 0.0, 60.0]);

    let mut again = Invocation::new(&Signature::of(&f), spmv_inputs(), vec![3], Limits::default()).unwrap();
    let (_, counts) = interpret(&f, &mut again, 0..3).unwrap();
    assert_eq!(counts, Counts { iterations: 3 + 3, loads: 3 * 2 + 3 * 3, stores: 3, allocated_bytes: 24 });
}

#[test]
fn chunks_share_the_buffers_of_an_invocation() {
    let f = function(SPMV);
    let kernel = compile(&f, Effort::Full).unwrap();
    let mut on = Invocation::new(kernel.signature(), spmv_inputs(), vec![3], Limits::default()).unwrap();
    for chunk in [0..1, 1..3] {
        // SAFETY: the chunks are rows of the matrix, whose coordinates are below the length of x.
        assert_eq!(unsafe { kernel.call(&mut on, chunk) }.unwrap(), Status::Done);
    }
    assert_eq!(on.take(Buffer(4), 3).unwrap().typed_data::<f64>(), [70.0, 0.0, 60.0]);
}

#[test]
fn merge_grows_its_outputs() {
    let (n_a, n_b) = (1000usize, 700usize);
    let a_idx: Vec<u32> = (0..n_a as u32).map(|k| 2 * k).collect();
    let b_idx: Vec<u32> = (0..n_b as u32).map(|k| 3 * k).collect();
    let inputs = [
        ArrowBuffer::from_vec(a_idx.clone()),
        ArrowBuffer::from_vec(vec![1.0f64; n_a]),
        ArrowBuffer::from_vec(b_idx.clone()),
        ArrowBuffer::from_vec(vec![10.0f64; n_b]),
    ];
    let (_, mut out) = run_in_process(&function(MERGE), &inputs, &[n_a as i64, n_b as i64], 0..1);
    let mut union: Vec<u32> = a_idx.iter().chain(&b_idx).copied().collect();
    union.sort_unstable();
    union.dedup();
    let ptr = out.take(Buffer(6), 2).unwrap();
    assert_eq!(ptr.typed_data::<i32>(), [0, union.len() as i32]);
    let (idx, val) = (out.take(Buffer(4), union.len()).unwrap(), out.take(Buffer(5), union.len()).unwrap());
    assert_eq!(idx.typed_data::<u32>(), union);
    for (k, v) in union.iter().zip(val.typed_data::<f64>()) {
        let a = if k % 2 == 0 && *k < 2 * n_a as u32 { 1.0 } else { 0.0 };
        let b = if k % 3 == 0 && *k < 3 * n_b as u32 { 10.0 } else { 0.0 };
        assert_eq!(*v, a + b);
    }
}

/// Returns the invocation of a merge whose result has 2000 entries.
fn merge_on(kernel: &CompiledKernel, limits: Limits) -> Invocation {
    let n = 1000u32;
    let inputs = [
        ArrowBuffer::from_vec((0..n).map(|k| 2 * k).collect::<Vec<u32>>()),
        ArrowBuffer::from_vec(vec![1.0f64; n as usize]),
        ArrowBuffer::from_vec((0..n).map(|k| 2 * k + 1).collect::<Vec<u32>>()),
        ArrowBuffer::from_vec(vec![1.0f64; n as usize]),
    ];
    Invocation::new(kernel.signature(), inputs, vec![n.into(), n.into()], limits).unwrap()
}

#[test]
fn growth_stops_at_the_limit_and_when_cancelled() {
    let f = function(MERGE);
    let kernel = compile(&f, Effort::Full).unwrap();
    let program = Interpreter::new(&f).unwrap();
    // 2000 coordinates and values take 24,000 bytes; growth requests twice the needed bytes, but
    // accepts less.
    for (limit, expected) in [(4096, Status::OutOfMemory), (32 << 10, Status::Done), (1 << 20, Status::Done)] {
        let limits = Limits::memory(limit);
        let mut on = merge_on(&kernel, limits.clone());
        // SAFETY: the parameters are the lengths of the inputs.
        assert_eq!(unsafe { kernel.call(&mut on, 0..1) }.unwrap(), expected, "limit {limit}");
        let mut other = merge_on(&kernel, Limits::memory(limit));
        let mut counts = Counts::default();
        assert_eq!(program.run(&mut other, 0..1, &mut counts).unwrap(), expected, "limit {limit}");
        assert!(limits.memory.used() <= limit);
        if expected == Status::Done {
            assert_eq!(counts.allocated_bytes, 2000 * 12 + 2 * 4);
        }
        drop(on);
        assert_eq!(limits.memory.used(), 0);
    }
    let limits = Limits::default();
    limits.cancel.store(true, Ordering::Relaxed);
    let mut on = merge_on(&kernel, limits.clone());
    // SAFETY: as above.
    assert_eq!(unsafe { kernel.call(&mut on, 0..1) }.unwrap(), Status::Cancelled);
    let mut other = merge_on(&kernel, limits);
    assert_eq!(program.run(&mut other, 0..1, &mut Counts::default()).unwrap(), Status::Cancelled);
}

#[test]
fn outputs_outlive_the_invocation_and_are_charged_until_dropped() {
    let kernel = compile(&function(SPMV), Effort::Full).unwrap();
    let limits = Limits::memory(1 << 20);
    let mut on = Invocation::new(kernel.signature(), spmv_inputs(), vec![3], limits.clone()).unwrap();
    // SAFETY: the chunk is the rows of the matrix.
    unsafe { kernel.call(&mut on, 0..3) }.unwrap();
    assert!(on.take(Buffer(4), 9).is_err(), "longer than the capacity");
    assert!(on.take(Buffer(0), 1).is_err(), "inputs cannot be taken");
    let y = on.take(Buffer(4), 2).unwrap();
    assert_eq!(on.take(Buffer(4), 0).unwrap().len(), 0, "the buffer is empty after it was taken");
    drop((on, kernel));
    assert_eq!((y.typed_data::<f64>(), limits.memory.used()), (&[70.0, 0.0][..], 64));
    drop(y);
    assert_eq!(limits.memory.used(), 0);
}

#[test]
fn invocations_that_do_not_fit_are_refused() {
    let f = function(SPMV);
    let signature = Signature::of(&f);
    let new = |inputs: Vec<ArrowBuffer>, params: Vec<i64>| {
        let error = Invocation::new(&signature, inputs, params, Limits::default()).err().expect("an error");
        error.to_string()
    };
    assert_eq!(new(vec![], vec![3]), "invalid invocation: expected 4 input buffers, found 0");
    assert_eq!(new(spmv_inputs(), vec![]), "invalid invocation: expected 1 parameter, found 0");
    let mut odd = spmv_inputs();
    odd[2] = ArrowBuffer::from_vec(vec![0u8; 9]);
    assert_eq!(new(odd, vec![3]), "invalid invocation: input `A.val` has 9 bytes, not a multiple of the size of f64");
    let mut shifted = spmv_inputs();
    shifted[2] = ArrowBuffer::from_vec(vec![0u8; 32]).slice_with_length(1, 8);
    assert!(new(shifted, vec![3]).contains("not aligned for f64"));
    let kernel = compile(&function(DOT), Effort::Full).unwrap();
    let mut on = Invocation::new(&signature, spmv_inputs(), vec![3], Limits::default()).unwrap();
    // SAFETY: the call is refused before any code runs.
    assert!(matches!(unsafe { kernel.call(&mut on, 0..3) }, Err(Error::InvalidInvocation(_))));
}

#[test]
fn kernels_of_one_module_are_shared_by_threads() {
    let functions = [function(SPMV), function(DOT)];
    let kernels = compile_all(&functions.each_ref(), Effort::Full).unwrap();
    let spmv = kernels.into_iter().next().unwrap();
    let run = |kernel: CompiledKernel| {
        let mut on = Invocation::new(kernel.signature(), spmv_inputs(), vec![3], Limits::default()).unwrap();
        // SAFETY: the chunk is the rows of the matrix.
        unsafe { kernel.call(&mut on, 0..3) }.unwrap();
        on.element(Buffer(4), 2)
    };
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..4).map(|_| scope.spawn(|| run(spmv.clone()))).collect();
        for thread in threads {
            assert_eq!(thread.join().unwrap(), Some(Scalar::F64(60.0)));
        }
    });
}

#[test]
fn invalid_functions_are_errors() {
    let mut f = function(SPMV);
    f.locals.pop();
    let is_invalid = |error: Option<Error>| match error {
        Some(Error::Compiler(error)) => matches!(*error, redpoll_compiler::Error::InvalidAssembly { .. }),
        _ => false,
    };
    assert!(is_invalid(compile(&f, Effort::Full).err()));
    assert!(is_invalid(clif(&f).err()));
    assert!(clif(&function(SPMV)).unwrap().contains("fmul"));
    assert!(disassemble(&function(SPMV)).unwrap().contains("block0"));
}

/// Loops over adjacent elements run on vectors; loops whose rounds depend on each other do not.
#[test]
fn loops_over_neighbouring_elements_keep_their_meaning_on_vectors() {
    let text = |body: &str| {
        format!(
            "fn map($n) {{
  input a: value f64
  input s: value f64
  owned y: value f64 fill 1.0
  local lo: i64
  local hi: i64
  local i: i64
  chunk lo, hi
  grow y, $n + 1
  for i in 0..$n {{
    {body}
  }}
}}
"
        )
    };
    let bodies = [
        ("y[i] = 0.5", true),
        ("y[i] = y[i] + (s[0] * a[i])", true),
        ("y[i + 1] = y[i + 1] - (a[i + 2] * a[i])", true),
        ("y[i + 1] = y[i] + a[i]", false),
        ("y[i] = y[0] + a[i]", false),
    ];
    for (body, vectors) in bodies {
        let f = function(&text(body));
        assert_eq!(clif(&f).unwrap().contains("f64x2"), vectors, "{body}");
        for n in 0..12 {
            let a: Vec<f64> = (0..n + 2).map(|k| (k * k) as f64 + 0.25).collect();
            run_in_process(&f, &[ArrowBuffer::from_vec(a), ArrowBuffer::from_vec(vec![3.0])], &[n as i64], 0..1);
        }
    }
}

/// Loops over narrow integers run on vectors, except for products of bytes and for comparisons of
/// wider integers.
#[test]
fn loops_over_bytes_keep_their_meaning_on_vectors() {
    let text = |prim: &str, result: &str, body: &str| {
        format!(
            "fn map($n) {{
  input a: value {prim}
  input m: value bool
  owned y: value {result} fill {}
  local lo: i64
  local hi: i64
  local i: i64
  chunk lo, hi
  grow y, $n + 1
  for i in 0..$n {{
    y[i] = {body}
  }}
}}
",
            if result == "bool" { "true".to_owned() } else { format!("3_{result}") }
        )
    };
    let bodies = [
        ("u8", "bool", "((a[i] < 200_u8) ^ (60_u8 <= a[i])) & m[i]", true),
        ("i8", "bool", "((a[i] < -3_i8) | (a[i] == 7_i8)) & not(m[i])", true),
        ("u8", "bool", "min(m[i], a[i] != a[i + 1])", true),
        ("i8", "i8", "select(m[i], a[i], a[i + 1])", true),
        ("u8", "u8", "min(a[i], 9_u8) + u8(m[i])", true),
        ("i8", "i8", "max(neg(a[i]), not(a[i + 1]))", true),
        ("u8", "u8", "a[i] * a[i + 1]", false),
        ("i16", "i16", "(a[i] * 3_i16) - max(a[i], a[i + 1])", true),
        ("u16", "bool", "a[i] < 200_u16", false),
    ];
    for (prim, result, body, vectors) in bodies {
        let f = function(&text(prim, result, body));
        let code = clif(&f).unwrap();
        assert_eq!(code.contains("i8x16") || code.contains("i16x8"), vectors, "{body}");
        for n in [0, 1, 15, 31, 32, 33, 64, 100] {
            let bytes = |k: usize| (k * 37 + 11) as u8;
            let a = match prim {
                "u8" | "i8" => ArrowBuffer::from_vec((0..n + 1).map(bytes).collect()),
                _ => ArrowBuffer::from_vec((0..n + 1).map(|k| (k as u16).wrapping_mul(7919)).collect()),
            };
            let m = ArrowBuffer::from_vec((0..n + 1).map(|k| u8::from(k % 3 == 0)).collect());
            run_in_process(&f, &[a, m], &[n as i64], 0..1);
        }
    }
}
