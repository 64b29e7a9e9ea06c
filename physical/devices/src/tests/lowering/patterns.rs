//! Tests of outputs with the patterns of inputs: only their values are written. One test is of
//! outputs with pattern leaves.

use super::check;
use redpoll_compiler::notation::{Program, TensorDecl, normalize, parse};
use redpoll_logic::{Format, LeafKind, TensorType};
use redpoll_storage::Tensor;
use std::sync::Arc;

/// Gives each input that is the pattern of an output a format without runs, and the output the same
/// levels.
pub(super) fn share_formats(program: &mut Program) {
    for k in 0..program.tensors.len() {
        let Some(of) = program.tensors[k].pattern else { continue };
        let runs = |f: &Format| f.levels.iter().any(|l| l.kind.traits().runs);
        let reset = |decl: &mut TensorDecl, format: Format| {
            decl.ty = Arc::new(TensorType { format, ..(*decl.ty).clone() });
        };
        let rank = program.tensors[k].ty.shape.len();
        let input = &mut program.tensors[of.index()];
        if runs(&input.ty.format) {
            reset(input, Format::csf(rank));
        }
        let format = Format { leaf: LeafKind::Element, ..input.ty.format.clone() };
        reset(&mut program.tensors[k], format);
    }
}

/// If a program writes a hash level by different subscripts, an entry is inserted before its value
/// is written. Above a pattern leaf, the entry is inserted after the value is known, because there
/// the presence of the entry is the value.
#[test]
fn unwritten_entries_of_patterns_are_not_stored() {
    let program = |write: &str| {
        format!(
            "(program (input W (type (shape 4) i64 0 dense)) (output Y (type (shape 3 4) bool false (hash (hash (pattern)))))
               (for i (range 0 2) (for j ({write} (Y i j) (cast-bool (W j)))))
               (for k (range 1 3) (for l ({write} (Y k (- 3 l)) (cast-bool (W l))))))"
        )
    };
    check(&program("or="), 100);
    check(
        "(program (input W (type (shape 4) i64 0 dense)) (output Y (type (shape 4) bool false (hash (pattern))))
           (for i (range 0 2) (init (Y i) (cast-bool (W i)))) (for j (range 2 4) (init (Y j) (cast-bool (W j)))))",
        100,
    );
}

/// Checks that an output shares the arrays of levels with the input whose pattern it has.
pub(super) fn are_shared(decl: &TensorDecl, output: &Tensor, inputs: &[&Tensor]) -> Result<(), String> {
    let Some(of) = decl.pattern else { return Ok(()) };
    let arrays = |t: &Tensor| t.levels().iter().flatten().map(|a| a.buffer().as_ptr()).collect::<Vec<_>>();
    match arrays(output) == arrays(inputs[of.index()]) {
        true => Ok(()),
        false => Err(format!("`{}` has arrays of its own", decl.name)),
    }
}

const SCALED: &str = "(input A (type (shape 4 6) f64 0.0 csr)) (input x (type (shape 4) f64 0.0 dense))
    (output B (type (shape 4 6) f64 0.0 csr)) (pattern B A)";

#[test]
fn scaled() {
    for body in [
        "(for i (for j (init (B i j) (* (A i j) (x i)))))",
        // Elements may be written in any order and any number of times.
        "(for i (for j (init (B (- 3 i) j) (* (A (- 3 i) j) (x i)))))",
        "(for i (for j (+= (B i (- 5 j)) (* (A i (- 5 j)) (x i)))))",
        "(for i (range 1 3) (for j (range 2 5) (init (B i j) (* (A i j) (x i)))))",
        "(for i (for k (range 0 3) (for j (+= (B i j) (* (A i j) (x k))))))",
        "(for k (range 0 3) (for i (for j (+= (B i j) (* (A i j) (x k))))))",
        "(for i (if (gt (x i) 0.0) (for j (init (B i j) (* (A i j) (x i))))))",
        "(for i (for j (init (B i j) (* (A (follow i) (follow j)) (x i)))))",
        "(for i (let v (x i) (for j (let w (* (A i j) v) (init (B i j) (+ w w))))))",
    ] {
        check(&format!("(program {SCALED} {body})"), 60);
    }
}

#[test]
fn sampled_products() {
    let inputs = "(input A (type (shape 4 5) f64 0.0 csr)) (input U (type (shape 4 3) f64 0.0 dense))
        (input V (type (shape 3 5) f64 0.0 dense)) (output B (type (shape 4 5) f64 0.0 csr)) (pattern B A)";
    let summed = "(local t f64 0.0) (for i (for j (where (init (B i j) (* (A i j) t))
        (for k (+= t (* (U i k) (V k j)))))))";
    check(&format!("(program {inputs} {summed})"), 150);
    for order in ["i j k", "i k j", "k i j"] {
        let loops = order
            .split(' ')
            .rev()
            .fold("(+= (B i j) (* (* (A i j) (U i k)) (V k j)))".to_owned(), |body, i| format!("(for {i} {body})"));
        check(&format!("(program {inputs} {loops})"), 80);
    }
}

#[test]
fn beside_other_lists() {
    let inputs = "(input A (type (shape 4 6) f64 0.0 csr)) (input S (type (shape 4 6) f64 0.0 csr))
        (input T (type (shape 4 6) f64 0.0 csr)) (output B (type (shape 4 6) f64 0.0 csr)) (pattern B A)";
    for value in [
        "(* (A i j) (+ (S i j) 1.0))",
        "(* (A i j) (S i j))",
        "(* (A (gallop i) (gallop j)) (S (gallop i) (gallop j)))",
        "(* (+ (S i j) (T i j)) (A i j))",
        "(* (A i j) (S i (outside 2.0 (+ j 1))))",
    ] {
        check(&format!("(program {inputs} (for i (for j (init (B i j) {value}))))"), 120);
    }
}

#[test]
fn other_types_and_fills() {
    check(
        "(program (input A (type (shape 4 5) i64 0 csr)) (input x (type (shape 5) f64 0.0 dense))
           (output B (type (shape 4 5) f64 1.0 csr)) (pattern B A)
           (for i (for j (init (B i j) (+ (* (cast-f64 (A i j)) (x j)) 1.0)))))",
        120,
    );
    check(
        "(program (input A (type (shape 4 5 3) f64 0.0 csf)) (input x (type (shape 5) f64 0.0 dense))
           (output B (type (shape 4 5 3) f64 0.0 csf)) (output s (type (shape 4) f64 0.0 dense)) (pattern B A)
           (for i (for j (for k (block (init (B i j k) (* (A i j k) (x j))) (+= (s i) (A i j k)))))))",
        120,
    );
    check(
        "(program (input A (type (shape 4 5) bool false (dense (sparse-list (pattern)))))
           (input x (type (shape 5) f64 0.0 dense)) (output B (type (shape 4 5) f64 0.0 csr)) (pattern B A)
           (for i (for j (init (B i j) (* (cast-f64 (A i j)) (x j))))))",
        1,
    );
}

#[test]
fn outputs_without_the_pattern_of_an_input() {
    let check = |text: &str, expected: &str| {
        let error = normalize(parse(text).unwrap()).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    };
    let write = |body: &str| format!("(program {SCALED} (for i (for j {body})))");
    check(&write("(init (B i j) (+ (A i j) (x i)))"), "is not proved to keep its fill value where `A`");
    check(&write("(init (B i j) (* (A i (+ j 1)) (x i)))"), "is not proved to keep its fill value where `A`");
    check(&write("(init (B i j) (* (A i (outside 1.0 j)) (x i)))"), "is not proved to keep its fill value");
    check(&write("(min= (B i j) (- (A i j) 1.0))"), "is not proved to keep its fill value where `A`");
    check(&write("(= (B i j) (* (A i j) (x i)))"), "is not proved to keep its fill value where `A`");
    let of = |a: &str, b: &str| {
        format!(
            "(program (input A (type (shape 4 6) f64 0.0 {a})) (output B (type (shape 4 6) f64 0.0 {b})) (pattern B A)
               (for i (for j (init (B i j) (A i j)))))"
        )
    };
    check(&of("csr", "coo"), "`B` has the pattern of `A`, but another shape or other levels");
    let runs = "(dense (run-length (element)))";
    check(&of(runs, runs), "but a pattern needs levels without runs, and a leaf with values");
    let pattern =
        "(program (input A (type (shape 4) f64 0.0 csf)) (input C (type (shape 4) f64 0.0 csf)) (pattern A C))";
    check(pattern, "only outputs can have patterns, and only of inputs");
}
