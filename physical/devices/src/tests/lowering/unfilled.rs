//! Tests of buffers that lowering leaves without initial fill values. Debug builds fill these
//! buffers with garbage, and the results must not change.

use super::check;
use redpoll_compiler::lower::{LoweringOptions, lower};
use redpoll_compiler::testing::normal_form;

/// Checks a program, and returns the number of buffers that lowering leaves unfilled.
fn unfilled(text: &str) -> usize {
    check(text, 60);
    lower(&normal_form(text), &[], LoweringOptions::default()).unfilled.len()
}

const TENSORS: &str = "(input A (type (shape 4 6) f64 0.0 dense)) (input S (type (shape 4 6) f64 0.0 csr))
    (input x (type (shape 6) f64 0.0 dense)) (output E (type (shape 4 6) f64 0.0 dense))";

#[test]
fn outputs_that_loops_set_completely_are_unfilled() {
    for body in [
        "(for i (for j (init (E i j) (* (A i j) (x j)))))",
        // The assigned value may be the fill value: where a read is out of bounds, or everywhere.
        "(for i (range 0 4) (for j (range 0 6) (init (E i j) (* (x j) (A (outside 0.0 (+ i -1)) j)))))",
        "(for i (range 0 4) (for j (range 0 6) (init (E i j) (+ (A i (outside 0.0 (+ j 2))) (x (outside 0.0 (+ j -3)))))))",
        "(for i (range 0 4) (for j (range 0 6) (init (E i j) 0.0)))",
        "(for i (for j (range 0 6) (let v (x j) (init (E i j) (* v (A i j))))))",
    ] {
        assert_eq!(unfilled(&format!("(program {TENSORS} {body})")), 1, "{body}");
    }
    let rows = "(program (input S (type (shape 4 6) f64 0.0 csr)) (input x (type (shape 6) f64 0.0 dense))
        (output y (type (shape 4) f64 0.0 dense)) (local t (type (shape) f64 0.0 (element)))
        (for i (where (init (y i) (+ (t) 1.0)) (for j (+= (t) (* (S i j) (x j)))))))";
    assert_eq!(unfilled(rows), 1);
    let pairs = "(program (input x (type (shape 6) f64 0.0 dense))
        (output p (type (shape 6) (struct (value f64) (coordinate i64)) (0.0 0) dense)) (for i (init (p i) (pair (x i) i))))";
    assert_eq!(lower(&normal_form(pairs), &[], LoweringOptions::default()).unfilled.len(), 2);
}

#[test]
fn outputs_that_loops_set_only_partly_are_filled() {
    for body in [
        "(for i (for j (+= (E i j) (A i j))))",
        "(for i (for j (if (gt (x j) 0.0) (init (E i j) (A i j)))))",
        "(for i (range 1 4) (for j (init (E i j) (A i j))))",
        "(for i (range 0 4) (for j (range 0 5) (init (E i j) (A i j))))",
        "(for i (for j (init (E (- 3 i) j) (A i j))))",
        // The stored entries of `S` divide the loops, so that no single loop sets all elements.
        "(for i (for j (init (E i j) (S i j))))",
        "(for i (for j (init (E i j) (+ (A i j) (S i j)))))",
    ] {
        assert_eq!(unfilled(&format!("(program {TENSORS} {body})")), 0, "{body}");
    }
    let diagonal = "(program (input x (type (shape 4) f64 0.0 dense)) (output D (type (shape 4 4) f64 0.0 dense))
        (for i (init (D i i) (x i))))";
    assert_eq!(unfilled(diagonal), 0);
    let empty = "(program (input x (type (shape 0) f64 0.0 dense)) (output y (type (shape 0) f64 0.0 dense))
        (for i (init (y i) (x i))))";
    unfilled(empty);
}

/// A fold that ends its loop early does not leave elements of other outputs unset.
#[test]
fn a_decided_fold_leaves_no_element_out() {
    let text = "(program (input P (type (shape 4 6) bool false dense)) (input x (type (shape 6) f64 0.0 dense))
        (output any (type (shape 4) bool false dense)) (output E (type (shape 4 6) f64 0.0 dense))
        (for i (for j (block (or= (any i) (P i j)) (init (E i j) (x j))))))";
    assert_eq!(unfilled(text), 1);
}

#[test]
fn levels_that_are_appended_with_their_values_are_unfilled() {
    let tensors = "(input A (type (shape 4 6) f64 0.0 csr)) (input B (type (shape 4 6) f64 0.0 csr))
        (input x (type (shape 4) f64 0.0 dense))";
    for (format, body, expected) in [
        ("csr", "(for i (for j (init (C i j) (+ (A i j) (B i j)))))", 2),
        ("dcsr", "(for i (for j (init (C i j) (+ (A i j) (B i j)))))", 3),
        ("csr", "(for i (for j (if (gt (x i) 0.0) (init (C i j) (* (A i j) (x i))))))", 2),
        // A fold starts with the existing value, so values need a fill; coordinates do not.
        ("csr", "(for i (for j (+= (C i j) (+ (A i j) (B i j)))))", 1),
        ("coo", "(for i (for j (init (C i j) (* (A i j) (B i j)))))", 1),
    ] {
        let output = format!("(output C (type (shape 4 6) f64 0.0 {format}))");
        assert_eq!(unfilled(&format!("(program {tensors} {output} {body})")), expected, "{format} {body}");
    }
}

/// A fold reads its element first, unless lowering proves that one loop computes the whole fold.
#[test]
fn elements_that_one_loop_folds_are_not_read_before() {
    let tensors = "(input S (type (shape 4 6) f64 0.0 csr)) (input x (type (shape 6) f64 0.0 dense))
        (input m (type (shape 4) bool false dense)) (output y (type (shape 4) f64 2.0 dense))";
    let fold = "(for j (+= (y i) (* (S i j) (x j))))";
    for (body, read) in [
        (format!("(for i {fold})"), false),
        (format!("(for i (if (m i) {fold}))"), false),
        (format!("(for k (range 0 3) (for i {fold}))"), true),
        (format!("(for i (block {fold} {fold}))"), true),
        (format!("(block (for i {fold}) (for i {fold}))"), true),
        (format!("(for i (block (init (y i) 1.0) {fold}))"), true),
        ("(for i (range 1 4) (for j (+= (y (+ i -1)) (* (S i j) (x j)))))".into(), true),
    ] {
        let text = format!("(program {tensors} {body})");
        check(&text, 60);
        let function = lower(&normal_form(&text), &[], LoweringOptions::default()).function.to_string();
        assert_eq!(function.contains("= y.val["), read, "{body}\n{function}");
    }
}

/// Values at the stored entries of an input need no fill if the loops walk that input alone and
/// assign every value.
#[test]
fn values_along_the_pattern_of_an_input_are_unfilled() {
    let tensors = |format: &str| {
        format!(
            "(input A (type (shape 4 6) f64 0.0 dense)) (input S (type (shape 4 6) f64 0.0 {format}))
            (input B (type (shape 4 6) f64 0.0 csr)) (input x (type (shape 6) f64 0.0 dense))
            (output E (type (shape 4 6) f64 0.0 {format})) (pattern E S)"
        )
    };
    for (format, body, expected) in [
        ("csr", "(for i (for j (init (E i j) (* (S i j) 2.0))))", 1),
        ("csr", "(for i (for j (init (E i j) (* (S i j) (+ (x j) 1.0)))))", 1),
        ("csr", "(for i (for j (init (E i j) (* (A i j) (S i j)))))", 1),
        ("dcsr", "(for i (for j (init (E i j) (* (S i j) 2.0))))", 1),
        ("csc", "(for j (for i (init (E j i) (* 2.0 (S j i)))))", 1),
        // The value is a constant, so that nothing is stored.
        ("csr", "(for i (for j (init (E i j) (* (S i j) 0.0))))", 0),
        ("csr", "(for i (for j (if (gt (x j) 0.0) (init (E i j) (S i j)))))", 0),
        ("csr", "(for i (range 1 4) (for j (range 0 6) (init (E i j) (S i j))))", 0),
        ("csr", "(for i (for j (+= (E i j) (S i j))))", 0),
        // The value is 0 at some stored entries, where lowering drops the assignment.
        ("csr", "(for i (for j (init (E i j) (* (S i j) (B i j)))))", 0),
        ("csr", "(for i (range 0 4) (for j (range 0 6) (init (E i j) (* (S i j) (A (outside 0.0 (+ i -1)) j)))))", 0),
        // The value is 0 if nothing is added to the local.
        (
            "csr",
            "(local t f64 0.0) (for i (for j (where (init (E i j) (* (S i j) t)) (for k (+= t (* (B i k) (x k)))))))",
            0,
        ),
        // In this format, the loops do not visit every stored element.
        ("(dense (byte-map (element)))", "(for i (for j (init (E i j) (* (S i j) 2.0))))", 0),
    ] {
        assert_eq!(unfilled(&format!("(program {} {body})", tensors(format))), expected, "{format} {body}");
    }
}
