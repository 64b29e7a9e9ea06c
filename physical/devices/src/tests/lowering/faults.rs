//! Tests that each seeded fault of lowering is detected by at least one program.

#[path = "../../../../../tests/common/programs/draw/mod.rs"]
#[allow(dead_code, unused_imports, unreachable_pub, reason = "the tests of the workspace use all of it")]
mod draw;

use super::{INTERPRETER, TestRunner, compare_runners};
use draw::{ProgramCase, ProgramConfig, normal_form, random_case, store_values, written_program};
use redpoll_compiler::lower::seeded_fault::SeededFault;
use redpoll_compiler::lower::{Draft, InputLayout};
use redpoll_compiler::notation::{Role, run};
use redpoll_kernels::backend;
use redpoll_kernels::kernel::Kernel;
use redpoll_kernels::run::Limits;
use redpoll_logic::Scalar;
use redpoll_storage::Tensor;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

/// Programs that together detect each fault of [`SeededFault::PLAN_FAULTS`].
const PROGRAMS: [&str; 26] = [
    "(program (input x (type (shape 6) f64 0.0 dense)) (input y (type (shape 6) f64 0.0 dense))
       (local p (type (shape 6) f64 0.0 dense)) (output s (type (shape) f64 0.0 dense))
       (block (for i (= (p i) (/ 1.0 (x i)))) (for i (+= (s) (* (p i) (y i))))))",
    "(program (input A (type (shape 4 6) f64 0.0 csr)) (input B (type (shape 4 6) f64 0.0 coo))
       (output C (type (shape 4 6) f64 0.0 csr))
       (for i (for j (init (C i j) (+ (A i j) (B i j))))))",
    "(program (input E (type (shape 6 6) i64 0 csr)) (output n (type (shape) i64 0 dense))
       (for i (for j (for k (+= (n) (* (E i (gallop j)) (* (E j (gallop k)) (E i (gallop k)))))))))",
    "(program (input E (type (shape 6 6) i64 0 csr)) (output n (type (shape) i64 0 dense))
       (for i (for j (for k (if (and (le i j) (lt j k)) (+= (n) (* (E i j) (* (E j k) (E i k)))))))))",
    "(program (input A (type (shape 4 5) f64 0.0 csr)) (input B (type (shape 5 3) f64 0.0 csr))
       (output C (type (shape 4 3) f64 0.0 csr)) (local w (type (shape 3) f64 0.0 (byte-map (element))))
       (for i (where (for j (init (C i j) (w j)))
                     (for k (for j (+= (w j) (* (A i k) (B k j))))))))",
    "(program (input A (type (shape 3 6) f64 0.0 csr))
       (output m (type (shape 3) (struct (value f64) (coordinate i64)) (inf 9223372036854775807) dense))
       (for i (for j (minby= (m i) (pair (A i j) j)))))",
    "(program (input A (type (shape 4 6) f64 3.0 csr)) (output y (type (shape 4) f64 0.0 dense))
       (for i (for j (+= (y i) (A i j)))))",
    "(program (input A (type (shape 4 6) f64 0.0 csr)) (output y (type (shape 4) f64 inf dense))
       (for i (for j (min= (y i) (A i j)))))",
    "(program (input A (type (shape 3 7) f64 0.0 csr)) (output B (type (shape 3 5) f64 0.0 csr))
       (for i (for j (range 0 5) (init (B i j) (+ (A i (+ j 2)) (A i (+ j 1)))))))",
    "(program (input A (type (shape 3 7) f64 0.0 csr)) (output B (type (shape 3 7) f64 0.0 dense))
       (for i (for j (range 0 7) (init (B i j) (+ (A i (outside 9.0 (+ j -2))) (A i j))))))",
    "(program (input A (type (shape 4 6) bool false csr)) (input x (type (shape 6) i64 0 csf))
       (output y (type (shape 4) bool false dense)) (output s (type (shape 4) i64 0 dense))
       (for i (for j (block (or= (y i) (A i j)) (+= (s i) (* (x j) (cast-i64 (A i j))))))))",
    "(program (input A (type (shape 5 4) f64 0.0 csr)) (input B (type (shape 5 3) f64 0.0 csr))
       (output C (type (shape 4 3) f64 0.0 (hash (hash (element)))))
       (for k (for i (for j (+= (C i j) (* (A k i) (B k j)))))))",
    "(program (input A (type (shape 9) f64 0.0 csf)) (input B (type (shape 9) f64 0.0 csf))
       (input C (type (shape 9) f64 0.0 csf)) (input D (type (shape 9) f64 0.0 csf))
       (output S (type (shape 9) f64 0.0 csf))
       (for i (init (S i) (+ (+ (A i) (B i)) (+ (C i) (D i))))))",
    "(program (input A (type (shape 4 6) f64 0.0 (dense (block-list (element)))))
       (input B (type (shape 4 6) f64 0.0 (dense (band (element)))))
       (output C (type (shape 4 6) f64 0.0 (dense (block-list (element)))))
       (output D (type (shape 4 6) f64 0.0 (dense (band (element)))))
       (for i (for j (block (init (C i j) (+ (A i j) (B i j))) (init (D i j) (+ (A i j) (B i j)))))))",
    "(program (input A (type (shape 9) f64 0.0 (block-list (element)))) (input B (type (shape 9) f64 0.0 (band (element))))
       (input C (type (shape 9) f64 0.0 (block-list (element)))) (input D (type (shape 9) f64 0.0 (band (element))))
       (input E (type (shape 9) f64 0.0 (block-list (element)))) (output S (type (shape 9) f64 0.0 csf))
       (for i (init (S i) (+ (+ (A i) (B i)) (+ (+ (C i) (D i)) (E i))))))",
    "(program (input A (type (shape 4 6) f64 0.0 (dense (block-list (element)))))
       (input B (type (shape 4 6) f64 0.0 (dense (block-list (element)))))
       (output C (type (shape 4 6) f64 0.0 csr))
       (for i (for j (init (C i j) (* (A i (gallop j)) (B i (gallop j)))))))",
    "(program (input A (type (shape 3 9) f64 0.0 csr)) (output B (type (shape 3 4) f64 0.0 csr))
       (for i (for j (range 0 4) (init (B i j) (A i (+ (* 2 j) 1))))))",
    "(program (input A (type (shape 3 8) f64 0.0 (dense (block-list (element)))))
       (input B (type (shape 3 8) f64 0.0 (dense (run-length (element))))) (output C (type (shape 3 8) f64 0.0 csr))
       (for i (for j (range 0 8) (init (C i j) (+ (A i (+ (* -1 j) 7)) (B i (+ (* -1 j) 7)))))))",
    "(program (input A (type (shape 12 1) bool false csr))
       (output B (type (shape 12 1) bool false (run-length (sparse-list (element)))))
       (for i (for j (init (B i j) (A i j)))))",
    "(program (input A (type (shape 2 150) f64 0.0 (dense (bit-map (element)))))
       (input B (type (shape 2 150) f64 0.0 (dense (fixed-width (element))))) (output C (type (shape 2 150) f64 0.0 csr))
       (for i (for j (init (C i j) (+ (A i j) (B i j))))))",
    "(program (input x (type (shape 6) f64 0.0 dense)) (local D (type (shape 6 6) f64 0.0 (dense (pinpoint (element)))))
       (output y (type (shape 6) f64 0.0 dense))
       (where (for i (for j (+= (y i) (* (+ j 1) (D i j))))) (for i (for j (if (eq j 2) (init (D i j) (x i)))))))",
    "(program (input I (type (shape 10) i64 0 dense)) (output c (type (shape) i64 0 dense))
       (output d (type (shape) i64 0 dense))
       (for j (range 0 2) (for k (range 0 2) (block (if (eq k 1) (+= (d) 1))
         (for i (range 3 4) (let l (I k) (if (lt l i) (+= (c) 1))))))))",
    "(program (output B (type (shape 5) f64 0.0 dense)) (local w (type (shape 3) f64 0.0 dense))
       (for k (range 0 2) (block (declare w) (freeze w) (for i (range 0 5) (+= (B i) (w (outside 1.0 (- i 1))))))))",
    "(program (input x (type (shape 9) f64 0.0 dense)) (output y (type (shape 9) bool false dense)) (local s i64 0)
       (declare s)
       (for i (block (+= (s) (cast-i64 (gt (x i) 0.0))) (freeze s) (init (y i) (lt (s) i)) (thaw s))))",
    "(program (input x (type (shape 4) f64 0.0 dense)) (output y (type (shape 4) f64 0.0 dense))
       (for i (range 0 2) (for j (block (+= (y i) (x j)) (= (y j) 1.0)))))",
    "(program (input x (type (shape 5) f64 0.0 dense)) (output y (type (shape 5) f64 0.0 dense)) (local s f64 0.0)
       (block (declare s) (freeze s)
         (for i (let v (s) (block (thaw s) (+= (s) (x i)) (freeze s) (= (y i) v))))))",
];

#[test]
fn every_seeded_fault_is_caught() {
    // A fault may also break an assertion of a later rule, which counts as detected.
    let caught = |fault: SeededFault| {
        PROGRAMS.iter().any(|text| {
            // Walks along a leading list are emitted only for machines whose lanes share rounds.
            let (runner, cases) = match fault {
                SeededFault::LeadEntry | SeededFault::LeadEnd => (TestRunner::Grid, 20),
                _ => (TestRunner::Interpreter, 60),
            };
            let attempt = AssertUnwindSafe(|| fault.run(|| compare_runners(text, cases, &[runner])));
            !matches!(catch_unwind(attempt), Ok(Ok(())))
        })
    };
    let missed: Vec<SeededFault> = SeededFault::PLAN_FAULTS.iter().copied().filter(|fault| !caught(*fault)).collect();
    assert!(missed.is_empty(), "not caught: {missed:?}");
    for text in PROGRAMS {
        compare_runners(text, 60, &INTERPRETER).unwrap_or_else(|e| panic!("without a fault: {e}"));
    }
}

/// Number of random programs that search for faults.
const SEEDS: u64 = 1500;

/// Returns whether a random program compiles, runs, and computes the result that the interpreter of
/// Notation defines, up to the signs of zeros. Returns `None` if there is no such result, or if the
/// program cannot be normalized or has inputs with bounds of blocks.
fn is_as_defined(case: &ProgramCase) -> Option<bool> {
    let inputs = || case.tensors.iter().filter(|t| t.role == Role::Input);
    let dense = inputs().map(|t| (t.name.clone(), t.values.clone())).collect();
    let defined = run(&written_program(case).ok()?, &dense).ok()?;
    let program = Arc::new(normal_form(case).ok().filter(|p| p.block_inputs.is_empty())?);
    let tensors = inputs().map(|t| store_values(&t.ty, &t.ty.format, &t.values).expect("it was drawn to fit"));
    let tensors: Vec<Tensor> = tensors.collect();
    let tensors: Vec<&Tensor> = tensors.iter().collect();
    let draft = Draft::new(&program, &InputLayout::of_inputs(&program, &tensors), case.mode);
    let kernel = Kernel::compile(&draft, &backend::interpreter()).ok().map(|k| k.with_iteration_limit(100_000));
    let Some(Ok(found)) = kernel.map(|k| k.run(&tensors, &Limits::default())) else { return Some(false) };
    let unsigned =
        |v: &Scalar| v.flatten().iter().map(|p| p.to_f64().map_or(p.clone(), |x| Scalar::F64(x + 0.0))).collect();
    let all = |values: &[Scalar]| values.iter().map(unsigned).collect::<Vec<Vec<Scalar>>>();
    let outputs = case.tensors.iter().filter(|t| t.role == Role::Output);
    Some(outputs.zip(&found.outputs).all(|(t, found)| {
        found.validate().is_ok() && found.to_dense_scalars().is_ok_and(|v| all(&v) == all(&defined[&t.name]))
    }))
}

/// Returns the result of [`is_as_defined`], or `Some(false)` if it panics.
fn passes(case: &ProgramCase) -> Option<bool> {
    catch_unwind(AssertUnwindSafe(|| is_as_defined(case))).unwrap_or(Some(false))
}

#[test]
fn random_programs_find_every_seeded_fault() {
    let sound: Vec<ProgramCase> = (0..SEEDS)
        .map(|seed| random_case(seed, &ProgramConfig::default()))
        .filter(|c| passes(c) == Some(true))
        .collect();
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(|_| {}));
    let first = |fault: SeededFault| sound.iter().position(|case| fault.run(|| passes(case)) == Some(false));
    let found: Vec<(SeededFault, Option<usize>)> =
        SeededFault::PROGRAM_FAULTS.iter().map(|fault| (*fault, first(*fault))).collect();
    std::panic::set_hook(hook);
    eprintln!("{} sound programs; found at: {found:?}", sound.len());
    let missed: Vec<SeededFault> = found.iter().filter(|(_, at)| at.is_none()).map(|(fault, _)| *fault).collect();
    assert!(missed.is_empty(), "not found: {missed:?}");
}
