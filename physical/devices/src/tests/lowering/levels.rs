//! Guarantees of levels in kernels. Runs with equal fibers join while they are written. A second
//! entry or run is an error in a fiber that allows only one. A tensor that is declared again is
//! empty. Further tests cover reads out of bounds, loops that end early, outputs whose reads are
//! unused, and swaps.

use super::{INTERPRETER, Kernel, Rng, check, compare_in_formats, compare_runners, tensor};
use redpoll_compiler::assembly::Status;
use redpoll_compiler::notation::{dense_values, normalize, parse};
use redpoll_compiler::testing::joins_fibers;
use redpoll_kernels::run::Limits;
use redpoll_kernels::{Error, backend};
use redpoll_logic::text::format_to_sexpr;
use redpoll_logic::{FloatMode, Format, LeafKind, LevelKind, Scalar};
use redpoll_storage::levels::level;
use redpoll_storage::testing::concordant_formats_of_rank;
use redpoll_storage::{Tensor, convert};
use std::sync::Arc;

/// Returns a tensor of integers with dense levels above a sparse list, and the copy that a kernel
/// makes of this tensor in another format.
fn copy_tensor(
    shape: &[u64],
    format: &Format,
    value: &mut dyn FnMut(&[u64]) -> i64,
) -> Result<(Tensor, Tensor), Error> {
    let sizes: Vec<String> = shape.iter().map(ToString::to_string).collect();
    let (sizes, indices) = (sizes.join(" "), ["i", "j", "k"][..shape.len()].join(" "));
    let loops: String = indices.split(' ').map(|i| format!("(for {i} ")).collect();
    let lists = format_to_sexpr(&Format::dense_above(LevelKind::SparseList, shape.len()));
    let format = format_to_sexpr(format);
    let text = format!(
        "(program (input A (type (shape {sizes}) i64 0 {lists})) (output B (type (shape {sizes}) i64 0 {format}))
           {loops} (init (B {indices}) (A {indices})){})",
        ")".repeat(shape.len()),
    );
    let program = Arc::new(normalize(parse(&text).unwrap_or_else(|e| panic!("{e}\n{text}"))).unwrap());
    let contents = dense_values(&program.tensors[0].ty, &mut |coordinates| Scalar::I64(value(coordinates)));
    let input = tensor(&program.tensors[0].ty, &contents);
    let kernel = Kernel::new(&program, &[], FloatMode::default(), &backend::interpreter()).unwrap();
    let mut outputs = kernel.run(&[&input], &Limits::default())?.outputs;
    Ok((input, outputs.pop().unwrap()))
}

fn is_comparable(kind: LevelKind) -> bool {
    joins_fibers(level(kind).kernel_kind().unwrap_or(kind))
}

/// A kernel stores as many runs as a conversion, which compares whole fibers.
#[test]
fn runs_of_equal_fibers_join() {
    let comparable = || LevelKind::general().filter(|k| is_comparable(*k));
    assert!(comparable().count() >= 7, "most kinds are compared while they are written");
    let mut nestings: Vec<Vec<LevelKind>> = Vec::new();
    for upper in [LevelKind::RunLength, LevelKind::SparseRunLength] {
        for middle in comparable() {
            nestings.push(vec![upper, middle]);
            nestings.extend(comparable().map(|last| vec![upper, middle, last]));
        }
    }
    for kinds in nestings {
        // With a letter for each distinct row and `-` for an empty row, the order of the rows is
        // a b a a - - a b b - c.
        let mut rng = Rng(11);
        let rows: Vec<Vec<i64>> =
            (0..4).map(|r| (0..12).map(|_| (rng.below(3) as i64) * i64::from(r > 0)).collect()).collect();
        let order = [1, 2, 1, 1, 0, 0, 1, 2, 2, 0, 3];
        let shape = [order.len() as u64, 3, 4];
        let value = |coordinates: &[u64]| {
            let at = coordinates[1..].iter().zip([4, 1]).map(|(i, by)| i * by).sum::<u64>();
            rows[order[coordinates[0] as usize]][at as usize]
        };
        let format = Format::of_kinds(&kinds, LeafKind::Element);
        let (input, output) = copy_tensor(&shape[..kinds.len()], &format, &mut { value }).unwrap();
        output.validate().unwrap();
        assert_eq!(output.to_dense_scalars().unwrap(), input.to_dense_scalars().unwrap(), "{kinds:?}");
        let expected = convert(&input, &format).unwrap();
        let runs = |t: &Tensor| t.levels()[0].last().unwrap().len();
        assert_eq!(runs(&output), runs(&expected), "{kinds:?}");
    }
}

/// A single entry or run in a fiber is stored. A second entry is an error, and so is a second run
/// that does not join the first.
#[test]
fn limits_of_one_entry_or_run_are_enforced() {
    for (single, status) in [(LevelKind::Pinpoint, Status::SecondEntry), (LevelKind::Interval, Status::SecondRun)] {
        for below in LevelKind::general() {
            for above in [LevelKind::Dense, LevelKind::SparseList, LevelKind::Hash] {
                let format = Format::of_kinds(&[above, single, below], LeafKind::Element);
                let run = |last: u64| {
                    move |coordinates: &[u64]| match coordinates {
                        [i, j, k] if *i != 1 && (2..last).contains(j) => (k % 2) as i64 * (1 + *i as i64),
                        _ => 0,
                    }
                };
                let (input, output) = copy_tensor(&[4, 5, 3], &format, &mut run(3)).unwrap();
                output.validate().unwrap();
                assert_eq!(output.to_dense_scalars().unwrap(), input.to_dense_scalars().unwrap(), "{format:?}");
                let joins = single == LevelKind::Interval && is_comparable(below);
                match copy_tensor(&[4, 5, 3], &format, &mut run(5)) {
                    Ok((input, output)) => {
                        assert!(joins, "{format:?}");
                        output.validate().unwrap();
                        assert_eq!(output.to_dense_scalars().unwrap(), input.to_dense_scalars().unwrap(), "{format:?}");
                    }
                    Err(error) => {
                        assert!(!joins, "{format:?}: {error}");
                        assert!(matches!(error, Error::KernelStopped(s) if s == status), "{format:?}: {error}");
                    }
                }
            }
        }
    }
}

/// A tensor that is declared again in every round of a loop is empty at the start of the round, in
/// every format.
#[test]
fn redeclared_tensors_are_empty() {
    for format in concordant_formats_of_rank(2) {
        let format = format_to_sexpr(&format);
        let text = format!(
            "(program (input A (type (shape 5 4 3) i64 0 csf)) (output y (type (shape 5 4) i64 0 dense))
               (local w (type (shape 4 3) i64 0 {format}))
               (for i (where (for j (for k (+= (y i j) (* (+ k 1) (w j k)))))
                             (for j (for k (init (w j k) (A i j k)))))))"
        );
        check(&text, 3);
    }
}

/// Reads out of bounds return the value of their `outside`, not the fill value, also below absent
/// fibers and for several reads of one tensor.
#[test]
fn bounds_are_not_gaps() {
    for format in concordant_formats_of_rank(2) {
        let format = format_to_sexpr(&format);
        let text = format!(
            "(program (input A (type (shape 4 4) f64 0.0 {format})) (input x (type (shape 4 4) f64 1.0 dense))
               (output y (type (shape 4 4 4) f64 0.0 dense))
               (for k (for l (for i (init (y k l i) (* (+ (x k i) (A k i))
                 (+ (A l (outside -3.0 (+ i k))) (A l (outside 5.0 (+ i 1)))
                    (A k (outside 7.0 (+ i -2))) (A k (outside -9.0 (+ i -1))))))))))"
        );
        compare_runners(&text, 2, &INTERPRETER).unwrap_or_else(|message| panic!("{message}"));
    }
}

/// A loop that ends within a fiber, once its fold is decided, gives the right result.
#[test]
fn decisions_within_a_phase_end_with_it() {
    for format in concordant_formats_of_rank(2) {
        let format = format_to_sexpr(&format);
        let text = format!(
            "(program (input T (type (shape 5) i64 0 (band (element)))) (input Q (type (shape 5 3) i64 0 {format}))
               (output s (type (shape) bool false dense))
               (for l (for j (range 0 3) (for k (range 0 3) (or= (s) (ne (+ k (T l)) (Q l k)))))))"
        );
        let program = Arc::new(normalize(parse(&text).unwrap_or_else(|e| panic!("{e}\n{text}"))).unwrap());
        let mut rng = Rng(17);
        for _ in 0..20 {
            compare_in_formats(&program, &program, &mut rng, &INTERPRETER)
                .unwrap_or_else(|message| panic!("{message}"));
        }
    }
}

/// An output is complete before its first read, even if the value that is read is not used.
#[test]
fn outputs_whose_reads_are_unused_are_complete() {
    for format in concordant_formats_of_rank(1) {
        let format = format_to_sexpr(&format);
        let text = format!(
            "(program (input x (type (shape 5) i64 0 dense)) (output y (type (shape 0) f64 2.0 {format}))
               (output z (type (shape 5) f64 0.0 dense)) (local u (type (shape) f64 0.0 dense))
               (local w (type (shape) i32 1 dense))
               (let v (choose (x 2) (cast-i64 (u)))
                 (where (= (z 3) (+ (u) 0.0)) (= (w) (cast-i32 (y (outside -1.0 1)))))))"
        );
        check(&text, 1);
    }
}

/// Tensors are swapped completely, in every format.
#[test]
fn swaps_exchange_whole_tensors() {
    for format in concordant_formats_of_rank(2) {
        let format = format_to_sexpr(&format);
        let text = format!(
            "(program (input A (type (shape 3 4) i64 0 csr)) (input B (type (shape 3 4) i64 0 csr))
               (output y (type (shape 3 4) i64 0 dense)) (output z (type (shape 3 4) i64 0 dense))
               (local a (type (shape 3 4) i64 0 {format})) (local b (type (shape 3 4) i64 0 {format}))
               (declare a) (declare b)
               (for i (for j (init (a i j) (A i j))))
               (for i (for j (init (b i j) (B i j))))
               (swap a b)
               (for i (for j (init (y i j) (a i j)))) (for i (for j (init (z i j) (b i j)))))"
        );
        check(&text, 2);
    }
}
